"""Reference trajectories: read, repeated with an FMU, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fmident.fmu import ModelDescription, SimulationSetup

FINER = 100
"""Points per row of a reference whose input was evaluated exactly."""


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
    """Return the trajectories of a class; the file may name a package that had it before."""
    machine = name.rpartition(".")[2]
    for file in sorted(folder.glob("*.csv")):
        reference = read_reference(file)
        if reference.model.rpartition(".")[2] == machine:
            yield reference


def evaluate(formula: str, times: np.ndarray) -> np.ndarray:
    """Return a formula of t at instants; it may hold numbers, sin, cos and pi only."""
    if not re.fullmatch(r"(?:sin|cos|pi|t|[\d.]+(?:e-?\d+)?|[-+*/() ])*", formula):
        raise ValueError(f"'{formula}' is not a formula of t")
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


def default_setup(
    description: ModelDescription, samples: int = 501, shift: float = 0.3
) -> SimulationSetup:
    """Return the class's own experiment, with gentle oscillations around the inputs' starts.

    With `shift` 0, rad, inputs start at rest: an integrator jumps over whole communication steps.
    """
    start, stop = description.default_start or 0.0, description.default_stop or 1.0
    times = np.linspace(start, stop, samples)
    phase = 6.0 * np.pi * (times - start) / (stop - start)
    driven = [v for v in description.inputs if v.type == "Real" and "fmident." not in v.name]
    columns = [
        float(v.start or 0.0) + 0.1 * np.sin(phase * (k + 1) + shift) for k, v in enumerate(driven)
    ]
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


def deviation(result: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest deviation of any signal, relative to the expected signal's range.

    Signals that stay constant are compared by their own size; what is below 1e-9 counts as
    rounding (the signals are in SI units, the smallest are of 1e-6 m).
    """
    span = np.ptp(expected, axis=0)
    size = np.max(np.abs(expected), axis=0)
    scale = np.maximum(np.where(span > 1e-9 * size, span, size), 1e-9)
    return float(np.max(np.abs(result - expected) / scale))
