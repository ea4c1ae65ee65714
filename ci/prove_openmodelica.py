#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Prove the OpenModelica compiler on the project's libraries; see ``--help``.

For every class that can run (it has an ``experiment`` annotation and is not partial):
build it, validate the FMU, compare it with the recorded reference trajectories and with
the embedded compiler's FMU of the same machine, and print one table. Each class runs in a
process of its own, so that an FMU that crashes costs one row.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.embedded import EmbeddedCompiler
from fmident.compilers.openmodelica import OpenModelicaCompiler, ramp_inputs, ramp_setup
from fmident.errors import FmidentError
from fmident.fmu import ModelDescription, SimulationSetup, open_fmu
from fmident.validation import validate_fmu

ROOT = Path(__file__).resolve().parents[1]
COMPILERS: dict[str, type[Compiler]] = {
    "openmodelica": OpenModelicaCompiler,
    "embedded": EmbeddedCompiler,
}
REFERENCE_LIMIT = 1e-4
"""Largest deviation from a reference over its range. Inputs are ramps between samples:
with OpenModelica's CVODE that left 1e-4 to 4e-7."""
TWIN_LIMIT = 1e-5
"""The same class by both compilers."""
COUNTERPART_LIMIT = 1e-4
"""A class of MechanismsMSL and its counterpart in Mechanisms."""
FINER = 100
"""Points per row of a reference whose input was evaluated exactly."""
EVENT_LIMIT = 5e-2
"""Event-based friction: Co-Simulation sees events at communication points only."""


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
    problems: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True)
class Reference:
    """A recorded trajectory: model, parameters, columns.

    `formulas` holds inputs that were evaluated exactly, not as lines between the rows.
    """

    file: Path
    model: str
    parameters: dict[str, float]
    columns: dict[str, np.ndarray]
    formulas: dict[str, str] = field(default_factory=dict)


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


def read_reference(file: Path) -> Reference:
    """Read a file of ``fmus/reference``."""
    lines = file.read_text().splitlines()
    header = [line for line in lines if line.startswith("#")]
    model = next(li.split(":")[1].strip() for li in header if li.startswith("# model:"))
    parameters = next((li for li in header if li.startswith("# parameters:")), "")
    text = "\n".join(header)
    formula = re.search(r"^# input: (\w+)\(t\) = (.*?) [\w.]+, \d+ samples", text, re.MULTILINE)
    exact = formula is not None and "input evaluated exactly" in text
    names = [re.sub(r"\s*\[[^\[\]]*\]$", "", c) for c in lines[len(header)].split(",")]
    data = np.loadtxt(lines[len(header) + 1 :], delimiter=",", ndmin=2)
    return Reference(
        file,
        model,
        {k: float(v) for k, v in re.findall(r"(\S+)=(\S+)", parameters.partition(":")[2])},
        dict(zip(names, data.T, strict=True)),
        {formula[1]: formula[2]} if formula and exact else {},
    )


def references_of(name: str, folder: Path) -> Iterator[Reference]:
    """Return the trajectories of a class or of its counterpart in the other library."""
    machine = name.rpartition(".")[2]
    for file in sorted(folder.glob("*.csv")):
        reference = read_reference(file)
        if reference.model.rpartition(".")[2] == machine:
            yield reference


def evaluate(formula: str, times: np.ndarray) -> np.ndarray:
    """Return a formula of t at instants; it may hold numbers, sin, cos and pi only."""
    if not re.fullmatch(r"(?:sin|cos|pi|t|[\d.]+(?:e-?\d+)?|[-+*/() ])*", formula):
        raise ValueError(f"'{formula}' is no formula of t")
    names = {"sin": np.sin, "cos": np.cos, "pi": np.pi, "t": times}
    result: np.ndarray = eval(formula, {"__builtins__": {}}, names)
    return result


