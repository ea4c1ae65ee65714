"""Simulations in worker processes.

``executor`` hands out the tasks, ``worker`` is its handle on one process, ``child`` is what
runs in there; ``protocol`` and ``lifeline`` are what both sides need. The child imports the FMU
engine only: it must start quickly.
"""
