# ---
# jupyter:
#   labkit:
#     minutes: 35
#     prerequisites: notebooks 04 and 06
#     outcome: say what DBOS records, where one crash still does harm, and what version, executor and pickles ask of you
# ---

# %% [markdown]
# # DBOS: a workflow in your database
#
# **35 minutes.** You need: notebooks [04](04_events.ipynb) and [06](06_effects.ipynb). No account, no key, no network:
# DBOS runs on a SQLite file here, inside the process.
#
# DBOS writes down what each step returned. A new process runs the workflow from its top, and gets the recorded answers
# instead of new ones. That is replay, notebook 04. What is new is how little there is to it: two decorators and a
# database.

# %% [markdown]
# ## What you will be able to do
#
# - read a DBOS workflow and say what a new process will do with it;
# - name the place where a crash *alone* repeats something, and the one kind of step where it does not;
# - name two other ways to the same harm: two live processes on one run, and one name for all steps;
# - avoid the two traps that leave a run pending for ever;
# - change the code of a run that is under way: patch it, or fork it;
# - say what is stored, and who can run code through it.

# %% [markdown]
# ## Predict before you run
#
# A process works on a run and dies. Another one starts. Which of these runs does it take up by itself? *Write yes or
# no.*
#
# | | the new process |
# | --- | --- |
# | a | is the same program, configured alike |
# | b | is the same program, and somebody has rewritten one line of the workflow, with the same steps |
# | c | is the same program on another machine, with an executor id of its own |

# %%
prediction = {"a": "?", "b": "?", "c": "?"}

# %% [markdown]
# ## 1 · The refund as a DBOS workflow
#
# A step is a function with `@DBOS.step`. The workflow calls the steps. It waits for the manager with `DBOS.recv`, and
# tells the world what it waits for with `DBOS.set_event`.

# %%
import inspect

import pandas as pd

from labkit.lab.stacks import StackLab, measured
from labkit.lab.tables import show
from labkit.stacks import dbos
from labkit.stacks.probes import dbos_scenes as scenes
from labkit.stacks.probes.dbos_lives import launching

pd.options.display.max_colwidth = 200

workflow = inspect.getsource(dbos.workflow_of)
assert "@DBOS.step" in workflow and "DBOS.recv" in workflow
print(workflow)

# %% [markdown]
# The lab is only in `desk` and `place`: replace them by your client and your path.
#
# And this is a new process. Launching DBOS is enough: it looks for pending runs that are its own.

# %%
print(inspect.getsource(dbos.Dbos.resume))

# %% [markdown]
# Which runs are its own is decided by two settings. Without `application_version` and `executor_id`, part 5 happens to
# you:

# %%
settings = inspect.getsource(dbos.Dbos._launch)
assert '"application_version"' in settings and '"executor_id"' in settings
print(settings)

# %% [markdown]
# ## 2 · One place stays open to a crash
#
# Kill it in all five windows of the payment, with nothing added. Predict the column.

# %%
lab = StackLab("dbos")
killed = {window: lab.kill("dbos", window=window) for window in ("W1", "W2", "W3", "W4", "W5")}
paid = {window: trial.executed["execute_refund"] for window, trial in killed.items()}
assert paid == {"W1": 1, "W2": 1, "W3": 2, "W4": 2, "W5": 1}
assert all(trial.status == "completed" and trial.result.paid == 0 for trial in killed.values())
paid

# %%
killed["W3"]

# %% [markdown]
# Nothing before the payment was done again: the model calls have their recorded answers. For a crash alone, W3 and W4
# are the one place that is left, and it is the old one. The step has no record until it has returned. Parts 5 and 8
# show two other ways to a second payment.
#
# With a key that the provider recognises, or with a ledger, it is closed:

# %%
safe = {policy: lab.kill("dbos", window="W3", policy=policy) for policy in ("keyed", "ledger")}
assert [trial.duplicated for trial in safe.values()] == [[], []]
safe["ledger"]

# %% [markdown]
# All this was SQLite. On Postgres, does any crash come out another way? This cell compares what was *recorded*:

# %%
crash, seen_in = ["policy", "window", "effect"], ["duplicated", "other_duplicated", "lost", "other_lost", "failed"]


def crashes(stack):
    return (measured(stack, situation="crash").set_index(crash)[seen_in] > 0).sort_index()


