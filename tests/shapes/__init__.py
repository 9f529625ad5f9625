"""Small workflows of shapes that the refund does not have, each importable by a real process: `SHAPES` by name."""
