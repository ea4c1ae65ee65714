"""Error of an FMU's own integrator in the residuals, if its tolerance cannot be changed.

If such a Co-Simulation FMU also has Model Exchange, its equations are integrated here,
accurately, and the two are compared.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from zipfile import is_zipfile

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.evaluation.activity import Activities
from fmident.evaluation.derivatives.exact import Exact
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.evaluation.runs import Runs
from fmident.evaluation.setups import output_variables, own_tolerance, simulation_setup
from fmident.evaluation.tasks import SimulationTask
from fmident.fmu.fmu import read_description, try_inputs_in_child
from fmident.fmu.setup import Interpolation
from fmident.problem.model import Problem
from fmident.problem.residuals import parameter_values_for

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


_PRECISE, _CONTROL = 1e-11, 1e-9
"""Tolerances of the two integrations that are compared with the FMU's."""

_TIGHTER, _OWN = 0.01, 1e-6
"""Factor on the tolerance where interfaces are compared, and the tolerance where none is given."""

_ALIKE = 1e-3
"""Part of the range of an output by which the interfaces may differ without a warning."""

_SHOWN = 3  # outputs

_TITLES = {"co-simulation": "Co-Simulation", "model-exchange": "Model Exchange"}

_OPEN = (None, "auto")
"""Interpolations of an input for which the setting of the problem decides."""

_SETTLED, _UNSEEN = 0.2, 0.01
"""Part of the difference, and of the residuals, by which the two may disagree."""


_OTHERS = (1e-7, 1e-5)
"""Tolerances that show whether an FMU respects one at all, where its own, which may be one of
them, is not known."""

TIGHTER = 0.01
"""Tolerance at which the error of the integration is measured, in relation to the problem's."""

_SLOWEST, _FASTEST = 0.25, 1.5
"""Powers of the tolerance between which the error of an integrator falls."""

TIGHTEST = 1e-13
"""Integrators in double precision cannot respect a smaller tolerance."""


def can_compare_interfaces(problem: Problem) -> bool:
    """Return whether the FMU is simulated as Co-Simulation and also has Model Exchange."""
    if not is_zipfile(problem.fmu):  # a function of Python
        return False
    description = read_description(problem.fmu)
    chosen = description.with_interface(problem.evaluation.interface).capabilities
    offered = {interface.kind for interface in description.interfaces}
    return chosen.kind == "co-simulation" and "model-exchange" in offered


def can_halve_steps(problem: Problem) -> bool:
    """Return whether the FMU is simulated as Co-Simulation with any communication step."""
    if not is_zipfile(problem.fmu):  # a function of Python
        return False
    chosen = read_description(problem.fmu).with_interface(problem.evaluation.interface)
    return chosen.capabilities.kind == "co-simulation" and chosen.can_handle_variable_step


@dataclass(frozen=True)
class SolverError:
    """Error of an FMU's own integrator in the residuals at a point, shape (m,).

    ``None`` for the `reason` given. `interpolation` is that of inputs in the comparison;
    ``None`` if no varying input follows the setting of the problem.
    """

    error: F64 | None = None
    reason: str = ""
    interpolation: Interpolation | None = None


def solver_error(
    problem: Problem, residuals: F64, point: F64, activities: Activities
) -> SolverError:
    """Return the error of the FMU's own integrator in the residuals at a point.

    Takes two simulations of each experiment, or four if the FMU may interpolate inputs.
    `residuals` are those of its Co-Simulation at the physical `point`.
    """
    if not is_zipfile(problem.fmu) or not read_description(problem.fmu).state_count:
        return SolverError()  # nothing is integrated, as far as is known
    if not can_compare_interfaces(problem):
        return SolverError(reason="it has no Model Exchange to compare with")
    if _sets_inputs_before(problem):
        return SolverError(
            reason="its outputs belong to the inputs of the step before, which Model Exchange does"
            " not repeat"
        )
    best = SolverError(reason="its Model Exchange fails, or does not converge with its tolerance")
    for choice in _choices(problem):
        exchange = _exchanged(problem, point, choice, activities)
        if exchange is None:
            return best  # it fails, whatever the inputs
        precise, control = exchange
        error = residuals - precise
        length = float(np.linalg.norm(error))
        enough = max(_SETTLED * length, _UNSEEN * float(np.linalg.norm(residuals)))
        if not float(np.linalg.norm(precise - control)) <= enough:  # a failed simulation is NaN
            continue
        # Not every FMU follows the lines that it says it does. Inputs are not what is looked at.
        if best.error is None or length < float(np.linalg.norm(best.error)):
            open_ones = _moving(problem, own=False) is not None
            best = SolverError(error, interpolation=choice if open_ones else None)
    return best


