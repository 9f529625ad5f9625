"""A recovered run does what a fault-free run does, not only ends as it does; what an import read is named."""

from __future__ import annotations

import otherwise
import pytest
from otherwise import coloured, forgetting, hashing, imported
from test_leaks import line_of
from test_processes import scenario_of

from labkit.bench.campaign import run as bench
from labkit.sim import explore
from labkit.sim.simulate import simulate

RESULT = "the recovered result equals that of a fault-free run"


@pytest.mark.parametrize("policy", ["bare", "ledger", "outbox"])
def test_an_effect_with_another_request_or_one_too_many_after_a_crash_is_not_valid(policy):
    report = explore(forgetting, engine="snapshot", policy=policy)
    assert report.violations[RESULT] >= 2
    story = simulate(scenario_of(forgetting, engine="snapshot", policy=policy), ["settle/commit:after#1"])
    assert [each.text for each in story.violations] == [
        'run-1/1.pay did post.greet {}, a fault-free run does bank.pay {"amount":100}',
        'run-1/1.pay.2 did bank.pay {"amount":0}, which a fault-free run does not do',
    ]
    assert RESULT not in explore(forgetting, engine="event-sourced", policy="ledger").violations


def test_a_real_kill_and_a_simulated_one_agree_on_an_effect_that_is_done_otherwise():
    report = explore(forgetting, engine="snapshot", policy="outbox")
    found = bench(engines=["snapshot"], policies=["outbox"], workflow=forgetting)
    assert sum(cell.invariants.get(RESULT, 0) for cell in found.cells) == report.violations[RESULT]


def test_what_a_module_read_when_it_was_imported_is_named_and_leaves_the_verdict_open():
    report = explore(imported)
    line = line_of(otherwise, "HOST =") + 1
    made = {"HOST": "uuid.uuid4", "BEGUN": "time.time", "PLACE": "os.environ.get", "CHANCE": "random.Random"}
    places = {"HOST": line, "BEGUN": line + 1, "PLACE": line + 2, "CHANCE": line + 3}
    assert report.fixed == sorted(
        f"otherwise.py:{places[name]}: step use uses {name}, which was made with {what} when its module was imported"
        for name, what in made.items()
    )
    assert report.verdict == "unknown"


@pytest.mark.parametrize("workflow", [imported, hashing])
def test_real_processes_differ_in_what_no_simulated_one_changes(workflow):
    found = bench(engines=["snapshot"], policies=["ledger"], workflow=workflow)
    assert found.errors and all("Drift" in error for error in found.errors)


def test_a_hash_of_text_is_named_and_that_of_a_number_is_the_same_everywhere():
    [told] = explore(hashing).fixed
    line = line_of(otherwise.hash_it, "hash(")
    assert told == f"otherwise.py:{line}: step hash_it reads hash past ctx"


def test_a_class_that_holds_its_own_instances_is_looked_into_once():
    assert explore(coloured).verdict == "valid"
