"""The folder of a campaign: what it is about, and the outcome of every trial that is finished, one JSON line each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from labkit.bench.judging import Outcome
from labkit.errors import InvalidInput
from labkit.provider.faults import Fault

ABOUT, TRIALS = "campaign.json", "trials.jsonl"
MOST_TOLD = 1_000  # characters


class Settings(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a campaign is about; `workflow` is named `module:attribute`, `faults` say which calls go wrong."""

    workflow: str
    inputs: dict[str, Any]
    engines: tuple[str, ...]
    policies: tuple[str, ...]
    provider: str
    windows: tuple[str, ...]
    repeat: int
    mode: str
    faults: tuple[Fault, ...] = ()


class Log:
    """The log of the campaign in `folder`, made when the folder is empty or missing, else gone on with.

    A line that was cut off when its writer was killed is dropped. Raises InvalidInput when the folder holds something
    else, or a campaign with other settings; it is left as it is.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        about, said = folder / ABOUT, msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n"
        if about.exists() and about.read_bytes() != said:
            there = about.read_bytes().decode("utf-8", "replace").strip()
            raise InvalidInput(
                f"{folder} holds another campaign, or a damaged one: {there[:MOST_TOLD] or 'campaign.json is empty'}",
                safe="it is untouched",
                next="go on with the settings that it was begun with, or name another folder",
            )
        if not about.exists() and folder.exists() and any(folder.iterdir()):
            raise InvalidInput(
                f"{folder} is not empty and holds no campaign", safe="it is untouched", next="name another"
            )
        folder.mkdir(parents=True, exist_ok=True)
        about.write_bytes(said)
        self._lock = threading.Lock()
        self._file = (folder / TRIALS).open("a+b")
        self._file.seek(0)
        *lines, torn = self._file.read().split(b"\n")
        if torn and not torn.startswith(b"{"):
            lines.append(torn)  # no beginning of a line of ours
        self._finished = {outcome.id: outcome for outcome in self._read(lines)}
        self._file.truncate(self._file.tell() - len(torn))

    @property
    def finished(self) -> Mapping[str, Outcome]:
        """The outcomes so far, by id of the trial."""
        return MappingProxyType(self._finished)

    def append(self, outcome: Outcome) -> None:
        """Write an outcome, from any thread."""
        with self._lock:
            self._file.write(msgspec.json.encode(outcome) + b"\n")
            self._file.flush()
            self._finished[outcome.id] = outcome

    def _read(self, lines: Sequence[bytes]) -> Iterator[Outcome]:
        for number, line in enumerate(lines, 1):
            try:
                yield msgspec.json.decode(line, type=Outcome)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                self._file.close()
                raise InvalidInput(
                    f"{self._file.name}, line {number}, is no outcome of a trial: {error}",
                    safe="it is untouched",
                    next="delete the lines from there on, and their trials are run again; or name another folder",
                ) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
