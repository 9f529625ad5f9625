"""What is published about each framework beside what was measured here; the verdict follows from the rows alone."""
