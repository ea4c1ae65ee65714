#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Prove the OpenModelica compiler on the project's library; see ``--help``.

For every class that can run (it has an ``experiment`` annotation and is not partial):
build it, validate the FMU, compare it with the recorded reference trajectories, with itself
as Model Exchange and with the embedded compiler's FMU of the same class, and print one
table. With the delta robot and the slide parameters are estimated, too: from made data, by
finite differences of this FMU and by the embedded compiler's FMU with its exact derivatives;
both results must be equal. Each class runs in a process of its own, so that an FMU that
crashes costs one row.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from proof_references import default_setup, deviation, reference_setup, references_of

from fmident import Problem, estimate
from fmident.catalog import BuildSettings, Entry, read_catalog
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.embedded import EmbeddedCompiler
from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
from fmident.errors import FmidentError, FmuError
from fmident.fmu import ModelDescription, SimulationSetup, open_fmu, read_description
from fmident.validation import plan_fmu, validate
from fmident.validation.checks.accuracy import Limits, limits
from fmident.validation.checks.model_exchange import (
    exchange,
    exchange_limits,
    own_tolerance,
    supports_model_exchange,
)

ROOT = Path(__file__).resolve().parents[1]
COMPILERS: dict[str, type[Compiler]] = {
    "openmodelica": OpenModelicaCompiler,
    "embedded": EmbeddedCompiler,
}
TWIN_TOLERANCE = 1e-12
"""Of the embedded compiler's FMU where it is taken for right. How far the other may be off is
derived from its tolerance and from what that leaves (fmident.validation.checks.accuracy)."""
REFERENCE_LIMIT = 1e-5
"""Largest deviation from a reference over its range, as in the catalogue."""
ESTIMATED = {
    "Mechanisms.FMUs.DeltaInverse": (
        ("lowerArmMass", "upperArmMass", "platformMass", "motorInertia", "gearEfficiency",
         "coulombTorque", "viscousFriction"),
        ("tau[1]", "tau[2]", "tau[3]"),
    ),
    "Mechanisms.FMUs.SlideWithLuGreFriction": (
        ("m", "sigma0", "sigma1", "viscousFriction", "coulombForce", "staticForce",
         "stribeckSpeed"),
        ("x", "v"),
    ),
}  # fmt: skip
"""Classes with what is estimated, and what is measured for it."""
NOISE = 1e-3
"""Standard deviation of the noise on measured outputs, over their range."""
ESTIMATE_LIMIT = 0.1
"""How far two estimates from the same data may be apart, in standard errors."""
CHECK_SECONDS = 300.0
"""Limit of one check of ``fmident validate``."""
ROW = "fmident-row "
"""Begin of the line that holds a row: FMUs may print, too."""


@dataclass
class Row:
    """What was found about one class; deviations are relative to the signals' ranges."""

    name: str
    build_seconds: float | None = None
    valid: str = ""
    run_ms: float | None = None
    twin_run_ms: float | None = None
    twin_build_seconds: float | None = None
    reference: float | None = None
    twin: float | None = None
    exchange: float | None = None
    estimate: float | None = None
    tolerance: float | None = None
    limits: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def runnable_classes(library: Path) -> list[str]:
    """Return the full names of the classes of a library that can run."""
    found = []
    for file in sorted(library.rglob("*.mo")):
        text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', '""', file.read_text(), flags=re.S)
        within = re.search(r"^\s*within\s+([\w.]+)\s*;", text)
        head = re.search(r"\b(partial\s+)?(?:model|block)\s+(\w+)", text)
        if head and within and not head[1] and re.search(r"\bexperiment\s*\(", text):
            found.append(f"{within[1]}.{head[2]}")
    return found


