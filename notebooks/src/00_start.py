# ---
# jupyter:
#   labkit:
#     minutes: 25
#     prerequisites: a little Python
#     outcome: kill a refund for real, read three ledgers, and say what the next process may do
# ---

# %% [markdown]
# # Start: the process died. What may the next one do?
#
# **25 minutes.** You need: a little Python. No account, no key, no network.
#
# An AI agent works at a service desk. It reads a complaint, asks a model, asks a manager, and pays the customer
# back. Somewhere on the way its process dies. A new process starts and finds what the old one saved.
#
# It wants to carry on. **Is it allowed to?**

# %% [markdown]
# ## What you will be able to do
#
# - kill a real process at a chosen moment, and start the next one;
# - read the three records that a crash leaves behind, and see where they disagree;
# - say why a customer is paid twice although progress was saved after every step;
# - say what the next process may do: go on, call again, ask, or wait for a person.

# %% [markdown]
# ## Predict before you run
#
# The workflow saves its progress after every step. One step pays back 49.90 EUR. We kill its process right after
# the payment provider has moved the money, and before the answer arrives. Then a new process carries on from what
# was saved.
#
# **How often is the customer paid?** Write your answer into the cell: `"never"`, `"once"` or `"twice"`. Then run it
# with Shift+Enter, like every cell below.

# %%
prediction = "?"

# %% [markdown]
# ## 1 · Run it once, undisturbed
#
# Everything happens in a temporary folder, which goes away when this notebook's kernel is shut down. A *lab* is a
# database of runs, and a *provider*: the world outside. The provider is a process of its own and keeps its own ledger.
# We cannot roll it back. Nobody can roll back a bank.

# %%
from tempfile import mkdtemp

import pandas as pd

from labkit import Lab, compare, refund
from labkit.lab.judge import judged
from labkit.lab.tables import show
from labkit.scratch import scratch_folder

pd.options.display.max_colwidth = 90
folder = scratch_folder()


# %%
def new_lab(policy):
    """Return a lab of its own, with an empty database and an empty world, so that cells can be run again."""
    return Lab(mkdtemp(dir=folder.name) + "/lab.db", engine="snapshot", policy=policy)


# %% [markdown]
# Two words in that cell matter later. The *engine* saves progress and reads it back; `snapshot` writes down the whole
# state after each step. The *policy* says how the world outside is called; `bare` means: just call.
#
# The workflow is seven short functions: [`labkit/cases/refund.py`](../labkit/cases/refund.py). Case 17 of [our
# service desk](../datasets/refund_cases.csv): Lena Brandt's headphones arrived with a crack. They cost 49.90 EUR.

# %%
lab = new_lab("bare")
run = lab.start(refund, case=17)
run

# %% [markdown]
# Three steps are done, and the run waits for the manager. It may wait for days. No process has to stay alive for
# that: all that is known lies in the database.
#
# You are the manager. Say yes, and let the run go on.

# %%
lab.approve(run)
run = lab.resume(run)
assert run.status == "completed"
lab.timeline(run)

# %% [markdown]
# **How to read the picture.** Time runs to the right; a wide picture can be scrolled to the right, too. The grey boxes
# are the *steps*. On the upper line each dot is a commit in our database: what it holds survives a crash. Each square
# there is a call to the outside. On the lower line, the provider's, each small dot is an activity and each diamond an
# effect that really happened.
#
# A call whose result may differ but that is safe to repeat, such as a question to a model, is an *activity*. A call
# that changes the world is an *effect*. This run has three: a refund, a mail, a closed ticket.


# %%
def outside(lab):
    """Return the effects that the provider has executed, in the provider's own words."""
    return lab.provider(refund).query("kind == 'effect'")[["target", "operation", "request", "receipt_id"]]


# %%
assert list(outside(lab).operation) == ["refund", "send", "close"]
show(outside(lab))

# %% [markdown]
# Each effect happened once. So far, so good. Now look at the upper edge of the picture: **W1 to W5** are the five
# *crash windows* of an effect. To die in one is not the same as to die in another. (W1 has no box of its own here. With
# `bare` nothing is noted before the call, so W1 is the very moment after the commit of the step before.)
#
# | window | the process dies | the provider | our database |
# | --- | --- | --- | --- |
# | W1 | before it notes that it is about to call | has done nothing | knows nothing |
# | W2 | before the call arrives | has done nothing | may know that a call was planned |
# | **W3** | **after the provider acted, before its reply arrives** | **has done it** | **does not know** |
# | W4 | with the reply in hand, before it is saved | has done it | does not know |
# | W5 | after the result is saved | has done it | knows |

