# ---
# jupyter:
#   labkit:
#     minutes: 45
#     prerequisites: notebooks 02, 03 and 06
#     outcome: say what LangGraph brings back after a kill, what it leaves to you, and which of its endings are silent
# ---

# %% [markdown]
# # LangGraph under the same kill
#
# **45 minutes.** You need: notebooks [02](02_windows.ipynb), [03](03_snapshots.ipynb) and [06](06_effects.ipynb). No
# account, no key, no network.
#
# LangGraph saves the state of an agent after each step of its graph. That is the snapshot engine of notebook 03, built
# by others, and in wide use. Here it runs the refund that you know, in real processes that are really killed.

# %% [markdown]
# ## What you will be able to do
#
# - read a graph with a checkpointer and say what stands on the disk at each moment;
# - say which crash windows LangGraph closes, and close the others with a key and a ledger;
# - choose a durability mode for its price in repeated work, and not by its name;
# - recognise an ending that calls itself complete and is not;
# - write down what a person found out: in the graph with `update_state(as_node=...)`, or in the ledger.

# %% [markdown]
# ## Predict before you run
#
# The graph has a node for each of the seven steps. A process dies; a new one invokes the graph again on the same thread
# with no input, as the documentation says. **Write down how often the customer is paid, and whether the mail is sent.**
#
# | | what happens | paid | mails |
# | --- | --- | --- | --- |
# | a | killed in W3 of the payment: the provider has acted, the answer is lost | ? | ? |
# | b | killed in W5 of the payment: its node is done and saved | ? | ? |
# | c | as b, and the new code calls the node of the mail `notify_customer` | ? | ? |
# | d | as b, and somebody invokes the graph with its input again | ? | ? |

# %%
prediction = {"a": ("?", "?"), "b": ("?", "?"), "c": ("?", "?"), "d": ("?", "?")}

# %% [markdown]
# ## 1 · The refund as a graph
#
# This is the whole graph: a chain of nodes. `desk.plan` is the list of the steps; a step takes facts and returns those
# that it adds. The second function is the node of one step. The manager is asked with `interrupt`.

# %%
import inspect

import pandas as pd

from labkit.lab.stacks import StackLab
from labkit.lab.tables import show
from labkit.stacks import langgraph
from labkit.stacks.probes import langgraph_scenes as scenes
from labkit.stacks.probes.langgraph_lives import launching

pd.options.display.max_colwidth = 160

graph, node = (inspect.getsource(each) for each in (langgraph.graph_of, langgraph.node_of))
assert "StateGraph(Refund)" in graph and "interrupt(" in node
print(graph, node, sep="\n")

# %% [markdown]
# The checkpointer is given to it when it is compiled. And this is how a new process goes on: with no input, on the same
# thread.

# %%
print(*(inspect.getsource(each) for each in (langgraph.Graph.app, langgraph.Graph.resume)), sep="\n")

# %% [markdown]
# Two settings decide what follows, and they are easy to overlook: the thread's id, and `durability` in each `invoke`.

# %%
print(*(inspect.getsource(each) for each in (langgraph.config, langgraph.Graph._invoke)), sep="\n")

# %% [markdown]
# The lab is only in `desk` and `place`. Replace them by your client and your path. The lab stands where the desk calls
# the provider, and kills there.

# %% [markdown]
# ## 2 · Kill it for real: W3 and W5
#
# `lab.kill` starts a process, kills it in the window, lets a second process *look* at what was saved, and a third one
# resume. Then it asks the provider. The durability mode is `sync`, the safest one.

# %%
lab = StackLab("langgraph")
w3 = lab.kill("langgraph", window="W3")
assert (w3.status, w3.executed["execute_refund"]) == ("completed", 2)
w3

# %%
w5 = lab.kill("langgraph", window="W5")
assert (w5.status, w5.duplicated, w5.lost) == ("completed", [], [])
w5

# %% [markdown]
# Read the lines *came back*. In W3, the last thing on the disk is the manager's yes, and the pointer says
# `execute_refund`. It was executed, and nobody on this side knows. In W5 the receipt is there, and the pointer has
# moved on.
#
# This is what checkpoints are good at: what was saved is not done again. And it is where they end. Here are the entries
# of the provider after W3:

