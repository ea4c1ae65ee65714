"""How much memory a process may come to hold."""

from __future__ import annotations

GROWTH_LIMIT = 256 * 1024 * 1024
"""Bytes by which the memory of a worker may grow over that after its first runs before it is
replaced. A leak of 1 kB per run is then renewed every 250 000 runs, one of 10 MB every 25."""
