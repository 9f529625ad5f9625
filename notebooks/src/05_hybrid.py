# ---
# jupyter:
#   labkit:
#     minutes: 35
#     prerequisites: notebooks 03 and 04
#     outcome: say from measurements which engine suits a run, how far apart snapshots are best, and what may be deleted
# ---

# %% [markdown]
# # Hybrid: a snapshot now and then, and where the curves cross
#
# **35 minutes.** You need: notebooks 03 (snapshots) and 04 (events and replay).
#
# A snapshot engine writes the whole state after each step. An event-sourced engine writes a line for each call, and
# after a crash it replays all of them. The first pays when it writes, the second pays when it comes back.
#
# The *hybrid* engine writes events, and a snapshot every few steps. **Is that the best of both, or does it pay
# twice?** This notebook measures it.

# %% [markdown]
# ## What you will be able to do
#
# - say what each engine writes a step and reads after a crash, and how that grows;
# - find the point where one engine becomes cheaper than another;
# - choose the distance between two snapshots by a formula, not by feeling;
# - say which rows a retention job may delete, and what happens if it deletes one too many.

# %% [markdown]
# ## Predict before you run
#
# An agent has done 803 steps. Each step made one call, and each call and each step left an event. The process dies.
# The hybrid engine writes a snapshot every 4 steps.
#
# **How many events does the next process replay?** `"about 1600"`, `"about 400"` or `"at most 7"`?

# %%
prediction = "?"

# %% [markdown]
# ## 1 · Two tables
#
# The file is [`labkit/engines/hybrid.py`](../labkit/engines/hybrid.py). Read `commit` and `load`: `commit` always
# appends an event, and writes a snapshot when the number of completed steps can be divided by 4. `load` reads the
# newest snapshot and the events after it.

# %%
from contextlib import closing
from io import StringIO
from tempfile import mkdtemp
from timeit import repeat

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML

from labkit import Lab, refund
from labkit.lab.judge import judged
from labkit.scratch import scratch_folder
from labkit.store.sqlite import SqliteStore

# %%
folder = scratch_folder()


# %%
def new_lab(engine, policy="ledger"):
    """Return a lab with an empty database, and the path of that database."""
    path = mkdtemp(dir=folder.name) + "/lab.db"
    return Lab(path, engine=engine, policy=policy), path


def table(path, sql):
    """Return the first column of a query on a lab's database, as a list."""
    with closing(SqliteStore(path)) as store:
        return [row[0] for row in store.rows(sql)]


# %% [markdown]
# Kill a refund for real, in the middle of its last effect. Then look at what lies in the database.

# %%
lab, path = new_lab("hybrid")
killed = lab.kill(refund, case=17, at="W3", effect="close_ticket")
events = table(path, "SELECT seq FROM tail_events ORDER BY seq")
snapshots = table(path, "SELECT state_version FROM base_snapshots ORDER BY state_version")
tail = [seq for seq in events if seq > snapshots[-1]]
print(f"{len(events)} events, snapshots of versions {snapshots}, events after the newest: {tail}")

# %% [markdown]
# Two snapshots: one at the beginning, one after the fourth step. The *tail* is what came after the newest one. These
# few events are all that the next process has to replay.

# %%
assert 0 < len(tail) < len(events) / 2
run = lab.resume(killed.run_id)
assert run.status == "completed"
lab.timeline(run)

# %% [markdown]
# The second process did not read the beginning of the story again. It began at the snapshot.
#
# So why keep the older events at all? Nobody needs them for recovery. Part 7 comes back to that.

# %% [markdown]
# ## 2 · A longer run
#
# Seven steps show nothing about growth. Here is an agent that carries a *memory* of so many characters, and in each
# step makes one call with a short answer. After so many steps it asks a person, and so it stops.


# %%
from labkit.model import ActivityCall, Budgets, State, Workflow


class Work(State):
    """What the agent carries along: a memory, and the last answer."""

    done: int = 0
    memory: str = ""
    answer: str = ""


def think(call: ActivityCall, number: int) -> str:
    """A call to a model: 100 characters."""
    return f"answer {number} ".ljust(100, ".")


