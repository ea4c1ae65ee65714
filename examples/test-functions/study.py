"""Runs of each method on each function from different random numbers.

python examples/test-functions/study.py              # all of it; resumes where it was stopped
python examples/test-functions/study.py --runs 20    # a look
python examples/test-functions/study.py --table      # the table of the runs done so far
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from functions import FUNCTIONS, TestFunction
from methods import METHODS, SMALL_BUDGET, TOLERANCE, Counted

FOLDER = Path(__file__).parent
COLUMNS = ["function", "method", "seed", "evaluations", "residual", "cpu_seconds"]
OURS = "special-genetic"
COMPARED = (
    (f"{OURS}, as published", "particle-swarm"),
    (f"{OURS}, as published", "particle-swarm, constant factors"),
    (OURS, "particle-swarm"),
    (OURS, "particle-swarm, constant factors"),
    (OURS, "exudyn, repeated"),
    (OURS, "exudyn, one minimum"),
    (f"{OURS}, {SMALL_BUDGET} evaluations", "exudyn, once"),
)
"""Ours and its rival: to the tolerance, and with fewer evaluations than the rival's."""
_CHUNK = 50


def one_run(function: TestFunction, name: str, seed: int) -> dict[str, object]:
    """Return evaluations, residual (the best cost, since the minimum is 0) and CPU time."""
    method, stopped, _ = METHODS[name]
    counted = Counted(function, TOLERANCE if stopped else None)
    began = time.process_time()
    method(counted, seed)
    spent = time.process_time() - began
    return {
        "function": function.name,
        "method": name,
        "seed": seed,
        "evaluations": counted.evaluations,
        "residual": counted.best,
        "cpu_seconds": spent,
    }


def run_all(
    file: Path,
    runs: int | None,
    methods: Iterable[str] = METHODS,
    functions: Sequence[TestFunction] = FUNCTIONS,
) -> None:
    """Do all runs that `file` does not hold yet; it is complete after every chunk."""
    done = set()
    if file.exists():
        kept = pd.read_csv(file)
        done = set(zip(kept["function"], kept["method"], kept["seed"], strict=True))
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for name in methods:
        one_run(FUNCTIONS[0], name, -1 % 2**31)  # imports and warms up, so that no run pays
        for function in functions:
            seeds = range(runs or METHODS[name][2])
            missing = [s for s in seeds if (function.name, name, s) not in done]
            for begin in range(0, len(missing), _CHUNK):
                rows = [one_run(function, name, s) for s in missing[begin : begin + _CHUNK]]
                with file.open("a", newline="", encoding="utf-8") as stream:
                    csv.DictWriter(stream, COLUMNS).writerows(rows)
            if missing:
                print(f"{name}: {function.name} done", flush=True)


def table(file: Path, runs: int | None = None) -> pd.DataFrame:
    """Return one row per function and method, of the first `runs` or of all."""
    frame = pd.read_csv(file)
    frame = frame[frame["seed"] < (runs or np.inf)]
    groups = frame.groupby(["function", "method"], sort=False)
    found = pd.DataFrame(
        {
            "runs": groups.size(),
            "reached": groups["residual"].apply(lambda r: (r <= TOLERANCE).mean()),
            "evaluations": groups["evaluations"].mean(),
            "cpu_ms": 1e3 * groups["cpu_seconds"].mean(),
            "mean_residual": groups["residual"].mean(),
            "largest_residual": groups["residual"].max(),
        }
    )
    order = [(f.name, m) for f in FUNCTIONS for m in METHODS if (f.name, m) in found.index]
    return found.loc[order]


PAPERS = ("special-genetic, as published", "particle-swarm", "particle-swarm, constant factors")
"""The two algorithms that the paper compares."""


def record(found: pd.DataFrame) -> None:
    """Write ``figures.json``, of which the README is made: the paper's methods, then all others.

    Methods and functions that have not run keep their rows.
    """
    file = FOLDER / "figures.json"
    known = json.loads(file.read_text(encoding="utf-8"))["tables"] if file.is_file() else {}
    rows = {(row[0], row[1]): row for table in known.values() for row in table["rows"]}
    for (function, method), row in found.iterrows():
        rows[str(function), str(method)] = [
            str(function),
            str(method),
            f"{row['runs']:.0f}",
            f"{100 * row['reached']:.1f} %",
            f"{row['evaluations']:.0f}",
            f"{row['cpu_ms']:.1f} ms",
            f"{row['mean_residual']:.2g}",
            f"{row['largest_residual']:.2g}",
        ]
    header = ["function", "method", "runs", "reached 1e-4", "evaluations", "CPU time"]
    header += ["mean residual", "largest residual"]
    others = [method for method in METHODS if method not in PAPERS]
    tables = {
        name: {
            "header": header,
            "rows": [rows[f.name, m] for f in FUNCTIONS for m in methods if (f.name, m) in rows],
        }
        for name, methods in (("published", PAPERS), ("others", others))
    }
    text = json.dumps({"tables": tables, "facts": {}}, indent=1) + "\n"
    file.write_text(text, encoding="utf-8")


def judgement(found: pd.DataFrame) -> list[str]:
    """Return for each function what of the figure to pass is reached."""
    lines = []
    for function in FUNCTIONS:
        for pair in COMPARED:
            if any((function.name, m) not in found.index for m in pair):
                continue
            ours, theirs = (found.loc[(function.name, m)] for m in pair)
            words = []
            for column in ("evaluations", "mean_residual", "largest_residual"):
                verdict = "lower" if ours[column] < theirs[column] else "NOT LOWER"
                figures = f"{ours[column]:.3g}, {theirs[column]:.3g}"
                words.append(f"{column.replace('_', ' ')} {verdict} ({figures})")
            lines.append(f"{function.name}, {' against '.join(pair)}: " + ", ".join(words))
    return lines


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, help="of each method; default: 100 to 1000")
    parser.add_argument("--file", type=Path, default=FOLDER / "results" / "runs.csv")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    names = [f.name for f in FUNCTIONS]
    parser.add_argument("--functions", nargs="+", choices=names, default=names)
    parser.add_argument("--table", action="store_true", help="no new runs")
    parser.add_argument("--record", action="store_true", help="the table as figures.json")
    arguments = parser.parse_args()
    if not arguments.table:
        chosen = [f for f in FUNCTIONS if f.name in arguments.functions]
        run_all(arguments.file, arguments.runs, arguments.methods, chosen)
    found = table(arguments.file, arguments.runs)
    found.to_csv(arguments.file.with_name("summary.csv"), float_format="%.6g")
    if arguments.record:
        record(found)
    print(found.to_string(float_format=lambda x: f"{x:.4g}"))
    print("\n".join(judgement(found)))


if __name__ == "__main__":
    main()
