// How wide everything is: as narrow as its words and marks allow, as wide as the place allows.

const GUTTER = 74; // pixels for the names of the lanes
const MARGIN = 8; // pixels behind the run
const LEAST = { call: 82, again: 22, mark: 14, later: 8, lead: 14, tail: 18 }; // pixels: what is only seen after a crash is narrow
const WISH = { call: 124, again: 60, mark: 0, later: 16, lead: 20, tail: 36 }; // a mark wishes for room for its name
const READABLE = 0.75; // of its least width: below that a run is not opened whole
const FONT = 12;
const measured = new Map();
let pen = null;

/** How wide a text is, in pixels, in the font of the picture. */
function room(text, bold = false) {
  pen ||= document.createElement("canvas").getContext("2d");
  const key = (bold ? "b" : "") + text;
  if (!measured.has(key)) {
    pen.font = `${bold ? 650 : 400} ${FONT}px ${room.family || "system-ui, sans-serif"}`;
    measured.set(key, pen.measureText(text).width);
  }
  return measured.get(key);
}

/** As much of a text as fits, with … for the rest; nothing where not even a few letters do. */
function fitting(text, wide) {
  if (room(text) <= wide) return text;
  let letters = text.length - 1;
  while (letters > 2 && room(`${text.slice(0, letters)}…`) > wide) letters--;
  return letters > 2 ? `${text.slice(0, letters)}…` : "";
}

/** Words on as few lines as fit, each at most so wide. */
function wrap(text, wide) {
  const lines = [];
  for (const word of text.split(/[ _]/)) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : "";
    if (longer && room(longer) <= wide) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((line) => fitting(line, wide)).filter(Boolean);
}

/** What a column holds: a call or the mark of a write, seen without a crash or only after one; `lead` has room for W1. */
function kindOf({ name, used }, first) {
  if (OUTSIDE.includes(name)) return used ? "call" : "again";
  return used ? "mark" : first ? "lead" : "later";
}

/** Give each column its place in a run that is `wide` pixels wide, or as wide as it must at least be. */
function layOut(scene, wide) {
  const sizes = new Map();
  for (const [key, { columns, words }] of scene.visits) {
    const lines = [...columns[0].group.split("_"), ...words.flatMap((text) => (room(text) < 62 ? [text] : text.split(" ")))];
    const need = Math.min(Math.max(...lines.map((line) => room(line))), 96) + 12;
    const effect = scene.effects.has(columns[0].group);
    const kinds = columns.map((column, n) => kindOf(column, effect && !n));
    const least = kinds.map((kind) => LEAST[kind]);
    const tail = effect ? LEAST.tail : 0;
    const sum = least.reduce((all, each) => all + each, tail);
    const more = Math.max(need / sum, 1);
    const wish = columns.map(({ name }, n) => Math.max(kinds[n] === "mark" ? room(name) + 10 : WISH[kinds[n]], least[n] * more));
    sizes.set(key, { least: least.map((each) => each * more), wish, tail: tail * more, wishTail: tail && WISH.tail });
  }
  const all = [...sizes.values()];
  const total = (name, tail) => all.reduce((sum, each) => sum + each[tail] + each[name].reduce((a, b) => a + b, 0), 0);
  const [least, wish] = [total("least", "tail"), total("wish", "wishTail")];
  const share = Math.min(Math.max((wide - least) / Math.max(wish - least, 1), 0), 1);
  const stretch = Math.max(wide / Math.max(wish, 1), 1);
  scene.width = 0;
  for (const [key, size] of sizes) {
    const visit = scene.visits.get(key);
    visit.left = scene.width;
    visit.columns.forEach((column, n) => {
      column.left = scene.width;
      column.wide = (size.least[n] + share * (size.wish[n] - size.least[n])) * stretch;
      scene.width += column.wide;
    });
    scene.width += (size.tail + share * Math.max(size.wishTail - size.tail, 0)) * stretch;
    visit.right = scene.width;
  }
}

/** Where on the run a tap stands. */
const placeOf = (scene, { column, share }) => scene.columns[column].left + share * scene.columns[column].wide;

/** From where to where a process is dead if it dies at this tap: up to what it would have passed next. */
function spanOf(scene, life, at) {
  const tap = life.taps[at];
  const left = placeOf(scene, tap);
  const next = life.taps[at + 1];
  const right = next ? placeOf(scene, next) : visitOf(scene, scene.columns[tap.column]).right;
  const column = scene.columns[tap.column];
  return [left, right > left ? right : column.left + column.wide];
}

/** The middle of that. */
function deathOf(scene, life, at) {
  const [left, right] = spanOf(scene, life, at);
  return left + Math.min(right - left, 60) / 2;
}

/** Where a stop stands: where the first of the engines that have it dies; null when none has it. */
function placeOfStop(scene, lives, stop) {
  const all = Object.keys(lives).filter((engine) => engine in stop.taps);
  return all.length ? Math.min(...all.map((engine) => deathOf(scene, lives[engine], stop.taps[engine]))) : null;
}
