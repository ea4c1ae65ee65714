"""Run the tripod study: smoothing 0 to 20 lines, and the hand-over to least squares.

Each run is the problem file with another smoothing, seed and population. Runs that are in the
table already are not repeated. With ``--fixed-step`` the genetic search runs on fixed_step.c,
for statistics over many seeds.

    python examples/tripod/study.py [--seeds 5] [--runs N] [--fixed-step] [--figures]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import fmident
from fmident.estimation.run import run_estimation
from fmident.evaluation import Evaluator
from fmident.problem.stages import continued
from fmident_estimators.special_genetic import SpecialGenetic

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import fixed_step  # noqa: E402 - the scripts beside this one
import generate  # noqa: E402

SMOOTHING = range(21)
POPULATIONS, FEW = (10, 15), (0, 1, 2, 3)
"""The convergence study repeats a few smoothings with other numbers of vectors (Fig. 12)."""
FIRST_SEED = 11
"""Smaller ones, and 100 to 300, were used while motion, controller and generations were chosen."""
PAPER, RATIO = 0.161, 3.2
"""Mean parameter error of the paper without smoothing; how much lower its median is with it."""
AGREEMENT = 5e-3
"""N.m, between fixed_step.c and the FMU."""
HANDED, HANDED_RUNS = "error after least squares", "simulations of least squares"


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


Row = dict[str, object]


def found_by_search(smoothing: int, seed: int, n: int, values: dict[str, float]) -> Row:
    """Return what both kinds of run say of the genetic search."""
    errors = {f"error of {p}": values[p] / v - 1.0 for p, v in generate.TRUTH.items()}
    return {"n": n, "smoothing": smoothing, "seed": seed, "error": mean_error(values)} | errors


def run_fixed_step(smoothing: int, seed: int, n: int) -> Row:
    """Return one row of the table of the genetic search on fixed_step.c."""
    search = problem(smoothing, seed, n).stages[0].problem
    with Evaluator(search, fixed_step.FixedStep(search)) as evaluator:
        result = run_estimation(search, evaluator, SpecialGenetic(), intervals=False)
    values = {str(name): float(v) for name, v in result.parameters["value"].items()}
    return found_by_search(smoothing, seed, n, values) | {"simulations": result.simulations}


def run(smoothing: int, seed: int, n: int) -> Row:
    """Return one row of the table: search on the FMU, then least squares."""
    result = fmident.estimate(problem(smoothing, seed, n), report=lambda found: None)
    first, last = result.stages
    return found_by_search(smoothing, seed, n, dict(first.parameters)) | {
        "simulations": first.simulations,
        HANDED: mean_error(dict(last.parameters)),
        HANDED_RUNS: last.simulations,
    }


def hand_over(table: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Finish by least squares on the FMU what searches on fixed_step.c have found."""
    for column in (HANDED, HANDED_RUNS):
        if column not in table:
            table[column] = np.nan
    for i in table.index[table[HANDED].isna()]:
        row = table.loc[i]
        found = {p: float(v * (1.0 + row[f"error of {p}"])) for p, v in generate.TRUTH.items()}
        stage = problem(int(row["smoothing"]), int(row["seed"]), int(row["n"])).stages[1]
        local, _ = continued(stage, found)
        result = fmident.estimate(local, report=lambda found: None)
        values = {str(name): float(v) for name, v in result.parameters["value"].items()}
        table.loc[i, [HANDED, HANDED_RUNS]] = mean_error(values), result.simulations
        table.to_csv(file, index=False)
    return table


def cases(seeds: int) -> list[tuple[int, int, int]]:
    """Return smoothing, seed and n of all runs, those that tell most first."""
    used = range(FIRST_SEED, FIRST_SEED + seeds)
    bare = [(0, seed, 12) for seed in used]
    every_third = sorted(SMOOTHING[1:], key=lambda s: (s % 3, s))
    once = [(s, used[s % seeds], 12) for s in every_third]
    populations = [(s, seed, n) for seed in used[:4] for n in POPULATIONS for s in FEW]
    rest = [(s, seed, 12) for seed in used for s in SMOOTHING]
    return list(dict.fromkeys([*bare, *once, *populations, *rest]))


