"""From coefficients of the equation to parameters of the problem, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fmident.arrays import F64
from fmident_estimators.linear_equation.formula import Formula

_STEP = 1e-6
_PROBES = (0.37, 1.9, -2.3)
_AFFINE = 1e-9


class ParameterMap:
    """How the free parameters follow from the unknown coefficients.

    Parameters
    ----------
    unknown
        Names of the coefficients, r of them.
    formulas
        One per free parameter, n of them.
    constants
        Values of all other names in the formulas.
    """

    def __init__(
        self,
        unknown: Sequence[str],
        formulas: Sequence[Formula],
        constants: Mapping[str, float],
    ) -> None:
        self._unknown = tuple(unknown)
        self._formulas = tuple(formulas)
        self._constants = dict(constants)
        self._affine = self._find_affine()

    def __call__(self, coefficients: F64) -> F64:
        """Return the parameters, (r,) -> (n,) or (k, r) -> (k, n)."""
        if self._affine is not None:
            matrix, offset = self._affine
            values: F64 = coefficients @ matrix.T + offset
            return values
        if coefficients.ndim == 2:
            return np.array([self._evaluate(row) for row in coefficients])
        return self._evaluate(coefficients)

    def standard_errors(self, coefficients: F64, covariance: F64) -> F64:
        """Return those of the parameters to first order.

        Parameters
        ----------
        coefficients, covariance
            Shapes (r,) and (r, r), or (k, r) and (k, r, r).

        Returns
        -------
        ndarray
            Shape (n,) or (k, n).
        """
        if self._affine is None and coefficients.ndim == 2:
            rows = [self.standard_errors(*p) for p in zip(coefficients, covariance, strict=True)]
            return np.array(rows)
        matrix = self._jacobian(coefficients) if self._affine is None else self._affine[0]
        variance = ((matrix @ covariance) * matrix).sum(axis=-1)
        errors: F64 = np.sqrt(np.maximum(variance, 0.0))
        return errors

    def _evaluate(self, coefficients: F64) -> F64:
        values = dict(self._constants)
        values.update(zip(self._unknown, coefficients.tolist(), strict=True))
        return np.array([formula(values) for formula in self._formulas])

    def _jacobian(self, coefficients: F64) -> F64:
        """Return the derivative of the parameters by central differences, shape (n, r)."""
        columns = []
        for j, value in enumerate(coefficients):
            step = _STEP * (abs(value) if value != 0.0 else 1.0)
            up, down = coefficients.copy(), coefficients.copy()
            up[j] += step
            down[j] -= step
            columns.append((self._evaluate(up) - self._evaluate(down)) / (up[j] - down[j]))
        return np.column_stack(columns)

    def _find_affine(self) -> tuple[F64, F64] | None:
        """Return matrix and offset if all formulas are affine: most are, and that is faster."""
        r = len(self._unknown)
        offset = self._evaluate(np.zeros(r))
        matrix = np.column_stack([self._evaluate(unit) - offset for unit in np.eye(r)])
        for factor in _PROBES:
            point: F64 = factor * (1.0 + np.arange(r, dtype=np.float64))
            expected = matrix @ point + offset
            found = self._evaluate(point)
            size = np.abs(matrix) @ np.abs(point) + np.abs(offset)
            if not bool(np.all(np.abs(found - expected) <= _AFFINE * size)):
                return None  # also where a formula has no value (NaN)
        return matrix, offset