def simulate(fmu: Path, setup: SimulationSetup) -> tuple[np.ndarray, float]:
    """Run an FMU twice; return outputs and the second run's time in ms."""
    with open_fmu(fmu) as opened:
        description = opened.description
        openmodelica = description.generation_tool.startswith("OpenModelica")
        if openmodelica and description.input_ramps is None and setup.interpolation == "auto":
            # It holds its inputs; their means make the half of the error that can be made up.
            setup = replace(setup, interpolation="mean")
        with opened.simulator() as simulator:
            simulator.simulate(setup)
            begin = time.perf_counter()
            result = simulator.simulate(setup)
            return result, 1e3 * (time.perf_counter() - begin)


def prove_class(
    name: str,
    sources: Sequence[Path],
    output: Path,
    references: Path,
    compiler: str = "openmodelica",
    options: dict[str, object] | None = None,
) -> Row:
    """Build, validate and compare one class."""
    row = Row(name)
    fmu = output / f"{name}.fmu"
    entry = find_entry(name, references)
    settings = BuildSettings() if entry is None else entry.settings_of(compiler)
    chosen = {**settings.options, **(options or {})}
    try:
        request = BuildRequest(name, tuple(sources), fmu, settings.tolerance, chosen)
        row.build_seconds = COMPILERS[compiler]().build(request).seconds
        row.tolerance = read_description(fmu).default_tolerance
        validate_class(row, fmu, entry)
        if entry is None or not entry.references:
            compare_with_references(row, fmu, references)
        compare_with_model_exchange(row, fmu, references)
        compare_with_twin(row, fmu, sources, output, references)
        if name in ESTIMATED:
            compare_estimates(row, fmu, output / f"{name}.embedded.fmu", references)
    except FmidentError as error:
        row.problems.append(str(error))
    return row


def find_entry(name: str, references: Path) -> Entry | None:
    """Return what the catalogue beside the references says of a class."""
    file = references.parent / "catalog.toml"
    if not file.is_file():
        return None
    return next((e for e in read_catalog(file).entries if e.class_name == name), None)


def validate_class(row: Row, fmu: Path, entry: Entry | None) -> None:
    """Run all checks of ``fmident validate``, among them the catalogue's trajectories."""
    (report,) = validate([plan_fmu(fmu, entry)], timeout=CHECK_SECONDS, jobs=1)
    if report.unusable is not None:
        raise FmuError(report.unusable)
    failed = [c for c in report.checks if not c.passed]
    row.valid = f"{len(report.checks) - len(failed)}/{len(report.checks)}"
    row.reference = report.deviation
    if entry is not None and entry.references and report.deviation is not None:
        tubes = [r.tube for r in entry.references]
        row.limits["reference"] = max(*tubes, entry.settings_of("openmodelica").tube or 0.0, 0.0)
    row.notes += [
        f"{c.name}: {c.detail}"
        for c in report.checks
        if c.name == "model exchange" or c.outcome == "finding"
    ]
    row.problems += [f"{c.name}: {c.detail}" for c in failed]


def compare_with_references(row: Row, fmu: Path, references: Path) -> None:
    """Repeat every recorded trajectory of the class."""
    for reference in references_of(row.name, references):
        with open_fmu(fmu) as opened:
            setup, expected, every = reference_setup(reference, opened.description)
        result, row.run_ms = simulate(fmu, setup)
        found = deviation(result[::every], expected)
        row.reference = max(found, row.reference or 0.0)
        # What the references of the same machine in the catalogue ask for.
        limit = row.limits["reference"] = REFERENCE_LIMIT
        if not found <= limit:
            row.problems.append(f"{reference.file.name}: off by {found:.1e}, allowed {limit:.0e}")


