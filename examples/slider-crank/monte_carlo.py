"""Errors of the base parameters over noise draws, beside those of the paper.

Each draw puts fresh noise on crank angle and torque and runs the problem file as it is.

    python examples/slider-crank/monte_carlo.py [--draws 100] [--friction]
    python examples/slider-crank/monte_carlo.py --widths [--draws 8]

``--widths`` shows the bias where the smooth friction of the model is not that of the data.
All draws together are written into ``figures.json``, from which the README has its tables.
Ends with 1 when a mean error is above the paper's, or when other base parameters are found.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
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

MOTIONS = {"training": generate.TRAINING, "validation": generate.VALIDATION}

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


TRUE_WITH_FRICTION = {name: true for name, true in BASE.items() if true} | {
    "coulombForce": generate.WITH_FRICTION["coulombForce"]
}
"""With prior knowledge of the two moments that are zero."""

WIDTHS = ((1e-5, 0.01), (1e-3, 0.01), (0.01, 0.01), (0.1, 0.01), (1e-5, 0.1), (1e-5, 1e-3))
"""Of the data and of the model, m/s; 1e-5 is a sign for every practical purpose."""

BIASED = ("coulombForce", "momentX1 + 0.08*mass2 + 0.08*mass3")


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


def estimates(
    text: str,
    torques: Mapping[str, generate.F64],
    seed: int,
    draws: int,
    start_values: Mapping[str, float],
) -> Iterator[fmident.EstimationResult]:
    """Yield the result of each draw of noise on the angles and torques of both motions."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.toml"
        text = text.replace("-friction.csv", ".csv").replace('"data/', f'"{folder}/')
        file.write_text(text, encoding="utf-8")
        for draw in range(draws):
            generator = np.random.default_rng(seed + draw)
            for name, motion in MOTIONS.items():
                rows = generate.measured(motion, torques[name], generator)
                rows.to_csv(Path(folder) / f"{name}.csv", index=False)
            problem = fmident.load_problem(file, overrides={"evaluation.check": False})
            known = {**problem.start_values, **start_values}
            yield fmident.estimate(dataclasses.replace(problem, start_values=known))


def biases(text: str, seed: int, draws: int) -> pd.DataFrame:
    """Return a row for each of `WIDTHS`: the mean errors of the most biased."""
    rows = []
    for real, smooth in WIDTHS:
        values = generate.WITH_FRICTION | {"speedWidth": real}
        torques = {name: generate.true_torque(m, values) for name, m in MOTIONS.items()}
        results = estimates(text, torques, seed, draws, {"speedWidth": smooth})
        tables = [table_of(result) for result in results]
        row = {"width of the data": f"{real:g}", "width of the model": f"{smooth:g}"}
        for name in BIASED:
            true = TRUE_WITH_FRICTION[name]
            found = [table[name] for table in tables]
            error = np.array([one.value for one in found]) - true
            scaled = error / [one.standard_error for one in found]
            inside = sum(one.interval_95[0] <= true <= one.interval_95[1] for one in found)
            row[name] = (
                f"{100 * error.mean() / true:+.2f} %, {scaled.mean():+.1f} s.e., "
                f"{inside} of {draws}"
            )
        print(" | ".join(row.values()), flush=True)
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> int:
    """Run the draws and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, help="default: 100, with --widths 8")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--friction", action="store_true")
    parser.add_argument("--widths", action="store_true", help="other widths in the data")
    args = parser.parse_args()
    draws = args.draws or (8 if args.widths else 100)

    with_friction = args.friction or args.widths
    friction = generate.WITH_FRICTION if with_friction else generate.FRICTION
    truth = TRUE_WITH_FRICTION if with_friction else BASE
    problem_file = HERE / ("friction.toml" if with_friction else "problem.toml")
    text = problem_file.read_text(encoding="utf-8")
    if args.widths:
        shown = biases(text, args.seed, draws)
        if args.draws is None:
            record("widths", shown, {})
        return 0
    torques = {name: generate.true_torque(m, friction) for name, m in MOTIONS.items()}
    values, inside = [], np.zeros(len(truth), dtype=int)
    conditions, held_out = [], []
    began = time.perf_counter()
    for draw, result in enumerate(estimates(text, torques, args.seed, draws, {})):
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
                f"{count / draws:.0%}",
            ]
        )
    shown = pd.DataFrame(rows, columns=COLUMNS)
    print(f"{draws} draws\n{shown.to_string(index=False)}")
    facts = {
        "condition number": f"{np.mean(conditions):.1f}",
        "torque of the validation": f"{100 * np.mean(held_out):.1f} %",
    }
    print(", ".join(f"{what}: {value}" for what, value in facts.items()))
    print(f"{seconds / draws:.2f} s per draw")
    if args.draws is None:
        record("friction" if args.friction else "errors", shown, {} if args.friction else facts)
    print("below the paper's errors" if passed else "ABOVE the paper's errors")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
