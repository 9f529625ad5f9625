"""What all views share: a widget in a notebook, a page without a kernel, and a picture or table where neither runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets as t

from labkit.widgets.page import COMMON, filled
from labkit.widgets.page import CSS as TIMELINE_CSS

HERE = Path(__file__).parent
SYNC: dict[str, bool] = {"sync": True}
CSS = TIMELINE_CSS + (HERE / "views.css").read_text("utf-8")


def esm(*names: str) -> str:
    """The module of a view: what all share, then its own files."""
    return COMMON + "\n".join((HERE / name).read_text("utf-8") for name in ("shared.js", *names))


class View(anywidget.AnyWidget):
    """A view. `title` names it, `data` is what it draws; `KEPT` are the traits that a page takes along.

    A subclass gives `_esm`, `to_text()` and `still()`.
    """

    _css = CSS
    KEPT: ClassVar[tuple[str, ...]] = ("title", "data")
    title = t.Unicode().tag(**SYNC)
    data = t.Dict().tag(**SYNC)

    def to_html(self, path: str | Path | None = None) -> str:
        """The view as one page that needs neither kernel nor network; written to `path` if one is given."""
        text = self._page({name: getattr(self, name) for name in self.KEPT})
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text

    def to_text(self) -> str:
        """What is shown, as text."""
        raise NotImplementedError

    def still(self) -> dict[str, str]:
        """What stands for the view where nothing runs: a picture or a table by its media type."""
        raise NotImplementedError

    def _page(self, state: dict[str, Any]) -> str:
        return filled(self.title, CSS, str(self._esm), {**state, "alone": True})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, **self.still(), "text/plain": self.to_text()}, metadata
