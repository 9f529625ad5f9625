// Widgets stand in frames: each gets the height that it asks for, and the light or dark of the book.
const scheme = () => ({ scheme: document.documentElement.dataset.theme === "dark" ? "dark" : "light" });
const frames = () => [...document.querySelectorAll(".standing iframe")];

addEventListener("message", ({ data, source }) => {
  const frame = frames().find((each) => each.contentWindow === source);
  if (!frame || !(data?.height > 0)) return;
  frame.style.height = `${Math.ceil(data.height)}px`;
  source.postMessage(scheme(), "*");
});
// An output that is wider than its place says so, and can be scrolled with keys.
function markWide() {
  for (const box of document.querySelectorAll(".cell_output .text_html, .pst-scrollable-table-container")) {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("wide", wide);
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "wider than the page, it scrolls"]])
      wide ? box.setAttribute(name, value) : box.removeAttribute(name);
  }
}
addEventListener("load", () => new ResizeObserver(markWide).observe(document.body));

new MutationObserver(() => frames().forEach((frame) => frame.contentWindow.postMessage(scheme(), "*")))
  .observe(document.documentElement, { attributeFilter: ["data-theme"] });
