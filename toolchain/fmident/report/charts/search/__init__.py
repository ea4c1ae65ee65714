"""How the parameters were found: cost and parameters over the iterations, populations."""