def compare_with_model_exchange(row: Row, fmu: Path, references: Path) -> None:
    """Integrate the same FMU as Model Exchange, by FMPy with CVODE."""
    if not supports_model_exchange(fmu):
        return
    with open_fmu(fmu) as opened:
        reference = next(references_of(row.name, references), None)
        if reference is not None and not reference.formulas:
            setup, _, _ = reference_setup(reference, opened.description)
        else:
            setup = default_setup(opened.description)
        if not setup.output_names:
            return
        late = opened.description.sees_events_late
    if late:
        return  # simulated as Model Exchange: judged by the check of that name
    result, _ = simulate(fmu, setup)
    try:
        expected = exchange(fmu, setup)
        derived = exchange_limits(fmu, setup, expected, own_tolerance(fmu, setup))
    except FmidentError as error:
        row.problems.append(f"as Model Exchange it fails: {error}")
        return
    judge(row, "exchange", derived, setup.output_names, result, expected)


def judge(
    row: Row,
    what: str,
    derived: Limits,
    names: Sequence[str],
    result: np.ndarray,
    expected: np.ndarray,
) -> None:
    """Hold a result against derived limits; note the signal that uses most of its own."""
    column, gap, allowed = derived.worst(result, expected)
    setattr(row, what, gap)
    row.limits[what] = allowed
    row.notes.append(
        f"{what}: '{names[column]}' is off by {gap:.1e}, allowed {allowed:.1e}: a tolerance of"
        f" {derived.tolerance:.0e} leaves {derived.error[column]:.1e}"
    )
    if not gap <= allowed:
        row.problems.append(row.notes[-1])


def compare_with_twin(
    row: Row, fmu: Path, sources: Sequence[Path], output: Path, references: Path
) -> None:
    """Run the embedded compiler's FMU of the same class on the same inputs."""
    twin = output / f"{row.name}.embedded.fmu"
    request = BuildRequest(row.name, tuple(sources), twin)
    row.twin_build_seconds = EmbeddedCompiler().build(request).seconds
    with open_fmu(fmu) as opened, open_fmu(twin) as other:
        description = opened.description
        reference = next(references_of(row.name, references), None)
        if reference is not None:
            setup, _, _ = reference_setup(reference, description)
        else:
            setup = default_setup(description)
        known = other.description.by_name
        shared = tuple(n for n in setup.output_names if n in known) or inner_signals(
            description, other.description
        )
        values = {k: v for k, v in setup.start_values.items() if k in known}
        top = [v.name for v in other.description.settable_parameters if "." not in v.name]
        lost = {*top} - {v.name for v in description.settable_parameters}
        row.problems += [f"the parameter '{name}' cannot be set" for name in sorted(lost)]
    setup = SimulationSetup(
        setup.times, setup.input_names, setup.inputs, shared, values, setup.tolerance
    )
    _, row.run_ms = simulate(fmu, setup)
    _, row.twin_run_ms = simulate(twin, setup)
    # FMUs that honour the tolerance they are given are compared at a tight one: the embedded
    # compiler's own error must not count. OpenModelica's keep that of their export.
    tight = replace(setup, tolerance=TWIN_TOLERANCE)
    result, _ = simulate(fmu, tight)
    expected, _ = simulate(twin, tight)
    derived = twin_limits(fmu, twin, setup, expected)
    judge(row, "twin", derived, shared, result, expected)


