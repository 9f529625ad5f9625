"""The files in what is named: one file, a folder, a ZIP, each possibly compressed. Nothing is extracted to disk.

Everything is read as it is, by its first bytes and never by its name. In folders and archives, files that are no
recordings by their name are left out: texts, pictures, source code, and what frameworks keep beside a recording.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from labkit.trajectory.shapes.entries import refused

MAX_BYTES = 64_000_000  # of a file, unpacked; of all files of a folder or archive together
MAX_FILES = 20_000
MAX_LAYERS = 3  # of packing: a gzip in a ZIP has two
GZIP, ZIP, SQLITE = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06"), b"SQLite format 3\x00"
NO_RECORDING = re.compile(
    r"(?i).*\.(md|rst|py|pyi|ipynb|png|jpe?g|gif|svg|webp|pdf|html?|css|[jt]sx?|toml|ya?ml|lock|sh)$|"
    r"(.*/)?(\.[^/]*|__MACOSX/.*|LICENSE|base_state\.json|metadata\.json|agent_state\.pkl|conversation_stats\.pkl|"
    r"llm_registry\.json)$|(.*/)?(\.git|__pycache__|__MACOSX)/.*"
)
BESIDE = ("-wal", "-journal", "-shm")  # what SQLite keeps beside a database; the first two are part of it


class File(NamedTuple):
    """The bytes of one file, unpacked. `name` is its path in the folder or archive, empty for a file named itself.

    `beside` are the bytes of SQLite's files beside it, by their ending.
    """

    name: str
    body: bytes
    beside: dict[str, bytes]


def files(path: Path) -> list[File]:
    """Every file that may hold a recording, in order of their names; raise InvalidInput when one cannot be opened."""
    try:
        if path.is_dir():
            found = dict(_unpacked(_folder(path)))
        elif not path.is_file():
            raise refused(str(path), "", "is not a file or folder", "name a file or folder of recorded runs")
        else:
            beside = {end: Path(f"{path}{end}") for end in BESIDE}
            _measure(str(path), path.stat().st_size)
            own = [("", path.read_bytes())]
            own += [(end, other.read_bytes()) for end, other in beside.items() if other.is_file()]
            found = dict(_unpacked(iter(own)))
    except (OSError, ValueError) as error:
        raise refused(str(path), "", f"cannot be opened: {error}", "name a file that can be read") from None
    main = {
        name: body for name, body in found.items() if not (name.endswith(BESIDE) and name.rpartition("-")[0] in found)
    }
    return [
        File(name, main[name], {end: found[name + end] for end in BESIDE[:2] if found.get(name + end)})
        for name in sorted(main, key=_natural)
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts `10.json` after `9.json`."""
    return [(int(part), "") if part.isdecimal() and part.isascii() else (-1, part) for part in re.split(r"(\d+)", name)]


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files below a folder; links are not followed."""
    count = total = 0
    for holder, _, names in os.walk(path):
        for name in names:
            file = Path(holder, name)
            inside = file.relative_to(path).as_posix()
            if NO_RECORDING.fullmatch(inside):
                continue
            if file.is_symlink():
                raise refused(
                    inside, "", "is a link, and links are not followed", "copy the file there, or remove the link"
                )
            if not file.is_file():
                raise refused(inside, "", "is no file with something in it, but a pipe or a device", "remove it")
            count += 1
            total += file.stat().st_size
            _measure(inside, total, count)
            yield inside, file.read_bytes()


def _unpacked(found: Iterator[tuple[str, bytes]], layer: int = 1) -> Iterator[tuple[str, bytes]]:
    """The files, with those that are packed replaced by what is in them."""
    total = 0
    for name, body in found:
        if not body.startswith((GZIP, *ZIP)):
            total += len(body)
            _measure(name, total)
            yield name, body
            continue
        if layer > MAX_LAYERS:
            raise refused(name, "", f"is packed more than {MAX_LAYERS} times over", "unpack it")
        inner = iter([(name.removesuffix(".gz"), _gunzip(name, body))]) if body.startswith(GZIP) else _zip(name, body)
        for within, unpacked in _unpacked(inner, layer + 1):
            total += len(unpacked)
            _measure(name, total)
            yield within, unpacked


def _gunzip(name: str, body: bytes) -> bytes:
    """The bytes in a gzip file, which may have several members."""
    out = bytearray()
    while body:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            out += member.decompress(body, MAX_BYTES - len(out) + 1)
        except zlib.error as error:
            raise refused(name, "", f"the gzip file is damaged: {error}", "compress it anew") from None
        _measure(name, len(out))
        if not member.eof:
            raise refused(name, "", "the gzip file ends in the middle", "copy it anew")
        body = member.unused_data.lstrip(b"\x00")
    return bytes(out)


def _zip(outer: str, body: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a ZIP, read in memory: their names are labels and never paths."""
    seen: set[str] = set()
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for member in archive.infolist():
                name = "".join(c if c.isprintable() else "?" for c in f"{outer}/{member.filename}".lstrip("/"))
                if member.is_dir() or NO_RECORDING.fullmatch(name):
                    continue
                if name in seen:
                    raise refused(name, "", "is in the archive twice", "pack it anew")
                seen.add(name)
                _measure(name, member.file_size, len(seen))
                with archive.open(member) as opened:
                    unpacked = opened.read(MAX_BYTES + 1)
                _measure(name, len(unpacked))
                yield name, unpacked
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error, EOFError) as error:
        raise refused(outer, "", f"the ZIP cannot be read: {error}", "pack it anew, without a password") from None


def _measure(name: str, size: int, count: int = 0) -> None:
    if size > MAX_BYTES:
        raise refused(name, "", f"has {size:,} bytes, the limit is {MAX_BYTES:,}", "split it by runs")
    if count > MAX_FILES:
        raise refused(name, "", f"more than {MAX_FILES:,} files", "name a smaller folder")
