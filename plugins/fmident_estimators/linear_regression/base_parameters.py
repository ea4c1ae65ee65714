"""Which combinations of parameters have an effect of their own.

Columns that are zero are dropped; of the others, a QR decomposition whose pivots follow a
preference tells independent from dependent columns and the mapping between them (Gautier
1990; equations 7 and 8 of the paper on closed-loop multibody systems).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.identifiability import DeterminedCombination, format_combination

_NEGLIGIBLE = 1e-12
"""A column that is smaller than this part of the largest is rounding, not an influence."""


@dataclass(frozen=True)
class BaseParameters:
    """``base = mapping @ parameters``, with the unit matrix at the independent ones.

    Parameters
    ----------
    names
        All parameters, shape (n,).
    independent, dependent, inert
        Indices: one per base parameter; lumped into others; without any effect.
    mapping
        Shape (len(independent), n): one at the independent parameter, beta at the dependent
        ones, zero at the inert ones.
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    inert: tuple[int, ...]
    mapping: F64

    @property
    def combinations(self) -> tuple[DeterminedCombination, ...]:
        """The base parameters for the host, such as ``inertia1 + 0.0064*mass2``."""
        found = []
        for j, row in zip(self.independent, self.mapping, strict=True):
            order = [j, *self.dependent]
            text = format_combination(row[order], [self.names[k] for k in order])
            found.append(DeterminedCombination(text, row[np.newaxis], (1,), j, everywhere=True))
        return tuple(found)

    def values(self, parameters: F64) -> F64:
        """Return the base parameters of parameters, shape (n,) -> (b,)."""
        found: F64 = self.mapping @ parameters
        return found

    def with_dependent(self, base: F64, parameters: F64) -> F64:
        """Return parameters with these base values; equation 10.

        Parameters
        ----------
        base
            Base parameters, shape (b,).
        parameters
            Where the dependent and the inert parameters are taken from, shape (n,).

        Returns
        -------
        numpy.ndarray
            Shape (n,).
        """
        moved = np.array(parameters, dtype=np.float64)
        lumped = list(self.dependent)
        moved[list(self.independent)] = base - self.mapping[:, lumped] @ moved[lumped]
        return moved

    def minimum_norm(self, base: F64, parameters: F64) -> F64:
        """Return the parameters of least norm with these base values, shape (n,).

        Parameters
        ----------
        base
            Base parameters, shape (b,).
        parameters
            Where the inert ones are taken from, shape (n,).
        """
        moved = np.array(parameters, dtype=np.float64)
        active = [*self.independent, *self.dependent]
        moved[active] = np.linalg.lstsq(self.mapping[:, active], base, rcond=None)[0]
        return moved

    def reduced(self, columns: F64, tolerance: float, sizes: F64 | None = None) -> BaseParameters:
        """Return the base parameters that are left when those of `columns` depend on each other.

        Parameters
        ----------
        columns
            One per base parameter, shape (m, b).
        tolerance, sizes
            As in :func:`find_base`; one size per base parameter.
        """
        names = [self.names[j] for j in self.independent]
        inner = find_base(columns, names, range(len(names)), tolerance, sizes)
        mapping = inner.mapping @ self.mapping
        independent = tuple(self.independent[k] for k in inner.independent)
        active = np.any(mapping != 0.0, axis=0)
        rest = [j for j in range(len(self.names)) if j not in independent]
        return BaseParameters(
            self.names,
            independent,
            tuple(j for j in rest if active[j]),
            tuple(j for j in rest if not active[j]),
            mapping,
        )


def negligible(columns: F64, sizes: F64 | None = None) -> npt.NDArray[np.bool_]:
    """Return which columns are zero but for rounding, shape (n,).

    Parameters
    ----------
    columns
        One per parameter, shape (m, n).
    sizes
        Typical sizes of the parameters, shape (n,), so that units do not matter; 1 if not given.
    """
    lengths = np.linalg.norm(columns, axis=0)
    if sizes is not None:
        lengths = lengths * sizes
    found: npt.NDArray[np.bool_] = lengths <= _NEGLIGIBLE * lengths.max(initial=0.0)
    return found


def find_base(
    columns: F64,
    names: Sequence[str],
    order: Sequence[int],
    tolerance: float,
    sizes: F64 | None = None,
) -> BaseParameters:
    """Return independent, dependent and zero columns and the mapping between them.

    Parameters
    ----------
    columns
        One per parameter, shape (m, n).
    names
        Shape (n,).
    order
        Indices of the parameters, the one first that shall rather be independent.
    tolerance
        A column depends on those before it when what they leave of it is smaller than this
        part of its length.
    sizes
        As in :func:`negligible`.
    """
    lengths = np.linalg.norm(columns, axis=0)
    without = negligible(columns, sizes)
    inert = np.flatnonzero(without).tolist()
    independent: list[int] = []
    dependent: list[int] = []
    basis = np.empty((columns.shape[0], 0))
    for j in order:
        if without[j]:
            continue
        rest = columns[:, j] / lengths[j]
        for _ in range(2):  # twice is enough: Gram-Schmidt to rounding
            rest = rest - basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if left > tolerance and len(independent) < columns.shape[0]:
            independent.append(j)
            basis = np.column_stack([basis, rest / left])
        else:
            dependent.append(j)
    mapping = np.zeros((len(independent), len(names)))
    mapping[np.arange(len(independent)), independent] = 1.0
    if dependent and independent:
        unit = columns[:, independent] / lengths[independent]
        shares = np.linalg.lstsq(unit, columns[:, dependent] / lengths[dependent], rcond=None)[0]
        shares[np.abs(shares) < 10.0 * tolerance * np.abs(shares).max(axis=0)] = 0.0
        mapping[:, dependent] = (
            shares * lengths[dependent] / np.asarray(lengths[independent])[:, np.newaxis]
        )
    return BaseParameters(tuple(names), tuple(independent), tuple(dependent), tuple(inert), mapping)
