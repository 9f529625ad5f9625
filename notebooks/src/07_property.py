# ---
# jupyter:
#   labkit:
#     minutes: 35
#     prerequisites: notebook 06
#     outcome: state recovery as a property, find and replay the crash that breaks it, and name the bounds
# ---

# %% [markdown]
# # Recovery as a property: every crash, not the one you thought of
#
# **35 minutes.** You need: notebook 06 (effects).
#
# So far we chose a crash and looked. Whoever chooses, chooses what they expect. The crash that costs money is the one
# that nobody thought of.
#
# This notebook turns the question round. We write down what must *always* hold, and let the machine look for a crash
# that breaks it. **If it finds none, what do we know then?**

# %% [markdown]
# ## What you will be able to do
#
# - say what a schedule, an invariant and a counterexample are;
# - let every schedule of one or two crashes be explored, and read the report;
# - save a counterexample, replay it, and prove that a repair works;
# - name the bounds of what was explored, and what lies outside them.

# %% [markdown]
# ## Predict before you run
#
# In part 4 you meet a recovery that somebody wrote with care. Every single crash of a refund is tried, at every place
# where a process can die, and nothing breaks: no duplicate, no loss.
#
# **Is it safe as well if the recovery itself crashes?** `"yes"` or `"no"`?

# %%
prediction = "?"

# %% [markdown]
# ## 1 · Schedules
#
# A process can die anywhere. But it makes a difference only where something durable has changed: a commit in our
# database, or something that the provider did. The lab puts a *tap* at each of these places, just before and just
# after.
#
# Here are the taps of one undisturbed refund:

# %%

import pandas as pd

from labkit import explore, refund
from labkit.lab.judge import judged
from labkit.scenario import Scenario
from labkit.scratch import scratch_folder
from labkit.sim.lives import Simulation, first_life

pd.options.display.max_colwidth = 110
folder = scratch_folder()

# %%
life = first_life(Simulation(Scenario(workflow=refund, inputs={"case": 17})))
taps = list(map(str, life.taps))
print(len(taps), "taps, for example", ", ".join(taps[-6:-3]))

# %% [markdown]
# A *schedule* says at which taps one process after another dies. `["execute_refund/call:executed#1"]` is a schedule:
# the first process dies in W3, the second one runs to its end. `explore` tries them all. Each time a new process
# starts from what the dead one left, on a real SQLite database.


# %%
def told(found):
    """Return a report or a counterexample as text, one part a line."""
    return str(found).replace("; ", "\n    ").replace(" -> ", "\n    ").replace(", then at", "\n    then at")


one = explore(refund, engine="hybrid", policy="ledger", crashes=1)
assert one.schedules == len(taps)
print(told(one))

# %% [markdown]
# As many schedules as taps: none is left out. With two crashes the second process may die as well, at any of *its*
# taps:

# %%
two = explore(refund, engine="hybrid", policy="ledger", crashes=2)
assert two.schedules > 20 * one.schedules and two.recoveries < two.schedules / 2
print(told(two))
print(f"{two.recoveries:,} processes had to be run for this")

# %% [markdown]
# Fewer processes than schedules: crashes that leave the same rows have the same future, so it is lived only once.

# %% [markdown]
# ## 2 · Invariants
#
# What is looked for? The lab has a list of rules. Each is a function of what can be seen from outside: our database,
# our effect ledger and the provider's ledger ([`labkit/check/invariants.py`](../labkit/check/invariants.py)). None
# of them knows which engine or policy was at work.

# %%
from labkit.check.invariants import INVARIANTS

pd.Series(list(INVARIANTS), name="what must hold").to_frame()

# %% [markdown]
# A report has one of three verdicts:

# %%
pairs = [("bare", "neither"), ("ledger", "neither"), ("ledger", "dedup")]
verdicts = [explore(refund, policy=policy, provider=provider).verdict for policy, provider in pairs]
assert verdicts == ["invalid", "unknown", "valid"]
pd.DataFrame({"policy and provider": map(" / ".join, pairs), "verdict": verdicts})

# %% [markdown]
# *invalid*: a rule is broken. *valid*: none is. *unknown*: none is, but somewhere an effect was left to a person, and
# nobody can say yet how that ends. **Unknown is not a weak kind of valid.** It is a different answer.

