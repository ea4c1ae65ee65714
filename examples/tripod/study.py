"""Run the tripod study: smoothing 0 to 20 lines, and the hand-over to least squares.

Each run is the problem file with another smoothing, seed and population. Runs that stand in the
table already are not repeated.

    python examples/tripod/study.py [--seeds 3] [--figures]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import fmident

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 - the script beside this one

SMOOTHING = range(21)
POPULATIONS, FEW = (10, 15), (0, 1, 2, 3)
"""The convergence study repeats a few smoothings with other numbers of vectors (Fig. 12)."""
PAPER = 0.161
"""Mean parameter error of the paper without smoothing."""


def problem(smoothing: int, seed: int, n: int) -> fmident.Problem:
    """Return the problem with `n` initial vectors, survivors and children."""
    overrides: dict[str, object] = {
        "evaluation.check": False,
        "evaluation.executor": "processes",
        "stages.0.cost.smoothing": smoothing,
        "stages.0.estimator.seed": seed,
    }
    for option in ("initial_population", "survivors", "children"):
        overrides[f"stages.0.estimator.{option}"] = n
    return fmident.load_problem(
        HERE / "problem.toml", overrides=overrides, report=lambda found: None
    )


def mean_error(values: dict[str, float]) -> float:
    """Return the mean relative error of the parameters (eq. 27, with magnitudes)."""
    return float(np.mean([abs(values[p] / v - 1.0) for p, v in generate.TRUTH.items()]))


def run(smoothing: int, seed: int, n: int) -> dict[str, object]:
    """Return one row of the table."""
    result = fmident.estimate(problem(smoothing, seed, n), report=lambda found: None)
    first, last = result.stages
    return {
        "n": n,
        "smoothing": smoothing,
        "seed": seed,
        "error": mean_error(dict(first.parameters)),
        "simulations": first.simulations,
        "error after least squares": mean_error(dict(last.parameters)),
        "simulations of least squares": last.simulations,
    }


def cases(seeds: int) -> list[tuple[int, int, int]]:
    """Return smoothing, seed and n of all runs."""
    found = [(s, seed, 12) for seed in range(1, seeds + 1) for s in SMOOTHING]
    return found + [(s, seed, n) for seed in range(1, seeds + 1) for n in POPULATIONS for s in FEW]


def run_all(file: Path, seeds: int) -> pd.DataFrame:
    """Run what is missing in the table, and keep it after each run."""
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    keys = ("smoothing", "seed", "n")
    done = set(zip(*(table[c] for c in keys), strict=True)) if len(table) else set()
    for case in cases(seeds):
        if case in done:
            continue
        row = run(*case)
        table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
        table.to_csv(file, index=False)
        print(
            f"n = {case[2]}, smoothing {case[0]}, seed {case[1]}: mean error "
            f"{100 * float(str(row['error'])):.3g} % after {row['simulations']} simulations, "
            f"{100 * float(str(row['error after least squares'])):.2g} % after least squares",
            flush=True,
        )
    return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return per n and smoothing the median error of both stages, in percent."""
    groups = table.groupby(["n", "smoothing"])
    return pd.DataFrame(
        {
            "runs": groups.size(),
            "median error [%]": 100 * groups["error"].median(),
            "after least squares [%]": 100 * groups["error after least squares"].median(),
            "simulations": groups["simulations"].median(),
        }
    ).reset_index()


def verdict(table: pd.DataFrame) -> str:
    """Return the figures of the paper's section 3.2 beside ours."""
    main = table[table["n"] == 12]
    bare = 100 * main.loc[main["smoothing"] == 0, "error"].median()
    smoothed = 100 * main.loc[main["smoothing"] > 0, "error"].median()
    handed = table["error after least squares"] < 1e-3
    return (
        f"without smoothing: {bare:.3g} % (paper {100 * PAPER:g} %)\n"
        f"with smoothing, median: {smoothed:.3g} %, {bare / smoothed:.2g} times lower (paper 3.2)\n"
        f"below 0.1 % after least squares: {handed.sum()} of {len(handed)} runs"
    )


def draw(table: pd.DataFrame, folder: Path) -> None:
    """Write the pictures of the README."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(exist_ok=True)
    main = table[table["n"] == 12]
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axis.semilogy(main["smoothing"], 100 * main["error"], ".", color="0.6", label="runs")
    median = 100 * main.groupby("smoothing")["error"].median()
    axis.semilogy(median.index, median, "o-", label="median")
    axis.axhline(100 * PAPER, color="C1", ls="--", label="paper, no smoothing")
    axis.set(xlabel="smoothing [lines]", ylabel="mean parameter error [%]", xticks=range(0, 21, 2))
    axis.legend()
    figure.savefig(folder / "smoothing.png", dpi=110)


def main() -> None:
    """Run the study and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--file", type=Path, default=HERE / "results" / "study.csv")
    parser.add_argument("--figures", action="store_true", help="draw figures/, too")
    args = parser.parse_args()
    if not (HERE / "data" / "cycle.csv").exists():
        parser.error("no data: run 'python examples/tripod/generate.py'")
    args.file.parent.mkdir(exist_ok=True)
    table = run_all(args.file, args.seeds)
    print(summary(table).to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    print(verdict(table))
    if args.figures:
        draw(table, HERE / "figures")


if __name__ == "__main__":
    main()
