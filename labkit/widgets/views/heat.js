// The matrix as a heat table: one grid where the engines agree, what differs apart, and a grid an engine; a chosen cell is told below.

const COUNTED = { duplicated: "executed again", lost: "never executed", untracked: "known only to the provider", ambiguous: "left for a person", activities_repeated: "activity calls made again" };

const SEE = '<button type="button" data-see>↓ see its crash below</button>';

/** The cells as they stand: engines, in each its rows (policy, provider), in each its windows. */
function placed(data) {
  const engines = new Map();
  for (const key of Object.keys(data.cells)) {
    const [engine, policy, provider] = key.split("/");
    if (!engines.has(engine)) engines.set(engine, new Map());
    const rows = engines.get(engine);
    if (!rows.has(`${policy}/${provider}`)) rows.set(`${policy}/${provider}`, [policy, provider]);
  }
  return engines;
}

/** Where the engines' cells look alike and where not, as `policy/provider/window`; null where one grid would not say it. */
function agreement(data, engines) {
  const spots = [...new Set(Object.keys(data.cells).map(spotOf))];
  const look = (cell) => (cell ? `${cell.kind} ${cell.share} ${cell.unexpected}` : "none");
  const differs = spots.filter((spot) => new Set(engines.map((engine) => look(data.cells[`${engine}/${spot}`]))).size > 1);
  return engines.length > 1 && 4 * differs.length <= spots.length ? differs : null;
}

const spotOf = (key) => key.slice(key.indexOf("/") + 1);

function spoken(key, cell, kinds, engine) {
  const [own, policy, provider, window] = key.split("/");
  const [, , , meaning] = kinds[cell.kind];
  const count = engine ? "" : ` ${cell.schedules}`; // not the same on all engines
  const share = cell.share ? ` in ${cell.share} of${count || " the"} schedules` : ` in all${count} schedules`;
  return `${engine || own}, ${policy}, provider ${ABLE[provider]}, ${window}: ${meaning}${share}${cell.unexpected ? ", not as theory expects" : ""}`;
}

/** A cell; with `engine`, one that stands for several engines. */
function cellOf(key, data, engine = "") {
  const cell = data.cells[key];
  if (!cell) return '<td class="ht-cell ht-empty" role="gridcell" aria-label="no schedule">·</td>';
  const [look, sign, word] = data.kinds[cell.kind];
  const share = parseFloat(cell.share.replace(/[<>]/, "")) || 0;
  return `<td class="ht-cell ht-${look}" role="gridcell" data-cell="${key}" ${engine ? `data-spot="${spotOf(key)}"` : ""} tabindex="-1" aria-selected="false"
    aria-label="${esc(spoken(key, cell, data.kinds, engine))}" style="--share:${0.25 + (0.75 * share) / 100}"><span class="ht-sign">${sign}</span>
    <span class="ht-word">${word}</span><span class="ht-share">${cell.share}${cell.unexpected ? " !" : ""}</span></td>`;
}

