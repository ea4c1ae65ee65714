"""Run the PT2 study: what smoothing the spectrum does to a genetic search.

Every nominal set, smoothing 0 to 8 lines, several seeds; each run is the problem file with
other data, bounds, smoothing and seed. Runs that are in the table already are not repeated.

    python examples/pt2/study.py [--seeds 10] [--figures]
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.evaluation import Evaluator, InProcessExecutor

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 - the script beside this one

F64 = npt.NDArray[np.float64]
SMOOTHING = range(9)
SETS = ("soft", "damped", "stiff", "light")
"""minima.py is about the others."""
WIDTH = 5.0
"""Bounds are a fifth and five times the nominal values; the start is twice or half."""


def problem(
    name: str, smoothing: int, seed: int, changes: Mapping[str, object] | None = None
) -> fmident.Problem:
    """Return the problem of one nominal set, with changes of other keys of the file."""
    text = (HERE / "problem.toml").read_text(encoding="utf-8")
    overrides: dict[str, object] = {"cost.smoothing": smoothing, "estimator.seed": seed}
    for parameter, value in generate.NOMINAL[name].parameters.items():
        overrides[f"parameters.{parameter}.initial"] = 2.0 * value
        overrides[f"parameters.{parameter}.bounds"] = [value / WIDTH, value * WIDTH]
    return fmident.load_problem(
        HERE / "problem.toml",
        text=text.replace("data/damped.csv", f"data/{name}.csv"),
        overrides=overrides | {"evaluation.check": False} | dict(changes or {}),
        report=lambda found: None,
    )


def mean_error(result: pd.DataFrame, name: str) -> float:
    """Return the mean relative error of the parameters (eq. 27, with magnitudes)."""
    nominal = generate.NOMINAL[name].parameters
    return float(np.mean([abs(result.loc[p, "value"] / v - 1.0) for p, v in nominal.items()]))


@functools.cache
def plain(name: str) -> Evaluator:
    """Return an evaluator of the cost without smoothing, which is the mean square."""
    found = problem(name, 0, 0)
    fmu = fmident.open_fmu(found.fmu)
    return Evaluator(found, InProcessExecutor(found, fmu))


def run(name: str, smoothing: int, seed: int) -> dict[str, object]:
    """Return one row of the table."""
    result = fmident.estimate(problem(name, smoothing, seed), report=lambda found: None)
    values = result.parameters["value"].to_numpy(dtype=np.float64)
    return {
        "set": name,
        "smoothing": smoothing,
        "seed": seed,
        "error": mean_error(result.parameters, name),
        "residual": plain(name).cost(values),
        "simulations": result.simulations,
    }


def run_all(file: Path, seeds: int) -> pd.DataFrame:
    """Run what is missing in the table, and keep it after each run."""
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    done = (
        set(zip(*(table[c] for c in ("set", "smoothing", "seed")), strict=True))
        if len(table)
        else set()
    )
    for seed in range(1, seeds + 1):
        for name in SETS:
            for smoothing in SMOOTHING:
                if (name, smoothing, seed) in done:
                    continue
                row = run(name, smoothing, seed)
                table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
                table.to_csv(file, index=False)
                print(
                    f"{name:8} smoothing {smoothing} seed {seed}: mean error "
                    f"{100 * float(str(row['error'])):.3g} %, residual {row['residual']:.3g}",
                    flush=True,
                )
    return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return per smoothing: median error and residual, and how often they beat no smoothing."""
    keys = ["set", "seed"]
    bare = table[table["smoothing"] == 0].set_index(keys)
    rows = []
    for smoothing, part in table.groupby("smoothing"):
        found = part.set_index(keys)
        base = bare.loc[found.index]
        lower = {c: f"{(found[c] < base[c]).sum()} of {len(found)}" for c in ("error", "residual")}
        rows.append(
            {
                "smoothing": smoothing,
                "median error [%]": 100 * found["error"].median(),
                "median residual [m2]": found["residual"].median(),
                "error lower in": lower["error"],
                "residual lower in": lower["residual"],
            }
        )
    return pd.DataFrame(rows)


def cost_map(name: str, smoothing: int, grid: int) -> tuple[F64, F64, F64]:
    """Return k (g,), m (g,) and the cost over both, (g, g), with the nominal damping."""
    found = problem(name, smoothing, 0)
    nominal = generate.NOMINAL[name]
    k = nominal.k * np.linspace(0.3, 3.0, grid)
    m = nominal.m * np.linspace(0.3, 3.0, grid)
    order = [p.name for p in found.free]
    points = np.array([[{"m": b, "d": nominal.d, "k": a}[n] for n in order] for b in m for a in k])
    with (
        fmident.open_fmu(found.fmu) as fmu,
        Evaluator(found, InProcessExecutor(found, fmu)) as evaluator,
    ):
        return k, m, evaluator.costs(points).reshape(grid, grid)


def count_minima(costs: F64) -> int:
    """Return how many inner points of a map are below all of their eight neighbours."""
    inner = costs[1:-1, 1:-1]
    shifts = [(i, j) for i in (0, 1, 2) for j in (0, 1, 2) if (i, j) != (1, 1)]
    rows, columns = inner.shape
    below = [inner < costs[i : i + rows, j : j + columns] for i, j in shifts]
    return int(np.logical_and.reduce(below).sum())


def draw(table: pd.DataFrame, folder: Path, grid: int) -> None:
    """Write the pictures of the README."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    for axis, smoothing in zip(axes, (0, 8), strict=True):
        k, m, costs = cost_map("damped", smoothing, grid)
        axis.contourf(k, m, np.log10(costs), 30, cmap="viridis")
        axis.plot(*(generate.NOMINAL["damped"].parameters[p] for p in ("k", "m")), "w+", ms=12)
        minima = count_minima(costs)
        axis.set(title=f"smoothing {smoothing}: {minima} minima", xlabel="k [N/m]")
        print(f"cost over (k, m), smoothing {smoothing}: {minima} minima on the grid")
    axes[0].set_ylabel("m [kg]")
    figure.suptitle("Logarithm of the cost, nominal set 'damped' (+: nominal)")
    figure.savefig(folder / "cost-map.png", dpi=110)
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for name, part in table.groupby("set", sort=False):
        median = part.groupby("smoothing")["error"].median()
        axis.semilogy(median.index, 100 * median, "o-", label=name)
    axis.set(xlabel="smoothing [lines]", ylabel="median of the mean error [%]")
    axis.legend()
    figure.savefig(folder / "smoothing.png", dpi=110)


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--file", type=Path, default=HERE / "results" / "study.csv")
    parser.add_argument("--figures", action="store_true", help="draw figures/, too")
    parser.add_argument("--grid", type=int, default=81, help="points per side of the cost map")
    args = parser.parse_args()
    if not (HERE / "data" / "damped.csv").exists():
        parser.error("no data: run 'python examples/pt2/generate.py'")
    args.file.parent.mkdir(exist_ok=True)
    table = run_all(args.file, args.seeds)
    print(summary(table).to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    shown = summary(table).map(lambda x: f"{x:.3g}" if isinstance(x, float) else str(x))
    generate.record("smoothing", shown)
    if args.figures:
        draw(table, HERE / "figures", args.grid)


if __name__ == "__main__":
    main()
