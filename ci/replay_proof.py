#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Hold recorded proofs of OpenModelica against the limits of today, without OpenModelica.

``ci/replay_proof.py proof.json proof-with-fixes.json``: in the first, Model Exchange was integrated
at the FMU's tolerance T, in the second at 1e-11. What Co-Simulation differs by from both says how
far these two are apart at least, and with it how large the limit of today is at least:
``10*|first - second| + 50*T`` of range (see
``fmident.validation.checks.accuracy``; the size of a signal is half
its range or more). A deviation below that is within its limit for certain; of the others the
recordings do not say.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDED_TOLERANCE = 1e-9
"""Of all classes in the catalogue when the proofs were recorded."""

Row = dict[str, Any]


def tolerance_of(name: str) -> float:
    """Return the tolerance at which a class was exported for the recordings."""
    catalogue = (ROOT / "fmus" / "catalog.toml").read_text(encoding="utf-8")
    if f'class = "{name}"' in catalogue:
        return RECORDED_TOLERANCE
    top, *inside = name.split(".")
    file = (ROOT / "modelica" / top).joinpath(*inside).with_suffix(".mo")
    found = re.search(r"Tolerance\s*=\s*([\d.eE+-]+)", file.read_text(encoding="utf-8"))
    return float(found[1]) if found else 1e-6


def judge(first: Row, second: Row) -> tuple[str, str]:
    """Return what the recordings say of a class: verdict and figures."""
    name, tolerance = second["name"], tolerance_of(second["name"])
    if "WithEvents" in name:
        return "open", "has events: to be validated as Model Exchange"
    if first["exchange"] is None or second["exchange"] is None:
        least = 50.0 * tolerance
    else:
        least = 10.0 * abs(first["exchange"] - second["exchange"]) + 50.0 * tolerance
    found = {n: second[n] for n in ("exchange", "twin") if second[n] is not None}
    if not found:
        return "open", "nothing to compare in the recordings"
    figures = ", ".join(f"{n} {v:.1e}" for n, v in found.items())
    verdict = "within" if all(v <= least for v in found.values()) else "open"
    return verdict, f"{figures}; limit at least {least:.1e} (T = {tolerance:.0e})"


def main() -> int:
    """Print one line per class."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=Path, help="Model Exchange at the FMU's tolerance")
    parser.add_argument("second", type=Path, help="Model Exchange at 1e-11")
    given = parser.parse_args()
    first = {r["name"]: r for r in json.loads(given.first.read_text(encoding="utf-8"))}
    second = json.loads(given.second.read_text(encoding="utf-8"))
    verdicts: Counter[str] = Counter()
    for row in second:
        verdict, why = judge(first[row["name"]], row)
        verdicts[verdict] += 1
        print(f"{verdict:7} {row['name']:68} {why}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
