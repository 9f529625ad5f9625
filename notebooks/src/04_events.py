# ---
# jupyter:
#   labkit:
#     minutes: 35
#     prerequisites: notebooks 00 to 03
#     outcome: explain replay, find code that drifts, and say which drift is loud and which is silent
# ---

# %% [markdown]
# # Events and deterministic replay
#
# **35 minutes.** You need: notebooks 00 to 03. No account, no key, no network.
#
# The snapshot engine saves *what is*. The event-sourced engine saves *what happened*: each answer of a model, each
# look at the clock, each completed step. To recover, it runs your code again and plays the old answers back. That is
# clever, and it asks something of your code that nobody checks for you.

# %% [markdown]
# ## What you will be able to do
#
# - read [`labkit/engines/event_sourced.py`](../labkit/engines/event_sourced.py) beside the journal that it writes;
# - say why the crash of notebook 03 costs nothing here, and what still does;
# - explain *replay*: what runs again, and what does not;
# - tell loud drift from silent drift, and find the line that causes it.

# %% [markdown]
# ## Predict before you run
#
# A step asks a model, and the answer is recorded. Before the step is completed, the process dies. A new one recovers.
#
# **Does the code of the step run again? Is the model asked again?** Write `"yes"` or `"no"`.

# %%
prediction = {"the code runs again": "?", "the model is asked again": "?"}

# %% [markdown]
# ## 1 · The journal
#
# `record` is called after each call that a step makes through `ctx`. Compare it with the snapshot engine, where the
# same method says: *never called*.

# %%
import inspect
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd

from labkit import Lab, refund
from labkit.engines import EventSourcedEngine
from labkit.errors import Drift
from labkit.lab.tables import show
from labkit.model import State, Target, Workflow

# %%
from labkit.scratch import scratch_folder

folder = scratch_folder()


