"""What is special to DBOS. Each probe is named after a promise; `pass` means that it is kept.

They run on SQLite, or on Postgres when `services` has one.
"""

from __future__ import annotations

from labkit.stacks.conformance import Finding
from labkit.stacks.probes.dbos_lives import Stage
from labkit.stacks.probes.dbos_promises import Promises, finding, judged, told
from labkit.stacks.probes.dbos_storing import STORING

PROBES = promise = Promises()
"""Every probe by its promise."""


@promise("a step that was killed before its result was saved is not executed again")
def half_a_step(stage: Stage) -> Finding:
    """Killed inside the step, after its effect."""
    stage("order", kill="charge executed")
    return judged(stage("order", "resume"), charge=1, ship=1)


@promise("a step whose result was saved is not executed again")
def whole_step(stage: Stage) -> Finding:
    """Killed at the entry of the second step."""
    stage("order", kill="ship entered")
    return judged(stage("order", "resume"), charge=1, ship=1)


@promise("a datasource's transaction happens once, killed before or after its commit")
def transaction(stage: Stage) -> Finding:
    """The datasource commits its own record of the step together with the user's lines."""
    return lines_of(stage, "transaction")


@promise("a plain step that writes to a database writes once, killed before or after its commit")
def plain_writing_step(stage: Stage) -> Finding:
    """The same line, written by a step with a session of its own."""
    return lines_of(stage, "step")


@promise("a queue keeps its workflows through a kill, and works on them in order")
def queued(stage: Stage) -> Finding:
    """Killed at the entry of the second job of three."""
    stage("queue", kill="job 1 entered")
    after = stage("queue", "resume")
    done = [each["status"] for each in after.said["told"]]
    order = list(after.executed) == ["job 0", "job 1", "job 2"]
    return finding(done == ["SUCCESS"] * 3 and order and set(after.executed.values()) == {1}, told(after))


@promise("a message that was sent to the workflow of a dead process arrives")
def message_kept(stage: Stage) -> Finding:
    """The workflow's process is dead when the message is sent, and the sender dies right after."""
    stage("message", kill="begun")
    stage("message", "send", kill="sent")
    return judged(stage("message", "resume"), **{"a book": 1})


@promise("a message that was received before a kill is still known after it")
def message_taken(stage: Stage) -> Finding:
    """Killed at the step that follows `recv`: the queue of messages is empty by then."""
    stage("message", kill="begun")
    stage("message", "send", kill="sent")
    stage("message", "resume", kill="ship entered")
    return judged(stage("message", "resume"), **{"a book": 1})


@promise("a fork executes nothing that came before its point")
def forked(stage: Stage) -> Finding:
    """A finished run, forked from its second step."""
    stage("order")
    return judged(stage("order", "fork 2"), charge=1, ship=2)


@promise("an edited workflow takes up the runs of the one before")
def edited(stage: Stage) -> Finding:
    """No version is pinned: DBOS takes a hash of the source of the workflows, which has the same steps as before."""
    stage("order", version="", kill="ship entered")
    look = stage("order", "look", version="", option="edited")
    return finding(look.said["status"] == "SUCCESS", told(look))


@promise("resume_workflow carries a run over to an edited workflow")
def resumed_across_versions(stage: Stage) -> Finding:
    """It puts the run into the queue of recovery."""
    stage("order", version="", kill="ship entered")
    look = stage("order", "adopt, look", version="", option="edited")
    return finding(look.said["status"] == "SUCCESS", told(look))


@promise("fork_workflow carries a run over to an edited workflow")
def forked_across_versions(stage: Stage) -> Finding:
    """The new version is named, and the step where the run stood."""
    stage("order", version="", kill="ship entered")
    return judged(stage("order", "fork 2", version="", option="edited"), charge=1, ship=1)


@promise("another executor takes up the runs of a dead one")
def other_executor(stage: Stage) -> Finding:
    """Same version, same database, another executor id."""
    stage("order", executor="a", kill="ship entered")
    look = stage("order", "look", executor="b")
    return finding(look.said["status"] == "SUCCESS", told(look))


@promise("another executor can adopt such a run with resume_workflow")
def adopted(stage: Stage) -> Finding:
    """The executor that is alive resumes it by its id."""
    stage("order", executor="a", kill="ship entered")
    return judged(stage("order", "adopt", executor="b"), charge=1, ship=1)


@promise("a process leaves the running workflow of another with the same executor id alone")
def both_local(stage: Stage) -> Finding:
    """Two processes have the default id, `local`; the first is alive, in the middle of a step."""
    with stage.beside("order", option="waits") as first:
        second = stage("order", "join", option="waits")
    seen = f"first {first[0].said}, second {second.said}, executed {dict(first[0].executed)}"
    return finding(first[0].executed == {"charge": 1, "ship": 1}, seen)


@promise("a step inserted before recorded ones is noticed")
def inserted(stage: Stage) -> Finding:
    """Same version; each step has a name."""
    stage("changed", kill="ship entered")
    after = stage("changed", "resume", option="new")
    return finding("DBOSUnexpectedStepError" in after.said.get("error", ""), told(after))


@promise("a step inserted before recorded ones is noticed, also when all steps have one name")
def inserted_generic(stage: Stage) -> Finding:
    """Same version; one step does everything, told what by its argument."""
    stage("generic", kill="ship entered")
    after = stage("generic", "resume", option="new")
    return finding("error" in after.said, told(after))


@promise("a patch lets old runs go on as they began, and gives new ones the new step")
def patched(stage: Stage) -> Finding:
    """The new step stands behind `DBOS.patch`."""
    stage("changed", kill="ship entered")
    old = stage("changed", "resume", option="patched")
    new = stage.below("new")("changed", option="patched")
    good = old.executed == {"charge": 1, "ship": 1} and new.executed == {"check": 1, "charge": 1, "ship": 1}
    return finding(good, f"old {told(old)}; new {told(new)}")


@promise("a run that failed can be resumed")
def failed(stage: Stage) -> Finding:
    """A step raised an error; the cause is gone, and somebody calls `resume_workflow`."""
    stage("order", option="fails")
    after = stage("order", "adopt")
    return finding(after.said["status"] == "SUCCESS", told(after))


@promise("a run that failed can be forked from the step that failed")
def failed_forked(stage: Stage) -> Finding:
    """The same, with `fork_workflow`."""
    stage("order", option="fails")
    return judged(stage("order", "fork 2"), charge=1, ship=1)


def lines_of(stage: Stage, option: str) -> Finding:
    """Two runs on databases of their own: one killed before the commit, one after it; how many lines there are."""
    counts = {}
    for kill in ("written", "committed"):
        place = stage.below(kill)
        place("books", option=option, kill=kill)
        counts[kill] = place("books", "resume", option=option).said["lines"]
    seen = ", ".join(f"killed when {kill}: {count} line(s)" for kill, count in counts.items())
    return finding(set(counts.values()) == {1}, seen)


PROBES |= STORING