# %% [markdown]
# ## 3 · Break an engine
#
# A checker that never complains is worthless until you have seen it complain. So break something on purpose.
#
# Somebody adds the field `budgets` to the run: how much it may still spend. They forget to read it back. An engine is
# known by its name, so ours gets a name of its own:

# %%
from msgspec.structs import replace

from labkit.engines import ENGINES, SnapshotEngine


# %%
class Forgetful(SnapshotEngine):
    """Reads everything back but the budgets."""

    name = "forgetful"

    def load(self, run_id):
        run, tail = super().load(run_id)
        run.budgets = replace(self.codec.workflow.budgets)  # as in a new run
        return run, tail


ENGINES["forgetful"] = Forgetful

# %%
report = explore(refund, engine="forgetful")
assert not report.ok
print(told(report.counterexample))

# %% [markdown]
# Found, and named: after the crash the run may spend again what it has already spent. An agent with this bug spends
# without limit if it only crashes often enough.
#
# Look closer. The checker did not complain about *every* crash:

# %%
[(rule, times)] = report.violations.items()
print(f"{rule}: broken in {times} of {report.schedules} schedules")
assert rule == "the recovered result equals that of a fault-free run" and 0 < times < report.schedules

# %% [markdown]
# Why not in the others? The result is compared with a run without a crash. But *that* run waits for the manager, and
# is loaded again afterwards: by the same broken engine. What it forgot by then, it forgot in both. **A reference
# that is made by the code under test shares its faults.** That is why there are nine rules and not one.

# %% [markdown]
# ## 4 · Break a policy, so that one crash does not show it
#
# Here is the recovery from the prediction. It finds an effect that is `executing`. First it tidies up: back to
# `planned`. Then it asks the provider. If the refund is there: fine, confirm it. If not, go the usual way.

# %%
from labkit.effects import ledger
from labkit.effects.policies import POLICIES, Ledger


# %%
class TidyFirst(Ledger):
    """Sets an unfinished effect back to planned, then asks the provider about it."""

    name = "tidy-first"

    def perform(self, fx):
        """Perform the effect, or find that it was performed."""
        entry = ledger.find(fx.store, fx.order.key)
        if entry and entry.status == "executing":
            with fx.store.transaction(f"{fx.step}/cleared") as tx:
                entry = ledger.cleared(tx, entry)
            return ask(fx, entry) or super().perform(fx)
        return super().perform(fx)


# %%
def ask(fx, entry):
    """Look the effect up at the provider and confirm it; return its receipt, or None when it is not there."""
    receipt = fx.world.lookup(entry.target, entry.effect_key, f"{fx.step}/lookup")
    if receipt:
        with fx.store.transaction(f"{fx.step}/confirm") as tx:
            fx.settle(tx, receipt)
            ledger.confirmed(tx, ledger.executing(tx, entry), receipt)
    return receipt


POLICIES["tidy-first"] = TidyFirst

# %% [markdown]
# Every single crash, with a provider that can be asked:

# %%
once = explore(refund, policy="tidy-first", provider="lookup", crashes=1)
assert once.ok and once.verdict == "valid"
print(told(once))

# %% [markdown]
# Valid. It is tempting to stop here. Now two crashes:

# %%
report = explore(refund, policy="tidy-first", provider="lookup", crashes=2)
assert not report.ok
print(f"Safe? {judged(prediction, 'no')}\n\n{told(report)}\n\n{told(report.counterexample)}")

# %% [markdown]
# A *counterexample*: a schedule that breaks a rule, as short as possible. It is data, so it can be saved, sent to a
# colleague, attached to a bug report, and kept as a test for ever.

# %%
from labkit.sim.counterexample import Counterexample
from labkit.sim.simulate import replay

path = report.counterexample.save(folder.name + "/paid-twice.json")
print(path.read_text("utf-8"))

# %% [markdown]
# Replayed, it breaks the same rules again, each time, on each machine:

# %%
found = Counterexample.load(path)
story = replay(found)
assert story.violations == found.violations
for process in story.processes:
    print("died at", process.crashed, process.window) if process.crashed else print("ran to its end")

# %% [markdown]
# And it can be looked at: open the file in the timeline. Both crashes are set; move them, and see which other pairs
# of places break it too. (In a terminal, a counterexample of the lab's own policies is replayed by `labkit replay
# FILE`.)

