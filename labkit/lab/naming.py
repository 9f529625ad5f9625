"""Which id a run has."""

from __future__ import annotations

import re
from typing import Any

from labkit.codec import check_id
from labkit.model import Workflow
from labkit.scenario import require_workflow


def run_id_of(workflow: Workflow[Any], inputs: dict[str, Any]) -> str:
    """The run id that a workflow and its inputs have unless another is given: `refund-17`."""
    text = "-".join([workflow.name, *map(str, inputs.values())])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:64]


def chosen_id(workflow: Workflow[Any], inputs: dict[str, Any], run_id: str | None) -> str:
    """`run_id` if it is given, else that of the inputs or of the example; raise InvalidInput for what cannot be one."""
    require_workflow(workflow)
    return check_id("run id", run_id_of(workflow, inputs or workflow.example) if run_id is None else run_id)
