// What every widget shares. Python puts this before a widget's own files, with the meaning of the windows (see page.py).

const esc = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const ABLE = { dedup: "recognises a key (dedup)", lookup: "can be asked (lookup)", neither: "neither", "as-declared": "as each declares" };
const VERDICTS = { valid: "✓ valid", invalid: "✗ invalid", unknown: "? unknown" };
const badge = ({ verdict }) => `<span class="ct-verdict ct-${verdict}">${VERDICTS[verdict]}</span>`;

const PATIENCE = 3000; // milliseconds that the kernel may take to say anything
const NO_ANSWER = "No answer from the kernel. If it was restarted, run the cell above again.";

/** Waits for the kernel: `ask` when something is sent, `heard` when it says anything; `silent` is what to show meanwhile. */
class Kernel {
  constructor(draw) {
    Object.assign(this, { draw, timer: 0, silent: "" });
  }

  ask() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => ((this.silent = NO_ANSWER), this.draw()), PATIENCE);
  }

  heard() {
    clearTimeout(this.timer);
    this.silent = "";
  }
}

/** In JupyterLab, keep the keys of whatever in `el` has the focus: it looks for this mark there first. Returns what undoes it. */
function keepKeys(el) {
  const mark = () => {
    for (const each of [el, ...el.querySelectorAll("button, input, select, summary, a, [tabindex]")]) {
      each.setAttribute("data-lm-suppress-shortcuts", "true");
    }
  };
  const watch = new MutationObserver(mark);
  watch.observe(el, { childList: true, subtree: true });
  mark();
  return () => watch.disconnect();
}
