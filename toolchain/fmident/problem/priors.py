r"""Prior knowledge as additional residuals, the same for every estimator.

With the whitened residuals :math:`r` of the data and the standardised deviations
:math:`d` of the parameters from their priors, the negative logarithm of the posterior
density is

.. math:: \tfrac12 \sum r^2 + \tfrac12 \sum d^2 \quad\text{(noise known)}, \qquad
    \tfrac{\nu}{2} \ln \sum r^2 + \tfrac12 \sum d^2 \quad\text{(noise unknown)}.

In the latter the noise variance is concentrated out (Seber and Wild, Nonlinear
Regression, 1989, section 2.2; Box and Tiao, Bayesian Inference in Statistical Analysis,
1973, section 2.7), and :math:`\nu` is the number of residuals minus that of the
parameters, so that the noise is estimated as without priors. Estimators need a sum of
squares. With known noise the deviations are additional residuals. With unknown noise
the sum

.. math:: S \, e^{Q/\nu} = \sum r^2 + \sum \rho^2, \quad S = \sum r^2, \quad Q = \sum d^2, \quad
    \rho_k = d_k \sqrt{\frac{S}{\nu} \, \frac{e^{Q/\nu} - 1}{Q/\nu}}

is a monotone function of the posterior density and has the same minimum for any noise.
The deviations are again residuals, in units of the noise estimated from the data at the
same point. Beyond :math:`Q = 30 \nu`, where a search may start but not end, the
exponential is continued by its tangent to avoid overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.problem.dependent import Dependence
from fmident.problem.model import Prior, Problem, made_once

_STEEPEST = 30.0
"""Squared deviations over degrees of freedom beyond which the exponential is its tangent."""

_SERIES = 1e-5
"""Below it, a series takes the place of differences that cancel."""


@dataclass(frozen=True, eq=False)
class Priors:
    """The priors of a problem that add to its cost.

    `dependence` maps the searched parameters to all parameters, `terms` has name and prior
    of each of the q parameters that have one and can vary, and `sigma_known` says whether
    the residuals of the data have known standard deviations.
    """

    dependence: Dependence
    terms: tuple[tuple[str, Prior], ...]
    sigma_known: bool

    @classmethod
    def of(cls, problem: Problem) -> Priors:
        """Return the cached instance of a problem."""
        return made_once(problem, cls._made)

    @classmethod
    def _made(cls, problem: Problem) -> Priors:
        dependence, free = Dependence.of(problem), {q.name for q in problem.free}
        terms = tuple(
            (q.name, q.prior)
            for q in problem.parameters
            if q.prior is not None
            and q.prior.counts
            # One that is held has no effect.
            and (
                q.name in free
                if q.expression is None
                else not free.isdisjoint(dependence.sources(q.expression.tree))
            )
        )
        return cls(dependence, terms, problem.sigma_known)

    @property
    def count(self) -> int:
        """Number of rows, q."""
        return len(self.terms)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, one per row."""
        return tuple(name for name, _ in self.terms)

    def deviations(self, p: F64) -> F64:
        """Return each parameter's deviation from its prior, in standard deviations, shape (q,).

        `p` are the free parameters, shape (n,).
        """
        values = self.dependence.values(p)
        return np.array([prior.deviation(values[name]) for name, prior in self.terms])

    def slopes(self, p: F64) -> F64:
        """Return the derivatives of :meth:`deviations`, shape (q, n)."""
        values, rows = self.dependence.values(p), self.dependence.derivatives(p)
        slopes = [prior.slope(values[name]) * rows[name] for name, prior in self.terms]
        return np.array(slopes).reshape(len(slopes), p.size)

    def with_rows(self, p: F64, residuals: F64) -> F64:
        """Return the residuals of the data, shape (m,), followed by those of the priors.

        The result has shape (m + q,) and is all NaN if the simulation failed. `p` are the free
        parameters, shape (n,).
        """
        if not self.terms:
            return residuals
        if not bool(np.isfinite(residuals).all()):
            return np.full(residuals.size + self.count, np.nan)
        deviations = self.deviations(p)
        x = float(deviations @ deviations) / self.freedom(residuals.size, p.size)
        unit = self._unit(residuals, p.size) * math.sqrt(self._growth(x)[0])
        return np.concatenate([residuals, unit * deviations])

    def with_slopes(self, p: F64, residuals: F64, changes: F64, directions: F64) -> F64:
        """Return derivatives of :meth:`with_rows`, shape (m + q, k), from those of the data.

        `changes` are the directional derivatives of the residuals of the data, shape (m, k),
        along `directions` in physical parameters, shape (n, k), the identity for a Jacobian.
        """
        if not self.terms:
            return changes
        deviations, slopes = self.deviations(p), self.slopes(p) @ directions
        unit = self._unit(residuals, p.size)
        if self.sigma_known or unit == 0.0:
            return np.vstack([changes, unit * slopes])
        freedom = self.freedom(residuals.size, p.size)
        growth, bend = self._growth(float(deviations @ deviations) / freedom)
        root = math.sqrt(growth)
        # Of the unit, sqrt(S / nu), and of the growth, a function of Q / nu.
        unit_slope = (residuals @ changes) / (freedom * unit)
        root_slope = bend / root * (deviations @ slopes) / freedom
        rows = unit * root * slopes
        rows = rows + np.outer(deviations, root * unit_slope + unit * root_slope)
        return np.vstack([changes, rows])

    def cost(self, p: F64, residuals: F64) -> float:
        """Return ``1/2 sum r^2`` of :meth:`with_rows`; infinite if the simulation failed."""
        rows = self.with_rows(p, residuals)
        # Not by BLAS: its threads cost more than they save, and its order of summation may vary.
        value = 0.5 * float(np.einsum("i,i->", rows, rows))
        return value if np.isfinite(value) else math.inf

    def log_density(self, p: F64, cost: float, samples: int) -> float:
        """Return the logarithm of likelihood times priors at `p`, up to a constant.

        Unknown noise is integrated out with Jeffreys' prior. Priors enter through their
        deviations only: a lognormal prior is a density of the logarithm. `cost` is the value
        returned by :meth:`cost`, and `samples` is the number of residuals of the data.
        """
        if self.sigma_known:
            return -cost
        squared, growth = 0.0, 1.0
        if self.terms:
            deviations = self.deviations(p)
            squared = float(deviations @ deviations)
            freedom = self.freedom(samples, p.size)
            growth += squared / freedom * self._growth(squared / freedom)[0]
        if cost <= 0.0:
            return math.inf
        return -0.5 * samples * (math.log(2.0 * cost) - math.log(growth)) - 0.5 * squared

    def freedom(self, samples: int, parameters: int) -> int:
        """Return the degrees of freedom of the noise estimate; at least 1."""
        return max(samples - parameters, 1)

    def _unit(self, residuals: F64, parameters: int) -> float:
        """Return the noise standard deviation that converts deviations to residuals."""
        if self.sigma_known:
            return 1.0
        total = float(np.einsum("i,i->", residuals, residuals))
        return math.sqrt(total / self.freedom(residuals.size, parameters))

    def _growth(self, x: float) -> tuple[float, float]:
        """Return ``(e^x - 1) / x`` at ``x = Q / nu``, and its derivative; 1, 0 for known noise."""
        if self.sigma_known:
            return 1.0, 0.0
        if x > _STEEPEST:  # the tangent of the exponential
            top = math.exp(_STEEPEST)
            offset = top * (1.0 - _STEEPEST) - 1.0
            return (top * x + offset) / x, -offset / x**2
        if x < _SERIES:
            return 1.0 + x / 2.0 + x * x / 6.0, 0.5 + x / 3.0
        growth = math.expm1(x) / x
        return growth, (math.exp(x) - growth) / x
