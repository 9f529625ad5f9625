# ---
# jupyter:
#   labkit:
#     minutes: 45
#     prerequisites: notebook 02
#     outcome: choose how an effect is performed, from what its provider can do, and say when a person has to decide
# ---

# %% [markdown]
# # Effects: four ways to call, three kinds of provider
#
# **45 minutes.** You need: notebook 02 (crash windows).
#
# The last notebooks were about *our* memory: what a new process knows of the old one. This one is about the world
# outside. Money moves there, and nobody can roll it back.
#
# There are four ways to perform an effect, and three kinds of provider. **Which of the twelve pairs are safe?**

# %% [markdown]
# ## What you will be able to do
#
# - say what each of four effect policies buys, and what it costs;
# - say what a provider must be able to do before a policy can help;
# - tell a definite error from an indefinite one, and treat them differently;
# - apply the recovery decision to any effect that a dead process left behind;
# - take an ambiguous effect to its end: ask, repeat, undo, or let a person decide;
# - protect a customer where a key only protects a call.

# %% [markdown]
# ## Predict before you run
#
# | policy | what it does | |provider | what it can do about repeats |
# | --- | --- | --- | --- | --- |
# | `bare` | just calls | | `dedup` | recognises an effect key that it has seen, and answers with the first receipt |
# | `keyed` | sends an effect key along | | `lookup` | can be asked "did you do this?" by the key |
# | `ledger` | writes the intent, calls with the key, confirms | | `neither` | can do neither |
# | `outbox` | writes the intent with the state, delivers afterwards | | | |
#
# The process dies in W3: the money has moved, the answer is lost. Then the next process carries on.
#
# **In how many of the twelve pairs is the customer paid twice?**

# %%
prediction = "?"

# %% [markdown]
# ## 1 · One crash, twelve pairs
#
# The crash is simulated here, which is quicker and tested to leave the same rows as a real SIGKILL.

# %%
import re
from contextlib import suppress
from pathlib import Path

import msgspec
import pandas as pd

import labkit
from labkit import Lab, refund
from labkit.effects.policies import POLICIES
from labkit.lab.judge import judged
from labkit.model import CAPABILITIES

pd.options.display.max_colwidth = 100


# %%
def paid(lab, workflow=refund):
    """Return how often the provider has really executed the refund."""
    return list(lab.provider(workflow).query("kind == 'effect'").operation).count("refund")


def after_crash(policy, provider, window):
    """Kill a refund in a crash window, let the next process go on; return what became of the refund."""
    with Lab(":memory:", policy=policy, provider=provider) as lab:
        lab.kill(refund, case=17, at=window, effect="execute_refund", real=False)
        run = lab.resume("refund-17", approve=True)
        return "stopped" if "execute_refund" in run.run.reason else f"paid {paid(lab)}x"


# %%
ends = {provider: [after_crash(policy, provider, "W3") for policy in POLICIES] for provider in CAPABILITIES}
w3 = pd.DataFrame(ends, index=list(POLICIES))
twice = (w3 == "paid 2x").to_numpy().sum()
print(f"Paid twice in {twice} of 12 pairs. {judged(prediction, twice)}")
assert twice == 5
w3

# %% [markdown]
# Read it row by row.
#
# - `bare` is paid twice everywhere. There is no key, so nobody can recognise anything.
# - `keyed` is safe with exactly one kind of provider. **A key helps only where somebody looks at it.**
# - `ledger` and `outbox` are paid twice nowhere. Where the provider can do nothing, they *stop*.
#
# And no policy turns the last column into "paid once". That is not a gap in the lab. Nobody can.

# %% [markdown]
# ## 2 · All windows: draw the picture yourself
#
# The README of this project shows a picture of all windows. Do not believe it. `matrix` crashes the refund at *every*
# tap, with every engine, policy and provider, and recovers each time.

# %%
from labkit.matrix import matrix

report = matrix(refund, crashes=1)
cells = pd.DataFrame([msgspec.structs.asdict(cell) for cell in report.cells])
cells["word"] = "once"
cells.loc[cells["ambiguous"] > 0, "word"] = "maybe"
cells.loc[cells["duplicated"] > 0, "word"] = "twice"
print(f"{report.schedules:,} crashes; theory and observation disagree in {report.unexpected}")
assert report.unexpected == 0

