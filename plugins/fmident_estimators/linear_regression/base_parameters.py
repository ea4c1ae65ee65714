"""Base parameters: combinations of parameters with an independent effect.

Zero columns are dropped. A QR decomposition of the others, with pivots in order of
preference, separates independent from dependent columns and gives the mapping between
them (Gautier 1990; equations 7 and 8 of the paper on closed-loop multibody systems).
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

    `independent`, `dependent` and `inert` are indices of parameters: one per base
    parameter; lumped into others; without any effect. `mapping` has one row per base
    parameter, with beta at the dependent and zero at the inert ones.
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    inert: tuple[int, ...]
    mapping: F64

    @property
    def combinations(self) -> tuple[DeterminedCombination, ...]:
        """Base parameters for the host, such as ``inertia1 + 0.0064*mass2``."""
        members = []
        for j, row in zip(self.independent, self.mapping, strict=True):
            order = [j, *self.dependent]
            text = format_combination(row[order], [self.names[k] for k in order])
            members.append(DeterminedCombination(text, row[np.newaxis], (1,), j, everywhere=True))
        return tuple(members)

    def values(self, parameters: F64) -> F64:
        """Return the base parameters for parameter values, shape (n,) -> (b,)."""
        base: F64 = self.mapping @ parameters
        return base

    def with_dependent(self, base: F64, parameters: F64) -> F64:
        """Return parameters with given base values, equation 10, and the others unchanged, (n,)."""
        solution = np.array(parameters, dtype=np.float64)
        lumped = list(self.dependent)
        solution[list(self.independent)] = base - self.mapping[:, lumped] @ solution[lumped]
        return solution

    def minimum_norm(self, base: F64, parameters: F64) -> F64:
        """Return the minimum-norm parameters with given base values, inert ones unchanged, (n,)."""
        solution = np.array(parameters, dtype=np.float64)
        active = [*self.independent, *self.dependent]
        solution[active] = np.linalg.lstsq(self.mapping[:, active], base, rcond=None)[0]
        return solution

    def reduced(self, columns: F64, tolerance: float, sizes: F64 | None = None) -> BaseParameters:
        """Return the remaining base parameters when those of `columns`, (m, b), are dependent."""
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
    """Return which columns are zero except for rounding, for parameters of given sizes."""
    lengths = np.linalg.norm(columns, axis=0)
    if sizes is not None:
        lengths = lengths * sizes
    tiny: npt.NDArray[np.bool_] = lengths <= _NEGLIGIBLE * lengths.max(initial=0.0)
    return tiny


def find_base(
    columns: F64,
    names: Sequence[str],
    order: Sequence[int],
    tolerance: float,
    sizes: F64 | None = None,
) -> BaseParameters:
    """Return independent, dependent and zero columns and the mapping between them.

    `columns` has one column per parameter, shape (m, n). `order` are the indices of the
    parameters; those that should be independent come first. A column is dependent when its
    part orthogonal to the previous ones is smaller than `tolerance` times its length.
    `sizes` are as in :func:`negligible`.
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
