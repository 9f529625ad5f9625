// The picture. Only what is in view is drawn; where columns are thinner than a few pixels, they are binned.

const Y = { window: 26, step: 44, calls: 92, commits: 116, ledger: 138, provider: 176, height: 238 };
const THIN = 0.3; // of its least width: below that single events are not drawn
const LINE = 14; // pixels from one line of text to the next
const label = (x, y, text, look = "") => (text ? `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${look}">${esc(text)}</text>` : "");
const box = (x, y, wide, high, look) =>
  `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(wide, 1).toFixed(1)}" height="${high}" rx="3" class="${look}"/>`;
const sign = (mark, x, y, look) => `<path d="${mark.path}" transform="translate(${x.toFixed(1)} ${y})" class="${look}"/>`;
const markOf = (name) => MARKS[name] || MARKS.commit;
const inkOf = (mark, done) => (mark.filled ? (done ? "ct-dot" : "ct-open") : done ? "ct-stroke" : "ct-stroke ct-open");

/** One process: `died` is the index of the tap at which it dies, null when it does not; `inherited` ledger states. */
function drawLife(view, engine, number, life, died, lost, inherited, crashed) {
  const [from, to] = visible(view, life);
  const inside = life.ops.slice(from, to);
  const parts = [died === null ? "" : drawDeath(view, life, died, crashed)];
  if (view.unit < THIN) parts.push(...bins(view, inside, died));
  else {
    parts.push(...drawWindows(view, life, inside, died));
    parts.push(...stepsOf(inside).flatMap((step) => drawStep(view, step, died, life, number > 1)));
    const events = inside.map((op) => drawEvent(view, `${engine}/${number}/${op.at}`, op, seen(op, died)));
    parts.push(...events.map(([drawn]) => drawn), ...drawLedgers(view, inside, died, inherited, life), ...events.map(([, hit]) => hit));
    parts.push(...lost.map((step) => drawLost(view, step)));
  }
  return parts.join("");
}

