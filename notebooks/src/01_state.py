# ---
# jupyter:
#   labkit:
#     minutes: 25
#     prerequisites: notebook 00
#     outcome: name the three layers of an agent's state, read them in the database, and say what a chat log cannot do
# ---

# %% [markdown]
# # What is state? Messages, execution pointer, environment
#
# **25 minutes.** You need: [notebook 00](00_start.ipynb). No account, no key, no network.
#
# "We save the conversation, so our agent can resume." Many teams say that. Then an agent dies between a payment and
# a mail, and nobody can say what it had done. The conversation was there. What was missing?

# %% [markdown]
# ## What you will be able to do
#
# - tell three layers apart: **L1** messages, **L2** execution pointer, **L3** environment;
# - show why a complete chat log cannot say which effects were made;
# - open the lab's database with plain SQL and read a run field by field;
# - say what must stay out of the state, and what happens when it does not.
#
# | layer | what it is | example |
# | --- | --- | --- |
# | **L1** messages | what was said: prompts, answers, tool calls, tool results | "please refund 49.90" |
# | **L2** execution pointer | how far we are: next step, what waits, what may still be spent | next: `execute_refund` |
# | **L3** environment | everything outside the record: files, connections, other systems | the bank, a scratch folder |

# %% [markdown]
# ## Predict before you run
#
# A chat agent saves every message at once, before anything else happens. It dies somewhere around a refund. You find
# its log, complete to the last message that it wrote.
#
# **Does the log say whether the money moved?** Write `"yes"`, `"no"` or `"sometimes"`.

# %%
prediction = "?"

# %% [markdown]
# ## 1 · L1: the messages
#
# Here is one turn of a chat agent as plain data. No framework, nothing hidden. The model asks for a tool, the tool
# pays, the result goes into the log. `dies` ends the turn early, before or after the tool has acted.

# %%
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pandas as pd

from labkit import Lab, refund
from labkit.errors import ActivityFailed
from labkit.lab.judge import judged
from labkit.lab.tables import show
from labkit.model import State, Target, Workflow
from labkit.scratch import scratch_folder

# %%
folder = scratch_folder()


# %%
def turn(log, bank, dies=""):
    """Play one turn of a chat agent and return the log as it was saved; `bank` is what really happened."""
    arguments = json.dumps({"order": "AC-483920", "amount": "49.90"})
    call = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": arguments}}
    log = [*log, {"role": "assistant", "tool_calls": [call]}]
    if dies == "before the tool acts":
        return log
    bank.append("refund 49.90 EUR")
    if dies == "after the tool acted":
        return log
    return [*log, {"role": "tool", "tool_call_id": "call_1", "content": "paid"}]


# %%
asked = [{"role": "user", "content": "My headphones arrived with a crack. Please refund the 49.90 EUR."}]
logs, banks = {}, {}
for dies in ("before the tool acts", "after the tool acted"):
    banks[dies] = []
    logs[dies] = json.dumps(turn(asked, banks[dies], dies))

assert len(set(logs.values())) == 1
assert banks == {"before the tool acts": [], "after the tool acted": ["refund 49.90 EUR"]}
show(pd.DataFrame({"saved log": logs, "bank": banks}))

# %% [markdown]
# **The two logs are the same, byte for byte. The two banks are not.** A log ends with what was *asked for*. Whether
# it was *done* is known only once the result is in the log as well, and that message was never written.
#
# So whoever restores from messages has to guess. There are two guesses:

# %%
GUESSES = {"call again": 1, "take it as done": 0}  # how many more refunds each guess makes
refunds = pd.DataFrame(
    {guess: {dies: len(bank) + more for dies, bank in banks.items()} for guess, more in GUESSES.items()}
)
assert (refunds == 1).sum().tolist() == [1, 1]  # each guess is right once, and wrong once
refunds

# %% [markdown]
# Each guess is right after one of the crashes and wrong after the other: paid twice, or not at all. No rule helps that
# reads only the log, because it sees the same log both times.
#
# Asking the model does not help either. It reads the same log. It will say something plausible.

# %%
answered = turn(asked, [])
assert answered[-1]["role"] == "tool"
print(judged(prediction, "sometimes"), "A turn that ended leaves this:", answered[-1])

# %% [markdown]
# So the answer is *sometimes*: a result in the log proves that the tool acted. A missing result proves nothing.

# %% [markdown]
# ## 2 · L2: the execution pointer
#
# Now the refund workflow in the lab. We kill it for real while its payment is under way, and open its database with
# nothing but SQL. The engine is `hybrid`: it writes an event for each call and a snapshot every few steps, so there
# is one of everything to look at.

