"""Which columns of a Jacobian one difference gives together.

Source: Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices, 1974.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.fmu.tables import I64


def colours_of(known: Sequence[Sequence[int] | None], n: int) -> tuple[I64, I64]:
    """Return a colour for each state, and the pattern of df/dx.

    Parameters
    ----------
    known
        For each derivative, on which states it depends; ``None``: perhaps on all. Empty: nothing is
        known.
    n
        Number of states.

    Returns
    -------
    colours : ndarray, shape (n,)
        States of the same colour have no derivative in common.
    pattern : ndarray, shape (n, n)
        1 where a derivative may depend on a state.
    """
    pattern = np.ones((n, n), np.int64)
    if len(known) == n:
        for i, states in enumerate(known):
            if states is not None:
                pattern[i] = 0
                pattern[i, list(states)] = 1
    colours = np.full(n, -1, np.int64)
    for j in range(n):
        rows = pattern[:, j] == 1
        taken = {int(colours[k]) for k in range(j) if np.any(pattern[rows, k])}
        colours[j] = next(c for c in range(n) if c not in taken)
    return colours, pattern
