# ---
# jupyter:
#   labkit:
#     minutes: 30
#     prerequisites: notebooks 00 and 01
#     outcome: place a crash in one of the five windows of an effect, and say who knows what and what may be done
# ---

# %% [markdown]
# # The five crash windows
#
# **30 minutes.** You need: [notebook 00](00_start.ipynb) and [notebook 01](01_state.ipynb). No account, no key, no
# network.
#
# "It crashed during the payment" is not precise enough. *During* is five different moments. After two of them money
# moves twice, and nobody sees it. This notebook kills a real process in each.

# %% [markdown]
# ## What you will be able to do
#
# - name the five windows of an effect and find them in any program;
# - say, for each, what our database knows and what the provider knows;
# - show that two windows are dangerous on *every* engine, and say why exactly these two;
# - recognise the same trouble when no process dies at all.

# %% [markdown]
# ## Predict before you run
#
# The policy is `bare`: just call. The snapshot engine saves the state after each step. A process pays back 49.90 EUR
# and dies in one of five moments. A new process carries on to the end.
#
# **How often is the customer paid in the end?** Write 0, 1 or 2 for each window.
#
# | window | the process dies |
# | --- | --- |
# | W1 | before it notes that it is about to call |
# | W2 | after that, before the call arrives |
# | W3 | after the provider acted, before its reply arrives |
# | W4 | with the reply in hand, before it is saved |
# | W5 | after the result is saved |

# %%
prediction = {"W1": "?", "W2": "?", "W3": "?", "W4": "?", "W5": "?"}

# %% [markdown]
# ## 1 · Where the windows are
#
# A *tap* is a named place in a run. A store transaction taps before and after its commit. A provider call taps
# before, when it was executed, and after. Nothing else taps, so these are all the places where a crash can make a
# difference that somebody else can see.
#
# Here is an undisturbed run. Look at the step `execute_refund`.

# %%
import inspect
from tempfile import mkdtemp

import pandas as pd

from labkit import Lab, explore, refund
from labkit.effects.policies import Bare
from labkit.errors import EffectUnknown
from labkit.lab.judge import judged
from labkit.lab.tables import show
from labkit.provider.faults import Fault
from labkit.scratch import scratch_folder
from labkit.widgets import CrashTimeline, Quiz

# %%
folder = scratch_folder()
WINDOWS = list(prediction)


# %%
def new_lab(policy="bare", **more):
    """Return a lab of its own, with an empty database and an empty world, so that cells can be run again."""
    return Lab(mkdtemp(dir=folder.name) + "/lab.db", engine="snapshot", policy=policy, **more)


# %%
calm = Lab(":memory:", engine="snapshot", policy="bare")
timeline = calm.timeline(calm.start(refund, case=17, approve=True))
timeline

# %% [markdown]
# The same as a table: every tap from the commit before the payment to the commit after it, with its window.

# %%
taps = [
    (tap, window)
    for operation in timeline.lanes[0].operations
    for tap, window in zip(operation.taps, operation.windows, strict=True)
    if "execute_refund" in tap or tap == "manager_approval/commit:after#1"
]
assert list(dict.fromkeys(window for _, window in taps)) == WINDOWS
show(pd.DataFrame(taps, columns=["tap", "window"]).set_index("tap"))

# %% [markdown]
# With the policy `bare` there is no intent: the commit of the step *before* is the last thing that is noted, and
# nothing durable lies between W1 and W2. The code is as short as it can be:

# %%
source = inspect.getsource(Bare.perform)
assert "call(fx" in source and "intent" not in source
print(source)

# %% [markdown]
# ## 2 · Kill five processes
#
# Five runs of the same case, five processes, five SIGKILLs. Then we ask the two witnesses: our database, and the
# provider.

# %%
lab = new_lab()
killed = {window: lab.kill(refund, case=17, at=window, run_id=f"died-in-{window}") for window in WINDOWS}
assert [death.window for death in killed.values()] == WINDOWS
deaths = pd.DataFrame({window: dict(death.lines()) for window, death in killed.items()}).T
show(deaths[["killed", "at"]])

# %%
witnesses = pd.DataFrame(
    {
        "our database: steps done": {w: len(death.run.run.completed_steps) for w, death in killed.items()},
        "our database: next step": {w: death.run.run.next_transition for w, death in killed.items()},
        "the provider": {w: deaths.provider[w] for w in WINDOWS},
    }
)
show(witnesses)

# %% [markdown]
# **Read the columns downwards.** Our database tells two stories: W1 to W4, and W5. The provider tells two stories as
# well, and its cut is somewhere else: W1 and W2, then W3 to W5.
#
# That our database tells *one* story for W1 to W4 is meant literally. Here is all that it holds about the outcome:

