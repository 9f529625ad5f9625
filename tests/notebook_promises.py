"""What each notebook must show when it has run: a piece of the cell's code (none: anywhere), the text, how often."""

from __future__ import annotations

from labkit.bench.launch import KILLED

SHOWS: dict[str, list[tuple[str, str, int]]] = {
    "00_start": [
        ("", f"ended with status {KILLED}", 1),
        ("sent.key.nunique", "4.execute_refund", 2),  # the crash that breaks it: one key, two payments
        ("pd.concat(", "<th>snapshot</th>", 1),
        ("pd.concat(", "<th>event-sourced</th>", 1),
        ("pd.concat(", "<th>hybrid</th>", 1),
        ("pd.concat(", "payments-1", 6),  # three engines, with the policy bare and with the ledger
        ("pd.concat(", "payments-2", 3),  # paid twice with the policy bare, on each engine
        ("pd.concat(", "payments-3", 0),
        ("pd.concat(", "mail-1", 3),  # sent once, and ambiguous
        ("pd.concat(", "mail-2", 0),
        ("", "waiting_for_person", 7),  # once in part 5, then on three engines: as status, and in the reason
    ],
    "01_state": [
        ("", f"ended with status {KILLED}", 1),
        ("", "executing</td>", 2),  # what the kill left in our ledger: shown by the lab, and by SQL
        ("", "No such file", 1),  # the crash that breaks it
        ("sent = ", '<td style="text-align:left">completed</td>', 1),
    ],
    "02_windows": [
        ("", f"ended with status {KILLED}", 5),  # a real kill in each window
        ("", "DUPLICATE</b> executed 2 times", 1),  # in W4
        ("", "DUPLICATE</b> executed 3 times", 1),  # the crash that breaks it
        ("thrice = ", "payments-3", 1),
    ],
    "03_snapshots": [
        ("", f"ended with status {KILLED}", 1),
        ("", "Our books: 0.07. The invoice: 0.09.", 1),
        ("", "data.notes['callback']", 1),  # refused, with its path
        ("", "is confirmed as payments.refund with order", 1),  # the fork that would pay another amount
        ("", "DUPLICATE</b> executed 2 times", 1),  # the crash that breaks it, on one engine of two
    ],
    "04_events": [
        ("", f"ended with status {KILLED}", 1),
        ("", "activities that were called: []", 1),  # replay asks nobody
        ("", "the code now asks for activity", 2),  # loud: other code, and a clock read in passing
        ("", "49.90 and 54.90", 1),  # a model that changed its mind
        ("", "our database says", 3),  # silent: three looks, three numbers
    ],
    "05_hybrid": [
        ("", f"ended with status {KILLED}", 1),  # in W5, before the retention job
        ("", "<figcaption>", 2),  # the curves, each with its words
        ("", "payments-2", 1),  # the crash that breaks it: a row too many was deleted
        ("", "needs its whole journal", 1),
    ],
    "06_effects": [
        ("", "all 60 boxes are as measured here", 1),  # the picture of the README, derived by the reader
        ("", "<td>reconcile</td>", 4),
        ("", "payments-1-compensated", 1),
        ("", "<td>[40, 45]</td>", 1),  # the crash that breaks it: paid twice, and not the same amount
    ],
    "07_property": [
        ("", '"schedule": [', 1),  # the counterexample, as it was saved
        ("", "died at execute_refund/cleared:after#1", 1),  # and replayed
        ("places = [each", "execute_refund/attempt:after#1", 1),  # where a paused owner does harm
    ],
    "08_trajectory": [
        ("what_has_happened(look([desk])", "In doubt now, before any crash: 1 call", 1),  # this comes first
        ("in_doubt =", "<svg", 1),
        ("(known,) =", "<title>6: turn 4, messages[9].tool_calls[0]: issue_refund", 1),  # one effect under two ids
        ("", "repeats 8 of 8 effect calls", 1),
        ("", "DUPLICATE</b> executed 2 times", 1),  # the crash that breaks it
        ("", "3 bookings, 1 cancelled", 1),
        ("", "the record ends in the middle", 1),
    ],
    "09_langgraph": [
        ("", f"status {KILLED}", 7),  # a real kill in each trial that is shown
        ("renamed = ", "completed; lost: send_mail, close_ticket", 1),  # a silent ending
        ("silent = ", "result of charge", 2),  # silent: a call gets the result of another one
        ("two = ", "ship 2x", 1),  # two processes resumed one thread
        ("again = ", "execute_refund 2x", 1),  # the crash that breaks it
        ("guarded = ", "execute_refund 1x", 1),
    ],
    "10_dbos": [
        ("", f"status {KILLED}", 3),
        ("once = ", "killed when committed: 2 line(s)", 1),  # a plain step; a transaction writes one
        ("traps = ", "PENDING", 2),  # another version, another executor
        ("inserted = ", "DBOSUnexpectedStepError", 1),
        ("stored = ", "the folder was made", 2),  # a stored pickle was run
        ("crashed = ", "receipt of charge", 2),  # the crash that breaks it: the check got the payment's receipt
    ],
    "11_temporal": [  # also where a record stands in for a server
        ("w3 = ", "repeated: execute_refund", 1),
        ("show(history)", "activity_task_started", 2),
        ("fits = ", "it fits", 3),  # unchanged, patched, and at another price
        ("", "the replay says nothing", 1),
        ("mail = ", "repeated: send_mail", 1),  # the crash that breaks it
    ],
    "12_claims": [
        ("counted = ", "<td>2</td>", 6),  # W3 and W4 of each effect, bare; none with the ledger
        ("bounds = ", "below 8.8%", 1),  # what 0 of 40 means
        ("told(*judged)", "not measured", 1),  # no verdict without trials
        ("MINE = ", "holds", 1),  # the reader's own claim
        ("promised = ", "holds", 1),  # the crash that breaks it: never twice, and
        ("fields = ", "<td>0</td>", 14),  # something is lost in three windows of five
    ],
}
