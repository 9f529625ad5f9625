"""What an author's mistakes look like: a module that fails, a step that cannot be one, and a step that failed."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Container, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from labkit.errors import InvalidInput, StepFailed

RESERVED = ("run", "close")  # steps of the runner itself, in taps and in the journal


def problem_of(step: Callable[..., Any], taken: Container[str]) -> str:
    """What is wrong with `step` as a step, or an empty string when it is a plain function of (ctx, state).

    `taken` are the names of the steps that the workflow has already.
    """
    if not inspect.isfunction(step):
        return f"step {repr(step)[:80]} is not a function, expected a plain function of (ctx, state)"
    name = f"step {step.__name__}"
    if step.__name__ in taken or step.__name__ in RESERVED:
        return f"the step name {step.__name__} is taken"
    if inspect.iscoroutinefunction(step) or inspect.isgeneratorfunction(step) or inspect.isasyncgenfunction(step):
        return f"{name} is a coroutine or a generator, expected a plain function"
    try:
        inspect.signature(step).bind(None, None)
    except TypeError:
        return f"{name} takes {inspect.signature(step)}, expected (ctx, state)"
    return ""


def place_of(step: Any) -> str:
    """`file:line` where a step was written; where it was registered, when it is no function."""
    code = getattr(step, "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    frame = inspect.currentframe()
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "an unknown place"


def _is_ours(file: str) -> bool:
    return Path(file).parent == Path(__file__).parent


def check_finished(step: str, run_id: str, returned: Any) -> None:
    """Raise StepFailed, with the author's file and line, when a step returned a coroutine or a generator."""
    codes = (getattr(returned, name, None) for name in ("cr_code", "gi_code", "ag_code"))
    code = next((found for found in codes if found is not None), None)
    if code is None:
        return
    if not inspect.isasyncgen(returned):
        returned.close()  # nobody is going to wait for it
    raise StepFailed(
        f"step {step} of run {run_id} returned a {type(returned).__name__} instead of doing its work: "
        f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})",
        safe="nothing of this step was committed",
        next="write a plain function that awaits nothing: asyncio.run inside an activity runs asynchronous code",
    )


def check_names(what: str, names: Any) -> None:
    """Raise InvalidInput, saying `what` was given, unless `names` is a tuple or list of field names."""
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) and name for name in names):
        hint = f"({names!r},)" if isinstance(names, str) else '("order",)'
        told = f"{what} is {repr(names)[:80]}, expected a tuple of field names"
        raise InvalidInput(told, safe="nothing was sent", next=f"write {hint}")


def check_question(step: str, role: Any, question: Any, about: Any) -> None:
    """Raise InvalidInput, naming the argument, unless an approval has a role, a question, and a dict or None."""
    wrong = ""
    if not isinstance(role, str) or not role:
        wrong = f"role {repr(role)[:80]}: expected a name such as 'manager'"
    elif not isinstance(question, str):
        wrong = f"question {repr(question)[:80]}: expected text"
    elif about is not None and not (isinstance(about, dict) and all(isinstance(name, str) for name in about)):
        wrong = f"about {repr(about)[:80]}: expected a dict of plain values, or None"
    if wrong:
        raise InvalidInput(f"step {step}: ctx.approval got {wrong}", safe="nothing was asked")


def check_workflow(name: str, state: type[Any], targets: Mapping[str, Any], capabilities: Container[str]) -> None:
    """Raise InvalidInput for a workflow without a name, a state that is no State, or a target's unknown capability."""
    wrong = "" if name and isinstance(name, str) else f"its name is {name!r}"
    if not (inspect.isclass(state) and issubclass(state, msgspec.Struct)):
        wrong = f"its state is {state!r}, expected a class derived from labkit.model.State"
    for key, target in targets.items():
        if not hasattr(target, "capability"):
            wrong = f"its target {key} is {repr(target)[:80]}, expected a Target(capability=...)"
            raise InvalidInput(f"workflow {name!r}: {wrong}", safe="nothing was run")
        check_names(f"workflow {name!r}: once_per of target {key}", target.once_per)
        check_names(f"workflow {name!r}: may_change of target {key}", target.may_change)
    unknown = [
        f"{key}: {target.capability!r}" for key, target in targets.items() if target.capability not in capabilities
    ]
    if unknown:
        wrong = f"no provider has the capability of {', '.join(unknown)}: expected one of {capabilities}"
    if wrong:
        raise InvalidInput(f"workflow {name!r}: {wrong}", safe="nothing was run")


def step_failed(step: str, run_id: str, error: BaseException) -> StepFailed:
    """The error that names the author's own line where `step` raised `error`."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return StepFailed(
        f"step {step} of run {run_id} failed: {type(error).__name__}: {error} ({where})",
        safe="nothing of this step was committed; the run stands at its last durable point",
        next="mend the step and resume the run",
    )


def imported(what: str, module: str) -> ModuleType:
    """The module called `module`, looked for in the current folder, too, as `python -m` does.

    Raise InvalidInput, with file and line where there is one, when it cannot be imported; `what` is what it is for.
    """
    if not module:
        raise InvalidInput(f"{what} names no module", safe="nothing was run", next="module:attribute")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return import_module(module)
    except (Exception, SystemExit) as error:  # whatever somebody's module does
        place, hint = _place_of(error)
        raise InvalidInput(
            f"{what} cannot be imported: {place}{type(error).__name__}: {error}", safe="nothing was run", next=hint
        ) from error


def _place_of(error: BaseException) -> tuple[str, str]:
    """Where in the module it failed, and what to do about it."""
    if isinstance(error, ImportError):  # there is no such module, or one that it needs
        return "", f"check the name, or install what it needs; it was looked for in {Path.cwd()} and on the Python path"
    if isinstance(error, SyntaxError):
        file, line = error.filename, error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(frames) if not _is_ours(frame.filename)), frames[-1])
        file, line = last.filename, last.lineno
    return f"{file}:{line}: ", f"mend line {line}"