def sql(path, query):
    """Run one query on a lab's database, read-only, and return a data frame."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return pd.read_sql_query(query, database)


# %%
members = (EventSourcedEngine.record, EventSourcedEngine._append, EventSourcedEngine.load)
source = "\n".join(inspect.getsource(member) for member in members)
assert EventSourcedEngine.journals is True
print(source)

# %% [markdown]
# The crash of notebook 03, on this engine: a real SIGKILL after the model's answer, before the commit of the step.

# %%
path = Path(mkdtemp(dir=folder.name)) / "lab.db"
lab = Lab(path, engine="event-sourced", policy="ledger")
killed = lab.kill(refund, case=17, at="policy_check/commit:before#1")
assert killed.run.run.completed_steps == ["load_case"]
killed

# %%
QUERY = "SELECT seq, kind, step, name, CAST(payload AS TEXT) AS payload FROM events ORDER BY seq"
events = sql(path, QUERY)
assert list(events.kind) == ["began", "activity", "activity", "completed", "activity"]
assert "is within the limit" in events.payload.iloc[-1]
events["payload"] = events.payload.str.slice(0, 70)
show(events.set_index("seq"))

# %% [markdown]
# The step `policy_check` is not completed. But the model's answer *is there*, as the last event. So:

# %%
run = lab.resume(killed.run_id, approve=True)
calls = [entry.operation for entry in lab.evidence(run).outside if entry.kind == "activity"]
assert calls.count("assess_policy") == 1
spent = round(refund.budgets.cost_remaining - run.run.budgets.cost_remaining, 2)
assert spent == 0.07
print(f"The model was asked {calls.count('assess_policy')} time. Our books say {spent:.2f}.")

# %%
lab.timeline(run)

# %% [markdown]
# Nothing was paid again. One small gap is left: between the answer and its record. Kill there, and that one answer is
# lost on this engine, too. (Simulated from here on, `real=False`.)

# %%
other = Lab(":memory:", engine="event-sourced", policy="ledger")
gap = other.kill(refund, case=17, at="policy_check/record:before#1", real=False)
other.resume(gap.run_id, approve=True)
calls = [entry.operation for entry in other.evidence(gap.run_id).outside if entry.kind == "activity"]
assert calls.count("assess_policy") == 2
print(calls)

# %% [markdown]
# So the rule for activities is: with snapshots a crash costs at most *one step*; with events at most *one call*.
# Never nothing: the answer exists outside before it exists in our database. It is W4 again, for an activity.

# %% [markdown]
# ## 2 · Replay: the code runs again, the world does not
#
# How does the new process get the state back? There is no state in the journal. It starts from the input and **runs
# the steps again**. Each `ctx` call asks the journal first, and only where the journal ends does it call for real.
#
# To see it, this workflow keeps two lists: which steps ran, and which activities were really called. (The lists are
# not part of the state; they are our microscope.)

# %%
ran: list[str] = []
called: list[str] = []


class Thought(State):
    """What the workflow found out."""

    facts: str = ""
    answer: str = ""
    at: str = ""
    dice: float = 0.0


# %%
def look_up(call):
    """Activity: read something."""
    called.append("look_up")
    return "cracked headphones"


# %%
def ask_model(call, facts):
    """Activity: ask the model."""
    called.append("ask_model")
    return f"refund the {facts}"


mail = {"mail": Target(capability="neither")}


# %%
def ponder(ctx, state):
    """Two activities, a look at the clock and a throw of dice."""
    ran.append("ponder")
    state.facts = ctx.activity(look_up)
    state.answer = ctx.activity(ask_model, state.facts)
    state.at, state.dice = ctx.now(), ctx.random()
    return tell


def tell(ctx, state):
    """Effect: mail the answer."""
    ran.append("tell")
    ctx.effect("mail", "send", {"text": state.answer})


# %% [markdown]
# The first process dies when `ponder` has made all its calls and is not completed. We empty the two lists, so that
# they show the second process only. Last chance to change your prediction.

# %%
think = Workflow("think", version="1", state=Thought, begin=lambda: Thought(), targets=mail)
for step in (ponder, tell):
    think.step(step)

from labkit.lab.judge import judged

desk = Lab(":memory:", engine="event-sourced")
died = desk.kill(think, at="ponder/commit:before#1", real=False)
ran.clear()
called.clear()
after = desk.resume(died.run_id)
assert ran == ["ponder", "tell"] and called == []
print(judged(prediction, {"the code runs again": "yes", "the model is asked again": "no"}))
print(f"steps that ran again: {ran}\nactivities that were called: {called}")

# %% [markdown]
# **Yes, and no.** The code ran; nobody was asked. The clock and the dice are calls like any other: recorded once,
# then played back. Here is the state as the dead process left it, and as the new one has it:

# %%
assert died.run.state == after.state and after.state.dice > 0
fields = Thought.__struct_fields__
both = {"first process": died.run.state, "second process": after.state}
show(pd.DataFrame({who: {name: str(getattr(state, name)) for name in fields} for who, state in both.items()}))

# %% [markdown]
# Even *looking* at a run is replay, because there is nothing else to look at:

# %%
ran.clear()
desk.run("think")
assert ran == ["ponder", "tell"] and called == []
print(f"Just by looking: {ran} ran again, {called} were called.")

# %% [markdown]
# This works on one condition: **given the same answers, the code must make the same calls in the same order.** That is
# what *deterministic* means here. The rest of this notebook breaks that condition,
# in several ways.

# %% [markdown]
# ## 3 · Loud drift: somebody changed the code
#
# A run is under way. Meanwhile a colleague deploys version 2. It asks the model first and looks up afterwards: the same
# two calls, the other way round. Predict: what does the new process do with the old journal?

# %%
path = Path(mkdtemp(dir=folder.name)) / "lab.db"
with Lab(path, engine="event-sourced") as before:
    before.kill(think, at="ponder/commit:before#1", real=False)

version_2 = Workflow("think", version="2", state=Thought, begin=lambda: Thought(), targets=mail)


@version_2.step
def ponder_again(ctx, state):
    """The same calls in another order."""
    state.answer = ctx.activity(ask_model, "headphones")
    state.facts = ctx.activity(look_up)


version_2.steps = {"ponder": ponder_again}  # deployed under the old name

# %%
journal = sql(path, QUERY)
called.clear()
with Lab(path, workflows=[version_2]) as deployed:
    try:
        deployed.resume("think")
    except Drift as error:
        drift = error
assert "look_up" in drift.what and "ask_model" in drift.what
assert called == [] and journal.equals(sql(path, QUERY))
print(drift)

# %% [markdown]
# The error names both sides: what the journal holds, and what the code asks for. Nothing was called and nothing was
# written. The run is stuck, not broken: with the old code it goes on.

# %%
with Lab(path, workflows=[think]) as rolled_back:
    run = rolled_back.resume("think")
assert run.status == "completed" and called == []
run

# %% [markdown]
# What is compared is the *kind, step and name* of each call, and what it *asks for*. So it is noticed as well when
# only an **argument** changes. Version 3 makes the same calls in the same order, about something else:

# %%
version_3 = Workflow("think", version="3", state=Thought, begin=lambda: Thought(), targets=mail)


def ponder_otherwise(ctx, state):
    """The same calls in the same order, with another argument."""
    state.facts = ctx.activity(look_up)
    state.answer = ctx.activity(ask_model, "broken kettle")
    state.at, state.dice = ctx.now(), ctx.random()


version_3.steps = {"ponder": ponder_otherwise, "tell": tell}
path = Path(mkdtemp(dir=folder.name)) / "lab.db"
with Lab(path, engine="event-sourced") as before:
    before.kill(think, at="ponder/commit:before#1", real=False)

# %%
with Lab(path, workflows=[version_3]) as deployed:
    try:
        deployed.resume("think")
    except Drift as error:
        print(error)
        about = error
assert "cracked headphones" in about.what and "broken kettle" in about.what

# %% [markdown]
# A journal that keeps names only could not see it: the answer to the *old* question would be given to the *new* one, in
# silence. A change that is harmless has to be declared: <code>may_change</code> names the fields that may differ.

# %% [markdown]
# ## 4 · Loud drift: a clock that is read in passing
#
# Nobody changed the code this time. The step reads the clock itself instead of asking `ctx`: before noon it asks a
# careful model, later a quick one. `wall` stands for `datetime.now().hour`, so that we can move it.

# %%
wall = {"hour": 11}


def careful(call):
    """Activity: the careful model."""
    return "careful answer"


def quick(call):
    """Activity: the quick model."""
    return "quick answer"


# %%
noon = Workflow("noon", version="1", state=Thought, begin=lambda: Thought())


@noon.step
def choose(ctx, state):
    """Decide by a clock that is read outside ctx."""
    state.answer = ctx.activity(careful if wall["hour"] < 12 else quick)


# %%
desk = Lab(":memory:", engine="event-sourced")
wall["hour"] = 11
desk.kill(noon, at="choose/commit:before#1", real=False)  # it dies at 11
wall["hour"] = 13  # and is recovered at 13
try:
    desk.resume("noon")
except Drift as error:
    print(error)
    drifted = error
assert "careful" in drifted.what and "quick" in drifted.what

# %% [markdown]
# The same error as for changed code, and the code did not change. It passes every test that does not crash. It fails
# when a process dies before noon and the next one starts after.
#
# The repair is to ask `ctx`, here by way of an activity, so that the hour is recorded like every other answer:


# %%
def read_hour(call):
    """Activity: look at the clock."""
    return wall["hour"]


repaired = Workflow("repaired", version="1", state=Thought, begin=lambda: Thought())


@repaired.step
def choose_by_record(ctx, state):
    """Decide by an hour that is recorded."""
    state.answer = ctx.activity(careful if ctx.activity(read_hour) < 12 else quick)


# %%
desk = Lab(":memory:", engine="event-sourced")
wall["hour"] = 11
desk.kill(repaired, at="choose_by_record/commit:before#1", real=False)
wall["hour"] = 13
run = desk.resume("repaired")
assert (run.status, run.state.answer) == ("completed", "careful answer")
run

# %% [markdown]
# ## 5 · A model that changes its mind
#
# A real model may answer the same question differently the second time. The lab has a knob for that: `drift=True` lets
# the stand-in model answer differently when it is asked *again*. This workflow asks for an amount and pays it, in one
# step. The process dies in W3, when the money has moved.
#
# Predict the payments for two engines and two policies.


# %%
def propose(call):
    """Activity: the model proposes an amount; a drifting model is more generous the second time."""
    return "54.90" if call.drift and call.number > 1 else "49.90"


bank = {"payments": Target(capability="dedup")}
pay = Workflow("pay", version="1", state=Thought, begin=lambda: Thought(), targets=bank)


@pay.step
def decide_and_pay(ctx, state):
    """Ask the model, pay what it says."""
    state.answer = ctx.activity(propose)
    ctx.effect("payments", "refund", {"amount": state.answer})


# %%
def payments(engine, policy):
    """Return what a drifting model has paid after a crash in W3, and how the run stands."""
    with Lab(":memory:", engine=engine, policy=policy, drift=True) as other:
        other.kill(pay, at="W3", real=False)
        try:
            status = other.resume("pay").status
        except Drift:
            status = "refused: another amount under the same key"
        paid = other.provider(pay).query("kind == 'effect'").request
    return " and ".join(request["amount"] for request in paid), status


# %%
grid = [(engine, policy) for engine in ("snapshot", "event-sourced") for policy in ("bare", "ledger")]
rows = [(*each, *payments(*each)) for each in grid]
results = pd.DataFrame(rows, columns=["engine", "policy", "paid", "then"])
assert list(results.paid) == ["49.90 and 54.90", "49.90", "49.90 and 49.90", "49.90"]
assert results.then.iloc[1].startswith("refused") and results.then.iloc[3] == "completed"
show(results.set_index(["engine", "policy"]))

# %% [markdown]
# Read it line by line:
#
# - snapshot, bare: paid twice, and *two different amounts*. No provider could have seen that this was one refund.
# - snapshot, ledger: the ledger holds the first request and refuses the second. Stuck, and safe.
# - event-sourced, bare: the model's first answer is recorded, so the amount is the same; but paid twice.
# - event-sourced, ledger: paid once. **The engine keeps the decision, the policy keeps the effect.** You need both.

# %% [markdown]
# ## 6 · Crash it: a number made in passing
#
# A letter gets a number for our own files. Its author writes `uuid.uuid4()`, as everybody does. The first step makes
# the number, the second mails the customer, the third books with the bank. The process dies between mail and bank,
# in W1 of the booking.
# The policy is `ledger`. **Predict: which error does the new process report?**


# %%
class Letter(State):
    """A letter's reference number."""

    number: str = ""