# %% [markdown]
# Does the engine matter? Ask the table: is there any policy, provider and window where the three engines differ?

# %%
by_engine = cells.groupby(["policy", "provider", "window"]).word.nunique()
assert by_engine.max() == 1
print(f"{len(by_engine)} places, and the engines agree in all of them")

# %% [markdown]
# They agree. An engine decides how much *progress* survives. What happens *outside* is up to policy and provider. So
# one engine is enough for the picture. *Maybe* means: ambiguous, the run waits for a person.

# %%
WINDOWS = ["W1", "W2", "W3", "W4", "W5"]
mine = cells[cells.engine == "hybrid"].pivot(index=["policy", "provider"], columns="window", values="word")
mine = mine.loc[[(policy, provider) for policy in POLICIES for provider in CAPABILITIES], WINDOWS]
mine

# %% [markdown]
# And here is the picture of the README. Is it the same? The cell below reads it box by box.
#
# ![What one crash does to a refund, by window, policy and provider](images/windows.svg)

# %%
picture = Path(labkit.__file__).parents[1] / "notebooks" / "images" / "windows.svg"
boxes = re.findall(r'<rect class="(once|twice|maybe)"', picture.read_text("utf-8"))
assert boxes == mine.to_numpy().ravel().tolist()
assert mine.loc["ledger"].equals(mine.loc["outbox"])
print(f"all {len(boxes)} boxes are as measured here: {pd.Series(boxes).value_counts().to_dict()}")

# %% [markdown]
# Look at W2 in the rows `ledger / neither` and `outbox / neither`: *maybe*, although nothing was executed. The ledger
# says `executing`, in W2 as in W3, and the provider cannot tell which it was. **The price of never paying twice is to
# stop sometimes for nothing.**

# %% [markdown]
# ## 3 · What each policy costs
#
# Nothing is free. Count the commits of one refund that nobody disturbs:

# %%
from labkit.scenario import Scenario
from labkit.sim.lives import NOT_STORED, Simulation, first_life


def commits(engine, policy):
    """Return how many transactions one undisturbed refund commits."""
    scenario = Scenario(workflow=refund, inputs={"case": 17}, engine=engine, policy=policy)
    life = first_life(Simulation(scenario))
    return sum(tap.phase == "after" and tap.operation not in NOT_STORED for tap in life.taps)


# %%
counted = {engine: [commits(engine, policy) for policy in POLICIES] for engine in ("snapshot", "hybrid")}
counted = pd.DataFrame(counted, index=list(POLICIES))
assert (counted.loc["ledger"] - counted.loc["bare"]).to_dict() == {"snapshot": 9, "hybrid": 6}
counted

# %% [markdown]
# Three effects: on the snapshot engine the ledger costs three commits each (intent, attempt, confirm). On a hybrid
# engine it costs two: the confirmation is the same commit that records the result.
#
# A key costs nothing at all. If you do only one thing after this course, send a key.
#
# The outbox has another price. When the step runs, the effect has not happened yet, so the step cannot know the
# receipt:

# %%
receipts = {}
for policy in ("ledger", "outbox"):
    with Lab(":memory:", policy=policy) as lab:
        receipts[policy] = lab.start(refund, case=17, approve=True).state.refund_receipt
assert receipts["ledger"] == "payments-1" and receipts["outbox"].endswith("execute_refund")
receipts

# %% [markdown]
# With `outbox` the state holds the effect key instead. Whoever needs the receipt looks it up in the ledger later.

# %% [markdown]
# ## 4 · The recovery decision
#
# A new process finds an entry in the ledger. What may it do? One pure function says it, without calling anybody:
# [`labkit/effects/decision.py`](../labkit/effects/decision.py). First write down what *you* would do in each of these
# seven cases. Then run.

# %%
from msgspec.structs import replace

from labkit.effects.decision import EFFECT_STATUSES, Checkpoint, decide

left_behind = Checkpoint(
    status="running",
    effect_status="planned",
    effect_key="acme/refund/refund-17/4.execute_refund",
    attempts=1,
    max_attempts=3,
    schema_version=1,
    workflow_release="1.0.0",
    durability_mode="sync",
)

