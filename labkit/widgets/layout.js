// The crash timeline: what happened and where it stands. Python joins this and the other files into one module (see PARTS in page.py).

const GUTTER = 88; // pixels for the names of the lanes
const CALL_WIDTH = 2.2; // the widest column: a call goes down and comes back
const TAIL = 0.8; // behind a step with an effect, so that the last word of the ledger fits
const FIT_LEAST = 36; // pixels a unit of width, at which every name fits its column
const columnWidth = (name) => (OUTSIDE.includes(name) ? CALL_WIDTH : Math.max(0.8, (5.6 * name.length + 8) / FIT_LEAST));
const OUTSIDE = ["call", "lookup", "compensate"];

/** A life from its rows [number in the pool, column]: operations with their taps, and all taps in order. */
function lifeOf(rows, pool, scene) {
  const life = { ops: [], taps: [] };
  for (const [number, column] of rows) {
    const op = { ...pool[number], column, at: life.ops.length, first: life.taps.length };
    op.outside ||= [];
    op.group = scene.columns[column].group;
    op.taps.forEach((tap, n) => {
      const phase = tap.slice(tap.lastIndexOf(":") + 1).split("#")[0];
      const place = phase === "before" ? 0 : phase === "executed" ? 1 : scene.columns[column].places - 1;
      life.taps.push({ tap, window: op.windows[n], phase, slot: scene.columns[column].slot + place, op });
    });
    life.ops.push(op);
  }
  return life;
}

/** What followed a crash, with every number replaced by what it stands for. */
function outcomeOf(found, pool, scene) {
  const look = (numbers) => numbers.map((number) => pool[number]);
  return {
    ...found,
    life: lifeOf(found.life, pool, scene),
    broken: look(found.broken),
    findings: look(found.findings),
    effects: look(found.effects),
    outside: look(found.outside),
  };
}

/** The scene as it is drawn; outcomes are read when they are first asked for. */
function sceneOf(data) {
  const scene = { columns: [], slots: [], width: 0, visits: new Map(), effects: new Set(data.effects), engines: {} };
  scene.ledger = data.ledger;
  data.columns.forEach(([group, visit, name, nth, places], number) => {
    const wide = columnWidth(name);
    const column = { group, visit, name, nth, places, wide, left: scene.width, slot: scene.slots.length };
    for (let place = 0; place < places; place++) {
      const share = places === 3 ? [0.16, 0.55, 0.94][place] : [0.12, 0.88][place];
      scene.slots.push({ column: scene.columns.length, x: column.left + share * wide });
    }
    scene.columns.push(column);
    scene.width += wide;
    const next = data.columns[number + 1];
    if (scene.effects.has(group) && (next?.[0] !== group || next[1] !== visit)) scene.width += TAIL;
    const visits = scene.visits.get(`${group} ${visit}`) || { left: column.left };
    scene.visits.set(`${group} ${visit}`, { ...visits, right: scene.width });
  });
  for (const [name, found] of Object.entries(data.engines)) {
    scene.engines[name] = branchOf(found, lifeOf(found.first, data.pool, scene), data.pool, scene);
  }
  return scene;
}

/** A life, and what follows its death at each tap. */
function branchOf(found, life, pool, scene) {
  const cache = [];
  const after = (tap) => {
    const number = found.crash[tap];
    if (number === undefined) return null;
    cache[number] ||= outcomeOf(found.outcomes[number], pool, scene);
    return cache[number];
  };
  return { life, after };
}

/** The index of the last tap of a life up to a slot; its first when all come later, -1 when it has none. */
function lastTap(life, slot) {
  let low = 0;
  let high = life.taps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (life.taps[middle].slot <= slot) low = middle + 1;
    else high = middle;
  }
  return life.taps.length ? Math.max(low - 1, 0) : -1;
}

/** Every slot at which one of these lives has a tap, in order. */
function slotsOf(lives) {
  const found = new Set();
  for (const life of lives) for (const tap of life.taps) found.add(tap.slot);
  return [...found].sort((a, b) => a - b);
}

/** The tap that names a slot: of the first life that has one there. */
function tapAt(lives, slot) {
  for (const life of lives) {
    const found = life.taps[lastTap(life, slot)];
    if (found && found.slot === slot) return found;
  }
  return null;
}

/** The slot of a tap by name, or null. */
function slotOf(lives, name) {
  for (const life of lives) {
    const found = life.taps.find((each) => each.tap === name);
    if (found) return found.slot;
  }
  return null;
}

/** Where to go on another axis: the same tap, else the same window of the same step, else the same step. */
function sameSlot(lives, tap) {
  const exact = slotOf(lives, tap.tap);
  if (exact !== null) return exact;
  const all = lives.flatMap((life) => life.taps);
  const inStep = all.filter((each) => each.op.group === tap.op.group);
  const found = inStep.find((each) => each.window === tap.window) || inStep[0] || all[0];
  return found ? found.slot : 0;
}

/** The slot of `slots` nearest to a place on the axis. */
function nearestSlot(scene, slots, x) {
  let best = slots[0];
  for (const slot of slots) {
    if (Math.abs(scene.slots[slot].x - x) < Math.abs(scene.slots[best].x - x)) best = slot;
  }
  return best;
}

/** How much of an operation a process saw that died at tap `died` (null: it did not die). */
function seen(op, died) {
  if (died === null || op.first + op.taps.length - 1 <= died) return op.taps.length;
  return Math.max(0, died - op.first + 1);
}

/** An operation cut off after its first `passed` taps: what was done by then, and what was not. */
function cut(op, passed) {
  const phases = op.taps.slice(0, passed).map((tap) => tap.split(":")[1].split("#")[0]);
  const done = phases.includes("after");
  const calls = OUTSIDE.includes(op.name);
  const executed = phases.includes("executed");
  const outside = op.outside.filter((each) => each.kind === "activity" || executed);
  const repeated = calls && executed && !op.outside.some((each) => each.kind !== "activity");
  let text = op.name;
  if (!done) text += calls ? (executed ? ": reply lost" : ": no reply") : ": not committed";
  return { done, calls, executed, outside, repeated, text, ledger: done ? op.ledger || "" : "" };
}
