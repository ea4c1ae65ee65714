"""Errors of the base parameters over noise draws, beside those of the paper.

Each draw puts fresh noise on crank angle and torque and runs the problem file as it is.

    python examples/slider-crank/monte_carlo.py [--draws 100] [--friction]

All draws together are written into ``figures.json``, from which the README has its tables.
Ends with 1 when a mean error is above the paper's, or when other base parameters are found.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import generate
import numpy as np
import pandas as pd

import fmident
from fmident.estimation import ParameterEstimate

HERE = Path(__file__).parent

PAPER = {"inertia1": 0.31, "momentX1": 1.11, "inertia2": 1.82, "momentX2": 1.24}
"""Table 2: errors in %, of the base parameter that begins with this one."""

PAPER_MOMENTS = {"momentY1": 2.28e-4, "momentY2": 1.91e-5}
"""Table 2: what is found of moments that are zero, kg.m."""

COLUMNS = [
    "base parameter", "true", "mean", "standard deviation", "mean error", "paper (one draw)",
    "in its 95 % interval",
]  # fmt: skip

BASE = {
    "inertia1 + 0.0064*mass2 + 0.0064*mass3": generate.TRUTH["inertia1"]
    + generate.LENGTH1**2 * (generate.TRUTH["mass2"] + generate.TRUTH["mass3"]),
    "momentX1 + 0.08*mass2 + 0.08*mass3": generate.TRUTH["momentX1"]
    + generate.LENGTH1 * (generate.TRUTH["mass2"] + generate.TRUTH["mass3"]),
    "momentY1": 0.0,
    "inertia2 + 0.0625*mass3": generate.TRUTH["inertia2"]
    + generate.LENGTH2**2 * generate.TRUTH["mass3"],
    "momentX2 + 0.25*mass3": generate.TRUTH["momentX2"]
    + generate.LENGTH2 * generate.TRUTH["mass3"],
    "momentY2": 0.0,
}
"""Equation 9 with the values of Table 1."""


def table_of(result: fmident.EstimationResult) -> dict[str, ParameterEstimate]:
    """Return the base parameters that a run found, by formula, in the order of `BASE`.

    Those with a single member are parameters like others.
    """
    alone = [e for e in result.estimates if np.isfinite(e.standard_error)]
    found = {e.expression or e.name: e for e in (*result.base_parameters, *alone)}
    first = list(BASE)
    return dict(sorted(found.items(), key=lambda one: (*first, one[0]).index(one[0])))


def record(name: str, table: pd.DataFrame, facts: dict[str, str]) -> None:
    """Put a table and facts into ``figures.json``."""
    file = HERE / "figures.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    shown = {"header": list(table.columns), "rows": table.to_numpy().tolist()}
    content = {
        "tables": {**known.get("tables", {}), name: shown},
        "facts": {**known.get("facts", {}), **facts},
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Run the draws and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--friction", action="store_true")
    args = parser.parse_args()

    friction = generate.WITH_FRICTION if args.friction else generate.FRICTION
    truth = BASE
    if args.friction:  # with prior knowledge of the two moments that are zero
        truth = {name: true for name, true in BASE.items() if true}
        truth["coulombForce"] = friction["coulombForce"]
    suffix = "-friction" if args.friction else ""
    problem_file = HERE / ("friction.toml" if args.friction else "problem.toml")
    text = problem_file.read_text(encoding="utf-8")
    motions = {"training": generate.TRAINING, "validation": generate.VALIDATION}
    torques = {name: generate.true_torque(m, friction) for name, m in motions.items()}
    values, inside = [], np.zeros(len(truth), dtype=int)
    conditions, held_out = [], []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.toml"
        file.write_text(text.replace('"data/', f'"{folder}/'), encoding="utf-8")
        for draw in range(args.draws):
            generator = np.random.default_rng(args.seed + draw)
            for name, motion in motions.items():
                rows: pd.DataFrame = generate.measured(motion, torques[name], generator)
                rows.to_csv(Path(folder) / f"{name}{suffix}.csv", index=False)
            problem = fmident.load_problem(file, overrides={"evaluation.check": False})
            result = fmident.estimate(problem)
            found = table_of(result)
            if list(found) != list(truth):
                print(f"draw {draw}: other base parameters: {list(found)}")
                return 1
            values.append([row.value for row in found.values()])
            for i, (row, true) in enumerate(zip(found.values(), truth.values(), strict=True)):
                inside[i] += row.interval_95[0] <= true <= row.interval_95[1]
            conditions.append(result.settings["condition_number"])
            held_out.append(result.settings["validation_relative_error"]["validation"]["tau"])
    seconds = time.perf_counter() - began

    rows, passed = [], True
    for name, true, column, count in zip(
        truth, truth.values(), np.array(values).T, inside, strict=True
    ):
        paper = PAPER.get(name.split(" ")[0])
        error = 100 * np.abs(column / true - 1).mean() if true else None
        passed = passed and (error is None or paper is None or error <= paper)
        rows.append(
            [
                name,
                f"{true:.5g}",
                f"{column.mean():.5g}",
                f"{column.std(ddof=1):.2g}",
                f"{np.abs(column).mean():.2g}" if error is None else f"{error:.2g} %",
                f"{PAPER_MOMENTS.get(name, '')}" if paper is None else f"{paper:.2f} %",
                f"{count / args.draws:.0%}",
            ]
        )
    shown = pd.DataFrame(rows, columns=COLUMNS)
    print(f"{args.draws} draws\n{shown.to_string(index=False)}")
    facts = {
        "condition number": f"{np.mean(conditions):.1f}",
        "torque of the validation": f"{100 * np.mean(held_out):.1f} %",
    }
    print(", ".join(f"{what}: {value}" for what, value in facts.items()))
    print(f"{seconds / args.draws:.2f} s per draw")
    if args.draws == parser.get_default("draws"):
        record("friction" if args.friction else "errors", shown, {} if args.friction else facts)
    print("below the paper's errors" if passed else "ABOVE the paper's errors")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
