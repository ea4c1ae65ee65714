"""Finite differences: steps from measured noise, events, verification by step ladders."""
