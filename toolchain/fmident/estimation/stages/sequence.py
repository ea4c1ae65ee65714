"""Running the stages of a problem one after the other, and combining their results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import EstimationError, FmidentError
from fmident.estimation.checks import build_options, suited
from fmident.estimation.comparisons import CountedNoise, OutputFit, OutputSensitivity
from fmident.estimation.contract import Estimator, Generation, Iteration
from fmident.estimation.diagnostics.noise import refuse_noise
from fmident.estimation.diagnostics.parameters import dependent_after_stages
from fmident.estimation.diagnostics.priors import after_stages
from fmident.estimation.fits import output_fits
from fmident.estimation.monitor import Audience, Observer, RunPlan
from fmident.estimation.result import (
    EstimationResult,
    ParameterEstimate,
    StageResult,
    StageUncertainty,
)
from fmident.estimation.run import FmuIdentity, run_with_statistics
from fmident.estimation.stages.propagation import Propagation, with_effort
from fmident.evaluation import Evaluator, Executor, Simulated, SimulationTask
from fmident.evaluation.executors.base import SubsetExecutor
from fmident.findings import Finding, finding, in_order, reading_notes
from fmident.problem.residuals import parameter_values_for
from fmident.problem.stages import continued
from fmident.statistics.distributions import correlation_of
from fmident.words import quoted

if TYPE_CHECKING:
    from fmident.estimation.stages.propagation import Carried
    from fmident.problem.model import Problem, Stage


ExecutorOf = Callable[["Problem"], Executor]
"""Makes the executor of a problem; whoever made it closes it."""

Look = Callable[["Problem", Evaluator], None]
"""Looks at a problem at its initial point before it is estimated; may raise."""

_ENDS_THE_RUN = ("interrupted", "stopped", "failed")


def run_stages(
    problem: Problem,
    executor_of: ExecutorOf,
    estimator_of: Callable[[str], Estimator[Any]],
    observers: Sequence[Observer] = (),
    fmu: FmuIdentity | None = None,
    look: Look = lambda problem, evaluator: None,
) -> EstimationResult:
    """Run the stages of a problem; each starts from the values estimated before.

    Stages of the problem's own FMU share one executor, so that nothing is loaded twice and
    there is only one journal. A stage that is interrupted, stopped or fails ends the run
    with the best values so far. `executor_of` creates the executor of the whole problem,
    and that of a stage with its own FMU, once for each; they are not closed here. `look` is
    called before the first stage with the whole problem, and before a stage with its own
    FMU with its problem, simulated at the initial point. Raises `FmidentError` if the first
    stage cannot start, or any has an unknown estimator or wrong options.
    """
    began = time.perf_counter()
    names = _searched_names(problem, estimator_of)
    values = {q.name: q.initial for q in problem.parameters}
    done: list[StageRun] = []
    propagation = Propagation(problem)
    ending: dict[str, Any] = {}
    whole: Executor | None = None
    first: tuple[Simulated, ...] = ()
    if not all(stage.separate for stage in problem.stages):
        whole = executor_of(problem)
        everything = SubsetExecutor(whole, range(len(problem.experiments)))
        with Evaluator(problem, everything) as evaluator:
            first = evaluator.simulate(problem.initial)
            look(problem, evaluator)
    for number, stage in enumerate(problem.stages):
        # A file of its own has initial values of its own; what was found takes their place.
        known = {n: v for d in done for n, v in d.values.items()} if stage.separate else values
        staged, remarks = continued(stage, known)
        staged = suited(staged, estimator_of(staged.estimator.name))
        staged = dataclasses.replace(staged, preliminary=not propagation.wanted[number])
        executor = _executor_of_stage(problem, stage, staged, whole, executor_of)
        translator = Translation(
            names, stage.name, staged, values, [d.result for d in done], observers, began=began,
            stages=len(problem.stages),
        )  # fmt: skip
        try:
            with Evaluator(staged, executor) as evaluator:
                if stage.separate:
                    look(staged, evaluator)
                run = run_with_statistics(
                    staged,
                    evaluator,
                    estimator_of(staged.estimator.name),
                    observers=[translator],
                    fmu=fmu,
                    intervals=propagation.wanted[number],
                )
                carried = propagation.add(
                    number, stage, staged, run, evaluator, executor, translator.activity
                )
        except (FmidentError, KeyboardInterrupt) as error:
            if not done:
                raise
            ending = _ending(stage, error)
            break
        result = with_effort(run.result, carried)
        result = result.with_findings([finding("stage-start", text) for text in remarks])
        done.append(StageRun(stage, staged, result, carried))
        values |= done[-1].values
        if result.status in _ENDS_THE_RUN:
            break
    fits, last = all_fits(problem, whole, first, values, done)
    seconds = time.perf_counter() - began
    total = combined(problem, names, done, propagation, fits, seconds)
    simulations = total.simulations + len(first) + last
    return dataclasses.replace(total, simulations=simulations, **ending)


def _searched_names(problem: Problem, estimator_of: Callable[[str], Estimator[Any]]) -> list[str]:
    """Return the parameters that any stage searches.

    Raises `FmidentError` for what a stage cannot do: a mistake in the last one must not wait
    for the others.
    """
    searched: set[str] = set()
    for stage in problem.stages:
        estimator = estimator_of(stage.problem.estimator.name)
        refuse_noise(problem, estimator, problem.where())
        searched |= {q.name for q in suited(stage.problem, estimator).free}
        options = build_options(estimator, stage.problem.estimator.options)
        estimator.check_problem(stage.problem, options)
    return [q.name for q in problem.parameters if q.name in searched]


def _ending(stage: Stage, error: FmidentError | KeyboardInterrupt) -> dict[str, Any]:
    if isinstance(error, KeyboardInterrupt):
        message = f"interrupted in stage '{stage.name}'; the values of the stages before it"
        return {"status": "interrupted", "message": message, "ended_by": None}
    hint = f" (hint: {error.hint})" if error.hint else ""
    message = f"stage '{stage.name}' cannot start: {error.message}{hint}"
    return {"status": "failed", "message": message, "ended_by": None}


def _executor_of_stage(
    problem: Problem,
    stage: Stage,
    staged: Problem,
    whole: Executor | None,
    executor_of: ExecutorOf,
) -> SubsetExecutor:
    """Return an executor of the stage's experiments, which is open when its evaluator is closed."""
    if stage.separate:
        return SubsetExecutor(executor_of(staged), range(len(staged.experiments)))
    assert whole is not None
    place = {e.name: k for k, e in enumerate(problem.experiments)}
    return SubsetExecutor(whole, [place[e.name] for e in staged.experiments])


