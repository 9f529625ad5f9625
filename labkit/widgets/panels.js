// What stands around the picture: knobs and buttons, the table that says the same in words, the ledgers.

const FOUND = { duplicate: "DUPLICATE", question: "TWICE?", again: "AGAIN", lost: "LOST", ambiguous: "AMBIGUOUS", waiting: "WAITS", broken: "BROKEN", fine: "OK" };
const SIGNS = { duplicate: "◈", question: "◈", again: "◎", lost: "▢", ambiguous: "?", waiting: "…", broken: "✗", fine: "✓" };
const COLUMNS = ["engine", "dies at", "window", "the next process", "what stands out", "verdict"];
const button = (name, text, title, more = "") =>
  `<button type="button" data-do="${name}" title="${esc(title)}" aria-label="${esc(title)}" ${more}>${text}</button>`;

/** The widget's frame, filled once; `id` keeps the ids of two widgets on one page apart. */
function frame(id, title, choices, engines) {
  const option = (value, text) => `<option value="${esc(value)}">${esc(text)}</option>`;
  const knob = (name, text, options) =>
    `<label class="ct-knob"><span>${text}</span><select data-knob="${name}">${options.join("")}</select></label>`;
  const check = (name, text) => `<label class="ct-knob"><span>${text}</span><input type="checkbox" data-knob="${name}"></label>`;
  return `
  <div class="ct-bar">
    <span class="ct-knobs">
    ${knob("engine", "engine", [option("", "all"), ...engines.map((name) => option(name, name))])}
    ${knob("policy", "policy", choices.policy.map((name) => option(name, name)))}
    ${knob("provider", "provider", choices.provider.map((name) => option(name, ABLE[name] || name)))}
    ${knob("fault", "call fault", [option("", "none"), ...Object.entries(choices.fault || {}).map(([name, means]) => option(name, means.split(":")[0]))])}
    ${check("drift", "model drifts")}${check("second", "second crash")}</span>
    <span class="ct-buttons">${button("back", "◀", "one stop back")}
    ${button("play", "▶ play", "▶ play", 'class="ct-wide"')}${button("step", "▶", "one stop on")}</span>
    <span class="ct-buttons">${button("crash", "✗ Crash here", "✗ Crash here, simulated", 'class="ct-main"')}
    ${button("kill", "Kill a real process", "Kill a real process here, then resume")}
    ${button("clear", "Clear", "Clear the crash")}</span>
    <span class="ct-buttons">${button("out", "−", "zoom out")}${button("fit", "fit", "fit the whole run")}${button("in", "+", "zoom in")}</span>
  </div>
  <p class="ct-summary" role="status" aria-live="polite" id="${id}-summary"></p>
  <div class="ct-stage">
    <div class="ct-ruler"><b class="ct-title">${esc(title)}</b>
      <div class="ct-handle" data-handle="first" role="slider" tabindex="0" aria-label="crash"
      aria-valuemin="0" aria-describedby="${id}-summary"></div>
      <div class="ct-handle ct-second" data-handle="second" role="slider" tabindex="0" aria-label="second crash"
      aria-valuemin="0" hidden></div></div>
    <div class="ct-picture"></div>
    <input type="range" data-pan min="0" max="1000" value="0" aria-label="pan along the run">
  </div>
  <p class="ct-legend" aria-label="legend"></p>
  <p class="ct-progress" role="status"></p>
  <div class="ct-record" role="region" aria-label="record of the chosen event" hidden></div>
  <div class="ct-scroll" role="region" tabindex="0" aria-label="what follows the crash"><table class="ct-table" role="table">
    <caption></caption><thead role="rowgroup"><tr role="row">${COLUMNS.map((name) => `<th scope="col" role="columnheader">${name}</th>`).join("")}</tr></thead>
    <tbody role="rowgroup"></tbody></table></div>
  <div class="ct-cards"></div>`;
}

