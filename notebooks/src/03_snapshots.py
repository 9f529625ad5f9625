# ---
# jupyter:
#   labkit:
#     minutes: 30
#     prerequisites: notebooks 00 to 02
#     outcome: read a snapshot engine, say what a crash inside a step costs, and decide what belongs into the state
# ---

# %% [markdown]
# # Snapshots: write down everything, after each step
#
# **30 minutes.** You need: notebooks 00 to 02. No account, no key, no network.
#
# The simplest durable engine there is: after each step, write the whole state; after a crash, read the newest one.
# You can read it in ten minutes, and you will find its ideas again in every graph checkpointer. So what does it cost?

# %% [markdown]
# ## What you will be able to do
#
# - read [`labkit/engines/snapshot.py`](../labkit/engines/snapshot.py) beside the rows that it writes;
# - say what a crash inside a step costs, and why our own books do not show it;
# - measure how storage grows, and keep it small;
# - use old snapshots: time travel and forks, and the trap in them.

# %% [markdown]
# ## Predict before you run
#
# A step asks a model, and the answer arrives. Before the step is saved, the process dies. A new process carries on.
#
# **How often is the model asked in total?** And **what do our own books say it cost**: one answer or two?

# %%
prediction = {"asked": "?", "our books say": "?"}

# %% [markdown]
# ## 1 · The engine, and its rows
#
# Two methods do nearly all the work. `commit` is called when a step has completed. `load` is called when a process
# takes a run up.

# %%
import inspect
import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

# %%
import matplotlib.pyplot as plt
import pandas as pd
from msgspec import field

from labkit import Lab, refund
from labkit.engines import SnapshotEngine
from labkit.errors import Drift, InvalidState
from labkit.lab.judge import judged
from labkit.lab.tables import show
from labkit.model import Budgets, State, Target, Workflow

# %%
from labkit.scratch import scratch_folder

folder = scratch_folder()


def new_path():
    """Return where a new lab may lie, so that cells can be run again."""
    return Path(mkdtemp(dir=folder.name)) / "lab.db"