targets = {"mail": Target(capability="neither"), "bank": Target(capability="dedup")}


def make_number(ctx, state):
    """Make up a number, outside ctx."""
    state.number = uuid.uuid4().hex[:8]
    return send_letter


# %%
def send_letter(ctx, state):
    """Effect: tell the customer."""
    ctx.effect("mail", "send", {"text": "your letter has a number now"})
    return book


def book(ctx, state):
    """Effect: book with the bank."""
    ctx.effect("bank", "book", {"letters": 1})


# %%
letter = Workflow("letter", version="1", state=Letter, begin=lambda: Letter(), targets=targets)
for step in (make_number, send_letter, book):
    letter.step(step)

quiet = Lab(":memory:", engine="event-sourced", policy="ledger")
quiet.kill(letter, at="book/intent:before#1", real=False)
run = quiet.resume("letter")
assert run.status == "completed" and len(quiet.provider(letter)) == 2
quiet.timeline(run)

# %% [markdown]
# No error. *Completed*, each effect once, every light green. And now ask what the number is:

# %%
readings = [quiet.run("letter").state.number for _ in range(3)]
assert len({run.state.number, *readings}) == 4
answers = {"the run that completed said": run.state.number}
answers |= {f"our database says ({n}. look)": number for n, number in enumerate(readings, 1)}
show(pd.DataFrame({"number": answers}))

