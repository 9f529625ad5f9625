// Widgets stand in frames: each gets the height that it asks for, and the light or dark of the book.
const scheme = () => ({ scheme: document.documentElement.dataset.theme === "dark" ? "dark" : "light" });
const frames = () => [...document.querySelectorAll(".standing iframe")];

addEventListener("message", ({ data, source }) => {
  const frame = frames().find((each) => each.contentWindow === source);
  if (!frame || !(data?.height > 0)) return;
  frame.style.height = `${Math.ceil(data.height)}px`;
  source.postMessage(scheme(), "*");
});
new MutationObserver(() => frames().forEach((frame) => frame.contentWindow.postMessage(scheme(), "*")))
  .observe(document.documentElement, { attributeFilter: ["data-theme"] });