def sql(path, query):
    """Run one query on a lab's database, read-only, and return a data frame."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return pd.read_sql_query(query, database)


# %%
members = (SnapshotEngine.commit, SnapshotEngine._write, SnapshotEngine.load)
source = "\n".join(inspect.getsource(member) for member in members)
assert SnapshotEngine.journals is False  # what a call inside a step returned is not written
print(source)

# %% [markdown]
# `runs.advance` changes one row of the header or raises: it checks that this process still owns the run, in the same
# transaction. Then one row is added. Let us look at the rows of a complete run.

# %%
path = new_path()
lab = Lab(path, engine="snapshot", policy="ledger")
run = lab.start(refund, case=17, approve=True)
columns = "state_version, step, next, length(body) AS bytes"
snapshots = sql(path, f"SELECT {columns} FROM snapshots ORDER BY state_version")
assert list(snapshots.step) == ["began", *run.run.completed_steps]
assert list(snapshots.bytes) == list(lab.history(run).bytes)
show(snapshots.set_index("state_version"))

# %% [markdown]
# One row a step, and one for the beginning. (Versions 4 and 5 are missing: they are the question to the manager and
# the answer, which change the header only.)
#
# Each row holds *everything*. But how much of it is new? Compare each row with the one before:


# %%
def flat(body):
    """Return the fields of a stored run as one flat dictionary, without its counters."""
    record = json.loads(body)
    counters = ("data", "state_version", "position", "budgets", "fence")
    return {**{k: v for k, v in record.items() if k not in counters}, **record["data"]}


rows = sql(path, "SELECT CAST(body AS TEXT) AS body FROM snapshots ORDER BY state_version")
bodies = [flat(body) for body in rows.body]
news = [", ".join(name for name in new if new[name] != old[name]) for old, new in pairwise(bodies)]
assert "verdict" in news[1] and "customer" in str(bodies[-1]["case"])
show(pd.DataFrame({"after": snapshots.step[1:], "what changed": news}).set_index("after"))

# %% [markdown]
# The case and the customer's note were read once, in the first step. Since then they have been written again with
# every row. That is the price of simplicity, and part 3 measures it.

# %% [markdown]
# ## 2 · A crash inside a step
#
# `policy_check` asks a model. We kill the process after the answer and before the commit.

# %%
lab.close()
lab = Lab(new_path(), engine="snapshot", policy="ledger")
killed = lab.kill(refund, case=17, at="policy_check/commit:before#1")
assert killed.run.run.completed_steps == ["load_case"]
killed

# %% [markdown]
# The database knows nothing of `policy_check`. There is no half of a step in a snapshot: there is the step, or there
# is not. So the new process runs it again **from its top**.

# %%
run = lab.resume(killed.run_id, approve=True)
assert run.status == "completed"
lab.timeline(run)

# %% [markdown]
# The model was asked again. Harmless, one may think: an activity may be repeated. But somebody pays for it. Compare
# our books with the invoice. (`budgets` is in the state; the provider's ledger counts every call that was made.)

# %%
PRICE = {"assess_policy": 0.02, "write_draft": 0.05}
calls = [entry.operation for entry in lab.evidence(run).outside if entry.operation in PRICE]
invoice = round(sum(PRICE[name] for name in calls), 2)
ours = round(refund.budgets.cost_remaining - run.run.budgets.cost_remaining, 2)
assert calls.count("assess_policy") == 2 and (ours, invoice) == (0.07, 0.09)
print(judged(prediction, {"asked": calls.count("assess_policy"), "our books say": 1}))
print(f"Our books: {ours:.2f}. The invoice: {invoice:.2f}.")

# %% [markdown]
# **Our books are wrong, and they cannot know it.** The price of the first answer was noted in a state that was never
# saved. Now let an agent crash in a loop inside that step. By its own account it always stays within its budget:

# %%
loop = Lab(":memory:", engine="snapshot", policy="ledger")
for _ in range(3):
    loop.kill(refund, case=17, at="policy_check/commit:before#1", real=False)
run = loop.resume("refund-17", approve=True)
calls = [entry.operation for entry in loop.evidence(run).outside if entry.operation in PRICE]
invoice = round(sum(PRICE[name] for name in calls), 2)
assert (round(1 - run.run.budgets.cost_remaining, 2), invoice) == (0.07, 0.13)
print(f"Our books: 0.07. The invoice: {invoice:.2f}.")

# %% [markdown]
# The remedy with snapshots is to make steps small: one expensive call a step. Then at most one call is lost.

# %% [markdown]
# ## 3 · Bytes grow with the state
#
# A chat agent keeps its whole conversation in its state. Each turn adds about 300 characters. Predict: the conversation
# gets twice as long. How much more does the engine write *in total*?


# %%
class Talk(State):
    """A conversation, with all its messages."""

    turns: int
    messages: list[str] = field(default_factory=list)


def answer(call, number):
    """Activity: the model's next answer, about 300 characters."""
    return f"answer {number}: " + "and so on, " * 26


# %%
limits = {"budgets": Budgets(steps_remaining=1_000), "max_state_bytes": 200_000}
chat = Workflow("chat", version="1", state=Talk, begin=lambda turns: Talk(turns=turns), **limits)


@chat.step
def turn(ctx, state):
    """One turn of the conversation."""
    state.messages.append(ctx.activity(answer, len(state.messages)))
    return turn if len(state.messages) < state.turns else None


# %%
TURNS = (25, 50, 100, 200)
written = {}
for engine in ("snapshot", "event-sourced"):
    with Lab(":memory:", engine=engine) as memory:
        runs = {turns: memory.start(chat, turns=turns) for turns in TURNS}
        written[engine] = {turns: int(memory.history(run).bytes.sum()) for turns, run in runs.items()}

sizes = pd.DataFrame(written).rename_axis("turns")
growth = sizes.loc[200] / sizes.loc[100]
assert growth["snapshot"] > 3.5 and 1.9 < growth["event-sourced"] < 2.1
sizes.assign(ratio=(sizes["snapshot"] / sizes["event-sourced"]).round(1))

# %%
figure, axes = plt.subplots(figsize=(7, 3.2))
for engine, style in (("snapshot", "o-"), ("event-sourced", "s--")):
    axes.plot(sizes.index, sizes[engine] / 1e6, style, label=engine)
    axes.annotate(f"   {engine}", (200, sizes[engine].iloc[-1] / 1e6), va="center")