/** The first and one past the last operation in view. */
function visible(view, life) {
  const right = view.left + (view.wide - GUTTER) / view.unit;
  const at = (edge, side) => {
    let low = 0;
    let high = life.ops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { left, wide } = view.scene.columns[life.ops[middle].column];
      if (left + (side ? wide : 0) < edge) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [Math.max(at(view.left, true) - 1, 0), at(right, false)];
}

function lanes(view) {
  const rows = [["window", Y.window + 11], ["step", Y.step + 19], ["call", Y.calls + 4], ["commit", Y.commits + 4]];
  rows.push(["ledger", Y.ledger + (view.scene.ledger ? 13 : 6)], ["provider", Y.provider + 4]);
  if (!view.scene.ledger) rows.push(["none", Y.ledger + 20]);
  return (
    rows.map(([name, y]) => label(0, y, LANES[name], "ct-lane")).join("") +
    [Y.calls, Y.commits, Y.provider].map((y) => `<line x1="${GUTTER - 6}" x2="${view.wide}" y1="${y}" y2="${y}" class="ct-rule"/>`).join("")
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

function drawStep(view, ops, died, life, resumed) {
  const first = view.scene.columns[ops[0].column];
  const tookOver = resumed && ops[0] === life.ops[0];
  const left = view.x(tookOver ? first.left : visitOf(view.scene, first).left) + 1.5;
  const right = view.x(visitOf(view.scene, view.scene.columns[ops.at(-1).column]).right) - 1.5;
  const alive = ops.filter((op) => seen(op, died));
  const ghost = alive.length ? "" : " ct-ghost";
  const middle = (Math.max(left, GUTTER) + Math.min(right, view.wide)) / 2;
  const lines = wrap(ops[0].group, right - left - 1).slice(0, 2);
  const parts = [box(left, Y.step, right - left, 32, `ct-step${ghost}`)];
  lines.forEach((text, n) => {
    const y = Y.step + (lines.length === 1 ? 20 : 13.5 + LINE * n);
    parts.push(label(middle, y, text, `ct-mid ct-word${ghost}`));
  });
  parts.push(...drawActivities(view, alive, died, left, right));
  return parts;
}

/** The windows of the effects: each lasts from its first tap to what the process passes next. */
function drawWindows(view, life, ops, died) {
  const spans = [];
  for (const op of ops) {
    op.windows.forEach((name, n) => {
      const [left, right] = spanOf(view.scene, life, op.first + n);
      const ghost = seen(op, died) <= n;
      if (spans.at(-1)?.name === name && spans.at(-1).right === left) spans.at(-1).right = right;
      else spans.push({ name, left, right, ghost });
    });
  }
  return spans
    .filter((span) => span.name !== "between")
    .map(({ name, left, right, ghost }) => {
      const [from, to] = [view.x(left), view.x(right)];
      const look = ghost ? " ct-ghost" : "";
      return box(from + 0.5, Y.window, to - from - 1, 15, `ct-window ct-${name}${look}`) +
        label((from + to) / 2, Y.window + 12, room(name) <= to - from ? name : "", `ct-mid${look}`);
    });
}

/** What our ledger says of the effects, over the arrows of their calls. */
function drawLedgers(view, ops, died, inherited, life) {
  return stepsOf(ops)
    .filter(([op]) => view.scene.effects.has(op.group))
    .map((step) => {
      const { right } = visitOf(view.scene, view.scene.columns[step.at(-1).column]);
      return `<g class="ct-drawn" aria-hidden="true">${drawLedger(view, step, died, view.x(right) - 1.5, inherited, life).join("")}</g>`;
    });
}

/** What it says of one step's effect, from the moment that it says it. */
function drawLedger(view, ops, died, right, inherited, life) {
  const changes = [];
  const before = inherited.get(ops[0].group);
  if (before) changes.push([view.x(view.scene.columns[ops[0].column].left) + 2, before]);
  for (const op of ops) {
    const { ledger } = cut(op, seen(op, died));
    if (ledger) changes.push([view.middle(op.column), ledger]);
  }
  const here = died !== null && ops.includes(life.taps[died].op);
  const dead = here ? view.x(deathOf(view.scene, life, died)) : right;
  return changes.map(([x, status], n) => {
    const state = status === "ambiguous" ? "? AMBIGUOUS" : status;
    const last = n + 1 === changes.length;
    const end = last ? Math.max(dead, x + 4) : changes[n + 1][0];
    const outside = last && here && room(state) > end - x - 4;
    const words = outside ? label(end + 8, Y.ledger + 13, fitting(state, view.wide - end - 8)) :
      label((x + end) / 2, Y.ledger + 13, fitting(state, end - x - 2), "ct-mid");
    return box(x, Y.ledger, end - x, 18, `ct-state ct-${status}`) + words;
  });
}

/** One operation, as it is drawn and as it is pressed: a mark on its lane; a call goes to the provider and comes back, or not. */
function drawEvent(view, id, op, passed) {
  const x = view.middle(op.column);
  const wide = view.unit * view.scene.columns[op.column].wide;
  const shown = cut(op, passed || op.taps.length);
  const named = room(op.name) <= wide - 2 ? op.name : "";
  const parts = [];
  if (shown.calls) parts.push(drawCall(view, op, shown));
  else parts.push(sign(markOf(op.name), x, Y.commits, inkOf(markOf(op.name), shown.done)), label(x, Y.commits + 17, named, "ct-mid"));
  const outside = shown.outside.map((each) => `${each.text}${each.mark ? ` ${each.mark}` : ""}`);
  if (shown.repeated) outside.push(SAID.nothingNew);
  const text = passed ? [shown.text, ...outside].join(", ") : `${op.name}: does not happen if the crash comes before`;
  const ghost = passed ? "" : " ct-ghost";
  const name = esc(`${op.step} ${text}`);
  const hit = `<g class="ct-event${ghost}" data-event="${id}" role="button" tabindex="-1" aria-label="${name}"><title>${name}</title>
    <rect class="ct-hit" x="${x - wide / 2}" y="${Y.calls - 14}" width="${wide}" height="${Y.height - Y.calls}"/></g>`;
  return [`<g aria-hidden="true" class="ct-drawn${ghost}">${parts.join("")}</g>`, hit];
}

function drawCall(view, op, shown) {
  const column = view.scene.columns[op.column];
  const [sent, done, back] = WITHIN[3].map((share) => view.x(column.left + share * column.wide));
  const visit = visitOf(view.scene, column);
  const [from, to] = [view.x(visit.left), view.x(visit.right)];
  const parts = [sign(SENT, sent, Y.calls, "ct-dot")];
  const arrow = (path) => parts.push(`<path class="ct-arrow" d="${path}"/>`);
  if (shown.executed) arrow(`M${sent} ${Y.calls}V${Y.provider}H${done - 9}m-4-3l4 3-4 3`);
  else arrow(`M${sent} ${Y.calls}V${Y.ledger - 4}m-3-4l3 4 3-4`);
  if (shown.executed && shown.done) arrow(`M${done + 9} ${Y.provider}H${back}V${Y.calls}m-3 4l3-4 3 4`);
  if (shown.executed && !shown.done) parts.push(label(done + 10, Y.provider - 9, fitting(SAID.replyLost, to - done - 10)));
  if (room(op.name) < back - sent - 18) parts.push(label(sent + 9, Y.calls + 15, op.name));
  const below = 2 * Math.min(done - from, to - done) - 4;
  let y = Y.provider + 22;
  const say = (words, look = "") => wrap(words, below).forEach((line) => (parts.push(label(done, y, line, `ct-mid ${look}`)), (y += LINE)));
  if (shown.repeated) parts.push(sign(DONE, done, Y.provider, "ct-open")), say(SAID.nothingNew);
  for (const each of shown.outside.filter((found) => found.kind !== "activity")) {
    const [what, receipt] = each.text.split(" → ");
    const twice = each.mark && each.mark !== "again"; // surely (duplicate), or perhaps (question)
    parts.push(sign(DONE, done, Y.provider, twice ? `ct-twice ct-${each.mark}` : "ct-done"));
    if (twice) {
      parts.push(`<circle cx="${done}" cy="${Y.provider}" r="12" class="ct-ring ct-${each.mark}"/>`, tag(done, y - 6, SAID[each.mark]));
      y += 22;
    }
    say(what);
    if (receipt && !twice) say(receipt, "ct-quiet");
  }
  return parts.join("");
}

function tag(x, y, text) {
  const wide = room(text, true) + 10;
  return box(x - wide / 2, y, wide, 16, "ct-alarm") + label(x, y + 12.5, text, "ct-mid ct-on-alarm");
}

/** The activities of a step: a thread from the call to the provider each, and below it what they were, as far as it fits. */
function drawActivities(view, ops, died, left, right) {
  const parts = [];
  const lines = [];
  for (const op of ops) {
    const acts = cut(op, seen(op, died)).outside.filter((each) => each.kind === "activity");
    if (!acts.length) continue;
    const x = view.middle(op.column);
    const again = acts.some((each) => each.mark);
    parts.push(`<line x1="${x}" x2="${x}" y1="${Y.calls}" y2="${Y.provider - 6}" class="ct-thread"/>`);
    for (const y of [Y.calls, Y.provider]) parts.push(`<circle cx="${x}" cy="${y}" r="${again ? 5.5 : 4}" class="${again ? "ct-again" : "ct-act"}"/>`);
    if (acts.length > 1) parts.push(label(x + 8, Y.provider - 6, fitting(`×${acts.length}`, right - x - 8)));
    for (const each of acts) lines.push(...wrap(each.text, right - left), ...(each.mark ? [SAID.again] : []));
  }
  if (lines.length > 3) lines.splice(2, lines.length, "…");
  lines.forEach((text, n) => {
    parts.push(label((left + right) / 2, Y.provider + 20 + LINE * n, room(text) <= right - left ? text : "", `ct-mid${text === SAID.again ? " ct-bold" : ""}`));
  });
  return parts;
}

function drawLost(view, step) {
  const last = view.scene.columns.findLastIndex((column) => column.group === step && OUTSIDE.includes(column.name));
  if (last < 0) return "";
  const x = view.middle(last);
  return `<rect x="${x - 8}" y="${Y.provider - 8}" width="16" height="16" class="ct-lost"/>` + tag(x, Y.provider + 14, SAID.lost);
}

function drawDeath(view, life, died, crashed) {
  const x = view.x(deathOf(view.scene, life, died));
  if (x < GUTTER || x > view.wide) return "";
  const { window } = life.taps[died];
  let text = `${crashed ? "✗ " : ""}${window === "between" ? "" : window}`;
  if (x < 110) text = ""; // there stands the engine's name
  const named = x + 8 + room(text, true) > view.wide ? label(x - 6, 17, text, "ct-bold ct-end") : label(x + 6, 17, text, "ct-bold");
  if (!crashed) return `<path class="ct-marker" d="M${x} ${Y.window - 4}V${Y.height - 6}"/>${named}`;
  const zigzag = Array.from({ length: 20 }, (_, n) => `l${n % 2 ? -5 : 5} 10`).join("");
  return `<path class="ct-death" d="M${x - 2.5} ${Y.window - 4}${zigzag}"/>${named}`;
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
      ? sign(DONE, x, Y.provider, "ct-twice") + label(x, Y.provider + 20, "2×", "ct-mid")
      : `<line x1="${x}" x2="${x}" y1="${Y.commits - 6}" y2="${rank === 2 ? Y.provider : Y.commits + 6}" class="ct-bin"/>`,
  );
}
