"""What the states hold: texts of a given size that differ from step to step."""

from __future__ import annotations

WORDS = ("order", "paid", "twice", "parcel", "refund", "manager", "ticket", "agent", "answer", "policy", "case")
TEXTS = 8


def texts(size: int) -> list[str]:
    """Some different texts of `size` characters, all ASCII, for a state that changes at each step."""
    words = " ".join(WORDS[(i * i + i // 7) % len(WORDS)] for i in range(size // 3 + 10 * TEXTS))
    return [words[7 * i : 7 * i + size] for i in range(TEXTS)]
