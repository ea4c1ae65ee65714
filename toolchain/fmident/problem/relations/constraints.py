"""The constraints of a problem as functions of its searched parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.problem.relations.constraint import Constraint
from fmident.problem.relations.dependent import Dependence
from fmident.problem.relations.jets import Jet, jet_of, value_of
from fmident.problem.relations.tree import degree

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_KEPT = "constraint_functions"

VIOLATED = 1e-6
"""Distance from where a constraint holds, in sizes of the parameters, from which it is violated."""


@dataclass(frozen=True, eq=False)
class ConstraintJets:
    """The constraints at a point, with derivatives with respect to the searched parameters.

    A function is zero where an equality holds, and not negative where an inequality holds. It is
    the difference of the sides in SI units.

    Parameters
    ----------
    values
        Shape (k,).
    jacobian
        Shape (k, n).
    hessians
        Shape (k, n, n).
    """

    values: F64
    jacobian: F64
    hessians: F64


class Constraints:
    """The constraints of a problem.

    Parameters
    ----------
    problem
        With k constraints and n searched parameters.
    """

    def __init__(self, problem: Problem) -> None:
        self.items: tuple[Constraint, ...] = problem.constraints
        self._dependence = Dependence.of(problem)
        self._count = len(problem.free)
        self._sizes = np.array([abs(q.initial) or q.scale for q in problem.free])

    @classmethod
    def of(cls, problem: Problem) -> Constraints:
        """Return those of a problem, which are kept with it."""
        known = problem.__dict__.get(_KEPT)
        if known is None:
            known = problem.__dict__[_KEPT] = cls(problem)
        found: Constraints = known
        return found

    def __len__(self) -> int:
        return len(self.items)

    @property
    def equalities(self) -> npt.NDArray[np.bool_]:
        """Which are equalities, shape (k,)."""
        return np.array([c.equality for c in self.items], dtype=np.bool_)

    @property
    def affine(self) -> npt.NDArray[np.bool_]:
        """Which are affine functions of the searched parameters, shape (k,)."""
        degrees = self._dependence.degrees()
        return np.array(
            [max(degree(c.left, degrees), degree(c.right, degrees)) <= 1.0 for c in self.items],
            dtype=np.bool_,
        )

    def searched(self, constraint: Constraint, free: frozenset[str]) -> frozenset[str]:
        """Return the searched parameters on which a constraint depends, be it through others."""
        return self._dependence.sources(constraint.left, constraint.right) & free

    def values(self, p: F64) -> F64:
        """Return the functions at `p`, shape (k,); NaN where they are not defined."""
        if not self.items:
            return np.empty(0)
        si = self._dependence.values_in_si(p)
        return np.array([self._sign(c) * self._difference(c, si) for c in self.items])

    def at(self, p: F64) -> ConstraintJets:
        """Return the functions at `p` with their derivatives."""
        if not self.items:
            empty = np.empty((0, self._count))
            return ConstraintJets(np.empty(0), empty, np.empty((0, self._count, self._count)))
        jets = self._dependence.jets(p)
        with np.errstate(all="ignore"):  # not a number where an expression is not defined
            found = [self._jet(c, jets) for c in self.items]
        return ConstraintJets(
            np.array([jet.value for jet in found]),
            np.array([jet.gradient for jet in found]),
            np.array([jet.hessian for jet in found]),
        )

    def distances(self, p: F64) -> F64:
        """Return how far `p` is from where each function is zero, in sizes of the parameters.

        To first order, shape (k,); positive where an inequality holds, infinite where it is not
        defined and where it does not depend on the parameters and is violated.
        """
        found = self.at(p)
        sizes = np.maximum(np.abs(p), self._sizes)
        with np.errstate(all="ignore"):
            slopes = np.linalg.norm(found.jacobian * sizes, axis=1)
            distances = np.where(found.values == 0.0, 0.0, found.values / slopes)
        return np.where(np.isnan(found.values), -np.inf, distances)

    def violated(self, p: F64, tolerance: float = VIOLATED) -> npt.NDArray[np.bool_]:
        """Return which constraints do not hold at `p`, shape (k,)."""
        distances = self.distances(p)
        wrong: npt.NDArray[np.bool_] = np.where(
            self.equalities, np.abs(distances) > tolerance, distances < -tolerance
        )
        return wrong

    def scale(self, p: F64) -> F64:
        """Return what makes the functions distances in sizes of the parameters, shape (k,)."""
        found = self.at(p)
        sizes = np.maximum(np.abs(p), self._sizes)
        with np.errstate(all="ignore"):
            slopes = np.linalg.norm(found.jacobian * sizes, axis=1)
        usable = np.isfinite(slopes) & (slopes > 0.0)
        return np.where(usable, 1.0 / np.where(usable, slopes, 1.0), 1.0)

    def _sign(self, c: Constraint) -> float:
        return -1.0 if c.relation == "<=" else 1.0

    def _difference(self, c: Constraint, si: Mapping[str, float]) -> float:
        return value_of(c.left, si) - value_of(c.right, si)

    def _jet(self, c: Constraint, jets: Mapping[str, Jet]) -> Jet:
        left, right = jet_of(c.left, jets, self._count), jet_of(c.right, jets, self._count)
        return (left - right).scaled(self._sign(c))