# %%
def agent(size, steps, keep=False):
    """Return the agent with a memory of `size` characters; with `keep` it adds each answer to its memory."""
    first = {"begin": lambda: Work(memory="m" * size), "budgets": Budgets(steps_remaining=10**6)}
    flow = Workflow("agent", version="1", state=Work, **first)

    @flow.step
    def work(ctx, state):
        if state.done == steps:
            ctx.approval("reader", "go on?")
        state.answer = ctx.activity(think, state.done)
        state.memory += state.answer if keep else ""
        state.done += 1
        return work

    return flow


# %% [markdown]
# Now measure, with the real engines on a real SQLite database. It is in memory: bytes and reading are the same as in
# a file, and no disk stands in the way. Three numbers, here for the state in the middle:
#
# - *bytes*: what a step adds to the database;
# - *replayed*: how many events a new process gets from `load`;
# - *ms*: how many milliseconds it takes to read the run back, replay included; the fastest of five.

# %%
from labkit.scenario import Scenario


def runner_of(workflow, engine, store):
    """Return what runs a workflow on an engine and a database, with nobody outside to call."""
    scenario = Scenario(workflow=workflow, inputs={}, engine=engine, policy="bare")
    return scenario.runner(store, scenario.twin())


# %%
def measure(engine, size, steps, keep=False):
    """Return what a run of the agent keeps a step, and what reading it back takes."""
    with closing(SqliteStore()) as store:
        runner = runner_of(agent(size, steps, keep), engine, store)
        empty = len(store.image())
        runner.start("run-1", {})
        kept = (len(store.image()) - empty) / steps
        replayed = len(runner.parts.engine.load("run-1")[1])
        seconds = min(repeat(lambda: runner.read("run-1"), number=1, repeat=5))
    named = {"engine": engine, "size": size, "steps": steps}
    return {**named, "bytes": kept, "replayed": replayed, "ms": seconds * 1000}


# %%
NAMES, SIZES, LENGTHS = ("snapshot", "event-sourced", "hybrid"), (1_000, 4_000, 16_000), (51, 203, 803)
found = pd.DataFrame([measure(name, size, steps) for name in NAMES for size in SIZES for steps in LENGTHS])
found[found["size"] == 4_000].round({"bytes": 0, "ms": 2})

# %% [markdown]
# First the prediction. 803 steps, two events each:

# %%
longest = found[(found["steps"] == 803) & (found["size"] == 4_000)].set_index("engine")
print(f"{judged(prediction, 'at most 7')} Replayed: {longest.replayed.to_dict()}")
assert longest.replayed.to_dict() == {"snapshot": 0, "event-sourced": 1606, "hybrid": 6}

# %% [markdown]
# Why 6? The newest snapshot was written with step 800, and three steps came after it. In the worst moment it is 7:
# the call of the fourth step is recorded too, and the snapshot that comes with its commit is not yet there. How long
# the run is does not matter:

# %%
lengths = [measure("hybrid", 1_000, steps)["replayed"] for steps in (*range(40, 44), *range(400, 404))]
print(lengths)
assert lengths[:4] == lengths[4:] and max(lengths) <= 7

# %% [markdown]
# ## 3 · Draw it, and fit lines
#
# Left: bytes against the size of the state. Right: the time to come back against the number of steps. Both axes are
# logarithmic. Each engine has its own line style and its own mark.

# %%
STYLES = {"snapshot": ("-", "o"), "event-sourced": ("--", "s"), "hybrid": (":", "^")}


def draw(axes, x, y, rows, xlabel, ylabel):
    """Draw one line an engine, with its name at the end; names that would overlap are moved apart."""
    for name, (line, mark) in STYLES.items():
        mine = rows[rows.engine == name]
        axes.loglog(mine[x], mine[y], line, marker=mark, color="0.15", label=name)
        place = (8, {"snapshot": -9, "hybrid": 9}.get(name, 0) if y == "ms" else 0)
        last = (mine[x].iloc[-1], mine[y].iloc[-1])
        axes.annotate(name, last, place, textcoords="offset points", va="center")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.margins(x=0.25, y=0.15)
    axes.spines[["top", "right"]].set_visible(False)


# %%
def show(figure, words):
    """Return a figure with `words` below it, which say the same to whoever cannot see it."""
    file = StringIO()
    figure.savefig(file, format="svg")
    plt.close(figure)
    svg = file.getvalue().partition("<svg")[2]
    return HTML(f'<figure role="img" aria-label="{words}"><svg{svg}<figcaption>{words}</figcaption></figure>')


# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
draw(left, "size", "bytes", found[found["steps"] == 803], "state, characters", "bytes kept a step")
draw(right, "steps", "ms", found[found["size"] == 4_000], "steps done", "milliseconds to come back")
show(figure, "Left, event-sourced stays flat and the others rise. Right, it is the other way round.")

# %% [markdown]
# Straight lines, so fit straight lines: `bytes = a + b × size` and `ms = c + d × steps`. The slopes are what matters. A
# rise that is not larger than what repeated measurements differ by counts as flat.

# %%
from labkit.widgets import CostCurves

lines = CostCurves(found).fits()
lines.round(4)


# %%
def fit(name, what):
    """Return (slope, start) of the straight line of one engine: `what` is bytes or ms."""
    slope = {"bytes": "bytes for each character", "ms": "ms for each step"}[what]
    return lines.loc[name, slope], lines.loc[name, what]


of_state, of_steps = lines["bytes for each character"], lines["ms for each step"]
assert abs(of_state["snapshot"] - 1) < 0.1 and abs(of_state["hybrid"] - 1 / 4) < 0.05
assert abs(of_state["event-sourced"]) < 0.05
assert of_steps["event-sourced"] > max(abs(of_steps["snapshot"]), abs(of_steps["hybrid"]))
print("as predicted: bytes follow the state, except event-sourced; its time to come back follows the steps")

# %% [markdown]
# Read the table aloud:
#
# - *snapshot*: every character of state is written again in every step, and coming back takes no longer in a long run;
# - *event-sourced*: the state is not written at all, and every step behind us costs time after a crash;
# - *hybrid*: a quarter of the state (every 4th step), and coming back takes no longer in a long run.

# %% [markdown]
# ## 4 · Where the curves cross
#
# Neither number alone decides. A byte that nobody writes is cheap, and so is a replay that never happens. So put both
# into one sum, in seconds a step:
#
# `commits × SYNC + bytes / SPEED + crash rate × (seconds to come back + calls made again × CALL)`
#
# *Commits* and *calls made again* come from the protocol. A snapshot step is one commit; with a journal each call is
# one more. A crash inside a step makes a snapshot engine call the model again. `SYNC`, `SPEED` and `CALL` depend on
# your disk and your model. **They are assumptions: put in your own.**

# %%
SYNC, SPEED, CALL = 0.0005, 20e6, 2.0  # seconds a commit, bytes a second, seconds a model call
COMMITS = {"snapshot": 1, "event-sourced": 2, "hybrid": 2}
AGAIN = {"snapshot": 1, "event-sourced": 0, "hybrid": 0}


def cost(name, size, steps, crash_rate):
    """Return seconds a step; `crash_rate` is crashes a step."""
    written = np.polyval(fit(name, "bytes"), size) / SPEED
    back = np.maximum(np.polyval(fit(name, "ms"), steps), 0) / 1000
    return COMMITS[name] * SYNC + written + crash_rate * (back + AGAIN[name] * CALL)


# %%
rates = np.logspace(-7, -1, 61)
figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for axes, size, steps in ((panels[0], 16_000, 1_000), (panels[1], 16_000, 1_000_000)):
    for name, (line, mark) in STYLES.items():
        seconds = [cost(name, size, steps, rate) for rate in rates]
        axes.loglog(rates, seconds, line, marker=mark, markevery=10, color="0.15", label=name)
    axes.set(title=f"{size:,} characters, {steps:,} steps behind")
    axes.set(xlabel="crashes a step", ylabel="seconds a step")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
show(figure, "Many crashes: snapshot pays for calls made again, event-sourced for replay.")

# %% [markdown]
# With few steps behind it, the event-sourced engine is as good as any. With a million steps behind it, its line turns
# upward long before the others: each crash replays all of them.
#
# Which engine is cheapest? As a table, from left (a crash once in a hundred thousand steps) to right (in every tenth):


# %%
def cheapest(size, steps, rate):
    """Return the name of the engine that costs least."""
    return min(NAMES, key=lambda name: cost(name, size, steps, rate))


