"""Derivatives by difference: steps from measured noise, events, ladders that verify."""