# %%
show(w3.ledger)

# %% [markdown]
# Two payments, both without a key. LangGraph's documentation says so itself: wrap side effects, and make them
# idempotent. It does not do it for you, and cannot.

# %% [markdown]
# ## 3 · Make it safe
#
# The same graph, not a line changed. What changes is how the desk calls: with a key, or with a key and a ledger of our
# own (notebook 06).

# %%
safe = {policy: lab.kill("langgraph", window="W3", policy=policy) for policy in ("bare", "keyed", "ledger")}
paid = {policy: trial.executed["execute_refund"] for policy, trial in safe.items()}
assert paid == {"bare": 2, "keyed": 1, "ledger": 1}
paid

# %% [markdown]
# The key is made of the run and the step, so both processes send the same one, and the provider of payments recognises
# it. The mail server recognises nothing. Predict what the graph says now, with the ledger:

# %%
mail = lab.kill("langgraph", window="W3", effect="send_mail", policy="ledger")
assert (mail.status, mail.duplicated) == ("failed", [])
assert mail.result.open and mail.executed["close_ticket"] == 0
mail

# %% [markdown]
# Nobody can know whether the mail went out. So the node raises an error, the graph stops, and a person has to look. To
# LangGraph that is a failed node like any other. Part 6 shows how the person's answer gets in.
#
# The payment made it look easy. This is the mail in every window, *recorded*. Read a cell as: how often it was sent
# twice, and how often the run stopped.

# %%
from labkit.lab.stacks import MEASURED, measured

mails = measured("langgraph", effect="send_mail", situation="crash")
mails["seen"] = [f"{row.duplicated} twice, {row.failed} stopped, of {row.trials}" for row in mails.itertuples()]
twice, halted = mails[mails["duplicated"] > 0], mails[mails.failed > 0]
assert set(twice.policy + twice.window) == {"bareW3", "bareW4", "keyedW3", "keyedW4"}
assert set(halted.policy + halted.window) == {"ledgerW2", "ledgerW3", "ledgerW4"}
show(mails.pivot(index="policy", columns="window", values="seen"))

# %% [markdown]
# For the mail, a key alone helps nothing: W3 and W4 repeat as with `bare`. The ledger repeats nothing. Its price is a
# person, in W2 as well: there the mail was not sent, and the ledger cannot know that.

# %% [markdown]
# ## 4 · When is it written?
#
# `durability` has three values. By the documentation, `sync` writes before the next node begins, `async` while it runs,
# `exit` when the graph returns. **`async` is the default.** W5 is the window that `sync` closes. Kill all three there:

# %%
modes = ("langgraph", "langgraph-async", "langgraph-exit")
trials = {mode: lab.kill(mode, window="W5") for mode in modes}
assert trials["langgraph"].duplicated == [] and trials["langgraph-exit"].duplicated == ["execute_refund"]
came = {mode: dict(trial.lines())["came back"] for mode, trial in trials.items()}
show(pd.DataFrame({"came back": came, "executed": {mode: str(trial.executed) for mode, trial in trials.items()}}))

# %% [markdown]
# `exit` knows nothing since the graph last returned: that was for the manager's question. And `async`? It is a race
# between a thread that writes and the kill. One trial proves nothing about a race. A smaller graph, killed where the
# second node begins, eight times in each mode:

# %%
RACE = "a kill where the next node begins repeats nothing"
with launching():  # one process imports LangGraph, and is forked for each life
    races = lab.probe("langgraph", *(f"{mode}: {RACE}" for mode in ("sync", "async", "exit")), times=8)
assert list(races.outcome) == ["pass", "fail", "fail"]
show(races)

# %% [markdown]
# A kill is rare, and this one is well aimed. Still: with the default, *saved* means *soon*.
#
# How soon? Most servers do not call a graph, they await it: `ainvoke`, on an asynchronous saver. There the write is a
# task of the event loop in which the nodes run. Below, the second node is killed after 0.2 seconds, ages for a write.
# It is a coroutine that spent them in an `await`, as for a model's answer; or a coroutine that held the loop, because
# it computes, or calls a library that knows nothing of `await`; or a plain function. **Predict** in which of the three
# the charge before it is made again.

