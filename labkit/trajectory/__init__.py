"""Recorded agent trajectories: read one, turn it into a workflow, crash it everywhere, say what would have happened."""