axes.set(xlabel="turns of the conversation", ylabel="written in total (MB)", xlim=(0, 260))
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Twice as long, *four times* as much. Turn 200 writes all 199 older messages once more. The sum of 1, 2, 3 ... N grows
# with the square of N. The event-sourced engine writes each message once, so it grows in a straight line. (What it
# pays instead is in notebooks 04 and 05.)
#
# Two remedies. Old rows can be dropped, because recovery needs the newest only. And what is large does not belong into
# the state at all:

# %% [markdown]
# ## 4 · What does not belong into the state
#
# A step puts something into its state. What can be stored is typed, plain data. Everything else is refused **at the
# commit of that very step**, where one value is to blame often with its path, and no later step runs. Here is a step
# that tries four bad ideas, one a time.


# %%
class Notes(State):
    """Whatever somebody put in."""

    notes: dict[str, Any] = field(default_factory=dict)


idea: dict[str, Any] = {}
later: list[str] = []

# %%
desk = Workflow("desk", version="1", state=Notes, begin=lambda: Notes(), max_state_bytes=4_000)


@desk.step
def remember(ctx, state):
    """Put the idea of the moment into the state."""
    state.notes = {"customer": "Lena Brandt", **idea}
    return afterwards


@desk.step
def afterwards(ctx, state):
    """Note that a later step has run."""
    later.append("ran")


# %%
def refusal(name, value):
    """Return what the engine says about a state that holds `value` under `name`."""
    idea.clear()
    idea[name] = value
    with Lab(":memory:", engine="snapshot") as memory:
        try:
            memory.start(desk)
        except InvalidState as error:
            assert list(memory.history("desk").step) == ["began"]  # nothing was written
            return error.what
    return "stored"


# %%
ideas = {"callback": print, "seen": {"LB-1"}, "log": "line\n" * 1_000, "login": "password=correct-horse"}
later.clear()
told = {name: refusal(name, value) for name, value in ideas.items()}
assert "notes['callback'] (builtin_function_or_method)" in told["callback"]
assert "set" in told["seen"] and "the limit is 4,000" in told["log"] and "secret" in told["login"]
assert later == [] and refusal("amount", "49.90") == "stored" and later == ["ran"]
show(pd.DataFrame({"the engine says": told}))

# %% [markdown]
# The set is the sneaky one. JSON would store it, as a list, and the next process would get *another type* back than
# this one had. So the engine reads back what it is about to write, and refuses what would come back changed.
#
# For the large one there is `ctx.artifact(text)`: the text is stored once, beside the state, under a digest of its
# content. The state keeps the reference. The refund workflow does this with long notes. Case 227 brings one
# of 200,000 characters:

# %%
long_path = new_path()
with Lab(long_path, engine="snapshot") as long:
    run = long.start(refund, case=227)
    state_bytes = int(long.history(run).bytes.max())
artifact = sql(long_path, "SELECT ref, length(content) AS characters FROM artifacts")
assert run.state.note == artifact.ref[0] and artifact.characters[0] > 50 * state_bytes
print(f"note: {artifact.characters[0]:,} characters, stored once\nlargest snapshot: {state_bytes:,} bytes")
print(f"state.note = {run.state.note[:30]}...")

# %% [markdown]
# ## 5 · Time travel, and forks
#
# Old rows are good for something: they are the past, complete. Any of them can be read, and any of them can be the
# beginning of another run. Here is the refund of part 1 as it was *before* the manager was asked:

# %%
then = json.loads(rows.body[3])
assert (then["state_version"], then["next_transition"]) == (3, "manager_approval")
show(pd.DataFrame({"at version 3": {name: json.dumps(value) for name, value in then["data"].items()}}))

# %% [markdown]
# A *fork* copies that one row under a new run id. Predict: how many model calls does that cost?

# %%
past = Lab(":memory:", engine="snapshot", policy="ledger")
past.start(refund, case=17, approve=True)
before = len(past.provider(refund))
fork = past.fork("refund-17", 3, "what-if")
assert len(past.provider(refund)) == before  # the world has noticed nothing
assert len(past.history("what-if")) == 1
fork

