"""The command line: `labkit ...`. One file a group of commands; `main` is the entry point."""

from labkit.cli.app import main

__all__ = ["main"]
