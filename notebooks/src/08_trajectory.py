# ---
# jupyter:
#   labkit:
#     minutes: 35
#     prerequisites: notebook 06; notebook 07 helps
#     outcome: read the log of a real agent, and say what has happened in it and what a crash would do to it
# ---

# %% [markdown]
# # Reading a recorded agent: what would a crash have done?
#
# **35 minutes.** You need: notebook 06 (effects). Notebook 07 helps.
#
# Your agent has been running for months. It has never crashed at a bad moment, or nobody noticed. All that is left of
# its runs is a log: messages, tool calls, results.
#
# That is enough for two questions. **What has happened already?** The log itself may hold the accident. And what would
# have happened: **a recorded run can be crashed afterwards, at every place.** No model is asked, no tool is called.

# %% [markdown]
# ## What you will be able to do
#
# - say what has happened in a log: which calls are in doubt now, and which effects were asked for twice;
# - read a recorded trajectory as a sequence of model calls, activities and effects;
# - say which calls one crash would repeat, lose or leave ambiguous, and how many model calls would be paid again;
# - list what you have to know about each tool before you can promise anything;
# - run all this on a log of your own.

# %% [markdown]
# ## Predict before you run
#
# Three runs of a refund desk were recorded. An agent reads an order and a policy, asks the manager, pays, and writes
# a mail. Together they made 23 tool calls.
#
# **How many of the 23 must not be made twice?** A first guess now. The log comes below; in part 2 you may correct it.

# %%
prediction = "?"

# %% [markdown]
# ## 1 · What has happened?
#
# The file is [`datasets/trajectory_refund_desk.jsonl`](../datasets/trajectory_refund_desk.jsonl), in the
# chat-completions format: what a client of a tool-calling model sends and gets. One run a line. `read` returns
# turns; a turn is one answer of the model, with the calls that it asks for. `look` says what stands out, before any
# crash, and takes every call for a possible effect.

# %%
from pathlib import Path

import labkit
from labkit.scratch import scratch_folder
from labkit.trajectory.look import look
from labkit.trajectory.told import what_has_happened

datasets = Path(labkit.__file__).parents[1] / "datasets"
desk, travel = datasets / "trajectory_refund_desk.jsonl", datasets / "trajectory_travel.jsonl"
folder = scratch_folder()
print(*what_has_happened(look([desk]).happened, "call"), sep="\n")

# %% [markdown]
# One payment is **in doubt**: nobody answered in time. That is not a failure, and not a success. What the process knew
# at that moment stands in the log; what the payment service knew does not. Here is the whole run, call by call. Each
# way to end has a shape and a word of its own.

# %%
from labkit.timeline.recorded import RecordedTimeline, timelines
from labkit.trajectory.read import read

first, second, third = read(desk)
in_doubt = RecordedTimeline.of(third)
assert [beat.call[:12] for beat in in_doubt.beats if beat.mark == "in doubt"] == ["issue_refund"]
in_doubt

# %% [markdown]
# This agent did the right thing: it asked for the refunds on record before it tried again. Suppose that it had been
# hasty, and had asked for the same payment again, as a new call with a new id. Models do that, when a tool has timed
# out. We change the log accordingly:

# %%
import json

run = json.loads(desk.read_text("utf-8").splitlines()[2])
asked, timed_out = run["messages"][7:9]
again = json.loads(json.dumps(asked).replace("call_desk_19", "call_desk_99").replace("449.00", "449.0"))
paid = {"role": "tool", "tool_call_id": "call_desk_99", "content": '{"refund": "rf-70314", "status": "paid"}'}
said = {"role": "assistant", "content": "The refund is made."}
hasty = Path(folder.name) / "hasty.jsonl"
hasty.write_text(json.dumps({"id": "hasty", "messages": [*run["messages"][:9], again, paid, said]}), "utf-8")
(guessed,) = look([hasty]).happened
assert (len(guessed.in_doubt), len(guessed.questions), len(guessed.duplicates)) == (1, 1, 0)
print(*what_has_happened([guessed], "call"), sep="\n")

# %% [markdown]
# Equal twice is a **question**, not a verdict: two equal calls may both be meant (part 6). The log cannot answer it.
# You can: *one refund an order* is the **business identity** of this effect. Said so, the question becomes a finding.

