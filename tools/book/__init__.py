"""The book: the course, executed, as pages that need no server, no network and no kernel. Type: make book."""