runs = [(200, 100), (16_000, 100), (16_000, 1_000_000)]
rates = {"0.00001 crashes a step": 1e-5, "0.001": 1e-3, "0.1": 1e-1}
columns = {name: [cheapest(*run, rate) for run in runs] for name, rate in rates.items()}
pd.DataFrame(columns, index=[f"{size:,} characters, {steps:,} steps" for size, steps in runs])

# %%
assert cheapest(200, 100, 0) == "snapshot"  # little to write, no second commit
assert cheapest(16_000, 100, 0) == "event-sourced"  # nobody comes back, so what is written decides
assert cheapest(16_000, 10**6, 0.1) == "hybrid"  # replay of everything, again and again, is what hurts
print("as predicted")

# %% [markdown]
# Now turn the knobs yourself: the size of the state, the steps behind, the crashes a step. It is the same sum, with
# your measurements. **Look at where two lines cross**: there the cheaper engine changes. Then find a run for which
# hybrid is cheapest, and shrink its state until it is not.

# %%
curves = CostCurves(found, size=16_000, steps=100_000)
assert all(name in curves.to_text() for name in NAMES)
curves

# %% [markdown]
# So there is no best engine. There is a question with three answers:
#
# | your run | take |
# | --- | --- |
# | small state, cheap calls, few crashes | snapshot: the simplest, and every row can be read by itself |
# | expensive calls, some hundred steps | event-sourced: no answer is ever paid twice |
# | expensive calls, runs without an end | hybrid |

# %% [markdown]
# ## 5 · How far apart should snapshots be?
#
# The engine takes the distance as `every`. Close together: more to write. Far apart: more to replay. With K steps
# between two snapshots, each step pays `size / K` to write, and each crash replays K/2 steps on average. The sum is
# least where both are equal, and that gives a square root:

# %%
replay = max(fit("event-sourced", "ms")[0], 1e-9) / 1000  # seconds to replay one step
size = 16_000


def both(K, crash_rate):
    """Return seconds a step for snapshots K steps apart: writing, and replay after crashes."""
    return size / K / SPEED + crash_rate * replay * K / 2


best = {rate: np.sqrt(2 * size / SPEED / (rate * replay)) for rate in (1e-4, 1e-3, 1e-2, 1e-1)}
assert all(both(K, rate) < min(both(K / 2, rate), both(K * 2, rate)) for rate, K in best.items())
pd.Series(best, name="steps between snapshots").round().astype(int).rename_axis("crashes a step").to_frame()

# %% [markdown]
# A hundred times fewer crashes, ten times the distance. The rule is older than agents: it was found in 1974, for long
# computations on machines that fail.
#
# Our engine has 4 by default. That is for reading, not for speed: you should see a snapshot in a run of seven steps.

# %% [markdown]
# ## 6 · Memory that grows
#
# So far the state had one size. A chat agent adds every answer to its memory. Predict: if the run is twice as long,
# how much more does the database hold?

# %%
growing = pd.DataFrame([measure(name, 0, steps, keep=True) for name in NAMES for steps in (151, 303)])
growing["total kB"] = growing["bytes"] * growing["steps"] / 1000
twice = growing.pivot(index="engine", columns="steps", values="total kB").loc[list(NAMES)]
twice["times"] = twice[303] / twice[151]
assert twice.times["snapshot"] > 3 and twice.times["hybrid"] > 2.5 and twice.times["event-sourced"] < 2.3
twice.round(1)

# %% [markdown]
# About four times, for snapshots: the square. Hybrid holds less, and grows by the same square. Only the event-sourced
# engine stays with twice, because it writes what is *new* and not what is *there*.

# %% [markdown]
# ## 7 · What may be deleted?
#
# Recovery needs the newest snapshot and its tail. `compact` deletes all the rest.

# %%
store = SqliteStore()
runner = runner_of(agent(4_000, 103), "hybrid", store)
run = runner.start("run-1", {})
before, kept = run.outcome(), len(runner.parts.engine.history("run-1"))
with store.transaction("run/compact") as tx:
    gone = runner.parts.engine.compact(tx, run)
left = len(runner.parts.engine.history("run-1"))
assert runner.read("run-1").outcome() == before and left < 10 < kept
print(f"{gone} rows went; of {kept} events {left} are left; the run reads back as before")