# %%
(known,) = timelines([hasty], ["issue_refund"], same_effect=["issue_refund:order_id"])
assert len(known.happened.duplicates) == 1 and not known.happened.questions
known

# %% [markdown]
# Look at the ids: `call_desk_19` and `call_desk_99`. An idempotency key that is made from the id of the call protects
# each of the two calls, and pays twice. **A key protects a call; a business identity protects a customer.** No crash
# was needed for this.
#
# Now to the runs as they are, one row a call.

# %%
from textwrap import fill

import pandas as pd

from labkit import Lab, explore
from labkit.lab.judge import judged

pd.options.display.max_colwidth = 60


# %%
def calls_of(trajectory):
    """Return one row a tool call: the turn that asked for it, what was asked, and what came back."""
    rows = [
        {"turn": turn, "tool": call.name, "result": call.result, "outcome": call.outcome}
        for turn, answer in enumerate(trajectory.turns, 1)
        for call in answer.calls
    ]
    return pd.DataFrame(rows)


assert sum(len(run.calls) for run in (first, second, third)) == 23
calls_of(second)

# %% [markdown]
# Read the second run as a story. The model asks for an order that does not exist, and corrects itself. The manager
# says yes to 59 EUR. Then the model asks for **two calls in one message**: pay, and write to the customer. The
# payment is refused. The mail is out.
#
# No process died here. Keep that in mind: a crash is not the only way to tell a customer something that is not true.

# %% [markdown]
# ## 2 · Which calls change the world?
#
# Nothing in a log says so. A person has to. Here are the tools, and how often each was called. Divide them before you
# read on: which can be repeated without harm, and which not? Then correct your prediction above, if you like.

# %%
tools = pd.concat([calls_of(run) for run in (first, second, third)]).tool.value_counts()
tools.to_frame()

# %% [markdown]
# Four kinds:
#
# - `get_order`, `get_policy`, `list_cases`, `list_refunds` only *read*;
# - `ask_manager` asks a person. A second time is a nuisance, not a loss;
# - `close_case` changes something, but closing what is closed does nothing;
# - `issue_refund` and `send_mail` are *effects*. They must not happen twice.

# %%
EFFECTS = ["issue_refund", "send_mail"]
print(f"Calls that must not be made twice: {tools[EFFECTS].sum()}. {judged(prediction, tools[EFFECTS].sum())}")
assert tools[EFFECTS].sum() == 8

# %% [markdown]
# The analysis believes your list. So it refuses to start without one, and tells you what it has seen:

# %%
from labkit.errors import InvalidInput
from labkit.trajectory.report import analyse, sentences

try:
    analyse([desk], effects=[])
    raise AssertionError("this should have been refused")
except InvalidInput as error:
    print(error)

# %% [markdown]
# ## 3 · Crash it everywhere
#
# Each recorded run becomes a workflow: a step for each model call, each reading call and each effect. It plays the
# recording again, and is crashed once at every tap, on each engine and under each policy. After each crash a new
# process carries on.
#
# What can the tools do about repeats? The log does not say that either. Unless you know better, the answer is
# `neither`.

# %%
report = analyse([desk], EFFECTS)
HARMS = ["duplicated", "lost", "ambiguous"]


def table(report):
    """Return one line an engine and policy: how many effect calls came to which harm in at least one crash."""
    rows = [
        {"engine": row.engine, "policy": row.policy, **{harm: len(getattr(row, harm)) for harm in HARMS}}
        | {"schedules": row.schedules, "model calls paid again": row.model_calls_repeated.total}
        for row in report.rows
    ]
    return pd.DataFrame(rows).groupby(["engine", "policy"], sort=False).sum()


# %%
harms = table(report)
assert report.schedules == harms["schedules"].sum()
harms

# %%
print(*(fill(sentence, 96) for sentence in sentences(report)), sep="\n\n")
assert (harms["lost"] == 0).all()
assert (harms.xs("bare", level="policy")["duplicated"] == 8).all()
assert (harms.xs("ledger", level="policy")["ambiguous"] == 8).all()

# %% [markdown]
# Every single one of the eight. It is a law, not bad luck: each effect has a W3, and with tools of the kind
# *neither* W3 ends in "twice" or in "ask somebody".
#
# The engines do not differ here. They do not differ in the model calls either: when each call is a step of its own,
# one crash costs at most one. Put several calls into one step, and the snapshot engine will show it (notebook 03).