sqlite, postgres = crashes("dbos"), crashes("dbos-postgres")
differ = (sqlite != postgres).any(axis=1).sum()
assert len(postgres) and not differ
print(f"recorded: {len(postgres)} kinds of crash on each database, {differ} came out another way")

# %% [markdown]
# ## 3 · A step that is exactly once
#
# There is one kind of effect for which nobody needs a key: a write into *your own* database. Then the effect and the
# record "this step is done" can be one commit. DBOS offers it as a transaction of a datasource. Here are both ways to
# write one line:

# %%
books = inspect.getsource(scenes.books)
print(books[books.index("    @datasource") : books.index("    @DBOS.workflow")])

# %%
WRITES = (
    "a datasource's transaction happens once, killed before or after its commit",
    "a plain step that writes to a database writes once, killed before or after its commit",
)
with launching() as launcher:  # one process imports DBOS, and is forked for each life
    once = lab.probe("dbos", *WRITES, launcher=launcher)
assert list(once.outcome) == ["pass", "fail"]
show(once)

# %% [markdown]
# The plain step commits the line, then DBOS commits the record. Between the two lies a W4, and the second line comes
# from there. In the transaction there is no between.
#
# So where you can, put the effect into your own database: an order, a booking, a row of an outbox that somebody
# delivers with a key (notebook 06). For the money at the bank you cannot.

# %% [markdown]
# ## 4 · Messages
#
# The manager's word comes with `DBOS.send`. Two questions decide whether one can rely on it: does it arrive when nobody
# is alive to take it? And is it still there when its taker dies?

# %%
MESSAGES = (
    "a message that was sent to the workflow of a dead process arrives",
    "a message that was received before a kill is still known after it",
)
with launching() as launcher:
    messages = lab.probe("dbos", *MESSAGES, launcher=launcher)
assert list(messages.outcome) == ["pass", "pass"]
show(messages)

# %% [markdown]
# Both. The message is a row in the database; that it was taken is recorded like the return of a step.

# %% [markdown]
# ## 5 · Two traps: version and executor
#
# A new process does not take up *every* pending run. It takes up those of its own executor id, and of its own version.
# By default the version is a hash of the source of the workflows. Here are your cases b and c:

# %%
TRAPS = (
    "an edited workflow takes up the runs of the one before",
    "another executor takes up the runs of a dead one",
    "another executor can adopt such a run with resume_workflow",
)
with launching() as launcher:
    traps = lab.probe("dbos", *TRAPS, launcher=launcher)
assert list(traps.outcome) == ["fail", "fail", "pass"]
assert traps.seen.iloc[0].count("PENDING") == traps.seen.iloc[1].count("PENDING") == 1
show(traps)

# %% [markdown]
# `PENDING`, and it stays so. There is no error: somebody has to look. Both rules have a good reason. Code that is not
# the same may not fit the record (part 6), and two executors must not both work on one run. For that is what happens
# when two live processes have *one* id, say the default, `local`:

# %%
both = lab.probe("dbos", "a process leaves the running workflow of another with the same executor id alone")
assert both.outcome.iloc[0] == "fail" and "'charge': 2" in both.seen.iloc[0]
show(both)

# %% [markdown]
# No process died there. Recovery takes *who somebody is* for *whether somebody lives*, and that is right only as long
# as ids are not shared. So: one id for each process that lives at a time, and the same id again when it is restarted.
# Pin the version, and change it when you mean it. Have something that looks for runs that are pending for too long.
#
# And before you adopt such a run? The first process lives, in the middle of its charge. Its executor id is its own.
# Another executor adopts the run:

# %%
from pathlib import Path

from labkit.scratch import scratch_folder
from labkit.stacks.probes.dbos_lives import Stage
from labkit.stacks.probes.dbos_play import GO

with scratch_folder() as folder, launching() as launcher:
    stage = Stage(launcher, Path(folder) / "adopted", {})
    with stage.beside("order", option="waits", executor="a") as first:
        stage("order", "adopt, look", executor="b")  # calls resume_workflow
        (stage.folder / GO).touch()  # now the charge of the first one may return
charges = first[0].executed["charge"]
assert charges == 2 and first[0].said["status"] == "SUCCESS"
print(f"nobody died, charged {charges} times, and the first process says {first[0].said['status']}")