# %% [markdown]
# ## 2 · Crash it, for real
#
# `lab.kill` starts the same workflow in another process. When the payment provider has acted, that process gets
# SIGKILL. A process cannot catch SIGKILL: no `finally` runs, nothing is tidied up, nothing more is saved.

# %%
lab.close()
lab = new_lab("bare")
killed = lab.kill(refund, case=17, at="W3")
killed

# %% [markdown]
# That process is gone. (On Linux and macOS, status -9 means: ended by signal 9, SIGKILL.) Three records are left:
#
# - *database*: what the engine saved. It says that `execute_refund` is **not** done.
# - *effect ledger*: our own list of effects. The policy `bare` keeps none.
# - *provider*: what happened outside. The money **has** moved.
#
# Nobody lies here. Each tells the truth as it knows it.
#
# Now the next process carries on from what was saved. Last chance to change your prediction.

# %%
run = lab.resume(killed.run_id)
refunds = list(outside(lab).operation).count("refund")
print(f"The run is {run.status}. How often was she paid? {judged(prediction, refunds)}")
assert (run.status, refunds) == ("completed", 2)

# %%
lab.timeline(run)

# %% [markdown]
# The run is *completed*. No error, no warning, green lights everywhere. And Lena Brandt has 99.80 EUR instead of
# 49.90. Only the provider's ledger shows it.

# %% [markdown]
# ## 3 · Why
#
# Was it wrong to run the step again? Let us kill another process a moment earlier: in W2, before the call arrives.
# Here are the two crashes beside each other.

# %%
with new_lab("bare") as other:
    earlier = other.kill(refund, case=17, at="W2")
assert earlier.run.run.completed_steps == killed.run.run.completed_steps
both = pd.DataFrame({crash.window: dict(crash.lines()) for crash in (earlier, killed)})
show(both.loc[["database", "effect ledger", "provider"]])

# %% [markdown]
# **The two databases say the same. The two worlds do not.**
#
# After W2 the next process *must* call, or the customer is never paid. After W3 it *must not*. From the inside it
# cannot tell which of the two happened. So "just go on" is wrong, and "never call again" is wrong as well. Saving
# progress more often does not help: there is always a moment between the provider's act and our note of it.

# %% [markdown]
# ## 4 · Write down what you are about to do
#
# The policy `ledger` does three things more. Before the call it commits an *intent*: "I am about to try this". It
# sends an *effect key* along, which is the same in every process that ever tries this one effect. And a process
# that finds an unfinished effect does not simply call: it first decides what it may do.
#
# The same kill again:

# %%
lab.close()
lab = new_lab("ledger")
killed = lab.kill(refund, case=17, at="W3")
lab.effects(killed.run_id)[["effect_key", "status", "attempts"]]

# %% [markdown]
# Now the next process knows that it does not know: `executing` means that a call may have arrived. What helps is that
# *this* provider recognises a key that it has seen before. To ask again with the same key is safe.

# %%
run = lab.resume(killed.run_id)
assert list(outside(lab).operation).count("refund") == 1
lab.timeline(run)

# %% [markdown]
# Follow the second process. It called again, and at the provider there is *nothing new*: the key was known, and the
# old receipt came back. Our ledger says `confirmed`, after two attempts. The money moved once.

# %% [markdown]
# ## 5 · Where nobody can answer
#
# The next effect is a mail. The mail provider knows no keys, and it cannot be asked "did you send this?". Predict:
# the same policy, the same window, now in `send_mail`. What will the next process do?

# %%
lab.close()
lab = new_lab("ledger")
killed = lab.kill(refund, case=17, at="W3", effect="send_mail")
run = lab.resume(killed.run_id)
assert run.status == "waiting_for_person"
run

# %% [markdown]
# It **stopped**. That is not a failure of the lab: it is the right answer. To send again may annoy the customer
# with a second mail. Not to send may leave her without one. No code can know. The effect is *ambiguous*, and the
# ledger says what a person can do about it:

# %%
lab.effects(run).query("status == 'ambiguous'")[["effect_key", "status", "last_error", "reconcile"]]

# %% [markdown]
# So look into the sent folder. In this lab, that is the provider's ledger.

# %%
outside(lab)

# %% [markdown]
# The mail is there. Tell the ledger, with the receipt as evidence, and the run can finish. (Had it not been there,
# you would have said `"not-done"`, and the next process would have sent it.)

# %%
[mail_key] = lab.effects(run).query("step == 'send_mail'").effect_key
[mail_receipt] = outside(lab).query("target == 'mail'").receipt_id
lab.resolve(mail_key, "confirmed", mail_receipt)
run = lab.resume(run)
assert run.status == "completed" and list(outside(lab).operation) == ["refund", "send", "close"]
lab.timeline(run)