/** Every mark that stands in the picture, with what it means. */
function legend(scene) {
  const names = new Set(scene.columns.map((column) => column.name));
  const marks = new Map(Object.entries(MARKS).filter(([name]) => names.has(name)).map(([, mark]) => [mark.meaning, mark]));
  const icon = (mark, look) => `<svg width="14" height="14" viewBox="-7.5 -7.5 15 15" aria-hidden="true"><path d="${mark.path}" class="${look}"/></svg>`;
  const items = [...marks.values(), SENT].map((mark) => icon(mark, inkOf(mark, true)) + esc(mark.meaning));
  items.push(icon(DONE, "ct-done") + esc(DONE.meaning));
  items.push(...Object.entries(ALSO).map(([sign, meaning]) => `<b>${sign}</b> ${esc(meaning)}`));
  return items.map((item) => `<span>${item}</span>`).join("");
}

/** The taps at which the processes of one engine die. */
const deaths = (each) => [...(each.tap ? [each.tap] : []), ...(each.between ? [each.between.taps[each.betweenAt]] : [])];
const windowOf = ({ window }) => `<b>${window}</b> ${MEANING[window]}`;

/** The rows of the table: one an engine. The roles stay when a narrow place lays them out as blocks. */
function tableRows(shown) {
  return shown
    .map((each) => {
      const { engine, outcome } = each;
      const taps = deaths(each);
      const next = outcome ? `${outcome.status.replaceAll("_", " ")}${outcome.error ? `: ${outcome.error}` : ""}` : "";
      const died = taps.map(({ tap }) => `<code>${esc(tap)}</code>`).join("<br>then ");
      const cells = [[died, esc(each.lacks || "")].filter(Boolean).join("<br>"), taps.map(windowOf).join("<br>then "), esc(next)];
      cells.push(outcome ? findings(outcome) : "", outcome ? verdict(outcome) : "nothing is crashed");
      const named = cells.map((cell, n) => `<td role="cell" data-name="${COLUMNS[n + 1]}"><div>${cell}</div></td>`);
      return `<tr role="row"><th scope="row" role="rowheader">${esc(engine)}</th>${named.join("")}</tr>`;
    })
    .join("");
}

function verdict(outcome) {
  const broken = [...new Set(outcome.broken.map(([name]) => name))].map((name) => `'${esc(name)}'`).join(", ");
  return badge(outcome) + (broken ? ` broken rules: ${broken}` : ` ${esc(outcome.missing.join("; "))}`);
}

/** What stands out: [mark, text] each. Nothing is fine when an invariant broke. */
function marked(outcome) {
  const lost = outcome.lost.map((step) => ["lost", `${step}: completed, and never executed`]);
  const ambiguous = outcome.findings.some(([mark]) => mark === "ambiguous");
  const told = outcome.findings.filter(([mark]) => mark !== "fine" && !(mark === "waiting" && ambiguous)).concat(lost);
  if (told.length) return told;
  return outcome.broken.length ? outcome.broken.map(([, text]) => ["broken", text]) : outcome.findings;
}

function findings(outcome) {
  return marked(outcome)
    .map(([mark, text]) => `<div><span class="ct-mark ct-${mark}">${SIGNS[mark]} ${FOUND[mark]}</span> ${esc(text)}</div>`)
    .join("");
}