# %%
SLOW = "ainvoke, async: a kill in a {} for 0.2 s repeats no node before it"
NODES = ("coroutine that awaited", "coroutine that blocked", "function that blocked")
with launching():
    slow = lab.probe("langgraph", *map(SLOW.format, NODES), times=4)
assert slow.outcome.iloc[1] == "fail"  # the other two: unless the disk takes longer than that
show(slow)

# %% [markdown]
# A coroutine that blocks keeps everything waiting, and one of the things that wait is the checkpoint of the node before
# it. So *soon* can mean *when the next node has the kindness to pause*.
#
# A plain function runs in a thread, and did not hold the write up. But how much are four trials worth?

# %%
from labkit.measure.report import wilson

assert wilson(0, 4).high > 0.4
print(f"0 of 4: the true rate may be up to {wilson(0, 4).high:.0%}")

# %% [markdown]
# And `sync`? Between two *nodes* it waits for the write, awaited or not:

# %%
ALIKE = (
    "a killed run comes back the same with ainvoke",
    "ainvoke goes on with what invoke began, and invoke with what ainvoke began",
)
with launching():
    alike = pd.concat([lab.probe("langgraph", f"ainvoke, sync: {RACE}", times=8), lab.probe("langgraph", *ALIKE)])
assert (alike.outcome == "pass").all()
show(alike)

# %% [markdown]
# Between two *tasks* of the functional API it does not wait. A task has charged, its result is there, and the
# entrypoint is killed: at once, or 5 ms later. The durability is `sync`. *Recorded:*

# %%
from labkit.claims.measured import read

TASK = "functional: a kill {} a task's result is there repeats nothing"
tasks = [TASK.format(moment) for moment in ("as soon as", "5 ms after")]
found = {row.name: row for row in read(MEASURED) if row.stack == "langgraph" and row.name in tasks}
assert found[tasks[0]].outcome == "fail"
show(pd.DataFrame({"recorded": {name: found[name].seen for name in tasks}}))

# %% [markdown]
# So in the functional API *saved* means *soon*, with `sync` as well.
#
# Does another database help? This is what is *recorded* of the payment with `bare`: how often it was made twice, for
# each variant. Predict the columns W3 and W4.

# %%
again_in = measured(policy="bare", situation="crash", effect="execute_refund")
again_in = again_in[again_in["stack"].str.startswith("langgraph")]
lost_reply, sync = again_in[again_in.window.isin(["W3", "W4"])], ["langgraph", "langgraph-postgres"]
assert (lost_reply["duplicated"] == lost_reply["trials"]).all()
assert not again_in[again_in["stack"].isin(sync) & (again_in.window == "W5")]["duplicated"].any()
again_in = again_in.assign(seen=again_in["duplicated"].astype(str) + " of " + again_in["trials"].astype(str))
show(again_in.pivot(index="stack", columns="window", values="seen"))

# %% [markdown]
# No variant closes W3 and W4, on either database. W5 is a matter of the durability and the API. `langgraph` and
# `langgraph-postgres`, both graphs with `sync`, repeat nothing there. A variant without a row was not measured.

# %% [markdown]
# ## 5 · Endings that say nothing
#
# A run waits for the manager over the weekend. On Sunday somebody deploys. The next two trials die in W5 of the
# payment, and the new process has other code: a node with another name; a new node before the payment.

# %%
renamed = lab.kill("langgraph", window="W5", situation="renamed")
assert (renamed.status, renamed.lost) == ("completed", ["send_mail", "close_ticket"])
renamed

# %%
inserted = lab.kill("langgraph", window="W5", situation="inserted")
assert (inserted.status, "fraud" in inserted.answers[0].facts) == ("completed", False)
inserted

# %% [markdown]
# The first is the worst line in this notebook: *completed*, and neither was the mail sent nor the ticket closed. The
# checkpoint says `send_mail` comes next. The new graph has no such node, so nothing comes next, so the graph is done.
# No error, no warning.
#
# In the second, look for the fraud check:

# %%
from labkit.cases.desk import plan_of

facts = inserted.answers[0].facts
print("the new graph: ", *plan_of("inserted"))
print("the run holds: ", *facts)
print("fraud check made:", "fraud" in facts)

