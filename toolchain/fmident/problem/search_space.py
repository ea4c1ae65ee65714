"""The scaled search space of estimators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.problem.model import Problem


@dataclass(frozen=True)
class SearchSpace:
    """Mapping between physical parameters and scaled ones.

    A component is ``p / scale`` or, with log scaling, ``log(p)``. All fields have shape
    (n,); `scale` is unused where `log` is true, and `lower` and `upper` are the bounds in
    the search space.
    """

    scale: F64
    log: np.ndarray[tuple[int], np.dtype[np.bool_]]
    lower: F64
    upper: F64

    @classmethod
    def of(cls, problem: Problem) -> SearchSpace:
        """Return the search space of the problem's free parameters."""
        scale = np.array([p.scale for p in problem.free], dtype=np.float64)
        log = np.array([p.scaling == "log" for p in problem.free], dtype=np.bool_)
        bare = cls(scale, log, scale, scale)
        return cls(scale, log, bare.from_physical(problem.lower), bare.from_physical(problem.upper))

    def from_physical(self, p: F64) -> F64:
        """Return the search-space point of physical parameters, shape (..., n)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = np.log(np.maximum(p, 0.0))
        return np.where(self.log, logarithm, p / self.scale)

    def to_physical(self, z: F64) -> F64:
        """Return the physical parameters of a search-space point, shape (..., n)."""
        exponent = np.where(self.log, z, 0.0)
        return np.where(self.log, np.exp(exponent), z * self.scale)

    def derivative(self, p: F64) -> F64:
        """Return ``dp/dz`` at the physical point `p`, shape (n,)."""
        return np.where(self.log, p, self.scale)
