"""What an FMU's own integrator leaves in the residuals, whatever tolerance it is asked for.

An FMU whose Co-Simulation has its tolerance fixed at the export, or a solver of fixed step, cannot
show its error by a second tolerance. If it has Model Exchange as well, its equations are
integrated here, precisely, and the two are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from zipfile import is_zipfile

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.evaluation.activity import Activities
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.evaluation.runs import Runs
from fmident.evaluation.setups import output_variables, own_tolerance, simulation_setup
from fmident.evaluation.tasks import SimulationTask
from fmident.fmu.fmu import read_description
from fmident.fmu.processes.trial import decide_in_child
from fmident.fmu.setup import Interpolation
from fmident.problem.model import Problem
from fmident.problem.residuals import parameter_values_for

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

_PRECISE, _CONTROL = 1e-11, 1e-9
"""Tolerances of the two integrations that are compared with the FMU's."""

_TIGHTER, _OWN = 0.01, 1e-6
"""Of the tolerance, where interfaces are compared; what it is where nobody says."""

_ALIKE = 1e-3
"""Of the range of an output, by which the interfaces may differ unsaid."""

_SHOWN = 3  # outputs

_TITLES = {"co-simulation": "Co-Simulation", "model-exchange": "Model Exchange"}

_OPEN = (None, "auto")
"""What an experiment may say of an input so that the setting of the problem decides."""

_SETTLED, _UNSEEN = 0.2, 0.01
"""Part of the difference, and of the residuals, by which the two may disagree."""


def can_compare_interfaces(problem: Problem) -> bool:
    """Return whether a problem's FMU is simulated as Co-Simulation and has Model Exchange as well.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read.
    """
    if not is_zipfile(problem.fmu):  # a function of Python
        return False
    description = read_description(problem.fmu)
    chosen = description.with_interface(problem.evaluation.interface).capabilities
    offered = {interface.kind for interface in description.interfaces}
    return chosen.kind == "co-simulation" and "model-exchange" in offered


def can_halve_steps(problem: Problem) -> bool:
    """Return whether a problem's FMU is simulated as Co-Simulation with any communication step.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read.
    """
    if not is_zipfile(problem.fmu):  # a function of Python
        return False
    chosen = read_description(problem.fmu).with_interface(problem.evaluation.interface)
    return chosen.capabilities.kind == "co-simulation" and chosen.can_handle_variable_step


@dataclass(frozen=True)
class SolverError:
    """What an FMU's own integrator leaves in the residuals at a point.

    Parameters
    ----------
    error
        The residuals minus those of the integrated equations, shape (m,); ``None`` where that is
        not known.
    reason
        Why it is not known, in words.
    interpolation
        Of the inputs, with which the equations were integrated; ``None`` where no input that moves
        follows the setting of the problem.
    """

    error: F64 | None = None
    reason: str = ""
    interpolation: Interpolation | None = None


def solver_error(
    problem: Problem, residuals: F64, point: F64, activities: Activities
) -> SolverError:
    """Return what the FMU's own integrator leaves in the residuals at a point.

    Takes two simulations of each experiment; twice that where the FMU may follow inputs on lines.

    Parameters
    ----------
    problem
        Whose FMU ignores the tolerance.
    residuals
        Of its Co-Simulation at the point, shape (m,).
    point
        Free parameters, physical units, shape (n,).
    activities
        Of the run, whose listener learns how far the comparison is.
    """
    if not is_zipfile(problem.fmu) or not read_description(problem.fmu).state_count:
        return SolverError()  # nothing is integrated, as far as is known
    if not can_compare_interfaces(problem):
        return SolverError(reason="it has no Model Exchange to compare with")
    varying = _moving(problem)
    if varying is not None and _sets_inputs_before(problem, varying):
        return SolverError(
            reason="its outputs belong to the inputs of the step before, which Model Exchange does"
            " not repeat"
        )
    asked = problem.evaluation.interpolation
    open_ones = varying is not None and _moving(problem, own=False) is not None
    choices = (asked,) if not open_ones or asked in ("hold", "mean") else _lines(problem)
    best = SolverError(reason="its Model Exchange fails, or does not converge with its tolerance")
    for choice in choices:
        found = _exchanged(problem, point, choice, activities)
        if found is None:
            return best  # it fails, whatever the inputs
        error = residuals - found.precise
        enough = max(_SETTLED * _length(error), _UNSEEN * _length(residuals))
        if not _length(found.precise - found.control) <= enough:  # a failed simulation is NaN
            continue
        # Not every FMU follows the lines that it says it does. Inputs are not what is looked at.
        if best.error is None or _length(error) < _length(best.error):
            best = SolverError(error, interpolation=choice if open_ones else None)
    return best


def interfaces_disagree(problem: Problem) -> tuple[str, ...]:
    """Return in words which outputs differ between the interfaces of an FMU that has both.

    Both are simulated at the initial parameters with inputs that run alike; where an output
    differs by more than 1/1000 of its range, again at a hundredth of the tolerance. What is left
    of the difference then, and is more than what that changes, is reported. FMUs of the embedded
    compiler have one set of equations and integrators for both: they are not simulated.
    """
    if not is_zipfile(problem.fmu):
        return ()
    about = read_description(problem.fmu)
    if about.is_own or len({i.kind for i in about.interfaces}) < 2:
        return ()
    varying = _moving(problem)
    if varying is not None and _sets_inputs_before(problem, varying):
        return ()
    asked, least = problem.evaluation.interpolation, None
    open_ones = _moving(problem, own=False) is not None
    for choice in (asked,) if not open_ones or asked in ("hold", "mean") else _lines(problem):
        found = _Difference.between(problem, choice)
        if found is None:
            return ()
        if least is None or found.largest < least.largest:
            least = found
    assert least is not None
    return least.in_words(problem)