# %% [markdown]
# None. A fork re-executes nothing: its past is data, not code. Now let the fork live. This time the manager allows 20
# euros only. **Predict what happens:** is the customer paid 20 euros as well?

# %%
try:
    past.resume("what-if")
    past.approve("what-if", verdict="edited", changes={"amount": "20.00"})
    past.resume("what-if")
except Drift as error:
    refused = error
assert len(past.provider(refund).query("target == 'payments'")) == 1
print(refused)

# %% [markdown]
# The ledger stopped it. A fork shares its `origin`, and so its effect keys, with the run that it comes from: for the
# ledger it is *the same refund*, confirmed long ago, and now somebody asks for another amount. A past can be copied.
# The world cannot: there is one Lena Brandt, and she has been paid.
#
# Without a ledger nothing stops it:

# %%
with Lab(":memory:", engine="snapshot", policy="bare") as bare:
    bare.start(refund, case=17, approve=True)
    bare.fork("refund-17", 3, "what-if")
    bare.resume("what-if")
    bare.approve("what-if", verdict="edited", changes={"amount": "20.00"})
    bare.resume("what-if")
    paid = bare.provider(refund).query("target == 'payments'")
assert [request["amount"] for request in paid.request] == ["49.90", "20.00"]
show(paid[["subject", "request", "receipt_id"]])

# %% [markdown]
# ## 6 · Crash it: two effects in one step
#
# "One step, one transaction." So somebody puts two effects into one step: pay, then mail. The process dies between the
# two: the payment is done *and answered*, the mail has not been tried. It is window **W2 of the mail**, which notebook
# 02 found to be harmless. **Predict what the customer gets, on each engine.**


# %%
class Nothing(State):
    """This workflow remembers nothing of its own."""


targets = {"payments": Target(capability="dedup"), "mail": Target(capability="neither")}
both = Workflow("both", version="1", state=Nothing, begin=lambda: Nothing(), targets=targets)


@both.step
def pay_and_mail(ctx, state):
    """Two effects in one step."""
    ctx.effect("payments", "refund", {"amount": "49.90"})
    ctx.effect("mail", "send", {"text": "We have paid you back 49.90 EUR."})


# %%
ends = {}
for engine in ("snapshot", "event-sourced"):
    memory = Lab(":memory:", engine=engine, policy="bare")
    died = memory.kill(both, at="pay_and_mail/2/call:before#1", real=False)
    assert died.window == "W2"
    ends[engine] = memory.timeline(memory.resume(died.run_id))

done = {engine: [entry.target for entry in end.outside] for engine, end in ends.items()}
assert done == {"snapshot": ["payments", "payments", "mail"], "event-sourced": ["payments", "mail"]}
ends["snapshot"]

# %% [markdown]
# Paid twice, after a crash in a *harmless* window. Now the same on the engine of the next notebook:

# %%
ends["event-sourced"]

# %% [markdown]
# **Explain it before you open the answer.** W2 of the mail was harmless for the mail. Why was it not harmless for the
# payment? And what did the other engine do?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The result of the first effect is durable only when the <i>step</i> is committed. So W4 of the payment, "reply
# received, result not yet committed", does not end where the mail begins: it lasts to the end of the step. The crash
# was in W2 of the mail <b>and</b> in W4 of the payment. The new process ran the step from its top.
#
# The event-sourced engine had recorded the payment's receipt as an event right after the call. Its W4 was over before
# the mail began.
#
# With snapshots: <b>one effect a step</b>. The refund workflow keeps to that. And note what this did not cure: a crash
# in W3 or W4 of a single effect duplicates on both engines.
#
# </details>