# %%
from labkit.widgets import CrashTimeline

opened = CrashTimeline.of_counterexample(path)
assert "DUPLICATE" in opened.to_text()
opened

# %% [markdown]
# Explain it before you read on. Each process did something reasonable.
#
# ### What happened
#
# The first process called and died. The second one wrote `planned`, and died before it could ask. The third one read
# `planned`: *never tried*. So it called, as it may.
#
# The second process had destroyed the only evidence that somebody may have called. **Never overwrite what you know
# before you have what replaces it.** The repair is to swap two lines: ask first, and write only what the answer says.
# That is what the lab's own `reconcile` does.


# %%
class AskFirst(Ledger):
    """Asks the provider, and only then changes what the ledger says."""

    name = "ask-first"

    def perform(self, fx):
        """Perform the effect, or find that it was performed."""
        entry = ledger.find(fx.store, fx.order.key)
        if entry and entry.status == "executing":
            return ask(fx, entry) or super().perform(fx)
        return super().perform(fx)


POLICIES["ask-first"] = AskFirst

# %%
fixed = explore(refund, policy="ask-first", provider="lookup", crashes=2)
assert fixed.ok
print(told(fixed))

# %% [markdown]
# The whole space again, not just the one schedule. A repair that only silences the counterexample is no repair.

# %% [markdown]
# ## 5 · Theory beside observation
#
# A second, independent check: [`labkit/check/theory.py`](../labkit/check/theory.py) says what *should* follow from
# each crash. It is a small table of rules, written from the protocols. It has never seen an engine.

# %%
from labkit.check.theory import RULES

pd.DataFrame({f"{policy} / {provider}": rules for (policy, provider), rules in RULES.items()}).T

# %% [markdown]
# Each schedule is compared with it: was it duplicated, ambiguous, untracked, lost, were calls repeated, exactly where
# theory says so? For our own engines the two never disagree (notebook 06 counted). Now swap the ledger for one that
# begins each effect with a clean slate, under the old name, so that theory expects a ledger:

# %%
from unittest.mock import patch


class CleanSlate(Ledger):
    """Drops the old row, then does as the ledger does."""

    def perform(self, fx):
        with fx.store.transaction(f"{fx.step}/intent") as tx:
            tx.execute("DELETE FROM effects WHERE effect_key=?", fx.order.key)
        return super().perform(fx)


# %%
with patch.dict(POLICIES, ledger=CleanSlate):
    swapped = {name: explore(refund, provider=name) for name in ("dedup", "lookup", "neither")}
seen = {name: {"verdict": each.verdict, "unexpected": each.unexpected} for name, each in swapped.items()}
pd.DataFrame(seen).T

# %%
assert swapped["dedup"].ok and swapped["dedup"].unexpected == 0
assert not swapped["neither"].ok and swapped["neither"].unexpected > 0
first = swapped["neither"].disagreements[0]
print("died at", *first["schedule"], first["window"], "\ntheory and observation differ in:", *first["differs"])

# %% [markdown]
# Two things to see. With *neither*, theory objects in places where no rule is broken: a W2 that should have stopped
# and did not. It went well by luck, and theory does not accept luck.
#
# With *dedup*, nobody objects at all. The provider covers the bug. You would find it on the day you change the
# provider. **What you test must include the worst world you may meet.**

# %% [markdown]
# ## 6 · The bounds
#
# Each report says what it covers: all schedules of so many crashes, of *this* workflow on *this* engine, policy and
# provider. Another engine or policy passes other taps, so what holds for one says nothing about the other:

# %%
pairs = [(engine, policy) for engine in ("snapshot", "hybrid") for policy in ("bare", "ledger", "outbox")]
places = {" / ".join(pair): explore(refund, engine=pair[0], policy=pair[1]).schedules for pair in pairs}
assert len(set(places.values())) == len(pairs)
pd.Series(places, name="places to die").to_frame()

# %% [markdown]
# Here they are all at once: three engines, four policies, three kinds of provider, every single crash. Where the
# engines agree, one cell stands for all three; what differs stands below. **Look for the rows that have nothing but
# ✓**, and at what their providers have in common. Then choose any other cell: it opens a crash that ended so, below
# the table. (*Unseen*: executed once, and until recovery only the provider knew of it. The broken parts from above
# stay out.)

