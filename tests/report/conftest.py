"""A hand-made result of a two-output estimation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.data.experiment import Experiment, Measurement
from fmident.estimation.comparisons import Influence, InputSignal, OutputFit, OutputSensitivity
from fmident.estimation.contract import Iteration
from fmident.estimation.result import EstimationResult, ParameterEstimate
from fmident.findings import finding
from fmident.problem.model import EstimatorSettings, Parameter, Problem, ProblemFile
from fmident.report.estimate import ESTIMATE
from fmident.statistics.identifiability import Identifiability, WeakDirection


def _estimate(name: str, value: float, error: float, **changes: Any) -> ParameterEstimate:
    estimate = ParameterEstimate(
        name=name,
        unit="kg",
        description=f"Description of {name}",
        initial=1.0,
        value=value,
        standard_error=error,
        interval_95=(value - 1.96 * error, value + 1.96 * error),
        lower=0.0,
        upper=np.inf,
        at_bound=False,
        fixed=False,
    )
    return replace(estimate, **changes)


def _fit(name: str, samples: int) -> OutputFit:
    rng = np.random.default_rng(len(name) + ord(name[-2]))
    times = np.linspace(0.0, 62.278, samples)
    true = 8.0 * np.sin(0.7 * times) * np.sign(np.sin(0.1 * times))
    measured = true + 0.2 * rng.standard_normal(samples)
    measured[samples // 2 : samples // 2 + 60] = np.nan
    return OutputFit(
        experiment="cycle",
        name=name,
        unit="N.m",
        times=times,
        measured=measured,
        initial=1.3 * true + 0.5,
        fitted=true,
        sigma=np.full(samples, 0.2),
        rms_initial=2.0,
        rms=0.2,
        relative_error=0.0351,
    )


def section(result: EstimationResult, title: str, *, charts: bool = True) -> str:
    """Return a section of the page; empty if it is not there."""
    sections = {s.title: s for s in ESTIMATE.sections(result)}
    return sections[title].html(charts=charts) if title in sections else ""


@pytest.fixture(scope="session")
def make_result() -> Callable[..., EstimationResult]:
    """Return a factory: three free parameters and a fixed one; keywords replace fields."""

    def make(samples: int = 400, **changes: Any) -> EstimationResult:
        result = EstimationResult(
            status="converged",
            message="relative change of the cost below ftol",
            estimator="least-squares",
            estimates=(
                _estimate("mass", 95.10893, 0.10852),
                _estimate("friction", 203.5034, 1.146, unit="N.s/m"),
                _estimate("offset", -3.1648, 0.0444, unit="N", lower=-np.inf),
                _estimate("gravity", 9.81, np.nan, unit="m/s2", fixed=True),
            ),
            covariance=np.diag([0.10852, 1.146, 0.0444]) ** 2,
            correlation=np.array([[1.0, -0.4, 0.1], [-0.4, 1.0, 0.7], [0.1, 0.7, 1.0]]),
            identifiability=Identifiability(
                np.array([3.0, 1.0, 0.5]), 3, "all 3 parameters are identifiable"
            ),
            cost_initial=123456.0,
            cost_final=9375.25,
            simulations=29,
            jacobians=6,
            seconds=0.412,
            history=tuple(
                Iteration(k, np.array([1.0, 2.0, 3.0]) * k, 1e5 / (k + 1), 5 * k, k, 0.1 * k)
                for k in range(5)
            ),
            fits=(_fit("tau[1]", samples), _fit("tau[2]", samples)),
            findings=(finding("noise-not-given", "The noise was estimated from the residuals"),),
            fmu_name="Mechanisms.FMUs.DeltaInverse",
            fmu_guid="{1234}",
            fmu_tool="fmident embedded 0.1.0",
            fmu_path=Path("fmus/Mechanisms.FMUs.DeltaInverse.fmu"),
            settings={"solver": "ceres"},
        )
        return replace(result, **changes)

    return make


def with_everything(result: EstimationResult) -> EstimationResult:
    """Return a result with inputs, sensitivities and directions."""
    names = tuple(e.name for e in result.estimates if e.searched)
    rng = np.random.default_rng(11)
    inputs, sensitivities = [], []
    every = [*result.fits, *(result.validation.fits if result.validation is not None else ())]
    for experiment in dict.fromkeys(f.experiment for f in every):
        (times, *_) = (f.times for f in every if f.experiment == experiment)
        fitted = any(f.experiment == experiment for f in result.fits)
        for name, wave in (("u", np.sin(times)), ("valve", np.sign(np.sin(0.3 * times)))):
            inputs.append(
                InputSignal(experiment, name, "V", times, wave, held=name == "valve", fitted=fitted)
            )
    whole = [
        rng.standard_normal(len(names)) * np.sin(np.outer(f.times, np.arange(1.0, len(names) + 1)))
        for f in result.fits
    ]
    length = np.sqrt(sum(np.sum(w**2, axis=0) for w in whole))
    for fit, one in zip(result.fits, whole, strict=True):
        values = one / length
        shares = np.sum(values**2, axis=0)
        sensitivities.append(
            OutputSensitivity(
                fit.experiment,
                fit.name,
                dict(zip(names, map(Influence, shares, 0.01 / length), strict=True)),
                fit.times,
                values,
            )
        )
    size = np.sqrt(np.arange(1.0, len(names) + 1))
    shares = dict(zip(names, (size / np.linalg.norm(size)).tolist(), strict=True))
    judged = replace(
        result.identifiability or Identifiability(np.array([1.0]), 1, "identifiable"),
        weakest=(WeakDirection(0.0, False, shares), WeakDirection(0.02, True, shares)),
    )
    return replace(
        result, inputs=tuple(inputs), sensitivities=tuple(sensitivities), identifiability=judged
    )


@pytest.fixture
def problem() -> Problem:
    """Return the problem that goes with the result, with no file behind it."""
    times = np.linspace(0.0, 1.0, 5)
    measurement = Measurement("tau[1]", "tau[1]", "tau1", np.zeros(5))
    return Problem(
        fmu=Path("axis.fmu"),
        parameters=tuple(Parameter(n, 1.0) for n in ("mass", "friction", "offset")),
        experiments=(Experiment("cycle", times, {}, (measurement,)),),
        estimator=EstimatorSettings("least-squares"),
        file=ProblemFile(text='[estimator]\nname = "least-squares"\n'),
    )