# %%
stories = [death.run.run.outcome() for death in killed.values()]
assert stories[0] == stories[1] == stories[2] == stories[3] != stories[4]
acted = [any(entry.kind == "effect" for entry in death.outside) for death in killed.values()]
assert acted == [False, False, True, True, True]
known = [story == stories[4] for story in stories]
pd.DataFrame({"we know that it is done": known, "it is done": acted}, index=WINDOWS)

# %% [markdown]
# The two columns agree in W1, W2 and W5. They disagree in W3 and W4: **done, and we do not know it.** That is the
# whole problem of this course, in two rows.

# %% [markdown]
# ## 3 · Let five new processes carry on
#
# Each finds what its predecessor left. Last chance to change your prediction.

# %%
paid = {}
for window, death in killed.items():
    run = lab.resume(death.run_id)
    assert run.status == "completed"
    paid[window] = sum(entry.target == "payments" for entry in lab.evidence(run).outside)
assert paid == {"W1": 1, "W2": 1, "W3": 2, "W4": 2, "W5": 1}
print(judged(prediction, paid))

# %% [markdown]
# All five runs are *completed*. None reported an error. In two of the five, the money moved twice.
#
# Here is W4, the window that people forget. The reply *had arrived*. It was in the memory of a process that died a
# moment later:

# %%
lab.timeline("died-in-W4")

# %% [markdown]
# ## 4 · Who knows what, and what may be done
#
# | window | our database (`bare`) | the provider | right | `bare` does |
# | --- | --- | --- | --- | --- |
# | W1 | not done | not done | call | calls ✓ |
# | W2 | not done | not done | call | calls ✓ |
# | **W3** | **not done** | **done** | **do not call** | **calls ✗** |
# | **W4** | **not done** | **done** | **do not call** | **calls ✗** |
# | W5 | done | done | go on | goes on ✓ |
#
# The second column is the same in the first four rows, so **no code that reads only this column can be right in all
# of them**. To call is wrong twice. Not to call is wrong twice, the other way: the customer gets nothing.
#
# Can we at least *know that we do not know*? Yes, if we write before we call. The policy `ledger` does. Here are the
# same five windows, with what our ledger says in each. (These crashes are simulated, `real=False`: tested to leave
# the same rows.)

# %%
ledger = {}
with new_lab("ledger") as other:
    for window in WINDOWS:
        death = other.kill(refund, case=17, at=window, run_id=f"died-in-{window}", real=False)
        ledger[window] = death.effects[0].status if death.effects else "(nothing)"
assert list(ledger.values()) == ["(nothing)", "executing", "executing", "executing", "confirmed"]
MAY = {
    "(nothing)": "call: nothing was ever tried",
    "executing": "ask, or call with the same key, or stop",
    "confirmed": "go on",
}
table = pd.DataFrame({"our ledger says": ledger})
table["the next process may"] = table["our ledger says"].map(MAY)
show(table)

# %% [markdown]
# Now there are three stories instead of two. The middle one is honest: a call may be under way. It still does not say
# *which* of W2, W3 and W4 it was. To find out, somebody has to ask the provider. How that is done, and what happens
# where it cannot be asked, is the subject of notebook 06.

# %% [markdown]
# ## 5 · The same trouble without a crash
#
# W3 does not need a dead process. A reply that is lost on the network does the same. Here the provider executes the
# refund and gives no clear answer; the process lives.

# %%
lost_reply = Fault(target="payments", operation="refund", nth=1, what="fail_after")
quiet = Lab(":memory:", engine="snapshot", policy="bare", faults=[lost_reply])
try:
    quiet.start(refund, case=17, approve=True)
except EffectUnknown as error:
    unclear = error
print(unclear)

# %% [markdown]
# A timeout is *not* a "no". Predict what a plain retry does:

# %%
quiet.resume("refund-17")
again = quiet.provider(refund).query("target == 'payments'")
assert len(again) == 2
show(again[["kind", "operation", "request", "receipt_id"]])

# %% [markdown]
# Paid twice, and no process died. Retrying after a timeout *is* crash recovery, only faster.

# %% [markdown]
# ## 6 · Drag the crash along
#
# So far: one engine. Here are three, with one crash through all of them. Drag the marker with the mouse, or focus it
# and use the arrow keys: it stops once in each window of each effect, and before and after every write outside of them.
# Each engine dies at its own tap of that window; the line above the picture names them. An engine that has no such
# moment says so.
#
# The table below it is the answer for the marker's place, here W1. **Predict what it will say in W4**, on each engine.
# Then drag the marker there and press *Crash here*. In the lab, *Kill a real process* does the same to real ones; in
# the book, which has no kernel, that button is disabled.
#
# A verdict *invalid* names the rules that should hold and are broken. An effect is *untracked* when only the provider
# knows of it.

