"""What is special to DBOS, promise by promise, with real processes and real kills."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit.bench.launch import Launcher
from labkit.measure.servers import services_for
from labkit.stacks.probes.dbos import PROBES
from labkit.stacks.probes.dbos_lives import launching

BROKEN = {
    "a step that was killed before its result was saved is not executed again": "'charge': 2",
    "a plain step that writes to a database writes once, killed before or after its commit": "committed: 2 line(s)",
    "an edited workflow takes up the runs of the one before": "PENDING",
    "resume_workflow carries a run over to an edited workflow": "ENQUEUED",
    "another executor takes up the runs of a dead one": "PENDING",
    "a process leaves the running workflow of another with the same executor id alone": "'charge': 2",
    "a step inserted before recorded ones is noticed, also when all steps have one name": "'charge': 2",
    "a run that failed can be resumed": "out of stock",
    "stored results can be read without unpickling": "py_pickle",
    "a recovered run gets the values that the first process had": "['grams', 17]",
    "what somebody put into the database is only read": "the folder was made",
    "with a JSON serializer what somebody put into the database is only read": "the folder was made",
}
"""The promises that are not kept, and what is seen of each; all others are kept."""
ON_POSTGRES = [
    "a message that was received before a kill is still known after it",
    "a process leaves the running workflow of another with the same executor id alone",
    "with a JSON serializer stored results can be read without unpickling",
]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """One launcher for all probes."""
    with launching() as found:
        yield found


def require_as_pinned(words, finding):
    expected = "fail" if words in BROKEN else "pass"
    assert (finding.outcome, BROKEN.get(words, "") in finding.seen) == (expected, True), finding.seen


@pytest.mark.parametrize("words", list(PROBES))
def test_a_promise_is_kept_or_broken_as_pinned(words, launcher, tmp_path):
    require_as_pinned(words, PROBES[words](tmp_path / "probe", {}, launcher))


def test_postgres_keeps_and_breaks_the_same_promises(launcher, tmp_path):
    with services_for(["postgres"], tmp_path / "server") as had:
        if had.missing:
            pytest.skip(reason=f"Postgres was not run: {had.missing}")
        for number, words in enumerate(ON_POSTGRES):
            require_as_pinned(words, PROBES[words](tmp_path / f"probe-{number}", had.addresses, launcher))


def test_every_broken_promise_is_one_that_is_tried():
    assert set(BROKEN) | set(ON_POSTGRES) <= set(PROBES)