# %% [markdown]
# Nobody checked for fraud. The pointer stood behind the place where the new node was put.
#
# Do a key and a ledger help against the worst line? *Recorded*, with the code renamed. `false_finish` counts the runs
# that called themselves completed with an effect missing:

# %%
finish = measured("langgraph", situation="renamed")
assert set(finish.policy) == {"bare", "keyed", "ledger"} and (finish.false_finish == finish.trials).all()
show(finish[["policy", "trials", "false_finish"]])

# %% [markdown]
# They do not. Both look at calls that are made, and here none is made.
#
# Two more of the kind. A graph that is killed between two writes of one step; and the functional API, where a shared
# helper is found again by its position only:

# %%
SILENT = ("nothing next means finished", "tools that share a task get no other call's result after a change")
with launching():
    silent = lab.probe("langgraph", *SILENT)
assert (silent.outcome == "fail").all() and "'check': 'result of charge'" in silent.seen.iloc[1]
show(silent)

# %% [markdown]
# In the first, `get_state().next` is empty, as at the end, and an effect is missing. Look at `.tasks` as well before
# you believe it; resumed, the graph does go on. In the second, the call of `check` got the stored result of `charge`.
#
# **So test your graphs against old checkpoints before you deploy, and keep node names for ever.** A node's name is part
# of your data.

# %% [markdown]
# ## 6 · Time travel, and the one good use of it
#
# You can invoke a graph from any old checkpoint. This is called time travel. Predict: the run is finished, we go back
# to the point before the shipment. How often is shipped?

# %%
with launching():
    travel = lab.probe("langgraph", "replay from a checkpoint executes nothing again")
assert "ship 2x" in travel.seen.iloc[0]
show(travel)

# %% [markdown]
# The state goes back. The world does not. The documentation warns of it: replay executes the nodes again.
#
# There is another use of the same machinery. `update_state(config, values, as_node="charge")` writes a checkpoint *as
# if* the node `charge` had returned these values. For an effect whose reply was lost, and which somebody looked up at
# the bank, this is exactly the missing entry:

# %%
with launching():
    reconciled = lab.probe("langgraph", "update_state with as_node marks a node as done")
assert reconciled.outcome.iloc[0] == "pass" and "charge 1x, ship 1x" in reconciled.seen.iloc[0]
show(reconciled)

# %%
code = inspect.getsource(scenes.play)
print(*[line.strip() for line in code.splitlines() if "as_node" in line], sep="\n")

# %% [markdown]
# That is for a graph that has nothing but its checkpoints. The mail of part 3 has a ledger. Now two records are open:
# the ledger's entry, and the graph's pointer. Here is the same stop again, in this process: the provider does the work,
# or does not, and its reply is lost.

# %%
from contextlib import closing, suppress

from labkit.cases.desk import TARGETS
from labkit.measure.guard import Guard
from labkit.provider.faults import Fault
from labkit.provider.twin import Twin
from labkit.stacks.base import Desk, NeedsPerson, Place, drive


def stopped(graph, place, reply):
    world = Twin(TARGETS, faults=[Fault("mail", "send", 1, reply)])
    desk = Desk(place.run_id, 17, world.note_activity, Guard("ledger", place.folder, place.run_id, world))
    with suppress(NeedsPerson):
        drive(graph, desk, place, "start")
    return world, desk


# %% [markdown]
# A person looks into the sent folder. Then there are two who can be told:

# %%
from labkit.effects.reconcile import resolve
from labkit.measure.guard import DATABASE, TENANT, open_effects
from labkit.store.sqlite import SqliteStore


def tell_ledger(graph, desk, place, *verdict):
    with closing(SqliteStore(place.folder / DATABASE)) as store:
        resolve(store, TENANT, *open_effects(place.folder, place.run_id), *verdict)


def tell_graph(graph, desk, place, receipt):
    with graph.app(desk, place) as app:
        app.update_state(langgraph.config(place), {"mail_receipt": receipt}, as_node="send_mail")


# %% [markdown]
# Then `resume` of part 1: `invoke(None)`, and nothing more. **Predict** how many mails there are in each row, and what
# stays open.

# %%
from pathlib import Path

