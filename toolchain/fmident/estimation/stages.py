"""Running the stages of a problem one after the other, and what they found together."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident._types import F64
from fmident.errors import EstimationError, FmidentError
from fmident.estimation.contract import Estimator, Iteration
from fmident.estimation.fits import output_fits
from fmident.estimation.monitor import ActivityObserver, Observer
from fmident.estimation.options import build_options
from fmident.estimation.population import Generation
from fmident.estimation.result import (
    EstimationResult,
    OutputFit,
    ParameterEstimate,
    StageResult,
)
from fmident.estimation.run import FmuIdentity, run_estimation
from fmident.evaluation import Evaluator, Executor, Simulated, SimulationTask
from fmident.evaluation.executors import SubsetExecutor
from fmident.problem.residuals import parameter_values_for
from fmident.problem.stages import continued

if TYPE_CHECKING:
    from fmident.problem.model import Problem, Stage

ExecutorOf = Callable[["Problem"], Executor]
"""Makes the executor of a problem; whoever made it closes it."""

Look = Callable[["Problem", Evaluator], None]
"""Looks at a problem at its initial point before it is estimated; may raise."""

_ENDS_THE_RUN = ("interrupted", "stopped", "failed")


@dataclass
class _Done:
    """One stage that was run."""

    stage: Stage
    problem: Problem
    result: EstimationResult

    @property
    def found(self) -> dict[str, float]:
        """Values of the parameters that the stage searched."""
        return {e.name: e.value for e in self.result.estimates if not e.fixed}


def run_stages(
    problem: Problem,
    executor_of: ExecutorOf,
    estimator_of: Callable[[str], Estimator[Any]],
    observers: Sequence[Observer] = (),
    fmu: FmuIdentity | None = None,
    look: Look = lambda problem, evaluator: None,
) -> EstimationResult:
    """Run the stages of a problem; each starts from the values that those before it found.

    Stages of the problem's own FMU share one executor, so that nothing is loaded twice and one
    journal serves them all. A stage that is interrupted, stopped or fails ends the run with the
    best values so far.

    Parameters
    ----------
    problem
        With stages.
    executor_of
        Makes the executor of the whole problem, and that of a stage with an FMU of its own. It
        is asked once for each, and what it made is not closed here.
    estimator_of
        Name of an estimator to an instance.
    observers
        Told of each iteration, with the parameters of all stages in the problem's order.
    fmu
        For the result.
    look
        Called with the whole problem before the first stage, and with the problem of a stage
        that has an FMU of its own before that stage. Each is simulated at its initial point.

    Raises
    ------
    fmident.errors.FmidentError
        The first stage cannot start, or any has an unknown estimator or wrong options.
    """
    began = time.perf_counter()
    for stage in problem.stages:  # a mistake in the last one must not wait for the others
        estimator = estimator_of(stage.problem.estimator.name)
        options = build_options(estimator, stage.problem.estimator.options)
        estimator.check_problem(stage.problem, options)
    names = searched_names(problem)
    values = {q.name: q.initial for q in problem.parameters}
    done: list[_Done] = []
    failure: FmidentError | None = None
    interrupted = False
    whole: Executor | None = None
    first: tuple[Simulated, ...] = ()
    if not all(stage.separate for stage in problem.stages):
        whole = executor_of(problem)
        everything = SubsetExecutor(whole, range(len(problem.experiments)))
        with Evaluator(problem, everything) as evaluator:
            first = evaluator.simulate(problem.initial)
            look(problem, evaluator)
    for number, stage in enumerate(problem.stages, 1):
        # A file of its own has initial values of its own; what was found takes their place.
        known = {n: v for d in done for n, v in d.found.items()} if stage.separate else values
        staged, remarks = continued(stage, known)
        if stage.separate:
            base, places = executor_of(staged), _indices(staged, staged)
        else:
            assert whole is not None
            base, places = whole, _indices(problem, staged)
        executor = SubsetExecutor(base, places)  # stays open when the evaluator is closed
        shown = _Translator(observers, names, stage.name, staged, values, done, began)
        try:
            with Evaluator(staged, executor) as evaluator:
                if stage.separate:
                    look(staged, evaluator)
                result = run_estimation(
                    staged,
                    evaluator,
                    estimator_of(staged.estimator.name),
                    observers=[shown],
                    fmu=fmu,
                    intervals=_needs_intervals(problem, number - 1),
                )
        except FmidentError as error:
            if not done:
                raise
            failure = error
            break
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
            break
        result = dataclasses.replace(result, notes=(*remarks, *result.notes))
        done.append(_Done(stage, staged, result))
        values |= done[-1].found
        if result.status in _ENDS_THE_RUN:
            break
    fits, last = _all_fits(problem, whole, first, values, done)
    combined = _combined(problem, names, values, done, fits, time.perf_counter() - began)
    combined = dataclasses.replace(combined, simulations=combined.simulations + len(first) + last)
    following = problem.stages[len(done)].name if len(done) < len(problem.stages) else ""
    if failure is not None:
        message = f"stage '{following}' cannot start: {failure.message}" + (
            f" (hint: {failure.hint})" if failure.hint else ""
        )
        return dataclasses.replace(combined, status="failed", message=message)
    if interrupted:
        message = f"interrupted in stage '{following}'; the values of the stages before it"
        return dataclasses.replace(combined, status="interrupted", message=message)
    return combined


def searched_names(problem: Problem) -> list[str]:
    """Return the parameters of the problem that any of its stages searches, in order."""
    searched = {q.name for stage in problem.stages for q in stage.problem.free}
    return [q.name for q in problem.parameters if q.name in searched]


def _needs_intervals(problem: Problem, index: int) -> bool:
    """Return whether a stage has the last word on any parameter."""
    later = {q.name for stage in problem.stages[index + 1 :] for q in stage.problem.free}
    return any(q.name not in later for q in problem.stages[index].problem.free)


def _indices(problem: Problem, staged: Problem) -> list[int]:
    place = {e.name: k for k, e in enumerate(problem.experiments)}
    return [place[e.name] for e in staged.experiments]


class _Translator:
    """Tells the observers of a stage as part of the whole run."""

    def __init__(
        self,
        observers: Sequence[Observer],
        names: Sequence[str],
        stage: str,
        staged: Problem,
        values: Mapping[str, float],
        done: Sequence[_Done],
        began: float,
    ) -> None:
        self._observers = tuple(observers)
        self._translate = _translation(names, stage, staged, values, done)
        self._began = began

    def iteration(self, state: Iteration) -> None:
        """Pass an iteration on."""
        translated = dataclasses.replace(
            self._translate(state), seconds=time.perf_counter() - self._began
        )
        for observer in self._observers:
            observer.iteration(translated)

    def activity(self, text: str, done: int, expected: int) -> None:
        """Pass on how far a series of simulations is."""
        for observer in self._observers:
            if isinstance(observer, ActivityObserver):
                observer.activity(text, done, expected)


def _translation(
    names: Sequence[str],
    stage: str,
    staged: Problem,
    values: Mapping[str, float],
    done: Sequence[_Done],
) -> Callable[[Iteration], Iteration]:
    """Return what turns an iteration of a stage into one of the whole run."""
    iterations = sum(len(d.result.history) for d in done)
    simulations = sum(d.result.simulations for d in done)
    jacobians = sum(d.result.jacobians for d in done)
    seconds = sum(d.result.seconds for d in done)
    widen = _widening(names, staged, values)

    def translate(state: Iteration) -> Iteration:
        return dataclasses.replace(
            state,
            number=iterations + state.number,
            parameters=widen(state.parameters),
            simulations=simulations + state.simulations,
            jacobians=jacobians + state.jacobians,
            seconds=seconds + state.seconds,
            stage=stage,
        )

    return translate


def _widening(
    names: Sequence[str], staged: Problem, values: Mapping[str, float]
) -> Callable[[F64], F64]:
    """Return what puts the free parameters of a stage, (..., n), among those of all stages."""
    start = np.array([values[name] for name in names])
    own = [q.name for q in staged.free]
    pairs = [(names.index(name), k) for k, name in enumerate(own) if name in names]

    def widen(points: F64) -> F64:
        full: F64 = np.broadcast_to(start, (*points.shape[:-1], start.size)).copy()
        for place, column in pairs:
            full[..., place] = points[..., column]
        return full

    return widen


def _combined(
    problem: Problem,
    names: Sequence[str],
    values: Mapping[str, float],
    done: Sequence[_Done],
    fits: tuple[OutputFit, ...],
    seconds: float,
) -> EstimationResult:
    """Return the result of all stages together."""
    last = done[-1]
    history: list[Iteration] = []
    generations: list[Generation] = []
    held = {q.name: q.initial for q in problem.parameters}
    for k, one in enumerate(done):
        translate = _translation(names, one.stage.name, one.problem, held, done[:k])
        widen = _widening(names, one.problem, held)
        history += [translate(state) for state in one.result.history]
        generations += [
            Generation.of(widen(g.points), g.costs, one.stage.name) for g in one.result.generations
        ]
        held |= one.found
    final = {e.name: (d, e) for d in done for e in d.result.estimates if not e.fixed}
    covariance, correlation = _matrices(names, done)
    return dataclasses.replace(
        last.result,
        message=_message(problem, done),
        estimator=", ".join(dict.fromkeys(d.result.estimator for d in done)),
        estimates=tuple(_estimate(q.name, problem, names, final) for q in problem.parameters),
        covariance=covariance,
        correlation=correlation,
        simulations=sum(d.result.simulations for d in done),
        jacobians=sum(d.result.jacobians for d in done),
        seconds=seconds,
        history=tuple(history),
        generations=tuple(generations),
        fits=fits,
        notes=tuple(_notes(problem, names, done)),
        settings={
            **last.result.settings,
            "stages": {d.stage.name: d.result.settings.get("options", {}) for d in done},
        },
        stages=tuple(_stage_result(d) for d in done),
    )


def _stage_result(one: _Done) -> StageResult:
    result = one.result
    return StageResult(
        name=one.stage.name,
        estimator=result.estimator,
        cost=result.cost,
        cost_options=result.cost_options,
        cost_initial=result.cost_initial,
        cost_final=result.cost_final,
        status=result.status,
        message=result.message,
        parameters=one.found,
        experiments=tuple(e.name for e in one.problem.experiments),
        simulations=result.simulations,
        jacobians=result.jacobians,
        seconds=result.seconds,
        identifiability=result.identifiability,
    )


def _message(problem: Problem, done: Sequence[_Done]) -> str:
    last = done[-1]
    return f"stage {len(done)} of {len(problem.stages)}, '{last.stage.name}': {last.result.message}"


def _estimate(
    name: str,
    problem: Problem,
    names: Sequence[str],
    final: Mapping[str, tuple[_Done, ParameterEstimate]],
) -> ParameterEstimate:
    """Return a parameter as the last stage that searched it left it."""
    (q,) = (q for q in problem.parameters if q.name == name)
    if name in final:
        one, found = final[name]
        return dataclasses.replace(
            found,
            initial=q.initial,
            unit=q.unit,
            description=q.description,
            variable=q.variable,
            experiments=q.experiments,
            stage=one.stage.name,
        )
    nothing = float("nan")
    return ParameterEstimate(
        name=name,
        unit=q.unit,
        description=q.description,
        initial=q.initial,
        value=q.initial,
        standard_error=nothing,
        interval_95=(nothing, nothing),
        lower=q.lower,
        upper=q.upper,
        at_bound=False,
        fixed=name not in names,
        variable=q.variable,
        experiments=q.experiments,
    )


def _matrices(names: Sequence[str], done: Sequence[_Done]) -> tuple[F64, F64]:
    """Return covariance and correlation; NaN between parameters of different stages."""
    covariance = np.full((len(names), len(names)), np.nan)
    correlation = covariance.copy()
    owner = {e.name: d for d in done for e in d.result.estimates if not e.fixed}
    for one in done:
        own = [q.name for q in one.problem.free]
        kept = [(names.index(n), k) for k, n in enumerate(own) if owner[n] is one and n in names]
        for i, k in kept:
            for j, m in kept:
                covariance[i, j] = one.result.covariance[k, m]
                correlation[i, j] = one.result.correlation[k, m]
    return covariance, correlation


def _notes(problem: Problem, names: Sequence[str], done: Sequence[_Done]) -> list[str]:
    """Return what the stages had to say, and for which values their intervals hold."""
    notes = [d.message for d in problem.notes]
    unused = [q.name for q in problem.free if q.name not in names]
    if unused:
        verb = "is" if len(unused) == 1 else "are"
        notes.append(f"{_listed(unused)} {verb} searched in no stage and keeps its initial value.")
    for one in done:
        notes += [f"Stage '{one.stage.name}': {_lowered(n)}" for n in one.result.notes]
    owner = {e.name: d for d in done for e in d.result.estimates if not e.fixed}
    for one in done[1:]:
        own = [n for n in names if owner.get(n) is one]
        held = [n for n in names if n in owner and n not in {q.name for q in one.problem.free}]
        acting = [n for n in held if any(q.name == n for q in one.problem.parameters)]
        if own and acting and np.isfinite(one.result.covariance).any():
            notes.append(
                f"Stage '{one.stage.name}' held {_listed(acting)} at the values of earlier stages:"
                f" the intervals of {_listed(own)} hold for exactly these values, and are too "
                "narrow as far as they are uncertain themselves. A last stage that searches all of "
                "them gives intervals that count everything."
            )
    return notes


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{n}'" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def _lowered(note: str) -> str:
    """Return a sentence to stand behind a colon, names left alone."""
    head = note[:2]
    return note[:1].lower() + note[1:] if head[:1].isupper() and head[1:].islower() else note


def _all_fits(
    problem: Problem,
    whole: Executor | None,
    first: Sequence[Simulated],
    values: Mapping[str, float],
    done: Sequence[_Done],
) -> tuple[tuple[OutputFit, ...], int]:
    """Return the fits of all experiments at the first and the last values.

    Each stage saw its own experiments only, and started where another had ended. After an
    interrupt nothing is simulated: the fits are those of the last stage.

    Returns
    -------
    fits
        One per output and experiment; those of stages with an FMU of their own behind.
    simulations
        How many it took.
    """
    if not done:
        raise EstimationError("no stage was run", hint="add [[stages]], or none at all")
    last = done[-1]
    others = _own_fits(problem, done)
    if whole is None or last.result.status == "interrupted":
        own = () if last.stage.separate else last.result.fits
        return (*own, *others), 0
    final = dataclasses.replace(
        problem,
        parameters=tuple(
            dataclasses.replace(q, initial=values[q.name], fixed=True) for q in problem.parameters
        ),
    )
    nothing = np.empty(0)
    tasks = [
        SimulationTask(k, parameter_values_for(final, e, nothing))
        for k, e in enumerate(problem.experiments)
    ]
    try:
        outcomes = whole.run(tasks)
    except KeyboardInterrupt:  # all has been found: it must not be lost for want of a plot
        return (*last.result.fits, *(() if last.stage.separate else others)), 0
    scale = _residual_scale(final, last.result.fits)
    found = output_fits(final, first, outcomes, nothing, scale)
    return (*(found or last.result.fits), *others), len(tasks)


def _own_fits(problem: Problem, done: Sequence[_Done]) -> tuple[OutputFit, ...]:
    """Return the fits of stages with an FMU of their own, each experiment with its own name."""
    known = {e.name for e in problem.experiments}
    fits: list[OutputFit] = []
    for one in (d for d in done if d.stage.separate):
        for fit in one.result.fits:
            taken = fit.experiment in known
            name = f"{fit.experiment} (stage {one.stage.name})" if taken else fit.experiment
            fits.append(dataclasses.replace(fit, experiment=name))
        known |= {e.name for e in one.problem.experiments}
    return tuple(fits)


def _residual_scale(problem: Problem, fits: Sequence[OutputFit]) -> float:
    """Return the standard deviation that the last stage found for outputs without one."""
    known = {(e.name, m.name): m for e in problem.experiments for m in e.measurements}
    for fit in fits:
        m = known.get((fit.experiment, fit.name))
        if m is not None and m.sigma is None:
            return float(fit.sigma[0]) * m.weight
    return 1.0