# %%
lab.close()
single = {name: inspect.getsource(step).count("ctx.effect(") for name, step in refund.steps.items()}
assert max(single.values()) == 1
show(pd.DataFrame({"effects in the code of the step": single}))

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** A step makes three model calls. The process dies after the third answer, before the step is committed. How many
# calls are made *again*?
#
# <details><summary>Answer</summary>
#
# - **3** ✓ Nothing inside a step is durable. Make three steps of it, and at most one is.
# - **1** ✗ That would be three steps with one call each, or the engine of notebook 04.
# - **0** ✗ The answers were in memory. The snapshot was written before the first of them.
#
# </details>
#
# **2.** A run keeps its whole conversation in its state. What grows with the *square* of the number of turns?
#
# - **a** the newest snapshot
# - **b** all snapshots together
# - **c** both
# - **d** neither
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It holds each message once: twice the turns, twice the size.
# - **b** ✓ 1 + 2 + 3 ... + N. Dropping old rows helps the disk, not what each step has to write.
# - **c** ✗ Look at one row: it holds each message once.
# - **d** ✗ Part 3 measured it: twice as long, four times as much.
#
# </details>
#
# **3.** You drop all snapshots but the newest. What is lost? *Choose all that hold.*
#
# - **a** the way back to an earlier state
# - **b** recovery after the next crash
# - **c** forks from before the newest step
# - **d** what the ledger knows of effects
#
# <details><summary>Answer</summary>
#
# - **a** ✓ The past is gone.
# - **b** ✗ Recovery reads the newest only.
# - **c** ✓ A fork copies an old row, and there is none.
# - **d** ✗ The effect ledger is a table of its own.
#
# </details>
#
# **4.** JSON can hold a list. Why does the engine refuse a `set` instead of storing it as one?
#
# - **a** Lists take more space.
# - **b** The next process would get another type back than this one had.
# - **c** A set may hold secrets.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Space is not the point.
# - **b** ✓ `seen.add(...)` would work until the first crash, and fail after it. Such bugs are best refused early.
# - **c** ✗ So may a list. Secrets are looked for everywhere.
#
# </details>
#
# **5.** In part 6 the process died in W2 of the mail. In which window of the *payment* was that, on the snapshot
# engine?
#
# - **a** in none, the payment was over
# - **b** in W5
# - **c** in W4
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Over for the provider. For us it ends with the commit of the step.
# - **b** ✗ W5 begins with the commit of the result, and with snapshots that is the commit of the step.
# - **c** ✓ Reply received, not committed. With snapshots W4 lasts to the end of the step: so one effect a step.
#
# </details>
#
# **6.** You fork a run from before its payment and let the fork run on, with the policy `bare`. How often has the
# customer been paid in the end?
#
# <details><summary>Answer</summary>
#
# - **2** ✓ A fork copies the past of the run, not the past of the world.
# - **1** ✗ The fork does not know that it was paid, and `bare` has no ledger that could stop it.
# - **0** ✗ To fork takes nothing back. The first payment was real.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("03_snapshots", measured={6: len(paid)})

# %% [markdown]
# ## What real stacks do
#
# - **LangGraph** saves the graph's state as a checkpoint at each super-step
#   ([*Persistence*](https://docs.langchain.com/oss/python/langgraph/persistence)). Its documentation says of replay and
#   fork that nodes before the checkpoint are not executed again and nodes after it are, with their model and API calls
#   ([*Use time-travel*](https://docs.langchain.com/oss/python/langgraph/use-time-travel)).
# - It also asks you to wrap side effects in *tasks*, so that their results are kept within a node
#   ([*Durable execution*](https://docs.langchain.com/oss/python/langgraph/durable-execution)): that is part 6.
# - **DBOS** stores the output of each step, not the whole state, and its `fork_workflow` starts a copy from a chosen
#   step ([*DBOS Methods*](https://docs.dbos.dev/python/reference/contexts)).
#
# What to ask of yours: what is written at each step, how large is it, and what inside a step survives?

# %% [markdown]
# ## Where the idea comes from
#
# - Writing the whole state now and then, and going back to it: K. M. Chandy, J. C. Browne, C. W. Dissly and W. R.
#   Uhrig, *Analytic Models for Rollback and Recovery Strategies in Data Base Systems*, IEEE TSE 1(1), 1975.
# - How far apart checkpoints should be: J. W. Young, [*A First Order Approximation to the Optimum Checkpoint
#   Interval*](https://doi.org/10.1145/361147.361115), CACM 17(9), 1974. Notebook 05 comes back to that.
# - Storing large things once, under a digest of their content: S. Quinlan and S. Dorward, [*Venti: a New Approach to
#   Archival Storage*](https://www.usenix.org/conference/fast-02/venti-new-approach-archival-data-storage), FAST 2002.
#
# **Next:** notebook 04 writes down each answer instead of the whole state.
