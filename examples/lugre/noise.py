"""What the intervals of the two-step identification are worth when the data are noisy.

    python examples/lugre/noise.py --draws 200      # some minutes; results/two-step-noise.csv

The steady-state points and the published run get the noise of a good encoder and a good load cell.
The second step holds the four static parameters that the first has found, so that the intervals of
``sigma0`` and ``sigma1`` must count what those do not know.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import fmident

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 - the script beside this one

import study  # noqa: E402

NAMES = tuple(generate.TRUTH)
SIGMA = {"x": 1e-8, "frictionForce": 1e-3, "f": 1e-3}
"""Noise of the position, m, and of both friction forces, N."""

QUICK: dict[str, object] = {
    "evaluation.check": False,
    "evaluation.executor": "inline",
    "evaluation.tolerance": 1e-9,  # far below the noise
}


def noisy(problem: fmident.Problem, rng: np.random.Generator) -> fmident.Problem:
    """Return the problem with noise of known size on all measurements."""
    experiments = []
    for e in problem.experiments:
        measurements = []
        for m in e.measurements:
            sigma = SIGMA[m.variable]
            values = m.values + sigma * rng.normal(size=m.values.size)
            measurements.append(
                dataclasses.replace(m, values=values, sigma=np.array(sigma), weight=1.0)
            )
        experiments.append(dataclasses.replace(e, measurements=tuple(measurements)))
    return dataclasses.replace(problem, experiments=tuple(experiments))


def two_steps(rng: np.random.Generator, folder: Path = HERE) -> fmident.Problem:
    """Return ``two-step.toml`` with a draw of the noise in both steps."""
    problem = fmident.load_problem(
        folder / "two-step.toml", overrides=QUICK, report=lambda found: None
    )
    static, dynamic = problem.stages
    problem = noisy(problem, rng)
    own = dataclasses.replace(dynamic.problem, experiments=problem.experiments)
    stages = (
        dataclasses.replace(static, problem=noisy(static.problem, rng)),
        dataclasses.replace(dynamic, problem=own),
    )
    return dataclasses.replace(problem, stages=stages)


def one_draw(seed: int, folder: Path = HERE) -> pd.DataFrame:
    """Return error, standard errors and whether the interval holds the truth, by parameter."""
    problem = two_steps(np.random.default_rng(seed), folder)
    result = fmident.estimate(problem, report=lambda found: None)
    counts = result.stages[-1].uncertainty
    alone = {} if counts is None else counts.conditional_errors
    truth = pd.Series(generate.TRUTH)
    table = result.parameters.loc[list(NAMES)]
    conditional = pd.Series({n: alone.get(n, np.nan) for n in NAMES})
    error = table["value"] - truth
    quantile = stats.norm.ppf(0.975)
    return pd.DataFrame(
        {
            "error": error / truth,
            "standard_error": table["standard_error"] / truth,
            "conditional": conditional / truth,
            "covered": (table["interval_95_low"] <= truth) & (truth <= table["interval_95_high"]),
            "covered_conditional": (error.abs() <= quantile * conditional).where(
                conditional.notna()
            ),
        }
    )


def summary(draws: list[pd.DataFrame]) -> pd.DataFrame:
    """Return per parameter, %: scatter of the estimates, mean standard errors, coverage."""
    found = pd.concat(draws, keys=range(len(draws)), names=["draw", "parameter"])
    groups = found.groupby("parameter", sort=False)
    return pd.DataFrame(
        {
            "scatter, %": 100 * groups["error"].std(),
            "standard error, %": 100 * groups["standard_error"].mean(),
            "conditional, %": 100 * groups["conditional"].mean(),
            "coverage, %": 100 * groups["covered"].mean(),
            "conditional coverage, %": 100
            * groups["covered_conditional"].apply(lambda c: c.astype(float).mean()),
            "draws": groups.size(),
        }
    )


def main() -> None:
    """Draw the noise, estimate, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    args = parser.parse_args()
    draws: list[pd.DataFrame] = []
    args.results.mkdir(exist_ok=True)
    for seed in range(args.draws):
        draws.append(one_draw(seed))
        table = summary(draws)
        table.to_csv(args.results / "two-step-noise.csv", float_format="%.4g")
    print(table.to_string(float_format="%.3g"))
    header = [c for c in table.columns if c != "draws"]
    rows = [
        [symbol, *("-" if np.isnan(v) else f"{v:.3g}" for v in table.loc[name, header])]
        for symbol, name in zip(study.SYMBOLS, NAMES, strict=True)
    ]
    if args.draws == parser.get_default("draws"):
        study.record(
            {"noise": (["", *header], rows)}, {"draws of the noise": f"{args.draws} draws"}
        )


if __name__ == "__main__":
    main()
