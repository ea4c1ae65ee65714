"""Derivatives along directions that become better with every round of simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.derivatives.ladder import Ladder, LadderDerivatives
from fmident.evaluation.derivatives.outliers import Flags

_SETTLED, _TYPICAL = 0.1, 3.0
"""Part of a derivative, and times the disagreement of other rows, by which two rungs may disagree
on a row that an event may cross."""

_FAMILIAR = 4.0
"""Times the largest derivative of all rows, from which on the disagreement of two rungs is that of
a jump."""


class Climb:
    """Derivatives along directions that become better with every round of simulations.

    Parameters
    ----------
    ladder
        Of all rows.
    known
        Derivatives by the Jacobian, shape (m, k): right for rows that an event crosses.
    crossed
        Which rows these may be, shape (m,).
    """

    def __init__(self, ladder: Ladder, known: F64, crossed: Flags) -> None:
        self._ladder, self._known, self._crossed = ladder, known, crossed

    def refine(self, wanted: Sequence[int]) -> bool:
        """Simulate for these directions; return whether there was anything left to try."""
        return self._ladder.climb(wanted)

    def found(self) -> LadderDerivatives:
        """Return what is known so far, shape (m, k).

        A row that an event seems to cross may be one on a sharp bend, on which two rungs agree.
        """
        found = self._ladder.found()
        rows = np.flatnonzero(self._crossed)
        if rows.size == 0:
            return found
        values, differences = found.values.copy(), found.differences.copy()
        # The quotient of a jump is larger than all derivatives by about the width of a peak over
        # the step.
        familiar = np.max(np.abs(self._known), axis=0, initial=0.0)
        torn = rows[~(np.abs(differences[rows]) <= _FAMILIAR * familiar).all(axis=1)]
        typical = np.sqrt(np.mean(differences[~self._crossed] ** 2, axis=0))
        allowed = _SETTLED * np.abs(values[rows]) + _TYPICAL * typical
        open_ones = rows[~(np.abs(differences[rows]) <= allowed).all(axis=1)]
        # Until the rungs agree, the Jacobian that events were looked for in is as good.
        apart = np.maximum(np.abs(differences), np.abs(values - self._known))
        differences[open_ones] = apart[open_ones]
        values[open_ones] = self._known[open_ones]
        values[torn], differences[torn] = self._known[torn], 0.0
        return LadderDerivatives(values, differences, found.steps)
