# ---
# jupyter:
#   labkit:
#     minutes: 40
#     prerequisites: notebooks 02 and 06; of 09 to 11 the one on your framework
#     outcome: hold a claim about a framework, or about your own code, against trials, and say how much they are worth
# ---

# %% [markdown]
# # Claims against measurements
#
# **40 minutes.** You need: notebooks [02](02_windows.ipynb) and [06](06_effects.ipynb). Of notebooks 09 to 11, the one
# on your framework. No account, no key, no network.
#
# "Steps that have completed are never executed again." "No duplicate side effects." Such sentences stand in
# documentation, in talks and in comparisons. Some are true. Some are true under a condition that the sentence does not
# name. This notebook is about telling them apart, and starts with your own code.

# %% [markdown]
# ## What you will be able to do
#
# - put your own workflow under the same kill as LangGraph, DBOS and Temporal;
# - say what *0 of 40* means, and what it does not;
# - write a claim so that a table of trials can contradict it;
# - read the verdicts *holds*, *fails*, *holds if* and *not measured*;
# - find a claim that holds, and is worth nothing;
# - say for your framework, on one page, whether you may call again after a crash.

# %% [markdown]
# ## Predict before you run
#
# 1. A cell of the table says *0 of 40 duplicated*. Up to which rate may the true one be, at 95 % confidence?
# 2. And for *0 of 2*?
# 3. A script marks each step as done, in a file, *before* it does the step. Killed in W3 of the payment and started
#    again: how often is the customer paid?

# %%
prediction = {"0 of 40": "?", "0 of 2": "?", "marked before": "?"}

# %% [markdown]
# ## 1 · Your own code under the kill
#
# The README has an example of a workflow of one's own, in fewer than twenty lines: a script that saves what it knows
# after each step. An *adapter* says how it is started, and how it goes on. This cell takes it from the README as it
# stands there.

# %%
import re
import sys
from pathlib import Path

import msgspec
import pandas as pd

import labkit
from labkit.cases.service_desk import DATASETS
from labkit.lab.stacks import apart, measured
from labkit.lab.tables import show
from labkit.scratch import scratch_folder

pd.options.display.max_colwidth = 120

# %%
readme = (Path(labkit.__file__).parents[1] / "README.md").read_text("utf-8")
[mine] = re.findall(r"```python\n((?:(?!```)[\s\S])*class MyRefund[\s\S]*?)```", readme)
assert "def start(self, desk, place)" in mine
print(mine)

# %%
folder = scratch_folder()
here = Path(folder.name)
(here / "my_refund.py").write_text(mine, "utf-8")
sys.path.insert(0, str(here))  # as if you had started in the folder of your module

# %% [markdown]
# In a terminal you would now type `labkit bench --stack my_refund:adapter`. It kills the script in each window of each
# effect, under each policy, forty times. Here it is the same call from Python, with two trials a cell, so that it takes
# seconds. Predict where `bare` repeats something.

# %%
from labkit.measure.campaign import run
from labkit.measure.plan import plan_of


def bench(stack, *policies, repeat=2):
    """Return the cells of a campaign over one stack, a row each: real kills, in a folder of its own."""
    plan = plan_of([stack], policies, repeat)
    report = apart(run, plan, here / plan.id)
    assert report.ok, report.not_run
    return report.cells


# %%
cells = bench("my_refund:adapter", "bare", "ledger")
crashes = [cell for cell in cells if cell.situation == "crash"]
counted = pd.DataFrame(
    [(cell.policy, cell.effect, cell.window, cell.duplicated.count) for cell in crashes],
    columns=["policy", "effect", "window", "repeated"],
).pivot(index=["policy", "effect"], columns="window", values="repeated")
assert (counted.loc["bare"] == [0, 0, 2, 2, 0]).all(axis=None)
assert (counted.loc["ledger"] == 0).all(axis=None)
counted

# %% [markdown]
# W3 and W4, as with every framework of the last three notebooks. The framework gives you a great deal. It does not
# give you this. Some of them repeat in W5 as well: LangGraph by default, with `exit` and in its functional API, and
# Temporal's local activities. This script, which writes before it goes on, does not.
#
# Is it the kill that does it? Under each policy there is one cell in which nothing is killed.

