"""What may be expected of an integration at a tolerance, signal by signal.

An integrator at relative tolerance T keeps the error of *one step* below T. What becomes of it
in a signal depends on the signal: a stable oscillator damps it, a differentiated signal or a
difference of large terms raises it. So the condition is measured: the same equations are
integrated at T and far below it, and what they differ by is the error that T leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.fmu import ModelDescription

OTHER_STEPS = 10.0
"""Another integrator takes other steps: its error at T is of the order of the one measured.
Two runs that differ by less than this factor are integrated equally well."""

MANY_STEPS = 100.0
"""Local errors of a hundred steps that happen to add up, each T of the signal's size."""

ROUNDING = 1e-12
"""Of a signal's nominal value: below it lies the rounding of the equations themselves."""


@dataclass(frozen=True)
class Limits:
    """How far a signal may be off.

    Parameters
    ----------
    allowed
        Per signal, in its own unit, shape (outputs,).
    scale
        Range of each signal, its size where it does not move, shape (outputs,).
    error
        Measured error of an integration at the tolerance over `scale`, shape (outputs,).
    tolerance
        T.
    """

    allowed: F64
    scale: F64
    error: F64
    tolerance: float

    def worst(self, found: F64, expected: F64) -> tuple[int, float, float]:
        """Return the signal that uses most of its limit: column, deviation, limit.

        Deviation and limit are relative to the signal's range.

        Parameters
        ----------
        found, expected
            Results, shape (n, outputs).
        """
        gaps = np.max(np.abs(found - expected), axis=0)
        column = int(np.argmax(gaps / self.allowed))
        scale = self.scale[column]
        return column, float(gaps[column] / scale), float(self.allowed[column] / scale)


def limits(
    precise: F64,
    rough: F64,
    tolerance: float,
    names: Sequence[str],
    description: ModelDescription,
) -> Limits:
    """Derive limits from two integrations of the same equations.

    Parameters
    ----------
    precise, rough
        Results far below `tolerance` and at it, shape (n, outputs).
    tolerance
        T.
    names
        Of the outputs.
    description
        Units and nominal values.

    Returns
    -------
    Limits
        ``10*error + 100*T*size + T*terms + 1e-12*nominal``: of a signal that is small because
        terms cancel, `terms` is the largest signal of the same unit among the outputs.
    """
    size = np.max(np.abs(precise), axis=0)
    error = np.max(np.abs(rough - precise), axis=0)
    variables = [description.variable(name) for name in names]
    nominal = np.array([abs(v.nominal or 1.0) for v in variables])
    terms = np.array(
        [
            max(s for s, other in zip(size, variables, strict=True) if other.unit == v.unit)
            for v in variables
        ]
    )
    allowed = (
        OTHER_STEPS * error + MANY_STEPS * tolerance * size + tolerance * terms + ROUNDING * nominal
    )
    span = np.ptp(precise, axis=0)
    # A signal that only trembles at the rounding of its terms has no range of its own.
    scale = np.maximum(np.where(span > 1e-9 * size, span, size), ROUNDING * (terms + nominal))
    return Limits(allowed, scale, error / scale, tolerance)
