"""Durable storage: labelled transactions and the run header. Nothing here knows about engines."""