function grid(name, first, heads, body) {
  const columns = heads.map(([text, title]) => `<th role="columnheader" scope="col" title="${esc(title)}">${text}</th>`);
  return `<table class="ht-grid" role="grid" aria-label="${esc(name)}"><caption>${name}</caption>
    <thead><tr role="row"><th role="columnheader" scope="col">${first}</th>${columns.join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

/** The grid of an engine, or of all with one of them as `engine`: then `apart` are the spots that stand elsewhere. */
function gridOf(engine, rows, data, name = "", apart = []) {
  const windows = Object.keys(data.windows);
  let before = "";
  const body = [...rows.values()].map(([policy, provider]) => {
    const head = policy === before ? "" : `<tr role="row" class="ht-policy"><th role="rowheader" scope="rowgroup" colspan="${windows.length + 1}">${policy}</th></tr>`;
    before = policy;
    const cells = windows.map((window) => (apart.includes(`${policy}/${provider}/${window}`)
      ? '<td class="ht-cell ht-empty" role="gridcell" aria-label="differs, see the next table">≠</td>' : cellOf(`${engine}/${policy}/${provider}/${window}`, data, name)));
    return `${head}<tr role="row"><th role="rowheader" scope="row">${ABLE[provider]}</th>${cells.join("")}</tr>`;
  });
  return grid(name || engine, "provider", windows.map((each) => [each === "between" ? "be&shy;tween" : each, data.windows[each]]), body);
}

/** The cells that differ: a row each, a column an engine. */
function gridApart(spots, engines, data) {
  const body = spots.map((spot) => {
    const [policy, provider, window] = spot.split("/");
    const cells = engines.map((engine) => cellOf(`${engine}/${spot}`, data));
    return `<tr role="row"><th role="rowheader" scope="row"><b>${policy}</b>, ${ABLE[provider]}, <b>${window}</b></th>${cells.join("")}</tr>`;
  });
  return grid(`≠ not the same on all: ${spots.length} of ${new Set(Object.keys(data.cells).map(spotOf)).size} cells`, "cell", engines.map((each) => [each, ""]), body);
}

/** One grid for all engines, what differs, and below, to be opened, a grid an engine; or only the grids. */
function grids(data) {
  const engines = placed(data);
  const names = [...engines.keys()];
  const each = `<div class="ht-grids">${[...engines].map(([engine, rows]) => gridOf(engine, rows, data)).join("")}</div>`;
  const apart = agreement(data, names);
  if (!apart) return each;
  const last = names.at(-1);
  const one = gridOf(last, engines.get(last), data, `the same on ${names.length === 2 ? "both" : `all ${names.length}`} engines`, apart);
  return `<div class="ht-grids ht-one">${one}${apart.length ? gridApart(apart, names, data) : ""}</div>
    <details class="ht-each"><summary>Each engine by itself: ${names.join(", ")}</summary>${each}</details>`;
}

function frame(data) {
  const kinds = Object.values(data.kinds).map(([, sign, word, meaning]) => `<span>${sign} <b>${word}</b>: ${meaning}</span>`);
  const windows = Object.entries(data.windows).map(([name, meaning]) => `<span><b>${name}</b> ${meaning}</span>`);
  return `<p class="ct-summary" role="status" aria-live="polite"></p><div class="ht-sides"><div>${grids(data)}</div>
    <div><p class="ct-legend">${kinds.join("")}<span>%: in so many of the cell's schedules</span><span>!: not as theory expects</span></p>
    <p class="ct-legend">${windows.join("")}</p></div></div>
    <div class="ct-record" data-place="cell" role="region" tabindex="-1" aria-label="the chosen cell" hidden></div>`;
}

function counts(cell) {
  const rows = Object.entries(COUNTED).map(([name, text]) => {
    const [saw, expected] = [cell.observed[name], cell.expected[name]];
    return saw || expected ? `<li>${text}: <b>${saw}</b>${expected === undefined ? "" : saw === expected ? ", as theory expects" : `, theory expects <b>${expected}</b>`}</li>` : "";
  });
  return rows.join("") ? `<ul class="ht-list">${rows.join("")}</ul>` : "nothing stands out, as theory expects";
}

function detail(key, model) {
  const data = model.get("data");
  const [cell, told] = [data.cells[key], model.get("examples")[key]];
  const broken = Object.entries(cell.invariants).map(([name, count]) => `<li>${esc(name)}: <b>${count}</b></li>`).join("");
  const rows = [
    ["schedules", `${cell.schedules} with the first crash in ${key.split("/")[3]} ${badge(cell)}`],
    ["counted", counts(cell)],
    ["invariants broken", broken ? `<ul class="ht-list">${broken}</ul>` : "none"],
  ];
  if (told) {
    rows.push([told.found ? "its counterexample" : "an example", `crash at <code>${told.schedule.map(esc).join("</code>, then at <code>")}</code>`]);
    rows.push(["what follows", `${words(told.status)} ${badge(told)}<ul class="ht-list">${told.findings.map((text) => `<li>${esc(text)}</li>`).join("")}</ul>`]);
  }
  const picture = told?.picture === undefined ? "" : `<div class="ht-picture">${model.get("pictures")[told.picture]}</div>`;
  return `<b>${key.split("/").join(" · ")}</b> <button type="button" data-close aria-label="close the cell">×</button>
    ${pairs("The cell in words", rows)}${told ? commands(told.type) : ""}${picture}`;
}

function paint(model, el) {
  const [chosen, data] = [model.get("chosen"), model.get("data")];
  const isChosen = (cell) => cell.dataset.cell === chosen || (chosen && cell.dataset.spot === spotOf(chosen));
  for (const group of el.querySelectorAll(".ht-grids")) {
    const cells = [...group.querySelectorAll("[data-cell]")];
    const current = cells.find(isChosen) || cells.find((cell) => cell.tabIndex === 0) || cells[0];
    for (const cell of cells) {
      cell.setAttribute("aria-selected", Boolean(isChosen(cell)));
      cell.tabIndex = cell === current ? 0 : -1;
    }
  }
  const surprise = data.unexpected ? `${data.unexpected} schedules are not as theory expects.` : "Every schedule is as theory expects.";
  put(el.querySelector(".ct-summary"), chosen ? `${esc(spoken(chosen, data.cells[chosen], data.kinds))}.${el.querySelector(`[data-spot="${spotOf(chosen)}"]`) ? " The other engines say the same." : ""} ${SEE}` : `${surprise} Choose a cell to see one of its crashes.`);
  const place = el.querySelector("[data-place=cell]");
  place.hidden = !chosen;
  if (chosen) put(place, detail(chosen, model));
}

/** The next cell in a direction: beyond the end of a row the same row of the next grid. */
function next(from, key) {
  const rows = [...from.closest(".ht-grids").querySelectorAll(".ht-grid")].map((grid) => [...grid.querySelectorAll("tbody tr:not(.ht-policy)")].map((row) => [...row.querySelectorAll("[role=gridcell]")]));
  const g = rows.findIndex((grid) => grid.some((row) => row.includes(from)));
  const r = rows[g].findIndex((row) => row.includes(from));
  const c = rows[g][r].indexOf(from);
  const wide = rows[g][r].length;
  if (key === "ArrowUp" || key === "ArrowDown") return rows[g][r + (key === "ArrowDown" ? 1 : -1)]?.[c];
  if (key === "Home" || key === "End") return rows[g][r][key === "Home" ? 0 : wide - 1];
  const to = c + (key === "ArrowRight" ? 1 : -1);
  if (to >= 0 && to < wide) return rows[g][r][to];
  return rows[g + Math.sign(to - c)]?.[r]?.[to < 0 ? wide - 1 : 0];
}

function listen(model, el) {
  const cell = (chosen) => el.querySelector(`[data-cell="${chosen}"]`);
  const opened = el.querySelector("[data-place=cell]");
  el.addEventListener("click", (event) => {
    const hit = event.target.closest("[data-cell]");
    if (hit) (choose(model, "chosen", hit.dataset.cell), hit.focus());
    else if (event.target.closest("[data-see]")) (opened.focus({ preventScroll: true }), opened.scrollIntoView());
    else if (event.target.closest("[data-close]")) (cell(model.get("chosen"))?.focus(), choose(model, "chosen", ""));
  });
  el.addEventListener("keydown", (event) => {
    const at = event.target.closest("[role=gridcell]");
    if (event.key === "Escape" && model.get("chosen")) (cell(model.get("chosen"))?.focus(), choose(model, "chosen", ""));
    else if (at && (event.key === "Enter" || event.key === " ")) choose(model, "chosen", at.dataset.cell);
    else if (at && /^(Arrow|Home|End)/.test(event.key)) {
      const to = next(at, event.key);
      if (to?.dataset.cell) ((at.tabIndex = -1), (to.tabIndex = 0), to.focus());
    } else return;
    event.preventDefault();
  });
}

function render({ model, el }) {
  const undo = stand({ model, el }, frame(model.get("data")), () => paint(model, el), ["chosen", "examples"]);
  listen(model, el);
  return undo;
}

export default { render };
