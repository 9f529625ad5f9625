"""What a ledger wrote is there after any crash, and nothing else is taken for it."""

from __future__ import annotations

import os

import pytest

from labkit.errors import InvalidInput, InvalidState
from labkit.model import Order, Target
from labkit.provider.ledger import Ledger
from labkit.provider.ledger_file import read_ledger
from labkit.provider.twin import Twin

TARGETS = {"dedup": Target(capability="dedup")}


def lines(path):
    """Four entries on disk, as lines."""
    world = Twin(TARGETS, ledger=Ledger(path))
    for subject in "abcd":
        world.note_activity(subject, "draft")
    world.ledger.close()
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("damage", "number"),
    [
        (lambda a, b, c, d: [a, b"\x00" * 40 + b"\n", c, d], 2),
        (lambda a, b, c, d: [a, b[:20], c, d], 2),
        (lambda a, b, c, d: [a, c, d], 2),
        (lambda a, b, c, d: [a, b, b, c, d], 3),
        (lambda a, b, c, d: [a, b"\n", b, c, d], 2),
        (lambda a, b, c, d: [a, b, c.replace(b'"activity"', b'"gift"'), d], 3),
        (lambda a, b, c, d: [a, b, c, d.replace(b"{", b'{"more":1,', 1)], 4),
        (lambda a, b, c, d: [a, b, c, b"\xff\xfe\n"], 4),
    ],
)
def test_any_other_damage_is_refused_by_line_and_left_alone(tmp_path, damage, number):
    path = tmp_path / "world.jsonl"
    path.write_bytes(b"".join(damage(*lines(path))))
    before = path.read_bytes()
    with pytest.raises(InvalidState, match=f"damaged at line {number}:"):
        Ledger(path)
    assert path.read_bytes() == before


def test_an_entry_is_on_the_disk_before_anybody_hears_of_it(tmp_path, monkeypatch):
    path, sync, story = tmp_path / "world.jsonl", os.fsync, []
    world = Twin(TARGETS, ledger=Ledger(path))

    def synced(file):
        story.append(("synced", len(read_ledger(path)[0])))
        sync(file)

    monkeypatch.setattr(os, "fsync", synced)
    order = Order(target="dedup", operation="do", request={}, subject="s", label="pay/call", key="k")
    for _ in range(2):
        world.execute(order, lambda: story.append(("executed", len(world.entries()))))
    world.note_activity("s", "draft")
    assert story == [("synced", 1), ("executed", 1), ("executed", 1), ("synced", 2)]
    world.ledger.close()


def test_after_a_disk_error_nothing_is_written_until_the_file_is_opened_again(tmp_path, monkeypatch):
    path = tmp_path / "world.jsonl"
    ledger = Ledger(path)
    ledger.activity("s", "draft")
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            ledger.activity("s", "draft")
    with pytest.raises(ValueError, match="closed file"):
        ledger.activity("s", "draft")
    assert len(ledger.entries()) == 1
    again = Ledger(path)
    assert again.activity("s", "draft") == len(read_ledger(path)[0])
    again.close()


def test_a_ledger_on_disk_never_goes_back(tmp_path):
    ledger = Ledger(tmp_path / "world.jsonl")
    image = ledger.image()
    ledger.activity("s", "draft")
    with pytest.raises(InvalidInput, match="cannot go back"):
        ledger.restore(image)
    assert len(ledger.entries()) == 1
    ledger.close()