def compare_estimates(row: Row, fmu: Path, twin: Path, references: Path) -> None:
    """Estimate parameters with both FMUs, from the embedded one's outputs with noise.

    The deviation is the largest one, in standard errors.
    """
    names, measured = ESTIMATED[row.name]
    random = np.random.default_rng(1)
    with open_fmu(twin) as opened, opened.simulator() as simulator:
        truth = {n: float(opened.description.variable(n).start or 0.0) for n in names}
        frames = {}
        for reference in references_of(row.name, references):
            # Inputs on lines between the rows, whatever made them: both FMUs follow lines.
            setup, _, _ = reference_setup(replace(reference, formulas={}), opened.description)
            made = replace(setup, output_names=measured, start_values={}, tolerance=TWIN_TOLERANCE)
            signals = simulator.simulate(made)
            signals += NOISE * np.ptp(signals, axis=0) * random.standard_normal(signals.shape)
            assert setup.inputs is not None  # set by SimulationSetup itself
            columns = np.column_stack([setup.times, setup.inputs, signals])
            head = ("time", *setup.input_names, *measured)
            frames[reference.file.stem] = pd.DataFrame(columns, columns=list(head))
    found = []
    for path, difference in ((twin, "sensitivities"), (fmu, "central")):
        problem = Problem.from_frames(
            path,
            frames,
            parameters={
                n: {"initial": 1.1 * v, "bounds": (0.2 * v, 5.0 * v)} for n, v in truth.items()
            },
            inputs={n: n for n in setup.input_names},
            outputs={n: {"column": n} for n in measured},
            evaluation={"difference": difference},
            estimator={"name": "least-squares"},
        )
        found.append(estimate(problem))
    expected, other = (result.parameters.loc[list(names)] for result in found)
    gaps = (other["value"] - expected["value"]).abs() / expected["standard_error"]
    row.estimate, row.limits["estimate"] = float(gaps.max()), ESTIMATE_LIMIT
    row.notes.append(
        f"estimate: '{gaps.idxmax()}' is {row.estimate:.1e} standard errors off, allowed"
        f" {ESTIMATE_LIMIT:g}; {len(names)} parameters"
    )
    if not row.estimate <= ESTIMATE_LIMIT:
        row.problems.append(row.notes[-1])


def twin_limits(fmu: Path, twin: Path, setup: SimulationSetup, expected: np.ndarray) -> Limits:
    """Return how far an FMU may be off the embedded compiler's, which is taken for right.

    What the FMU's tolerance leaves is measured with its own equations, as Model Exchange; where
    it has no such part, with the embedded compiler's FMU (they integrate differently well at
    the same tolerance: 2.4e-6 and 4e-8 of range in the positioning axis at 1e-9).
    """
    if supports_model_exchange(fmu):
        return exchange_limits(fmu, setup, exchange(fmu, setup), own_tolerance(fmu, setup))
    asked = 10.0 * TWIN_TOLERANCE
    rough, _ = simulate(twin, replace(setup, tolerance=asked))
    return limits(expected, rough, asked, setup.output_names, read_description(twin))


def inner_signals(description: ModelDescription, other: ModelDescription) -> tuple[str, ...]:
    """Return the variables that both have; for examples, which have no outputs."""
    known = other.by_name
    return tuple(
        v.name
        for v in description.variables
        if v.type == "Real"
        and v.variability == "continuous"
        and v.name in known
        and not re.search(r"\$|^_D_|^der\(|^fmident\.|^time$", v.name)
    )