# %%
changes = {
    "as it is": {},
    "no key": {"effect_key": ""},
    "attempts spent": {"attempts": 3},
    "run closed": {"status": "completed"},
}
decided = {
    name: [decide(replace(left_behind, effect_status=status, **change)) for status in EFFECT_STATUSES]
    for name, change in changes.items()
}
pd.DataFrame(decided, index=EFFECT_STATUSES)

# %%
assert decide(left_behind) == "execute"
assert decide(replace(left_behind, effect_status="executing")) == "reconcile"
assert decide(replace(left_behind, effect_status="confirmed")) == "advance"
assert decide(replace(left_behind, effect_status="ambiguous", effect_key="")) == "stop"
print("As in the table: planned is executed, executing reconciled, confirmed passed; without a key it stops.")

# %% [markdown]
# `executing` and `ambiguous` are decided alike. A dead process cannot tell us whether it was about to call or had
# already called.
#
# `reconcile` does not say how. That depends on the provider: ask again with the same key, look the key up, or wait for
# a person ([`reconcile.py`](../labkit/effects/reconcile.py)). Here is the same crash with all three:

# %%
ends = {}
for provider in CAPABILITIES:
    lab = Lab(":memory:", policy="ledger", provider=provider)
    lab.kill(refund, case=17, at="W3", real=False)
    lab.resume("refund-17", approve=True)
    ends[provider] = lab.effects("refund-17").iloc[0][["status", "attempts", "receipt_id"]]
    if provider == "lookup":
        looked_up = lab.timeline("refund-17")
pd.DataFrame(ends)

# %% [markdown]
# *dedup* needed a second attempt, *lookup* only a question. Follow that question: in the second process there is a
# `lookup`, and no call of `refund`.

# %%
looked_up

# %% [markdown]
# Here is all of it in one picture: the boxes are what our ledger may say of an effect, the arrows what leads from one
# to the next. The process died in W3, and the provider can be asked. **Look at the way out of `executing`.** Predict
# where the same crash leads with the provider `neither`, then choose it.

# %%
from labkit.widgets import EffectStates, WaitingBoard

assert "executing > ambiguous" in EffectStates(provider="neither").to_text()
states = EffectStates(provider="lookup")
assert "executing > confirmed" in states.to_text()
states

# %% [markdown]
# And evidence that cannot be trusted is no evidence. `decide` refuses to guess:

# %%
from labkit.errors import InvalidInput

for broken in ({"effect_status": "probably"}, {"workflow_release": " "}, {"max_attempts": 0}):
    try:
        decide(replace(left_behind, **broken))
        raise AssertionError("this should have been refused")
    except InvalidInput as error:
        print(error.what)

# %% [markdown]
# ## 5 · Two kinds of error
#
# A process need not die to lose an answer. A call can fail, in two ways that must not be mixed up:
#
# - *definite*: the provider said no, and nothing happened. Wrong credentials, a bad request, a rule against it.
# - *indefinite*: no clear answer. A timeout, a broken connection, an error 500. It may have happened.
#
# A lab can be told to let the provider misbehave. Three faults at the first refund, each with `bare` and with `ledger`:

# %%
from labkit.errors import EffectUnknown
from labkit.provider.faults import Fault


def with_fault(what, policy):
    """Let the first refund fail in one way, then resume; return the status, and how often it was paid."""
    with Lab(":memory:", policy=policy, faults=[Fault("payments", "refund", 1, what)]) as lab:
        with suppress(EffectUnknown):  # `bare` has nowhere to note a doubt: the process ends with it
            lab.start(refund, case=17, approve=True)
        return f"{lab.resume('refund-17', approve=True).status}, paid {paid(lab)}x"


# %%
faults = ("refuse", "fail_before", "fail_after")
errors = {policy: [with_fault(what, policy) for what in faults] for policy in ("bare", "ledger")}
errors = pd.DataFrame(errors, index=faults)
assert errors.loc["fail_after"].tolist() == ["completed, paid 2x", "completed, paid 1x"]
assert errors.loc["refuse"].tolist() == ["failed, paid 0x", "failed, paid 0x"]
errors

# %% [markdown]
# `fail_before` and `fail_after` look the same to the caller: the same error, the same words. Only the provider knows
# that in the second case the money has moved. So a retry loop around `bare` pays twice.
#
# A refusal is never tried again, however often the run is resumed. The provider's ledger shows it:

