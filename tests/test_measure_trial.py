"""How a trial is judged when an adapter does something else than it should, in both ways to start a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from labkit.bench.launch import Plain, Zygote
from labkit.measure.trial import Cell, Result, Site
from labkit.provider.process import ProviderProcess
from labkit.stacks.find import find_stack

ADAPTERS = """
import signal
import time

from labkit.stacks.base import Stack, Standing


class Begins(Stack):
    patience = 2.0

    def start(self, desk, place):
        facts = {"approved": True}
        for step in desk.plan:
            facts |= desk.do(step, facts)
        return Standing("completed", facts)


class Sleeps(Begins):
    def resume(self, desk, place):
        time.sleep(600)


class Deaf(Begins):
    def resume(self, desk, place):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        time.sleep(600)


class Raises(Begins):
    def resume(self, desk, place):
        raise RuntimeError("there is no such run")


class Odd(Begins):
    def resume(self, desk, place):
        return Standing("done")


class Mute(Begins):
    def resume(self, desk, place):
        return {"completed": True}


begins, sleeps, deaf, raises, odd, mute = Begins(), Sleeps(), Deaf(), Raises(), Odd(), Mute()
"""
EXPECTED = {
    "sleeps": ("judged", "stuck", ""),
    "deaf": ("judged", "stuck", ""),
    "raises": ("judged", "failed", "there is no such run"),
    "begins": ("error", "unsupported", "offers no resume"),
    "odd": ("error", "done", "done"),
    "mute": ("error", "no answer", "returned a dict"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the adapters, which is found by this process and by its children."""
    (tmp_path / "odd_adapters.py").write_text(ADAPTERS, "utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("odd_adapters", None)


def trial_of(folder: Path, mode: str, name: str) -> Result:
    """One trial of an adapter, killed before the mail."""
    stack = f"odd_adapters:{name}"
    patience = find_stack(stack).patience
    chosen = Zygote("labkit.measure.zygote", stack) if mode == "zygote" else Plain("labkit.measure.child")
    with ProviderProcess(folder / "trials") as provider, closing(chosen) as launcher:
        root = folder / "trials"
        site = Site(launchers=(launcher, launcher), url=provider.url, root=root, patience=patience)
        return site.trial(Cell(stack=stack, policy="bare", window="W5", effect="execute_refund"), "trial")


@pytest.mark.parametrize("mode", ["zygote", "plain"])
@pytest.mark.parametrize("name", EXPECTED)
def test_what_comes_after_the_crash_is_called_by_its_name(folder: Path, mode: str, name: str):
    kind, status, detail = EXPECTED[name]
    found = trial_of(folder, mode, name)
    assert (found.kind, found.status) == (kind, status), found.detail
    assert detail in found.detail
    assert not (found.lost or found.false_finish), "nothing calls itself completed"