def run_all(
    file: Path, seeds: int, limit: int | None, one: Callable[[int, int, int], Row]
) -> pd.DataFrame:
    """Run what is missing in the table, at most `limit` cases, and keep it after each run."""
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    keys = ("smoothing", "seed", "n")
    done = set(zip(*(table[c] for c in keys), strict=True)) if len(table) else set()
    for case in [case for case in cases(seeds) if case not in done][:limit]:
        row = one(*case)
        table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
        table.to_csv(file, index=False)
        print(
            f"n = {case[2]}, smoothing {case[0]}, seed {case[1]}: mean error "
            f"{100 * float(str(row['error'])):.3g} % after {row['simulations']} simulations",
            flush=True,
        )
    return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return per n and smoothing the median error of both stages, in percent."""
    groups = table.groupby(["n", "smoothing"])
    columns = {
        "runs": groups.size(),
        "mean error [%]": 100 * groups["error"].mean(),
        "median error [%]": 100 * groups["error"].median(),
        "simulations": groups["simulations"].median(),
    }
    if HANDED in table:
        columns["after least squares [%]"] = 100 * groups[HANDED].median()
    return pd.DataFrame(columns).reset_index()


def verdict(table: pd.DataFrame) -> str:
    """Return the figures of the paper's section 3.2 beside ours."""
    main = table[table["n"] == 12]
    bare = 100 * main[main["smoothing"] == 0].set_index("seed")["error"]
    smoothed = main[main["smoothing"] > 0]
    lines = [
        f"without smoothing, {len(bare)} seeds: mean {bare.mean():.3g} %, median "
        f"{bare.median():.3g} %, {bare.min():.3g} to {bare.max():.3g} % (paper {100 * PAPER:g} %)"
    ]
    if len(smoothed):
        median = 100 * smoothed["error"].median()
        by_seed = 100 * smoothed.groupby("seed")["error"].median()
        ratios = sorted((bare / by_seed).dropna())
        lines += [
            f"with smoothing, {len(smoothed)} runs: median {median:.3g} %, lower than without by "
            f"{bare.mean() / median:.2g} (mean) and {bare.median() / median:.2g} (median) "
            f"(paper {RATIO:g})",
            "  seed by seed: " + ", ".join(f"{r:.2g}" for r in ratios),
        ]
    if HANDED in table:
        handed = table[HANDED].dropna() < 1e-3
        lines.append(f"below 0.1 % after least squares: {handed.sum()} of {len(handed)} runs")
    return "\n".join(lines)


def draw(table: pd.DataFrame, file: Path) -> None:
    """Write the picture of the README."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    file.parent.mkdir(exist_ok=True)
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
    parser.add_argument("--fixed-step", action="store_true", help="search on fixed_step.c")
    parser.add_argument("--figures", action="store_true", help="draw figures/, too")
    args = parser.parse_args()
    if not (HERE / "data" / "cycle.csv").exists():
        parser.error("no data: run 'python examples/tripod/generate.py'")
    name = "fixed-step" if args.fixed_step else "study"
    file = HERE / "results" / f"{name}.csv"
    file.parent.mkdir(exist_ok=True)
    one = run
    if args.fixed_step:
        one = run_fixed_step
        found = fixed_step.difference(problem(0, 0, 12).stages[0].problem)
        print(f"fixed_step.c and FMU differ by at most {found:.2g} N.m", flush=True)
        if found > AGREEMENT:
            parser.error(f"that is more than {AGREEMENT:g} N.m: is fmus/ of these sources?")
    table = run_all(file, args.seeds, args.runs, one)
    if args.fixed_step:
        table = hand_over(table, file)
    print(summary(table).to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    print(verdict(table))
    if args.figures:
        draw(table, HERE / "figures" / f"{name}.png")


if __name__ == "__main__":
    main()
