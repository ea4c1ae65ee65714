"""How well the parameters are known: correlation, profiles."""