def reference_setup(
    reference: Reference, description: ModelDescription
) -> tuple[SimulationSetup, np.ndarray, int]:
    """Return the setup that repeats a reference, what it should give, and every how many rows."""
    columns = dict(reference.columns)
    every = 1
    if reference.formulas:
        # On a grid so fine that lines between its points do not matter (error ~ step^2).
        every = FINER
        rows = np.arange(len(columns["time"]))
        columns["time"] = np.interp(
            np.arange(every * rows[-1] + 1) / every, rows, reference.columns["time"]
        )
        columns |= {n: evaluate(f, columns["time"]) for n, f in reference.formulas.items()}
    inputs = [v.name for v in description.inputs if v.name in columns]
    outputs = [v.name for v in description.outputs if v.name in columns]
    settable = {v.name for v in description.settable_parameters}
    values = {k: v for k, v in reference.parameters.items() if k in settable}
    setup = SimulationSetup(
        columns["time"],
        tuple(inputs),
        np.column_stack([columns[n] for n in inputs]) if inputs else None,
        tuple(outputs),
        values,
        description.default_tolerance,
        "auto",
    )
    return setup, np.column_stack([columns[n] for n in outputs]), every


def default_setup(description: ModelDescription, samples: int = 501) -> SimulationSetup:
    """Return the class's own experiment, with gentle oscillations around the inputs' starts."""
    start, stop = description.default_start or 0.0, description.default_stop or 1.0
    times = np.linspace(start, stop, samples)
    phase = 6.0 * np.pi * (times - start) / (stop - start)
    driven = [v for v in description.inputs if v.type == "Real" and "fmident." not in v.name]
    columns = [float(v.start or 0.0) + 0.1 * np.sin(phase * (k + 1)) for k, v in enumerate(driven)]
    outputs = tuple(v.name for v in description.outputs if v.type == "Real")
    return SimulationSetup(
        times,
        tuple(v.name for v in driven),
        np.column_stack(columns) if columns else None,
        outputs,
        {},
        description.default_tolerance,
        "auto",
    )


def simulate(fmu: Path, setup: SimulationSetup) -> tuple[np.ndarray, float]:
    """Run an FMU twice; return outputs and the second run's time in ms."""
    ramps = ramp_inputs(fmu)
    update = "auto"
    if ramps is not None:
        setup, update = ramp_setup(setup, ramps), "before_step"
    elif read_tool(fmu).startswith("OpenModelica") and setup.interpolation == "auto":
        # It announces linear inputs and holds them.
        setup = SimulationSetup(
            setup.times, setup.input_names, setup.inputs, setup.output_names,
            setup.start_values, setup.tolerance, "mean",
        )  # fmt: skip
    with open_fmu(fmu) as opened, opened.simulator(input_update=update) as simulator:
        simulator.simulate(setup)
        begin = time.perf_counter()
        result = simulator.simulate(setup)
        return result, 1e3 * (time.perf_counter() - begin)


def read_tool(fmu: Path) -> str:
    """Return the tool that generated an FMU."""
    with open_fmu(fmu) as opened:
        return opened.description.generation_tool


