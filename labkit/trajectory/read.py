"""Reads recorded agent runs, of whatever shape and in whatever container, completely or not at all.

What is read is data: nothing in it is run or followed. What nobody knows is refused with its place, and nothing is
left out in silence: a part dropped could hold the very call that a crash repeats.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path, PurePosixPath

from labkit.scratch import scratch_folder
from labkit.trajectory.containers import BESIDE, SQLITE, File, files
from labkit.trajectory.json_values import values
from labkit.trajectory.model import Trajectory
from labkit.trajectory.pairing import Pairing
from labkit.trajectory.records import Run, runs
from labkit.trajectory.shapes import langgraph
from labkit.trajectory.shapes.entries import refused


def read(path: str | Path) -> list[Trajectory]:
    """The runs in a file, folder or archive; raise InvalidInput naming file, line and field of what does not fit.

    Ids of runs in a folder or archive carry the file's name, `day-1.jsonl:run-1`.
    """
    found = files(Path(path))
    held = [(file, run) for file in found for run in _runs(file, Path(path).stem)]
    read_runs: dict[str, Trajectory] = {}
    for run in _whole(held):
        trajectory = _trajectory(run)
        if trajectory.id in read_runs:
            raise refused(run.source, "id", f"{run.id!r} is the id of an earlier trajectory", "give each its own id")
        read_runs[trajectory.id] = trajectory
    if not read_runs:
        raise refused(str(path), "", "holds no trajectory", "record at least one run in it")
    return list(read_runs.values())


def _runs(file: File, stem: str) -> list[Run]:
    prefix = f"{file.name}: " if file.name else ""
    if file.body.startswith(SQLITE):
        return _threads(file)
    try:
        text = file.body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.body.count(b"\n", 0, error.start) + 1
        why = f"byte {error.start} of the file is not UTF-8"
        raise refused(f"{prefix}line {line}", "", why, "save it as UTF-8; a folder may hold recordings only") from None
    own = PurePosixPath(file.name).stem if file.name else stem
    return runs(list(values(text, prefix)), own, prefix)


def _threads(file: File) -> list[Run]:
    """The threads of a database. SQLite gets copies of its files, so that what a crash left in the log is read, too."""
    with scratch_folder("trajectory") as folder:
        database = Path(folder, "checkpoints.db")
        database.write_bytes(file.body)
        for end in BESIDE[:2]:
            if end in file.beside:
                Path(f"{database}{end}").write_bytes(file.beside[end])
        found = langgraph.threads(file.name or "database", database)
    return [Run(name, f"thread {name}", entries, shape=langgraph.SHAPE) for name, entries in found.items()]


def _whole(held: list[tuple[File, Run]]) -> list[Run]:
    """The runs, with files of one event each put together: their folder is the run. Names of files go into the ids."""
    found: list[Run] = []
    several = len({file.name for file, _ in held}) > 1
    for (alone, folder), group in groupby(held, lambda each: (each[1].alone, str(PurePosixPath(each[0].name).parent))):
        members = list(group)
        if alone and len(members) > 1:
            named = PurePosixPath(folder)
            name = str(named.parent if named.name == "events" and len(named.parts) > 1 else named)
            entries = [entry for _, run in members for entry in run.entries]
            found.append(Run("run" if name == "." else name, members[0][1].source, entries))
            continue
        found += [run._replace(id=f"{file.name}:{run.id}" if several else run.id) for file, run in members]
    return found


def _trajectory(run: Run) -> Trajectory:
    pairing = Pairing(run.source)
    pairing.take(run.entries)
    pairing.end()
    if not pairing.turns:
        raise refused(run.source, "messages", "no assistant message: no model was called", "leave the run out")
    shapes = [run.shape, *pairing.shapes] if run.shape else pairing.shapes
    return Trajectory(id=run.id, turns=pairing.turns, strays=pairing.strays, source=run.source, shapes=shapes)
