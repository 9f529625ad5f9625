// Keys that are ours: what every widget shares.

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
