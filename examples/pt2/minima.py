"""Count the minima of the cost over (k, m), and see what they do to the search.

Oscillations that hardly decay, the sets 'fading' and 'ringing', under four kinds of cost. Each map
is simulated once for all costs. Searches that are in the table already are not repeated.

    python examples/pt2/minima.py [--set NAME] [--seeds 3] [--figures]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.evaluation import Evaluator, InProcessExecutor
from fmident.problem import Cost
from fmident.problem.residuals import measured_signals
from fmident_costs import SeparateSpectra, SmoothedSpectrum

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 - the scripts beside this one

import study  # noqa: E402

F64 = npt.NDArray[np.float64]
SPAN = 3.0
"""The map goes from a third to three times the nominal values."""

COSTS: dict[tuple[str, int], Cost] = {}
for _n in (0, 4, 8):
    COSTS["difference", _n] = SmoothedSpectrum(smoothing=_n)
    COSTS["separate", _n] = SeparateSpectra(smoothing=_n)
    COSTS["difference, window", _n] = SmoothedSpectrum(smoothing=_n, window="hann")
    COSTS["separate, window", _n] = SeparateSpectra(smoothing=_n, window="hann")
SEARCHED = (
    ("difference", 0),
    ("difference", 4),
    ("separate", 0),
    ("separate", 4),
    ("separate, window", 0),
    ("separate, window", 4),
    ("separate, window", 8),
)
"""Under which a genetic search is run."""
KINDS = tuple(dict.fromkeys(kind for kind, _ in COSTS))


def axes(name: str, grid: int) -> tuple[F64, F64]:
    """Return k and m, (grid,) each, in steps of equal ratio.

    So the lines of equal frequency, k/m, run through grid points, and a narrow valley along one
    of them does not fall apart into false minima.
    """
    nominal = generate.NOMINAL[name]
    ratios = np.geomspace(1 / SPAN, SPAN, grid)
    return nominal.k * ratios, nominal.m * ratios


def cost_maps(name: str, grid: int) -> dict[tuple[str, int], F64]:
    """Return all costs over (m, k), (grid, grid) each, with the nominal damping."""
    problem = study.problem(name, 0, 0)
    signals = measured_signals(problem)
    k, m = axes(name, grid)
    d = generate.NOMINAL[name].d
    order = [p.name for p in problem.free]
    maps = {key: np.empty((grid, grid)) for key in COSTS}
    with (
        fmident.open_fmu(problem.fmu) as fmu,
        Evaluator(problem, InProcessExecutor(problem, fmu)) as evaluator,
    ):
        for i, j in np.ndindex(grid, grid):
            values = {"k": k[j], "m": m[i], "d": d}
            outputs = evaluator.simulate(np.array([values[n] for n in order]))[0]
            position = np.asarray(outputs, dtype=np.float64)[:, 0]
            for key, cost in COSTS.items():
                maps[key][i, j] = 0.5 * np.sum(cost.residuals(signals, [position]) ** 2)
    return maps


def share_of_lowest(costs: F64) -> float:
    """Return from which part of a map steepest descent over its points ends at the lowest one."""
    rows, columns = costs.shape
    index = np.arange(costs.size).reshape(costs.shape)
    padded = np.pad(costs, 1, constant_values=np.inf)
    places = np.pad(index, 1, constant_values=-1)
    steepest, downhill = np.zeros_like(costs), index.copy()
    for i, j in ((i, j) for i in (0, 1, 2) for j in (0, 1, 2) if (i, j) != (1, 1)):
        neighbour = padded[i : i + rows, j : j + columns]
        slope = (costs - neighbour) / np.hypot(i - 1, j - 1)
        better = slope > steepest
        steepest = np.where(better, slope, steepest)
        downhill = np.where(better, places[i : i + rows, j : j + columns], downhill)
    ends = downhill.ravel()
    while not np.array_equal(ends, ends[ends]):
        ends = ends[ends]
    return float(np.mean(ends == int(np.argmin(costs))))


def count(maps: dict[tuple[str, int], F64]) -> pd.DataFrame:
    """Return minima and share of the lowest for all maps."""
    rows = [
        {
            "cost": kind,
            "smoothing": n,
            "minima": study.count_minima(costs),
            "share of the lowest": share_of_lowest(costs),
        }
        for (kind, n), costs in maps.items()
    ]
    return pd.DataFrame(rows).sort_values(["cost", "smoothing"], ignore_index=True)


def search(name: str, kind: str, n: int, seed: int) -> dict[str, object]:
    """Return one row of the table of searches."""
    cost = COSTS[kind, n]
    overrides: dict[str, object] = {"cost.name": cost.name, "cost.smoothing": n}
    if kind.endswith("window"):
        overrides["cost.window"] = "hann"
    problem = study.problem(name, n, seed, overrides)
    result = fmident.estimate(problem, report=lambda found: None)
    return {
        "cost": kind,
        "smoothing": n,
        "seed": seed,
        "error": study.mean_error(result.parameters, name),
        "simulations": result.simulations,
    }


def search_all(name: str, file: Path, seeds: int) -> pd.DataFrame:
    """Run what is missing in the table, and keep it after each run."""
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    keys = ("cost", "smoothing", "seed")
    done = set(zip(*(table[c] for c in keys), strict=True)) if len(table) else set()
    for case in [(*key, seed) for seed in range(1, seeds + 1) for key in SEARCHED]:
        if case not in done:
            row = search(name, *case)
            table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
            table.to_csv(file, index=False)
            print(f"{case}: mean error {100 * float(str(row['error'])):.3g} %", flush=True)
    return table


def draw(name: str, maps: dict[tuple[str, int], F64], file: Path) -> None:
    """Write the picture of the README."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    file.parent.mkdir(exist_ok=True)
    k, m = axes(name, len(maps[KINDS[0], 0]))
    nominal = generate.NOMINAL[name]
    smoothings = sorted({n for _, n in maps})
    shape = (len(KINDS), len(smoothings))
    figure, panels = plt.subplots(
        *shape, figsize=(9, 11), layout="constrained", sharex=True, sharey=True
    )
    for (kind, n), costs in maps.items():
        panel = panels[KINDS.index(kind), smoothings.index(n)]
        levels = np.log10(np.maximum(costs, 1e-4 * costs.max()))
        panel.contourf(k, m, levels, 30, cmap="viridis")
        panel.plot(nominal.k, nominal.m, "w+", ms=12)
        panel.set(xscale="log", yscale="log")
        for axis, nominal_value in ((panel.xaxis, nominal.k), (panel.yaxis, nominal.m)):
            ticks = [nominal_value / 2, nominal_value, nominal_value * 2]
            axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
            axis.set_ticks([], minor=True)
        panel.set_title(f"{kind}, n = {n}: {study.count_minima(costs)} minima", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("k [N/m]")
    for panel in panels[:, 0]:
        panel.set_ylabel("m [kg]")
    figure.suptitle(f"Logarithm of the cost, nominal set '{name}' (+: nominal)")
    figure.savefig(file, dpi=90)


def main() -> None:
    """Count, search, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--set", default="ringing", choices=generate.NOMINAL, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3, help="0: maps alone")
    parser.add_argument("--grid", type=int, default=61, help="points per side of the maps; 0: none")
    parser.add_argument("--figures", action="store_true", help="draw figures/, too")
    args = parser.parse_args()
    if not (HERE / "data" / f"{args.set}.csv").exists():
        parser.error("no data: run 'python examples/pt2/generate.py'")
    if args.grid > 0:
        maps = cost_maps(args.set, args.grid)
        counted = count(maps)
        print(counted.to_string(index=False, float_format=lambda x: f"{x:.2f}"), flush=True)
        shown = counted.map(lambda x: f"{x:.2f}" if isinstance(x, float) else str(x))
        study.generate.record(f"minima, {args.set}", shown)
        if args.figures:
            draw(args.set, maps, HERE / "figures" / f"minima-{args.set}.png")
    if args.seeds > 0:
        file = HERE / "results" / f"minima-{args.set}.csv"
        file.parent.mkdir(exist_ok=True)
        table = search_all(args.set, file, args.seeds)
        table["error [%]"] = 100 * table["error"]
        error = table.groupby(["cost", "smoothing"])["error [%]"]
        found = error.agg(["median", "max", "size"]).reset_index()
        print(found.to_string(index=False, float_format=lambda x: f"{x:.3g}"))
        shown = found.map(lambda x: f"{x:.2g}" if isinstance(x, float) else str(x))
        shown.columns = ["cost", "smoothing", "median error, %", "largest, %", "searches"]
        study.generate.record(f"searches, {args.set}", shown)


if __name__ == "__main__":
    main()