# %%
with Lab(":memory:", faults=[Fault("payments", "refund", 1, "refuse", "policy_refused")]) as lab:
    run = lab.start(refund, case=17, approve=True)
    for _ in range(3):
        run = lab.resume(run)
    orders = lab.provider(refund).query("kind != 'activity'")
assert list(orders.kind) == ["refused"] and run.status == "failed"
run

# %% [markdown]
# The same request would get the same answer. What has to change is the request, or somebody's mind.

# %% [markdown]
# Nobody has died in this part. So trying every crash would never have found it: `explore` has to be told to let calls
# go wrong as well. It then tries six *call faults* at each effect, alone and with every single crash.
#
# Here is a step whose author has thought of time-outs: *when no answer comes, call again.* Predict which of the six
# pays twice, and whether the key helps.

# %%
from labkit import explore
from labkit.model import State, Target, Workflow


class Payout(State):
    """What the payout knows."""

    receipt: str = ""


# %%
payout = Workflow("payout", version="1", state=Payout, begin=Payout, targets={"payments": Target(capability="dedup")})


@payout.step
def pay_back(ctx, state):
    for _ in range(2):
        try:
            state.receipt = ctx.effect("payments", "refund", {"order": "A-17", "amount": 40}).id
            return
        except EffectUnknown:
            continue
    raise EffectUnknown("no answer, twice")


# %%
came = {}
for policy in ("keyed", "ledger"):
    report = explore(payout, policy=policy, call_faults="all")
    came[policy] = {cell.name: ", ".join(cell.alone) or "paid once, or refused" for cell in report.call_faults}
came = pd.DataFrame(came)
assert came.loc["time-out after", "keyed"] == "duplicated, untracked"
assert set(came.ledger) == {"paid once, or refused"}
came

# %% [markdown]
# No process died, and the customer has the money twice. The provider recognises keys, but the second `ctx.effect` is
# another effect, with a key of its own. And nobody knows of the first one: its only trace is an exception that was
# caught. With `ledger` the step never sees the doubt. It is settled below, with the same key.
#
# `provider away` is no time-out: a connection that was refused has carried nothing. The lab says so with an error of
# its own, `ProviderAway`. That one you may catch, and call again later or go another way. An `except Exception` around
# an effect catches all of them, and so has to be wrong about one.

# %% [markdown]
# ## 6 · A person decides
#
# The provider can do nothing, the process died, the run waits. You are the person. This board shows what waits, what
# each side says about it, and what you may do. **Look at the two records first**, then press a button, and *resume*.

# %%
waiting = Lab(":memory:", policy="ledger", provider="neither")
waiting.kill(refund, case=17, at="W3", real=False)
run = waiting.resume("refund-17", approve=True)
board = WaitingBoard(waiting)
assert run.status == "waiting_for_person" and "The provider has it" in board.to_text()
board

# %% [markdown]
# Here the board can look into the provider's books, since they are ours. In earnest that line is what you have to find
# out, by a call or in a list.
#
# For a doubtful effect you have three answers. Try each of them twice: after a crash in W2, where nothing has happened
# outside, and after one in W3, where the money has moved. From inside, the two runs look the same.


# %%
def resolved(window, verdict):
    """Leave the refund ambiguous, give a person's verdict, go on; return what the world and the run say."""
    with Lab(":memory:", policy="ledger", provider="neither") as lab:
        lab.kill(refund, case=17, at=window, effect="execute_refund", real=False)
        lab.resume("refund-17", approve=True)
        receipt = "found in the bank's list" if verdict == "confirmed" else ""
        lab.resolve(lab.effects("refund-17").effect_key[0], verdict, receipt)
        return f"{lab.resume('refund-17', approve=True).status}, paid {paid(lab)}x"


# %%
answers = ("confirmed", "not-done", "rejected")
persons = {window: [resolved(window, verdict) for verdict in answers] for window in ("W2", "W3")}
persons = pd.DataFrame(persons, index=answers)
assert persons.loc["confirmed", "W2"] == "completed, paid 0x"
assert persons.loc["not-done", "W3"] == "completed, paid 2x"
assert persons.loc["not-done", "W2"] == persons.loc["confirmed", "W3"] == "completed, paid 1x"
persons

