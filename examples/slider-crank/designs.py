"""Predicted standard errors of the trajectory of ``generate.py`` and of two designed ones.

    python examples/slider-crank/designs.py

prints them, and writes them into ``figures.json``, from which the README has its table.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from generate import PERIOD, TRAINING
from monte_carlo import record

import fmident
from fmident.designing.excitation import Information
from fmident.evaluation import Evaluator, make_executor

FILE = Path(__file__).with_name("design.toml")


def main() -> None:
    """Design both, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--iterations", type=int, help="of each search; by default the design's")
    iterations = parser.parse_args().iterations
    text = FILE.read_text(encoding="utf-8")
    if iterations is not None:
        text = text.replace("[design]\n", f"[design]\niterations = {iterations}\nstarts = 1\n")
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        for criterion in ("determinant", "condition"):
            file = Path(folder) / f"{criterion}.toml"
            file.write_text(text.replace('"determinant"', f'"{criterion}"'), encoding="utf-8")
            task, found = fmident.design(file)
            columns[f"best {criterion}"] = (found.standard_errors, found.condition)
    times = np.arange(0.0, TRAINING.duration, PERIOD)
    inputs = {name: TRAINING(times, order) for order, name in enumerate(("q", "qd", "qdd"))}
    with make_executor(task.problem) as executor, Evaluator(task.problem, executor) as evaluator:
        information = Information(evaluator, task.sigmas)
        known = information.standard_errors(information.sensitivities(times, inputs))
    columns = {"trajectory above": known, **columns}
    names = [f"{q.name}, {q.unit}" for q in task.problem.free]
    table = pd.DataFrame(
        {
            "parameter": [*names, "condition number"],
            **{
                title: [*(f"{e:.3g}" for e in errors), f"{condition:.1f}"]
                for title, (errors, condition) in columns.items()
            },
        }
    )
    print(table.to_string(index=False))
    if iterations is None:
        record("designs", table, {})


if __name__ == "__main__":
    main()
