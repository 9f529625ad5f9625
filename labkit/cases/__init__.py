"""Workflows, one a file. `refund` is the reference."""
