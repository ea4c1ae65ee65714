"""Run the tripod study: smoothing 0 to 20 lines, and the hand-over to least squares.

Each run is the problem file with another smoothing, seed and population. Runs that are in the
table already are not repeated.

    python examples/tripod/study.py [--seeds 5] [--runs N] [--figures]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
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
FIRST_SEED = 11
"""Smaller ones, and 100 to 300, were used while motion, controller and generations were chosen."""
PAPER, RATIO = 0.161, 3.2
"""Mean parameter error of the paper without smoothing; how much lower its median is with it."""
HANDED, HANDED_RUNS = "error after least squares", "simulations of least squares"
Row = dict[str, float]


def problem(smoothing: int, seed: int, n: int) -> fmident.Problem:
    """Return the problem with `n` initial vectors, survivors and children."""
    overrides: dict[str, object] = {
        "evaluation.check": False,
        "evaluation.executor": "inline",  # a batch of 12 is too small to be shared
        "stages.0.cost.smoothing": smoothing,
        "stages.0.estimator.seed": seed,
    }
    for option in ("initial_population", "survivors", "children"):
        overrides[f"stages.0.estimator.{option}"] = n
    return fmident.load_problem(
        HERE / "problem.toml", overrides=overrides, report=lambda found: None
    )


def errors(values: Mapping[str, float]) -> dict[str, float]:
    """Return the relative errors of the parameters."""
    return {p: values[p] / v - 1.0 for p, v in generate.TRUTH.items()}


def mean_error(values: Mapping[str, float]) -> float:
    """Return the mean relative error of the parameters (eq. 27, with magnitudes)."""
    return float(np.mean(np.abs(list(errors(values).values()))))


def run(smoothing: int, seed: int, n: int) -> Row:
    """Return one row of the table: genetic search, then least squares."""
    result = fmident.estimate(problem(smoothing, seed, n), report=lambda found: None)
    first, last = result.stages
    return {
        "n": n,
        "smoothing": smoothing,
        "seed": seed,
        "simulations": first.simulations,
        "error": mean_error(first.parameters),
        **{f"error of {p}": error for p, error in errors(first.parameters).items()},
        HANDED: mean_error(last.parameters),
        HANDED_RUNS: last.simulations,
    }


def cases(seeds: int) -> list[tuple[int, int, int]]:
    """Return smoothing, seed and n of all runs, one seed after the other."""
    one = [(s, 12) for s in SMOOTHING] + [(s, n) for n in POPULATIONS for s in FEW]
    return [(s, FIRST_SEED + seed, n) for seed in range(seeds) for s, n in one]


def run_all(file: Path, seeds: int, limit: int | None) -> pd.DataFrame:
    """Run what is missing in the table, at most `limit` cases, and keep it after each run.

    As many runs as there are processors go on at a time.
    """
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    keys = ("smoothing", "seed", "n")
    done = set(zip(*(table[c] for c in keys), strict=True)) if len(table) else set()
    missing = [case for case in cases(seeds) if case not in done][:limit]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for row in pool.map(run, *zip(*missing, strict=True)) if missing else ():
            table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
            table.to_csv(file, index=False)
            print(
                f"n = {row['n']}, smoothing {row['smoothing']}, seed {row['seed']}: mean error "
                f"{100 * row['error']:.3g} % after {row['simulations']} simulations",
                flush=True,
            )
    return table


Table = dict[str, list[str] | list[list[str]]]


def tables(runs: pd.DataFrame) -> dict[str, Table]:
    """Return the tables of the README; errors are in percent."""
    main = runs[runs["n"] == 12]
    bare, smoothed = main[main["smoothing"] == 0], main[main["smoothing"] > 0]
    alone, median = 100 * bare["error"], 100 * smoothed["error"].median()
    ratios = bare.set_index("seed")["error"] / smoothed.groupby("seed")["error"].median()
    ratios = ratios.dropna()
    handed, further = 100 * runs[HANDED], runs[HANDED_RUNS]
    paper = [
        [
            "without smoothing",
            f"{100 * PAPER:g} % (one run)",
            f"mean {alone.mean():.1f} %, median {alone.median():.1f} %; {len(alone)} seeds, "
            f"{alone.min():.1f} to {alone.max():.1f} %; "
            f"{(alone < 100 * PAPER).sum()} of them below {100 * PAPER:g} %",
        ],
        [
            "smoothing 1 to 20, median",
            f"{RATIO:g} times lower",
            f"{median:.1f} % ({len(smoothed)} runs): {alone.mean() / median:.2g} times below the "
            f"mean, {alone.median() / median:.2g} times below the median",
        ],
        [
            "the same for each seed by itself",
            "",
            f"{ratios.min():.2g} to {ratios.max():.2g} times lower, median {ratios.median():.2g}; "
            f"{(ratios >= RATIO).sum()} of {len(ratios)} seeds reach {RATIO:g}",
        ],
        [
            "handed on to least squares",
            "",
            f"at most {handed.max():.1g} % in {len(handed)} searches, after {further.median():.0f} "
            f"further simulations in the median, at most {further.max():.0f}",
        ],
    ]
    groups = 100 * runs.pivot_table("error", "n", "smoothing", "median")
    counts = runs.groupby("n")["simulations"].median()
    populations = [
        [str(n), f"{counts[n]:.0f}", *(f"{row.get(s, np.nan):.1f} %" for s in FEW)]
        for n, row in groups.iterrows()
    ]
    columns = [f"error of {p}" for p in generate.TRUTH]
    medians = [100 * part[columns].abs().median() for part in (bare, smoothed)]
    errors = [
        [f"`{p}`", *(f"{part[f'error of {p}']:.1f} %" for part in medians)] for p in generate.TRUTH
    ]
    return {
        "paper": {"header": ["", "paper", "here"], "rows": paper},
        "populations": {
            "header": ["n", "simulations", *(f"smoothing {s}" for s in FEW)],
            "rows": populations,
        },
        "parameters": {"header": ["", "without smoothing", "with smoothing"], "rows": errors},
    }


def draw(table: pd.DataFrame, file: Path) -> None:
    """Write the picture of the README."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    main = table[table["n"] == 12]
    axes[0].semilogy(main["smoothing"], 100 * main["error"], ".", color="0.7", label="runs")
    median = 100 * main.groupby("smoothing")["error"].median()
    axes[0].semilogy(median.index, median, "o-", label="median")
    axes[0].axhline(100 * PAPER, color="C1", ls="--", label="paper, no smoothing")
    axes[0].set(xlabel="smoothing [lines]", ylabel="mean parameter error [%]")
    axes[0].set_xticks(range(0, 21, 2))
    axes[0].legend()
    for smoothing, part in table[table["smoothing"].isin(FEW)].groupby("smoothing"):
        groups = part.groupby("n")
        label = f"smoothing {smoothing}"
        error = 100 * groups["error"].median()
        axes[1].semilogy(groups["simulations"].median(), error, "o-", label=label)
    axes[1].set(xlabel="simulations (n = 10, 12, 15)")
    axes[1].legend()
    figure.savefig(file, dpi=110)


def main() -> None:
    """Run the study and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, help="at most so many further runs; all if not given")
    parser.add_argument(
        "--figures",
        action="store_true",
        help="write figures.json, of which the README is made, and figures/, too",
    )
    args = parser.parse_args()
    if not (HERE / "data" / "cycle.csv").exists():
        parser.error("no data: run 'python examples/tripod/generate.py'")
    file = HERE / "results" / "study.csv"
    file.parent.mkdir(exist_ok=True)
    table = run_all(file, args.seeds, args.runs)
    found = tables(table)
    for name, made in found.items():
        print(f"\n{name}")
        for line in (made["header"], *made["rows"]):
            print(" | ".join(line))
    if args.figures:
        content = json.dumps({"tables": found}, indent=1) + "\n"
        (HERE / "figures.json").write_text(content, encoding="utf-8")
        draw(table, HERE / "figures" / "study.png")


if __name__ == "__main__":
    main()