# %% [markdown]
# `resume_workflow` does not ask whether the old process lives. Before you adopt a run, make sure that it is dead, or
# that its effects carry keys.

# %% [markdown]
# ## 6 · Changing the code of a run that is under way
#
# The version is pinned, so the new code gets the old run. Somebody has put a step in front of the payment. Predict:
# does anybody notice?

# %%
inserted = lab.kill("dbos", window="W5", situation="inserted")
assert inserted.status == "failed" and "DBOSUnexpectedStepError" in inserted.result.detail
assert inserted.executed == {"execute_refund": 1, "send_mail": 0, "close_ticket": 0}
inserted

# %% [markdown]
# Loud, and before anything is called a second time: the record says `execute_refund`, the code asks for `fraud_check`.
# DBOS compares the *names* of the steps, one after another.
#
# But the run is now failed. The customer is paid, the mail is not sent, and `resume_workflow` will not move it.
# Somebody has to fork it (below). Temporal's run waits instead ([notebook 11](11_temporal.ipynb)).
#
# And here is the way to do it right, a patch:

# %%
CHANGES = (
    "a patch lets old runs go on as they began, and gives new ones the new step",
    "fork_workflow carries a run over to an edited workflow",
)
with launching() as launcher:
    changes = lab.probe("dbos", *CHANGES, launcher=launcher)
assert list(changes.outcome) == ["pass", "pass"]
show(changes)

# %%
code = inspect.getsource(scenes.changed)
print(code[code.index("    @DBOS.workflow") : code.index("    return play")])

# %% [markdown]
# A fork is the third way. It is a new run that begins at a step of the old one, with the records before that step. It
# is also how a run that has *failed* gets on:

# %%
FAILED = ("a run that failed can be resumed", "a run that failed can be forked from the step that failed")
with launching() as launcher:
    failed = lab.probe("dbos", *FAILED, launcher=launcher)
assert list(failed.outcome) == ["fail", "pass"]
show(failed)

# %% [markdown]
# ## 7 · What is stored
#
# What a step returned is stored so that Python gets it back as it was. Look at it:

# %%
STORED = (
    "stored results can be read without unpickling",
    "what somebody put into the database is only read",
    "with a JSON serializer what somebody put into the database is only read",
)
with launching() as launcher:
    stored = lab.probe("dbos", *STORED, launcher=launcher)
assert list(stored.outcome) == ["fail", "fail", "fail"]
assert stored.seen.str.count("the folder was made").tolist() == [0, 1, 1]
show(stored)

# %% [markdown]
# A pickle is a program. The probe put one into the table, and the next process ran it: a folder was made. With the JSON
# serializer the same, since each row says how it wants to be read. **Whoever may write to this database may run code in
# your workers.** Give it a user of its own.

# %% [markdown]
# ## 8 · Crash it
#
# A tidy team has written one step for everything, `tool(name)`, as many agents do. The run charges, and is killed
# where the shipment begins. On Sunday somebody puts a call of `check` in front of the charge. Then a process with the
# new code takes the run up. **Predict**: is the change noticed, as in part 6? What does `check` return? How often is
# charged?

# %%
generic = inspect.getsource(scenes.generic)
print(generic[generic.index("    @DBOS.step") : generic.index("    return play")])

# %%
with launching() as launcher:
    GENERIC = "a step inserted before recorded ones is noticed, also when all steps have one name"
    crashed = lab.probe("dbos", GENERIC, launcher=launcher)
seen = crashed.seen.iloc[0]
charged = int(seen.split("'charge': ")[2][0])
assert charged == 2 and "'check': 'receipt of charge'" in seen and "SUCCESS" in seen
show(crashed)

# %% [markdown]
# **Explain it before you open the answer.** The charge was done *and recorded*: this is W5, the harmless window. Why
# was the customer charged again, and why does the fraud check hold the receipt of a payment?
#
# ## Why
#
# <details><summary>Open it when you have explained it</summary>
#
# The record says: first call, step <code>tool</code>, returned <em>receipt of charge</em>. The new code's first call
# is the check, and it is a <code>tool</code> as well. The names fit, so it gets that answer. The second call is the
# charge. There is no second record, so it is called for real.
#
# The record holds what was returned and the name of the step, not what was asked for. Nothing was compared but
# <em>tool</em> with <em>tool</em>. Nobody was checked for fraud, the customer has paid twice, and the run is a SUCCESS.
#
# </details>
#
# **Give each step a name of its own.** And send a key: made of the run and of what the effect is *called*, not of its
# position, it would have been the same key both times.

