"""Jacobians of a problem's residuals: choice of steps, columns, cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.activity import DERIVATIVES
from fmident.evaluation.derivatives.curvature import NOTHING, longest_step
from fmident.evaluation.derivatives.differences import (
    Columns,
    DirectionalDerivatives,
    JacobianError,
    difference_columns,
    longest_steps,
)
from fmident.evaluation.derivatives.events import Crossing
from fmident.evaluation.derivatives.exact import Exact, Linearised
from fmident.evaluation.derivatives.ladder import Climb, Ladder
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood
from fmident.evaluation.derivatives.noise import POINTS, Flags
from fmident.evaluation.derivatives.steps import (
    Scheme,
    StepSizes,
    choose_steps,
    fixed_steps,
    parameter_size,
)
from fmident.evaluation.memory import Recent
from fmident.evaluation.runs import Runs
from fmident.evaluation.solver_error import Integration
from fmident.problem.chain_rule import Origin
from fmident.problem.model import Problem
from fmident.problem.residuals import ResidualLayout, residual_layout
from fmident.problem.search_space import SearchSpace

_STALE = 2.0
"""Steps are chosen anew when a parameter has moved by this many times its size, or shrunk to
this part of it."""

_UNUSED = 1e-6
"""Relative step in place of those that the parameters have themselves."""

_CLIMBS = 4
_ENOUGH = 1e-3
"""Relative error of a derivative that needs no better step."""

_EPS = float(np.finfo(np.float64).eps)


_BENT = 0.006
"""Part of a column that curvature may add to a difference with a longer step, twice."""

_APART = 100.0
"""Ratio of the longest such step to the one used from which on a second one says something."""

_SHORTER, _QUIET = 0.03, 1e-5
"""A shorter step in place of a longer one, and part of the column that noise may be there."""


_SHOWN = 3


class Derivatives:
    """Derivatives of the whitened residuals with respect to the physical parameters.

    Finite-difference `steps` are in the search space, NaN for parameters that need none,
    and ``None`` before the first Jacobian that needs some.
    """

    def __init__(self, runs: Runs, space: SearchSpace, exact: Exact) -> None:
        self.steps: StepSizes | None = None
        self._exact = exact
        self._runs = runs
        self._problem = runs.problem
        self._space = space
        self._places = Places(runs.problem)
        self._jacobians: Recent[F64] = Recent(1)
        self._last: tuple[bytes, Columns] | None = None
        self._differenced: tuple[int, ...] = exact.others
        self._stepped: frozenset[int] = frozenset()
        self._known_errors: tuple[bytes, F64] | None = None
        self._integration = Integration(runs, exact)
        self._chosen_at: F64 = space.from_physical(runs.problem.initial)

    def branch(self, runs: Runs) -> Derivatives:
        """Return derivatives for other runs of the problem, with current steps and Jacobian."""
        branch = Derivatives(runs, self._space, self._exact.branch(runs))
        branch.take_over(self)
        return branch

    def take_over(self, other: Derivatives) -> None:
        """Adopt the steps and the last Jacobian of another object for the same problem."""
        self.steps, self._chosen_at = other.steps, other._chosen_at
        self._stepped, self._differenced = other._stepped, other._differenced
        self._exact.take_over(other._exact)
        self._jacobians = other._jacobians.copy()
        self._last, self._known_errors = other._last, other._known_errors
        self._places = other._places
        self._integration.take_over(other._integration)

    def knows(self, point: F64) -> bool:
        """Return whether :meth:`jacobian` at `point` would need no simulation."""
        return self._jacobians.get(point.tobytes()) is not None

    def jacobian(self, point: F64) -> F64:
        """Return the Jacobian at `point`, (n,) -> (m, n)."""
        known = self._jacobians.get(point.tobytes())
        if known is not None:
            return known.copy()
        exact = self._exact.at(point)  # first: it simulates what residuals need as well
        base = self._base(point)
        if not bool(np.isfinite(base).all()):
            raise JacobianError(
                f"there is no Jacobian where the simulation fails: {self._runs.reason()}",
                hint="start elsewhere, or narrow the bounds",
            )
        columns = self._columns(point, base, exact)
        self._runs.counts.add(jacobians=1)
        self._last = (point.tobytes(), columns)
        jacobian: F64 = columns.jacobian / self._space.derivative(point)
        if exact is not None:
            jacobian[:, self._exact.columns] = exact.jacobian
        self._jacobians.put(point.tobytes(), jacobian)
        return jacobian.copy()

    def _columns(self, point: F64, base: F64, exact: Linearised | None) -> Columns:
        """Return the Jacobian with respect to the search space, by differences where needed."""
        count = point.size
        others = tuple(range(count)) if exact is None else self._exact.others
        whole, errors = np.zeros((base.size, count)), np.zeros(count)
        crossings: tuple[Crossing, ...] = ()
        if exact is not None:
            columns = list(self._exact.columns)
            whole[:, columns] = exact.jacobian * self._space.derivative(point)[columns]
        elif self._problem.evaluation.difference == "sensitivities":
            raise JacobianError(
                f"there are no sensitivities: {self._runs.sensitive.reason}",
                hint='use difference = "auto", which takes finite differences there',
            )
        if others:
            known = None if self._last is None else self._last[1].smooth[:, others]
            if self._last is not None and self._differenced != others:
                known = None
            steps = self._steps_for(point, others).only(others)
            points = len(others) * (1 + (self._problem.evaluation.scheme == "central"))
            with self._runs.activities.during(DERIVATIVES, points):
                part = difference_columns(
                    self._around(base, self._space.from_physical(point)).only(others),
                    steps,
                    [self._problem.free[j].name for j in others],
                    self._problem.evaluation.scheme,
                    self._runs.reason,
                    known,
                )
            whole[:, others] = part.jacobian
            errors[list(others)] = part.errors
            crossings = tuple(
                dataclasses.replace(c, column=others[c.column]) for c in part.crossings
            )
        self._differenced = others
        return Columns(whole, errors, crossings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the Jacobians: rows crossed by events, fallbacks."""
        crossed = () if self._last is None else self._places.notes(self._last[1].crossings)
        return (*crossed, *self._runs.sensitive.notes)

    def origins(self) -> dict[str, Origin]:
        """Return the origin of the last derivatives by parameter; empty before a Jacobian."""
        if self._last is None:
            return {}
        origins = {}
        for j, q in enumerate(self._problem.free):
            if j not in self._differenced:
                origins[q.name] = self._exact.origin(j)
            elif j in self._exact.columns:
                origins[q.name] = Origin("differences", self._runs.sensitive.reason)
            else:
                origins[q.name] = Origin("differences", self._exact.why_not(j))
        return origins

    @property
    def differenced(self) -> tuple[int, ...]:
        """Indices of the parameters that need differences even if the simulation works."""
        return self._exact.others

    def is_exact(self, point: F64) -> bool:
        """Return whether the Jacobian at `point`, if known, needed no differences."""
        known = self._last is not None and self._last[0] == point.tobytes()
        return known and not self._differenced and not self.is_given(point)

    def exact_at(self, point: F64, tolerance: float) -> F64 | None:
        """Return the exact Jacobian at another tolerance, or ``None``."""
        linearised = None if self._exact.others else self._exact.at(point, tolerance)
        return None if linearised is None else linearised.jacobian.copy()

    def noise(self, point: F64) -> float:
        """Return the approximate error of the simulation in each residual, root mean square.

        It is the measured noise; without differences the measured integration error, or else
        the tolerance relative to the outputs; at least rounding.
        """
        if self.steps is not None:
            return self.steps.noise_or_rounding
        tolerance, measured = self._runs.tolerance, self._integration.size
        magnitude = self._runs.output_magnitude(self._base(point))
        if measured is None:
            guess = 0.0 if tolerance is None else tolerance * magnitude
            measured = guess if self._exact.needs_simulation else 0.0
        return max(measured, _EPS * magnitude)

    def influence(self, point: F64) -> tuple[Flags | None, float]:
        """Return which parameters change residuals at `point`, and the threshold of no change.

        The flags have shape (n,), ``None`` if not determined.
        """
        exact = self._exact.at(point)
        if exact is None:
            sizes = self.measure_steps(point)
            return sizes.influence, NOTHING * sizes.rounding
        base, z = self._base(point), self._space.from_physical(point)
        nothing = NOTHING * _EPS * self._runs.output_magnitude(base)
        columns, others = list(self._exact.columns), list(self._exact.others)
        reach = longest_step(self._around(base, z), self._parameter_size(z))
        reach = (reach * np.abs(self._space.derivative(point)))[columns]
        acts = np.zeros(z.size, dtype=np.bool_)
        acts[columns] = np.sqrt(np.mean((exact.jacobian * reach) ** 2, axis=0)) > nothing
        if others:
            influence = self._steps_for(point, tuple(others)).influence
            acts[others] = False if influence is None else influence[others]
        return acts, nothing

    def is_given(self, point: F64) -> bool:
        """Return whether the Jacobian at `point` was supplied by a caller."""
        return self._known_errors is not None and self._known_errors[0] == point.tobytes()

    def remember(self, point: F64, jacobian: F64, column_errors: F64) -> None:
        """Store a Jacobian and the expected error of its columns."""
        key = point.tobytes()
        self._jacobians.put(key, jacobian)
        self._known_errors = (key, column_errors)

    def measure_steps(self, point: F64) -> StepSizes:
        """Return the steps at `point`, chosen again if the present ones do not apply there."""
        return self._steps_for(point, self._exact.others or tuple(range(point.size)))

    def _steps_for(self, point: F64, columns: tuple[int, ...]) -> StepSizes:
        """Return steps that include those of these columns."""
        z = self._space.from_physical(point)
        if self.steps is None or not self._stepped.issuperset(columns) or self._stale(z):
            wanted = tuple(sorted({*columns, *self._stepped}))
            self._chosen_at = z
            base = self._base(point)
            points = POINTS - 1 + 2 * len(wanted)
            with self._runs.activities.during("measuring the noise of the simulation", points):
                chosen = self._choose_steps(base, z, wanted)
            self._stepped = frozenset(wanted)
            reasons = [
                "" if j in self._stepped else str(self._exact.origin(j)) for j in range(z.size)
            ]
            self.steps = chosen.among(wanted, reasons)
        return self.steps

    def column_errors(self, point: F64) -> F64 | None:
        """Return the expected error norm of each column at `point`, shape (n,)."""
        if self._known_errors is not None and self.is_given(point):
            return self._known_errors[1]
        if self._last is None and (self.steps is None or self._exact.columns):
            return None
        slope = np.abs(self._space.derivative(point))
        entries = np.zeros(point.size) if self.steps is None else self.steps.errors
        if self._last is not None and self._last[0] == point.tobytes():
            entries = self._last[1].errors
        rows = self._base(point).size
        errors: F64 = np.sqrt(rows) * entries / slope
        exact = [j for j in self._exact.columns if j not in self._differenced]
        if exact and self._last is not None:
            jacobian = self._last[1].jacobian[:, exact] / self._space.derivative(point)[exact]
            errors[exact] = self._exact.errors(point, jacobian, self._integration.tighter)
        return errors

    def along(self, point: F64, directions: F64) -> DirectionalDerivatives:
        """Return derivatives along `directions`, (n, k), in physical parameters."""
        self.jacobian(point)
        if self.is_exact(point):
            return self._exact_along(point, directions)
        climb = self.climb(point, directions)
        for _ in range(_CLIMBS):
            derivatives = climb.found()
            lengths = np.linalg.norm(derivatives.differences, axis=0)
            crude = lengths > _ENOUGH * np.linalg.norm(derivatives.values, axis=0)
            if not climb.refine([int(k) for k in np.flatnonzero(crude)]):
                break
        derivatives = climb.found()
        lengths = np.linalg.norm(derivatives.differences, axis=0)
        return DirectionalDerivatives(
            derivatives.values, np.where(np.isnan(lengths), np.inf, lengths)
        )

    def _exact_along(self, point: F64, directions: F64) -> DirectionalDerivatives:
        """Return exact derivatives along directions, with errors from a tighter tolerance."""
        jacobian, other = self.jacobian(point), self.other_columns(point)
        self._runs.counts.add(jacobians=1)
        if other is not None and bool(np.isfinite(other).all()):
            # The tighter ones are the better ones.
            apart = np.linalg.norm((other - jacobian) @ directions, axis=0)
            return DirectionalDerivatives(other @ directions, apart)
        errors = self.column_errors(point)
        assert errors is not None
        return DirectionalDerivatives(jacobian @ directions, errors @ np.abs(directions))

    def climb(
        self,
        point: F64,
        directions: F64,
        noise: float | None = None,
        tolerance: float | None = None,
    ) -> Climb:
        """Start self-verifying derivatives along physical `directions`, shape (n, k).

        `noise` per residual and `tolerance` override the measured one and the problem's.
        """
        jacobian = self.jacobian(point)
        base, steps = self._base(point), self.measure_steps(point)
        if tolerance is not None:
            base = self._runs.probe(point[np.newaxis, :], tolerance)[0]
            if not bool(np.isfinite(base).all()):
                raise JacobianError(
                    f"the simulation fails at the tolerance {tolerance:g}: {self._runs.reason()}"
                )
        # Rows that an event crosses may have no difference along any step.
        crossed = np.zeros(base.size, dtype=np.bool_)
        for crossing in self._crossings(point):
            crossed[crossing.rows] = True
        known = jacobian @ directions
        expected = np.linalg.norm(known[~crossed], axis=0)
        z = self._space.from_physical(point)
        ways = directions / self._space.derivative(point)[:, np.newaxis]
        magnitude = self._runs.output_magnitude(base)
        visible = magnitude * np.sqrt(base.size) / np.maximum(expected, _EPS)
        reach = longest_steps(ways, self._parameter_size(z), visible)
        ladder = Ladder(
            lambda points: self._in_space(points, tolerance),
            base,
            z,
            ways,
            reach,
            expected,
            self._space.lower,
            self._space.upper,
            max(steps.noise_or_rounding, noise or 0.0),
            self._places.groups,
        )
        self._runs.counts.add(jacobians=1)
        return Climb(ladder, known, crossed)

    def other_columns(self, point: F64) -> F64 | None:
        """Return the Jacobian at `point` with other, much longer steps, shape (m, n).

        To first order in the steps, which are as long as the measured curvature allows, the
        derivatives are the same, so that noise mistaken for a slope becomes visible. A column
        whose step is already long gets a shorter one. Exact columns use a tighter tolerance.

        Columns that fail or have no such step are NaN. ``None`` if the Jacobian was not
        computed here, or events cross rows.
        """
        if self._last is None or self._last[0] != point.tobytes():
            return None
        if self._last[1].crossings:
            return None
        matrix = np.full(self._last[1].jacobian.shape, np.nan)
        exact = [j for j in self._exact.columns if j not in self._differenced]
        if exact:
            self.integration_error(point)
            tighter = self._integration.tighter
            if tighter is not None and self._exact.knows(point, tighter):
                tight = self._exact.at(point, tighter)
                assert tight is not None
                matrix[:, exact] = tight.jacobian
        others = self._differenced
        if others and self.steps is not None:
            z = self._space.from_physical(point)
            around, size = self._around(self._base(point), z), self._parameter_size(z)
            known = self._last[1].jacobian
            slopes = by_other_steps(around, self.steps, known, size, others)
            matrix[:, others] = slopes / self._space.derivative(point)[list(others)]
        return matrix

    def integration_error(self, point: F64) -> F64 | None:
        """Return the integration error of the residuals at `point`; see `Integration.error`."""
        return self._integration.error(point, self._base(point))

    def step_error(self, point: F64) -> F64 | None:
        """Return the effect of half the communication step; see :meth:`Integration.of_step`."""
        return self._integration.of_step(point, self._base(point))

    def integration_order(self, point: F64) -> float:
        """Return the order of the integration error in the tolerance at `point`."""
        return self._integration.order(point, self._base(point))

    def _crossings(self, point: F64) -> tuple[Crossing, ...]:
        if self._last is None or self._last[0] != point.tobytes():
            return ()
        return self._last[1].crossings

    def _base(self, point: F64) -> F64:
        row: F64 = self._runs.residuals(point[np.newaxis, :])[0]
        return row

    def _stale(self, z: F64) -> bool:
        """Return whether the point is far from where the steps were chosen."""
        size = self._parameter_size(self._chosen_at)
        shrunk = self._parameter_size(z) < size / _STALE
        far = np.abs(z - self._chosen_at) > _STALE * size
        return bool((shrunk | far).any())

    def _choose_steps(self, base: F64, z: F64, columns: tuple[int, ...]) -> StepSizes:
        """Return the steps of some parameters, one item for each."""
        settings = self._problem.evaluation
        size = self._parameter_size(z)[list(columns)]
        magnitude = self._runs.output_magnitude(base)
        own = self._own_steps(z)[list(columns)]
        scheme: Scheme = "central" if settings.difference == "central" else "one-sided"
        relative = settings.relative_step
        if relative is not None or bool(np.isfinite(own).all()):
            chosen = fixed_steps(relative or _UNUSED, size, magnitude, settings.scheme)
        else:
            around = self._around(base, z).only(columns)
            chosen = choose_steps(around, size, magnitude, settings.scheme)
        return chosen.with_own_steps(own, scheme)

    def _own_steps(self, z: F64) -> F64:
        """Return the steps given by the problem, in the search space; NaN where there are none."""
        own = np.array([np.nan if q.step is None else q.step for q in self._problem.free])
        p = self._space.to_physical(z)
        # With log scaling by how much the logarithm grows.
        return np.where(self._space.log, np.log1p(own / np.abs(p)), own / self._space.scale)

    def _parameter_size(self, z: F64) -> F64:
        return parameter_size(self._space, self._space.from_physical(self._problem.initial), z)

    def _around(self, base: F64, z: F64) -> Neighbourhood:
        lower, upper = self._space.lower, self._space.upper
        return Neighbourhood(self._in_space, base, z, lower, upper, self._places.groups)

    def _in_space(self, points: F64, tolerance: float | None = None) -> F64:
        """Return residuals at points of the search space; they cannot become the best point."""
        physical = self._space.to_physical(points)
        inside = np.clip(physical, self._problem.lower, self._problem.upper)
        return self._runs.probe(inside, tolerance)