# %% [markdown]
# **Explain it before you open the answer.** Why did nobody notice? And why does our own database say something else
# each time that we look?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The number is not in the journal. <code>make_number</code> makes no <code>ctx</code> call, so its replay has nothing
# to compare with: the calls are the same, in the same order, and ask for the same. Each replay makes up a new number,
# and each look is one more replay.
#
# Loud drift needs a changed <i>call</i>. If only a <i>value</i> changes, replay is silent, until the value reaches a
# request: had the mail said the number, the new process would have stopped with both numbers in its error.
#
# The repair is one line, <code>ctx.activity(new_number)</code>. A snapshot engine would not have drifted here, because
# it never runs a completed step again. Every engine asks something of your code; they ask for different things.
#
# </details>


# %%
def new_number(call):
    """Activity: make up a number."""
    return uuid.uuid4().hex[:8]


def make_recorded_number(ctx, state):
    """Make up a number, and have it recorded."""
    state.number = ctx.activity(new_number)
    return send_letter


# %%
kept = Workflow("kept", version="2", state=Letter, begin=lambda: Letter(), targets=targets)
for step in (make_recorded_number, send_letter, book):
    kept.step(step)

quiet = Lab(":memory:", engine="event-sourced", policy="ledger")
quiet.kill(kept, at="book/intent:before#1", real=False)
quiet.resume("kept")
numbers = {quiet.run("kept").state.number for _ in range(3)}
assert len(numbers) == 1
lab.close()
print(f"every look says the same: {numbers}")

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** A step appends a line to a file, not through `ctx`. The process dies after that step, the second one dies as
# well, the third one ends the run. Then you look at the run twice, with `lab.run`. At least how many lines are there?
#
# <details><summary>Answer</summary>
#
# - **5** ✓ Three processes and two looks: each of them runs the step. What is done outside `ctx` is done in each
#   replay.
# - **3** ✗ And the two looks? There is no state to look at, so a look is a replay.
# - **1** ✗ Only what goes through `ctx` is played back. The rest of the code really runs.
#
# </details>
#
# **2.** A step goes through a Python `set` of texts and asks the model once for each member. Is that deterministic?
#
# - **a** Yes, as long as the set holds the same members.
# - **b** No: another process may go through it in another order.
# - **c** Yes, because each answer is recorded.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Python salts the hashes of texts in each process, and the order follows the hashes.
# - **b** ✓ The new process asks about another text where the journal holds the answer for the first. Sort it first.
# - **c** ✗ Recorded in the order of the first process. The second one asks in another.
#
# </details>
#
# **3.** Which line drifts *silently*, without any error?
#
# - **a** `state.number = uuid.uuid4().hex`
# - **b** two `ctx.activity` calls that change places in version 2
# - **c** `ctx.activity(careful if datetime.now().hour < 12 else quick)`
# - **d** `state.dice = ctx.random()`
#
# <details><summary>Answer</summary>
#
# - **a** ✓ No call changes, only a value does. Replay compares calls.
# - **b** ✗ Loud: the journal holds one name, the code asks for another.
# - **c** ✗ Loud, if the hour has changed: another activity is asked for.
# - **d** ✗ It does not drift. The throw is recorded and played back.
#
# </details>
#
# **4.** Part 5: a drifting model, and a crash in W3. Which pair pays once *and* completes the run?
#
# - **a** snapshot and `bare`
# - **b** snapshot and `ledger`
# - **c** event-sourced and `bare`
# - **d** event-sourced and `ledger`
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Paid twice, and two different amounts.
# - **b** ✗ Paid once, and stuck: the ledger refuses another amount under the same key.
# - **c** ✗ The amount is the same, because the answer is recorded. And it is paid twice.
# - **d** ✓ The engine keeps the decision, the policy keeps the effect.
#
# </details>
#
# **5.** You must change the order of two calls while runs are under way. What can you do? *Choose all that hold.*
#
# - **a** Let old runs end on the old version.
# - **b** Let the new code ask which version a run began with, and keep the old order for old runs.
# - **c** Deploy at night.
# - **d** Resume the old runs once with the new code, so that their journals are renewed.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ The version stands in the run's record.
# - **b** ✓ Two paths in the code, until the last old run has ended.
# - **c** ✗ Runs that wait for a person are under way at night, too.
# - **d** ✗ A journal is never renewed. The new code drifts on it, loudly.
#
# </details>
#
# **6.** A run has 100,000 events. What does a crash cost now?
#
# - **a** all its model calls
# - **b** at most one call, and the time to read all events and run all steps again
# - **c** nothing, everything is recorded
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The answers are in the journal.
# - **b** ✓ No money, but time. Notebook 05 measures it, and bounds it.
# - **c** ✗ One answer may have been on its way, and replay takes time.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("04_events")