# %%
path = Path(mkdtemp(dir=folder.name)) / "lab.db"
lab = Lab(path, engine="hybrid", policy="ledger")
killed = lab.kill(refund, case=17, at="W3")
assert killed.exit_status != 0
killed

# %%
TABLES = {
    "runs": "one header a run",
    "base_snapshots": "the whole run, now and then",
    "tail_events": "a row for each call and each step",
    "effects": "our own ledger of effects",
    "approvals": "questions to people, and their answers",
    "artifacts": "large texts, stored once",
}


def sql(query):
    """Run one query on the lab's database, read-only, and return a data frame."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return pd.read_sql_query(query, database)


# %%
tables = set(sql("SELECT name FROM sqlite_master WHERE type = 'table'").name)
assert tables == set(TABLES)
counts = {table: sql(f"SELECT count(*) AS n FROM {table}").n[0] for table in TABLES}
show(pd.DataFrame({"rows": pd.Series(counts), "holds": pd.Series(TABLES)}))

# %% [markdown]
# **The header** answers the first question of every new process: whose run is it, may it be worked on, and who works
# on it now?

# %%
header = sql("SELECT * FROM runs")
assert header.status[0] == "running"  # the process is dead; nobody told the database
show(header.T.rename(columns={0: "header"}))

# %% [markdown]
# The process is dead, and the header says `running`. A killed process cannot write "I am dead". So a status is what
# the last *living* process wrote, never a proof that somebody is working.
#
# **The snapshot** is the run itself, as JSON. Every field answers a question that a new process has. Read it line by
# line:

# %%
snapshots = sql("SELECT CAST(body AS TEXT) AS body FROM base_snapshots ORDER BY state_version")
record = json.loads(snapshots.body.iloc[-1])
questions = {
    "which run is this?": ["tenant_id", "workflow_id", "workflow_version", "run_id", "origin", "created_at"],
    "can I read it?": ["checkpoint_schema"],
    "how far is it?": ["status", "reason", "closing", "next_transition", "completed_steps", "position"],
    "what waits?": ["pending_effects", "approval"],
    "may I still write?": ["state_version", "fence"],
    "what may it still do?": ["budgets", "policy"],
    "what does it know?": ["input_refs", "data"],
}

# %%
rows = [(why, name) for why, names in questions.items() for name in names]
fields = pd.DataFrame(rows, columns=["question", "field"])
fields["value"] = [json.dumps(record[name])[:90] for name in fields.field]
assert sorted(fields.field) == sorted(record)  # no field is left out
assert record["next_transition"] == "execute_refund"
show(fields.set_index(["question", "field"]))

# %% [markdown]
# Some names need a word. `tenant_id` is the company that the run belongs to, `origin` the run that it was copied from
# (itself, if none). `closing` says that only the closing commit is missing. `fence` is a number that grows with each
# new owner: who comes with an older one may not write (notebook 07).
#
# Three of them are easily forgotten, and no chat log has them:
#
# - `next_transition`: **where to go on**. Without it a new process starts at the top, or asks a model to guess.
# - `budgets`: what may still be spent. Without it a run that crashes in a loop has an endless purse.
# - `workflow_version` and `checkpoint_schema`: **which code wrote this**. Tomorrow's code may not be able to read it.
#
# `data` is the workflow's own state. It holds what later steps need, and nothing else: here the case, the model's
# verdict, the draft and the agreed amount.

# %%
assert list(record["data"]) == list(refund.state.__struct_fields__)
data = {name: json.dumps(value) for name, value in record["data"].items()}
show(pd.DataFrame({"data": data}))

# %% [markdown]
# **The events** are the story in order. Each row is one thing that became durable: a call's answer, or a completed
# step. The answer of the model is there, word for word.

# %%
events = sql("SELECT kind, step, name, CAST(payload AS TEXT) AS payload FROM tail_events ORDER BY seq")
asked_of_models = events.query("name in ('assess_policy', 'write_draft')")
assert "is within the limit" in asked_of_models.payload.iloc[0]
show(events)

# %% [markdown]
# **The approval** is a row too, and it survives every process. The question was asked once; who may answer it stands
# beside it, and `used` counts how often a step has taken the answer.

# %%
approval = sql("SELECT role, question, status, CAST(decision AS TEXT) AS decision, used FROM approvals").T
assert approval[0]["used"] == 1
show(approval.rename(columns={0: "approval"}))

# %% [markdown]
# **The effect ledger** was written *before* the call. That is why it knows what no chat log knows: that a call may be
# under way.

# %%
effect = sql("SELECT effect_key, target, operation, request_hash, status, attempts FROM effects").T
assert (effect[0]["status"], effect[0]["attempts"]) == ("executing", 1)
show(effect.rename(columns={0: "effect"}))

# %% [markdown]
# Compare. The chat log said: "a refund was asked for". The ledger says: "**one attempt began, under this key, and no
# result has come**". The second sentence is something that a new process can act on. Here it calls again with the same
# key, the provider recognises it, and the money moves once.

# %%
run = lab.resume(killed.run_id)
paid = lab.provider(refund).query("kind == 'effect' and target == 'payments'")
assert (run.status, len(paid)) == ("completed", 1)
run

# %% [markdown]
# ## 3 · L3: the environment
#
# Some things are in no record: open connections, files on the worker's disk, a browser that is logged in, a running
# shell, and what other systems hold. That is the environment. A record can hold a *reference* to it, never the thing.
#
# Our database has the case's number, and a copy of what was read at that time:

# %%
assert record["input_refs"] == ["case:17"]
assert record["data"]["case"]["amount"] == "49.90"
lab.close()
print(record["input_refs"], "->", record["data"]["case"]["customer"], record["data"]["case"]["amount"])

# %% [markdown]
# If the price changes in the shop tomorrow, the run still pays what was agreed. Whether that is right is a decision;
# but it is a decision that the state makes visible.

# %% [markdown]
# ## 4 · Crash it: a record that points to nothing
#
# A small workflow writes a draft to a file and sends it by mail. Its state is typed, versioned and saved after each
# step. Its pointer is exact. **Predict: what does the next process do, on another machine?**


# %%
class LetterState(State):
    """Where the draft lies."""

    path: str = ""


def write_draft(call):
    """Activity: write the draft to the worker's disk and say where."""
    (scratch / "draft.txt").write_text("Dear Lena Brandt, we are sorry about the crack.", "utf-8")
    return str(scratch / "draft.txt")