def deviation(result: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest deviation of any signal, relative to the expected signal's range.

    Signals that stay constant are compared by their own size; what is below 1e-9 counts as
    rounding (the signals are in SI units, the smallest are of 1e-6 m).
    """
    span = np.ptp(expected, axis=0)
    size = np.max(np.abs(expected), axis=0)
    scale = np.maximum(np.where(span > 1e-9 * size, span, size), 1e-9)
    return float(np.max(np.abs(result - expected) / scale))


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
    try:
        request = BuildRequest(name, tuple(sources), fmu, None, dict(options or {}))
        row.build_seconds = COMPILERS[compiler]().build(request).seconds
        checks = validate_fmu(fmu)
        example = ".Examples." in name  # runs by itself, has no outputs
        failed = [
            f"{c.name}: {c.detail}"
            for c in checks
            if not c.passed and not (example and c.name == "contents")
        ]
        row.valid = f"{len(checks) - len(failed)}/{len(checks)}"
        row.problems += failed
        compare_with_references(row, fmu, references)
        compare_with_twin(row, fmu, sources, output, references)
    except FmidentError as error:
        row.problems.append(str(error))
    return row


def compare_with_references(row: Row, fmu: Path, references: Path) -> None:
    """Repeat every recorded trajectory of the class."""
    limit = EVENT_LIMIT if "WithEvents" in row.name else REFERENCE_LIMIT
    for reference in references_of(row.name, references):
        with open_fmu(fmu) as opened:
            setup, expected, every = reference_setup(reference, opened.description)
        result, row.run_ms = simulate(fmu, setup)
        found = deviation(result[::every], expected)
        row.reference = max(found, row.reference or 0.0)
        if not found <= limit:
            row.problems.append(f"{reference.file.name}: off by {found:.1e}, allowed {limit:.0e}")


def compare_with_twin(
    row: Row, fmu: Path, sources: Sequence[Path], output: Path, references: Path
) -> None:
    """Run the embedded compiler's FMU of the same machine on the same inputs."""
    twin_name = counterpart(row.name, sources)
    if twin_name is None:
        return
    twin = output / f"{twin_name}.embedded.fmu"
    own = twin_name == row.name
    request = BuildRequest(twin_name, tuple(sources), twin)
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
    setup = SimulationSetup(
        setup.times, setup.input_names, setup.inputs, shared, values, setup.tolerance
    )
    result, row.run_ms = simulate(fmu, setup)
    expected, row.twin_run_ms = simulate(twin, setup)
    row.twin = deviation(result, expected)
    limit = TWIN_LIMIT if own else COUNTERPART_LIMIT
    if not row.twin <= limit:
        row.problems.append(f"embedded {twin_name}: differs by {row.twin:.1e}, allowed {limit:.0e}")


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


def counterpart(name: str, sources: Sequence[Path]) -> str | None:
    """Return the class of ``Mechanisms`` that the embedded compiler can build for it."""
    library = next((s for s in sources if s.name == "Mechanisms"), None)
    if library is None:
        return None
    names = runnable_classes(library)
    machine = name.rpartition(".")[2]
    if name in names:
        return name
    return next((n for n in names if n.rpartition(".")[2] == machine), None)


def table(rows: Sequence[Row]) -> str:
    """Return the result as text."""
    head = ("class", "build s", "embedded s", "valid", "reference", "embedded", "run ms",
            "embedded ms", "verdict")  # fmt: skip
    body = [
        (
            r.name,
            _number(r.build_seconds, ".1f"),
            _number(r.twin_build_seconds, ".1f"),
            r.valid,
            _number(r.reference, ".1e"),
            _number(r.twin, ".1e"),
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
        lines += ["", row.name, *(f"  {p}".replace("\n", "\n  ") for p in row.problems)]
    lines += ["", f"{len(rows) - len(failed)} of {len(rows)} classes passed"]
    return "\n".join(lines)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def in_a_process(name: str, arguments: Sequence[str], timeout: float) -> Row:
    """Prove one class in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), *arguments, "--one", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return Row(name, problems=[f"not finished after {timeout:g} s"])
    last = done.stdout.strip().rpartition("\n")[2]
    try:
        return Row(**json.loads(last))
    except (ValueError, TypeError):
        said = (done.stderr or done.stdout).strip()[-2000:]
        return Row(name, problems=[f"the process ended with code {done.returncode}: {said}"])


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    made = argparse.ArgumentParser(
        prog="ci/prove-openmodelica",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: ci/prove-openmodelica --class Mechanisms.Robots.DeltaInverse",
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
    made.set_defaults(libraries=[modelica / "Mechanisms", modelica / "MechanismsMSL"])
    return made


def main(arguments: Sequence[str]) -> int:
    """Prove; return 0 if every class passed, 1 if not, 2 if it cannot be done here."""
    given = parser().parse_args(arguments)
    libraries = [p for p in given.library or given.libraries if (p / "package.mo").is_file()]
    options = dict(o.split("=", 1) for o in given.option)
    if given.one:
        row = prove_class(
            given.one, libraries, given.output, given.references, given.compiler, options
        )
        print(json.dumps(asdict(row)))
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
    print(f"{COMPILERS[given.compiler]().version()}; {len(names)} classes", flush=True)
    rows = []
    for name in names:
        row = in_a_process(name, arguments, given.timeout)
        rows.append(row)
        print(f"{'ok    ' if row.passed else 'FAILED'} {name}", file=sys.stderr, flush=True)
    print(table(rows))
    if given.json:
        given.json.write_text(json.dumps([asdict(r) for r in rows], indent=2) + "\n")
    return 0 if all(r.passed for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
