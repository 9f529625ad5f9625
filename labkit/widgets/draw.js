// The picture. Only what is in view is drawn; where columns are thinner than a few pixels, they are binned.

const Y = { window: 26, step: 42, calls: 84, commits: 108, ledger: 128, provider: 162, height: 204 };
const THIN = 9; // pixels a column below which single events are not drawn
const label = (x, y, text, look = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${look}">${esc(text)}</text>`;
const box = (x, y, wide, high, look) =>
  `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(wide, 1).toFixed(1)}" height="${high}" rx="3" class="${look}"/>`;
const diamond = (x, y, size, look) => `<path class="${look}" d="M${x} ${y - size}l${size} ${size}-${size} ${size}-${size}-${size}z"/>`;

/** How wide a text of this many letters is, in pixels, with the small font. */
const room = (text) => text.length * 5.4;
const fitting = (text, wide) => (room(text) <= wide ? text : wide < 28 ? "" : `${text.slice(0, Math.floor(wide / 5.5) - 1)}…`);

/** One process: `died` is the index of the tap at which it dies, null when it does not; `inherited` ledger states. */
function drawLife(view, engine, number, life, died, lost, inherited, crashed) {
  const inside = life.ops.slice(...visible(view, life));
  const parts = [died === null ? "" : drawDeath(view, life.taps[died], crashed)];
  if (view.unit < THIN) parts.push(...bins(view, inside, died));
  else {
    parts.push(...stepsOf(inside).flatMap((step) => drawStep(view, step, died, inherited, life, number > 1)));
    for (const op of inside) parts.push(drawEvent(view, `${engine}/${number}/${op.at}`, op, seen(op, died)));
    parts.push(...lost.map((step) => drawLost(view, step)));
  }
  return parts.join("");
}

/** The first and one past the last operation in view. */
function visible(view, life) {
  const left = view.left - CALL_WIDTH;
  const right = view.left + (view.wide - GUTTER) / view.unit;
  const at = (edge) => {
    let low = 0;
    let high = life.ops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (view.scene.columns[life.ops[middle].column].left < edge) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [at(left), at(right)];
}

function lanes(view) {
  const rows = [["window", Y.window + 9], ["step", Y.step + 17], ["ctx call", Y.calls + 4], ["commit", Y.commits + 4]];
  rows.push(["our ledger", Y.ledger + (view.scene.ledger ? 12 : 7)], ["provider", Y.provider + 4]);
  if (!view.scene.ledger) rows.push(["not kept", Y.ledger + 18]);
  const lines = [Y.calls, Y.commits, Y.provider];
  return (
    rows.map(([name, y]) => label(0, y, name, "ct-lane")).join("") +
    lines.map((y) => `<line x1="${GUTTER - 6}" x2="${view.wide}" y1="${y}" y2="${y}" class="ct-rule"/>`).join("")
  );
}

/** Operations that follow each other in the same step. */
function stepsOf(ops) {
  const found = [];
  for (const op of ops) {
    const last = found.at(-1);
    if (last && last[0].group === op.group) last.push(op);
    else found.push([op]);
  }
  return found;
}

function drawStep(view, ops, died, inherited, life, resumed) {
  const first = view.scene.columns[ops[0].column];
  const last = view.scene.columns[ops.at(-1).column];
  const whole = (column) => view.scene.visits.get(`${column.group} ${column.visit}`);
  const tookOver = resumed && ops[0] === life.ops[0];
  const left = view.x(tookOver ? first.left : whole(first).left) + 2;
  const right = view.x(whole(last).right) - 2;
  const alive = ops.filter((op) => seen(op, died));
  const parts = [];
  const [word, ...rest] = ops[0].group.split("_");
  const lines = rest.length ? [word, rest.join(" ")] : [word];
  const middle = (Math.max(left, GUTTER) + Math.min(right, view.wide)) / 2;
  parts.push(box(left, Y.step, right - left, 28, alive.length ? "ct-step" : "ct-step ct-ghost"));
  lines.forEach((text, n) => {
    const y = Y.step + (lines.length === 1 ? 18 : 12 + 12 * n);
    parts.push(label(middle, y, fitting(text, right - left), `ct-mid ct-word${alive.length ? "" : " ct-ghost"}`));
  });
  if (view.scene.effects.has(ops[0].group)) {
    parts.push(...drawWindows(view, ops, died), ...drawLedger(view, ops, died, right, inherited, life));
  }
  return parts;
}

function drawWindows(view, ops, died) {
  const spans = [];
  for (const op of ops) {
    const column = view.scene.columns[op.column];
    const share = (view.unit * column.wide) / op.taps.length;
    op.windows.forEach((name, n) => {
      const left = view.x(column.left) + share * n;
      if (spans.at(-1)?.name === name) spans.at(-1).right = left + share;
      else spans.push({ name, left, right: left + share, ghost: seen(op, died) <= n });
    });
  }
  return spans
    .filter((span) => span.name !== "between")
    .map((span) => {
      const ghost = span.ghost ? " ct-ghost" : "";
      const middle = (span.left + span.right) / 2;
      return box(span.left + 0.5, Y.window, span.right - span.left - 1, 13, `ct-${span.name}${ghost}`) +
        label(middle, Y.window + 10, fitting(span.name, span.right - span.left), `ct-mid ct-small${ghost}`);
    });
}

/** What our ledger says of the step's effect, from the moment that it says it. */
function drawLedger(view, ops, died, right, inherited, life) {
  const changes = [];
  const before = inherited.get(ops[0].group);
  if (before) changes.push([view.x(view.scene.columns[ops[0].column].left) + 2, before]);
  for (const op of ops) {
    const { ledger } = cut(op, seen(op, died));
    if (ledger) changes.push([view.middle(op.column), ledger]);
  }
  const dead = died !== null && ops.includes(life.taps[died].op) ? view.x(view.scene.slots[life.taps[died].slot].x) : right;
  return changes.map(([x, status], n) => {
    const state = status === "ambiguous" ? "? AMBIGUOUS" : status;
    const end = n + 1 < changes.length ? changes[n + 1][0] : Math.max(dead, x + 4);
    const outside = n + 1 === changes.length && room(state) > end - x && dead < right;
    const words = outside ? label(end + 4, Y.ledger + 12, state, "ct-small") :
      label((x + end) / 2, Y.ledger + 12, fitting(state, end - x), "ct-mid ct-small");
    return box(x, Y.ledger, end - x, 17, `ct-state ct-${status}`) + words;
  });
}

/** One operation: a commit is a dot, a call goes down to the provider and comes back, or does not. */
function drawEvent(view, id, op, passed) {
  const x = view.middle(op.column);
  const wide = view.unit * view.scene.columns[op.column].wide;
  const shown = cut(op, passed || op.taps.length);
  const parts = [];
  if (shown.calls) parts.push(drawCall(view, op, shown));
  else {
    parts.push(`<circle cx="${x}" cy="${Y.commits}" r="4.5" class="${shown.done ? "ct-dot" : "ct-open"}"/>`);
  }
  const named = room(op.name) <= wide ? op.name : "";
  if (shown.calls) parts.push(label(x - wide / 2 + 0.16 * wide + 8, Y.calls + 13, named, "ct-small"));
  else parts.push(label(x, Y.commits + 15, named, "ct-mid ct-small"));
  const acts = shown.outside.filter((each) => each.kind === "activity");
  if (acts.length) parts.push(drawActivities(x, wide, acts));
  const outside = shown.outside.map((each) => `${each.text}${each.mark ? ` ${each.mark}` : ""}`);
  if (shown.repeated) outside.push("nothing new");
  const text = passed ? [shown.text, ...outside].join(", ") : `${op.name}: does not happen if the crash comes before`;
  const ghost = passed ? "" : " ct-ghost";
  const name = esc(`${op.step} ${text}`);
  return `<g aria-hidden="true" class="ct-drawn${ghost}">${parts.join("")}</g><g class="ct-event${ghost}" data-event="${id}"
    role="button" tabindex="-1" aria-label="${name}"><title>${name}</title><rect class="ct-hit" x="${x - wide / 2}"
    y="${Y.calls - 14}" width="${wide}" height="${Y.height - Y.calls}"/></g>`;
}

function drawCall(view, op, shown) {
  const column = view.scene.columns[op.column];
  const [sent, done, back] = [0.16, 0.52, 0.9].map((share) => view.x(column.left + share * column.wide));
  const parts = [`<rect x="${sent - 4.5}" y="${Y.calls - 4.5}" width="9" height="9" class="ct-dot"/>`];
  const arrow = (path) => parts.push(`<path class="ct-arrow" d="${path}"/>`);
  if (shown.executed) arrow(`M${sent} ${Y.calls}V${Y.provider}H${done - 9}m-4-3l4 3-4 3`);
  else arrow(`M${sent} ${Y.calls}V${Y.ledger - 4}m-3-4l3 4 3-4`);
  if (shown.executed && shown.done) arrow(`M${done + 9} ${Y.provider}H${back}V${Y.calls}m-3 4l3-4 3 4`);
  if (shown.executed && !shown.done) parts.push(label(done + 10, Y.provider - 8, "✗ reply lost", "ct-small"));
  if (shown.repeated) {
    parts.push(diamond(done, Y.provider, 7, "ct-open"), label(done, Y.provider + 20, "nothing new", "ct-mid ct-small"));
  }
  for (const each of shown.outside.filter((found) => found.kind !== "activity")) {
    const [what, receipt] = each.text.split(" → ");
    const twice = each.mark === "duplicate";
    parts.push(diamond(done, Y.provider, 7, twice ? "ct-twice" : "ct-done"));
    if (twice) parts.push(diamond(done, Y.provider, 12, "ct-ring"), tag(done, Y.provider + 28, "DUPLICATE", "ct-alarm"));
    parts.push(label(done, Y.provider + (twice ? 24 : 20), what, "ct-mid ct-small"));
    if (receipt && !twice) parts.push(label(done, Y.provider + 31, receipt, "ct-mid ct-small ct-quiet"));
  }
  return parts.join("");
}

function tag(x, y, text, look) {
  const wide = room(text) + 14;
  return box(x - wide / 2, y, wide, 14, look) + label(x, y + 10.5, text, "ct-mid ct-small ct-on-alarm");
}

function drawActivities(x, wide, acts) {
  const parts = [`<line x1="${x}" x2="${x}" y1="${Y.calls}" y2="${Y.provider - 6}" class="ct-thread"/>`];
  acts.slice(0, 3).forEach((each, n) => {
    const mark = each.mark ? "ct-again" : "ct-act";
    parts.push(`<circle cx="${x}" cy="${Y.calls}" r="4" class="${mark}"/>`);
    parts.push(`<circle cx="${x}" cy="${Y.provider}" r="${each.mark ? 6 : 4}" class="${mark}"/>`);
    const text = each.text.replaceAll("_", " ").split(" ");
    const lines = [...text.slice(0, 2), ...(each.mark ? ["AGAIN"] : [])];
    if (n === 0) lines.forEach((word, row) => parts.push(label(x, Y.provider + 17 + 10 * row, fitting(word, wide + 6), "ct-mid ct-small")));
  });
  if (acts.length > 1) parts.push(label(x + 7, Y.provider + 3, `×${acts.length}`, "ct-small"));
  return parts.join("");
}

function drawLost(view, step) {
  const last = view.scene.columns.findLastIndex((column) => column.group === step && OUTSIDE.includes(column.name));
  if (last < 0) return "";
  const x = view.middle(last);
  return `<rect x="${x - 8}" y="${Y.provider - 8}" width="16" height="16" class="ct-lost"/>` + tag(x, Y.provider + 14, "LOST", "ct-alarm");
}

function drawDeath(view, tap, crashed) {
  const x = view.x(view.scene.slots[tap.slot].x);
  if (x < GUTTER || x > view.wide) return "";
  if (!crashed) return `<path class="ct-marker" d="M${x} ${Y.window - 2}V${Y.height}"/>` + label(x + 6, 18, tap.window, "ct-bold ct-small");
  const zigzag = Array.from({ length: 16 }, (_, n) => `l${n % 2 ? -5 : 5} 10`).join("");
  return `<path class="ct-death" d="M${x - 2.5} ${Y.window - 2}${zigzag}"/>` + label(x + 6, 18, `✗ ${tap.window}`, "ct-bold ct-small");
}

/** Far away: one mark for all that stands in the same few pixels, tall for an effect, taller for a duplicate. */
function bins(view, ops, died) {
  const found = new Map();
  for (const op of ops) {
    const bin = Math.round(view.middle(op.column) / 4) * 4;
    if (!seen(op, died)) continue;
    const rank = op.outside.some((each) => each.mark === "duplicate") ? 3 : OUTSIDE.includes(op.name) ? 2 : 1;
    found.set(bin, Math.max(found.get(bin) || 0, rank));
  }
  return [...found].map(([x, rank]) =>
    rank === 3
      ? diamond(x, Y.provider, 6, "ct-twice") + label(x, Y.provider + 18, "2×", "ct-mid ct-small")
      : `<line x1="${x}" x2="${x}" y1="${Y.commits - 6}" y2="${rank === 2 ? Y.provider : Y.commits + 6}" class="ct-bin"/>`,
  );
}