# %% [markdown]
# ## 6 · Would another engine have saved us?
#
# So far one engine did all the work. There are two more. *Event-sourced* writes down the result of every single
# call and replays the story from its beginning. *Hybrid* does the same, with a snapshot now and then, so that it
# replays only the rest.
#
# They do differ. Here each one crashes after a model has answered, before the step is saved. (This crash is only
# simulated, `real=False`: quicker, and tested to leave the same rows. The place is a *tap*: step, operation, phase, and
# `#1`, the first time that this place is passed.)

# %%
lab.close()
progress = compare(refund, at="policy_check/commit:before#1", real=False)
assert [row.again for row in progress.rows] == [1, 0, 0]
progress

# %% [markdown]
# The table shows the provider's *effects*, and counts the activities beside them. The snapshot engine asks the model
# again, and the question is paid again. The other two had written the answer down.
# *That* is what an engine decides: how much progress survives.
#
# Now the real kill, in W3, on all three. Predict: on how many of them is the customer paid twice?

# %%
bare = compare(refund, at="W3", policy="bare")
assert all(len(row.executed) == 2 for row in bare.rows)
bare

# %% [markdown]
# On all three: the verdict names, in quotes, each rule that should hold and is broken. An engine can only save
# what its process knows, and in W3 the process does not know. The policy makes the difference:

# %%
ledger = compare(refund, at="W3", policy="ledger")
assert all(len(row.executed) == 1 for row in ledger.rows)
ledger

# %% [markdown]
# And the mail stays ambiguous on all three. Nothing was sent twice, and nobody pretends to know more than they do. The
# verdict is *unknown*: no rule is broken, and one effect is left to a person.

# %%
mail = compare(refund, at="W3", policy="ledger", effect="send_mail")
assert all(row.status == "waiting_for_person" for row in mail.rows)
mail

# %% [markdown]
# Last, the provider's ledgers beside each other, after nine real kills in W3. Each column is one engine. On the left
# stand the policy and the effect; each line is one time that the provider really did it.

# %%
pd.concat({"bare / refund": bare.ledgers, "ledger / refund": ledger.ledgers, "ledger / mail": mail.ledgers})

# %% [markdown]
# With `bare`, every engine shows two lines for one refund: it was paid twice. Now read the last line again. The mail
# was sent, and yet the run waits. Whoever asks "did it work?" gets no useful answer here. The right question after a
# crash is: **what may the next process do?**
#
# | what is known about the effect | what the next process may do |
# | --- | --- |
# | confirmed | go on |
# | planned, never tried | call |
# | tried, and the provider recognises the key | call again with the same key |
# | tried, and the provider can be asked | ask, then go on or call |
# | tried, and the provider can do neither | stop, and let a person decide |

# %% [markdown]
# ## 7 · Crash it: a key, and another bank
#
# "So a key is all we need", says a colleague, and throws the ledger away. The policy `keyed` just calls, and sends the
# effect key along. Tested, and the customer is paid once. Then the company changes its bank. The new one does its work
# as well as the old one, but it takes no keys and answers no questions (`provider="neither"`).
#
# **Predict: the same kill in W3. How often is the customer paid, and how does the run end?**

# %%
lab = Lab(mkdtemp(dir=folder.name) + "/lab.db", engine="snapshot", policy="keyed", provider="neither")
run = lab.resume(lab.kill(refund, case=17, at="W3").run_id)
sent = lab.provider(refund).query("target == 'payments'")
lab.close()
assert run.status == "completed" and len(sent) == 2 and sent.key.nunique() == 1
sent[["operation", "key", "receipt_id"]]

# %% [markdown]
# Completed, and paid twice. **Explain it before you open the answer**: the key was sent both times, and both times it
# was the same. What was missing?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# Somebody who looks at it. A key stops nothing by itself: it lets a provider *recognise* a repeat, if that provider
# keeps a list. The old bank did, the new one throws the key away.
#
# And the process had nothing else to go by. Without an intent it could not know that an attempt had been made, so it
# did not even stop. The ledger of part 5 would have: it cannot make this bank safe, but it knows that it does not know.
#
# </details>

