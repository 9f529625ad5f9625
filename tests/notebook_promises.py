"""What each notebook must show when it has run: where (anywhere, or in its last cell), the text, how often."""

from __future__ import annotations

from labkit.bench.launch import KILLED

SHOWS: dict[str, list[tuple[str, str, int]]] = {
    "00_start": [
        ("anywhere", f"ended with status {KILLED}", 1),
        ("last cell", "<th>snapshot</th>", 1),
        ("last cell", "<th>event-sourced</th>", 1),
        ("last cell", "<th>hybrid</th>", 1),
        ("last cell", "payments-1", 6),  # three engines, with the policy bare and with the ledger
        ("last cell", "payments-2", 3),  # paid twice with the policy bare, on each engine
        ("last cell", "payments-3", 0),
        ("last cell", "mail-1", 3),  # sent once, and ambiguous
        ("last cell", "mail-2", 0),
        ("anywhere", "waiting_for_person", 4),  # once in part 5, then on three engines
    ],
    "01_state": [
        ("anywhere", f"ended with status {KILLED}", 1),
        ("anywhere", "executing</td>", 2),  # what the kill left in our ledger: shown by the lab, and by SQL
        ("anywhere", "No such file", 1),  # the crash that breaks it
        ("last cell", '<td style="text-align:left">completed</td>', 1),
    ],
    "02_windows": [
        ("anywhere", f"ended with status {KILLED}", 5),  # a real kill in each window
        ("anywhere", "DUPLICATE</b> executed 2 times", 1),  # in W4
        ("anywhere", "DUPLICATE</b> executed 3 times", 1),  # the crash that breaks it
        ("last cell", "payments-3", 1),
    ],
    "03_snapshots": [
        ("anywhere", f"ended with status {KILLED}", 1),
        ("anywhere", "Our books: 0.07. The invoice: 0.09.", 1),
        ("anywhere", "data.notes['callback']", 1),  # refused, with its path
        ("anywhere", "is confirmed with request", 1),  # the fork that would pay another amount
        ("anywhere", "DUPLICATE</b> executed 2 times", 1),  # the crash that breaks it, on one engine of two
    ],
    "04_events": [
        ("anywhere", f"ended with status {KILLED}", 1),
        ("anywhere", "activities that were called: []", 1),  # replay asks nobody
        ("anywhere", "the code now asks for activity", 2),  # loud: other code, and a clock read in passing
        ("anywhere", "49.90 and 54.90", 1),  # a model that changed its mind
        ("anywhere", "our database says", 3),  # silent: three looks, three numbers
    ],
    "05_hybrid": [
        ("anywhere", f"ended with status {KILLED}", 1),  # in W5, before the retention job
        ("anywhere", "<figcaption>", 2),  # the curves, each with its words
        ("anywhere", "payments-2", 1),  # the crash that breaks it: a row too many was deleted
        ("anywhere", "needs its whole journal", 1),
    ],
    "06_effects": [
        ("anywhere", "all 60 boxes are as measured here", 1),  # the picture of the README, derived by the reader
        ("anywhere", "<td>reconcile</td>", 4),
        ("anywhere", "payments-1-compensated", 1),
        ("anywhere", "<td>[40, 45]</td>", 1),  # the crash that breaks it: paid twice, and not the same amount
    ],
    "07_property": [
        ("anywhere", '"schedule": [', 1),  # the counterexample, as it was saved
        ("anywhere", "died at execute_refund/cleared:after#1", 1),  # and replayed
        ("last cell", "execute_refund/attempt:after#1", 1),  # where a paused owner does harm
    ],
    "08_trajectory": [
        ("anywhere", "repeats 8 of 8 effect calls", 1),
        ("anywhere", "DUPLICATE</b> executed 2 times", 1),  # the crash that breaks it
        ("anywhere", "3 bookings, 1 cancelled", 1),
        ("anywhere", "the record ends in the middle", 1),
    ],
}