def all_fits(
    problem: Problem,
    whole: Executor | None,
    first: Sequence[Simulated],
    values: Mapping[str, float],
    done: Sequence[StageRun],
) -> tuple[tuple[OutputFit, ...], int]:
    """Return the fits of all experiments at the first and the last values.

    Each stage used only its own experiments, and started from the result of another. After
    an interrupt nothing is simulated: the fits are those of the last stage. Fits of stages
    with their own FMU come last; the second result is the number of simulations.
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
        outcomes = whole.run_all(tasks)
    except KeyboardInterrupt:  # all has been found: it must not be lost for want of a plot
        return (*last.result.fits, *(() if last.stage.separate else others)), 0
    scale = _residual_scale(final, last.result.fits)
    fits = output_fits(final, first, outcomes, nothing, scale)
    return (*(fits or last.result.fits), *others), len(tasks)


def _own_fits(problem: Problem, done: Sequence[StageRun]) -> tuple[OutputFit, ...]:
    """Return the fits of stages with their own FMU, each experiment with its own name."""
    known = {e.name for e in problem.experiments}
    fits: list[OutputFit] = []
    for one in (d for d in done if d.stage.separate):
        for fit in one.result.fits:
            ambiguous = fit.experiment in known
            name = f"{fit.experiment} (stage {one.stage.name})" if ambiguous else fit.experiment
            fits.append(dataclasses.replace(fit, experiment=name))
        known |= {e.name for e in one.problem.experiments}
    return tuple(fits)


def _residual_scale(problem: Problem, fits: Sequence[OutputFit]) -> float:
    """Return the last stage's estimate of the standard deviation for outputs without one."""
    known = {(e.name, m.name): m for e in problem.experiments for m in e.measurements}
    for fit in fits:
        m = known.get((fit.experiment, fit.name))
        if m is not None and m.sigma is None:
            return float(fit.sigma[0]) * m.weight
    return 1.0


