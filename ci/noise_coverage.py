#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""How often the default 95 % intervals hold the truth under noise that is not white.

Every draw is a fit of its own: Gauss-Newton from the truth with simulations and exact
sensitivities, whose residuals then tell the noise as those of ``fmident estimate`` do. Noise is
added to what the model says for the true parameters.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import signal

import fmident
from fmident.arrays import F64
from fmident.estimation.diagnostics.noise import coarse_sensors, noise_of, noisy_outputs
from fmident.estimation.diagnostics.notes import disturbances
from fmident.evaluation import Evaluator, InProcessExecutor
from fmident.findings import Finding
from fmident.problem.model import Problem
from fmident.statistics.distributions import student_quantile
from fmident.statistics.local_model import LocalModel
from fmident.statistics.noise.covariance import waves_found, whitened_finding
from fmident.statistics.noise.processes import NoiseModel, fit_noise, spanned

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples" / "delta"))

KINDS = (
    "white",
    "ar:0.5",
    "ar:0.9",
    "ar:0.98",
    "hum",
    "quantised",
    "heavy",
    "unequal",
    "gaps",
    "three",
)
"""Noise: white; autoregressions; a sine of 20 samples per period and white noise; rounding to three
standard deviations; Student's t with 3 degrees of freedom; outputs that differ 100 times; 0.9 with
a quarter of the samples missing in five gaps and at random; 0.9 in three experiments."""


_MOST_STEPS = 100


@dataclass(frozen=True)
class Model:
    """A problem whose data are what it says for the truth, and the noise of each output."""

    problem: Problem
    truth: Mapping[str, float]
    sigma: tuple[float, ...]


def delta() -> Model:
    """Return the delta robot's inverse dynamics, 625 samples of three torques."""
    import generate

    times, inputs = generate.motion()
    chosen = slice(None, None, 10)
    frame = pd.DataFrame(inputs[chosen], columns=list(generate.INPUTS))
    frame.insert(0, "time", times[chosen])
    model = "Mechanisms.FMUs.DeltaInverse"
    return made(model, frame, generate.INPUTS, generate.OUTPUTS, generate.TRUTH, (0.01,) * 3)


def mass_spring_damper() -> Model:
    """Return an oscillator driven by a chirp, 500 samples of position and speed."""
    times = np.arange(500) * 0.01
    frame = pd.DataFrame({"time": times, "F": 10.0 * signal.chirp(times, 0.2, 5.0, 4.0)})
    truth = {"m": 3.0, "k": 400.0, "d": 5.0}
    model = "Mechanisms.FMUs.MassSpringDamper"
    return made(model, frame, ("F",), ("x", "v"), truth, (1e-3, 1e-2), offset="x")


def lugre() -> Model:
    """Return the slide with LuGre friction that breaks away, 650 samples."""
    times = np.arange(0.0, 0.65, 1e-3)
    force = (0.6 + 2.0 * times) * np.sin(20.0 * times)
    truth = {
        "sigma0": 1e5,
        "sigma1": 316.0,
        "viscousFriction": 0.4,
        "coulombForce": 1.0,
        "staticForce": 1.5,
        "stribeckSpeed": 1e-3,
    }
    frame = pd.DataFrame({"time": times, "u": force})
    model = "Mechanisms.FMUs.SlideWithLuGreFriction"
    return made(model, frame, ("u",), ("x", "frictionForce"), truth, (1e-7, 1e-3), tolerance=1e-9)


def axis() -> Model:
    """Return the positioning axis in closed loop, 1000 samples of force and position."""
    times = np.arange(1000) * 5e-3
    reference = 0.05 * np.sin(2.0 * np.pi * 0.5 * times) + 0.02 * np.sin(2.0 * np.pi * 1.7 * times)
    frame = pd.DataFrame({"time": times, "q_ref": reference - reference[0]})
    truth = {"m": 95.1, "viscousFriction": 203.5, "coulombForce": 20.4, "offset": -3.16}
    model = "Mechanisms.FMUs.PositioningAxisClosedLoop"
    return made(model, frame, ("q_ref",), ("force", "q"), truth, (1.0, 1e-5), tolerance=1e-7)