# %%
unharmed = [cell for cell in cells if cell.situation == "no kill"]
assert [(cell.duplicated.count, cell.lost.count, cell.statuses) for cell in unharmed] == [(0, 0, {"completed": 2})] * 2
pd.DataFrame([(cell.policy, cell.trials, cell.duplicated.count, cell.lost.count) for cell in unharmed]).set_axis(
    ["policy", "trials", "repeated", "lost"], axis="columns"
)

# %% [markdown]
# Replace `mine` by your own workflow. The desk calls the provider and is killed; how you save and go on is up to you.

# %% [markdown]
# ## 2 · What 0 of 40 means
#
# Two trials of two, or forty of forty: is that the same? A rate that was counted in n trials is known only up to an
# interval. This is Wilson's, at 95 %: the true rates that do not contradict what was seen.

# %%
from labkit.measure.report import wilson

TRIALS = (1, 2, 5, 10, 40, 100, 400)
bounds = {n: (f"below {wilson(0, n).high:.1%}", f"above {wilson(n, n).low:.1%}") for n in TRIALS}
assert round(wilson(0, 40).high, 3) == 0.088 and round(wilson(0, 2).high, 2) == 0.66
pd.DataFrame(bounds, index=["never seen: the true rate is", "always seen: the true rate is"]).T

# %% [markdown]
# **0 of 40 does not mean never.** It means: rarer than about 9 in 100. Zero of two says nearly nothing. In the last
# three notebooks most trials ran once; that was enough to *show* that something can happen, and not that it cannot.
#
# How many trials does it take to see what happens in one of ten crashes? The chance of missing it shrinks with each:

# %%
missed = {n: 0.9**n for n in TRIALS}
assert missed[5] > 0.5 and missed[40] < 0.02
pd.Series(missed, name="chance to see nothing").map("{:.1%}".format).to_frame()

# %% [markdown]
# That is why the lab takes forty by default: enough for a race that is lost one time in ten, and few enough for a
# machine on a desk. For one time in a thousand no number of kills will do. There you need a proof, or every schedule
# (notebook 07).
#
# The recorded cells of part 4 have fewer trials. So many, and this is what a zero in them is worth:

# %%
behind = measured().groupby("stack", sort=False).trials.max()
show(
    pd.DataFrame(
        [(n, ", ".join(behind.index[behind == n]), f"below {wilson(0, n).high:.0%}") for n in sorted(set(behind))],
        columns=["trials a cell", "stacks", "never seen: the true rate is"],
    )
)

# %% [markdown]
# ## 3 · A claim that can be contradicted
#
# A claim has words, and two selectors. `rows` says which measured rows bear on it. `shows` says what each of them must
# show. Here is "an effect is never made twice", held against your script:

# %%
from labkit.claims.measured import row_of_cell
from labkit.claims.verdict import Claim, judge

rows = [row_of_cell(cell, "my_refund 1") for cell in cells]


def claim(words, rows, shows):
    """Return a claim about the script of part 1."""
    return Claim(id="mine", stack="my_refund", claim=words, topic="effects", rows=rows, shows=shows)


# %%
def told(*judged):
    """Return claims with their verdicts, a row each."""
    table = [(each.claim.stack, each.claim.claim, *each[1:4], each.remark) for each in judged]
    columns = ["stack", "claim", "verdict", "rows", "trials", "condition; note"]
    return pd.DataFrame(table, columns=columns, index=[each.claim.id for each in judged])


# %%
never = claim("an effect is never made twice", "kind=cell situation=crash", "duplicated=0")
found = judge(never, rows)
assert (found.verdict, found.rows, found.condition) == ("holds if", 30, "policy is ledger")
show(told(found))

# %% [markdown]
# *Holds if*: some rows show it and others do not. The condition names a value with which every row was good. Others may
# have been good as well: here also `bare` in W1, W2 and W5. It is enough; it is not necessary. Make the claim narrower,
# and it holds or fails altogether:

# %%
CRASH = "kind=cell situation=crash"
claims = [
    claim("never twice, killed in W5", f"{CRASH} window=W5", "duplicated=0"),
    claim("never twice, killed in W3 or W4, under bare", f"{CRASH} policy=bare window=W3|W4", "duplicated=0"),
    claim("never twice, killed in W3 or W4, under any policy", f"{CRASH} window=W3|W4", "duplicated=0"),
    claim("never twice with an outbox", f"{CRASH} policy=outbox", "duplicated=0"),
]
judged = [judge(each, rows) for each in claims]
assert [each.verdict for each in judged] == ["holds", "fails", "holds if", "not measured"]
assert judged[2].condition == "policy is ledger"
show(told(*judged))

# %% [markdown]
# Look at the last one. Nobody tried an outbox, so there is no verdict, whatever one may believe of it. **No verdict
# without trials**: that is a rule of the table, not of good taste.
#
# ***Holds* means: no row contradicts it.** It is worth what its trials are worth. With 3 trials in a cell the true rate
# may still be 56 %, with 1 it may be 79 %.

# %% [markdown]
# ## 4 · What is published, and what was measured
#
# [`claims.csv`](../datasets/claims.csv) holds what is said about frameworks, each claim with its selectors.
# [`measured.csv`](../datasets/measured.csv) holds the rows that the lab has measured: **recorded** results, not of your
# machine. `labkit claims` sets one beside the other. A condition follows from the rows. What stands behind it, or
# alone, is a note, written by hand: it says what the rows do not say of themselves.

# %%
from labkit.claims.table import judged as judged_claims

published = judged_claims(DATASETS / "claims.csv", DATASETS / "measured.csv")
verdicts = pd.Series([each.verdict for each in published]).value_counts()
assert all((each.trials > 0) == (each.verdict != "not measured") for each in published)
print(f"{len(published)} claims: {verdicts.to_dict()}")

# %%
everything = told(*published)
show(everything[everything.verdict != "not measured"])

# %% [markdown]
# And this is what stands behind most of them: how often the refund was executed again, for a process that died in each
# window, with nothing added. Predict which columns are full, whatever the framework.

# %%
recorded = measured(policy="bare", situation="crash", effect="execute_refund")
lost_reply = recorded[recorded.window.isin(["W3", "W4"])]
assert len(lost_reply) and (lost_reply["duplicated"] == lost_reply["trials"]).all()
recorded["again"] = recorded["duplicated"].astype(str) + " of " + recorded["trials"].astype(str)
recorded.pivot(index="stack", columns="window", values="again")

# %% [markdown]
# W3 and W4 are full everywhere. W5 is where frameworks, and the settings of one framework, differ.
#
# Look at the claims that only *hold if*. Some left out a setting, such as the durability mode. Some speak of *every*
# framework, and one of them shows something else. And here are those that nobody here has measured. They are neither
# true nor false:

# %%
show(everything[everything.verdict == "not measured"])

# %% [markdown]
# ## 5 · Write your own claim
#
# What do you believe of a framework that you use? Write it down in words first. Then choose the rows and what they must
# show. A row has these fields; in a selector, `a|b` means either, and `_` stands for a space:

# %%
from labkit.claims.measured import COLUMNS, read

everybody = read(DATASETS / "measured.csv")
print(*COLUMNS, sep=", ")
print("stacks:", ", ".join(dict.fromkeys(row.stack for row in everybody)))

# %%
MINE = Claim(
    id="m1",
    stack="bare Python",
    claim="a script without any framework pays again, wherever it is killed after the payment",
    topic="effects",
    rows="stack=bare kind=cell policy=bare situation=crash effect=execute_refund window=W3|W4|W5",
    shows="duplicated=trials",
)
verdict = judge(MINE, everybody)
assert verdict.verdict == "holds" and verdict.trials > 0
show(told(verdict))

# %% [markdown]
# A selector that cannot be read is refused, and not guessed at. So is a field that no row has:

# %%
from labkit.errors import InvalidInput

try:
    judge(msgspec.structs.replace(MINE, shows="doubled=0"), everybody)
    raise AssertionError("this should have been refused")
except InvalidInput as error:
    print(error)

# %% [markdown]
# ## 6 · The answer on one page
#
# A process has died. **May you call again?** Look at the last thing that was recorded of the call, and at what its
# provider can do. The payment recognises a key. The ticket can be looked up. The mail can do neither. The numbers are
# the recorded trials of the six variants below, killed where nothing was recorded of a call that had been made: W3 and
# W4.