# %%
assert max(row.model_calls_repeated.max for row in report.rows) == 1
assert harms["model calls paid again"].nunique() == 1
print("one crash repeats at most one model call, with every engine and policy")

# %% [markdown]
# ## 4 · How likely is it?
#
# "In at least one crash" is not a probability. Of all places where the first run may die under `bare`, how many
# repeat something?

# %%
row = next(row for row in report.rows if (row.engine, row.policy) == ("snapshot", "bare"))
bad = {each.call: each.schedules for each in row.duplicated}
assert row.trajectory == "refund-desk-1" and sum(bad.values()) < row.schedules / 2
print(f"{bad} of {row.schedules} places")

# %% [markdown]
# Few of many. But places are not minutes. The process spends its time where it *waits*: for the model, and for the
# provider. The wait for the provider's answer is W2 and W3 together: where in it the provider acts, you do not know.
# **So a slow place is a doubtful one.** For a number, you have to measure how long your tools take.

# %% [markdown]
# ## 5 · What you have to know about each tool
#
# Now suppose that you have read the documentation of your payment service, and it takes an idempotency key. The mail
# service does not. The first run again, with what you know now:

# %%
from labkit.model import Target
from labkit.trajectory.workflow import as_workflow


def know(**capabilities):
    """Return the first run as a workflow, its tools with the capabilities that are known."""
    flow = as_workflow(first, set(EFFECTS), "neither")
    flow.targets.update({name: Target(capability=capability) for name, capability in capabilities.items()})
    return flow


# %%
known = [{}, {"issue_refund": "dedup"}, {"issue_refund": "dedup", "send_mail": "lookup"}]
doubt = [explore(know(**facts), policy="ledger") for facts in known]
assert [each.verdict for each in doubt] == ["unknown", "unknown", "valid"]
assert doubt[0].ambiguous > doubt[1].ambiguous > doubt[2].ambiguous == 0
seen = [(str(facts), each.verdict, each.ambiguous) for facts, each in zip(known, doubt, strict=True)]
pd.DataFrame(seen, columns=["what we know", "verdict", "ambiguous schedules"])

# %% [markdown]
# The first fact takes half of the doubt away, the second one all that is left, and not a line of the agent has
# changed. So this is the list to make for your own agent, tool by tool:
#
# | ask the documentation, or the vendor | if yes |
# | --- | --- |
# | does it change anything that others see? | it is an effect, else an activity |
# | is a repeat with the same arguments harmless? | treat it as an activity |
# | does it take a key from me, and for how long does it remember it? | *dedup*, within that time |
# | does it refuse a known key with other arguments? | a wrong key is found early |
# | can I ask later, by *my* key, whether it happened? | *lookup* |
# | can its effect be undone, and until when? | write down how (`compensate`) |
# | which of its errors say for certain that nothing happened? | *definite*; all others are doubt |

# %% [markdown]
# The last line matters more than it looks. Two effects failed in these runs:

# %%
ended = pd.concat([calls_of(run) for run in (first, second, third)]).query("tool in @EFFECTS")
failed = ended.query("outcome in ('failed', 'timed out')")
assert len(failed) == report.effects_failed == 2
pd.options.display.max_colwidth = 120
failed[["tool", "outcome", "result"]]

# %% [markdown]
# To the log, both are text that begins with `Error`. The first is a clear *no*. The second is a *perhaps*: nobody
# answered in time, and the words of the error are all that says so. The next call of that run shows what had become
# of it:

# %%
asked = next(call for call in third.calls if call.name == "list_refunds")
assert "paid" in asked.result
print(asked.result)

# %% [markdown]
# Paid. The agent did the right thing: it asked before it tried again. But it was the *model* that decided so, that
# time. What must always be done belongs into code.

# %% [markdown]
# ## 6 · A key made of the arguments?
#
# A tempting shortcut: no bookkeeping, the key is a digest of the tool and its arguments. The same call again, the
# same key. Look at a travel agent, [`trajectory_travel.jsonl`](../datasets/trajectory_travel.jsonl), third run. It
# books twice in the same hotel, for two guests who travel together:

# %%
trip = read(travel)[2]
bookings = [call.arguments for call in trip.calls if call.name == "book_hotel"]
pd.DataFrame(bookings)

# %%
by_stay = {(stay["hotel"], stay["arrive"], stay["leave"]) for stay in bookings}
assert len(bookings) == 2 and len(by_stay) == 1
print(f"{len(bookings)} bookings are wanted; a key of hotel and dates knows {len(by_stay)}")

# %% [markdown]
# Leave the guest out of the key, and the second booking is swallowed as a "repeat". Put everything in, and two equal
# bookings that are both wanted still become one; or the model words a note differently after a crash, and one becomes
# two. A key from the *content* guesses what was meant. Our effect key says *which* effect of *which* run it is.

# %% [markdown]
# ## 7 · Your own log
#
# Put the path of your file and the names of your effects here. Nothing leaves your machine.

# %%
MY_LOG, MY_EFFECTS = travel, ["book_hotel", "cancel_hotel"]

print(*what_has_happened(look([MY_LOG]).happened, "call"), sep="\n")

# %%
mine = analyse([MY_LOG], MY_EFFECTS, engines=["snapshot"], policies=["bare", "ledger"])
print(*(fill(sentence, 96) for sentence in sentences(mine)), sep="\n\n")
assert not mine.never_called
table(mine)

# %% [markdown]
# Real logs are untidy: cut off in the middle of a line, calls without a result, roles that nobody knows. What does
# not fit is refused, with line and field. Nothing is left out in silence, since what is left out could be the very
# call that matters:

# %%
torn = Path(folder.name) / "torn.jsonl"
torn.write_bytes(desk.read_bytes()[:-500])
try:
    read(torn)
    raise AssertionError("this should have been refused")
except InvalidInput as error:
    print(error.what)

# %% [markdown]
# In a terminal: `labkit trajectory FILE` says what has happened, `--timeline` shows each call, and
# `--effect issue_refund --effect send_mail` crashes the run everywhere; `--json` has the rows.

# %% [markdown]
# ## 8 · Crash it
#
# Back to the trip with two guests, without keys. The process dies in W3 of the first booking, and the next one carries
# on. Later in the recording, the first guest cannot come after all, and the model cancels that guest's booking.
# Predict: when the run is completed, how many rooms are booked, and how many does the agent know of?

# %%
flow = as_workflow(trip, {"book_hotel", "cancel_hotel"})
lab = Lab(":memory:", engine="snapshot", policy="bare")
killed = lab.kill(flow, at="W3", real=False)
run = lab.resume(killed.run_id)
assert run.status == "completed"
lab.timeline(run)

# %%
outside = lab.provider(flow).query("kind == 'effect'")
booked, cancelled = ((outside.target == name).sum() for name in ("book_hotel", "cancel_hotel"))
assert (booked, cancelled, run.state.receipts) == (3, 1, 3)
rooms = booked - cancelled
print(f"{booked} bookings, {cancelled} cancelled. Receipts that the agent holds: {run.state.receipts}")
outside[["subject", "target", "receipt_id"]]

# %% [markdown]
# **Stop, and explain it to somebody before you open the answer.** The run is completed. The agent cancelled what it
# knew of. Which room is left, who will pay for it, and where could anybody have seen it?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The first booking of the first guest was made by a process that died before it had the answer. The next process made
# a second one, and got *its* receipt. What the agent can cancel is what it holds a receipt of. The other room stands
# in the hotel's books only. No message, no state and no log of ours ever mentions it: an *untracked* effect.
#
# A duplicate is not always two of the same on one bill. Here it is a stranger in the books, found when nobody turns
# up.
#
# </details>
#
# With `ledger`, the run stops before the second booking, and says what to look for:

# %%
lab.close()
lab = Lab(":memory:", engine="snapshot", policy="ledger")
run = lab.resume(lab.kill(flow, at="W3", real=False).run_id)
booked = (lab.provider(flow).target == "book_hotel").sum()
assert (run.status, booked) == ("waiting_for_person", 1)
run

