"""What is special to one framework: each probe really runs it, and says what it saw."""
