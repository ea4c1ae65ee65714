"""All checks before a run, in order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.checking.dynamics import (
    FINER,
    most_simulations,
    sampling_findings,
    simulate_finely,
    with_bandwidth,
    with_dynamics,
)
from fmident.checking.effort import Stopwatch, effort
from fmident.checking.global_sensitivity import (
    GlobalMethod,
    GlobalSensitivity,
    global_findings,
)
from fmident.checking.inputs import course_findings, input_findings
from fmident.checking.magnitudes import magnitude_findings, parameter_findings, prior_findings
from fmident.checking.report import (
    CheckReport,
    EffortCheck,
    ExperimentCheck,
    Influence,
    OutputCheck,
    ParameterCheck,
    SensitivityCheck,
    sorted_findings,
)
from fmident.checking.samples import experiment_checks, sample_findings
from fmident.checking.sensitivities import (
    Sensitivities,
    identifiability_findings,
    output_shares,
    predicted_errors,
    prior_parts,
    sensitivities,
    sensitivities_elsewhere,
    sensitivity_check,
    tolerance_findings,
    unmoved_findings,
)
from fmident.checking.shifts import shift_findings
from fmident.checking.simulations import (
    bounds_findings,
    engine_findings,
    noise_findings,
    points_to_try,
    try_bounds,
)
from fmident.checking.subject import Subject
from fmident.checking.time_unit import named_time_findings, time_unit_findings
from fmident.errors import Diagnostic, ProblemError
from fmident.estimation.checks import (
    InertParameter,
    inert_finding,
    inert_parameters,
    initial_finding,
    points_inside,
)
from fmident.estimation.diagnostics.interpolation import jumps
from fmident.evaluation import Evaluator, Executor, JacobianError, SimulationFailure
from fmident.evaluation.solver_error import interfaces_disagree
from fmident.problem.chain_rule import summary_of
from fmident.problem.cost import TimeDomain
from fmident.problem.residuals import compared_values, predict
from fmident.statistics.combinations import PointSensitivity
from fmident.words import quoted

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.estimation.result import ParameterEstimate
    from fmident.evaluation.activity import Listener
    from fmident.fmu import ModelDescription
    from fmident.problem.model import Problem


_POINTS_INSIDE = 8

_BUDGET = 20.0
"""Seconds for each of the things that need other points than the initial one."""

_JACOBIANS = 3

_FIT = 40
"""Iterations that fit the parameters with another course of the inputs."""


def check_problem(
    problem: Problem,
    executor: Executor,
    *,
    description: ModelDescription | None = None,
    estimator: Estimator[Any] | None = None,
    options: object = None,
    found: Sequence[Diagnostic] = (),
    simulate: bool = True,
    quick: bool = False,
    global_method: GlobalMethod | None = None,
    whole: Problem | None = None,
    listener: Listener | None = None,
) -> CheckReport:
    """Check a problem before it is estimated; problem errors become findings, not exceptions.

    The `executor` stays open. `description` is ``None`` for a Python function instead of an
    FMU, `found` are earlier findings, such as those of plugins, and `whole` is the whole
    problem if `problem` is a stage. Without `simulate`, only the data are checked; `quick`
    skips other points within the bounds, the finer grid and fixed parameters;
    `global_method` also varies all parameters within their bounds. The `listener` receives
    the progress of series of simulations.
    """
    begin = time.perf_counter()
    # Costs of other kinds are minimised by the estimator; what data tell is seen in time.
    looked_at = replace(problem, cost=TimeDomain())
    subject = Subject(looked_at, description, whole)
    check = _Check(
        subject, problem, executor, estimator, options, list(found), quick, global_method, begin
    )
    check.evaluator.activities.listener = listener
    return check.run() if simulate else check.data_only()


def quick_findings(
    problem: Problem,
    evaluator: Evaluator,
    description: ModelDescription | None = None,
    *,
    inert_allowed: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return findings from the data and the initial simulation, with few short simulations.

    `inert_allowed` says whether the estimator tolerates parameters without influence. The
    initial point of the problem must work.
    """
    findings = data_findings(problem, description, inert_allowed=inert_allowed)
    return sorted_findings([*findings, *start_findings(problem, evaluator, description)])


