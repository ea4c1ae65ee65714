"""Diagnostics of an estimate: uncertainty, combinations, jumps, bounds, delays."""
