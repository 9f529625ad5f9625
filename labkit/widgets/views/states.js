// The states of an effect. The picture comes from Python; here it is marked, walked through with keys, and put into words.

const DOES = { execute: "▶ execute", advance: "» advance", reconcile: "? reconcile", stop: "■ stop" };
const NO_LEDGER = "There is no ledger: nobody decides, and the code just runs on.";

const frame = ({ pictures, policies, providers }) => `
  <div class="ct-head">
    ${knob("policy", "policy", policies.map((name) => [name, name]))}
    ${knob("provider", "provider", providers.map((name) => [name, ABLE[name]]))}
    <label>the process dies at <select data-at></select></label></div>
  <p class="ct-summary" role="status" aria-live="polite"></p>
  <div class="lv-wide lv-picture">${pictures[0]}</div><div class="lv-tall lv-picture">${pictures[1]}</div>
  <p class="ct-legend" aria-hidden="true"><span>thick frame: found here</span><span>filled: ends here</span>
    <span>thick arrow: what the next process does</span><span>dashed frame: in doubt</span></p>
  <div class="ct-record" data-place="record" role="region" aria-label="the chosen state or move" hidden></div>
  <div class="ct-scroll" data-place="table" role="region" tabindex="0" aria-label="the crash in words"></div>`;

/** The crash that is shown: at the same tap, else in the same window. */
function deathOf(model) {
  const all = model.get("data").deaths[`${model.get("policy")}/${model.get("provider")}`];
  const at = model.get("at");
  const known = Object.values(model.get("data").deaths).flat().find((each) => each.tap === at);
  return { all, death: all.find((each) => each.tap === at) || all.find((each) => each.window === known?.window) || all[0] };
}

const times = (count) => (count ? `has done it ${count === 1 ? "once" : count === 2 ? "<b>twice</b>" : `${count} times`}` : "has not done it");

function sentence({ tap, window, found, action, end, status, tracked }) {
  const first = `Killed at ${esc(tap)}: ${window}, ${MEANING[window]}.`;
  const then = tracked ? `The next process finds the effect <b>${found}</b>` : "Our own database says nothing of the effect";
  return `${first} ${then}: <b>${DOES[action]}</b>. In the end the run is ${words(status)}, and the provider ${times(end)}.`;
}

function rows(death, data) {
  const { found, tracked, decided } = death;
  const asked = decided ? `<code>decide</code> says <b>${DOES[decided]}</b>` : `<b>${DOES[death.action]}</b>, without being told to`;
  const broken = death.broken.length ? ` broken rules: ${death.broken.map((rule) => `'${esc(rule)}'`).join(", ")}` : "";
  return [
    ["where it died", `<code>${esc(death.tap)}</code> <b>${death.window}</b> ${MEANING[death.window]}`],
    ["what our ledger says", tracked ? `<b>${found}</b>. ${data.states[found].meaning}` : "nothing: this policy keeps no ledger"],
    ["what is true outside", `the provider ${times(death.then)}`],
    ["the rule", tracked ? data.states[found].rule : NO_LEDGER],
    ["the decision", asked],
    ["what the next process does", death.did.map(esc).join(", then ") || "nothing more in this step"],
    ["states that it goes through", death.path.join(" → ")],
    ["how it ends", `${words(death.status)}; the provider ${times(death.end)} ${badge(death)}${broken}`],
  ];
}

/** Mark in the picture what is found, walked and reached; one part of it can be reached with Tab. */
function mark(picture, { path, tracked }, chosen) {
  const walked = path.slice(1).map((to, n) => `${path[n]}>${to}`);
  const [found, end] = tracked ? [path[0], path.at(-1)] : ["", ""];
  const parts = [...picture.querySelectorAll("[data-pick]")];
  const current = parts.find((each) => each.dataset.pick === chosen) || parts.find((each) => each.dataset.pick === path[0]);
  for (const part of parts) {
    const { pick } = part.dataset;
    part.classList.toggle("es-found", pick === found);
    part.classList.toggle("es-end", pick === end);
    part.classList.toggle("es-walked", walked.includes(pick));
    part.classList.toggle("es-chosen", pick === chosen);
    part.setAttribute("aria-pressed", pick === chosen);
    part.setAttribute("tabindex", part === current ? "0" : "-1");
    const tag = part.querySelector(".es-tag");
    if (tag) tag.textContent = pick !== found ? (pick === end ? "ends here" : "") : pick === end ? "found, and ends here" : "found here";
  }
}

