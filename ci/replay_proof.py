#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Hold a recorded proof of OpenModelica against the limits of today, without OpenModelica.

``ci/replay_proof.py proof.json``: each class that the embedded compiler can build, itself or its
counterpart, is built and run under the recorded experiment, and the limit of the comparison
"embedded" is derived as ``ci/prove-openmodelica`` does. What needs OpenModelica's FMU (Model
Exchange, all checks of ``fmident validate``) cannot be derived here: these are listed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from proof_references import default_setup, reference_setup, references_of
from prove_openmodelica import ROOT, counterpart, inner_signals, twin_limits

from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded import EmbeddedCompiler
from fmident.errors import FmidentError
from fmident.fmu import open_fmu

REFERENCES = ROOT / "fmus" / "reference"
SOURCES = (ROOT / "modelica" / "Mechanisms", ROOT / "modelica" / "MechanismsMSL")
RECORDED_TOLERANCE = 1e-9
"""Of all classes in the catalogue when the proof was recorded."""


def tolerance_of(name: str) -> float:
    """Return the tolerance at which a class was exported for the recording."""
    catalogue = (ROOT / "fmus" / "catalog.toml").read_text(encoding="utf-8")
    if f'class = "{name}"' in catalogue:
        return RECORDED_TOLERANCE
    top, *inside = name.split(".")
    file = (ROOT / "modelica" / top).joinpath(*inside).with_suffix(".mo")
    found = re.search(r"Tolerance\s*=\s*([\d.eE+-]+)", file.read_text(encoding="utf-8"))
    return float(found[1]) if found else 1e-6


def twin_limit(name: str, folder: Path) -> float | None:
    """Return the largest limit of any signal over its range, ``None`` without a counterpart."""
    twin_name = counterpart(name, SOURCES)
    if twin_name is None:
        return None
    twin = folder / f"{twin_name}.fmu"
    if not twin.is_file():
        EmbeddedCompiler().build(BuildRequest(twin_name, SOURCES, twin))
    reference = next(references_of(name, REFERENCES), None)
    with open_fmu(twin) as opened:
        description = opened.description
        if reference is None:
            setup = default_setup(description, shift=0.0)  # as it was recorded
        else:
            setup = reference_setup(reference, description)[0]
    if not setup.output_names:
        names = inner_signals(description, description)
        setup = type(setup)(setup.times, setup.input_names, setup.inputs, names, setup.start_values)
    _, derived = twin_limits(twin, setup, tolerance_of(name))
    return float(np.max(derived.allowed / derived.scale))


def judged(row: dict[str, Any], folder: Path) -> tuple[str, str]:
    """Return verdict and explanation for one recorded row."""
    if row["twin"] is None:
        return "unproven", "no counterpart that the embedded compiler can build"
    try:
        limit = twin_limit(row["name"], folder)
    except FmidentError as error:
        return "unproven", error.message
    if limit is None:
        return "unproven", "no counterpart that the embedded compiler can build"
    verdict = "within" if row["twin"] <= limit else "OUTSIDE"
    return verdict, f"{row['twin']:.1e} against {limit:.1e} (T = {tolerance_of(row['name']):.0e})"


def main() -> int:
    """Print one line per class; 1 if a recorded deviation is outside its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recorded", type=Path, help="proof.json of ci/prove-openmodelica")
    given = parser.parse_args()
    rows = json.loads(given.recorded.read_text(encoding="utf-8"))
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            verdict, why = judged(row, Path(folder))
            verdicts.append(verdict)
            print(f"{verdict:9} {row['name']:70} {why}", flush=True)
    print(", ".join(f"{verdicts.count(v)} {v}" for v in ("within", "OUTSIDE", "unproven")))
    return 1 if "OUTSIDE" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