# %% [markdown]
# **Look at the two wrong answers.** In W2 nothing had happened, and `confirmed` leaves the customer without money in a
# run that is *completed*. In W3 it had happened, and `not-done` pays twice. (`rejected` gives up: the run is *failed*,
# whatever had happened.)
#
# The ledger believes the person. So a person needs evidence: who looked, where, when. And one more thing: *time*. A
# call that is still on its way arrives after you have looked.

# %% [markdown]
# ### Undo
#
# Sometimes an effect should not have happened. It cannot be deleted. It can be *compensated*: by another effect.

# %%
lab = Lab(":memory:", policy="ledger")
run = lab.start(refund, case=17, approve=True)
[refund_key] = lab.effects(run).query("step == 'execute_refund'").effect_key
lab.compensate(refund_key)
outside = lab.provider(refund).query("target == 'payments'")
assert list(outside.kind) == ["effect", "compensation"]
outside[["kind", "operation", "request", "receipt_id"]]

# %% [markdown]
# Two lines, not zero. The customer saw the money come and go, and has had a mail about it. A compensation is a new
# effect, with all five windows of its own.

# %% [markdown]
# ## 7 · One customer, two keys
#
# An accident that no crash is needed for. An agent refunds an order; the confirmation times out; the agent concludes
# that the refund has failed, *plans again*, and refunds again. Both calls are in order: each has a key of its own, for
# each is an effect of its own ([`planning.py`](../labkit/cases/planning.py)). Predict: which of the four policies pays
# once?

# %%
from labkit.cases.planning import planning_again


def judged_as(workflow):
    """Explore a workflow under each policy; return how often it is paid when nothing crashes, and the verdict."""
    rows = {}
    for policy in POLICIES:
        with Lab(":memory:", policy=policy) as lab:
            alone = f"{lab.start(workflow).status}, paid {paid(lab, workflow)}x"
        rows[policy] = {"without a crash": alone, "verdict": explore(workflow, policy=policy).verdict}
    return pd.DataFrame(rows).T


# %%
unprotected = judged_as(planning_again())
assert set(unprotected["without a crash"]) == {"completed, paid 2x"}
assert unprotected["verdict"].tolist() == ["invalid", "invalid", "unknown", "unknown"]
unprotected

# %% [markdown]
# None. The lab does not know whether two equal refunds are meant: some customers do buy the same thing twice. So it is
# a *question*, with both places, and while it is open nothing is *valid*. (`bare` and `keyed` have trouble of their own
# with crashes, so they are *invalid* already.)

# %%
print(explore(planning_again()).questions[0])

# %% [markdown]
# You know what the lab cannot: one order is refunded once. Say so. The fields named in `once_per` are the **business
# identity** of the effect; two effects of one run that agree in them are one for the customer, whatever their keys.

# %%
protected = judged_as(planning_again(("order",)))
assert protected["verdict"].tolist() == ["invalid", "invalid", "valid", "valid"]
protected

# %% [markdown]
# `ledger` and `outbox` refuse the second refund, before anything is sent, and say which one it would repeat. `bare` and
# `keyed` remember nothing that could refuse; there the invariant finds it, and blames no crash:

# %%
with Lab(":memory:") as lab:
    print(lab.start(planning_again(("order",))).run.reason)
explore(planning_again(("order",)), policy="keyed").counterexample

# %% [markdown]
# **A key protects a call, a business identity protects a customer.** A key is made of the place in the run, so it
# recognises the *same* call. Whoever plans again stands at another place, and has another key.

# %% [markdown]
# ## 8 · Crash it: a careful policy, and yet
#
# A team has read all this. Their policy is `ledger`, the provider recognises keys, and each answer of the model is
# used at once, where it is needed. One step:

# %%


class Claim(State):
    """What the claim workflow knows."""

    amount: int = 0
    receipt: str = ""


def ask_model(call) -> int:
    """A model that is asked how much to pay back. Asked a second time, it is a little more generous."""
    return 45 if call.drift and call.number > 1 else 40


# %%
bank = {"payments": Target(capability="dedup")}
claim = Workflow("claim", version="1", state=Claim, begin=Claim, targets=bank)


