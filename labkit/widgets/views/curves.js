// The curves of cost: three pictures with a slider each. The same sums as in costs.py, so that a page needs no kernel.

const SETTING = ["size", "steps", "rate", "commit_ms", "mb_per_s", "call_s"];
const PANELS = [
  { over: "size", title: "Kept on disk", unit: "bytes a step", x: "state, characters", slider: "size of the state", value: (engine, at) => line(engine.bytes, at.size), measured: ["size", "bytes"], shown: bytes },
  { over: "steps", title: "Time to come back", unit: "milliseconds", x: "steps done", slider: "steps done", value: (engine, at) => line(engine.ms, at.steps), measured: ["steps", "ms"], shown: (ms) => time(ms / 1e3) },
  { over: "rate", title: "All in all", unit: "seconds a step", x: "crashes a step", slider: "crash rate", value: cost, shown: time },
];
const MARK = { snapshot: "●", "event-sourced": "■", hybrid: "▲" };
const LEAST = 1e-3;

function line([start, slope], x) {
  return Math.max(start + slope * x, LEAST);
}

/** Seconds a step: what is written, and what crashes cost on average. */
function cost(engine, at) {
  return written(engine, at) + at.rate * after(engine, at);
}

function written(engine, at) {
  return (engine.commits * at.commit_ms) / 1e3 + line(engine.bytes, at.size) / (at.mb_per_s * 1e6);
}

/** Seconds that one crash costs: to come back, and calls made again. */
function after(engine, at) {
  return line(engine.ms, at.steps) / 1e3 + engine.again * at.call_s;
}

function short(number) {
  if (number >= 1000) return Math.round(number).toLocaleString("en");
  return String(Number(number.toPrecision(3)));
}

function bytes(count) {
  const power = Math.min(Math.max(Math.floor(Math.log10(Math.max(count, 1)) / 3), 0), 4);
  return `${short(count / 1000 ** power)} ${["bytes", "kB", "MB", "GB", "TB"][power]}`;
}

function time(seconds) {
  if (seconds < 1e-3) return `${short(seconds * 1e6)} µs`;
  return seconds < 1 ? `${short(seconds * 1e3)} ms` : `${short(seconds)} s`;
}

/** To two digits: more are not known of a crossing. */
const round = (number) => Number(number.toPrecision(2));
const about = {
  size: (value) => `about ${says.size(round(value))}`,
  steps: (value) => `about ${says.steps(round(value))}`,
  rate: (value) => `a crash every ${short(round(1 / value))} steps or so`,
};

/** Whether a size or number of steps is outside of what was measured of any engine. */
function beyond({ over, measured }, engines, x) {
  const at = Object.values(engines).map((engine) => engine.measured.map((row) => row[over]));
  return Boolean(measured) && at.some((each) => x < Math.min(...each) || x > Math.max(...each));
}

const rate = (each) => `a crash every ${short(1 / each)} steps`;
const says = { size: (value) => `${short(value)} characters`, steps: (value) => `${short(value)} steps`, rate };

/** Where the curves of a panel cross: [x, value, the lower engine before, the lower one after], from left to right. */
function crossings(panel, engines, at, [least, most]) {
  const names = Object.keys(engines);
  const value = (name, x) => panel.value(engines[name], { ...at, [panel.over]: x });
  const grid = Array.from({ length: 241 }, (_, n) => least * (most / least) ** (n / 240));
  const found = [];
  names.forEach((one, n) => names.slice(n + 1).forEach((other) => {
    const gaps = grid.map((x) => Math.log(value(one, x) / value(other, x)));
    for (let i = 1; i < grid.length; i++) {
      if (gaps[i - 1] * gaps[i] >= 0) continue;
      const x = grid[i - 1] * (grid[i] / grid[i - 1]) ** (gaps[i - 1] / (gaps[i - 1] - gaps[i]));
      found.push([x, value(one, x), ...(gaps[i - 1] < 0 ? [one, other] : [other, one])]);
    }
  }));
  return found.sort((a, b) => a[0] - b[0]);
}

const frame = (ranges) => `
  <p class="ct-summary" role="status" aria-live="polite"></p>
  <div class="cc-panels">${PANELS.map(({ over, title, unit, slider }) => `<section class="cc-panel" aria-label="${title}">
    <p class="ct-name">${title} <span class="ct-quiet">${unit}</span></p><div class="cc-picture" data-over="${over}"></div>
    <label class="cc-slider"><span>${slider}</span> <input type="range" data-slider="${over}" step="0.02"
      min="${Math.log10(ranges[over][0])}" max="${Math.log10(ranges[over][1])}"> <span class="cc-value" aria-hidden="true"></span></label>
    <ol class="cc-crossings" aria-label="where the curves cross"></ol></section>`).join("")}</div>
  <p class="ct-legend" aria-hidden="true"><span>small marks: measured</span><span>lines: straight lines through them, which look bent on logarithmic axes</span>
    <span>◯ two curves cross</span><span>dashed upright: where the slider stands (drag it)</span></p>
  <div class="ct-head cc-assumed"><span>Assumed:</span>
    <label>a commit takes <input type="number" data-number="commit_ms" min="0.001" max="1000000" step="any"> ms</label>
    <label>the disk writes <input type="number" data-number="mb_per_s" min="0.001" max="1000000" step="any"> MB/s</label>
    <label>a model call takes <input type="number" data-number="call_s" min="0.001" max="1000000" step="any"> s</label>
    <span class="cc-refused" aria-live="polite"></span></div>
  <div class="ct-scroll" data-place="table" role="region" tabindex="0" aria-label="the same in words"></div>`;