# %%
from labkit.matrix import matrix
from labkit.widgets import MatrixTable

ours = {"engines": ("snapshot", "event-sourced", "hybrid"), "policies": ("bare", "keyed", "ledger", "outbox")}
every = matrix(refund, **ours, crashes=1)
assert every.schedules > sum(places.values()) and every.unexpected == 0
MatrixTable(every, chosen="hybrid/ledger/neither/W3")

# %% [markdown]
# What else lies outside?
#
# - more crashes (`labkit matrix --crashes 3` explores three);
# - other inputs: a manager who says no, a case over the limit;
# - power loss: after SIGKILL everything that was written is still there, after a power cut it may not be;
# - **two processes at once.**

# %% [markdown]
# ## 7 · Crash it without a kill: an owner that only paused
#
# A process need not die to be given up. It can *pause*: a long garbage collection, a laptop that is closed. The
# others think it is dead, and a second one takes over. Then the first wakes up, in the middle of a line.
#
# `interleave` plays this: two workers, each paused at most once, at every pair of places. The policy is the sound
# `ledger`. Each take-over raises a number, the *fencing token*, and our database refuses a write with an old number.
# **Predict: is the customer safe now, with both kinds of provider?**

# %%
from labkit.sim.interleave import interleave

both = {name: interleave(refund, policy="ledger", provider=name) for name in ("dedup", "lookup")}
counts = {name: [each.interleavings, each.refused, len(each.broken)] for name, each in both.items()}
assert both["dedup"].ok and both["dedup"].refused > 0 and both["lookup"].broken
pd.DataFrame(counts, index=["interleavings", "stale writes refused", "broke an invariant"]).T

# %% [markdown]
# Hundreds of times the old owner woke up, wanted to write, and was refused. With *dedup* nothing was broken.
#
# With *lookup* something was. And the policy is the one that has passed everything so far! Here is the plainest case:

# %%
plain = [each for each in both["lookup"].broken if each.second is None]  # the second one is never paused
broken = next(each for each in plain if "execute_refund" in each.paused_at)
assert broken.refused == 1
print("paused at", broken.paused_at, "\nwoke up  ", broken.woken_at, "of the other")
print("found    ", broken.violations[0].text, "\nand", broken.refused, "stale write was refused")

# %% [markdown]
# **Explain it before you open the answer**: the token works, the refused write proves it. How can the customer be paid
# twice?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# | | first owner | second owner | provider |
# | --- | --- | --- | --- |
# | 1 | writes `executing`, is about to call | | |
# | 2 | *paused* | takes over, asks: "is it there?" | "no" |
# | 3 | | calls, confirms, goes on to the end | pays |
# | 4 | wakes up, and **calls** | | pays again |
# | 5 | wants to confirm: refused | | |
#
# The token guards our database. It does not guard the bank. In line 2 the answer "no" was true, and no longer true in
# line 4.
#
# </details>
#
# Is it rare? Ask where the first owner has to be paused:

# %%
places = [each.paused_at for each in plain]
assert all(place.endswith(("attempt:after#1", "call:before#1")) for place in places)
print(*places, sep="\n")

