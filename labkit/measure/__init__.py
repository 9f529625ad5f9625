"""Existing frameworks under the same kill: real processes, trials, conformance, a campaign that survives a crash."""