from labkit.check.evidence import executed_steps
from labkit.scratch import scratch_folder


def answered(reply, tell, *answer):
    graph = langgraph.STACKS[0]
    with scratch_folder() as folder:
        place = Place(folder=Path(folder), run_id="run-1")
        world, desk = stopped(graph, place, reply)
        tell(graph, desk, place, *answer)
        status, done = graph.resume(desk, place).status, executed_steps(world.entries())
        return status, done["send_mail"], done["close_ticket"], len(open_effects(place.folder, place.run_id))


# %%
cases = {
    "it was sent: tell the ledger": answered("fail_after", tell_ledger, "confirmed", "mail-1"),
    "it was not sent: tell the ledger": answered("fail_before", tell_ledger, "not-done"),
    "it was sent: tell only the graph": answered("fail_after", tell_graph, "mail-1"),
    "it was not sent: tell the graph that it was": answered("fail_before", tell_graph, "mail-1"),
}
assert [*cases.values()][:2] == [("completed", 1, 1, 0)] * 2
assert [*cases.values()][2:] == [("completed", 1, 1, 1), ("completed", 0, 1, 1)]
show(pd.DataFrame(cases, index=["the graph says", "mails", "tickets closed", "open in the ledger"]).T)

# %% [markdown]
# With a ledger, tell the ledger. Then `invoke(None)` is enough, for both answers. The node runs again and asks the
# ledger. It takes the receipt from there, or sends the mail for the first time.
#
# Told alone, the graph goes on as well. But the ledger still waits for a person, for a run that is over. And what
# `as_node` calls done is never done again: the last row has no mail.
#
# This is `lab.resolve` of notebook 06: *a person found out, and the next process may go on.*

# %% [markdown]
# ## 7 · Two who resume
#
# A supervisor believes that a process is dead. It is only slow. Now two processes work on one thread. Predict what the
# second one is told.

# %%
with launching():
    two = lab.probe("langgraph", "a second resumer is refused")
assert two.outcome.iloc[0] == "fail" and "ship 2x" in two.seen.iloc[0]
show(two)

# %% [markdown]
# Nothing. There is no owner of a thread, so nobody can be too late. Our engines refuse the second one, since each has a
# fencing number (notebook 07). In LangGraph that is left to you: a lock around the thread, or a queue that hands each
# thread to one worker; and keys, for when the lock fails.

# %% [markdown]
# ## 8 · Crash it
#
# W5 with `sync`: the harmless window, as you have seen. This time the supervisor is a simple loop around the program:
# when it dies, run it again. So the graph is invoked *with its input* on the same thread. **Predict** how often is
# paid, and how many of the four model and reading calls are made again.

# %%
again = lab.kill("langgraph", window="W5", situation="started again")
assert (again.status, again.executed["execute_refund"], again.result.paid) == ("completed", 2, 4)
again

# %% [markdown]
# **Explain it before you open the answer.** All checkpoints were there. Why did none of them help?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# Input on a thread that exists does not mean "go on". It means "here is a new message": LangGraph writes it into the
# state and starts at the first node. That is right for a chat, where each turn is a new input on the same thread. For a
# job it is a second job, on top of the first one's state.
#
# Nothing in the call says which of the two you mean, except <code>None</code>. Whoever restarts has to ask first
# whether there is a checkpoint. The adapter of part 1 does: <code>None if saved else the input</code>.
#
# </details>
#
# The same mistake, with keys and a ledger:

# %%
guarded = lab.kill("langgraph", window="W5", situation="started again", policy="ledger")
assert (guarded.executed["execute_refund"], guarded.result.paid) == (1, 4)
guarded

# %%
CALLS, PAID = "model and reading calls made again", "times that the customer is paid"
pair = {"bare": again, "ledger": guarded}
assert pair["bare"].result.paid == pair["ledger"].result.paid == 4
show(pd.DataFrame({name: {CALLS: t.result.paid, PAID: t.executed["execute_refund"]} for name, t in pair.items()}))

# %% [markdown]
# Four calls are paid again, with the ledger too. The customer is paid once.

# %%
lab.close()