@claim.step
def settle(ctx, state):
    state.receipt = ctx.effect("payments", "refund", {"amount": ctx.activity(ask_model)}).id


# %% [markdown]
# Kill it in W3 on the snapshot engine, with a model that answers differently when it is asked again. Predict: paid
# once, paid twice, or something else?

# %%
from labkit.errors import LabError


def carry_on(engine, policy, provider="dedup"):
    """Kill the claim in W3, let the next process try; return how it ended, and the amounts paid."""
    names = {"engine": engine, "policy": policy, "provider": provider}
    with Lab(":memory:", **names, drift=True) as lab:
        killed = lab.kill(claim, at="W3", real=False)
        try:
            end = lab.resume(killed.run_id).status
        except LabError as error:
            end = error.what
        amounts = [entry["amount"] for entry in lab.provider(claim).query("kind == 'effect'").request]
        return {**names, "paid": amounts, "end": end}


# %%
tried = ["snapshot ledger", "snapshot keyed", "snapshot keyed neither", "event-sourced ledger"]
results = pd.DataFrame([carry_on(*names.split()) for names in tried])
assert results.paid.tolist() == [[40], [40], [40, 45], [40]]
assert results.end.iloc[-1] == "completed" and results.end.iloc[1] == "failed"
results

# %% [markdown]
# **Explain each line before you open the answer.**
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The effect key says *which* effect it is, not *what* was asked for. After the crash the step began again at its top,
# and the model said 45. So the same key came with another request.
#
# 1. `ledger`: the intent holds a hash of the request. The new one does not fit, and nothing is sent. The money is
#    right, and the run is stuck until somebody looks.
# 2. `keyed`, *dedup*: the provider notices that the key comes with another amount and refuses. The run is *failed*. The
#    customer has 40.
# 3. `keyed`, *neither*: paid twice, and not even the same amount.
# 4. `event-sourced`: the answer 40 was in the journal before the call. Nothing is wrong.
#
# The cure is not in the policy. **Decide in one step, act in the next.** What was decided must be durable before
# anybody acts on it. That is why the refund workflow has a step `draft_decision` and a step `execute_refund`.
#
# </details>
#
# The repair has two steps:

# %%
fixed = Workflow("claim", version="2", state=Claim, begin=Claim, targets=bank)


@fixed.step
def propose(ctx, state):
    state.amount = ctx.activity(ask_model)
    return pay


@fixed.step
def pay(ctx, state):
    state.receipt = ctx.effect("payments", "refund", {"amount": state.amount}).id