# %% [markdown]
# The run is as it was. What is lost is the past: you can no longer ask what the agent knew at step 20, or go back
# there. And the event-sourced engine cannot do this at all while the run is open. It needs every event it has:

# %%
from labkit.errors import Unsupported

other = runner_of(agent(4_000, 103), "event-sourced", SqliteStore())
run = other.start("run-1", {})
try:
    with other.parts.store.transaction("run/compact") as tx:
        other.parts.engine.compact(tx, run)
    refused = ""
except Unsupported as error:
    refused = str(error)
assert "whole journal" in refused
print(refused)

# %% [markdown]
# ## 8 · Crash it: one row too many
#
# A colleague writes a retention job: "each night, delete the events; we have snapshots". It is tested for weeks. No
# process dies in those weeks, and nothing happens.
#
# Then one dies, at the most harmless place there is: in W5, when the refund is paid *and* recorded. The night comes,
# the job runs, and the next process carries on. The policy is `bare`. Predict: how often is the customer paid?

# %%
lab.close()
lab, path = new_lab("hybrid", policy="bare")
killed = lab.kill(refund, case=17, at="execute_refund/commit:after#1")
assert killed.window == "W5"
killed

# %%
with closing(SqliteStore(path)) as store, store.transaction("run/retention") as tx:
    gone = tx.execute("DELETE FROM tail_events WHERE run_id=?", killed.run_id)
run = lab.resume(killed.run_id)
outside = lab.provider(refund).query("kind == 'effect'")
assert run.status == "completed" and list(outside.operation).count("refund") == 2
outside[["target", "operation", "request", "receipt_id"]]

# %% [markdown]
# **Twice.** Stop here and explain it yourself before you open the answer: which row was it, and who trusted it?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The newest snapshot was taken after four steps: *before* the refund. That the refund was paid stood in the tail, and
# nowhere else. The job deleted it. So the next process loaded a state in which nothing was paid, honestly, and paid.
#
# W5 is safe because a result that is committed stays committed. The job broke that promise. A snapshot does not make
# events worthless; only the events *before* it.
#
# </details>
#
# Now the same night with the policy `ledger`:

# %%
lab.close()
lab, path = new_lab("hybrid", policy="ledger")
killed = lab.kill(refund, case=17, at="execute_refund/commit:after#1")
with closing(SqliteStore(path)) as store, store.transaction("run/retention") as tx:
    tx.execute("DELETE FROM tail_events WHERE run_id=?", killed.run_id)
run = lab.resume(killed.run_id, approve=True)
paid = list(lab.provider(refund).query("kind == 'effect'").operation).count("refund")
assert paid == 1
print(f"The run is {run.status}; paid {paid} time(s). The ledger says:")
lab.effects(run)[["step", "status", "attempts", "receipt_id"]]

# %% [markdown]
# Once. The effect ledger is a second record, with its own key, in its own table. The new process came to the refund
# a second time, found `confirmed`, and went on without a call. Two records that are kept for different reasons
# rarely go missing on the same night.

