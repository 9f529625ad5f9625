"""What a step reads past `ctx` is named with its line, and differs between simulated processes where it can."""

from __future__ import annotations

import inspect
import time

import processes
from processes import configured, leaking, unordered
from test_memory import at
from test_processes import scenario_of

from labkit.bench.job import spec_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import open_sites
from labkit.sim import explore
from labkit.sim.lives import Simulation, first_life
from labkit.sim.simulate import simulate
from labkit.taps import Tap


def line_of(function, text):
    """The line of the file on which this text stands in a function's source."""
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


def test_what_a_step_reads_past_its_context_is_named_with_its_line_and_an_activity_may_read_it():
    report = explore(leaking, engine="event-sourced")
    told = {
        "time.time()": "time.time",
        "now_is()": "time.time",
        "datetime.datetime.now": "datetime.datetime.now",
        "moment.now": "datetime.datetime.now",
        "random.random": "random.random",
        "uuid.uuid4": "uuid.uuid4",
        "os.urandom": "os.urandom",
    }
    expected = [
        f"processes.py:{line_of(processes.leak, text)}: step leak reads {what} past ctx" for text, what in told.items()
    ]
    assert report.leaks == sorted(expected)
    assert not report.fixed
    assert set(report.violations) == {"the recovered result equals that of a fault-free run"}
    assert "reads uuid.uuid4 past ctx" in str(report)


def test_what_is_read_past_the_context_differs_between_processes_and_not_when_one_is_lived_again():
    simulation = Simulation(scenario_of(leaking))
    first = first_life(simulation)
    image = at(first, "leak/call:after#1")
    second, again = (simulation.live(image, keep_images=False).evidence.run.data.seen for _ in range(2))
    assert second == again
    assert all(one != other for one, other in zip(first.evidence.run.data.seen, second, strict=True))
    assert simulate(scenario_of(leaking), ["leak/call:after#1"]).evidence.run.data.seen == second
    assert abs(processes.now_is() - time.time()) < 5 and processes.moment is processes.datetime.datetime


def test_the_environment_and_the_order_of_a_set_cannot_be_varied_so_the_verdict_is_unknown():
    report = explore(configured, engine="event-sourced")
    where = [("os.environ", "os.environ['HOME']"), ("os.getenv", "os.getenv('NO_SUCH_NAME')")]
    reads = [
        f"processes.py:{line_of(processes.configure, text)}: step configure reads {what} past ctx"
        for text, what in where
    ]
    order = f"processes.py:{line_of(processes.configure, 'for name')}: step configure goes through a set"
    assert report.fixed == report.leaks == sorted({*reads, order})
    assert report.verdict == "unknown" and not report.ok
    assert f"{order}, which no simulated process changes" in report.reasons()


def test_real_processes_have_sets_in_other_orders_where_a_step_goes_through_one(tmp_path):
    scenario = scenario_of(unordered)
    with open_sites(DEFAULT_MODE, spec_of(unordered), tmp_path) as [site]:
        trial = site.trial(scenario, "t", [Tap.parse("order_of_a_set/call:executed#1")])
    first, second = (entry.request["names"] for entry in trial.evidence.outside)
    assert sorted(first) == sorted(second) and first != second
    assert explore(unordered, engine="snapshot").fixed
