"""Reference trajectories of ``fmus/reference``: parameters, inputs and outputs of one file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from machines import ROOT, Machine, Signals


@dataclass(frozen=True)
class Reference:
    """One file: `signals` by column name, `parameters` as in its header."""

    parameters: dict[str, float]
    signals: Signals

    @property
    def times(self) -> np.ndarray:
        return self.signals["time"]


def read_reference(name: str) -> Reference:
    """Read ``fmus/reference/<name>.csv``."""
    parameters: dict[str, float] = {}
    rows: list[str] = []
    for line in (ROOT / "fmus" / "reference" / f"{name}.csv").read_text().splitlines():
        if not line.startswith("#"):
            rows.append(line)
        elif line.startswith("# parameters:"):
            pairs = (item.split("=") for item in line.split(":", 1)[1].split())
            parameters = {key: float(value) for key, value in pairs}
    columns = [column.split(" [")[0] for column in rows[0].split(",")]
    table = np.loadtxt(rows[1:], delimiter=",")
    return Reference(parameters, {c: table[:, k] for k, c in enumerate(columns)})


def known_parameters(machine: Machine, reference: Reference, without: set[str]) -> dict[str, float]:
    """Parameters of the file; every one must be a parameter of the machine or be in `without`."""
    unknown = {key for key in reference.parameters if key not in machine.names}
    assert unknown == without, f"parameters of the file that the machine lacks: {unknown}"
    return {k: v for k, v in reference.parameters.items() if k not in unknown}


def deviation_of_range(
    computed: Signals, expected: Signals, scale: dict[str, float] | None = None
) -> dict[str, float]:
    """Largest deviation of each signal over the range of the expected one."""
    found = {}
    for name, values in computed.items():
        wanted = expected[name]
        span = (
            (scale or {}).get(name) or float(np.ptp(wanted)) or float(np.max(np.abs(wanted))) or 1.0
        )
        found[name] = float(np.max(np.abs(values - wanted))) / span
    return found
