"""A stack that lives outside the package: found by its entry point or by its address, and killed for real."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from labkit.bench.launch import Launcher, Plain, Zygote
from labkit.errors import InvalidInput
from labkit.measure.stage import conformance
from labkit.measure.trial import Cell, Result, Site
from labkit.provider.process import ProviderProcess
from labkit.stacks.find import every_stack, find_stack

ADAPTER = '''
"""Somebody's own workflow: its facts lie in a file, which is written after each step."""
import json

from labkit.stacks.base import Restored, Stack, Standing


class Theirs(Stack):
    name = "theirs"
    packages = ("their-framework",)

    def start(self, desk, place):
        file = place.folder / "theirs.json"
        facts = json.loads(file.read_text()) if file.exists() else {"approved": True, "done": []}
        for step in desk.plan:
            if step not in facts["done"]:
                facts |= desk.do(step, facts)
                facts["done"].append(step)
                file.write_text(json.dumps(facts))
        return Standing("completed", facts)

    resume = start


adapter = Theirs()
'''
METADATA = "Metadata-Version: 2.1\nName: their-framework\nVersion: 7.1\n"
ENTRIES = "[labkit.stacks]\ntheirs = their_adapter:adapter\ngone = not_there:adapter\nclass = their_adapter:Theirs\n"
NAMES = ["theirs", "their_adapter:adapter"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of this process and of its children: a module, and what an installer writes beside it."""
    folder = tmp_path / "site"
    about = folder / "their_framework-7.1.dist-info"
    about.mkdir(parents=True)
    (folder / "their_adapter.py").write_text(ADAPTER, "utf-8")
    (about / "METADATA").write_text(METADATA, "utf-8")
    (about / "entry_points.txt").write_text(ENTRIES, "utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield folder
    sys.modules.pop("their_adapter", None)


def trial_of(launcher: Launcher, root: Path, stack: str, window: str, policy: str = "bare") -> Result:
    """One trial with a real kill; the refund is where it dies."""
    with ProviderProcess(root) as provider:
        site = Site(launchers=(launcher, launcher), url=provider.url, root=root)
        return site.trial(Cell(stack=stack, policy=policy, window=window, effect="execute_refund"), "trial")


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_of_another_package_is_found(installed, name):
    assert find_stack(name).packages == ("their-framework",)


def test_it_is_listed_and_one_that_cannot_be_imported_says_why(installed):
    listed = {entry[0]: entry[1] for entry in every_stack()}
    assert listed["theirs"] is find_stack("theirs")
    assert "cannot be imported" in str(listed["gone"])
    assert "expected a labkit.stacks.base.Stack" in str(listed["class"])
    assert "bare" in listed


def test_a_name_that_nobody_offers_is_refused(installed):
    with pytest.raises(InvalidInput, match="there is no stack 'theirs-too'"):
        find_stack("theirs-too")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("window", "policy", "twice"), [("W3", "bare", True), ("W3", "ledger", False), ("W5", "bare", False)]
)
def test_it_is_killed_for_real_and_judged(installed, tmp_path, name, window, policy, twice):
    with closing(Zygote("labkit.measure.zygote", name)) as zygote:
        result = trial_of(zygote, tmp_path / "trials", name, window, policy)
    assert (result.kind, result.status, result.lost) == ("judged", "completed", [])
    assert result.duplicated == (["execute_refund"] if twice else [])


def test_an_interpreter_of_its_own_finds_it_as_well(installed, tmp_path):
    result = trial_of(Plain("labkit.measure.child"), tmp_path / "trials", "theirs", "W3")
    assert (result.kind, result.duplicated) == ("judged", ["execute_refund"])


def test_what_it_does_not_offer_is_unsupported_and_no_pass(installed, tmp_path):
    root = tmp_path / "trials"
    with ProviderProcess(root) as provider, closing(Zygote("labkit.measure.zygote", "theirs")) as zygote:
        site = Site(launchers=(zygote, zygote), url=provider.url, root=root)
        found = dict(conformance(site, "theirs"))
    assert found["has a history"].outcome == "unsupported"
    assert found["has a history"].seen == "theirs offers no history"
    assert found["goes on after a crash"].outcome == "pass"


def test_without_its_folder_on_the_path_it_is_unknown(installed):
    elsewhere = {**os.environ, "PYTHONPATH": ""}
    asked = [sys.executable, "-c", "from labkit.stacks.find import find_stack; find_stack('theirs')"]
    done = subprocess.run(asked, env=elsewhere, capture_output=True, text=True, timeout=60)
    assert "there is no stack 'theirs'" in done.stderr