function summary(engines, at, cheapest) {
  const where = `With a state of ${says.size(at.size)}, ${says.steps(at.steps)} done and ${rate(at.rate)}`;
  const [[, first], ...later] = cheapest;
  const parts = later.map(([from, name]) => `with more than one in about ${short(round(1 / from))} steps <b>${name}</b>`);
  const all = parts.length ? ` With few crashes <b>${first}</b> is cheapest; ${parts.join("; ")}.` : " No other crash rate changes that.";
  const least = leastOf(engines, at);
  return `${where}, <b>${MARK[least]} ${least}</b> costs least: ${time(cost(engines[least], at))} a step.${all}`;
}

/** Which engine costs least as crashes become more frequent: pairs of the rate from which on, and its name. */
function leastByRate(engines, at, range) {
  const found = [[0, leastOf(engines, { ...at, rate: range[0] })]];
  for (const [rate, , before, later] of crossings(PANELS[2], engines, at, range)) {
    if (before === found.at(-1)[1]) found.push([rate, later]);
  }
  return found;
}

const leastOf = (engines, at) => Object.keys(engines).reduce((a, b) => (cost(engines[a], at) <= cost(engines[b], at) ? a : b));

function rows(engines, at) {
  const least = leastOf(engines, at);
  return Object.entries(engines).map(([name, engine]) => [
    `${MARK[name]} ${name}`,
    bytes(line(engine.bytes, at.size)),
    bytes(line(engine.bytes, at.size) * at.steps),
    time(line(engine.ms, at.steps) / 1e3),
    time(written(engine, at)),
    time(at.rate * after(engine, at)),
    `<b>${time(cost(engine, at))}</b>${name === least ? ' <span class="ct-verdict">★ least</span>' : ""}`,
  ]);
}

const HEADS = ["engine", "kept a step", "on disk after all steps", "to come back", "a step: writing", "a step: after crashes", "a step: all in all"];

function paint(model, el) {
  const { engines, ranges } = model.get("data");
  const at = Object.fromEntries(SETTING.map((name) => [name, model.get(name)]));
  put(el.querySelector(".ct-summary"), summary(engines, at, leastByRate(engines, at, ranges.rate)));
  for (const panel of PANELS) {
    const { over } = panel;
    const place = el.querySelector(`[data-over=${over}]`);
    const crossed = crossings(panel, engines, at, ranges[over]);
    put(place, picture(panel, engines, at, ranges[over], crossed));
    const slider = el.querySelector(`[data-slider=${over}]`);
    slider.value = Math.log10(at[over]);
    slider.setAttribute("aria-valuetext", says[over](at[over]));
    slider.parentElement.querySelector(".cc-value").textContent = says[over](at[over]);
    const items = crossed.map(([x, , before, later]) => `<li>up to ${about[over](x)} <b>${before}</b> is lower, then <b>${later}</b>${beyond(panel, engines, x) ? " (beyond what was measured)" : ""}</li>`);
    put(place.parentElement.querySelector("ol"), items.join("") || '<li class="cc-none">no two curves cross here</li>');
  }
  for (const input of el.querySelectorAll("[data-number]")) if (input !== document.activeElement) input.value = at[input.dataset.number];
  put(el.querySelector("[data-place=table]"), table("The same in numbers", HEADS, rows(engines, at)));
}

/** A slider, a number or the pointer in a picture sets its trait. */
function listen(model, el) {
  const { ranges } = model.get("data");
  const slide = (over, power) => {
    const [least, most] = ranges[over];
    const value = Math.min(Math.max(10 ** power, least), most);
    choose(model, over, over === "rate" ? value : Math.round(value));
  };
  el.addEventListener("input", ({ target }) => {
    if (target.dataset.slider) slide(target.dataset.slider, Number(target.value));
    if (!target.dataset.number) return;
    const fits = target.checkValidity() && target.value;
    el.querySelector(".cc-refused").textContent = fits ? "" : "Not used: type a number from 0.001 to 1,000,000.";
    if (fits) choose(model, target.dataset.number, Number(target.value));
  });
  for (const place of el.querySelectorAll("[data-over]")) {
    const move = (event) => {
      const box = place.querySelector("svg").getBoundingClientRect();
      const share = ((event.clientX - box.x) / box.width * AREA.wide - AREA.left) / (AREA.wide - AREA.left - AREA.right);
      const [low, high] = ranges[place.dataset.over].map(Math.log10);
      slide(place.dataset.over, low + Math.min(Math.max(share, 0), 1) * (high - low));
    };
    place.addEventListener("pointerdown", (event) => (place.setPointerCapture(event.pointerId), move(event)));
    place.addEventListener("pointermove", (event) => place.hasPointerCapture(event.pointerId) && move(event));
  }
}

function render({ model, el }) {
  const undo = stand({ model, el }, frame(model.get("data").ranges), () => paint(model, el), SETTING);
  listen(model, el);
  return undo;
}

export default { render };