function recordOf(chosen, data) {
  const said = data.states[chosen] || data.moves[chosen];
  const title = chosen.includes(">") ? `${chosen.replace(">", " → ")} <small>${said.name}</small>` : `state ${chosen}`;
  return `<b>${title}</b> <button type="button" data-close aria-label="close the record">×</button>
    <p>${esc(said.meaning)}</p><p><b>Rule:</b> ${esc(said.rule)}</p>${commands(said.type)}`;
}

function paint(model, el) {
  const find = (selector) => el.querySelector(selector);
  const { all, death } = deathOf(model);
  const [chosen, data] = [model.get("chosen"), model.get("data")];
  for (const each of el.querySelectorAll("[data-knob]")) each.value = model.get(each.dataset.knob);
  const options = all.map(({ tap, window }) => `<option value="${esc(tap)}">${window} · ${esc(tap.split("/")[1])}</option>`);
  put(find("[data-at]"), options.join(""));
  find("[data-at]").value = death.tap;
  put(find(".ct-summary"), sentence(death));
  for (const picture of el.querySelectorAll(".lv-picture")) mark(picture, death, chosen);
  put(find("[data-place=table]"), pairs("The same in words", rows(death, data)));
  find("[data-place=record]").hidden = !chosen;
  if (chosen) put(find("[data-place=record]"), recordOf(chosen, data));
}

/** With the arrow keys to the nearest state or move in that direction. */
function walk(picture, from, key) {
  const middle = (part) => {
    const { x, y, width, height } = (part.querySelector("rect, .es-name") || part).getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const [x, y] = middle(from);
  const far = (part) => {
    const [dx, dy] = [middle(part)[0] - x, middle(part)[1] - y];
    const [along, aside] = { ArrowRight: [dx, dy], ArrowLeft: [-dx, dy], ArrowDown: [dy, dx], ArrowUp: [-dy, dx] }[key];
    return along > 2 ? along + 2 * Math.abs(aside) : Infinity;
  };
  const parts = [...picture.querySelectorAll("[data-pick]")].filter((part) => part !== from && far(part) < Infinity);
  return parts.sort((a, b) => far(a) - far(b))[0];
}

function listen(model, el) {
  const pick = (part) => choose(model, "chosen", part ? part.dataset.pick : "");
  const back = () => [...el.querySelectorAll("[data-pick][tabindex='0']")].find((each) => each.getClientRects().length)?.focus();
  el.addEventListener("click", (event) => {
    const part = event.target.closest("[data-pick]");
    if (part) (pick(part), part.focus());
    if (event.target.closest("[data-close]")) (back(), pick(null));
  });
  el.querySelector("[data-at]").addEventListener("change", (event) => choose(model, "at", event.target.value));
  el.addEventListener("keydown", (event) => {
    const part = event.target.closest("[data-pick]");
    const next = part && event.key.startsWith("Arrow") && walk(part.closest("svg"), part, event.key);
    if (next) (pick(next), next.focus());
    else if (part && (event.key === "Enter" || event.key === " ")) pick(part);
    else if (event.key === "Escape" && model.get("chosen")) (back(), pick(null));
    else if (!part || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
  });
}

function render({ model, el }) {
  const undo = stand({ model, el }, frame(model.get("data")), () => paint(model, el), ["policy", "provider", "at", "chosen"]);
  turn(el, model);
  listen(model, el);
  return undo;
}

export default { render };
