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


@dataclass(frozen=True)
class Magnitudes:
    """How large signals are, each shape (outputs,).

    Parameters
    ----------
    span, size
        Range and largest absolute value.
    terms
        The largest size among the signals of the same unit: what a signal may be a difference of.
    nominal
        Nominal value, 1 where none is given.
    """

    span: F64
    size: F64
    terms: F64
    nominal: F64

    @property
    def scale(self) -> F64:
        """What deviations are relative to: the range, the size of what does not move.

        A signal that only trembles at the rounding of its terms has no range of its own.
        """
        moving = np.where(self.span > 1e-9 * self.size, self.span, self.size)
        return np.maximum(moving, ROUNDING * (self.terms + self.nominal))

    def noise(self, tolerance: float) -> F64:
        """Return what integrations at a tolerance leave in differences of large terms."""
        return OTHER_STEPS * tolerance * self.terms + ROUNDING * self.nominal


def magnitudes(values: F64, names: Sequence[str], description: ModelDescription) -> Magnitudes:
    """Return how large signals are.

    Parameters
    ----------
    values
        Shape (n, outputs).
    names
        Of the outputs.
    description
        Units and nominal values.
    """
    size = np.max(np.abs(values), axis=0)
    variables = [description.variable(name) for name in names]
    by_unit: dict[str | None, float] = {}
    for variable, largest in zip(variables, size, strict=True):
        by_unit[variable.unit] = max(by_unit.get(variable.unit, 0.0), float(largest))
    terms = np.array([by_unit[v.unit] for v in variables])
    nominal = np.array([abs(v.nominal or 1.0) for v in variables])
    return Magnitudes(np.ptp(values, axis=0), size, terms, nominal)


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
    known = magnitudes(precise, names, description)
    error = np.max(np.abs(rough - precise), axis=0)
    allowed = (
        OTHER_STEPS * error
        + tolerance * (MANY_STEPS * known.size + known.terms)
        + ROUNDING * known.nominal
    )
    return Limits(allowed, known.scale, error / known.scale, tolerance)
