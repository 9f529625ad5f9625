"""What a recording may come in: lines, arrays, single records, folders, archives; and what is refused about them."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from abstract_runs import Made
from shapes_written import mixed

from labkit.errors import InvalidInput
from labkit.trajectory import containers
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read

MESSAGES = mixed([[Made("c1", "look", {"n": 1}, "seen")], [Made("c2", "pay", {"n": 2}, None)]], ["chat", "anthropic"])
RUN = {"id": "run", "messages": MESSAGES}


def text(*values: Any, indent: int | None = None) -> bytes:
    """JSON values one after another."""
    return "\n".join(json.dumps(value, indent=indent) for value in values).encode()


def archive(**members: bytes) -> bytes:
    """A ZIP with these members; `__` in a name is a slash, `_dot_` a dot."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, body in members.items():
            opened.writestr(name.replace("__", "/").replace("_dot_", "."), body)
    return out.getvalue()


def reading(folder: Path, body: bytes, name: str = "own.json") -> list[Trajectory]:
    """What the reader makes of a file with this content."""
    (folder / name).write_bytes(body)
    return read(folder / name)


CONTAINERS = {
    "a line": text(RUN),
    "one indented record": text(RUN, indent=2),
    "indented records one after another": text(RUN, RUN | {"id": "b"}, indent=1),
    "an array of runs": text([RUN, RUN | {"id": "b"}]),
    "an array of lists": text([MESSAGES, MESSAGES]),
    "a bare list": text(MESSAGES),
    "one message a line": text(*MESSAGES),
    "messages of two sessions a line": text(*({"session_id": s, **m} for m in MESSAGES for s in ("s1", "s2"))),
    "a list a line": text(MESSAGES, MESSAGES),
    "gzip": gzip.compress(text(RUN)),
    "gzip in two members": gzip.compress(text(RUN)[:50]) + gzip.compress(text(RUN)[50:]),
    "a ZIP": archive(one_dot_json=text(RUN), two_dot_jsonl=text(RUN, RUN | {"id": "b"})),
    "a gzip in a ZIP": archive(one_dot_gz=gzip.compress(text(RUN))),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_recording_is_read_from_any_container(tmp_path: Path, container: str) -> None:
    found = reading(tmp_path, CONTAINERS[container])
    for each in found:
        assert [(call.name, call.outcome) for call in each.calls] == [("look", "answered"), ("pay", "unanswered")]
    assert len({each.id for each in found}) == len(found)
    runs = {"a ZIP": 3, "messages of two sessions a line": 2, "a list a line": 2}
    assert len(found) == runs.get(container, 2 if "records" in container or "an array" in container else 1)


def test_runs_without_an_id_are_called_by_their_place(tmp_path: Path) -> None:
    assert reading(tmp_path, text(MESSAGES))[0].id == "own"
    assert [each.id for each in reading(tmp_path, text(MESSAGES, MESSAGES))] == ["line-1", "line-2"]
    assert [each.id for each in reading(tmp_path, text(*({"thread_id": "t", **m} for m in MESSAGES)))] == ["t"]


def test_a_folder_holds_runs_and_folders_of_events(tmp_path: Path) -> None:
    turns = [[Made(f"c{n}", "look", {}, "seen"), Made(f"d{n}", "pay", {}, None)] for n in range(6)]
    events = mixed(turns, ["openhands"] * 6)[1:]
    (tmp_path / "day/run-7/events").mkdir(parents=True)
    for number, event in enumerate(events):
        (tmp_path / f"day/run-7/events/{number}.json").write_bytes(text(event))
    (tmp_path / "day/run-7/base_state.json").write_bytes(b"{}")
    (tmp_path / "README.md").write_bytes(b"no recording")
    (tmp_path / "other.jsonl").write_bytes(text(RUN))
    run, other = read(tmp_path)
    assert (run.id, other.id) == ("day/run-7", "other.jsonl:run")
    assert [call.name for call in run.calls] == ["look", "pay"] * 6


def test_an_archive_is_read_like_the_folder_that_it_holds(tmp_path: Path) -> None:
    events = mixed([[Made("c1", "look", {}, "seen")]], ["openhands_sdk"])[1:]
    members = {f"run__events__event-{number:05}_dot_json": text(event) for number, event in enumerate(events)}
    (found,) = reading(tmp_path, archive(**members, run__base_state_dot_json=b"{}"), "own.zip")
    assert (found.id, [call.outcome for call in found.calls]) == ("run", ["answered"])


def test_nothing_is_written_wherever_a_member_says_that_it_lies(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as opened:
        opened.writestr("../../out.json", text(RUN))
        opened.writestr("/etc/out.json", text(RUN | {"id": "b"}))
    before = sorted(tmp_path.rglob("*"))
    found = reading(tmp_path / "in", out.getvalue(), "own.zip")
    assert len(found) == 2
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "in/own.zip"])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (gzip.compress(b" " * 3_000_000), "bytes, the limit is 1,000,000"),
        (archive(a_dot_json=b" " * 3_000_000), "a.json: has 3,000,000 bytes, the limit"),
        (archive(**{f"f{n}_dot_json": b" " * 400_000 for n in range(3)}), "has 1,200,000 bytes, the limit"),
        (gzip.compress(gzip.compress(gzip.compress(gzip.compress(text(RUN))))), "is packed more than 3 times over"),
        (gzip.compress(text(RUN))[:-9], "the gzip file ends in the middle"),
        (b"\x1f\x8b" + b"x" * 20, "the gzip file is damaged"),
        (archive(a_dot_json=text(RUN))[:-30], "the ZIP cannot be read"),
        (archive(a_dot_json=text(RUN), b_dot_bin=b"\xff\xfe"), "b.bin: line 1: byte 0 of the file is not UTF-8"),
        (text(RUN)[:-9], "line 1: the record ends in the middle: what was recorded last is not known"),
        (text(*MESSAGES)[:-9], "line 5: the record ends in the middle"),
        (text(RUN, indent=2)[:-9], "line 1: the record ends in the middle"),
        (text(RUN) + text(RUN), "line 1: id: 'run' is the id of an earlier"),
        (b'{"id": "a", "messages": [], "messages": []}', "line 1: the field 'messages' is there twice"),
        (text(*MESSAGES, RUN), "line 1: Object missing required field `messages`"),
        (text([*MESSAGES, RUN]), "item 1: Object missing required field `messages`"),
        (text(RUN | {"traj": MESSAGES}), "traj: 'messages' holds messages, too"),
        (text(RUN | {"steps": [{"tool": "pay"}]}), "steps: nobody knows this field"),
        (text({"id": "x", "messages": [], "choices": [{"message": {}}] * 2}), "choices: 2 choices"),
        (b'["\\ud800"]', "half a character"),
        (b"[" * 100_000, "the JSON array that begins here cannot be read"),
    ],
)
def test_what_cannot_be_read_whole_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes, why: str
) -> None:
    monkeypatch.setattr(containers, "MAX_BYTES", 1_000_000)
    with pytest.raises(InvalidInput) as refused:
        reading(tmp_path, body)
    assert why in str(refused.value)
    assert len(str(refused.value)) < 1_000