# %%
from labkit.claims.answers import after_a_crash, call_again

rule = pd.DataFrame(call_again(everybody)).fillna("")
assert rule["with a ledger"][1:].str.startswith("0 of").all()
show(rule).hide()

# %% [markdown]
# *No result* does not say that nothing was called. *The result* is on record sooner with some variants than with
# others, and the rest of the answer differs, too. A count is of recorded trials: the payment, with nothing added. What
# has none comes from the notebook in brackets.

# %%
show(pd.DataFrame(after_a_crash(everybody)).T)

# %% [markdown]
# What does not fit into a cell:
#
# - **LangGraph.** Whoever restarts must ask first whether there is a checkpoint. Input means *begin* [09].
# - **DBOS.** Without a pinned version, changed code leaves old runs `PENDING`, and says nothing. With one name for all
#   steps, an inserted step gets the result of another [10].
# - **Temporal.** *Error* here means that the run waits for code that fits. Other arguments are not noticed. An id
#   protects a run that is under way; a finished one is started anew unless you set the reuse policy [11].
# - **All.** A key helps where the provider recognises it. For the rest, write down before you call, and look before you
#   call again: that is the ledger of notebook 06.

# %% [markdown]
# ## 7 · Crash it
#
# "Our script never pays twice." There is a short way to make that true: mark the step as done *before* it is done. Two
# lines change places. Under `bare`, with no key and no ledger. **Predict** the verdict on the claim of part 3, *an
# effect is never made twice*, and what the customers will say.

# %%
do = "                facts |= desk.do(step, facts)\n"
mark = "                done.append(step)\n                file.write_text(json.dumps([done, facts]))\n"
assert do + mark in mine
(here / "eager.py").write_text(mine.replace(do + mark, mark + do), "utf-8")
eager = [row_of_cell(cell, "eager 1") for cell in bench("eager:adapter", "bare")]
promised = judge(never, eager)
assert (promised.verdict, promised.condition) == ("holds", "")
show(told(promised))

# %%
killed = [row for row in eager if row.situation == "crash" and row.effect == "execute_refund"]
fields = ["window", "trials", "duplicated", "lost", "other_lost", "false_finish"]
lost = pd.DataFrame([[getattr(row, field) for field in fields] for row in killed], columns=fields).set_index("window")
assert list(lost.lost) == [2, 2, 0, 0, 0] and list(lost.other_lost) == [0, 0, 0, 0, 2]
assert list(lost.false_finish) == [2, 2, 0, 0, 2] and (lost["duplicated"] == 0).all()
lost

# %% [markdown]
# **Explain it before you open the answer.** The claim holds in every trial, and it is a true sentence. Would you use
# this script?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# In W1 and W2 the payment is marked, and nobody has called. The next process sees a step that is done, goes on, and
# says
# <em>completed</em>. The customer gets nothing: column <code>lost</code>, and <code>false_finish</code>, since the run
# says that all is well. In W5 the payment is made, and the next step, the mail, is already marked: so the mail is lost.
# A cell counts its own effect, the one at which the process was killed, apart from the others: column
# <code>other_lost</code>.
#
# At least once became at most once. The claim looked at one side only. "Never twice" is easy: never call. Whoever
# claims one side has to be asked for the other, and a claim worth having names both: <code>duplicated=0 lost=0</code>,
# and the same of the other effects.
#
# </details>
#
# The same claim with its other half, for both scripts:

# %%
once = "duplicated=0 lost=0 other_duplicated=0 other_lost=0"
both = msgspec.structs.replace(never, claim="an effect is made exactly once", shows=once)
ledger = [row for row in rows if row.policy == "ledger"]
scripts = {"saved after": rows, "saved after, with a ledger": ledger, "marked before": eager}
honest = {name: judge(both, found) for name, found in scripts.items()}
assert [each.verdict for each in honest.values()] == ["holds if", "holds", "holds if"]
show(pd.DataFrame(list(honest.values()), index=list(honest)).drop(columns="claim"))

# %% [markdown]
# Neither order of the two lines is right. With the ledger it holds; and where nobody can know, after a lost reply of
# the mail server, the run stops and says so. That is a column, too:

# %%
asks = [(row.effect, row.window) for row in ledger if row.open and row.situation == "crash"]
assert {effect for effect, _ in asks} == {"send_mail"}
asks

# %%
sys.path.remove(str(here))
folder.cleanup()

# %% [markdown]
# ## Check yourself
#
# Run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** A cell says: duplicated in 0 of 40. What may you write?
#
# - **a** It never duplicates.
# - **b** It was not seen to duplicate; a rate above 9 % would contradict that.
# - **c** It duplicates in fewer than one of forty crashes.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Forty trials cannot say never.
# - **b** ✓ It is the upper end of the interval.
# - **c** ✗ One of forty is 2.5 %. With a true rate of 5 %, one table in eight says 0 of 40.
#
# </details>
#
# **2.** In part 7: in how many of the five windows of the payment does *marked before* lose something?
#
# <details><summary>Answer</summary>
#
# - **3** ✓ The payment in W1 and W2, and the mail in W5: marked, and not done.
# - **2** ✗ The payment is lost in two. In W5 the mail is marked already.
# - **0** ✗ It never pays twice. Sometimes it does not pay at all.
#
# </details>
#
# **3.** A claim has the verdict *not measured*. What do you know?
#
# - **a** nothing about the claim
# - **b** it is probably false, or somebody would have measured it
# - **c** it holds, since no trial contradicts it
#
# <details><summary>Answer</summary>
#
# - **a** ✓ There is no trial that bears on it.
# - **b** ✗ Often it is only that there is no adapter yet.
# - **c** ✗ No trial contradicts it, and none supports it.
#
# </details>
#
# **4.** "Completed steps are skipped after a crash." Which rows must *not* be among those that bear on it?
#
# - **a** those of W5
# - **b** those of W3: the step is not completed for us
# - **c** those of other effects
#
# <details><summary>Answer</summary>
#
# - **a** ✗ They are the ones that the sentence is about.
# - **b** ✓ The sentence says nothing about a step whose result was lost. A fair test does not pretend that it does.
# - **c** ✗ A step is a step.
#
# </details>
#
# **5.** Which of these can be true at the same time, for one script? *Choose all that hold.*
#
# - **a** no effect was made twice in any trial
# - **b** runs that say *completed* have lost an effect
# - **c** each effect was made exactly once in all trials
#
# <details><summary>Answer</summary>
#
# - **a** ✓ Together with b: that is the script of part 7.
# - **b** ✓ Together with a. "Never twice" does not say "once".
# - **c** ✗ It contradicts b. Say which pair you mean, and each sentence can be true.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("12_claims", measured={2: int((lost.false_finish > 0).sum())})

# %% [markdown]
# ## What real stacks do
#
# - Vendors publish what they promise, and some publish how they test it. Independent tests of such promises, for
#   databases, have been made for years by [Jepsen](https://jepsen.io/analyses): its reports quote the documentation,
#   and set beside it what happened.
# - An adapter of yours can live in your own package: name it in the entry point group `labkit.stacks`, and
#   `labkit stacks` lists it. `labkit conformance my_refund:adapter` asks it what every framework is asked.
# - `labkit survey --out my.csv` measures everything anew, on your machine; `labkit claims --measured my.csv` judges by
#   it.

# %% [markdown]
# ## Where the idea comes from
#
# - The interval: E. B. Wilson, [*Probable Inference, the Law of Succession, and Statistical
#   Inference*](https://doi.org/10.1080/01621459.1927.10502953), JASA 22, 1927. That it behaves well for few trials:
#   L. D. Brown, T. T. Cai and A. DasGupta, [*Interval Estimation for a Binomial
#   Proportion*](https://doi.org/10.1214/ss/1009213286), Statistical Science 16(2), 2001.
# - That a claim is worth what could contradict it: K. Popper, *The Logic of Scientific Discovery*, 1959.
# - That testing shows the presence of errors, and never their absence: E. W. Dijkstra, [*Notes on Structured
#   Programming*](https://www.cs.utexas.edu/~EWD/ewd02xx/EWD249.PDF), EWD 249, 1970.
#
# **Next:** measure the framework that you use, and write down what you did not expect.
