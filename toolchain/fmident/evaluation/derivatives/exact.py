"""Columns of the Jacobian from exact sensitivities, without differences.

An FMU that integrates its sensitivities provides output derivatives; those of the
residuals follow by the chain rule (:mod:`fmident.problem.residuals`). Parameters of
the measurement model alone need no simulation.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from zipfile import is_zipfile

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, ProblemError
from fmident.evaluation.memory import Recent
from fmident.evaluation.runs import Runs
from fmident.evaluation.setups import output_variables
from fmident.fmu.sensitivities import why_not
from fmident.problem.residuals import DerivativeOrigin, moved_variables, residual_jacobian

_TIMES_TOLERANCE = 10.0
"""Error of sensitivities, in tolerances of the simulations, as long as it has not been measured."""

_UNKNOWN = 1e-8
"""The same relative error where the tolerance is not known."""

_ROUNDING = 1e-13
"""Relative error that is always there."""

_REMEMBERED = 3


@dataclass(frozen=True)
class Linearised:
    """Whitened residuals, shape (m,), and their c exact physical derivatives, shape (m, c)."""

    residuals: F64
    jacobian: F64


class Exact:
    """Columns of a problem's Jacobian that need no differences.

    `columns` and `others` are the indices of the free parameters with and without exact
    derivatives. Simulations by `runs` at single points include sensitivities.
    """

    def __init__(self, runs: Runs, differentiable: frozenset[str]) -> None:
        problem = runs.problem
        self.differentiable = differentiable
        self._runs, self._problem = runs, problem
        self._found: Recent[Linearised] = Recent(_REMEMBERED)
        self._relative: F64 | None = None
        variables = [moved_variables(problem, e) for e in problem.experiments]
        everyone = range(len(problem.free))
        self.columns: tuple[int, ...] = ()
        if problem.evaluation.takes_sensitivities:
            self.columns = tuple(
                j
                for j in everyone
                if all(v in differentiable for names in variables for v in names[j])
            )
        self.others = tuple(j for j in everyone if j not in self.columns)
        self._refuse_others(variables)
        self._acting = frozenset(j for j in everyone if any(names[j] for names in variables))
        known = tuple(
            tuple(dict.fromkeys(v for j in self.columns for v in names[j])) for names in variables
        )
        self._needed = any(known)
        if self._needed:
            runs.sensitive.known = known

    def branch(self, runs: Runs) -> Exact:
        """Return a copy for other runs of the problem, with what is known so far."""
        branch = copy.copy(self)
        branch._runs, branch._found = runs, self._found.copy()
        return branch

    def at(self, point: F64, tolerance: float | None = None) -> Linearised | None:
        """Return residuals and exact columns at a physical point, ``None`` if not possible.

        `tolerance` replaces that of the problem.
        """
        if not self.columns:
            return None
        key = (point.tobytes(), tolerance)
        known = self._found.get(key)
        # Without sensitivities in spite of the need, nobody differentiates after all.
        if known is not None or (self._needed and self._runs.sensitive.known is None):
            return known
        outcomes = self._runs.linearised(point, tolerance)
        linearised = None if outcomes is None else self._linearised(point, outcomes)
        if linearised is not None:
            self._found.put(key, linearised)
        return linearised

    @property
    def needs_simulation(self) -> bool:
        """Whether any of its columns requires a simulation."""
        return self._needed

    def knows(self, point: F64, tolerance: float | None = None) -> bool:
        """Return whether :meth:`at` would need no simulation."""
        return self._found.get((point.tobytes(), tolerance)) is not None

    def origin(self, column: int) -> DerivativeOrigin:
        """Return the origin of the exact derivative of a parameter."""
        return DerivativeOrigin("sensitivities" if column in self._acting else "measurement-model")

    def why_not(self, column: int) -> str:
        """Return the reason why a parameter has no exact derivative."""
        scheme = self._problem.evaluation.difference
        if not self._problem.evaluation.takes_sensitivities:
            return f'evaluation.difference = "{scheme}"'
        if not self.differentiable:
            fmu, interface = self._problem.fmu, self._problem.evaluation.interface
            reason = why_not(fmu, interface) if is_zipfile(fmu) else ""
            return reason or "the FMU offers no sensitivities"
        q = self._problem.free[column]
        return f"the FMU does not differentiate with respect to '{q.variable}'"

    def errors(self, point: F64, jacobian: F64, tighter: float | None) -> F64:
        """Return the expected error norms of the exact columns, shape (c,).

        They are measured against a simulation with the `tighter` tolerance if there is one at
        this point, or scaled from such a comparison elsewhere, or derived from the tolerance.
        """
        lengths = np.linalg.norm(jacobian, axis=0)
        other = None if tighter is None else self._found.get((point.tobytes(), tighter))
        if other is not None:
            apart = np.linalg.norm(jacobian - other.jacobian, axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = apart / lengths
            self._relative = np.where(np.isfinite(ratio), ratio, 0.0)
            measured: F64 = np.maximum(apart, _ROUNDING * lengths)
            return measured
        relative = self._relative if self._relative is not None else self._predicted
        expected: F64 = np.maximum(relative, _ROUNDING) * lengths
        return expected

    @cached_property
    def _predicted(self) -> F64:
        """Return the relative errors of the columns before any measurement, shape (c,)."""
        if self._runs.without_integration:
            return np.full(len(self.columns), _ROUNDING)
        tolerance = self._runs.tolerance
        each = _UNKNOWN if tolerance is None else _TIMES_TOLERANCE * tolerance
        return np.array([each if j in self._acting else _ROUNDING for j in self.columns])

    def _linearised(self, point: F64, outcomes: Sequence[F64]) -> Linearised | None:
        """Return residuals and exact columns from outputs and sensitivities of each experiment."""
        outputs, sensitivities = [], []
        for i, (experiment, y) in enumerate(zip(self._problem.experiments, outcomes, strict=True)):
            width = len(output_variables(experiment))
            blocks = [y[:, k : k + width] for k in range(0, y.shape[1], width)]
            outputs.append(blocks[0])
            names = self._runs.sensitive.of(i)
            known: Mapping[str, F64] = dict(zip(names, blocks[1:], strict=True))
            sensitivities.append(known)
        residuals = self._runs.whiten(point, outputs)
        jacobian = residual_jacobian(self._problem, outputs, sensitivities, point, self.columns)
        if not bool(np.isfinite(residuals).all() and np.isfinite(jacobian).all()):
            return None
        return Linearised(residuals, jacobian)

    def _refuse_others(self, moved: list[list[tuple[str, ...]]]) -> None:
        problem = self._problem
        if problem.evaluation.difference != "sensitivities" or not self.others:
            return
        names = ", ".join(f"'{problem.free[j].name}'" for j in self.others)
        raise ProblemError(
            f'evaluation.difference = "sensitivities", but there are none for {names}: '
            + self.why_not(self.others[0]),
            location=problem.where(),
            hint='use difference = "auto", which takes finite differences for these',
            code=Code.NOT_SUPPORTED,
        )