def table(rows: Sequence[Row]) -> str:
    """Return the result as text."""
    titles = (
        "class,build s,embedded s,valid,tolerance,reference,embedded,exchange,estimate,run ms,"
        "embedded ms,verdict"
    )
    head = tuple(titles.split(","))
    body = [
        (
            r.name,
            _number(r.build_seconds, ".1f"),
            _number(r.twin_build_seconds, ".1f"),
            r.valid,
            _number(r.tolerance, ".0e"),
            _against(r, "reference"),
            _against(r, "twin"),
            _against(r, "exchange"),
            _against(r, "estimate"),
            _number(r.run_ms, ".1f"),
            _number(r.twin_run_ms, ".1f"),
            "ok" if r.passed else "FAILED",
        )
        for r in rows
    ]
    widths = [max(len(line[k]) for line in (head, *body)) for k in range(len(head))]
    lines = []
    for first, *others in (head, *body):
        cells = [c.rjust(w) for c, w in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    lines.insert(1, "-" * len(lines[0]))
    failed = [r for r in rows if not r.passed]
    for row in failed:
        lines += ["", row.name, *(f"  {line}" for p in row.problems for line in _shortened(p))]
    if any(r.notes for r in rows):
        lines += ["", "Deviation <limit, over the range of the signal that uses most of its limit:"]
    for row in rows:
        lines += ["", row.name, *(f"  {line}" for line in row.notes)] if row.notes else []
    lines += ["", f"{len(rows) - len(failed)} of {len(rows)} classes passed"]
    return "\n".join(lines)


def _shortened(text: str, most: int = 24) -> list[str]:
    lines = text.splitlines()
    left_out = len(lines) - most
    return lines if left_out <= 0 else [*lines[:most], f"... and {left_out} lines more"]


def _against(row: Row, what: str) -> str:
    """Return a deviation and its limit."""
    value, limit = getattr(row, what), row.limits.get(what)
    return _number(value, ".1e") + (f" <{limit:.1e}" if value is not None and limit else "")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def in_a_process(name: str, arguments: Sequence[str], timeout: float) -> Row:
    """Prove one class in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), *arguments, "--one", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return Row(name, problems=[f"not finished after {timeout:g} s"])
    last = next((li for li in done.stdout.splitlines() if li.startswith(ROW)), "")
    try:
        return Row(**json.loads(last.removeprefix(ROW)))
    except (ValueError, TypeError):
        said = (done.stderr or done.stdout).strip()[-2000:]
        return Row(name, problems=[f"the process ended with code {done.returncode}: {said}"])


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    made = argparse.ArgumentParser(
        prog="ci/prove-openmodelica",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: ci/prove-openmodelica --class Mechanisms.FMUs.DeltaInverse",
    )
    modelica = ROOT / "modelica"
    made.add_argument("--library", type=Path, action="append", help="folder with package.mo")
    made.add_argument("--class", dest="classes", action="append", help="only this class")
    made.add_argument("--references", type=Path, default=ROOT / "fmus" / "reference")
    made.add_argument("--output", type=Path, default=ROOT / "dist" / "openmodelica")
    made.add_argument("--compiler", choices=sorted(COMPILERS), default="openmodelica")
    made.add_argument("--option", action="append", default=[], help="NAME=VALUE for the compiler")
    made.add_argument("--timeout", type=float, default=1800.0, help="per class, s")
    made.add_argument("--json", type=Path, help="write the result there, too")
    made.add_argument("--one", help=argparse.SUPPRESS)
    made.set_defaults(libraries=[modelica / "Mechanisms"])
    return made


def option_of(text: str) -> tuple[str, object]:
    """Read ``NAME=VALUE``; a value that is none of TOML is a text."""
    name, _, value = text.partition("=")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def main(arguments: Sequence[str]) -> int:
    """Prove; return 0 if every class passed, 1 if not, 2 if it cannot be done here."""
    given = parser().parse_args(arguments)
    libraries = [p for p in given.library or given.libraries if (p / "package.mo").is_file()]
    options = dict(option_of(text) for text in given.option)
    if given.one:
        row = prove_class(
            given.one, libraries, given.output, given.references, given.compiler, options
        )
        print(f"\n{ROW}{json.dumps(asdict(row))}", flush=True)
        return 0
    why = COMPILERS[given.compiler]().unavailable()
    if why is not None:
        print(f"the proof cannot run here: {why}", file=sys.stderr)
        return 2
    names = given.classes or [n for library in libraries for n in runnable_classes(library)]
    if not names:
        print("no class to prove: name libraries with --library", file=sys.stderr)
        return 2
    given.output.mkdir(parents=True, exist_ok=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
    print(f"{COMPILERS[given.compiler]().version()}; {len(names)} classes", flush=True)
    rows = []
    for name in names:
        row = in_a_process(name, arguments, given.timeout)
        rows.append(row)
        if given.json:  # after each class: a job that is cancelled keeps what it has
            given.json.write_text(json.dumps([asdict(r) for r in rows], indent=2) + "\n")
        print(f"{'ok    ' if row.passed else 'FAILED'} {name}", file=sys.stderr, flush=True)
    print(table(rows))
    return 0 if all(r.passed for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