# %% [markdown]
# Only between "about to call" and the call itself. That is W2, again. No ledger of ours can close this hole. Two
# things can: a provider that *recognises* the key, as the line *dedup* shows, or one that takes the fencing token
# along and refuses old numbers.

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** Exploration with two crashes found nothing. What do you know?
#
# - **a** The workflow is safe.
# - **b** No schedule of up to two crashes breaks a rule on the list, for this workflow, input, engine, policy and
#   provider.
# - **c** Three crashes will not break it either.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Part 6 lists what lies outside: other inputs, power loss, two processes at once.
# - **b** ✓ Not more. And only if you have seen the same check complain about something broken.
# - **c** ✗ One crash was not enough to show the bug of part 4. Two may not be enough for another.
#
# </details>
#
# **2.** The verdict is *unknown*. What does it mean?
#
# - **a** The exploration ran out of time.
# - **b** It is valid, but less certain.
# - **c** No rule is broken, and somewhere an effect was left to a person.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ All schedules within the bounds were tried.
# - **b** ✗ It is another answer: how it ends depends on what a person will say.
# - **c** ✓ Nobody can say yet how that ends.
#
# </details>
#
# **3.** Which line of `TidyFirst` was the mistake?
#
# - **a** It asks the provider.
# - **b** It writes `planned` before it has asked.
# - **c** It calls when the provider does not know the effect.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ That is right. Its repair asks as well.
# - **b** ✓ It overwrote the only evidence that somebody may have called, before it had a better one.
# - **c** ✗ With an answer "not there" it may. The trouble was a process that never got to ask.
#
# </details>
#
# **4.** A test raises an exception at each tap, in place of a kill. What may it miss?
#
# - **a** nothing, in both cases the rest of the code does not run
# - **b** recoveries that work only because a `finally` block ran
# - **c** crashes in W3
#
# <details><summary>Answer</summary>
#
# - **a** ✗ After an exception, `finally` and `except` blocks do run.
# - **b** ✓ They pass the test, and fail in the night. After SIGKILL no block runs.
# - **c** ✗ W3 can be hit either way. What runs afterwards differs.
#
# </details>
#
# **5.** `CleanSlate` was *valid* with a provider that recognises keys. What follows? *Choose all that hold.*
#
# - **a** The provider covers the bug.
# - **b** The bug shows when the provider is changed.
# - **c** It is no bug as long as this provider stays.
# - **d** Tests should include a provider that can do neither.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ The repeated call came with a known key.
# - **b** ✓ With *neither* it paid twice.
# - **c** ✗ The day its keys expire, it is another provider. And the row that was dropped is missing for people, too.
# - **d** ✓ Test in the worst world that you may meet.
#
# </details>
#
# **6.** In part 7 a paused owner paid a second time. What would have helped? *Choose all that hold.*
#
# - **a** a shorter lease (the time after which an owner counts as dead)
# - **b** a provider that recognises the effect key
# - **c** a provider that takes the fencing token along and refuses old ones
# - **d** checking the lease right before the call
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It makes take-overs more frequent. The pause fits in all the same.
# - **b** ✓ The line *dedup* in the table: nothing was broken.
# - **c** ✓ Then the token guards the bank as well, and not our database only.
# - **d** ✗ Between the check and the call there is a moment, and a pause fits into it.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("07_property")

# %% [markdown]
# ## What real stacks do
#
# - **Temporal** has a `Replayer`: it replays recorded histories against new code, so that a change that would not fit
#   old runs is found before it is deployed
#   ([API, *Replayer*](https://python.temporal.io/temporalio.worker.Replayer.html)). That checks determinism, not
#   effects.
# - **FoundationDB** runs the real database in a deterministic simulation with injected faults
#   ([*Simulation and Testing*](https://apple.github.io/foundationdb/testing.html)); **TigerBeetle** does so in its VOPR
#   ([*HACKING.md*](https://github.com/tigerbeetle/tigerbeetle/blob/0fe3b5b2df1ab99d0c21c03c4738c0dbde5e1342/docs/internals/HACKING.md)).
# - **Jepsen** runs real clusters, injects faults, and checks whether the history of operations makes sense
#   ([github.com/jepsen-io](https://github.com/jepsen-io/jepsen)).
#
# For your own workflow: `labkit matrix --workflow your_module:workflow`.

# %% [markdown]
# ## Where the idea comes from
#
# - Properties instead of examples: K. Claessen and J. Hughes, [*QuickCheck*](https://doi.org/10.1145/351240.351266),
#   ICFP 2000.
# - Making what fails as small as possible: A. Zeller and R. Hildebrandt, [*Simplifying and Isolating Failure-Inducing
#   Input*](https://doi.org/10.1109/32.988498), IEEE TSE 28(2), 2002.
# - Invariants: C. A. R. Hoare, [*An Axiomatic Basis for Computer Programming*](https://doi.org/10.1145/363235.363259),
#   CACM 12(10), 1969.
# - Few preemptions find most bugs of concurrent programs: M. Musuvathi and S. Qadeer, *Iterative Context Bounding for
#   Systematic Testing of Multithreaded Programs*, PLDI 2007.
# - Pauses and fencing tokens: M. Kleppmann, *How to do distributed locking*,
#   [martin.kleppmann.com](https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html), 2016.
#
# **Next:** break something yourself. The lab's own collection of broken parts is in
# [`tests/mutants`](../tests/mutants): pick one, guess the schedule, then let it be found.