def by_other_steps(
    around: Neighbourhood, steps: StepSizes, jacobian: F64, size: F64, columns: Sequence[int]
) -> F64:
    """Return `columns` of a Jacobian with other steps, one simulation each, shape (m, c).

    `jacobian` is that of the original `steps`, shape (m, n). NaN if there is no such step,
    or the simulation fails.
    """
    root, longest = np.sqrt(around.base.size), longest_step(around, size)
    offsets = {}
    for j in columns:
        used = float(steps.steps[j])
        length = float(np.linalg.norm(jacobian[:, j]))
        bend = float(np.nan_to_num(steps.curvature[j])) * root
        most = min(float(longest[j]), _BENT * length / bend if bend > 0.0 else np.inf)
        if most >= _APART * used:
            length = float(np.sqrt(used * most))
        elif steps.noise_or_rounding * root <= _QUIET * length * used:
            length = _SHORTER * used  # the step is the longest there is: almost no noise
        else:
            continue
        offset = around.inside(j, float(-np.sign(around.inside(j, used)) * length))
        if abs(offset) > 0.5 * length:
            offsets[j] = offset
    matrix = np.full((around.base.size, len(columns)), np.nan)
    for j, sample in zip(offsets, around.samples(list(offsets.items())), strict=True):
        if sample is not None:
            matrix[:, list(columns).index(j)] = sample.slope
    return matrix


