"""Predict experiments with an estimate, including parameter and noise uncertainty.

In the linearised case the mean of an output has the variance :math:`g^T V g`, with the
derivatives :math:`g` of the output in the predicted experiment and the covariance
:math:`V` of the result that accounts for the actual noise. Draws, from a bootstrap or a
posterior, are simulated instead. The noise of new samples is taken from the residuals
of the same output in the fitted experiments.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from fmident.arrays import F64, root_mean_square
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import EstimationError
from fmident.estimation.diagnostics import Recorded, recorded_outputs
from fmident.estimation.diagnostics.noise import noise_of
from fmident.estimation.result import EstimationResult
from fmident.evaluation import Evaluator, Executor, JacobianError
from fmident.findings import Finding, finding, in_order
from fmident.prediction.result import OutputBand, Prediction, Source, drawn_bands, normal_bands
from fmident.problem.cost import TimeDomain
from fmident.problem.model import Problem
from fmident.problem.residuals import residual_layout
from fmident.statistics.noise.covariance import NoiseFinding
from fmident.statistics.noise.processes import NoiseModel, spanned
from fmident.statistics.noise.series import autocovariance

MOST_DRAWS = 500
"""Draws that are simulated, at most."""

_FEWEST = 20
_ROUNDING = 1e-12
_ENTRIES = 20_000_000
"""Predicted values of draws that are held at once."""


_ENOUGH = 10.0
"""Least degrees of freedom with which the residuals of an output tell its noise."""

_LAGS = 2000


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Uncertainty of the parameters.

    The `covariance` of the free parameters, shape (n, n), is NaN for undetermined ones;
    `freedom` are the degrees of freedom of its variances, infinite if they are known.
    `draws` have shape (k, n); they are empty in the linearised case.
    """

    source: Source
    covariance: F64
    freedom: float
    draws: F64


def covariance_of(problem: Problem, result: EstimationResult) -> tuple[F64, float]:
    """Return the free parameters' covariance in a result, and its degrees of freedom.

    The covariance has shape (n, n), with NaN for undetermined parameters and zero for those
    without standard error on a bound. The degrees of freedom, for Student's t, are the
    minimum over all parameters. Raises `EstimationError` if the result has no covariance.
    """
    covariance = result.covariance_of([q.name for q in problem.free])
    if covariance is None:
        raise EstimationError(
            "the result has no covariance of its parameters",
            hint="estimate with a method and a cost that give intervals, or predict by --bootstrap",
        )
    if covariance.size and bool(np.isnan(np.diag(covariance)).all()):
        hint = "its notes say why; 'fmident predict --bootstrap' needs none"
        raise EstimationError("the result has no standard errors", hint=hint)
    return covariance, _freedom(problem, result)


def _freedom(problem: Problem, result: EstimationResult) -> float:
    noise = getattr(result, "noise", None)
    known = [] if noise is None else [f for f in noise.degrees_of_freedom.values() if f > 0.0]
    if known:
        return float(min(known))
    if problem.sigma_known:
        return math.inf
    return float(max(residual_layout(problem).size - len(problem.free), 1))


def predict(
    problem: Problem,
    new: Sequence[Experiment],
    p: F64,
    uncertainty: Uncertainty,
    executor_of: Callable[[Problem], Executor],
    *,
    level: float = 0.95,
    fitted: bool = True,
    listener: Callable[[int, int], None] = lambda _, __: None,
) -> Prediction:
    """Predict the fitted experiments of a problem and the `new` ones.

    The residuals of `problem` determine the noise. `p` is the estimate of the free
    parameters, shape (n,), and `level` the probability of the bands. Without `fitted`, only
    new experiments are predicted. `executor_of` creates the executor of a problem; the
    `listener` receives the number of finished experiments and their total. Raises
    `EstimationError` if the simulation fails at the estimate.
    """
    began = time.monotonic()
    simple = dataclasses.replace(
        problem, cost=TimeDomain(), stages=(), constraints=(), validation=()
    )
    with executor_of(simple) as executor, Evaluator(simple, executor) as evaluator:
        known = _noise(simple, evaluator, p)
        simulations = evaluator.simulations
    experiments = [*new, *(problem.experiments if fitted else ())]
    bands: list[list[OutputBand]] = []
    failures = 0
    for number, experiment in enumerate(experiments):
        listener(number, len(experiments))
        probe = dataclasses.replace(simple, experiments=(_as_zero(experiment),))
        with executor_of(probe) as executor, Evaluator(probe, executor) as evaluator:
            outputs = _Outputs.of(probe, evaluator, p, uncertainty, experiment.name)
            simulations += evaluator.simulations
        failures += outputs.failures
        bands.append(_bands(experiment, probe, outputs, uncertainty, known, level))
    listener(len(experiments), len(experiments))
    notes = _notes(problem, uncertainty, [b for some in bands for b in some], failures)
    count = len(new)
    return Prediction(
        source=uncertainty.source,
        level=level,
        new=tuple(b for some in bands[:count] for b in some),
        fitted=tuple(b for some in bands[count:] for b in some),
        draws=len(uncertainty.draws),
        failures=failures,
        simulations=simulations,
        seconds=time.monotonic() - began,
        findings=in_order(notes),
    )