@dataclass(frozen=True)
class _Difference:
    """Outputs of both interfaces, an item per experiment, and at a tighter tolerance."""

    pairs: Sequence[tuple[F64, F64]]
    tight: Sequence[tuple[F64, F64]]

    @classmethod
    def between(cls, problem: Problem, choice: Interpolation) -> _Difference | None:
        """Simulate both; ``None`` where one fails."""
        both = (_with_interface(problem, k, choice) for k in ("co-simulation", "model-exchange"))
        tight = (own_tolerance(problem) or _OWN) * _TIGHTER
        found: list[tuple[F64, ...]] = []
        try:
            for other in both:
                with ProcessExecutor(other) as executor:
                    tasks = [
                        SimulationTask(k, parameter_values_for(other, e, other.initial), tolerance)
                        for tolerance in (None, tight)
                        for k, e in enumerate(other.experiments)
                    ]
                    found.append(tuple(o for o in executor.run(tasks) if isinstance(o, np.ndarray)))
        except FmidentError:
            return None
        count = len(problem.experiments)
        if any(len(outputs) < 2 * count for outputs in found):
            return None
        pairs = list(zip(*found, strict=True))
        return cls(pairs[:count], pairs[count:])

    @cached_property
    def shares(self) -> list[tuple[float, int, int, float]]:
        """For each output that differs: share of its range, experiment, column, difference."""
        shares = []
        for k, ((a, b), (c, d)) in enumerate(zip(self.pairs, self.tight, strict=True)):
            for j in range(a.shape[1]):
                range_ = max(float(np.ptp(x[:, j])) for x in (a, b))
                left = float(np.abs(c - d)[:, j].max())
                changed = max(float(np.abs(x - y)[:, j].max()) for x, y in ((a, c), (b, d)))
                if left > _ALIKE * range_ and left > changed:
                    shares.append((left / range_ if range_ else np.inf, k, j, left))
        return sorted(shares, reverse=True)

    @property
    def largest(self) -> float:
        """The largest share of a range."""
        return self.shares[0][0] if self.shares else 0.0

    def in_words(self, problem: Problem) -> tuple[str, ...]:
        """Return what there is to report; empty where they agree."""
        if not self.shares:
            return ()
        said = "; ".join(
            f"'{output_variables(problem.experiments[k])[j]}' by {left:.3g}"
            f" ({100.0 * share:.3g} % of its range, experiment '{problem.experiments[k].name}')"
            for share, k, j, left in self.shares[:_SHOWN]
        )
        more = len(self.shares) - _SHOWN
        if more > 0:
            said += f" and {more} more"
        chosen = read_description(problem.fmu).with_interface(problem.evaluation.interface)
        text = (
            "Co-Simulation and Model Exchange of the FMU disagree at the initial parameters:"
            f" {said}, which their tolerances do not explain."
            f" {_TITLES[chosen.capabilities.kind]} is simulated"
        )
        return (text,)


def _with_interface(
    problem: Problem, kind: Literal["co-simulation", "model-exchange"], choice: Interpolation
) -> Problem:
    """Return a problem that simulates by one interface, in one process."""
    substeps = problem.evaluation.substeps if kind == "co-simulation" else 1
    evaluation = replace(
        problem.evaluation, interface=kind, interpolation=choice, workers=1, substeps=substeps
    )
    decided = tuple(
        replace(e, interpolation={n: c for n, c in e.interpolation.items() if c != "auto"})
        for e in problem.experiments
    )
    return replace(problem, evaluation=evaluation, experiments=decided)


def _length(error: F64) -> float:
    return float(np.linalg.norm(error))


def _moving(problem: Problem, *, own: bool = True) -> Experiment | None:
    """Return an experiment with an input that is not constant; ``None`` without one.

    Inputs with an interpolation of their own count where `own` says so.
    """
    for e in problem.experiments:
        followers = [v for n, v in e.inputs.items() if own or e.interpolation.get(n) in _OPEN]
        if any(np.ptp(v) > 0.0 for v in followers):
            return e
    return None


def _sets_inputs_before(problem: Problem, experiment: Experiment) -> bool:
    """Return whether the Co-Simulation gets the inputs of the end of a step before the step."""
    if _follows_ramps(problem):
        return False
    setup = simulation_setup(problem, experiment, output_variables(experiment))
    values = parameter_values_for(problem, experiment, problem.initial)
    update, _ = decide_in_child(problem.fmu, setup, values, problem.evaluation.interface)
    return update == "before_step"


def _follows_ramps(problem: Problem) -> bool:
    """Return whether the Co-Simulation is given lines for inputs, whatever FMI says."""
    ramps = read_description(problem.fmu).input_ramps
    return ramps is not None and any(
        n in ramps.slopes and problem.interpolation_of(e, n) in ("auto", "linear")
        for e in problem.experiments
        for n in e.inputs
    )


def _lines(problem: Problem) -> tuple[Interpolation, ...]:
    """Return how the inputs of the Co-Simulation may run between the instants."""
    if _follows_ramps(problem):
        return ("linear",)
    description = read_description(problem.fmu).with_interface("co-simulation")
    return ("linear", "hold") if description.capabilities.can_interpolate_inputs else ("hold",)


@dataclass(frozen=True)
class _Exchanged:
    """Residuals of the Model Exchange at two tolerances, shape (m,) each."""

    precise: F64
    control: F64


def _exchanged(
    problem: Problem, point: F64, interpolation: Interpolation, activities: Activities
) -> _Exchanged | None:
    """Return what Model Exchange makes of a point; ``None`` if it fails."""
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
    return _Exchanged(precise, control)