def combined(
    problem: Problem,
    names: Sequence[str],
    done: Sequence[StageRun],
    propagation: Propagation,
    fits: tuple[OutputFit, ...],
    seconds: float,
) -> EstimationResult:
    """Return the combined result of all completed stages, with the fits of all experiments."""
    last = done[-1]
    history, generations = _course(problem, names, done)
    # A constraint may let a parameter follow from others in one stage alone.
    always = {q.name for q in problem.parameters if q.expression is not None}
    final = {
        e.name: (d, e)
        for d in done
        for e in d.result.estimates
        if e.searched or (e.expression and e.name not in always)
    }
    covariance = propagation.covariance(names)
    base = [
        dataclasses.replace(b, stage=d.stage.name)
        for d in done
        for b in d.result.base_parameters
        if all(final[n][0] is d for n in b.members)  # no later stage has searched a member
    ]
    joined = [_estimate(q.name, problem, names, final, base) for q in problem.parameters]
    values = {e.name: e.value for e in joined}
    estimates = tuple(propagation.applied(e, values) for e in joined)
    return dataclasses.replace(
        last.result,
        message=f"stage {len(done)} of {len(problem.stages)}, '{last.stage.name}':"
        f" {last.result.message}",
        estimator=", ".join(dict.fromkeys(d.result.estimator for d in done)),
        estimates=dependent_after_stages(problem, names, estimates, covariance),
        covariance=covariance,
        correlation=correlation_of(covariance),
        simulations=sum(d.result.simulations for d in done),
        jacobians=sum(d.result.jacobians for d in done),
        seconds=seconds,
        history=history,
        generations=generations,
        fits=fits,
        findings=in_order(stage_notes(problem, names, done, propagation)),
        settings={
            **last.result.settings,
            "stages": {d.stage.name: d.result.settings.get("options", {}) for d in done},
        },
        stages=tuple(_stage_result(d) for d in done),
        sensitivities=_sensitivities(done),
        priors=after_stages([d.result.priors for d in done]),
        noise=_noise(done, {name: one for name, (one, _) in final.items()}),
        base_parameters=tuple(propagation.applied(b, values) for b in base),
    )


def _course(
    problem: Problem, names: Sequence[str], done: Sequence[StageRun]
) -> tuple[tuple[Iteration, ...], tuple[Generation, ...]]:
    """Return the iterations and generations of all stages, with the parameters of all."""
    history: list[Iteration] = []
    generations: list[Generation] = []
    values = {q.name: q.initial for q in problem.parameters}
    for k, one in enumerate(done):
        before = [d.result for d in done[:k]]
        whole = Translation(names, one.stage.name, one.problem, values, before)
        history += [whole.translated(state) for state in one.result.history]
        generations += [
            Generation.of(whole.widened(g.points), g.costs, one.stage.name)
            for g in one.result.generations
        ]
        values |= one.values
    return tuple(history), tuple(generations)


def _noise(done: Sequence[StageRun], last: Mapping[str, StageRun]) -> CountedNoise | None:
    noises = [
        (d, d.result.noise) for d in done if d.result.noise is not None and d.carried.counts_noise
    ]
    if not noises:
        return None

    def joined(key: str) -> dict[str, float]:
        each = ((d, name, x) for d, noise in noises for name, x in getattr(noise, key).items())
        return {name: x for d, name, x in each if last.get(name) is d}

    return CountedNoise(
        any(n.coloured for _, n in noises),
        any(n.unequal for _, n in noises),
        any(n.uneven for _, n in noises),
        noises[-1][1].outputs,
        any(n.contradicted for _, n in noises),
        joined("white_errors"),
        joined("factors"),
        joined("degrees_of_freedom"),
        waves=noises[-1][1].waves,
        shared=noises[-1][1].shared,
    )


def _sensitivities(done: Sequence[StageRun]) -> tuple[OutputSensitivity, ...]:
    last = {name: k for k, one in enumerate(done) for name in one.values}
    sensitivities = []
    for k, one in enumerate(done):
        for each in one.result.sensitivities:
            columns = [j for j, name in enumerate(each.parameters) if last.get(name) == k]
            names = [each.parameters[j] for j in columns]
            if columns:
                sensitivities.append(
                    dataclasses.replace(
                        each,
                        influences={n: each.influences[n] for n in names},
                        values=np.ascontiguousarray(each.values[:, columns]),
                        stage=one.stage.name,
                    )
                )
    return tuple(sensitivities)