# %%
drag = CrashTimeline(refund, case=17, policy="bare", at="W1")
drag

# %% [markdown]
# The same without a hand on the mouse: the marker goes from window to window, and we count what each engine's customer
# is paid. What the widget says in W4 is what stands in this table.

# %%
moved = {}
for window in WINDOWS:
    told = CrashTimeline(refund, case=17, policy="bare", at=window, crashed=True).told()
    outside = {engine: end.timeline.outside for engine, end in told.items()}
    moved[window] = {name: sum(e.target == "payments" for e in outside[name]) for name in outside}
assert all(set(counts.values()) == {paid[window]} for window, counts in moved.items())
pd.DataFrame(moved).T

# %% [markdown]
# ## 7 · Every crash, every effect, every engine
#
# So far: one effect. The simulator takes *every* tap of the whole workflow as a crash, on the real SQLite
# store, and lets a new process recover each time. Predict: in which windows does any engine duplicate an effect?

# %%
cells = [
    {"engine": engine, "window": cell.window, "crashes": cell.schedules, "duplicated": cell.duplicated}
    for engine in ("snapshot", "event-sourced", "hybrid")
    for cell in explore(refund, engine=engine, policy="bare", crashes=1).cells
]
table = pd.DataFrame(cells).pivot(index="window", columns="engine", values=["crashes", "duplicated"])
bad, total = table["duplicated"], table["crashes"]
assert (bad.loc[["W3", "W4"]] == total.loc[["W3", "W4"]]).all(axis=None)
assert (bad.drop(["W3", "W4"]) == 0).all(axis=None)
table

# %% [markdown]
# `between` are crashes with no effect at hand. **Every crash in W3 and W4 duplicates; no crash elsewhere does; and the
# engine makes no difference.** The engine decides how much *progress* survives. It cannot save what its process never
# learned.

# %% [markdown]
# ## 8 · Crash it: and once more
#
# One crash in W3 pays twice. Now think of a worker that runs out of memory while it handles the reply: it dies, is
# restarted, and dies again at the same place. Two real kills on one run, both in W3. **Predict how often this customer
# is paid, and what the run's status will be.**

# %%
lab.close()
loop = new_lab()
first = loop.kill(refund, case=17, at="W3")
second = loop.kill(refund, case=17, at="W3")
assert first.pid != second.pid and first.window == second.window == "W3"
run = loop.resume("refund-17")
timeline, ledger = loop.timeline(run), loop.provider(refund)
loop.close()
timeline

