"""A ledger on disk: JSON Lines, one `Entry` a line, on the disk before `append` returns."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from labkit.errors import InvalidState
from labkit.provider.protocol import Entry

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


def read_ledger(path: str | Path) -> tuple[list[Entry], bytes]:
    """Read the entries of a ledger file, and the bytes of a last line that was cut off (empty when there is none).

    A line counts once its line end is there. Raise InvalidState, with the line number, for any other damage: a line
    that is not an entry, or a number that is out of order. The file is not changed.
    """
    *lines, torn = Path(path).read_bytes().split(b"\n")
    entries: list[Entry] = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = _decode(line)
        except msgspec.MsgspecError as error:
            raise _damaged(path, number, str(error)) from None
        if entry.seq != number:
            raise _damaged(path, number, f"expected entry {number}, found entry {entry.seq}")
        entries.append(entry)
    return entries, torn


def _damaged(path: str | Path, number: int, why: str) -> InvalidState:
    return InvalidState(
        f"ledger {path} is damaged at line {number}: {why}",
        safe="the file was not changed, and no provider uses it",
        next="put back an undamaged copy, or move the file away to start an empty ledger",
    )


class LedgerFile:
    """An open ledger file, made when missing (its folder must exist). Opening it drops a torn last line.

    `entries` is what it held when it was opened, `torn` the bytes that were dropped. Raise InvalidState for damage.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - it stays open until close()
        try:
            self.entries, self.torn = read_ledger(path)
            if self.torn:
                self._file.truncate(self.path.stat().st_size - len(self.torn))
            _sync(self._file.fileno(), self.path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, entry: Entry) -> None:
        """Write one entry and wait until the disk has it. After an OSError the file is closed: open it again."""
        line = _encode(entry) + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(f"ledger {self.path}: the disk took only a part of entry {entry.seq}")
            os.fsync(self._file.fileno())
        except OSError:
            self._file.close()  # what was half written is a torn last line: opening again drops it
            raise

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._file.close()


def _sync(file: int, folder: Path) -> None:
    os.fsync(file)
    if os.name == "posix":  # a new name is on the disk once its folder is; Windows cannot open a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