def data_findings(
    problem: Problem,
    description: ModelDescription | None = None,
    *,
    inert_allowed: bool = False,
    whole: Problem | None = None,
) -> tuple[Diagnostic, ...]:
    """Return findings from the data; parameters as for :func:`quick_findings`.

    `whole` is the whole problem if `problem` is a stage.
    """
    subject = Subject(problem, description, whole)
    return sorted_findings(_data_findings(subject, inert_allowed=inert_allowed))


def start_findings(
    problem: Problem, evaluator: Evaluator, description: ModelDescription | None = None
) -> tuple[Diagnostic, ...]:
    """Return findings from the initial simulation; none if it fails."""
    outputs = [o for o in evaluator.simulate(problem.initial) if isinstance(o, np.ndarray)]
    if len(outputs) < len(problem.experiments):
        return ()
    predicted = predict(problem, outputs, problem.initial)
    subject = Subject(problem, description)
    return (
        *magnitude_findings(subject, predicted),
        *time_unit_findings(subject, evaluator, predicted),
    )


def refuse(findings: Sequence[Diagnostic]) -> None:
    """Raise `ProblemError` with the first error that makes an estimation impossible, if any."""
    for finding in findings:
        if finding.severity == "error":
            raise ProblemError(
                finding.message, location=finding.location, hint=finding.hint, code=finding.rule
            )


def _data_findings(subject: Subject, *, inert_allowed: bool) -> list[Diagnostic]:
    findings = [
        *named_time_findings(subject),
        *sample_findings(subject),
        *input_findings(subject),
        *parameter_findings(subject),
        *prior_findings(subject),
    ]
    if inert_allowed:  # a regression keeps what it cannot determine
        findings = [
            replace(d, severity="warning") if d.rule == "too-few-samples" else d for d in findings
        ]
    return findings