# %% [markdown]
# ## Check yourself
#
# In the lab, run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** A run says *completed*. What does that prove?
#
# - **a** Each effect happened once.
# - **b** Our database holds every step as done.
# - **c** No reply was lost on the way.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ In part 2 the run was completed and the provider had paid twice.
# - **b** ✓ That is all. What happened outside stands in the provider's ledger only.
# - **c** ✗ In part 2 the first reply was lost. A second one came, and the run was content.
#
# </details>
#
# **2.** Part 6 made nine real kills in W3: a refund with `bare`, a refund with `ledger` and a mail with `ledger`, on
# three engines each. In how many of the nine runs did something happen twice outside?
#
# <details><summary>Answer</summary>
#
# - **3** ✓ The refund with `bare`, on each engine.
# - **6** ✗ You may have counted lines, or the mail: it was sent once, and the run waits.
# - **9** ✗ With `ledger` the money moved once, and so did the mail.
# - **0** ✗ Look at the last table again: two receipts for one refund.
#
# </details>
#
# **3.** Why does it not help to save progress more often?
#
# - **a** Saving is slow, so the process dies while it saves.
# - **b** Acting outside and noting it inside are two events in two places; a process can die between them.
# - **c** It helps, if the save comes right before the call.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ However fast it is, the provider has acted before there is anything to save.
# - **b** ✓ The gap can be made short, and never empty. It is W3 and W4.
# - **c** ✗ That save says "about to call". It is worth much, but it does not say whether the provider acted.
#
# </details>
#
# **4.** A process dies in W2 with the policy `ledger`, at a provider that recognises keys. What may the next one do?
#
# - **a** Go on to the next step: the ledger has an entry.
# - **b** Call again with the same key.
# - **c** Stop, because a call may have arrived.
# - **d** Call with a fresh key, to be on the safe side.
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The entry says `executing`: tried, result unknown. In W2 nothing was paid; to go on would leave it so.
# - **b** ✓ If the first call arrived, the provider knows the key. If not, it pays now. Both are right.
# - **c** ✗ That is for providers that can neither recognise a key nor be asked.
# - **d** ✗ A fresh key is a new request. After W3, which looks the same, it would pay twice.
#
# </details>
#
# **5.** The mail is ambiguous. A colleague says: "Send it again, a second mail harms nobody." What holds?
# *Choose all that hold.*
#
# - **a** A person may decide so.
# - **b** The code may decide so by itself whenever an effect is ambiguous.
# - **c** With `lab.resolve(key, "not-done")` the next process sends.
# - **d** Looking into the sent folder first would be better.
#
# <details><summary>Answer</summary>
#
# - **a** ✓ It is a decision about harm, and a person can answer for it.
# - **b** ✗ Today it is a mail. Tomorrow the same line decides about a shipment.
# - **c** ✓ The ledger believes the person, and the effect counts as not tried.
# - **d** ✓ Evidence is better than a guess. In this lab the mail was there.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

reports = (bare, ledger, mail)
twice = sum(len(row.executed) > 1 for report in reports for row in report.rows)
Quiz.of_chapter("00_start", measured={2: twice})

# %% [markdown]
# ## What real stacks do
#
# - **Temporal** recommends that an activity be idempotent (harmless to repeat): it may be tried more than once
#   ([docs.temporal.io, *Activity Definition*, "Idempotency"](https://docs.temporal.io/activity-definition)).
# - **LangGraph** asks for workflows that are deterministic and idempotent, with side effects wrapped in tasks
#   ([docs.langchain.com, *Durable execution*](https://docs.langchain.com/oss/python/langgraph/durable-execution)).
# - **DBOS** skips a step whose output is in its database and runs a step again whose output is not
#   ([docs.dbos.dev, *How Workflows Work*](https://docs.dbos.dev/explanations/how-workflows-work)).
# - **Stripe**, a payment provider, recognises an `Idempotency-Key` and does not do the same work twice; in version 1 of
#   its API a key may be forgotten once it is 24 hours old
#   ([docs.stripe.com, *Idempotent requests*](https://docs.stripe.com/api/idempotent_requests)).
#
# A framework can send a key. Whether anybody recognises it is up to the provider.

# %% [markdown]
# ## Where the idea comes from
#
# - That the ends must check, because what lies between them cannot know: J. H. Saltzer, D. P. Reed and D. D. Clark,
#   [*End-to-End Arguments in System Design*](https://doi.org/10.1145/357401.357402), ACM TOCS 2(4), 1984.
# - To write down what you are about to do before you do it: J. Gray, [*Notes on Data Base Operating
#   Systems*](https://doi.org/10.1007/3-540-08755-9_9), 1978, which also tells why two parties that talk over a lossy
#   line can never be sure of each other (the two generals).
# - Keys and repeated messages instead of one big transaction: P. Helland, [*Life beyond Distributed Transactions: an
#   Apostate's Opinion*](https://www.cidrdb.org/cidr2007/papers/cidr07p15.pdf), CIDR 2007.
#
# **Next:** change `at=`, `effect=` and `policy=` in the cells above, and predict before you run. Then lay the three
# files in [`labkit/engines`](../labkit/engines) side by side: each is about a hundred lines.
