"""How the parameters were found: stages, iterations, starts, populations."""
