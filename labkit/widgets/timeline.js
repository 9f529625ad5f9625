// The frame is filled, painted and listened to.

/** The processes of one engine, in order: each with its life and the tap at which it dies (null: it does not). */
function processesOf(each, crashed) {
  const first = { life: each.life, died: each.at, lost: [] };
  if (!crashed || !each.outcome) return [first];
  const between = each.between ? [{ life: each.between, died: each.betweenAt, lost: [] }] : [];
  return [first, ...between, { life: each.outcome.life, died: null, lost: each.outcome.lost }];
}

/** What the ledger says of each step when this process is gone. */
function leave(states, life, died) {
  for (const op of life.ops) {
    if (op.ledger && cut(op, seen(op, died)).done) states.set(op.group, op.ledger);
  }
}

function drawAll(board, shown, crashed) {
  const parts = [];
  let top = 0;
  for (const each of shown) {
    const states = new Map();
    const ends = (died) => (died === null && each.outcome ? each.outcome.status : "");
    processesOf(each, crashed).forEach(({ life, died, lost }, n) => {
      const end = ends(died);
      const title = n ? `↳ process ${n + 1}` : each.engine;
      const note = end || (n ? "" : each.at === null ? `${each.lacks}: nothing ${crashed ? "was" : "is"} crashed` : "");
      parts.push(`<g transform="translate(0 ${top})">${n ? "" : `<path d="M0 1H${board.wide}" class="ct-split"/>`}`);
      parts.push(label(0, 17, title, "ct-bold"), label(room(title, true) + 14, 17, note, "ct-quiet"), lanes(board));
      parts.push(`<g clip-path="url(#${board.id}-clip)" role="group" aria-label="${esc(`${each.engine}, process ${n + 1}`)}">`);
      parts.push(drawLife(board, each.engine, n + 1, life, died, lost, states, crashed), "</g></g>");
      if (crashed) leave(states, life, died);
      top += Y.height;
    });
    top += 8;
  }
  return `<svg width="${board.wide}" height="${top}" viewBox="0 0 ${board.wide} ${top}" role="group" aria-label="lanes of each process">
    <defs><clipPath id="${board.id}-clip"><rect x="${GUTTER - 4}" y="0" width="${board.wide}" height="${Y.height}"/></clipPath></defs>
    ${parts.join("")}</svg>`;
}

function paint(board) {
  const { model, find, el } = board;
  const picture = find(".ct-picture");
  const wide = Math.max(picture.clientWidth, 260);
  if (wide !== board.wide || !board.unit) {
    board.wide = wide;
    room.family = getComputedStyle(el).fontFamily;
    board.fit(READABLE);
    board.reveal(board.place());
    find(".ct-legend").innerHTML = legend(board.scene);
  }
  const crashed = model.get("crashed");
  const shown = board.shown();
  const focused = el.contains(document.activeElement) && document.activeElement.dataset?.event;
  picture.innerHTML = drawAll(board, shown, crashed);
  const current = picture.querySelector(`[data-event="${board.picked || focused}"]`) || picture.querySelector("[data-event]");
  current?.setAttribute("tabindex", "0");
  board.quiet = true; // the same event, drawn anew, is not chosen anew
  if (focused) current?.focus({ preventScroll: true });
  board.quiet = false;
  placeHandle(board, "first");
  placeHandle(board, "second");
  fillPanels(board, shown, crashed);
}

/** Put a handle where its crash is, or under the pointer that drags it. */
function placeHandle(board, name) {
  const handle = board.find(`[data-handle=${name}]`);
  const stop = board.stop(name);
  handle.hidden = !stop;
  if (!stop) return;
  const { lives } = board.field(name);
  const [engine, at] = Object.entries(stop.taps).find(([each]) => each in lives) || [];
  const means = engine ? MEANING[lives[engine].taps[at].window] : "no engine here has it";
  const text = `${name === "second" ? "2. " : ""}${stop.words}`;
  const html = `✗<span class="ct-says"> ${esc(text)}</span>`;
  if (handle.filled !== html) handle.innerHTML = handle.filled = html;
  holdHandle(board, name);
  handle.setAttribute("aria-valuemax", Math.max(board.stops(name).length - 1, 0));
  handle.setAttribute("aria-valuenow", Math.max(board.number(name), 0));
  handle.setAttribute("aria-valuetext", `${stop.words}, ${means}`);
}

function holdHandle(board, name) {
  const handle = board.find(`[data-handle=${name}]`);
  const x = board.dragging === name && board.held != null ? board.held : board.x(board.place(name));
  const at = Math.min(Math.max(x, GUTTER - 8), board.wide);
  handle.style.left = `${at}px`;
  handle.classList.toggle("ct-turned", at + 24 + handle.querySelector(".ct-says").offsetWidth > board.wide);
}

