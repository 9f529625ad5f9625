"""`labkit trajectory`: recorded agents, what has happened to them, and what a crash would have done."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli import options
from labkit.cli.output import emit, progress

if TYPE_CHECKING:
    from labkit.timeline.recorded import RecordedTimeline
    from labkit.trajectory.look import Look
    from labkit.trajectory.report import Report

FILES_HELP = (
    "Recorded agent runs, in files, folders, ZIP or gzip: OpenAI (chat completions, Responses), Anthropic, Bedrock,"
    " Gemini, LangChain, LangGraph's checkpoints (SQLite), Vercel AI SDK, OpenTelemetry traces, OpenHands, Pydantic AI,"
    " tau-bench, also mixed in one run. What nobody knows is named with its place, and refused."
)
TOOL_HELP = "A tool that changes the world; repeated for several. Without it, nothing is crashed."
SAME_HELP = "What makes two calls one effect: TOOL:field,field, or field,field for every tool; may be repeated."
TIMELINE_HELP = "Show each call in order, of the runs in which something stands out, or else of all."
OUT_HELP = "Write these timelines into this file, as a picture (SVG)."


def trajectory(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=FILES_HELP)],
    effect: Annotated[list[str] | None, typer.Option("--effect", metavar="NAME", help=TOOL_HELP)] = None,
    same_effect: Annotated[list[str] | None, typer.Option("--same-effect", metavar="FIELDS", help=SAME_HELP)] = None,
    engine: options.Engines = None,
    policy: options.Policies = None,
    provider: options.Provider = "neither",
    timeline: Annotated[bool, typer.Option("--timeline", help=TIMELINE_HELP)] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=OUT_HELP)] = None,
    as_json: options.Json = False,
) -> None:
    """Say what has happened in recorded agent runs: calls in doubt, effects made twice, results nobody asked for.

    With --effect, say then what one crash would have done: calls made twice, lost, or left ambiguous.
    """
    import msgspec
    from rich.console import Group

    options.writable(out, lambda content: content[:4] in (b"", b"<svg"))
    effects, rules = effect or [], same_effect or []
    found: Look | Report
    if effects:
        found, shown = _crashed(files, effects, rules, (engine, policy, provider))
    else:
        crashing = {"--engine": engine, "--policy": policy, "--provider": provider != "neither"}
        options.none_of("trajectory without --effect, which crashes nothing,", crashing)
        found, shown = _looked_at(files, rules)
    drawn = _timelines(files, effects, rules) if timeline or out else []
    if out:
        from labkit.timeline.recorded_svg import draw

        out.write_text(draw(drawn), "utf-8")
    data = msgspec.to_builtins(found, str_keys=True)
    listed = drawn if timeline else []
    emit(
        as_json,
        {**data, "timelines": [each.data() for each in listed]} if timeline else data,
        lambda: Group(shown, *(part for each in listed for part in ("", each))),
        [] if timeline else _next(files, effects, rules),
    )


def _crashed(files: list[Path], effects: list[str], rules: list[str], chosen: Any) -> tuple[Report, Any]:
    """The analysis with every crash, and how it is shown."""
    from labkit.trajectory.report import analyse, render

    engine, policy, provider = chosen
    (capability,) = options.providers([provider])
    names = options.engines(engine), options.policies(policy)
    with progress("recorded runs") as tell:
        report = analyse(files, effects, *names, capability, tell, every_effect=True, same_effect=rules)
    return report, render(report)


def _looked_at(files: list[Path], rules: list[str]) -> tuple[Look, Any]:
    """What has happened, and how it is shown."""
    from labkit.trajectory.look import look, render

    seen = look(files, rules)
    return seen, render(seen)


def _timelines(files: list[Path], effects: list[str], rules: list[str]) -> list[RecordedTimeline]:
    """The timelines of the runs in which something stands out; of all, where it does in none."""
    from labkit.timeline.recorded import timelines

    return timelines(files, effects, rules)


def _next(files: list[Path], effects: list[str], rules: list[str]) -> list[str]:
    """The command that shows more."""
    named = [("--effect", name) for name in effects] + [("--same-effect", rule) for rule in rules]
    return [
        shlex.join(["labkit", "trajectory", *map(str, files), *(part for pair in named for part in pair), "--timeline"])
    ]