def read_draft(call, path):
    """Activity: read the draft."""
    return Path(path).read_text("utf-8")


# %%
mail = {"mail": Target(capability="neither")}
letter = Workflow("letter", version="1", state=LetterState, begin=lambda: LetterState(), targets=mail)


@letter.step
def draft(ctx, state):
    """Write the draft; keep its path."""
    state.path = ctx.activity(write_draft)
    return send


@letter.step
def send(ctx, state):
    """Effect: mail the draft."""
    ctx.effect("mail", "send", {"text": ctx.activity(read_draft, state.path)})


# %% [markdown]
# The process dies right after its first step was committed. (The crash is simulated: this workflow lives in the
# notebook, and another process could not import it.) Its machine is gone, and so is its disk.

# %%
desk = Lab(":memory:", engine="snapshot")
scratch = Path(mkdtemp(dir=folder.name))  # the disk of the first worker
died = desk.kill(letter, at="draft/commit:after#1", real=False)
assert died.run.run.completed_steps == ["draft"] and died.run.run.next_transition == "send"
rmtree(scratch)
died

# %%
try:
    desk.resume(died.run_id)
except ActivityFailed as error:
    failure = error
assert "No such file" in str(failure) or "cannot find" in str(failure)
print(str(failure).replace(str(scratch), "<scratch>"))

# %%
stuck = desk.run(died.run_id)
assert stuck.run.next_transition == "send"
assert desk.provider(letter).query("kind == 'effect'").empty
stuck

# %% [markdown]
# **Explain it before you open the answer.** The messages were complete. The pointer was right. The state was typed and
# durable. What broke, and in which layer?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# L2 was restored perfectly, and it pointed into an L3 that was gone. <code>path</code> is a reference to one
# machine's disk. The step <code>draft</code> counts as completed, so no process will ever write the file again: the
# run is stuck, and resuming it a thousand times changes nothing.
#
# The rule: a completed step must leave everything that later steps need <b>in durable places</b>. Small things go
# into the state, large ones into an artifact, and files into a store that outlives the worker.
#
# </details>
#
# The repair: the activity returns the text itself, and the state keeps it. Then the same crash does no harm.


# %%
class TextState(State):
    """The draft itself."""

    text: str = ""


def compose(call):
    """Activity: the draft as text."""
    return "Dear Lena Brandt, we are sorry about the crack."


# %%
repaired = Workflow("repaired", version="2", state=TextState, begin=lambda: TextState(), targets=mail)


@repaired.step
def draft_text(ctx, state):
    """Keep the draft in the state."""
    state.text = ctx.activity(compose)
    return send_text


@repaired.step
def send_text(ctx, state):
    """Effect: mail the draft."""
    ctx.effect("mail", "send", {"text": state.text})


