// What happened and what it is made of. Python joins this and the other files into one module (see PARTS in page.py).

const OUTSIDE = ["call", "lookup", "compensate"];
const WITHIN = { 3: [0.12, 0.44, 0.76], 2: [0.2, 0.8] }; // where in its column a tap stands, by how many places it has

/** A life from its rows [number in the pool, column]: operations with their taps, and all taps in order. */
function lifeOf(rows, pool, scene) {
  const life = { ops: [], taps: [] };
  for (const [number, column] of rows) {
    const op = { ...pool[number], column, at: life.ops.length, first: life.taps.length };
    op.outside ||= [];
    op.group = scene.columns[column].group;
    op.taps.forEach((tap, n) => {
      const phase = tap.slice(tap.lastIndexOf(":") + 1).split("#")[0];
      const { places } = scene.columns[column];
      const place = phase === "before" ? 0 : phase === "executed" ? 1 : places - 1;
      life.taps.push({ tap, window: op.windows[n], phase, column, share: WITHIN[places][place], op });
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
  const scene = { columns: [], width: 0, visits: new Map(), effects: new Set(data.effects), engines: {}, ledger: data.ledger };
  data.columns.forEach(([group, visit, name, nth, places], number) => {
    const next = data.columns[number + 1];
    const ends = next?.[0] !== group || next[1] !== visit;
    const column = { group, visit, name, nth, places, number, ends, used: false };
    scene.columns.push(column);
    const key = `${group} ${visit}`;
    if (!scene.visits.has(key)) scene.visits.set(key, { columns: [], words: [] });
    scene.visits.get(key).columns.push(column);
  });
  for (const [name, found] of Object.entries(data.engines)) {
    const life = lifeOf(found.first, data.pool, scene);
    scene.engines[name] = branchOf(found, life, data.pool, scene);
    for (const op of life.ops) {
      scene.columns[op.column].used = true;
      const { words } = visitOf(scene, scene.columns[op.column]);
      for (const each of op.outside) if (each.kind === "activity") words.push(each.text.replaceAll("_", " "));
    }
  }
  return Object.assign(scene, stopsOf(data, Object.keys(data.engines)));
}

const visitOf = (scene, { group, visit }) => scene.visits.get(`${group} ${visit}`);

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

/** Where a crash can stop, in order: each with a name, words, and the tap at which each engine that has it dies. */
function stopsOf({ stops, inside }, engines) {
  const made = stops.map(([name, words, taps]) => {
    const own = engines.map((engine, n) => [engine, taps[n]]).filter(([, tap]) => tap !== null);
    return { name, words, taps: Object.fromEntries(own) };
  });
  return { stops: made, inside, byName: new Map(made.map((stop) => [stop.name, stop])) };
}

/** The stop of this name; a tap that is none by itself; or a moment that no engine has. */
function stopNamed({ byName }, lives, name) {
  if (byName.has(name)) return byName.get(name);
  const taps = {};
  for (const [engine, life] of Object.entries(lives)) {
    const at = life.taps.findIndex((each) => each.tap === name);
    if (at >= 0) taps[engine] = at;
  }
  return { name, words: name, taps };
}

/** What is said of an engine that has no such moment. */
function lacks(name) {
  const [at, effect] = name.split(" of ");
  return (effect ? LACKS_WINDOW : LACKS_TAP).replace("{at}", at).replace("{effect}", effect);
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
