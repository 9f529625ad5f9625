// What the views share. Python puts this before the file of a view, so that both are one module (see view.py).

const words = (name) => esc(name.replaceAll("_", " "));

/** A list to choose from; `options` are pairs of a value and its text. */
function knob(name, text, options) {
  const all = options.map(([value, shown]) => `<option value="${esc(value)}">${esc(shown)}</option>`);
  return `<label>${text} <select data-knob="${name}">${all.join("")}</select></label>`;
}

/** Write `html` into a place unless it is there already: what has the focus keeps it. */
function put(place, html) {
  if (place.filled === html) return;
  place.filled = html;
  place.innerHTML = html;
}

/** A table whose rows are lists of HTML; the first cell of a row is its head. In a narrow place each cell has its name. */
function table(caption, heads, rows) {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  const cell = (html, n) => `<td data-name="${heads[n + 1]}"><div>${html}</div></td>`;
  const body = rows.map(([first, ...rest]) => `<tr><th scope="row">${first}</th>${rest.map(cell).join("")}</tr>`).join("");
  return `<table class="ct-table"><caption>${caption}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

/** A table of names and what they say. */
function pairs(caption, rows) {
  const body = rows.map(([name, html]) => `<tr><th scope="row">${name}</th><td>${html}</td></tr>`).join("");
  return `<table class="lv-pairs"><caption>${caption}</caption><tbody>${body}</tbody></table>`;
}

/** Commands to type, one a line. */
function commands(lines) {
  return lines.length ? `<pre class="lv-type" tabindex="0" aria-label="what to type">${lines.map(esc).join("\n")}</pre>` : "";
}

/** Set a trait of the model and tell Python. */
function choose(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/** Make the element a view: its role, its name, its frame; paint now and when a trait changes. Returns what undoes it. */
function stand({ model, el }, frame, paint, traits) {
  el.classList.add("ct", "lv");
  el.setAttribute("role", "group");
  const giveBackKeys = keepKeys(el);
  el.setAttribute("aria-label", model.get("title"));
  const title = model.get("alone") ? "" : `<p class="ct-title"><b>${esc(model.get("title"))}</b></p>`; // a page has a heading
  el.innerHTML = title + frame;
  const changed = () => el.isConnected && paint();
  for (const name of traits) model.on(`change:${name}`, changed);
  paint();
  return () => (giveBackKeys(), traits.forEach((name) => model.off(`change:${name}`, changed)));
}

/** Knobs show their trait, and set it when they are turned. */
function turn(el, model) {
  for (const each of el.querySelectorAll("[data-knob]")) {
    each.value = model.get(each.dataset.knob);
    each.addEventListener("change", () => choose(model, each.dataset.knob, each.value));
  }
}
