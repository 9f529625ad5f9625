"""`python -m tools.book`: makes the book of the course in `_book`."""

from __future__ import annotations

import sys
import time
from functools import partial

from tools.book.execute import ROOT, ChapterFailed
from tools.book.site import BookBroken, build


def main() -> int:
    """Make the book; return 0, or 1 when a chapter or a page is broken, after saying which."""
    began = time.monotonic()
    try:
        build(ROOT / "notebooks", ROOT / "_book", ROOT / ".book", partial(print, end="", flush=True))
    except (ChapterFailed, BookBroken) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"done in {time.monotonic() - began:.0f} s. Open _book/index.html in a browser.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
