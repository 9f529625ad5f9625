// Self-check questions. What was tried lies in the model; each question is a form of real inputs that shows it.

/** An element with attributes and children; texts are never read as markup. */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** A text of the chapter, with its code and emphasis. */
function words(spans) {
  return spans.map(([kind, text]) => (kind ? make(kind, {}, text) : text));
}

/** The mark of a choice: a sign, and the same in words for who hears it. */
function sign(right) {
  const said = right ? "right" : "wrong";
  return make("span", { class: `qz-sign qz-${said}` }, right ? "✓ " : "✗ ", said);
}

/** A choice with what is to be said of it. */
function told(choice) {
  return make("li", {}, sign(choice.right), " ", ...words(choice.said));
}

/** A number as it was typed; a comma may stand for the point. */
function numberOf(given) {
  return Number(String(given[0]).replace(",", "."));
}

/** Whether a try is right, what to say of it at once, and the choices that it meant. */
function judge(question, given) {
  if (question.kind === "order") return judgeOrder(question, given);
  const number = question.kind === "number" ? numberOf(given) : null;
  const meant = question.choices.filter((each) => (number === null ? given.includes(each.name) : Number(each.name) === number));
  const missing = question.choices.filter((each) => each.right && !meant.includes(each)).length;
  const right = meant.length > 0 && !missing && meant.every((each) => each.right);
  if (right) return { right, meant, say: "Right." };
  if (number !== null && !meant.length) return { right, meant, say: "No. Think again, and try another number." };
  const more = question.kind === "many" && missing ? ` ${missing} more ${missing > 1 ? "hold" : "holds"}.` : "";
  return { right, meant, say: meant.every((each) => each.right) ? `Not all.${more}` : `No.${more} Try again.` };
}

/** The choices by their place; those of a question without an order all have the same, and stay as they are. */
const inOrder = (question) => [...question.choices].sort((one, other) => one.place - other.place);

/** What is said of some of the choices. */
const listed = (question, choices) => make(question.kind === "order" ? "ol" : "ul", {}, ...choices.map(told));

/** Whether the choices stand in order; if not, how many do from the top. */
function judgeOrder(question, given) {
  const right = inOrder(question);
  const wrong = right.findIndex((each, at) => each.name !== given[at]);
  if (wrong < 0) return { right: true, meant: right, say: "Right." };
  return { right: false, meant: [], say: wrong ? `No. Right so far, from the top: ${wrong} of ${given.length}.` : "No. The first is another one." };
}

/** A list whose items move up and down: by their buttons, or by the arrow keys on one of them. */
function sortable(question) {
  const moved = make("p", { role: "status", class: "qz-moved" });
  const list = make("ol", { class: "qz-order" });
  for (const each of question.choices) {
    const text = make("span", {}, ...words(each.text));
    const buttons = [["up", "↑"], ["down", "↓"]].map(([way, shown]) => make("button", { type: "button", "data-way": way, "aria-label": `${way}: ${each.name}` }, shown));
    list.append(make("li", { "data-name": each.name }, ...buttons, text));
  }
  const move = (item, way, button) => {
    const other = way === "up" ? item.previousElementSibling : item.nextElementSibling;
    if (!other) return;
    other[way === "up" ? "before" : "after"](item);
    button.focus();
    moved.textContent = `${item.dataset.name}: now ${[...list.children].indexOf(item) + 1} of ${list.children.length}`;
    list.dispatchEvent(new Event("input", { bubbles: true }));
  };
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) move(button.closest("li"), button.dataset.way, button);
  });
  list.addEventListener("keydown", (event) => {
    const way = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    if (!way) return;
    event.preventDefault();
    move(event.target.closest("li"), way, event.target);
  });
  return [list, moved];
}

/** What can be chosen, typed or moved, as real inputs. */
function inputs(question) {
  if (question.kind === "order") return sortable(question);
  if (question.kind === "number") {
    const field = make("input", { type: "text", inputmode: "decimal", autocomplete: "off", name: "choice" });
    return [make("label", { class: "qz-number" }, "Your number ", field)];
  }
  const type = question.kind === "many" ? "checkbox" : "radio";
  return question.choices.map((each) =>
    make("label", { class: "qz-choice" }, make("input", { type, name: "choice", value: each.name }), make("span", {}, ...words(each.text))),
  );
}

/** What the reader has chosen, typed or put in order. */
function chosen(form) {
  const items = [...form.querySelectorAll(".qz-order li")];
  if (items.length) return items.map((each) => each.dataset.name);
  const all = [...form.querySelectorAll("input")];
  return all.filter((each) => (each.type === "text" ? each.value.trim() : each.checked)).map((each) => each.value.trim());
}

/** Show a try that was made before, as in another view of the same quiz. */
function restore(form, given) {
  const items = [...form.querySelectorAll(".qz-order li")];
  items.sort((one, other) => given.indexOf(one.dataset.name) - given.indexOf(other.dataset.name)).forEach((each, at) => {
    if (each.parentElement.children[at] !== each) each.parentElement.insertBefore(each, each.parentElement.children[at]);
  });
  for (const each of form.querySelectorAll("input")) {
    if (each.type === "text") each.value = given[0];
    else each.checked = given.includes(each.value);
  }
}

/** One question: its form, and a function that shows the last try. */
function ask(model, question, number) {
  const said = make("div", { role: "status", class: "qz-said" });
  const reveal = make("button", { type: "button", hidden: true }, "All explanations");
  const buttons = make("div", { class: "qz-buttons" }, make("button", { type: "submit" }, "Check"), reveal);
  const legend = make("legend", {}, make("b", {}, `${number}. `), ...words(question.text));
  const form = make("form", { novalidate: true }, make("fieldset", {}, legend, ...inputs(question), buttons, said));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = chosen(form);
    const typed = question.kind === "number";
    if (!given.length) return said.replaceChildren(typed ? "Type a number first." : "Choose first.");
    if (typed && !Number.isFinite(numberOf(given))) return said.replaceChildren("This is no number. Type one, for example 2.");
    model.set("given", { ...model.get("given"), [number]: given });
    model.save_changes();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.type !== "text") return;
    event.preventDefault(); // JupyterLab takes Enter for itself, so the browser would not submit
    event.stopPropagation();
    form.requestSubmit();
  });
  reveal.addEventListener("click", () => {
    said.replaceChildren(listed(question, inOrder(question)));
    reveal.hidden = true;
  });
  let shown = "";
  const show = () => {
    const given = model.get("given")[number];
    if (!given || JSON.stringify(given) === shown) return;
    shown = JSON.stringify(given);
    restore(form, given);
    const { right, meant, say } = judge(question, given);
    said.replaceChildren(make("p", {}, make("strong", {}, say)), ...(meant.length ? [listed(question, meant)] : []));
    form.dataset.right = right;
    reveal.hidden = false;
  };
  form.addEventListener("input", () => (shown = ""));
  return { form, show };
}

function render({ model, el }) {
  const questions = model.get("questions");
  const asked = questions.map((each, at) => ask(model, each, at + 1));
  const score = make("p", { class: "qz-score" });
  const show = () => {
    asked.forEach((each) => each.show());
    const right = asked.filter((each) => each.form.dataset.right === "true").length;
    score.textContent = `${right} of ${questions.length} right`;
  };
  el.classList.add("qz");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", "check yourself");
  el.append(...asked.map((each) => each.form), score);
  const giveBackKeys = keepKeys(el);
  model.on("change:given", show);
  show();
  return () => (giveBackKeys(), model.off("change:given", show));
}

export default { render };