/** What the engine believes, and beside it what the provider did. */
function card({ engine, outcome }, ledger) {
  const believed = outcome.effects.map(
    (row) => `<li class="ct-line-${row.status}"><code>${esc(row.step)}</code> ${esc(row.operation)} at ${esc(row.target)}:
      <b>${esc(row.status)}</b> ${esc(row.receipt_id)}${row.last_error ? `<br><small>${esc(row.last_error)}</small>` : ""}</li>`,
  );
  const happened = outcome.outside.map((row) => {
    const mark = row.mark ? ` <span class="ct-mark ct-${row.mark}">${SIGNS[row.mark]} ${FOUND[row.mark]}</span>` : "";
    return `<li${row.kind === "activity" ? ' class="ct-quiet"' : ""}>${row.kind === "activity" ? "call " : ""}${esc(row.text)}${mark}</li>`;
  });
  const real = (outcome.ended || []).map(([pid, status]) => `process ${pid} ended with ${status}`).join(", ");
  return `<section class="ct-card" aria-label="${esc(engine)}"><p class="ct-name">${esc(engine)} ${badge(outcome)}</p>
    ${real ? `<p class="ct-real">really killed: ${esc(real)}</p>` : ""}
    <div class="ct-two"><div><p class="ct-side">what the engine believes</p><p>run: <b>${esc(outcome.status.replaceAll("_", " "))}</b></p>
    <ul>${believed.join("") || `<li>${ledger ? "the effect ledger is empty" : "no effect ledger with this policy"}</li>`}</ul></div>
    <div><p class="ct-side">what the provider did</p><ol>${happened.join("")}</ol></div></div></section>`;
}

/** The record of one event as a list of names and values. */
function recordOf(op, engine, number, passed) {
  const rows = [["engine", engine], ["process", number], ["step", op.step], ["operation", op.name]];
  rows.push(["what happened", passed ? cut(op, passed).text : "nothing: the crash came before"]);
  rows.push(["taps", op.taps.map((tap, n) => `${tap} (${op.windows[n]})${n < passed ? "" : " not passed"}`).join("\n")]);
  if (op.ledger) rows.push(["our ledger then", op.ledger]);
  for (const each of op.outside) {
    const mark = each.mark ? ` ${FOUND[each.mark]}` : "";
    rows.push([each.kind === "activity" ? "call outside" : "at the provider", `${each.seq}. ${each.text}${mark}`]);
  }
  return `<b>${esc(op.step)} ${esc(op.name)}</b> ${button("close", "×", "close the record")}
    <dl>${rows.map(([name, value]) => `<dt>${name}</dt><dd>${esc(value)}</dd>`).join("")}</dl>`;
}

/** Names in a row: `a`, `a and b`, `a, b and c`. */
const listed = (names) => [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");

/** Where each engine dies: engines that die at one tap are named together, and one that has no such moment says so. */
function places(found) {
  const byTap = new Map();
  for (const { engine, tap } of found.filter((each) => each.tap)) byTap.set(tap.tap, [...(byTap.get(tap.tap) || []), engine]);
  const died = [...byTap].map(([tap, names]) => `${listed(names)} ${names.length > 1 ? "die" : "dies"} at ${tap}`);
  return [...died, ...found.filter((each) => each.lacks).map((each) => `${each.engine} ${each.lacks}`)].join("; ");
}

/** What is done and what follows, for who listens: the moment, the tap of each engine, and how each run ended. */
function sentence(shown, stop, second, crashed, real) {
  const told = [[stop, "Crash", shown.map((each) => (each.tap ? { ...each, lacks: "" } : each))]];
  if (second) {
    const next = shown.filter((each) => each.tap).map((each) => ({ ...each, tap: each.between?.taps[each.betweenAt] }));
    told.push([second, "Second crash", next]);
  }
  const words = told.map(([moment, name, found]) => {
    const first = found.find((each) => each.tap)?.tap;
    const where = moment.name.startsWith("W") ? "in " : moment.words === moment.name ? "at " : "";
    const means = first ? `${where === "at " && first.window !== "between" ? `${first.window}, ` : ""}${MEANING[first.window]}` : "no engine here has it, nothing is crashed";
    return `${name} ${where}${moment.words}: ${means}. ${places(found)}.`;
  });
  for (const { engine, outcome } of crashed ? shown : []) {
    if (!outcome) continue;
    const marks = [...new Set(marked(outcome).map(([mark]) => FOUND[mark].toLowerCase()))];
    words.push(`${engine}${real ? ", really killed" : ""}: ${outcome.status.replaceAll("_", " ")}, ${marks.join(" and ")}, ${outcome.verdict}.`);
  }
  return words.join(" ");
}
