"""The reference workflow on existing frameworks: `base` says what an adapter offers, each other file is a framework."""
