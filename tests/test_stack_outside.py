"""A stack that lives outside the package: found by its entry point or by its address, and killed for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from command import answer, labkit, really

from labkit.bench.launch import DEFAULT_MODE, Launcher, Plain, Zygote
from labkit.errors import InvalidInput
from labkit.measure.conforming import findings_of
from labkit.measure.stage import conformance
from labkit.measure.trial import Cell, Result, Site
from labkit.provider.process import ProviderProcess
from labkit.stacks.find import every_stack, find_stack

ADAPTER = '''
"""Somebody's own workflow: its facts lie in a file, which is written after each step."""
import json
import os
import time

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


class Hangs(Theirs):
    patience = 2.0

    def prepare(self):
        time.sleep(600)


class Raises(Theirs):
    def prepare(self):
        raise RuntimeError("no licence")


class Leaves(Theirs):
    def prepare(self):
        os._exit(4)


class Lacking(Theirs):
    name = "lacking"
    packages = ("their-framework", "no-such-framework")


adapter, hangs, raises, leaves, lacking = Theirs(), Hangs(), Raises(), Leaves(), Lacking()
'''
METADATA = "Metadata-Version: 2.1\nName: their-framework\nVersion: 7.1\n"
ENTRIES = """[labkit.stacks]
theirs = their_adapter:adapter
lacking = their_adapter:lacking
gone = not_there:adapter
class = their_adapter:Theirs
"""
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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("their", "there is no stack 'their'.*did you mean theirs"),
        ("BARE", "there is no stack 'BARE'.*did you mean bare"),
        ("oracle", "there is no stack 'oracle'.*labkit stacks lists them"),
        ("their_adapter:adaptor", "module their_adapter has no 'adaptor'.*it has their_adapter:adapter, "),
        ("their_adapter:Theirs", "is the class Theirs.*it has their_adapter:adapter, "),
        ("json:dumps", "is a function.*name an object, not its class; it has .*loads"),
    ],
)
def test_a_name_that_nobody_offers_is_refused_with_the_nearest(installed, name, said):
    with pytest.raises(InvalidInput, match=f"(?s){said}"):
        find_stack(name)


def test_a_package_that_is_not_installed_is_missing_and_no_version(installed):
    rows = {row["stack"]: row for row in answer(labkit("stacks", "--json"))["stacks"]}
    assert rows["lacking"]["missing"] == "no-such-framework is not installed"
    assert "their-framework 7.1" in rows["lacking"]["versions"] and "no-such" not in rows["lacking"]["versions"]
    assert rows["theirs"]["missing"] == ""


FORKED = pytest.mark.skipif(
    DEFAULT_MODE != "zygote", reason="prepare is called before a fork; here every process is a new one"
)
UNFIT = {
    "their_adapter:hangs": "prepare did not come to its end in 2 s",
    "their_adapter:raises": "prepare raised RuntimeError: no licence (their_adapter.py:36)",
    "their_adapter:leaves": "prepare ended with status 4",
}


@FORKED
def test_a_stack_that_cannot_get_ready_is_not_run_and_the_others_go_on(installed, tmp_path, monkeypatch):
    monkeypatch.setenv("MARK", mark := uuid4().hex)
    asked = [part for name in [*UNFIT, "theirs"] for part in ("--stack", name)]
    done = really("bench", *asked, "--policy", "bare", "--repeat", "1", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr, found["not_run"]) == (1, "", UNFIT)
    assert {cell["stack"] for cell in found["cells"]} == {"theirs"} and found["trials"] == len(found["cells"])
    assert not [each for each in psutil.process_iter(["environ"]) if (each.info["environ"] or {}).get("MARK") == mark]


@FORKED
def test_no_check_is_run_of_a_stack_that_cannot_get_ready(installed, tmp_path):
    name = "their_adapter:leaves"
    assert {(each.outcome, each.seen) for each in findings_of(name, tmp_path).values()} == {("not run", UNFIT[name])}


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