def test_a_password_a_link_and_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = bytearray(archive(a_dot_json=text(RUN)))
    for at in (locked.index(b"PK\x03\x04") + 6, locked.index(b"PK\x01\x02") + 8):
        locked[at] |= 1
    with pytest.raises(InvalidInput, match="without a password"):
        reading(tmp_path, bytes(locked))
    (tmp_path / "own.json").unlink()
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    with pytest.raises(InvalidInput, match=r"link\.json: is a link"):
        read(tmp_path)
    monkeypatch.setattr(containers, "MAX_FILES", 2)
    with pytest.raises(InvalidInput, match="more than 2 files"):
        reading(tmp_path, archive(**{f"f{n}_dot_json": text(RUN) for n in range(3)}))


def test_results_of_tau_bench_and_of_its_successor_are_runs(tmp_path: Path) -> None:
    info = {"task": {"actions": [{"name": "pay", "kwargs": {"n": 2}}]}, "reward_info": {"reward": 0.0}}
    results = [{"task_id": 4, "trial": n, "reward": 1.0, "info": info, "traj": MESSAGES} for n in range(2)]
    found = reading(tmp_path, text(results))
    assert [(each.id, each.shapes[0], len(each.calls)) for each in found] == [
        ("4-trial-0", "tau-bench", 2),
        ("4-trial-1", "tau-bench", 2),
    ]
    asked = {"role": "assistant", "tool_calls": [{"id": "1", "name": "pay", "arguments": {}, "requestor": "assistant"}]}
    told = {"role": "tool", "id": "1", "content": "no", "error": True, "requestor": "assistant"}
    simulations = {"simulations": [{"id": "s", "task_id": "4", "messages": [asked, told]}], "tasks": [{"id": "4"}]}
    (found_one,) = reading(tmp_path, text(simulations))
    assert [(call.name, call.outcome) for call in found_one.calls] == [("pay", "failed")]