# %%
lab.close()

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** The analysis plays the recording and never asks a model. What can it therefore *not* show?
#
# - **a** effects that a crash repeats
# - **b** a model that takes another way after a crash, and calls other tools
# - **c** effects that stay in doubt
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It shows them: 8 of 8 with `bare`.
# - **b** ✓ What you see is the harm that is there even if the model answers as before.
# - **c** ✗ It shows them: 8 of 8 with `ledger`, as long as the tools can do nothing.
#
# </details>
#
# **2.** In your production log a payment has no result. What may you do first?
#
# - **a** Pay again: without a result it was not paid.
# - **b** Go on: it was asked for.
# - **c** Look it up at the provider.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ That is wrong after W3.
# - **b** ✗ That is wrong after W2.
# - **c** ✓ The log cannot tell W2 from W3. Only the provider can.
#
# </details>
#
# **3.** "Our payment tool is safe: the model checks for an existing refund first." What is it?
#
# - **a** a lookup, as in notebook 06
# - **b** a habit: next time the model may not check, and a gap is left between check and payment
# - **c** no use at all
#
# <details><summary>Answer</summary>
#
# - **a** ✗ A protocol is what always happens. This is what happened that time.
# - **b** ✓ Better than nothing, and not a protocol. What must always be done belongs into code.
# - **c** ✗ It did avoid a second payment in the third run.
#
# </details>
#
# **4.** The model asks for "pay" and "mail that it is paid" in one message. What is the right order?
#
# - **a** both at once, they were asked for at once
# - **b** the mail waits for the payment's outcome
# - **c** the mail first, the customer waits
#
# <details><summary>Answer</summary>
#
# - **a** ✗ In the second run the payment was refused, and the mail was out.
# - **b** ✓ Effects that depend on each other do not belong into one message.
# - **c** ✗ Then the mail tells something that is not true yet, and may never be.
#
# </details>
#
# **5.** Part 8: after crash and cancellation, how many rooms stand in the hotel's books?
#
# <details><summary>Answer</summary>
#
# - **2** ✓ Three bookings, one cancelled. One room is wanted, and one nobody knows of.
# - **1** ✗ That is what the agent believes. The first booking of the dead process is still there.
# - **3** ✗ One was cancelled: the one whose receipt the agent held.
#
# </details>
#
# **6.** A key is made of hotel and dates, "so that a repeat is recognised". What happens to the trip with two guests?
#
# - **a** Both are booked, and repeats are recognised.
# - **b** The second guest's booking is taken for a repeat of the first.
# - **c** Both are booked twice.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The two bookings have the same hotel and dates, so they have one key.
# - **b** ✓ A key from the content guesses what was meant. An effect key says which effect of which run it is.
# - **c** ✗ It is the other way round: one booking too few.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("08_trajectory", measured={5: rooms})

# %% [markdown]
# ## What real stacks do
#
# - **Chat-completions APIs** let a model ask for several calls in one message; OpenAI's can be told not to
#   ([platform.openai.com, *Function calling*](https://platform.openai.com/docs/guides/function-calling)).
# - **LangGraph**'s `ToolNode` runs the calls of one message in parallel
#   ([reference, *ToolNode*](https://reference.langchain.com/python/langgraph.prebuilt/tool_node/ToolNode)).
# - **MCP**, the Model Context Protocol, lets a tool say of itself that it only reads or may be repeated. These are
#   hints, and not to be trusted from servers that you do not trust
#   ([specification of 2025-11-25, *Tools*](https://modelcontextprotocol.io/specification/2025-11-25/server/tools)).
# - **Temporal**, **DBOS** and **Restate** make each tool call durable if you wrap it in an activity, a step or a
#   `ctx.run`. They then know *that* it was called. What the provider does with a repeat, they cannot know.

# %% [markdown]
# ## Where the idea comes from
#
# - Agents as a loop of model answers and tool calls: S. Yao et al., [*ReAct: Synergizing Reasoning and Acting in
#   Language Models*](https://arxiv.org/abs/2210.03629), ICLR 2023.
# - Recorded runs of tool-calling agents as a benchmark, with tools that change a database: S. Yao et al., *τ-bench*,
#   [arXiv:2406.12045](https://arxiv.org/abs/2406.12045), 2024.
# - Reading processes back out of logs: W. van der Aalst, *Process Mining*, 2011.
#
# **Next:** make the list of part 5 for your own agent. It is one page, and it decides more than the choice of a
# framework.
