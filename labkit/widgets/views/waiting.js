// The board of what waits for a person. A button asks once more; only then is the lab called, and the board read again.

const SIGN = { ambiguous: "? AMBIGUOUS", executing: "? EXECUTING", planned: "○ PLANNED", confirmed: "✓ CONFIRMED", rejected: "✗ REJECTED", compensated: "↩ COMPENSATED" };
const WAITS = { waiting_for_person: "? waits for a person", waiting_for_approval: "… waits for an approval", waiting_for_timer: "… waits for a time", running: "▶ can go on", quarantined: "■ quarantined" };

const FRAME = `<div class="ct-head"><span class="wb-count"></span>
    <button type="button" data-refresh>↻ Refresh</button></div>
  <p class="ct-summary wb-said" role="status" aria-live="polite" tabindex="-1"></p><div class="wb-runs"></div>`;

/** What a pending question needs: a receipt that the provider has or that is typed in, or changes as JSON. */
function asking(action, effect, id) {
  if (action.ask === "changes") {
    return `<label>changes, as JSON <input type="text" data-given spellcheck="false" value='{"amount": "20.00"}'></label>`;
  }
  if (action.ask !== "receipt") return "";
  const known = effect.receipts.map((receipt) => `<option value="${esc(receipt)}"></option>`).join("");
  return `<label>the provider's receipt <input type="text" data-given list="${id}" required value="${esc(effect.receipts[0] || "")}"></label>
    <datalist id="${id}">${known}</datalist>`;
}

function buttons(run, effect, board) {
  const source = effect || run;
  if (!source.actions.length) return "";
  if (board.alone) return commands(source.actions.map((action) => action.type));
  const key = effect?.key || "";
  const name = (action) => `${run.run}|${key}|${action.do}`;
  const pending = source.actions.find((action) => name(action) === board.pending);
  if (pending) {
    return `<div class="wb-confirm" role="group" aria-label="confirm"><p><b>Really?</b> ${esc(pending.confirm)}.</p>
      ${asking(pending, effect, board.id)}
      <span class="ct-buttons"><button type="button" class="ct-main" data-yes ${board.busy ? "disabled" : ""}>Yes: ${esc(pending.label)}</button>
      <button type="button" data-no ${board.busy ? "disabled" : ""}>No, leave it</button></span>${commands([pending.type])}</div>`;
  }
  const all = source.actions.map((action) => `<button type="button" data-action="${esc(name(action))}" class="${action.main ? "wb-likely" : ""}"
    ${board.busy ? "disabled" : ""} aria-label="${esc(`${action.label}: ${effect ? `${effect.what}, ` : ""}${run.run}`)}">${esc(action.label)}</button>`);
  return `<div class="ct-buttons wb-buttons">${all.join("")}</div>`;
}

function effectOf(effect, run, board) {
  const tried = `after ${effect.attempts} attempt${effect.attempts === 1 ? "" : "s"}`;
  const again = "again, because a person said that it did not happen";
  const ours = [`<b>${esc(effect.status)}</b> ${effect.by_person ? again : tried}`];
  if (effect.receipt) ours.push(`receipt ${esc(effect.receipt)}`);
  if (effect.error && !effect.by_person) ours.push(esc(effect.error));
  const theirs = effect.outside.map((text) => `<li>${esc(text)}</li>`).join("");
  const twice = effect.receipts.length > 1 ? ' <span class="ct-mark ct-duplicate">◈ DUPLICATE</span>' : "";
  return `<section class="wb-effect wb-${effect.status}" aria-label="${esc(`${effect.what}: ${effect.key}`)}">
    <p class="ct-name"><span class="ct-mark ct-${effect.status}">${SIGN[effect.status]}</span> ${esc(effect.what)} <code>${esc(effect.key)}</code></p>
    <div class="ct-two"><div><p class="ct-side">what our ledger says</p><p>${ours.join("; ")}</p><p><code>${esc(effect.request)}</code></p></div>
    <div><p class="ct-side">what the provider has</p>${theirs ? `<ul>${theirs}</ul>` : "<p>nothing of it</p>"}${twice}</div></div>
    <p class="wb-safe"><b>${effect.at_risk ? "✗ Not safe:" : "Safe:"}</b> ${esc(effect.safe)}${effect.actions.length && effect.hint ? ` <span class="ct-quiet">(${esc(effect.hint)})</span>` : ""}</p>${buttons(run, effect, board)}</section>`;
}