def interfaces_disagree(problem: Problem) -> tuple[str, ...]:
    """Return which outputs differ between the two interfaces of an FMU, as text.

    Both are simulated at the initial parameters with equal courses of the inputs, at the tolerance
    and at a hundredth of it. A difference of more than 1/1000 of an output's range is reported if
    it exceeds the change between tolerances. FMUs of the embedded compiler are not simulated, since
    both use the same integrators.
    """
    if not is_zipfile(problem.fmu):
        return ()
    about = read_description(problem.fmu)
    if about.is_own or len({i.kind for i in about.interfaces}) < 2 or _sets_inputs_before(problem):
        return ()
    differences: list[_Difference] | None = None
    for choice in _choices(problem):
        outputs = [
            _outputs(_with_interface(problem, kind, choice))
            for kind in ("co-simulation", "model-exchange")
        ]
        if not all(outputs):
            return ()
        new = _differences(problem, *outputs)
        if differences is None or (new[0][0] if new else 0.0) < differences[0][0]:
            differences = new
        if not differences:
            return ()
    assert differences is not None
    listing = "; ".join(
        f"'{output}' by {left:.3g} ({100.0 * share:.3g} % of its range, experiment '{experiment}')"
        for share, left, output, experiment in differences[:_SHOWN]
    )
    more = len(differences) - _SHOWN
    chosen = about.with_interface(problem.evaluation.interface)
    return (
        "Co-Simulation and Model Exchange of the FMU disagree at the initial parameters:"
        f" {listing}{f' and {more} more' if more > 0 else ''}, which their tolerances do not"
        f" explain. {_TITLES[chosen.capabilities.kind]} is simulated",
    )


_Difference = tuple[float, float, str, str]
"""Part of the range of an output, difference, output and experiment."""


def _outputs(problem: Problem) -> list[F64]:
    """Return the outputs of each experiment, and at a tighter tolerance; empty if one fails."""
    tight = (own_tolerance(problem) or _OWN) * _TIGHTER
    tasks = [
        SimulationTask(k, parameter_values_for(problem, e, problem.initial), tolerance)
        for tolerance in (None, tight)
        for k, e in enumerate(problem.experiments)
    ]
    try:
        with ProcessExecutor(problem) as executor:
            outputs = [o for o in executor.run_all(tasks) if isinstance(o, np.ndarray)]
    except FmidentError:
        return []
    return outputs if len(outputs) == len(tasks) else []


def _differences(
    problem: Problem, first: Sequence[F64], second: Sequence[F64]
) -> list[_Difference]:
    """Return the outputs that differ between two interfaces, the largest difference first."""
    count, differences = len(problem.experiments), []
    for k, e in enumerate(problem.experiments):
        a, b, c, d = first[k], second[k], first[count + k], second[count + k]
        ranges = np.maximum(np.ptp(a, axis=0), np.ptp(b, axis=0))
        left = np.abs(c - d).max(axis=0)
        changed = np.maximum(np.abs(a - c).max(axis=0), np.abs(b - d).max(axis=0))
        for j in np.flatnonzero((left > _ALIKE * ranges) & (left > changed)):
            share = float(left[j] / ranges[j]) if ranges[j] else np.inf
            differences.append((share, float(left[j]), output_variables(e)[j], e.name))
    return sorted(differences, key=lambda x: -x[0])


def _with_interface(
    problem: Problem, kind: Literal["co-simulation", "model-exchange"], choice: Interpolation
) -> Problem:
    substeps = problem.evaluation.substeps if kind == "co-simulation" else 1
    evaluation = replace(
        problem.evaluation, interface=kind, interpolation=choice, workers=1, substeps=substeps
    )
    decided = tuple(
        replace(e, interpolation={n: c for n, c in e.interpolation.items() if c != "auto"})
        for e in problem.experiments
    )
    return replace(problem, evaluation=evaluation, experiments=decided)


def _moving(problem: Problem, *, own: bool = True) -> Experiment | None:
    """Return an experiment with a varying input, if `own` also of own interpolation."""
    for e in problem.experiments:
        followers = [v for n, v in e.inputs.items() if own or e.interpolation.get(n) in _OPEN]
        if any(np.ptp(v) > 0.0 for v in followers):
            return e
    return None


def _sets_inputs_before(problem: Problem) -> bool:
    """Return whether the Co-Simulation gets the inputs of the end of a step before the step."""
    experiment = _moving(problem)
    if experiment is None or _follows_ramps(problem):
        return False
    setup = simulation_setup(problem, experiment, output_variables(experiment))
    values = parameter_values_for(problem, experiment, problem.initial)
    update, _ = try_inputs_in_child(problem.fmu, setup, values, problem.evaluation.interface)
    return update == "before_step"


def _follows_ramps(problem: Problem) -> bool:
    """Return whether the Co-Simulation receives inputs as ramps, whatever FMI defines."""
    ramps = read_description(problem.fmu).input_ramps
    return ramps is not None and any(
        n in ramps.slopes and problem.interpolation_of(e, n) in ("auto", "linear")
        for e in problem.experiments
        for n in e.inputs
    )


