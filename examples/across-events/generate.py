"""Make the data of the three machines: simulations at a small tolerance, and noise.

The noise is normal, and its standard deviation is that of the problem files.

    python examples/across-events/generate.py [--output FOLDER] [--seed N]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import fmident
from fmident.arrays import F64
from fmident.fmu import SimulationSetup

HERE = Path(__file__).parent
SOURCE = HERE / "AcrossEvents.mo"
TOLERANCE = 1e-10


@dataclass(frozen=True)
class Machine:
    """One of the machines, and its experiment.

    Parameters
    ----------
    model
        Class of ``AcrossEvents``.
    truth
        Parameters that the data are made with.
    times
        Of the samples, s, shape (n,).
    inputs
        FMU variable to its column in the data and its samples.
    outputs
        FMU variable to its column in the data and the standard deviation of its noise.
    """

    model: str
    truth: dict[str, float]
    times: F64
    inputs: dict[str, tuple[str, F64]]
    outputs: dict[str, tuple[str, float]]


def _drive() -> Machine:
    times = np.arange(0.0, 12.0, 0.04)
    force = 1.3 * np.sin(1.1 * times) + 0.4 * np.sin(2.7 * times)
    return Machine(
        "Drive",
        {"m": 1.3, "Fc": 0.5, "Fs": 0.8, "d": 0.2},
        times,
        {"F": ("force [N]", force)},
        {"x": ("position [m]", 0.01), "v": ("speed [m/s]", 0.01)},
    )


def _tank() -> Machine:
    times = np.arange(0.0, 900.0, 3.0)
    ends = np.array([0.0, 60.0, 63.0, 360.0, 363.0, 600.0, 603.0, 900.0])
    wanted = np.interp(times, ends, np.repeat([0.3, 1.0, 0.4, 0.8], 2))
    return Machine(
        "Tank",
        {"A": 0.05, "outlet": 9e-5, "limit": 6e-4},
        times,
        {"wanted": ("wanted [m]", wanted)},
        {"h": ("level [m]", 0.002)},
    )


def _oven() -> Machine:
    return Machine(
        "Oven",
        {"rate": 0.02, "heating": 1.5, "low": 340.0, "high": 345.0},
        np.arange(0.0, 120.0, 0.4),
        {},
        {"T": ("temperature [K]", 0.2)},
    )


MACHINES = {"drive": _drive(), "tank": _tank(), "oven": _oven()}


def build(machine: Machine, folder: Path = HERE / "fmus") -> Path:
    """Return the FMU of a machine, compiled if it is missing or stale."""
    name = f"AcrossEvents.{machine.model}"
    return fmident.build_class(name, sources=[SOURCE], output=folder / f"{name}.fmu")


def simulated(machine: Machine, fmu: Path, values: Mapping[str, float] | None = None) -> F64:
    """Return the outputs without noise, with the truth or other parameters.

    Shape (samples, outputs).
    """
    samples = [values for _, values in machine.inputs.values()]
    setup = SimulationSetup(
        machine.times,
        tuple(machine.inputs),
        np.column_stack(samples) if samples else None,
        tuple(machine.outputs),
        tolerance=TOLERANCE,
    )
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        return simulator.simulate(setup, values or machine.truth)


def noise(machine: Machine, seed: int) -> F64:
    """Return the noise of all outputs, shape (samples, outputs)."""
    sigma = [sigma for _, sigma in machine.outputs.values()]
    return np.random.default_rng(seed).normal(0.0, sigma, (machine.times.size, len(sigma)))


def table(machine: Machine, fmu: Path, seed: int) -> pd.DataFrame:
    """Return the data of an experiment."""
    outputs = simulated(machine, fmu) + noise(machine, seed)
    columns = {"time [s]": machine.times}
    columns |= dict(machine.inputs.values())
    columns |= {name: outputs[:, k] for k, (name, _) in enumerate(machine.outputs.values())}
    return pd.DataFrame(columns)


def record(name: str, table: pd.DataFrame, **facts: str) -> None:
    """Add a table of texts, and facts, to ``figures.json``, of which the README is made."""
    file = HERE / "figures.json"
    found = json.loads(file.read_text()) if file.exists() else {"tables": {}, "facts": {}}
    rows = table.astype(str).to_numpy().tolist()
    found["tables"][name] = {"header": list(table.columns), "rows": rows}
    found.setdefault("facts", {}).update(facts)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write one file for each machine."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, default=HERE / "data")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name, machine in MACHINES.items():
        data = table(machine, build(machine), args.seed)
        data.to_csv(args.output / f"{name}.csv", index=False, float_format="%.12g")


if __name__ == "__main__":
    main()
