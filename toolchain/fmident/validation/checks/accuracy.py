"""Expected accuracy of an integration at a tolerance, signal by signal.

An integrator with relative tolerance T keeps the error of *one step* below T. Its
effect depends on the signal: a stable oscillator damps it, while a differentiated
signal or a difference of large terms amplifies it. Therefore the condition is measured:
the same equations are integrated at T and far below it, and the difference is the error
due to T.
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
"""Part of a signal's nominal value below which differences are rounding of the equations."""


@dataclass(frozen=True)
class Limits:
    """Permissible deviations of signals, each of shape (outputs,), at a tolerance T.

    `allowed` is in the signal's unit, `scale` is its range, or its magnitude if it is
    constant, and `error` is the measured error of an integration at the tolerance over
    `scale`.
    """

    allowed: F64
    scale: F64
    error: F64
    tolerance: float

    def worst(self, values: F64, expected: F64) -> tuple[int, float, float]:
        """Return column, deviation and limit of the signal that uses most of its limit.

        Deviation and limit are relative to the signal's range; the results have shape (n,
        outputs).
        """
        gaps = np.max(np.abs(values - expected), axis=0)
        column = int(np.argmax(gaps / self.allowed))
        scale = self.scale[column]
        return column, float(gaps[column] / scale), float(self.allowed[column] / scale)


@dataclass(frozen=True)
class Magnitudes:
    """Magnitudes of signals, each of shape (outputs,).

    `span` and `size` are range and maximum absolute value. `terms` is the maximum magnitude
    among the signals of the same unit, of which a signal may be a difference, and `nominal`
    is 1 if none is given.
    """

    span: F64
    size: F64
    terms: F64
    nominal: F64

    @property
    def scale(self) -> F64:
        """Reference of deviations: the range, or the magnitude of a constant signal.

        A signal that varies only by the rounding of its terms counts as constant.
        """
        moving = np.where(self.span > 1e-9 * self.size, self.span, self.size)
        return np.maximum(moving, ROUNDING * (self.terms + self.nominal))

    def noise(self, tolerance: float) -> F64:
        """Return the integration error remaining in differences of large terms at a tolerance."""
        return OTHER_STEPS * tolerance * self.terms + ROUNDING * self.nominal


def magnitudes(values: F64, names: Sequence[str], description: ModelDescription) -> Magnitudes:
    """Return the magnitudes of signals, shape (n, outputs).

    `names` are the outputs, and `description` gives units and nominal values.
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

    They are ``10*error + 100*T*size + T*terms + 1e-12*nominal``: for a signal that is small
    because terms cancel, `terms` is the largest signal of the same unit among the outputs.
    `precise` and `rough` are results far below the tolerance T and at it, shape (n,
    outputs).
    """
    known = magnitudes(precise, names, description)
    error = np.max(np.abs(rough - precise), axis=0)
    allowed = (
        OTHER_STEPS * error
        + tolerance * (MANY_STEPS * known.size + known.terms)
        + ROUNDING * known.nominal
    )
    return Limits(allowed, known.scale, error / known.scale, tolerance)