MODELS: dict[str, Callable[[], Model]] = {
    "delta": delta,
    "mass-spring-damper": mass_spring_damper,
    "lugre": lugre,
    "positioning axis": axis,
}


def made(
    model: str,
    frame: pd.DataFrame,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    truth: Mapping[str, float],
    sigma: tuple[float, ...],
    *,
    offset: str = "",
    tolerance: float = 1e-8,
) -> Model:
    """Return a problem whose data are its own outputs for the truth."""
    for name in outputs:
        frame[name] = 0.0
    parameters = {name: {"initial": value} for name, value in truth.items()}
    columns: dict[str, dict[str, object]] = {
        o: {"column": o, "weight": 1.0 / s} for o, s in zip(outputs, sigma, strict=True)
    }
    if offset:
        columns[offset]["offset"] = "zero"
        parameters["zero"] = {"initial": 0.0, "scale": 1.0}
        truth = {**truth, "zero": 0.0}
    problem = Problem.from_frames(
        model,
        frame,
        time="time",
        parameters=parameters,
        inputs={name: name for name in inputs},
        outputs=columns,
        evaluation={"tolerance": tolerance, "check": False, "executor": "inline"},
    )
    return Model(problem, truth, sigma)


def with_missing(problem: Problem, rng: np.random.Generator) -> Problem:
    """Return the problem with five gaps and a tenth of the other samples missing."""
    (experiment,) = problem.experiments
    size = experiment.times.size
    missing = rng.random(size) < 0.1
    for start in np.linspace(0.1, 0.85, 5):
        missing[int(start * size) : int(start * size) + size // 30] = True
    measurements = tuple(
        dataclasses.replace(m, values=np.where(missing, np.nan, m.values))
        for m in experiment.measurements
    )
    changed = dataclasses.replace(experiment, measurements=measurements)
    return dataclasses.replace(problem, experiments=(changed,))


def in_three(problem: Problem) -> Problem:
    """Return the problem with its experiment run three times."""
    (experiment,) = problem.experiments
    names = ("first", "second", "third")
    return dataclasses.replace(
        problem, experiments=tuple(dataclasses.replace(experiment, name=n) for n in names)
    )


def noise_of_kind(kind: str, rng: np.random.Generator, size: int, clean: F64) -> F64:
    """Return noise of standard deviation 1 on a signal in units of its standard deviation."""
    if kind.startswith("ar:") or kind in ("gaps", "three"):
        correlation = float(kind[3:]) if kind.startswith("ar:") else 0.9
        innovations = rng.standard_normal(size) * np.sqrt(1.0 - correlation**2)
        innovations[0] = rng.standard_normal()
        found: F64 = signal.lfilter([1.0], [1.0, -correlation], innovations)
        return found
    white = rng.standard_normal(size)
    if kind == "hum":
        phase = rng.uniform(0.0, 2.0 * np.pi)
        return np.sqrt(0.5) * white + np.sin(2.0 * np.pi * 0.05 * np.arange(size) + phase)
    if kind == "quantised":
        step, shift = 3.0, rng.uniform(0.0, 3.0)
        measured = clean + 0.3 * white
        return np.asarray(step * np.round((measured + shift) / step) - shift - clean)
    if kind == "heavy":
        return np.asarray(rng.standard_t(3.0, size) / np.sqrt(3.0))
    return white


@dataclass
class Count:
    """What the draws of one study say."""

    names: list[str]
    held: F64
    white: F64
    estimates: list[F64]
    errors: list[F64]
    counted: int = 0
    noted: int = 0
    failed: int = 0


def study(name: str, kind: str, draws: int, seed: int, model: str) -> Count:
    """Return how often intervals hold the truth.

    Parameters
    ----------
    name
        Of the model.
    kind
        Of the noise.
    draws, seed
        Of the noise.
    model
        ``"default"``: ordinary least squares; ``"ar"``: with the noise model; ``"white"``: with
        noise of each output's own size.
    """
    rng = np.random.default_rng(seed)
    case = MODELS[name]()
    problem = case.problem
    if kind == "gaps":
        problem = with_missing(problem, rng)
    if kind == "three":
        problem = in_three(problem)
    names = [q.name for q in problem.free]
    truth = np.array([case.truth[n] for n in names])
    sizes = [m.rows.size for e in problem.experiments for m in e.measurements]
    count = Count(names, np.zeros(truth.size), np.zeros(truth.size), [], [])
    with (
        fmident.open_fmu(problem.fmu) as fmu,
        Evaluator(problem, InProcessExecutor(problem, fmu)) as evaluator,
    ):
        predicted = -evaluator.residuals(truth)  # the data are zeros
        clean = np.split(predicted, np.cumsum(sizes)[:-1])
        for _ in range(draws):
            parts = []
            for k, y in enumerate(clean):
                scale = 100.0 if kind == "unequal" and k % len(case.sigma) == 0 else 1.0
                parts.append(scale * _there(problem, k, kind, rng, y))
            found = fitted(problem, evaluator, truth, predicted + np.concatenate(parts), model)
            if found is None:
                count.failed += 1
                continue
            _count(count, truth, *found)
    return count


def _there(problem: Problem, k: int, kind: str, rng: np.random.Generator, y: F64) -> F64:
    """Return noise of the samples that are not missing of one output."""
    each = [(e, m) for e in problem.experiments for m in e.measurements]
    experiment, measurement = each[k]
    whole = np.zeros(experiment.times.size)
    whole[measurement.rows] = y
    return noise_of_kind(kind, rng, whole.size, whole)[measurement.rows]


def _count(count: Count, truth: F64, p: F64, found: LocalModel, notes: Sequence[Finding]) -> None:
    low, high = found.intervals.T
    count.held += (low <= truth) & (truth <= high)
    white = found.white_errors * student_quantile(0.975, found.degrees_of_freedom)
    count.white += np.abs(p - truth) <= white
    count.estimates.append(p)
    count.errors.append(found.standard_errors)
    count.counted += found.coloured is not None
    count.noted += bool(notes)


def with_data(problem: Problem, data: F64) -> Problem:
    """Return the problem with measured values.

    Parameters
    ----------
    problem
        With zeros.
    data
        Whitened, shape (m,).
    """
    rest, experiments = data, []
    for experiment in problem.experiments:
        measurements = []
        for m in experiment.measurements:
            values = np.full(experiment.times.size, np.nan)
            values[m.rows], rest = rest[: m.rows.size] / m.weight, rest[m.rows.size :]
            measurements.append(dataclasses.replace(m, values=values))
        experiments.append(dataclasses.replace(experiment, measurements=tuple(measurements)))
    return dataclasses.replace(problem, experiments=tuple(experiments))


def fitted(
    problem: Problem, evaluator: Evaluator, start: F64, data: F64, model: str
) -> tuple[F64, LocalModel, list[Finding]] | None:
    """Return the estimate, its statistics, and what is said of tones and of steps.

    Parameters
    ----------
    problem, evaluator
        With zeros for data.
    start
        Of the search, shape (n,).
    data
        Whitened, shape (m,).
    model
        As of :func:`study`.
    """
    p = start.copy()
    measured = with_data(problem, data)
    noise: NoiseModel | None = None
    for _ in range(1 if model == "default" else 6):
        before = p
        moved = _search(evaluator, p, data, noise)
        if moved is None:
            return None
        p, residuals, jacobian = moved
        if model == "default" or (noise is not None and np.allclose(p, before, rtol=1e-5)):
            break
        noise = noise_model_of(measured, residuals, jacobian, model, noise)
    if noise is None:
        found = noise_of(measured, residuals, jacobian)
    else:
        residuals, jacobian = noise.whiten(residuals), noise.whiten(jacobian)
        found = whitened_finding(noise, residuals, jacobian)
    names = [q.name for q in problem.free]
    statistics = LocalModel(names, p, jacobian, residuals, sigma_known=False, coloured=found)
    return p, statistics, list(disturbances(measured, residuals, found))


def noise_model_of(
    problem: Problem, residuals: F64, jacobian: F64, model: str, before: NoiseModel | None
) -> NoiseModel:
    """Return the noise model that ``noise = { model = ... }`` fits."""
    outputs = noisy_outputs(problem)
    if model == "white":
        return fit_noise(outputs, residuals, jacobian, 0)
    orders = "auto" if before is None else [f.order for f in before.fits]
    steps = coarse_sensors(problem, residuals)
    waves = waves_found(outputs, residuals, spanned(jacobian), steps)
    return fit_noise(outputs, residuals, jacobian, orders, waves=waves)


def _search(
    evaluator: Evaluator, p: F64, data: F64, noise: NoiseModel | None
) -> tuple[F64, F64, F64] | None:
    """Return estimate, residuals and Jacobian by Gauss-Newton steps of adapted length.

    Large residuals bend the cost otherwise than their derivatives say: whole steps go to and fro
    then.
    """

    def whitened(values: F64) -> F64:
        return values if noise is None else noise.whiten(values)

    residuals = data + evaluator.residuals(p)
    cost, size = float(np.sum(whitened(residuals) ** 2)), 1.0
    for _ in range(_MOST_STEPS):
        jacobian = evaluator.jacobian(p)
        filtered = whitened(jacobian)
        norms = np.linalg.norm(filtered, axis=0)
        step = -np.linalg.lstsq(filtered / norms, whitened(residuals))[0] / norms
        # The squares that a whole step takes, if it were all linear.
        promised = float(np.sum((filtered @ step) ** 2))
        if promised < 1e-6 * cost / data.size:
            return p, residuals, jacobian
        while True:
            trial = data + evaluator.residuals(p + size * step)
            new = float(np.sum(whitened(trial) ** 2))
            if np.isfinite(new) and new <= cost * (1.0 + 1e-12):
                break
            size *= 0.5
            if size < 1e-4:
                return p, residuals, jacobian
        kept = (cost - new) / (promised * size * (2.0 - size))
        p, residuals, cost = p + size * step, trial, new
        size = 0.5 * size if kept < 0.25 else min(1.0, 2.0 * size) if kept > 0.75 else size
    return None


def main(kinds: Sequence[str], models: Sequence[str], draws: int, noise_model: str) -> int:
    """Print the table; return how many shares lie outside of 93 to 97 %, as far as draws tell."""
    wrong = 0
    print("model, noise: coverage of each parameter (with intervals for white noise)", flush=True)
    for name in models:
        for kind in kinds:
            found = study(name, kind, draws, 5, noise_model)
            done = draws - found.failed
            shares, white = found.held / done, found.white / done
            spread = np.std(found.estimates, axis=0)
            ratio = np.sqrt(np.mean(np.square(found.errors), axis=0)) / spread
            slack = 0.02 + 2.0 * np.sqrt(0.95 * 0.05 / draws)
            bad = np.abs(shares - 0.95) > slack
            wrong += int(bad.sum())
            each = zip(found.names, shares, white, bad, strict=True)
            cells = "  ".join(
                f"{n} {100 * s:.1f}{'!' if b else ''} ({100 * w:.0f})" for n, s, w, b in each
            )
            print(f"{name}, {kind}: {cells}")
            print(
                f"    noise counted in {found.counted} of {done} draws, note in {found.noted} of"
                f" {done} draws, {found.failed} failed"
            )
            print("    standard errors over deviations: " + " ".join(f"{r:.2f}" for r in ratio))
            print("    deviations: " + " ".join(f"{s:.3g}" for s in spread), flush=True)
    return wrong
