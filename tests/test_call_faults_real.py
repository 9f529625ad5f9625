"""A call goes wrong at a real provider as in the simulator: the same rows, the same entries, the same verdict."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from labkit.bench import run as bench
from labkit.bench.job import spec_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import open_sites
from labkit.cases.refund import refund
from labkit.errors import InvalidInput
from labkit.provider.faults import CALL_FAULTS
from labkit.scenario import Scenario
from labkit.sim.calls import faults_named
from labkit.sim.simulate import simulate
from labkit.taps import Tap
from tests.except_branches import payout


def facts(evidence):
    """All that is known about a run, but for times and the words of an error."""
    outside = [replace(entry, at="") for entry in evidence.outside]
    effects = [msgspec.structs.replace(entry, last_error="") for entry in evidence.effects]
    return evidence.run.outcome(), effects, outside, evidence.heard


@pytest.mark.parametrize(
    ("workflow", "engine", "policy", "crash"),
    [
        (refund, "hybrid", "ledger", "execute_refund/call:after#1"),
        (refund, "snapshot", "bare", "execute_refund/call:before#1"),
        (payout, "event-sourced", "keyed", "pay/call:after#1"),
        (payout, "snapshot", "ledger", "pay/call:after#1"),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_every_call_fault_leaves_for_real_what_it_leaves_in_the_simulator(workflow, engine, policy, crash, tmp_path):
    plain = Scenario(workflow=workflow, inputs=workflow.example, engine=engine, policy=policy)
    with open_sites(DEFAULT_MODE, spec_of(workflow), tmp_path) as [site]:
        for fault in CALL_FAULTS:
            scenario = replace(plain, faults=faults_named(plain, [fault]))
            for schedule in ([], [crash]):
                name = f"{fault}-{len(schedule)}"
                trial = site.trial(scenario, name, [Tap.parse(tap) for tap in schedule])
                assert trial.evidence, f"{name}: {trial.lives[-1].output}"
                played = simulate(scenario, schedule)
                assert facts(trial.evidence) == facts(played.evidence), name
                assert [life.passed for life in trial.lives] == [process.taps for process in played.processes], name


def test_a_bench_kills_processes_whose_calls_go_wrong_besides():
    report = bench(["hybrid"], ["keyed"], workflow=payout, windows=["W3", "W4"], fault="reply_lost:pay")
    assert report.trials and not (report.errors or report.not_reached or report.unexpected)
    assert {"no duplicate effect"} <= {name for cell in report.cells for name in cell.invariants}
    with pytest.raises(InvalidInput, match="there is no call fault 'lost'"):
        bench(fault="lost")