# %%
desk = Lab(":memory:", engine="snapshot")
died = desk.kill(repaired, at="draft_text/commit:after#1", real=False)
sent = desk.resume(died.run_id)
assert sent.status == "completed" and len(desk.provider(repaired).query("kind == 'effect'")) == 1
sent

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** A chat log ends with a tool call and no result. What do you know?
#
# - **a** The tool was not called, else there would be a result.
# - **b** The tool was called, else there would be no call.
# - **c** The call was asked for. Whether it was done, the log cannot say.
# - **d** Nothing yet, but the model can be asked what it did.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Part 1: the process can die after the tool acted and before the result is written.
# - **b** ✗ Part 1: the process can also die before the tool acts. The log is the same, byte for byte.
# - **c** ✓ One log, two banks.
# - **d** ✗ The model reads the same log. It will say something plausible.
#
# </details>
#
# **2.** The database says that a run is `running`. Is somebody working on it?
#
# - **a** Yes: a dead process would have set another status.
# - **b** No: a living process would have completed it.
# - **c** You cannot tell from that.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ SIGKILL leaves no time to write anything. In part 2 the process had been dead for a while.
# - **b** ✗ It may be busy, or wait for a slow model.
# - **c** ✓ A new owner has to claim the run, and its claim must stop the old owner's writes. That is what `fence` is
#   for.
#
# </details>
#
# **3.** Which of these may be in the state of a run, so that any process can use them? *Choose all that hold.*
#
# - **a** the amount that was agreed
# - **b** the path of a file on the worker's disk
# - **c** the number of the order
# - **d** a session that is logged in at a supplier
# - **e** the receipt of a payment
#
# <details><summary>Answer</summary>
#
# - **a** ✓ Plain data that later steps need.
# - **b** ✗ It can be stored, and it points into one machine's L3. Part 4 broke on it.
# - **c** ✓ A reference to something that outlives the worker.
# - **d** ✗ L3. Keep which supplier and which account it was, and log in again.
# - **e** ✓ It is the evidence that the payment was made.
#
# </details>
#
# **4.** Both are lists of effects. Why is our effect ledger L2, and the provider's ledger L3?
#
# - **a** Ours is restored by the next process together with the pointer. Theirs we can at most ask.
# - **b** Ours is more accurate.
# - **c** Theirs is on another machine, and L3 means: on another machine.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ Ours is committed in our database. Theirs can never be rolled back by us.
# - **b** ✗ On the contrary: ours says `executing`, theirs knows what happened.
# - **c** ✗ A scratch file on our own machine is L3 as well. What counts is whether the record holds it.
#
# </details>
#
# **5.** Somebody proposes to pickle the whole agent object, "then everything is saved". What goes wrong?
# *Choose all that hold.*
#
# - **a** Connections and open files cannot be saved that way.
# - **b** Nothing says which version of the code can read the bytes.
# - **c** To load them is to run whatever the bytes say.
# - **d** Messages get lost.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ They are L3, whatever the format.
# - **b** ✓ The record in part 2 has `workflow_version` and `checkpoint_schema` for that.
# - **c** ✓ That is how unpickling works. The lab stores typed JSON.
# - **d** ✗ Messages are plain data, and would survive. They were never the hard part.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("01_state")

# %% [markdown]
# ## What real stacks do
#
# - **OpenAI Agents SDK**: a session stores the items of a conversation and puts them before the next turn
#   ([*Sessions*](https://openai.github.io/openai-agents-python/sessions/)). That is L1.
# - **LangGraph** saves a checkpoint of the graph's state at every super-step, with the nodes that come `next`
#   ([*Persistence*](https://docs.langchain.com/oss/python/langgraph/persistence)). That is L1 and L2.
# - **Temporal** keeps an event history of the workflow and finds the pointer by replaying the code
#   ([*Event History walkthrough*](https://docs.temporal.io/encyclopedia/event-history/event-history-python)). That is
#   L2.
# - **DBOS** keeps a workflow's input and each step's output in a database
#   ([*How Workflows Work*](https://docs.dbos.dev/explanations/how-workflows-work)). That is L2.
#
# None of them restores L3, and none claims to. What your tools touched is yours to find again.

# %% [markdown]
# ## Where the idea comes from
#
# - What a process has to save so that another can go on, and why what it sent to others is the hard part: E. N.
#   Elnozahy, L. Alvisi, Y.-M. Wang and D. B. Johnson, [*A Survey of Rollback-Recovery Protocols in Message-Passing
#   Systems*](https://doi.org/10.1145/568522.568525), ACM Computing Surveys 34(3), 2002. Their *outside world* is our
#   provider.
# - Saying in advance which state belongs to a computation: the *process pair* of J. Gray, *Why Do Computers Stop and
#   What Can Be Done About It?*, Tandem Technical Report 85.7, 1985.
#
# **Next:** notebook 02 kills one effect at each of its five moments.