class Places:
    """Positions of a problem's residuals, with times if there is one residual per sample."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def _layout(self) -> ResidualLayout | None:
        return residual_layout(self._problem) if self._problem.cost.gives_intervals else None

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """Rows of each measurement of each experiment, compared with each other to find events."""
        if not self._problem.cost.by_sample:
            return ()
        layout = self._layout
        if layout is None or layout.size == 0:
            return (slice(None),)
        changes = (np.diff(layout.experiment) != 0) | (np.diff(layout.measurement) != 0)
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), layout.size]
        return tuple(slice(a, b) for a, b in pairwise(edges))

    def notes(self, crossings: Sequence[Crossing]) -> tuple[str, ...]:
        """Return a sentence or two for each parameter whose step moved an event."""
        return tuple(self._note(c) for c in crossings)

    def _note(self, crossing: Crossing) -> str:
        name = self._problem.free[crossing.column].name
        count = crossing.rows.size
        text = f"a finite-difference step of '{name}' moves an event across "
        text += f"{count} sample{'' if count == 1 else 's'}"
        layout = self._layout
        if layout is not None:
            text += ": " + "; ".join(self._where(layout, int(r)) for r in crossing.rows[:_SHOWN])
            text += f" and {count - _SHOWN} more" if count > _SHOWN else ""
        unresolved = int(np.count_nonzero(~crossing.resolved))
        if unresolved == 0:
            return text + "; the derivatives there are taken from the side without the jump"
        return text + (
            f"; at {unresolved} of them neither side gives a derivative: leave out the samples "
            "around the event, or refine the sampling there"
        )

    def _where(self, layout: ResidualLayout, row: int) -> str:
        experiment = self._problem.experiments[int(layout.experiment[row])]
        output = experiment.measurements[int(layout.measurement[row])].name
        return f"'{output}' at {layout.time[row]:.6g} s in experiment '{experiment.name}'"