# %%
thrice = ledger.query("kind == 'effect' and target == 'payments'")
assert (run.status, len(thrice)) == ("completed", 3)
show(thrice[["subject", "request", "receipt_id"]])
# %% [markdown]
# **Explain it before you open the answer.** Progress was saved after every step, and each process resumed exactly
# where the database said. Why is nothing there to stop a hundredth payment?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# Each process finds the same snapshot: <code>execute_refund</code> is next. Nothing durable says that it was tried
# before, so each attempt looks like the first. A crash in W3 leaves nothing about the call in our database: no receipt,
# no count of attempts. There are as many payments as deaths in W3, plus one.
#
# An intent would have left a trace. It holds the number of attempts, so that someone can stop; and a key, so that the
# provider can see that all attempts are one effect.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** With `bare`: which windows look to our database exactly like W1? *Choose all that hold.*
#
# - **a** W2
# - **b** W3
# - **c** W4
# - **d** W5
#
# <details><summary>Answer</summary>
#
# - **a** ✓ Nothing durable lies between W1 and W2. It is harmless: the world agrees with the database.
# - **b** ✓ The provider acted, and only the provider knows.
# - **c** ✓ The reply had arrived, in memory only.
# - **d** ✗ The result is committed. It is the second story that our database tells.
#
# </details>
#
# **2.** In W4 the reply had arrived. Why does that not help?
#
# - **a** It was in the memory of a process that is gone.
# - **b** The provider takes the payment back when nobody confirms it.
# - **c** The next process cannot read replies to other processes.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ A reply counts once it is committed. Between "received" and "committed" there is always a moment.
# - **b** ✗ It has done its part. The money stays where it is.
# - **c** ✗ It could, if the reply were stored. It was not.
#
# </details>
#
# **3.** A colleague marks the step as done *before* the call, "then it cannot happen twice". The process dies in W2.
# What does the customer get?
#
# - **a** 49.90 EUR
# - **b** 99.80 EUR
# - **c** nothing, in a run that says *completed*
# - **d** nothing, and the run stops with an error
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Nobody has called, and nobody will: the step is marked as done.
# - **b** ✗ Twice is what the old order did in W3 and W4. The new one never calls again.
# - **c** ✓ At most once instead of at least once. W3 and W4 are cured, and W2 is broken.
# - **d** ✗ There is no error to notice. The next process sees a step that is done.
#
# </details>
#
# **4.** With `bare`, five processes in a row die in W3, and the sixth gets through. How often is the customer paid?
#
# <details><summary>Answer</summary>
#
# - **6** ✓ Once for each death in W3, and once more. Part 8 counted 3 after two deaths.
# - **2** ✗ That is after one death. Each further one pays again: nothing tells the next process of it.
# - **5** ✗ And the sixth process? It also sees a step that was never done.
# - **1** ✗ Then somebody would have to recognise the repeats. With `bare` there is no key.
#
# </details>
#
# **5.** With `ledger`, a new process finds its effect `executing`. In which windows may the old one have died?
# *Choose all that hold.*
#
# - **a** W1
# - **b** W2
# - **c** W3
# - **d** W4
# - **e** W5
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Then the intent would not be there, and it may simply call.
# - **b** ✓ About to call, not arrived.
# - **c** ✓ Arrived, no reply.
# - **d** ✓ Reply received, not committed.
# - **e** ✗ Then the ledger would say `confirmed`.
#
# </details>
#
# **6.** An HTTP client repeats a request by itself after a timeout. In which window does it do so?
#
# - **a** in W1, since no reply means that nothing was sent
# - **b** in W2 or in W3, and it cannot know which
# - **c** in W5, since the process lives
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It was sent. What became of it is the question.
# - **b** ✓ So it is the loop of part 8, inside one process, and without any record.
# - **c** ✗ The process lives, and still it has no result. Part 5 paid twice that way.
#
# </details>
#
# **7.** One effect with `ledger`, and nobody dies. What happens first, what last? *Put them in order.*
#
# - **a** the result is committed
# - **b** the provider acts
# - **c** the intent is committed
# - **d** the reply is received
# - **e** the call is sent
#
# <details><summary>Answer</summary>
#
# - **c** ✓ Before it lies W1. From here on, our database knows that something was planned.
# - **e** ✓ Between the two lies W2: planned, and not arrived.
# - **b** ✓ From here on it has happened, and our database does not know: W3 begins.
# - **d** ✓ W4 begins: the reply is in the memory of one process.
# - **a** ✓ W5 begins: now both sides say the same.
#
# </details>
#
# </details>

# %%
Quiz.of_chapter("02_windows", measured={4: len(thrice) + 3})  # three deaths more

# %% [markdown]
# ## What real stacks do
#
# - **LangGraph** has three durability modes. `sync` writes before the next step starts, `async` while the next step
#   runs, `exit` only when the graph exits
#   ([reference, *Durability*](https://reference.langchain.com/python/langgraph/types/Durability)). The later the write,
#   the longer W4.
# - **DBOS** stores a step's output when the step has completed; on recovery it skips the steps that have an output and
#   runs the one that has none ([*How Workflows Work*](https://docs.dbos.dev/explanations/how-workflows-work)). So W3
#   and W4 of a step that calls a provider call it again.
# - **Temporal** retries an activity whose completion it did not see, and recommends that activities be idempotent
#   ([*Activity Definition*](https://docs.temporal.io/activity-definition)). The same windows, the same answer.
#
# None of this is a flaw. W3 lies between two machines, and no framework on one of them can close it alone.

# %% [markdown]
# ## Where the idea comes from
#
# - That two parties who talk over an unreliable line can never both be sure: E. A. Akkoyunlu, K. Ekanadham and R. V.
#   Huber, [*Some Constraints and Tradeoffs in the Design of Network
#   Communications*](https://doi.org/10.1145/800213.806523), SOSP 1975; told as the two generals by J. Gray, [*Notes on
#   Data Base Operating Systems*](https://doi.org/10.1007/3-540-08755-9_9), 1978.
# - That a caller whose call failed cannot know whether it was executed: A. D. Birrell and B. J. Nelson, [*Implementing
#   Remote Procedure Calls*](https://doi.org/10.1145/2080.357392), ACM TOCS 2(1), 1984.
# - Sorting calls to another machine by what they promise, an early attempt: A. Z. Spector, *Performing Remote
#   Operations Efficiently on a Local Computer Network*, CACM 25(4), 1982.
#
# **Next:** notebook 03 opens the first engine: what is in a snapshot, and what is not.
