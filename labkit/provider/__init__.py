"""The outside world: an own process with an own ledger, and an in-process twin that keeps the same promises.

Read `protocol` (what a caller sees), `ledger` (what is kept), `faults`, `twin` (the rules), then `app`, `server` and
`client` (the same rules over HTTP, in a process that a crash of the caller cannot touch).
"""