class _Check:
    """State of a check, which collects findings."""

    def __init__(
        self,
        subject: Subject,
        asked: Problem,
        executor: Executor,
        estimator: Estimator[Any] | None,
        options: object,
        found: list[Diagnostic],
        quick: bool,
        global_method: GlobalMethod | None,
        begin: float,
    ) -> None:
        self.subject = subject
        self.problem = subject.problem
        self.asked = asked
        self.executor = executor
        self.evaluator = Evaluator(self.problem, executor)
        self.estimator = estimator
        self.options = options
        self.quick = quick
        self.global_method = global_method
        self.begin = begin
        self.inert_allowed = estimator is not None and (
            estimator.takes_inert(options)
            if isinstance(options, estimator.options_type)
            else estimator.accepts_inert_parameters
        )
        self.findings = [*found, *self.problem.notes]
        self.watch = Stopwatch(self.evaluator)
        self.extra_simulations = 0

    def run(self) -> CheckReport:
        self.findings += _data_findings(self.subject, inert_allowed=self.inert_allowed)
        experiments = experiment_checks(self.subject)
        with self.watch.running():
            failing = initial_finding(self.problem, self.evaluator)
        if failing is not None:
            return self._without_simulation(failing, experiments)
        predicted = self._predicted()
        self.findings += magnitude_findings(self.subject, predicted)
        self.findings += time_unit_findings(self.subject, self.evaluator, predicted)
        inert = self._inert()
        descends = self.estimator is None or self.estimator.descends
        refusal = inert_finding(self.asked, inert, descends=descends)
        if refusal is not None:
            if self.inert_allowed:
                hint = "the estimator leaves what the data do not determine at its initial value"
                refusal = replace(refusal, severity="note", hint=hint)
            self.findings.append(refusal)
        influence: dict[str, Influence] = {
            q.name: "none" if q.active_at is None else "elsewhere" for q in inert
        }
        known = self._sensitivities()
        shares: dict[tuple[int, str], float] = {}
        checked: SensitivityCheck | None = None
        bounds = None
        if not self.quick:
            experiments = self._dynamics(experiments)
            points = points_to_try(self.evaluator, self._affordable(_POINTS_INSIDE, 1))
            bounds = try_bounds(self.evaluator, points)
            self.findings += bounds_findings(self.subject, bounds)
            still = fixed_without_influence(self.subject, self.executor)
            self.extra_simulations += still.simulations
            self.findings += still.findings
            influence |= dict.fromkeys(still.names, "fixed, none")
        if known is not None:
            shares = output_shares(self.subject, known)
            checked = self._identifiability(known, inert=bool(inert))
            self.findings += unmoved_findings(self.subject, known)
            self.findings += tolerance_findings(self.subject, known)
            self.findings += shift_findings(self.subject, self.evaluator, known)
        jacobian = None if known is None else known.statistics.linearisation.data_jacobian
        moving = [values for e in self.problem.experiments for values in e.inputs.values()]
        if not self.quick or any(jumps(values).any() for values in moving):
            fits = 2 + max(len(e.inputs) for e in self.problem.experiments)
            iterations = self._affordable(_FIT, fits * (1 + len(self.problem.free)))
            self.findings += course_findings(self.subject, self.evaluator, jacobian, iterations)
        globally = self._globally()
        self.findings += noise_findings(self.subject, self._simulation_noise())
        self.findings += engine_findings(self.executor.report())
        self.findings += [
            self.subject.finding(
                "warning",
                "interfaces-disagree",
                text,
                "compare both with fmident simulate --interface, and set evaluation.interface to"
                " the right one",
                "evaluation",
                "interface",
            )
            for text in interfaces_disagree(self.subject.problem)
        ]
        return self._report(
            global_sensitivity=globally,
            parameters=self._parameters(
                influence, known, () if checked is None else checked.base_parameters
            ),
            outputs=self._outputs(predicted, shares),
            experiments=experiments,
            sensitivities=checked,
            priors={} if known is None else prior_parts(self.problem, known),
            effort=self._effort(),
            bounds=bounds,
        )

    def data_only(self) -> CheckReport:
        self.findings += _data_findings(self.subject, inert_allowed=self.inert_allowed)
        return self._report(
            parameters=self._parameters({}, None),
            outputs=self._outputs(None, {}),
            experiments=experiment_checks(self.subject),
        )

    def _without_simulation(
        self, failing: Diagnostic, experiments: tuple[ExperimentCheck, ...]
    ) -> CheckReport:
        """Report that the initial simulation fails, and whether other points in the bounds work."""
        bounds = None
        if not self.quick:
            bounds = try_bounds(self.evaluator, points_to_try(self.evaluator, _POINTS_INSIDE))
            works = bounds.points - bounds.failed
            text = f"{works} of {bounds.points} other points inside the bounds work"
            if works:
                failing = replace(failing, hint=f"{text}: change the initial values")
            else:
                failing = replace(
                    failing, hint=f"no other point inside the bounds works; {failing.hint or ''}"
                )
        self.findings.append(failing)
        return self._report(
            parameters=self._parameters({}, None),
            outputs=self._outputs(None, {}),
            experiments=experiments,
            bounds=bounds,
        )

    def _inert(self) -> tuple[InertParameter, ...]:
        """Return the parameters without effect on the cost, as the estimation would."""
        if isinstance(self.asked.cost, TimeDomain):
            with self.watch.running():
                return inert_parameters(self.problem, self.evaluator)
        evaluator = Evaluator(self.asked, self.executor)
        inert = inert_parameters(self.asked, evaluator)
        self.extra_simulations += evaluator.simulations
        return inert

    def _predicted(self) -> tuple[tuple[F64, ...], ...]:
        simulated = self.evaluator.simulate(self.problem.initial)
        outputs = [o for o in simulated if not isinstance(o, SimulationFailure)]
        return predict(self.problem, outputs, self.problem.initial)

    def _sensitivities(self) -> Sensitivities | None:
        try:
            with self.watch.running():
                return sensitivities(self.subject, self.evaluator)
        except JacobianError as error:
            self.findings.append(
                Diagnostic("error", error.message, error.location, error.hint, error.code)
            )
            return None

    def _identifiability(self, known: Sensitivities, *, inert: bool) -> SensitivityCheck:
        other_points: list[PointSensitivity] = []
        count = self._affordable(_JACOBIANS, 7 + 3 * len(self.problem.free))
        if self.quick:  # one other point tells products from sums
            count = min(count, int(known.statistics.identifiability.rank < known.sizes.size))
        if count and not inert and not known.constrained:  # other points break constraints
            points = points_inside(self.evaluator, count, seed=1)
            other_points = sensitivities_elsewhere(self.subject, self.evaluator, points)
        checked = sensitivity_check(self.subject, self.evaluator, known, other_points)
        if not inert:
            self.findings += identifiability_findings(
                self.subject, known, checked, inert_allowed=self.inert_allowed
            )
        return checked

    def _dynamics(self, checks: tuple[ExperimentCheck, ...]) -> tuple[ExperimentCheck, ...]:
        results = []
        experiments = self.problem.experiments
        discrete = [self.subject.discrete_inputs(e) for e in experiments]
        runs = sum(most_simulations(e, d) for e, d in zip(experiments, discrete, strict=True))
        finest = self._affordable(FINER, runs / len(experiments))
        whole = finest > 0
        if not whole:  # of a slow model, what one simulation shows
            finest = self._affordable(FINER, 1)
        for i, (check, experiment) in enumerate(zip(checks, experiments, strict=True)):
            held = self.subject.held_inputs(experiment)
            fine = simulate_finely(self.evaluator, experiment, finest, held, discrete[i])
            if fine is None:
                results.append(check)
                continue
            filled = with_bandwidth(check, fine)
            if whole:
                filled = with_dynamics(self.evaluator, filled, fine)
            self.findings += sampling_findings(self.subject, i, filled, fine)
            results.append(filled)
        return tuple(results)

    def _globally(self) -> GlobalSensitivity | None:
        if self.global_method is None:
            return None
        from fmident.checking.global_sensitivity.simulations import global_sensitivity

        sensitivity = global_sensitivity(self.evaluator, self.global_method)
        self.findings += global_findings(sensitivity)
        return sensitivity

    def _affordable(self, wanted: int, points: float) -> int:
        """Return how many of the wanted items of `points` points each the time budget allows."""
        return self.watch.affordable(wanted, points * len(self.problem.experiments), _BUDGET)

    def _simulation_noise(self) -> float:
        sizes = self.evaluator.step_sizes
        return float("nan") if sizes is None else sizes.noise

    def _effort(self) -> EffortCheck:
        each, workers = self.watch.seconds_each, self.executor.simultaneous
        return effort(self.evaluator, each, workers, self.estimator, self.options)

    def _parameters(
        self,
        influence: dict[str, Influence],
        known: Sensitivities | None,
        base: Sequence[ParameterEstimate] = (),
    ) -> tuple[ParameterCheck, ...]:
        sizes, origins = self.evaluator.step_sizes, self.evaluator.derivative_origins
        slopes = self.evaluator.space.derivative(self.problem.initial)
        checks = []
        index = {q.name: j for j, q in enumerate(self.problem.free)}
        followed = predicted_errors(self.problem, known)
        for q in self.problem.parameters:
            j = index.get(q.name)
            if q.expression is not None:
                error = followed.get(q.name, float("nan"))
                checks.append(ParameterCheck(q.name, q.unit, q.initial, "dependent", error))
                continue
            if j is None:
                held = influence.get(q.name, "fixed")
                checks.append(ParameterCheck(q.name, q.unit, q.initial, held))
                continue
            kind: Influence = influence.get(q.name, "unknown" if known is None else "yes")
            error = float("nan") if known is None else float(known.errors[j])
            merged = tuple(b.name for b in base if q.name in b.members)
            checks.append(
                ParameterCheck(
                    q.name,
                    q.unit,
                    q.initial,
                    kind,
                    float("nan") if merged and np.isinf(error) else error,
                    float("nan") if sizes is None else float(sizes.steps[j] * slopes[j]),
                    str(origins.get(q.name, "")) if sizes is None else sizes.reasons[j],
                    base=merged if np.isinf(error) else (),
                )
            )
        checks += [
            ParameterCheck(b.name, b.unit, b.value, "base", b.standard_error, formula=b.expression)
            for b in base
        ]
        return tuple(checks)

    def _outputs(
        self,
        predicted: tuple[tuple[F64, ...], ...] | None,
        shares: dict[tuple[int, str], float],
    ) -> tuple[OutputCheck, ...]:
        checks = []
        for i, e in enumerate(self.problem.experiments):
            for k, m in enumerate(e.measurements):
                values = compared_values(m)
                left = float("nan") if predicted is None else _rms(values - predicted[i][k])
                share = shares.get((i, m.name), float("nan"))
                checks.append(OutputCheck(e.name, m.name, m.unit, _rms(values), left, share))
        return tuple(checks)

    def _report(self, **parts: Any) -> CheckReport:
        problem = self.problem
        path = problem.source or Path("problem")
        return CheckReport(
            problem=str(path),
            fmu=problem.fmu.name,
            estimator=problem.estimator.name,
            findings=sorted_findings(self.findings),
            cost=self.asked.cost.name,
            intervals=self.asked.cost.gives_intervals,
            simulation_noise=self._simulation_noise(),
            derivatives=summary_of(self.evaluator.derivative_origins),
            simulations=self.evaluator.simulations + self.extra_simulations,
            seconds=time.perf_counter() - self.begin,
            quick=self.quick,
            **parts,
        )