# %%
lab.close()

# %% [markdown]
# ## Check yourself
#
# Run the next cell. Choose, and press *Check*: it says why at once.
#
# <details><summary>Without a kernel: the same questions as text</summary>
#
# **1.** Which of these may DBOS repeat after a crash, with nothing added? *Choose all that hold.*
#
# - **a** a step whose result is recorded
# - **b** a step that was killed after its effect
# - **c** a datasource transaction that was killed after its commit
# - **d** the code of the workflow between the steps
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It gets its recorded result.
# - **b** ✓ It has no record, so it is called: W3 and W4.
# - **c** ✗ Effect and record are one commit.
# - **d** ✓ Always: replay runs it from the top. So nothing may happen there.
#
# </details>
#
# **2.** How often was `charge` executed in part 8?
#
# <details><summary>Answer</summary>
#
# - **2** ✓ Its record was given to the check, so it was called again.
# - **1** ✗ It was recorded, but its record went to another call.
# - **0** ✗ The first process had charged before it was killed.
#
# </details>
#
# **3.** After a deployment some runs stay `PENDING`. No error anywhere. What do you look at first?
#
# - **a** the provider's ledger
# - **b** the version of the runs and that of the program
# - **c** the pickles
#
# <details><summary>Answer</summary>
#
# - **a** ✗ Nothing was called, so nothing stands there.
# - **b** ✓ Without a pinned version each edit makes a new one, and old runs wait for the old one.
# - **c** ✗ They are read only when a run is taken up.
#
# </details>
#
# **4.** One step, `tool(name)`, calls every tool. What does that cost?
#
# - **a** the step cannot be retried
# - **b** nothing: arguments are compared as well
# - **c** a changed order of calls is no longer noticed
#
# <details><summary>Answer</summary>
#
# - **a** ✗ It can. That is not the trouble.
# - **b** ✗ They are not. The name is.
# - **c** ✓ All records have the same name, so each fits each call.
#
# </details>
#
# **5.** You need a reservation and the record of it to be one. What do you choose?
#
# - **a** a datasource transaction, if the reservation is a row in your own database
# - **b** a step with many retries
# - **c** a step that first looks whether the row is there
#
# <details><summary>Answer</summary>
#
# - **a** ✓ One commit holds both.
# - **b** ✗ Retries make more calls, not fewer.
# - **c** ✗ Better than nothing. Two processes may both look, and then both write.
#
# </details>
#
# </details>

# %%
from labkit.widgets import Quiz

Quiz.of_chapter("10_dbos", measured={2: charged})

# %% [markdown]
# ## What real stacks do
#
# - DBOS describes what is recorded and what recovery does in
#   [*How Workflows Work*](https://docs.dbos.dev/explanations/how-workflows-work).
# - Executor ids, and what happens without Conductor, its service that watches the executors:
#   [*Workflow Recovery*](https://docs.dbos.dev/production/workflow-recovery).
# - Patching and versions: [*Upgrading Workflow Code*](https://docs.dbos.dev/python/tutorials/upgrading-workflows).
#
# The lab's own campaigns are DBOS workflows: kill `labkit bench --stack ...`, and the same command goes on where it
# was. On Postgres the crash windows came out the same (recorded, part 2). Parts 3, 4, 5, 7 and 8 and the probes of part
# 6 were tried on SQLite only. To measure Postgres again: `labkit bench --stack dbos-postgres`.

# %% [markdown]
# ## Where the idea comes from
#
# - A record of each call that is kept with the data, so that a retry finds it: P. Helland, [*Life beyond Distributed
#   Transactions: an Apostate's Opinion*](https://www.cidrdb.org/cidr2007/papers/cidr07p15.pdf), CIDR 2007.
# - The project that DBOS comes from: A. Skiadopoulos et al., [*DBOS: A DBMS-oriented Operating
#   System*](https://doi.org/10.14778/3485450.3485454), PVLDB 15(1), 2021.
# - That recovery must know who is alive and not only who is who: C. Gray and D. Cheriton,
#   [*Leases*](https://doi.org/10.1145/74850.74870), SOSP 1989.
#
# **Next:** notebook 11 takes Temporal, which moves the record to a server of its own.