function runOf(run, board) {
  if (run.problem) return `<section class="ct-card wb-run" aria-label="${esc(run.run)}"><p class="ct-name">${esc(run.run)} <span class="ct-verdict ct-unknown">${WAITS[run.status] || words(run.status)}</span></p><p class="wb-problem">${esc(run.problem)}</p></section>`;
  const asks = run.question ? `<p class="wb-question"><b>${esc(run.question.role)}, ${esc(run.question.step)}:</b> ${esc(run.question.text)}${run.question.about ? ` <span class="wb-about">about ${esc(run.question.about)}</span>` : ""}</p>` : "";
  const reason = run.reason && !run.question && !run.effects.some((effect) => run.reason.includes(effect.key)) ? `<p>${esc(run.reason)}</p>` : "";
  return `<section class="ct-card wb-run" aria-label="${esc(run.run)}">
    <p class="ct-name">${esc(run.run)} <span class="ct-verdict ct-unknown">${WAITS[run.status] || `■ ${words(run.status)}`}</span></p>
    <p class="ct-quiet">${esc(run.what)}; ${esc(run.inputs)}; done: ${run.done.map(esc).join(", ") || "no step yet"}</p>
    ${asks}${reason}<p class="wb-safe">${esc(run.stands)}</p>${run.effects.map((effect) => effectOf(effect, run, board)).join("")}
    <div class="wb-of-run">${buttons(run, null, board)}</div></section>`;
}

function paint(model, el, board) {
  const { runs } = model.get("data");
  const doubt = runs.flatMap((run) => run.effects).filter((effect) => effect.status === "ambiguous").length;
  const open = runs.filter((run) => !run.settled);
  const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  put(el.querySelector(".wb-count"), `<b>${many(open.length, "run")}</b>, <b>${many(doubt, "effect")}</b> in doubt`);
  const hint = board.alone ? "So it stood when this page was made. To decide, type what is shown." : "Each button asks once more before anything is done.";
  put(el.querySelector(".wb-said"), esc(board.busy ? board.kernel.silent || "Asking the lab ..." : model.get("said") || (runs.length ? hint : "Nothing waits for a person.")));
  put(el.querySelector(".wb-runs"), runs.map((run) => runOf(run, board)).join(""));
  el.querySelector("[data-refresh]").hidden = Boolean(board.alone);
}

function listen(model, el, board) {
  const again = () => paint(model, el, board);
  const send = (message) => {
    Object.assign(board, { busy: true, pending: "" });
    again();
    board.kernel.ask();
    model.send(message);
  };
  el.addEventListener("click", ({ target }) => {
    const action = target.closest("[data-action]")?.dataset.action;
    if (action) {
      board.pending = action;
      again();
      (el.querySelector("[data-given]") || el.querySelector("[data-no]")).focus();
    } else if (target.closest("[data-no]")) leave();
    else if (target.closest("[data-yes]")) say();
    else if (target.closest("[data-refresh]")) send({ do: "refresh" });
  });
  const leave = () => {
    const back = board.pending;
    board.pending = "";
    again();
    [...el.querySelectorAll("[data-action]")].find((each) => each.dataset.action === back)?.focus();
  };
  const say = () => {
    const given = el.querySelector("[data-given]");
    if (given && !given.reportValidity()) return;
    const [run, key, act] = board.pending.split("|");
    send({ do: act, run, key, given: given?.value || "" });
    el.querySelector(".wb-said").focus();
  };
  el.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && board.pending) leave();
    else if (event.key === "Enter" && event.target.matches("[data-given]")) say();
    else return;
    event.preventDefault();
  });
}

function render({ model, el }) {
  const kernel = new Kernel(() => paint(model, el, board));
  const board = { pending: "", busy: false, kernel, alone: model.get("alone"), id: `wb-${Math.random().toString(36).slice(2)}` };
  const answered = () => {
    kernel.heard();
    board.busy = false;
  };
  model.on("change:answered", answered);
  const undo = stand({ model, el }, FRAME, () => paint(model, el, board), ["data", "said", "answered"]);
  listen(model, el, board);
  return () => (kernel.heard(), model.off("change:answered", answered), undo());
}

export default { render };