function fillPanels(board, shown, crashed) {
  const { find, model } = board;
  const put = (selector, html) => {
    const place = find(selector);
    if (place.innerHTML !== html && place.filled !== html) place.innerHTML = place.filled = html;
  };
  const { fault } = model.get("knobs");
  const meant = fault ? `Call fault in ${fault.split(" of ")[1]}: ${model.get("choices").fault[fault.split(" of ")[0]]}. ` : "";
  put(".ct-summary", esc(meant + sentence(shown, board.stop(), board.stop("second"), crashed, board.killed())));
  put(".ct-table caption", crashed ? "What followed" : "What would follow a crash here");
  put(".ct-table tbody", tableRows(shown));
  put(".ct-cards", crashed ? shown.filter((each) => each.outcome).map((each) => card(each, board.scene.ledger)).join("") : "");
  put(".ct-progress", esc(board.kernel.silent || model.get("progress") || unanswered(board)));
  find("[data-do=crash]").setAttribute("aria-pressed", crashed);
  find("[data-do=clear]").disabled = !crashed;
  const busy = model.get("progress") && !model.get("progress").startsWith("not killed");
  find("[data-do=kill]").disabled = Boolean(busy || model.get("alone"));
  find("[data-pan]").hidden = board.most < 1;
  find("[data-pan]").value = board.most ? (1000 * board.left) / board.most : 0;
  showRecord(board);
}

/** What to say of a second crash that is asked for, and not worked out for where the first one stands. */
function unanswered(board) {
  const { model } = board;
  const waits = model.get("knobs").second && model.get("crashed") && !board.seconds();
  return waits ? "The second crash is not shown: the kernel has not worked it out for this place." : "";
}

function showRecord(board) {
  const [engine, number, at] = board.picked.split("/");
  const each = board.shown().find((found) => found.engine === engine);
  const process = each && processesOf(each, board.model.get("crashed"))[number - 1];
  const op = process?.life.ops[at];
  const place = board.find(".ct-record");
  place.hidden = !op;
  if (op) place.innerHTML = recordOf(op, engine, number, seen(op, process.died));
}

/** The next event in this direction: beside it in its process, or in the process above or below. */
function walk(board, from, key) {
  const all = [...board.el.querySelectorAll("[data-event]")];
  const [engine, number, at] = from.split("/");
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const to = `${engine}/${number}/${Number(at) + (key === "ArrowRight" ? 1 : -1)}`;
    const each = board.shown().find((found) => found.engine === engine);
    const op = processesOf(each, board.model.get("crashed"))[number - 1].life.ops[to.split("/")[2]];
    if (!op) return;
    board.reveal(board.scene.columns[op.column].left);
    board.picked = to;
  } else {
    const rows = [...new Set(all.map((event) => event.dataset.event.replace(/\/[^/]*$/, "")))];
    const row = rows[rows.indexOf(`${engine}/${number}`) + (key === "ArrowDown" ? 1 : -1)];
    const inRow = all.filter((event) => event.dataset.event.startsWith(`${row}/`));
    if (!inRow.length) return;
    const x = all.find((event) => event.dataset.event === from).getBoundingClientRect().x;
    inRow.sort((a, b) => Math.abs(a.getBoundingClientRect().x - x) - Math.abs(b.getBoundingClientRect().x - x));
    board.picked = inRow[0].dataset.event;
  }
  paint(board);
  board.find(`[data-event="${board.picked}"]`)?.focus({ preventScroll: true });
}

/** Fill the element, listen, and paint whenever the model or the size changes. Returns what undoes it. */
function render({ model, el }) {
  const board = new Board(model, el);
  board.id = `ct-${Math.random().toString(36).slice(2)}`; // several may stand on one page
  el.classList.add("ct");
  el.setAttribute("role", "group");
  const giveBackKeys = keepKeys(el);
  el.setAttribute("aria-label", `crash timeline: ${model.get("choices").title}`);
  el.innerHTML = frame(board.id, model.get("choices").title, model.get("choices"), Object.keys(board.scene.engines));
  listen(board);
  const watched = {
    "change:scene": () => board.take(),
    "change:at": () => {},
    "change:at_second": () => {},
    "change:knobs": () => turnKnobs(board),
  };
  watched["change:crashed"] = () => {};
  for (const name of ["second", "killed", "progress"]) watched[`change:${name}`] = () => board.kernel.heard();
  for (const [name, change] of Object.entries(watched)) {
    watched[name] = () => (change(), board.draw());
    model.on(name, watched[name]);
  }
  const sized = new ResizeObserver(() => board.draw());
  sized.observe(el);
  turnKnobs(board);
  board.draw();
  return () => {
    sized.disconnect();
    giveBackKeys();
    clearInterval(board.playing);
    board.kernel.heard();
    for (const [name, change] of Object.entries(watched)) model.off(name, change);
  };
}

export default { render };
