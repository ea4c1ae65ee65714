"""Solution of equations: aliases, matching, ordering, blocks."""
