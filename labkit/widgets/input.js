// Buttons, knobs, keys and the pointer; everything that a pointer does, keys do too.

const KEYS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
const ZOOM = 1.5;

const ACTIONS = {
  back: (board) => board.step(-1),
  play: (board) => board.play(),
  step: (board) => board.step(1),
  crash: (board) => board.crash(true),
  kill: (board) => board.kill(),
  clear: (board) => board.crash(false),
  out: (board) => board.zoom(1 / ZOOM),
  in: (board) => board.zoom(ZOOM),
  fit: (board) => (board.fit(), board.draw()),
  close: (board) => pick(board, ""),
};

function pick(board, id) {
  board.picked = id;
  showRecord(board);
}

/** Show the knobs as the model has them. */
function turnKnobs(board) {
  const knobs = board.model.get("knobs");
  for (const knob of board.el.querySelectorAll("[data-knob]")) {
    const value = knobs[knob.dataset.knob];
    if (knob.type === "checkbox") knob.checked = value;
    else knob.value = knob.dataset.knob === "fault" ? (value || "").split(" of ")[0] : value;
  }
  const alone = board.model.get("alone");
  board.find("[data-knob=second]").disabled = Boolean(alone) && !alone.second;
  board.find("[data-knob=fault]").disabled = Boolean(alone) || !Object.keys(board.model.get("choices").fault || {}).length;
  board.find("[data-knob=fault]").closest("label").title = knobs.fault ? `call fault: ${knobs.fault}` : "of the effect that the crash is at";
  if (alone) board.find("[data-do=kill]").title = "A real kill needs a notebook with a running kernel";
}

function listen(board) {
  const { el, model, find } = board;
  el.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-do]");
    if (pressed) ACTIONS[pressed.dataset.do](board);
  });
  el.addEventListener("change", (event) => {
    const knob = event.target.closest("[data-knob]");
    if (!knob) return;
    let value = knob.type === "checkbox" ? knob.checked : knob.value;
    if (knob.dataset.knob === "fault" && value) value = `${value} of ${board.effect()}`; // of the effect that is looked at
    model.set("knobs", { ...model.get("knobs"), [knob.dataset.knob]: value });
    model.save_changes();
    board.draw();
  });
  find("[data-pan]").addEventListener("input", (event) => {
    board.left = (board.most * event.target.value) / 1000;
    board.draw();
  });
  find(".ct-picture").addEventListener("focusin", (event) => {
    const id = event.target.closest("[data-event]")?.dataset.event;
    if (id && !board.quiet) pick(board, id);
  });
  el.addEventListener("keydown", (event) => press(board, event));
  listenToPointer(board);
}

function press(board, event) {
  const { handle, event: id } = event.target.dataset ?? {};
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (handle && event.key in KEYS) board.step(KEYS[event.key], handle);
  else if (handle && event.key === "Enter") board.crash(true);
  else if (id && event.key.startsWith("Arrow")) walk(board, id, event.key);
  else if (id && (event.key === "Enter" || event.key === " ")) pick(board, id);
  else if (board.picked && event.key === "Escape") pick(board, "");
  else if ((handle || id) && (event.key === "+" || event.key === "-")) board.zoom(event.key === "+" ? ZOOM : 1 / ZOOM);
  else return;
  event.preventDefault();
}

/** A handle or the ruler moves a crash, the picture is panned; a press without a move chooses an event. */
function listenToPointer(board) {
  const stage = board.find(".ct-stage");
  const at = (event) => event.clientX - stage.getBoundingClientRect().x;
  const moveTo = (x) => {
    board.held = Math.min(Math.max(x, GUTTER), board.wide); // what is dragged is under the pointer, wherever its stop is
    const place = board.left + (board.held - GUTTER) / board.unit;
    board.move(board.nearest(place, board.dragging), board.dragging);
    holdHandle(board, board.dragging);
  };
  stage.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest("[data-handle]");
    if (event.button || event.target.closest("button, a, input")) return;
    const near = !board.model.get("crashed") && Math.abs(board.x(board.place()) - at(event)) < 7;
    const held = handle?.dataset.handle || (event.target.closest(".ct-ruler") || near ? "first" : "");
    board.dragging = held || "pan";
    board.from = { x: at(event), left: board.left, off: handle ? board.x(board.place(held)) - at(event) : 0 };
    if (!held) return;
    stage.setPointerCapture(event.pointerId);
    (handle || board.find("[data-handle=first]")).focus({ preventScroll: true });
    event.preventDefault();
    if (!handle) moveTo(at(event));
  });
  stage.addEventListener("pointermove", (event) => {
    if (board.dragging === "first" || board.dragging === "second") moveTo(at(event) + board.from.off);
    else if (board.dragging === "pan" && Math.abs(at(event) - board.from.x) > 4) {
      stage.setPointerCapture(event.pointerId);
      board.left = board.from.left - (at(event) - board.from.x) / board.unit;
      board.clampView();
      board.draw();
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    stage.addEventListener(end, () => {
      const moved = board.dragging && board.dragging !== "pan";
      board.dragging = "";
      board.held = null;
      if (moved) board.model.save_changes();
      board.draw();
    });
  }
  stage.addEventListener("wheel", (event) => {
    if (event.ctrlKey) board.zoom(Math.exp(-event.deltaY / 200), event.clientX - stage.getBoundingClientRect().x);
    else if (event.deltaX || event.shiftKey) {
      board.left += (event.deltaX || event.deltaY) / board.unit;
      board.clampView();
      board.draw();
    } else return;
    event.preventDefault();
  }, { passive: false });
}