def _choices(problem: Problem) -> tuple[Interpolation, ...]:
    asked = problem.evaluation.interpolation
    if _moving(problem, own=False) is None or asked in ("hold", "mean"):
        return (asked,)
    if _follows_ramps(problem):
        return ("linear",)
    description = read_description(problem.fmu).with_interface("co-simulation")
    return ("linear", "hold") if description.capabilities.can_interpolate_inputs else ("hold",)


def _exchanged(
    problem: Problem, point: F64, interpolation: Interpolation, activities: Activities
) -> tuple[F64, F64] | None:
    """Return the residuals of Model Exchange at two tolerances, (m,); ``None`` if it fails."""
    exchanged = _with_interface(problem, "model-exchange", interpolation)
    try:
        # Another binary than the one that was tried: it may crash.
        with ProcessExecutor(exchanged) as executor:
            runs = Runs(exchanged, executor)
            runs.activities.listener = activities.listener
            with runs.activities.during("comparing with the FMU's Model Exchange", points=2):
                precise = runs.probe(point[np.newaxis, :], _PRECISE)[0]
                if not np.isfinite(precise).all():
                    return None
                control = runs.probe(point[np.newaxis, :], _CONTROL)[0]
    except FmidentError:
        return None
    return precise, control


class Integration:
    """Measures the integration error, in exact columns at no extra cost."""

    def __init__(self, runs: Runs, exact: Exact) -> None:
        self._runs, self._exact = runs, exact
        self._known: tuple[bytes, F64] | None = None
        self._halved: tuple[bytes, F64] | None = None
        self._ignores_tolerance = runs.without_integration

    def branch(self, runs: Runs, exact: Exact) -> Integration:
        """Return a copy for other runs of the problem, with what is known so far."""
        branch = copy.copy(self)
        branch._runs, branch._exact = runs, exact
        return branch

    @property
    def tighter(self) -> float | None:
        """Tolerance used to measure the error; ``None`` if the original one is unknown."""
        own = self._runs.tolerance
        return own * TIGHTER if own is not None and own * TIGHTER >= TIGHTEST else None

    @property
    def size(self) -> float | None:
        """Root mean square of the last measured error; 0 without an effect of the tolerance."""
        if self._ignores_tolerance:
            return 0.0
        if self._known is None or not bool(np.isfinite(self._known[1]).all()):
            return None
        return float(np.sqrt(np.mean(self._known[1] ** 2)))

    def error(self, point: F64, base: F64) -> F64 | None:
        """Return the integration error of the residuals `base` at `point`, shape (m,).

        It is their difference from those at a hundredth of the tolerance: zero if the FMU
        ignores the tolerance, ``None`` if it is unknown, or the simulation fails.
        """
        tighter = self.tighter
        if tighter is None and not can_compare_interfaces(self._runs.problem):
            return None
        key = point.tobytes()
        if self._known is None or self._known[0] != key:
            if self._ignores_tolerance:
                return np.zeros(base.size)
            others = _OTHERS if tighter is None else (tighter,)
            self._ignores_tolerance = True
            error = np.zeros(base.size)
            for tolerance in others:
                if self._ignores_tolerance:
                    # Exact columns at this tolerance come at no extra cost.
                    known = self._exact.knows(point)
                    linearised = self._exact.at(point, tolerance) if known else None
                    if linearised is None:
                        error = base - self._runs.probe(point[np.newaxis, :], tolerance)[0]
                    else:
                        error = base - linearised.residuals
                    self._ignores_tolerance = not error.any()
            self._known = (key, error)
        error = self._known[1]
        if tighter is None and not self._ignores_tolerance:
            return None
        return error if bool(np.isfinite(error).all()) else None

    def of_step(self, point: F64, base: F64) -> F64 | None:
        """Return the residuals minus those with half the communication step, shape (m,).

        ``None`` if no such step has an effect, or the simulation fails.
        """
        if self._runs.without_integration or not can_halve_steps(self._runs.problem):
            return None
        key = point.tobytes()
        if self._halved is None or self._halved[0] != key:
            self._halved = key, base - self._runs.probe(point[np.newaxis, :], finer=2)[0]
        change = self._halved[1]
        return change if bool(np.isfinite(change).all()) else None

    def order(self, point: F64, base: F64) -> float:
        """Return the order of the error in the tolerance by one more simulation, or NaN."""
        own, coarse = self._runs.tolerance, self.error(point, base)
        if own is None or coarse is None or not coarse.any():
            return float("nan")
        tightest = max(own * TIGHTER**2, TIGHTEST)
        near = base - coarse
        far = self._runs.probe(point[np.newaxis, :], tightest)[0]
        left = float(np.linalg.norm(near - far))
        if not np.isfinite(left) or left == 0.0:
            return 1.0
        order = np.log(float(np.linalg.norm(coarse)) / left) / -np.log(TIGHTER)
        return float(np.clip(order, _SLOWEST, _FASTEST))