def _stage_result(one: StageRun) -> StageResult:
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
        parameters={e.name: e.value for e in result.estimates if e.searched},
        experiments=tuple(e.name for e in one.problem.experiments),
        simulations=result.simulations,
        jacobians=result.jacobians,
        seconds=result.seconds,
        identifiability=result.identifiability,
        uncertainty=one.carried.uncertainty,
    )


def _estimate(
    name: str,
    problem: Problem,
    names: Sequence[str],
    final: Mapping[str, tuple[StageRun, ParameterEstimate]],
    base: Sequence[ParameterEstimate],
) -> ParameterEstimate:
    (q,) = (q for q in problem.parameters if q.name == name)
    if name in final:
        one, estimate = final[name]
        return dataclasses.replace(
            estimate,
            initial=q.initial,
            unit=q.unit,
            description=q.description,
            variable=q.variable,
            experiments=q.experiments,
            stage=one.stage.name,
            # One that an earlier stage has searched counts as such.
            expression="" if name in names else estimate.expression,
            base=tuple(b.name for b in base if name in b.members),
        )
    return dataclasses.replace(
        ParameterEstimate.of(q, q.initial), fixed=name not in names and q.expression is None
    )


def stage_notes(
    problem: Problem, names: Sequence[str], done: Sequence[StageRun], propagation: Propagation
) -> Iterator[Finding]:
    """Yield the findings of a run in stages."""
    yield from reading_notes(problem.notes)
    for one in done:
        for f in one.result.findings:
            yield dataclasses.replace(f, text=f"Stage '{one.stage.name}': {_lowered(f.text)}")
    followed = {e.name for d in done for e in d.result.estimates if e.expression}
    unused = [q.name for q in problem.free if q.name not in names and q.name not in followed]
    if unused:
        verb = "is" if len(unused) == 1 else "are"
        text = f"{quoted(unused)} {verb} searched in no stage and keeps its initial value."
        yield finding("stage-unused", text)
    owner = {e.name: k for k, d in enumerate(done) for e in d.result.estimates if e.searched}
    for k, one in enumerate(done):
        own = [n for n in names if owner.get(n) == k]
        known = bool(np.isfinite(one.result.covariance).any())
        effect = one.carried.uncertainty
        if own and known and effect is not None:
            yield from _counted_notes(one, effect, own)
            yield from _assumed_notes(one, effect, own)
            yield from _lost_notes(one, effect, own, propagation)
        if propagation.wanted[k] and known:
            yield from _initial_notes(k, done, owner)


def _counted_notes(
    one: StageRun, effect: StageUncertainty, own: Sequence[str]
) -> Iterator[Finding]:
    if not effect.counted:
        return
    text = (
        f"Stage '{one.stage.name}' held {quoted(effect.counted)} at the values of earlier stages:"
        f" the intervals of {quoted(own)} count their uncertainty, to first order"
        f" ({effect.simulations} more simulations)."
    )
    if effect.shared_experiments:
        text += (
            f" Samples of {quoted(effect.shared_experiments)} were used by an earlier stage, too:"
            " that the errors are correlated therefore is counted."
        )
    if effect.taken_for_independent:
        text += (
            f" Data of {quoted(effect.taken_for_independent)} were used by an earlier stage in"
            " another form: their noise counts as independent."
        )
    if one.carried.blurred:
        text += (
            f" But the simulation is too inexact to tell what {quoted(one.carried.blurred)} would"
            " change: the intervals may be wrong; tighten evaluation.tolerance."
        )
    yield finding("stage-held-counted", text)


def _assumed_notes(
    one: StageRun, effect: StageUncertainty, own: Sequence[str]
) -> Iterator[Finding]:
    if not effect.taken_for_known:
        return
    names, single = quoted(effect.taken_for_known), len(effect.taken_for_known) == 1
    if one.carried.reason:
        why = f"since {one.carried.reason.rstrip('.')}"
    elif not one.stage.propagate:
        why = "since 'propagate' is false"
    else:
        why = "since the stages that found them gave no uncertainty"
    yield finding(
        "stage-held-known",
        f"Stage '{one.stage.name}' held {names} at the values of earlier stages and took"
        f" {'it' if single else 'them'} for exactly known, {why}: the intervals of {quoted(own)}"
        f" are too narrow as far as {names} {'is' if single else 'are'} uncertain. A last stage"
        " that searches all of them gives intervals that count everything.",
    )


