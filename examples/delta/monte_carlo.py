"""Coverage of the 95 % intervals of the delta study over noise draws.

Each draw puts fresh noise on the torques and runs the same estimation; a good interval
holds the true value in 95 % of the draws. With 7 parameters and 200 draws the pooled
share has a standard deviation of about 0.6 % (a single parameter's: 1.5 %).

    python examples/delta/monte_carlo.py [--draws 200] [--sigma 0.01]
    python examples/delta/monte_carlo.py --widths [--draws 8]

``--widths`` shows the bias where the smooth friction of the model is not that of the data.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import generate
import numpy as np
import pandas as pd

import fmident

HERE = Path(__file__).parent


DATA_SEED = 2
"""Of ``data/cycle.csv``."""

WIDTHS = ((1e-5, 1.0), (0.1, 1.0), (1.0, 1.0), (10.0, 1.0), (1e-5, 0.01), (1e-5, 0.001))
"""Of the data and of the model, rad/s and W; 1e-5 is a sign for every practical purpose."""

SLOWEST = 1e-9
"""Of a motor that is not at rest, rad/s."""

LOSSES = ("coulombTorque", "viscousFriction", "gearEfficiency")


def problem_with(base: fmident.Problem, torques: np.ndarray, sigma: float) -> fmident.Problem:
    """Return the problem with other measured torques, (n, 3), and their noise level."""
    experiment = base.experiments[0]
    measurements = tuple(
        dataclasses.replace(m, values=torques[:, i].copy(), sigma=np.full(len(torques), sigma))
        for i, m in enumerate(experiment.measurements)
    )
    changed = dataclasses.replace(experiment, measurements=measurements)
    return dataclasses.replace(base, experiments=(changed,))


def estimates(
    base: fmident.Problem, torques: np.ndarray, sigma: float, seed: int, draws: int
) -> Iterator[fmident.EstimationResult]:
    """Yield the result of each draw of noise on the torques, (n, 3)."""
    for draw in range(draws):
        noise = np.random.default_rng(seed + draw).normal(0.0, sigma, torques.shape)
        yield fmident.estimate(problem_with(base, torques + noise, sigma))


def biases(base: fmident.Problem, sigma: float, seed: int, draws: int) -> pd.DataFrame:
    """Return a row for each of `WIDTHS`: the mean errors of what belongs to the losses."""
    times, inputs = generate.motion()
    rows = []
    for real, smooth in WIDTHS:
        torques = generate.true_torques(times, inputs, width=real)
        problem = dataclasses.replace(base, start_values=generate.smoothing(smooth))
        tables = [r.parameters for r in estimates(problem, torques, sigma, seed, draws)]
        row = {"width of the data": f"{real:g}", "width of the model": f"{smooth:g}"}
        for name in LOSSES:
            true = generate.TRUTH[name]
            found = pd.DataFrame([table.loc[name] for table in tables])
            error = found["value"] - true
            inside = found["interval_95_low"].le(true) & found["interval_95_high"].ge(true)
            row[name] = (
                f"{100 * error.mean() / true:+.2f} %, "
                f"{(error / found['standard_error']).mean():+.1f} s.e., {inside.sum()} of {draws}"
            )
        print(" | ".join(row.values()), flush=True)
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> int:
    """Run the draws and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, help="default: 200, with --widths 8")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--sigma", type=float, default=generate.SIGMA, help="N.m")
    parser.add_argument("--widths", action="store_true", help="other widths in the data")
    args = parser.parse_args()
    draws = args.draws or (8 if args.widths else 200)

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "cycle.csv"
        generate.cycle(DATA_SEED, args.sigma).to_csv(data, index=False)
        text = (HERE / "problem.toml").read_text(encoding="utf-8")
        text = text.replace('"data/cycle.csv"', f'"{data}"')
        file = Path(folder) / "problem.toml"
        file.write_text(text, encoding="utf-8")
        base = fmident.load_problem(file)
    base = dataclasses.replace(
        base,
        evaluation=dataclasses.replace(base.evaluation, check=False),
    )

    if args.widths:
        shown = biases(base, args.sigma, args.seed, draws)
        if args.draws is None:
            speeds = np.abs(generate.GEAR_RATIO * generate.motion()[1][:, 3:6])
            slow = np.mean((speeds > SLOWEST) & (speeds < 3 * WIDTHS[0][1]))
            generate.record(
                "widths", shown, **{"slow samples": f"{100 * slow:.1f} % of the samples"}
            )
        return 0

    times, inputs = generate.motion()
    torques = generate.true_torques(times, inputs)
    names = [p.name for p in base.free]
    truth = np.array([generate.TRUTH[n] for n in names])
    inside = np.zeros(len(names), dtype=int)
    values, jacobians, simulations, failures = [], [], [], 0
    began = time.perf_counter()
    results = estimates(base, torques, args.sigma, args.seed, draws)
    for draw, result in enumerate(results, 1):
        if not result.converged():
            failures += 1
        table = result.parameters.loc[names]
        low, high = table["interval_95_low"].to_numpy(), table["interval_95_high"].to_numpy()
        inside += (low <= truth) & (truth <= high)
        values.append(table["value"].to_numpy())
        jacobians.append(result.jacobians)
        simulations.append(result.simulations)
        if draw % 20 == 0:
            print(f"  {draw} draws, {time.perf_counter() - began:.0f} s", file=sys.stderr)

    found = np.array(values)
    print(f"{draws} draws, sigma {args.sigma} N.m")
    print(f"{'parameter':<18}{'truth':>10}{'mean':>12}{'std':>11}{'coverage':>10}")
    for i, name in enumerate(names):
        print(
            f"{name:<18}{truth[i]:>10.4g}{found[:, i].mean():>12.5g}"
            f"{found[:, i].std(ddof=1):>11.3g}{inside[i] / draws:>10.1%}"
        )
    print(f"pooled coverage {inside.sum() / inside.size / draws:.2%}")
    print(f"Jacobians: at most {max(jacobians)}; runs that did not converge: {failures}")
    print(f"{(time.perf_counter() - began) / draws:.2f} s per estimation")
    if args.draws is None:
        shown = pd.DataFrame(
            {
                "parameter": names,
                "truth": [f"{v:.4g}" for v in truth],
                "mean": [f"{v:.5g}" for v in found.mean(axis=0)],
                "standard deviation": [f"{v:.3g}" for v in found.std(axis=0, ddof=1)],
                "coverage": [f"{100 * n / draws:.1f} %" for n in inside],
            }
        )
        pooled = 100 * inside.sum() / inside.size / draws
        effort = {
            "pooled coverage": f"{pooled:.1f} %",
            "Jacobians at most": f"at most {max(jacobians)} Jacobians",
            "simulations at most": f"at most {max(simulations)} simulations",
            "not converged": f"{draws - failures} of {draws} runs converged",
        }
        first = fmident.estimate(base)
        shown_first = pd.DataFrame(
            [
                [
                    n,
                    str(e["unit"]),
                    f"{e['initial']:.4g}",
                    f"{t:.4g}",
                    f"{e['value']:.4g}",
                    f"[{e['interval_95_low']:.4g}, {e['interval_95_high']:.4g}]",
                ]
                for (n, e), t in zip(first.parameters.loc[names].iterrows(), truth, strict=True)
            ],
            columns=["parameter", "unit", "start", "truth", "estimate", "95 % interval"],
        )
        generate.record(
            "cycle.csv", shown_first, **{"simulations": f"{first.simulations} simulations in all"}
        )
        generate.record("draws", shown, **effort)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