def chosen_draws(draws: F64) -> F64:
    """Return the evenly spaced subset of draws that is simulated, shape (k, n)."""
    if len(draws) <= MOST_DRAWS:
        return draws
    return draws[np.linspace(0, len(draws) - 1, MOST_DRAWS).round().astype(np.intp)]


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Predictions of one experiment: mean with deviations or draws, in row order."""

    predicted: F64
    deviations: F64
    draws: F64
    failures: int

    @classmethod
    def of(
        cls, probe: Problem, evaluator: Evaluator, p: F64, uncertainty: Uncertainty, name: str
    ) -> _Outputs:
        """Simulate; with zero measurements the residuals are the negative predictions."""
        if not len(uncertainty.draws):
            jacobian, residuals = _linearised(evaluator, p, f"the simulation of '{name}'")
            predicted = -residuals
            deviations = _deviations(jacobian, uncertainty.covariance)
            return cls(predicted, deviations, np.empty((0, predicted.size)), 0)
        predicted = -evaluator.data_residuals(p)
        if not bool(np.isfinite(predicted).all()):
            raise _failed(evaluator, f"the simulation of '{name}'")
        chosen = uncertainty.draws
        step = max(_ENTRIES // max(predicted.size, 1), 1)
        if len(chosen) > step:
            chosen = chosen[:: -(-len(chosen) // step)]
        rows = -evaluator.probe(np.clip(chosen, probe.lower, probe.upper))
        good = np.isfinite(rows).all(axis=1)
        if int(good.sum()) < _FEWEST:
            raise EstimationError(
                f"only {int(good.sum())} of {len(rows)} draws of the parameters can be simulated in"
                f" '{name}': {evaluator.last_failure}",
                hint="a bootstrap needs at least 20 replicates, a posterior as many draws",
            )
        return cls(predicted, np.zeros(predicted.size), rows[good], int((~good).sum()))


def _linearised(evaluator: Evaluator, p: F64, what: str) -> tuple[F64, F64]:
    """Return Jacobian and residuals of the data."""
    try:
        # The Jacobian first: its simulation has the residuals, too.
        jacobian = evaluator.data_jacobian(p)
    except JacobianError:
        raise _failed(evaluator, what) from None
    residuals = evaluator.data_residuals(p)
    if not bool(np.isfinite(residuals).all()):
        raise _failed(evaluator, what)
    return jacobian, residuals


def _failed(evaluator: Evaluator, what: str) -> EstimationError:
    return EstimationError(f"{what} fails at the estimate: {evaluator.last_failure}")


def _deviations(jacobian: F64, covariance: F64) -> F64:
    """Return the standard deviations of predictions; NaN if an undetermined parameter matters."""
    lost = np.isnan(np.diag(covariance))
    determined = covariance[np.ix_(~lost, ~lost)]
    sensitivities = jacobian[:, ~lost]
    variances = np.einsum("ij,jk,ik->i", sensitivities, determined, sensitivities, optimize=True)
    deviations: F64 = np.sqrt(np.maximum(variances, 0.0))
    sizes = np.abs(jacobian[:, lost])
    deviations[(sizes > _ROUNDING * sizes.max(initial=0.0)).any(axis=1)] = np.nan
    return deviations


_KnownNoise = Sequence[tuple[Recorded, "NoiseSize"]]
"""The fitted outputs with their noise."""


def _as_zero(experiment: Experiment) -> Experiment:
    """Return the experiment with zero measured at all instants, with weight one."""
    measurements = tuple(
        dataclasses.replace(
            m, values=np.zeros(experiment.times.size), sigma=None, weight=1.0, exclusions=()
        )
        for m in experiment.measurements
    )
    return dataclasses.replace(experiment, measurements=measurements)


def _noise(problem: Problem, evaluator: Evaluator, p: F64) -> _KnownNoise:
    jacobian, residuals = _linearised(evaluator, p, "the simulation")
    left = spanned(jacobian)
    leverages = np.einsum("ij,ij->i", left, left)
    sizes = noise_sizes(problem, residuals, leverages, noise_of(problem, residuals, jacobian))
    return [(o, sizes[o.experiment.name, o.measurement.name]) for o in recorded_outputs(problem)]


def _noise_for(experiment: str, m: Measurement, known: _KnownNoise) -> tuple[F64, float]:
    """Return the standard deviation of an output's noise, and its degrees of freedom.

    If unknown, that of the same output in other experiments is used, scaled by the ratio of
    the sigmas if both have one.
    """
    same = [(o, size) for o, size in known if o.measurement.name == m.name]
    same = [each for each in same if each[0].experiment.name == experiment] or same
    sigma = None if m.sigma is None else np.asarray(m.sigma, dtype=np.float64)
    if not same:
        return np.array(math.nan) if sigma is None else sigma, math.inf
    freedom = sum(size.freedom for _, size in same)
    # Whitened residuals are in units of sigma over the weight.
    relative = np.array([size.size / o.measurement.weight for o, size in same])
    sigmas = [o.measurement.sigma for o, _ in same]
    if sigma is not None and all(s is not None for s in sigmas):
        return sigma * root_mean_square(relative), freedom
    units = [1.0 if s is None else root_mean_square(s) for s in sigmas]
    return np.array(root_mean_square(relative * units)), freedom


def _bands(
    experiment: Experiment,
    probe: Problem,
    found: _Outputs,
    uncertainty: Uncertainty,
    known: _KnownNoise,
    level: float,
) -> list[OutputBand]:
    layout, bands = residual_layout(probe), []
    for j, m in enumerate(experiment.measurements):
        rows = layout.rows_of(0, j)
        samples = layout.sample[rows]
        size, freedom = _noise_for(experiment.name, m, known)
        noise = np.broadcast_to(size, experiment.times.shape)[samples]
        predicted = found.predicted[rows]
        if len(found.draws):
            ends = drawn_bands(predicted, found.draws[:, rows], noise, freedom, level)
        else:
            deviations = found.deviations[rows]
            means = normal_bands(predicted, deviations, noise, uncertainty.freedom, level)
            news = normal_bands(predicted, deviations, noise, freedom, level)
            ends = (*means[:2], *news[2:])
        measured = m.compared[samples]
        bands.append(
            OutputBand(
                experiment.name, m.name, m.unit, layout.time[rows], measured, predicted, *ends,
                np.array(noise),
            )
        )  # fmt: skip
    return bands


def _notes(
    problem: Problem, uncertainty: Uncertainty, bands: Sequence[OutputBand], failures: int
) -> Iterator[Finding]:
    if failures:
        yield finding(
            "simulations-failed",
            f"{failures} simulations of draws failed and are left out of the bands.",
        )
    linearised, variances = uncertainty.source == "linearised", np.diag(uncertainty.covariance)
    names = [q.name for q in problem.free]
    if linearised and (lost := ", ".join(compress(names, np.isnan(variances)))):
        yield finding(
            "band-missing",
            f"There is no standard error of {lost}: where an output depends on it, there is "
            "no band.",
        )
    if linearised and (held := ", ".join(compress(names, variances == 0.0))):
        yield finding("at-bound", f"On a bound: {held}. The bands hold for this value.")
    unknown = sorted({b.name for b in bands if not bool(np.isfinite(b.noise).any())})
    if unknown:
        yield finding(
            "band-missing",
            f"Nothing is known of the noise of {', '.join(unknown)}, which no experiment "
            "that was fitted has measured: there are bands of the mean only.",
        )


@dataclass(frozen=True)
class NoiseSize:
    """Noise level of one output of one experiment.

    `size` is the root mean square of the whitened residuals per degree of freedom, NaN if
    unknown; `freedom` are its degrees of freedom, infinite if it is given.
    """

    size: float
    freedom: float


def noise_sizes(
    problem: Problem, residuals: F64, leverages: F64, noise: NoiseFinding | None = None
) -> dict[tuple[str, str], NoiseSize]:
    """Return the noise level by experiment and output.

    `residuals` are the whitened ones of the data at the estimate and `leverages` the
    diagonal of the hat matrix, shape (m,). `noise` is the noise model if the noise is
    correlated in time; the fit has then absorbed more of it. If an output has too few
    samples, its sigma is used, else the residuals of all outputs.
    """
    whole, sizes = _size_of(residuals, leverages), {}
    for output in recorded_outputs(problem):
        rows, measurement = output.rows, output.measurement
        own = _size_of(residuals[rows], leverages[rows])
        if own.freedom < _ENOUGH:
            given = NoiseSize(measurement.weight, np.inf)
            own = whole if measurement.sigma is None else given
        elif noise is not None and noise.coloured and noise.sums is None:
            own = _modelled(noise.model, int(rows[0])) or own
        sizes[output.experiment.name, measurement.name] = own
    return sizes


def _modelled(model: NoiseModel, row: int) -> NoiseSize | None:
    """Return the noise level from the autoregression and waves of the output of a residual.

    The degrees of freedom are the number of independent samples equivalent to the
    correlated squares (Bartlett 1946).
    """
    for output, fit in zip(model.outputs, model.fits, strict=True):
        if not any(bool(np.any(s.rows == row)) for s in output.series):
            continue
        covariance = autocovariance(fit.partial, min(output.size, _LAGS))
        shares = covariance[1:] / covariance[0]
        count = output.size / (1.0 + 2.0 * float(shares @ shares))
        smooth = fit.deviation**2 * float(covariance[0])
        waves = sum(0.5 * w.amplitude**2 for w in model.waves if bool(np.any(w.rows == row)))
        return NoiseSize(float(np.sqrt(smooth + waves)), max(count, 1.0))
    return None


def _size_of(residuals: F64, leverages: F64) -> NoiseSize:
    freedom = float(residuals.size - np.sum(leverages))
    if freedom < 1.0:
        return NoiseSize(float("nan"), max(freedom, 0.0))
    return NoiseSize(float(np.sqrt(residuals @ residuals / freedom)), freedom)
