"""How often the 95 % intervals hold the truth, over draws of the noise.

With 200 draws the share of one parameter has a standard deviation of 1.5 %.

    python examples/across-events/coverage.py [--draws 200] [--machine drive ...]

``figures.json`` takes what all machines find with the data of seed 1, without draws, too; the
table of the draws, when they are as many as by default.

Intervals that fmident withholds, since the cost jumps or bends next to the estimate, are not
counted. It ends with 1 if an estimation does not converge or takes derivatives that are not exact.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import generate
import numpy as np
import pandas as pd

import fmident
from fmident.arrays import F64

HERE = Path(__file__).parent
FIRST_SEED = 1000


@dataclass(frozen=True)
class Coverage:
    """What became of the draws of one machine.

    Parameters
    ----------
    inside
        Parameter to the number of intervals that hold the truth.
    errors
        Parameter to errors over standard errors, where there is an interval.
    first
        Estimate with the data of seed 1.
    failed
        Draws that did not converge.
    inexact
        Draws with derivatives other than the FMU's sensitivities.
    """

    inside: dict[str, int]
    errors: dict[str, F64]
    first: fmident.EstimationResult
    failed: int
    inexact: int


def with_noise(problem: fmident.Problem, outputs: F64) -> fmident.Problem:
    """Return the problem with other measured outputs, shape (samples, outputs)."""
    (experiment,) = problem.experiments
    measurements = tuple(
        dataclasses.replace(m, values=outputs[:, k].copy())
        for k, m in enumerate(experiment.measurements)
    )
    changed = dataclasses.replace(experiment, measurements=measurements)
    return dataclasses.replace(problem, experiments=(changed,))


def load(name: str, folder: Path, fmu: Path) -> fmident.Problem:
    """Return the problem of a machine, with data of its own in a folder."""
    data = folder / f"{name}.csv"
    generate.table(generate.MACHINES[name], fmu, 1).to_csv(data, index=False)
    text = (HERE / f"{name}.toml").read_text(encoding="utf-8")
    text = text.replace(f'"data/{name}.csv"', f'"{data}"')
    lines = [line for line in text.splitlines() if not line.startswith("sources =")]
    lines = [f'fmu = "{fmu}"' if line.startswith("class =") else line for line in lines]
    file = folder / f"{name}.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return fmident.load_problem(file)


def count(name: str, draws: int, fmu: Path) -> Coverage:
    """Estimate with so many draws of the noise."""
    machine = generate.MACHINES[name]
    with tempfile.TemporaryDirectory() as folder:
        problem = load(name, Path(folder), fmu)
    exact = generate.simulated(machine, fmu)
    inside = dict.fromkeys(machine.truth, 0)
    errors: dict[str, list[float]] = {parameter: [] for parameter in machine.truth}
    failed = inexact = 0
    for draw in range(draws):
        noisy = exact + generate.noise(machine, FIRST_SEED + draw)
        result = fmident.estimate(with_noise(problem, noisy), report=lambda _: None)
        estimates = result.parameters.loc[list(machine.truth)]
        failed += not result.converged()
        inexact += any(o.kind != "sensitivities" for o in result.derivative_origins.values())
        for parameter, truth in machine.truth.items():
            one = estimates.loc[parameter]
            if not np.isfinite(one["standard_error"]):
                continue
            inside[parameter] += bool(one["interval_95_low"] <= truth <= one["interval_95_high"])
            errors[parameter].append((one["value"] - truth) / one["standard_error"])
    arrays = {parameter: np.array(values) for parameter, values in errors.items()}
    first = fmident.estimate(problem, report=lambda _: None)
    return Coverage(inside, arrays, first, failed, inexact)


def main() -> int:
    """Run the draws and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--machine", nargs="+", choices=generate.MACHINES)
    args = parser.parse_args()
    failed = False
    rows: list[list[str]] = []
    one: list[list[str]] = []
    simulations: dict[str, str] = {}
    print(
        f"{'machine':<9}{'parameter':<11}{'intervals':>10}{'covering':>10}{'error / its std':>18}"
    )
    for name in args.machine or generate.MACHINES:
        began = time.perf_counter()
        coverage = count(name, args.draws, generate.build(generate.MACHINES[name]))
        simulations[f"simulations of the {name}"] = f"{coverage.first.simulations} simulations"
        for parameter, e in coverage.first.parameters.iterrows():
            truth = f"{generate.MACHINES[name].truth[str(parameter)]:g}"
            ends = f"[{e['interval_95_low']:.6g}, {e['interval_95_high']:.6g}]"
            one.append([name, str(parameter), str(e["unit"]), truth, f"{e['value']:.6g}", ends])
        if not args.draws:
            continue
        for parameter, number in coverage.inside.items():
            given, spread = coverage.errors[parameter].size, coverage.errors[parameter].std(ddof=1)
            print(f"{name:<9}{parameter:<11}{given:>10}{number / given:>10.1%}{spread:>18.2f}")
            covering = f"{100 * number / given:.1f} %"
            rows.append([name, parameter, str(given), covering, f"{spread:.2f}"])
        total = sum(errors.size for errors in coverage.errors.values())
        seconds = (time.perf_counter() - began) / args.draws
        share = f"{100 * sum(coverage.inside.values()) / total:.1f} %"
        rows.append([name, "all", str(total), share, ""])
        print(
            f"{name:<9}{'all':<11}{total:>10}{sum(coverage.inside.values()) / total:>10.1%}"
            f"   not converged: {coverage.failed}, not exact: {coverage.inexact}, "
            f"{seconds:.2f} s each",
            flush=True,
        )
        failed |= bool(coverage.failed or coverage.inexact)
    header = ["machine", "parameter", "unit", "truth", "estimate", "95 % interval"]
    shown = pd.DataFrame(one, columns=header)
    print(shown.to_string(index=False))
    if args.machine is None:
        generate.record("data of seed 1", shown, **simulations)
    if args.machine is None and args.draws == parser.get_default("draws"):
        header = ["machine", "parameter", "intervals", "covering", "std of error / standard error"]
        generate.record("coverage", pd.DataFrame(rows, columns=header))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
