"""Runs in a chapter's kernel before its first cell: a displayed widget gives a page or a picture that needs no kernel.

The builder copies this file to where IPython looks for code to run first. No widget has to know of the book: one with
`to_html()` is shown as that page, any other as the picture, HTML or text that it gives beside its live view.
"""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython
from ipywidgets import Widget

PAGE = "application/vnd.labkit.page+html"
LIVE = "application/vnd.jupyter.widget-view+json"


def still(widget: Any) -> dict[str, Any]:
    """Return what stands for a widget, by MIME type: its own page, or all that it shows without being live."""
    if hasattr(widget, "to_html"):
        return {PAGE: widget.to_html(), "text/plain": type(widget).__name__}
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    return {kind: value for kind, value in data.items() if kind != LIVE}


if shell := get_ipython():  # type: ignore[no-untyped-call]
    shell.display_formatter.mimebundle_formatter.for_type(Widget, still)