def _lost_notes(
    one: StageRun, effect: StageUncertainty, own: Sequence[str], propagation: Propagation
) -> Iterator[Finding]:
    alone = {n: e for n, e in effect.conditional_errors.items() if np.isfinite(e)}
    lost = [n for n in propagation.undetermined(own) if n in alone]
    if lost:
        causes = quoted(propagation.undetermined(effect.counted))
        yield finding(
            "stage-held-undetermined",
            f"Stage '{one.stage.name}' held {causes}, which the data of earlier stages do not"
            f" determine: neither is {quoted(lost)}, which depends on that.",
        )
    for e in one.result.estimates:
        if e.name in own and e.name in alone and e.name not in lost:
            estimate = propagation.applied(e, one.result.values)
            if estimate.standard_error > max(abs(e.value), abs(e.initial)) >= alone[e.name]:
                yield finding(
                    "stage-held-undetermined",
                    f"'{e.name}' is poorly determined because of what stage '{one.stage.name}'"
                    f" held: {e.value:.3g} with a standard error of {estimate.standard_error:.3g}.",
                )


def _initial_notes(k: int, done: Sequence[StageRun], owner: Mapping[str, int]) -> Iterator[Finding]:
    """Note parameters that a stage held at values changed by a later one."""
    before = {n for d in done[:k] for n in d.values}
    held = [
        q.name
        for q in done[k].problem.parameters
        if q.fixed and q.name not in before and owner.get(q.name, -1) > k
    ]
    if held:
        yield finding(
            "stage-held-changed",
            f"Stage '{done[k].stage.name}' held {quoted(held)} at"
            f" {'its initial value' if len(held) == 1 else 'their initial values'}, which a later"
            " stage changed: as far as its data show them, what it found holds for the former"
            " values, and its intervals do not count the difference.",
        )


def _lowered(note: str) -> str:
    """Return a sentence for use after a colon, with names unchanged."""
    head = note[:2]
    return note[:1].lower() + note[1:] if head[:1].isupper() and head[1:].islower() else note


@dataclass(frozen=True)
class StageRun:
    """A completed stage, with the problem it solved and the effect of held values."""

    stage: Stage
    problem: Problem
    result: EstimationResult
    carried: Carried

    @property
    def values(self) -> dict[str, float]:
        """Values of the parameters that the stage estimated, and of those that depend on them."""
        return {e.name: e.value for e in self.result.estimates if e.searched or e.expression}


class Translation(Audience):
    """Reports of a stage as those of the whole run, also to observers of that.

    `names` are the parameters of all stages, of which those of the stage take their place
    among `values`; `done` are the results of the stages before.
    """

    def __init__(
        self,
        names: Sequence[str],
        stage: str,
        staged: Problem,
        values: Mapping[str, float],
        done: Sequence[EstimationResult],
        observers: Sequence[Observer] = (),
        *,
        began: float = 0.0,
        stages: int = 1,
    ) -> None:
        super().__init__(observers)
        self._names, self._stage, self._done = tuple(names), stage, done
        self._began, self._stages = began, stages
        self._start = np.array([values[name] for name in names])
        own = [q.name for q in staged.free]
        self._columns = [k for k, name in enumerate(own) if name in names]
        self._places = [names.index(own[k]) for k in self._columns]

    def widened(self, points: F64) -> F64:
        """Return a stage's parameters, (..., n), among those of all stages."""
        full: F64 = np.broadcast_to(self._start, (*points.shape[:-1], self._start.size)).copy()
        full[..., self._places] = points[..., self._columns]
        return full

    def translated(self, state: Iteration) -> Iteration:
        """Return an iteration of the stage as one of the whole run."""
        return dataclasses.replace(
            state,
            number=state.number + sum(len(d.history) for d in self._done),
            parameters=self.widened(state.parameters),
            simulations=state.simulations + sum(d.simulations for d in self._done),
            jacobians=state.jacobians + sum(d.jacobians for d in self._done),
            seconds=state.seconds + sum(d.seconds for d in self._done),
            stage=self._stage,
        )

    def iteration(self, state: Iteration) -> None:
        """Pass an iteration on."""
        seconds = time.perf_counter() - self._began
        super().iteration(dataclasses.replace(self.translated(state), seconds=seconds))

    def planned(self, plan: RunPlan) -> None:
        """Pass the plan of the stage on."""
        super().planned(
            dataclasses.replace(
                plan,
                parameters=self._names,
                initial=self.widened(plan.initial),
                stage=self._stage,
                number=len(self._done) + 1,
                stages=self._stages,
            )
        )
