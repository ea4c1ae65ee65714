"""All checks before a run, in order.

A check is a function of the subject that yields findings; results that several need, or the
report shows, are computed once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64, root_mean_square
from fmident.checking import inputs, magnitudes, samples, sensitivities, simulations
from fmident.checking.global_sensitivity import global_findings, global_sensitivity
from fmident.checking.result import (
    CheckReport,
    GlobalMethod,
    OutputCheck,
    ParameterCheck,
)
from fmident.checking.sensitivities import Sensitivities
from fmident.checking.subject import SimulatedSubject, Subject
from fmident.errors import ProblemError
from fmident.estimation.checks import initial_finding
from fmident.evaluation import Evaluator
from fmident.findings import Finding, in_order
from fmident.problem.cost import TimeDomain
from fmident.problem.residuals import compared_values, summary_of

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.fmu import ModelDescription
    from fmident.problem.model import Problem

DATA_CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    samples.time_column_findings,
    samples.sample_findings,
    inputs.input_findings,
    inputs.parameter_findings,
    inputs.prior_findings,
)
"""Checks that need no simulation."""

START_CHECKS: tuple[Callable[[SimulatedSubject], Iterator[Finding]], ...] = (
    magnitudes.magnitude_findings,
    magnitudes.time_unit_findings,
)
"""Checks that need the initial simulation and few short ones."""

CHECKS: tuple[Callable[[SimulatedSubject], Iterator[Finding]], ...] = (
    *START_CHECKS,
    sensitivities.influence_findings,
    sensitivities.derivative_findings,
    simulations.sampling_findings,
    simulations.bounds_findings,
    sensitivities.fixed_findings,
    sensitivities.identifiability_findings,
    sensitivities.unmoved_findings,
    sensitivities.tolerance_findings,
    samples.shift_findings,
    inputs.course_findings,
    global_findings,
    simulations.noise_findings,
    simulations.engine_findings,
    simulations.interface_findings,
)
"""Checks that need a simulation of the initial point that works."""


def check_problem(
    evaluator: Evaluator,
    *,
    description: ModelDescription | None = None,
    estimator: Estimator[Any] | None = None,
    options: object = None,
    earlier: Sequence[Finding] = (),
    simulate: bool = True,
    quick: bool = False,
    global_method: GlobalMethod | None = None,
) -> CheckReport:
    """Check a problem before it is estimated; problem errors become findings, not exceptions.

    The `evaluator` of the problem stays open. `description` is ``None`` for a Python function
    instead of an FMU, and `earlier` are findings such as those of plugins. Without `simulate`, only
    the data are checked; `quick` skips other points within the bounds, the finer grid and
    fixed parameters; `global_method` also varies all parameters within their bounds.
    """
    begin, problem = time.perf_counter(), evaluator.problem
    # Costs of other kinds are minimised by the estimator; what data tell is seen in time.
    in_time = replace(problem, cost=TimeDomain())
    evaluator = evaluator.for_problem(in_time)
    inert_allowed = estimator is not None and estimator.accepts_inert_parameters
    subject = SimulatedSubject(
        in_time,
        description,
        inert_allowed,
        evaluator,
        problem,
        estimator,
        options,
        quick,
        global_method,
    )
    findings = [
        *earlier,
        *map(Finding.of, in_time.notes),
        *(f for check in DATA_CHECKS for f in check(subject)),
    ]
    failing = _initial_failure(subject) if simulate else None
    if failing is not None:
        findings.append(failing)
    works = simulate and failing is None
    if works:
        findings += [d for check in CHECKS for d in check(subject)]
    known = subject.once(sensitivities.initial_sensitivities) if works else None
    known = known if isinstance(known, Sensitivities) else None
    unknown = [float("nan")] * len(problem.experiments)
    bandwidths = simulations.bandwidths(subject) if works else unknown
    return CheckReport(
        problem=str(problem.source or Path("problem")),
        fmu=problem.fmu.name,
        estimator=problem.estimator.name,
        findings=in_order(findings),
        parameters=_parameters(subject, known, works=works),
        outputs=_outputs(subject, known, works=works),
        experiments=samples.experiment_checks(subject, bandwidths),
        sensitivities=subject.once(sensitivities.sensitivity_check) if works else None,
        effort=simulations.effort(subject) if works else None,
        bounds=subject.once(simulations.bounds_check) if simulate else None,
        priors={} if known is None else sensitivities.prior_parts(subject, known),
        cost=problem.cost.name,
        intervals=problem.cost.gives_intervals,
        simulation_noise=simulations.simulation_noise(subject),
        derivatives=summary_of(evaluator.derivative_origins),
        simulations=evaluator.simulations,
        seconds=time.perf_counter() - begin,
        quick=quick,
        global_sensitivity=subject.once(global_sensitivity) if works else None,
    )


def quick_findings(
    problem: Problem,
    evaluator: Evaluator,
    description: ModelDescription | None = None,
    *,
    inert_allowed: bool = False,
) -> tuple[Finding, ...]:
    """Return findings from the data and the initial simulation, with few short simulations.

    `inert_allowed` says whether the estimator tolerates parameters without influence. The
    initial point of the problem must work.
    """
    findings = data_findings(problem, description, inert_allowed=inert_allowed)
    return in_order([*findings, *start_findings(problem, evaluator, description)])


def data_findings(
    problem: Problem, description: ModelDescription | None = None, *, inert_allowed: bool = False
) -> tuple[Finding, ...]:
    """Return findings from the data; parameters as for :func:`quick_findings`."""
    subject = Subject(problem, description, inert_allowed)
    return in_order(d for check in DATA_CHECKS for d in check(subject))


def start_findings(
    problem: Problem, evaluator: Evaluator, description: ModelDescription | None = None
) -> tuple[Finding, ...]:
    """Return findings from the initial simulation; none if it fails."""
    outputs = evaluator.simulate(problem.initial)
    if not all(isinstance(o, np.ndarray) for o in outputs):
        return ()
    subject = SimulatedSubject(problem, description, False, evaluator, problem)
    return tuple(d for check in START_CHECKS for d in check(subject))


def refuse(findings: Sequence[Finding]) -> None:
    """Raise `ProblemError` with the first error that makes an estimation impossible, if any."""
    for f in findings:
        if f.severity == "error":
            raise ProblemError(f.text, location=f.where, hint=f.hint, code=f.code)


def _initial_failure(subject: SimulatedSubject) -> Finding | None:
    """Return that the initial simulation fails, and whether other points in the bounds work."""
    with subject.watch.running():
        diagnostic = initial_finding(subject.problem, subject.evaluator)
    if diagnostic is None or subject.quick:
        return None if diagnostic is None else Finding.of(diagnostic)
    bounds = subject.once(simulations.bounds_check)
    works = 0 if bounds is None else bounds.points - bounds.failed
    if bounds is None or not works:
        hint = f"no other point inside the bounds works; {diagnostic.hint or ''}"
    else:
        hint = f"{works} of {bounds.points} other points inside the bounds work: change the"
        hint += " initial values"
    return Finding.of(replace(diagnostic, hint=hint))


def _parameters(
    subject: SimulatedSubject, known: Sensitivities | None, *, works: bool
) -> tuple[ParameterCheck, ...]:
    """Return a row for each parameter, and for each combination that the data determine."""
    problem, evaluator, nan = subject.problem, subject.evaluator, float("nan")
    influence = subject.once(sensitivities.influences) if works else {}
    check = subject.once(sensitivities.sensitivity_check) if works else None
    base = () if check is None else check.base_parameters
    sizes, origins = evaluator.step_sizes, evaluator.derivative_origins
    slopes = evaluator.space.derivative(problem.initial)
    dependent = {} if known is None else sensitivities.dependent_errors(subject, known)
    index = {q.name: j for j, q in enumerate(problem.free)}
    checks = []
    for q in problem.parameters:
        row = ParameterCheck(q.name, q.unit, q.initial)
        j = index.get(q.name)
        if q.expression is not None:
            row = replace(row, influence="dependent", predicted_error=dependent.get(q.name, nan))
        elif j is None:
            row = replace(row, influence=influence.get(q.name, "fixed"))
        else:
            error = nan if known is None else float(known.errors[j])
            merged = tuple(b.name for b in base if q.name in b.members) if np.isinf(error) else ()
            row = replace(
                row,
                influence=influence.get(q.name, "unknown" if known is None else "yes"),
                predicted_error=nan if merged else error,
                step=nan if sizes is None else float(sizes.steps[j] * slopes[j]),
                step_reason=str(origins.get(q.name, "")) if sizes is None else sizes.reasons[j],
                base=merged,
            )
        checks.append(row)
    return (
        *checks,
        *(
            ParameterCheck(b.name, b.unit, b.value, "base", b.standard_error, formula=b.expression)
            for b in base
        ),
    )


def _size(values: F64) -> float:
    """Return the root mean square without missing samples, NaN if all are."""
    known = values[np.isfinite(values)]
    return root_mean_square(known) if known.size else float("nan")


def _outputs(
    subject: SimulatedSubject, known: Sensitivities | None, *, works: bool
) -> tuple[OutputCheck, ...]:
    predicted = subject.predicted if works else None
    shares = {} if known is None else sensitivities.output_shares(subject, known)
    checks = []
    for i, k, e, m in subject.outputs():
        values = compared_values(m)
        left = float("nan") if predicted is None else _size(values - predicted[i][k])
        share = shares.get((i, k), float("nan"))
        checks.append(OutputCheck(e.name, m.name, m.unit, _size(values), left, share))
    return tuple(checks)