# %% [markdown]
# ## Check yourself
#
# Run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** A node of a graph calls a payment service and returns. With `sync`, from when on will a crash not repeat the
# payment?
#
# - **a** from when the service has answered
# - **b** from when the node has returned
# - **c** from when the checkpoint of the node is written
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The answer is in memory only: W4.
# - **b** ✗ Still in memory. Between return and write the process may die.
# - **c** ✓ That is the beginning of W5. Everything before it is W3 or W4.
#
# </details>
#
# **2.** How often is the customer paid in part 8, with `bare`?
#
# <details><summary>Answer</summary>
#
# - **2** ✓ The input began the graph again, on a thread whose payment had been made and saved.
# - **1** ✗ So it would be if the graph had been invoked with `None`.
# - **0** ✗ The first process had paid before it died.
#
# </details>
#
# **3.** Which of these end *without* any error? *Choose all that hold.*
#
# - **a** the next node has another name in the new code
# - **b** a node was inserted before the point of the crash
# - **c** the ledger cannot tell whether the mail was sent
# - **d** two processes resume one thread
#
# <details><summary>Answer</summary>
#
# - **a** ✓ Completed, with the rest lost.
# - **b** ✓ The new node is simply not run for this thread.
# - **c** ✗ It raises an error, on purpose: somebody has to look.
# - **d** ✓ Both go on, and both ship.
#
# </details>
#
# **4.** The graph has no ledger. Somebody found the lost payment in the bank's books. What do you do with the thread?
#
# - **a** `invoke(None)`: it goes on by itself
# - **b** `update_state` with the receipt, `as_node="execute_refund"`, then `invoke(None)`
# - **c** go back to an older checkpoint, and let it run from there
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It begins with the node that is next: the payment.
# - **b** ✓ It writes what the node would have written. The next node is the one after it.
# - **c** ✗ Then the payment and all between are executed again.
#
# </details>
#
# **5.** Your graph is fast enough with `sync`. What speaks for `async`?
#
# - **a** it is safer, since two threads write
# - **b** nothing; measure before you give up the order of the writes
# - **c** it closes W3
#
# <details><summary>Answer</summary>
#
# - **a** ✗ The write is later, so more is repeated.
# - **b** ✓ It is the default, and it makes W4 longer by the time that the write takes.
# - **c** ✗ No durability mode can. W3 lies between two machines.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("09_langgraph", measured={2: again.executed["execute_refund"]})

# %% [markdown]
# ## What real stacks do
#
# - LangGraph asks for it: wrap side effects in tasks, and make them idempotent
#   ([docs.langchain.com, *Durable execution*](https://docs.langchain.com/oss/python/langgraph/durable-execution)).
# - The three modes are described in the
#   [reference, *Durability*](https://reference.langchain.com/python/langgraph/types/Durability).
# - That replay executes nodes again, and that `update_state` can name a node, is in
#   [*Use time travel*](https://docs.langchain.com/oss/python/langgraph/use-time-travel).
# - What follows an `interrupt` runs when it is answered, and what comes *before* it in the same node runs a second
#   time: [*Interrupts*](https://docs.langchain.com/oss/python/langgraph/interrupts).
#
# What the lab has measured, with the number of trials behind it: `labkit claims`, and notebook 12. To measure
# yourself: `labkit bench --stack langgraph --stack langgraph-async`, and `labkit conformance langgraph`. The other
# variants, each durability mode and both APIs on SQLite and on Postgres, are listed by `labkit stacks`.

# %% [markdown]
# ## Where the idea comes from
#
# - Graphs that run in rounds, with a checkpoint between two: G. Malewicz et al., [*Pregel: A System for Large-Scale
#   Graph Processing*](https://doi.org/10.1145/1807167.1807184), SIGMOD 2010, after L. G. Valiant, [*A Bridging Model
#   for Parallel Computation*](https://doi.org/10.1145/79173.79181), CACM 33(8), 1990. LangGraph's runtime bears the
#   name.
# - Fencing numbers against an owner who is late: C. Gray and D. Cheriton,
#   [*Leases*](https://doi.org/10.1145/74850.74870), SOSP 1989, and M. Burrows, *The Chubby Lock Service for
#   Loosely-Coupled Distributed Systems*, OSDI 2006.
#
# **Next:** notebook 10 takes DBOS, which notices more, and asks for other care.
