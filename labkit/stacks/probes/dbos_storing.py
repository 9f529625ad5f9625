"""What DBOS stores: results are pickled, unless it is told otherwise, and what is stored is believed."""

from __future__ import annotations

import base64

from labkit.stacks.conformance import Finding
from labkit.stacks.probes.dbos_lives import Stage
from labkit.stacks.probes.dbos_promises import Promises, finding, told

STORING = promise = Promises()
"""The probes of what is stored, by their promise."""


@promise("a result that cannot be stored is refused before the next step runs")
def unstorable(stage: Stage) -> Finding:
    """A step returns a function."""
    after = stage("results", option="lambda")
    return finding("error" in after.said and not after.executed, told(after))


@promise("stored results can be read without unpickling")
def stored_bytes(stage: Stage) -> Finding:
    """What lies in `operation_outputs`, by default."""
    text, name = stage("results").said["stored"]
    return finding(name != "py_pickle", f"{name}: {text} = {base64.b64decode(text)!r}")


@promise("with a JSON serializer stored results can be read without unpickling")
def stored_json(stage: Stage) -> Finding:
    """The serializer that DBOS brings for other languages, in its configuration."""
    text, name = stage("results", option="json").said["stored"]
    return finding(name != "py_pickle", f"{name}: {text}")


@promise("a recovered run gets the values that the first process had")
def same_values(stage: Stage) -> Finding:
    """A step returned a pair; the next one is killed before its effect."""
    seen = {}
    for option in ("", "json"):
        place = stage.below(option or "default")
        place("results", option=option, kill="ship entered")
        seen[option or "default"] = ", ".join(place("results", "resume", option=option).executed)
    good = all(each == "ship ('grams', 17)" for each in seen.values())
    return finding(good, str(seen))


@promise("what somebody put into the database is only read")
def planted(stage: Stage) -> Finding:
    """A pickle that makes a folder when it is loaded, and is filed as one, stands in place of a step's result."""
    return planting(stage, "")


@promise("with a JSON serializer what somebody put into the database is only read")
def planted_json(stage: Stage) -> Finding:
    """The same, in a process that is configured to store JSON."""
    return planting(stage, "json")


def planting(stage: Stage, option: str) -> Finding:
    """Replace a stored result between two processes, and see whether the second one does what it says."""
    stage("results", option=option, kill="ship entered")
    made = stage.folder / "made by a stored value"
    stage("plant", option=base64.b64encode(f"cos\nmkdir\n(V{made}\ntR.".encode()).decode())
    after = stage("results", "resume", option=option)
    return finding(not made.exists(), f"the folder was {'made' if made.exists() else 'not made'}; {told(after)}")