def _rms(values: F64) -> float:
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


@dataclass(frozen=True)
class FixedWithoutInfluence:
    """Fixed parameters that do not affect the outputs.

    `simulations` is the number of FMU runs needed to detect them.
    """

    names: tuple[str, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    simulations: int = 0


def fixed_without_influence(subject: Subject, executor: Executor) -> FixedWithoutInfluence:
    """Vary each fixed parameter as if it were free, and detect those without influence."""
    problem = subject.problem
    fixed = tuple(q for q in problem.parameters if q.fixed and q.variable is not None)
    if not fixed:
        return FixedWithoutInfluence()
    released = {q.name: replace(q, fixed=False, scaling="linear") for q in fixed}
    swapped = tuple(released.get(q.name, replace(q, fixed=True)) for q in problem.parameters)
    freed = replace(problem, parameters=swapped)
    evaluator = Evaluator(freed, executor)
    if not bool(np.isfinite(evaluator.residuals(freed.initial)).all()):
        return FixedWithoutInfluence(simulations=evaluator.simulations)
    still = tuple(q.name for q in inert_parameters(freed, evaluator))
    if not still:
        return FixedWithoutInfluence(simulations=evaluator.simulations)
    verb = "has" if len(still) == 1 else "have"
    finding = subject.finding(
        "note",
        "fixed-without-influence",
        f"the fixed parameter{'' if len(still) == 1 else 's'} {quoted(list(still))} {verb} no"
        " influence on the measured outputs",
        "right if it acts on nothing that was measured; else the FMU ignores the value",
        "parameters",
        still[0],
    )
    return FixedWithoutInfluence(still, (finding,), evaluator.simulations)