# %%
lab.close()

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** Each step makes one call, so it leaves two events. Snapshots are taken every 10 steps. How many events does a
# new process replay at most?
#
# <details><summary>Answer</summary>
#
# - **19** ✓ Nine complete steps, and the recorded call of the tenth. The next commit brings the snapshot along.
# - **20** ✗ The twentieth event is committed together with the snapshot, and then the tail is empty.
# - **18** ✗ Nearly: the call of the tenth step is recorded before its commit.
# - **10** ✗ Steps are not events. Each step left two.
#
# </details>
#
# **2.** You set `every` to 1. Is the hybrid engine now the same as the snapshot engine?
#
# - **a** Yes, it writes the whole state after each step.
# - **b** Nearly: but the answers of calls *inside* a step survive a crash.
# - **c** No, it still replays from the beginning.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Between two snapshots there is one step, and its calls are in the tail.
# - **b** ✓ So a crash in a step pays no model call again. The price is a commit a call.
# - **c** ✗ It replays from the newest snapshot, as always.
#
# </details>
#
# **3.** A hundred times fewer crashes. By how much should the distance between two snapshots grow?
#
# <details><summary>Answer</summary>
#
# - **10** ✓ The square root. You measured the ratio in part 5.
# - **100** ✗ Then each of the rare crashes would replay a hundred times more.
# - **1** ✗ Replay is needed less often, so it may cost more each time.
#
# </details>
#
# **4.** The memory of an agent grows with each step, and all snapshots together with the square. Does a larger distance
# help?
#
# - **a** Yes, then it grows in a straight line.
# - **b** It divides by a constant, and the square stays.
# - **c** No, it changes nothing.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Every K-th row still holds everything so far.
# - **b** ✓ What helps is to keep large things out of the state, or to write only what is new.
# - **c** ✗ Half as many rows are half as many bytes.
#
# </details>
#
# **5.** Which rows may a retention job delete while the run is open?
#
# - **a** all events, once there is a snapshot
# - **b** events that are older than 30 days
# - **c** events that are older than the run's newest snapshot
# - **d** the newest snapshot, once all events are there
#
# <details><summary>Answer</summary>
#
# - **a** ✗ That was the job of part 8. The events *after* the snapshot stand nowhere else.
# - **b** ✗ A run that waits for a person for 31 days loses its tail.
# - **c** ✓ Whatever is in the snapshot needs no event. `compact` does this.
# - **d** ✗ After `compact` the events from before it are gone, and nothing can be read back.
#
# </details>
#
# **6.** In part 8, why did the policy `ledger` pay only once?
#
# - **a** It keeps the events that the job deleted.
# - **b** The process stopped and waited for a person.
# - **c** Its own table still said `confirmed`, under the same key.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The tail was deleted there as well. The run came to the refund a second time.
# - **b** ✗ It did not have to. There was no doubt about this effect.
# - **c** ✓ A second record, kept for another reason. It knew what the tail no longer said.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("05_hybrid", measured={3: round(best[1e-4] / best[1e-2])})

# %% [markdown]
# ## What real stacks do
#
# - **Temporal** replays the whole history. It warns at 10,240 events or 10 MB and ends a run at 51,200 events or 50 MB
#   ([docs.temporal.io, *Workflow Execution limits*](https://docs.temporal.io/workflow-execution/limits)). The way out
#   is *Continue-As-New*: close the run and begin a new one with the state that you hand over
#   ([*Continue-As-New*](https://docs.temporal.io/workflow-execution/continue-as-new)). That is a snapshot, by hand.
# - **LangGraph** saves a checkpoint at every super-step
#   ([docs.langchain.com, *Persistence*](https://docs.langchain.com/oss/python/langgraph/persistence)). Old ones can be
#   pruned in its PostgreSQL saver, which keeps the newest of each namespace and what it needs
#   ([reference, *prune*](https://reference.langchain.com/python/langgraph.checkpoint.postgres/PostgresSaver/prune)).
# - **Restate** keeps the journal of a finished call for a time that can be set for each service
#   ([docs.restate.dev, *journalRetention*](https://docs.restate.dev/ktdocs/sdk-common/dev.restate.sdk.endpoint.definition/-service-definition/-configurator/journal-retention)).
# - **Axon**, an event-sourcing framework, calls snapshots an optimization: they never replace the events
#   ([docs.axoniq.io, *Snapshots*](https://docs.axoniq.io/axon-framework-reference/development/tuning/snapshotting/)).
#
# To see all of this against real frameworks on your own disk, type `labkit perf`.

# %% [markdown]
# ## Where the idea comes from
#
# - The distance between two checkpoints: J. W. Young, [*A First Order Approximation to the Optimum Checkpoint
#   Interval*](https://doi.org/10.1145/361147.361115), CACM 17(9), 1974.
# - A log, and a checkpoint now and then that shortens recovery: J. Gray and A. Reuter, *Transaction Processing:
#   Concepts and Techniques*, 1993.
# - Checkpoints, logs and what each must keep, for processes that talk to each other: E. N. Elnozahy, L. Alvisi, Y.-M.
#   Wang and D. B. Johnson, [*A Survey of Rollback-Recovery Protocols in Message-Passing
#   Systems*](https://doi.org/10.1145/568522.568525), ACM Computing Surveys 34(3), 2002.
#
# **Next:** change `SYNC`, `SPEED` and `CALL` to what your own disk and model do, and run from there.
