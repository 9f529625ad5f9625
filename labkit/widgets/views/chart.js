// One picture of curves on two logarithmic axes. Each engine has its own dashes, its own mark and its name at the end.

const AREA = { wide: 420, high: 290, left: 50, right: 106, top: 10, bottom: 40 };
const power = (x) => Math.log10(x);

/** Powers of ten from `low` to `high`, at most about five. */
function decades(low, high) {
  const [first, last] = [Math.ceil(power(low) - 1e-9), Math.floor(power(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first) / 4));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, n) => 10 ** (first + n * step));
}

function plain(number) {
  if (number >= 1e6) return `${number / 1e6}M`;
  if (number >= 1e3) return `${number / 1e3}k`;
  return number >= 1e-3 ? String(Number(number.toPrecision(1))) : `1e${Math.round(power(number))}`;
}

/** The curves of a panel as SVG: what was measured, the slider's place, and rings where curves cross. */
function picture(panel, engines, at, [least, most], crossed) {
  const value = (name, x) => panel.value(engines[name], { ...at, [panel.over]: x });
  const grid = Array.from({ length: 61 }, (_, n) => least * (most / least) ** (n / 60));
  const names = Object.keys(engines);
  const measured = names.flatMap((name) => (panel.measured ? engines[name].measured.map((row) => [name, ...panel.measured.map((key) => row[key])]) : []));
  const all = [...names.flatMap((name) => grid.map((x) => value(name, x))), ...measured.map(([, , y]) => Math.max(y, LEAST))];
  const [low, high] = [10 ** Math.floor(power(Math.min(...all))), 10 ** Math.ceil(power(Math.max(...all)))];
  const { wide, high: tall, left, right, top, bottom } = AREA;
  const px = (x) => (left + (power(x / least) / power(most / least)) * (wide - left - right)).toFixed(1);
  const py = (y) => (tall - bottom - (power(y / low) / power(high / low)) * (tall - top - bottom)).toFixed(1);
  const parts = decades(low, high).map((y) => `<path class="cc-grid" d="M${left} ${py(y)}H${wide - right}"/><text class="cc-y" x="${left - 6}" y="${Number(py(y)) + 4}">${plain(y)}</text>`);
  parts.push(...decades(least, most).map((x) => `<text class="ct-mid" x="${px(x)}" y="${tall - bottom + 16}">${plain(x)}</text>`));
  parts.push(`<text x="${left}" y="${tall - 6}" class="ct-quiet">${panel.x}</text>`);
  parts.push(`<path class="cc-at" d="M${px(at[panel.over])} ${top}V${tall - bottom}"/>`);
  for (const name of names) {
    const points = grid.map((x) => `${px(x)},${py(value(name, x))}`).join(" ");
    parts.push(`<polyline class="cc-line cc-${name}" points="${points}"/>`);
  }
  for (const [name, x, y] of measured) parts.push(dot(name, px(x), py(Math.max(y, LEAST)), 3, "cc-measured"));
  for (const name of names) parts.push(dot(name, px(at[panel.over]), py(value(name, at[panel.over])), 5));
  crossed.forEach(([x, y], n) => parts.push(`<circle class="cc-ring" cx="${px(x)}" cy="${py(y)}" r="8"/><text class="cc-number" x="${px(x)}" y="${Number(py(y)) - 12}">${n + 1}</text>`));
  parts.push(...namesAtEnd(names, names.map((name) => Number(py(value(name, most)))), wide - right + 8, tall - bottom));
  return `<svg viewBox="0 0 ${wide} ${tall}" role="img" aria-label="${esc(`${panel.title}, ${panel.unit}, over ${panel.x}: ${names.map((name) => `${name} ${panel.shown(value(name, at[panel.over]))}`).join(", ")}`)}">${parts.join("")}</svg>`;
}

/** The mark of an engine: a circle, a square or a triangle. */
function dot(name, x, y, r, look = "") {
  const shapes = {
    snapshot: `<circle r="${r}"/>`,
    "event-sourced": `<rect x="${-r}" y="${-r}" width="${2 * r}" height="${2 * r}"/>`,
    hybrid: `<path d="M0 ${-1.2 * r}L${1.2 * r} ${r}H${-1.2 * r}z"/>`,
  };
  return `<g class="cc-dot cc-${name} ${look}" transform="translate(${x} ${y})">${shapes[name]}</g>`;
}

/** The names at the ends of their curves, moved apart, and up again where they would leave the picture. */
function namesAtEnd(names, places, x, most) {
  const order = names.map((name, n) => ({ name, y: places[n] })).sort((a, b) => a.y - b.y);
  order.forEach((each, n) => { if (n) each.y = Math.max(each.y, order[n - 1].y + 14); });
  order.reverse().forEach((each, n) => { each.y = Math.min(each.y, n ? order[n - 1].y - 14 : most); });
  return order.map(({ name, y }) => `<text class="cc-name" x="${x}" y="${(y + 4).toFixed(1)}">${MARK[name]} ${name}</text>`);
}