# %%
claim = fixed
results = pd.DataFrame([carry_on("snapshot", "ledger"), carry_on("snapshot", "keyed")])
assert results.paid.tolist() == [[40], [40]] and set(results.end) == {"completed"}
results

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** Your mail provider takes no key and cannot be asked. Which policy makes sure that each mail is sent exactly
# once?
#
# - **a** `keyed`
# - **b** `ledger`
# - **c** `outbox`
# - **d** none
#
# <details><summary>Answer</summary>
#
# - **a** ✗ A key helps only where somebody looks at it.
# - **b** ✗ It never sends twice. After W2 or W3 it stops, and a person has to look.
# - **c** ✗ The same rows as `ledger`: never twice, sometimes stopped.
# - **d** ✓ Two of them are honest about it. To be safe you need another provider, or a harmless repeat.
#
# </details>
#
# **2.** A process with `ledger` dies in W2, at a provider that can do neither. Nothing has happened. Why does the next
# process stop, and not simply call?
#
# - **a** Because W2 and W3 leave the same row, `executing`.
# - **b** Because its attempts are spent.
# - **c** Because the provider is down.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ After W3 a call would pay twice. Whoever never wants that, stops sometimes for nothing.
# - **b** ✗ It was the first attempt.
# - **c** ✗ It is well, and would pay at once: this time rightly.
#
# </details>
#
# **3.** A payment provider answers with error 500. What do you know?
#
# - **a** It was not paid: an error is a no.
# - **b** It was paid, only the answer went wrong.
# - **c** Neither, unless its documentation says more.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ That would be a *definite* error. `fail_after` gives the same words, and the money has moved.
# - **b** ✗ `fail_before` gives the same words, and nothing has moved.
# - **c** ✓ *Indefinite*: something broke, before or after the money moved.
#
# </details>
#
# **4.** A provider recognises keys and forgets them after 24 hours. Your run waited for a person for three days, with a
# refund `executing`. What may the next process do?
#
# - **a** Call again with the same key.
# - **b** Look it up or ask a person, as with a provider that recognises nothing.
# - **c** Call with a new key.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The key is forgotten. To the provider this is a new order.
# - **b** ✓ For this effect it is *dedup* no longer. A capability has a date.
# - **c** ✗ That would be a new order even on the first day.
#
# </details>
#
# **5.** The decision says *stop* for an effect that is `planned` and has no key. It was never tried, so why not
# execute?
#
# - **a** A missing key means that it was tried.
# - **b** No later process could recognise that attempt.
# - **c** Its attempts are spent.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ `planned` says that it was not.
# - **b** ✓ To execute it would make an effect that nobody can reconcile.
# - **c** ✗ Attempts are counted apart from the key.
#
# </details>
#
# **6.** In part 8 the key was the same and the amount was not. What prevents it? *Choose all that hold.*
#
# - **a** deciding in one step, and acting in the next
# - **b** an engine that records the model's answer before the call
# - **c** a key that is made of the amount
# - **d** more attempts
#
# <details><summary>Answer</summary>
#
# - **a** ✓ What was decided is durable before anybody acts on it.
# - **b** ✓ The second process gets 40 from the journal and never asks again.
# - **c** ✗ Then 45 would be another key, so another effect: paid 40 and 45.
# - **d** ✗ Each attempt would bring the other amount again.
#
# </details>
#
# **7.** You are asked about an ambiguous refund, look into the bank's list, and it is not there. The process died two
# seconds ago. What is the risk of the verdict `not-done`?
#
# - **a** None, you have looked.
# - **b** The call may still be on its way, and arrive after you have looked.
# - **c** The ledger may not believe you.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ You know about the moment when you looked, and not about the next one.
# - **b** ✓ Then it is paid by the old call and by the new one. Wait as long as a call can take.
# - **c** ✗ It does believe you. That is why a person needs evidence.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("06_effects")

# %% [markdown]
# ## What real stacks do
#
# - **Stripe** recognises an `Idempotency-Key`, and refuses one that comes back with other parameters. In version 1 of
#   its API a repeat gets the first answer again, even if that was an error 500
#   ([docs.stripe.com, *Idempotent requests*](https://docs.stripe.com/api/idempotent_requests)). It sorts errors into
#   content, network and server errors, and says for each what a repeat may do
#   ([*Advanced error handling*](https://docs.stripe.com/error-low-level)).
# - **Temporal** tries every failed activity again by default; a permanent failure has to be marked as such
#   ([docs.temporal.io, *Non-Retryable Errors*](https://docs.temporal.io/design-patterns/non-retryable-errors)).
# - **Restate** does the same with its `TerminalError`
#   ([docs.restate.dev, *Error Handling*](https://docs.restate.dev/develop/ts/error-handling)), and shows
#   compensation as code ([*Sagas*](https://docs.restate.dev/guides/sagas/)).
# - **LangGraph** asks you to wrap side effects in tasks and to make them idempotent
#   ([docs.langchain.com, *Durable execution*](https://docs.langchain.com/oss/python/langgraph/durable-execution)).
#
# Keys, retries and compensation are everywhere. The row that says *nobody knows* is yours to write.

# %% [markdown]
# ## Where the idea comes from
#
# - Effects that are undone by other effects: H. Garcia-Molina and K. Salem,
#   [*Sagas*](https://doi.org/10.1145/38713.38742), SIGMOD 1987.
# - The intent beside the state, delivered afterwards: C. Richardson, *Transactional outbox*,
#   [microservices.io](https://microservices.io/patterns/data/transactional-outbox.html).
# - Which operations can be undone, and why some real actions cannot: J. Gray, *The Transaction Concept: Virtues and
#   Limitations*, VLDB 1981.
# - Why repeats must be recognised at the end that acts: P. Helland, [*Idempotence Is Not a Medical
#   Condition*](https://doi.org/10.1145/2181796.2187821), ACM Queue 10(4), 2012.
#
# **Next:** write down, for each tool that your own agent calls, which of the three columns it belongs to. Notebook 08
# needs that list.
