"""Files of the lab that are damaged, or something else: refused with the path, and left as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command import answer, labkit, really, refused

HALVES = 2


def cut(path: Path) -> None:
    """Half of the file is lost."""
    body = path.read_bytes()
    path.write_bytes(body[: len(body) // HALVES])


def text(path: Path) -> None:
    """Somebody's notes."""
    path.write_text("some notes\n", "utf-8")


def noise(path: Path) -> None:
    """Another program's file, no text and no database."""
    path.write_bytes(b"\x89\xff\x00\xb8" * 999)


def folder(path: Path) -> None:
    """A folder of that name."""
    path.unlink()
    path.mkdir()


def overwritten(path: Path) -> None:
    """All but the first page holds something else."""
    body = path.read_bytes()
    path.write_bytes(body[:4096] + b"\xff" * (len(body) - 4096))


Damage = Callable[[Path], None]
LAB = ("runs", "history r", "effects r", "approve r", "resolve k --verdict rejected", "cancel r", "run refund")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    assert labkit("run", "--db", folder / "lab.db").exit_code == 0
    asked = ("bench", "--engine", "hybrid", "--policy", "bare", "--keep", folder / "bench")
    assert labkit(*asked).exit_code == 0
    shutil.copy(Path(__file__).with_name("my_refund.py"), folder)
    asked = ("bench", "--stack", "my_refund:adapter", "--policy", "bare", "--repeat", "1", "--keep", "stacks")
    assert really(*asked, cwd=folder).returncode == 0
    return folder


@pytest.fixture
def copied(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Those files once more, in the current folder."""
    place = tmp_path / "copied"
    shutil.copytree(whole, place)
    monkeypatch.chdir(place)
    return place


def refuses(arguments: str, path: Path, damage: Damage) -> None:
    """The command refuses the damaged file by name, says what to do, and leaves it as it is."""
    damage(path)
    before = path.read_bytes() if path.is_file() else None
    told = refused(labkit(*arguments.split(), "--json"))
    assert str(path) in told and "next: " in told and "safe now: " in told
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize("damage", [cut, text, noise, folder, overwritten])
@pytest.mark.parametrize("command", LAB)
def test_a_damaged_lab_is_refused_by_every_command(command: str, damage: Damage, copied: Path):
    refuses(f"{command} --db lab.db", Path("lab.db"), damage)


def test_what_happened_outside_is_told_beside_a_damaged_database_and_not_beside_a_text(copied: Path):
    noise(Path("lab.db"))
    assert len(answer(labkit("outside", "--db", "lab.db", "--json"))["outside"]) > 2
    shutil.rmtree("lab.db.world")
    refuses("outside --db lab.db", Path("lab.db"), text)


@pytest.mark.parametrize("damage", [cut, text, noise, folder, overwritten])
@pytest.mark.parametrize("name", ["campaign.db", "lock.db"])
def test_a_damaged_campaign_over_frameworks_is_refused(name: str, damage: Damage, copied: Path):
    path = Path("stacks", name)
    if damage in (cut, overwritten) and not path.stat().st_size:
        text(path)  # a lock holds nothing that could be lost
    refuses("bench --stack my_refund:adapter --policy bare --repeat 1 --keep stacks", path, damage)


@pytest.mark.parametrize("damage", [cut, text, noise])
@pytest.mark.parametrize("name", ["campaign.json", "trials.jsonl"])
def test_a_damaged_campaign_of_ours_is_refused(name: str, damage: Damage, copied: Path):
    path = Path("bench", name)
    if name == "trials.jsonl" and damage is cut:
        path.write_bytes(path.read_bytes().replace(b"\n", b"}\n"))  # a last line that is cut off is no damage
    else:
        damage(path)
    before = path.read_bytes()
    told = refused(labkit("bench", "--engine", "hybrid", "--policy", "bare", "--keep", "bench", "--json"))
    assert "bench" in told and "next: " in told and path.read_bytes() == before


@pytest.mark.parametrize("damage", [cut, text, noise, folder])
@pytest.mark.parametrize("command", ["replay", "claims --measured", "trajectory --effect book"])
def test_a_damaged_file_to_read_is_refused(command: str, damage: Damage, copied: Path):
    path = Path("bench", "campaign.json")
    damage(path)
    told = refused(labkit(*command.split(), path, "--json"))
    assert "next: " in told