# %% [markdown]
# ## What real stacks do
#
# - **Temporal** replays workflow code against the event history
#   ([*Event History walkthrough*](https://docs.temporal.io/encyclopedia/event-history/event-history-python)) and has an
#   error of its own for code that tells another story
#   ([*NondeterminismError*](https://python.temporal.io/temporalio.workflow.NondeterminismError.html)). Its Python SDK
#   runs workflows in a sandbox that forbids known calls such as the system clock, and says itself that the isolation is
#   not complete
#   ([*Sandbox*](https://docs.temporal.io/develop/python/best-practices/python-sdk-sandbox)). For time, chance and
#   changed code it offers `workflow.now`, `workflow.random`, `workflow.uuid4` and `workflow.patched`
#   ([API](https://python.temporal.io/temporalio.workflow.html)).
# - **Restate** keeps a journal as well. What is not deterministic goes into `ctx.run`, and there are helpers for random
#   numbers and ids ([*Journaling results*](https://docs.restate.dev/develop/python/journaling-results/)). Against
#   changed code it pins a request to the deployment that it began with
#   ([*Versioning*](https://docs.restate.dev/services/versioning)).
# - **DBOS** asks for deterministic workflow functions, with everything else in steps
#   ([*Steps*](https://docs.dbos.dev/python/tutorials/step-tutorial)).
#
# Try part 6 on yours: put a `uuid4()` into workflow code, crash, and look at what each side has.

# %% [markdown]
# ## Where the idea comes from
#
# - Keeping what happened instead of what is: M. Fowler, [*Event
#   Sourcing*](https://martinfowler.com/eaaDev/EventSourcing.html), 2005.
# - Recovering a process by playing its inputs back, on condition that it is deterministic between them: R. E. Strom and
#   S. Yemini, [*Optimistic Recovery in Distributed Systems*](https://doi.org/10.1145/3959.3962), ACM TOCS 3(3), 1985.
# - The same condition for replicas: F. B. Schneider, [*Implementing Fault-Tolerant Services Using the State Machine
#   Approach: A Tutorial*](https://doi.org/10.1145/98163.98167), ACM Computing Surveys 22(4), 1990.
#
# **Next:** notebook 05 puts a snapshot into the journal now and then, and measures where the curves cross.
