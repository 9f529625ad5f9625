"""What happened to one run, as a picture: traces of its processes, our effect ledger, the provider's ledger."""

from labkit.timeline.timeline import Timeline

__all__ = ["Timeline"]
