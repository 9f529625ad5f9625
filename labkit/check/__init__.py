"""What must hold after a crash: evidence, invariants, windows, and what theory expects."""
