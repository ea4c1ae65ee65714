#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Compare standard errors and ranks with exact ones; see ``--help``.

The cases lie in tests/estimation/derivative_cases: sixteen models whose sensitivities are known
in closed form or by integration with 50 digits. At their true parameters fmident is asked for
intervals and rank, at each tolerance and with each scheme of differences. With ``--coverage`` the
parameters are estimated from data with noise, and the intervals that hold the truth are counted.

The columns: the standard error that deviates most, over the exact one, and its parameter; the rank
found and the true one; how many standard errors are withheld; by how many standard errors the error
of the integration moves an estimate, with "!" where the result says so; simulations.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.estimation.derivative_cases.bench import check_at, coverage, look_at  # noqa: E402
from tests.estimation.derivative_cases.cases import (  # noqa: E402
    BY_NAME,
    CASES,
    MODES,
    TOLERANCES,
    Case,
)
from tests.kept import VARIABLE  # noqa: E402

from fmident.compilers.embedded import EmbeddedCompiler  # noqa: E402
from fmident.errors import FmidentError  # noqa: E402
from fmident.problem.model import DifferenceScheme  # noqa: E402

COVERED, AROUND = 0.95, 0.02
"""Share of the intervals that hold the truth, and how far off it may be."""
Row = dict[str, object]


def main() -> int:
    """Print the table."""
    args = _arguments()
    compiler = EmbeddedCompiler()
    if (reason := compiler.unavailable()) is not None:
        print(f"the embedded compiler cannot run: {reason}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="fmident-derivatives-") as folder:
        os.environ.setdefault(VARIABLE, folder)
        cases = [BY_NAME[name] for name in args.case] if args.case else list(CASES)
        fmus = {case.name: case.fmu(compiler, Path(folder)) for case in cases}
        rows = []
        if args.coverage:
            print(f"{'case':<14}{'tolerance':>10}  {'mode':<9}{'parameter':<11}"
                  f"{'held':>6}{'given':>7}{'share':>8}{'warned':>8}{'withheld':>10}")  # fmt: skip
        else:
            print(f"{'case':<14}{'tolerance':>10}  {'mode':<9}{'point':>5}{'ratio':>8}  {'of':<7}"
                  f"{'rank':>5}{'true':>5}{'withheld':>9}{'bias':>7}{'simulations':>12}"
                  "  faults")  # fmt: skip
        for case in cases:
            for tolerance in args.tolerance or TOLERANCES:
                for mode in args.mode or MODES:
                    fmu = fmus[case.name]
                    if args.coverage:
                        rows.extend(_coverage_rows(case, fmu, tolerance, mode, args.coverage))
                    else:
                        rows.extend(_rows(case, fmu, tolerance, mode, args))
        wrong = sum(bool(row["faults"]) for row in rows)
        print(f"{len(rows)} rows, {wrong} wrong")
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if wrong else 0


def _rows(
    case: Case, fmu: Path, tolerance: float, mode: DifferenceScheme, args: argparse.Namespace
) -> list[Row]:
    """Print a row for each point; return them."""
    rows: list[Row] = []
    for point in range(min(args.points, len(case.reference.points))):
        row: Row = {"case": case.name, "tolerance": tolerance, "mode": mode, "point": point}
        begin = f"{case.name:<14}{tolerance:>10.0e}  {mode:<9}{point:>5}"
        try:
            look = check_at if args.check else look_at
            found = look(case, fmu, tolerance, mode, point)
        except FmidentError as error:
            rows.append({**row, "faults": [error.message]})
            print(f"{begin}  {error.message}", flush=True)
            continue
        rows.append({**row, **dataclasses.asdict(found), "faults": list(found.faults)})
        if found.faults or not args.faults:
            ratio = f"{found.ratio:.4g}" if found.worst else "-"
            rank = f"{'>=' if found.undecided else ''}{found.rank}"
            mark = "!" if found.warned else " "
            print(
                f"{begin}{ratio:>8}  {found.worst:<7}{rank:>5}{found.true_rank:>5}"
                f"{len(found.withheld) or 'no':>9}{found.bias:>7.2f}{mark}{found.simulations:>11}"
                f"  {'; '.join(found.faults)}",
                flush=True,
            )
    return rows


def _coverage_rows(
    case: Case, fmu: Path, tolerance: float, mode: DifferenceScheme, seeds: int
) -> list[Row]:
    """Print a row for each parameter; return them."""
    rows: list[Row] = []
    for found in coverage(case, fmu, tolerance, mode, seeds):
        fault = ""
        if case.reference.points[0].standard_errors[found.name] is None:
            fault = "is open" if found.given else ""
        elif found.given and abs(found.share - COVERED) > _chance(found.given):
            fault = f"more than {_chance(found.given):.1%} off"
        share = f"{found.share:.1%}" if found.given else "-"
        print(
            f"{case.name:<14}{tolerance:>10.0e}  {mode:<9}{found.name:<11}"
            f"{found.held:>6}{found.given:>7}{share:>8}"
            f"{found.warned:>8}{found.withheld:>10}  {fault}",
            flush=True,
        )
        row: Row = {"case": case.name, "tolerance": tolerance, "mode": mode}
        rows.append({**row, **dataclasses.asdict(found), "faults": [fault] if fault else []})
    return rows


def _chance(intervals: int) -> float:
    """Return how far off a share may be: that of 200 seeds varies by 1.5 % by chance alone."""
    return max(AROUND, 3.0 * math.sqrt(COVERED * (1.0 - COVERED) / intervals))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/derivatives",
        description="Compare standard errors and ranks with exact ones.",
        epilog="exit code 0: all is right or withheld, 1: not all, 2: it cannot run",
    )
    parser.add_argument(
        "--case", action="append", choices=sorted(BY_NAME), help="may be repeated; all by default"
    )
    parser.add_argument(
        "--tolerance", action="append", type=float, help="may be repeated; 1e-4, 1e-6 and 1e-8"
    )
    parser.add_argument("--mode", action="append", choices=MODES, help="may be repeated; all")
    parser.add_argument(
        "--coverage", type=int, metavar="SEEDS", help="estimate from that many data sets with noise"
    )
    parser.add_argument(
        "--points", type=int, default=1, metavar="N",
        help="look at the truth and at N - 1 points near it, at most 3 (default 1: the truth)",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true", help="look at what a check predicts, not at an estimation"
    )
    parser.add_argument("--faults", action="store_true", help="show only what is wrong")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
