"""How well the parameters are known: intervals, profiles."""
