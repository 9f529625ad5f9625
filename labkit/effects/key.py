"""The effect key: one name for one logical effect, the same in every process that ever tries it."""

from __future__ import annotations

from functools import cache
from urllib.parse import quote

from labkit.errors import InvalidInput


def effect_of(subject: str) -> str:
    """The effect that a subject `run/position.step` or `run/position.step.n` names: `step`, or `step/n` for the nth."""
    _, step, *nth = subject.rpartition("/")[2].split(".")
    return f"{step}/{nth[0]}" if nth and nth[0].isdecimal() else step


@cache
def effect_key(tenant: str, workflow: str, run: str, logical_step: str, branch: str = "") -> str:
    """tenant/workflow/run/logical_step(/branch), each part percent-encoded so that no two tuples share a key.

    Raises InvalidInput when a part other than the branch is empty.
    """
    parts = [tenant, workflow, run, logical_step]
    if not all(parts):
        raise InvalidInput(
            f"an effect key needs tenant, workflow, run and logical step, got {parts}",
            safe="no effect was tried",
            next="give the effect its whole identity",
        )
    return "/".join(quote(part, safe="") for part in [*parts, *([branch] if branch else [])])


def bounds_of_run(key: str) -> tuple[str, str]:
    """Between which two texts the keys of all effects of the run of `key` lie: its forks share them."""
    run = "/".join(key.split("/")[:3])
    return f"{run}/", f"{run}0"  # in the order of bytes, 0 comes right after /
