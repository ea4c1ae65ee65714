"""Make the step responses of the PT2 study: mass, spring and damper, no noise.

Section 3.1 of the paper: ``m x'' + d x' + k x = F`` from rest, a step of the force that ends at
a deflection of 1 mm, sampled every 4 ms over twenty periods of the undamped oscillation.

    python examples/pt2/generate.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

HERE = Path(__file__).parent
CLASS = "Mechanisms.FMUs.MassSpringDamper"
FMU = HERE.parents[1] / "fmus" / f"{CLASS}.fmu"

DEFLECTION = 1e-3  # m, in the end
SAMPLE = 4e-3  # s
PERIODS = 20
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Nominal:
    """One set of nominal parameters.

    Parameters
    ----------
    m
        Mass, kg.
    k
        Stiffness, N/m.
    damping
        Relative damping, ``d / (2 sqrt(k m))``.
    """

    m: float
    k: float
    damping: float

    @property
    def d(self) -> float:
        """Damping constant, N.s/m."""
        return 2 * self.damping * float(np.sqrt(self.k * self.m))

    @property
    def parameters(self) -> dict[str, float]:
        """The FMU's parameters."""
        return {"m": self.m, "d": self.d, "k": self.k}


NOMINAL = {
    "soft": Nominal(3.0, 400.0, 0.05),
    "damped": Nominal(3.0, 400.0, 0.1),
    "stiff": Nominal(3.0, 1600.0, 0.07),
    "light": Nominal(0.75, 400.0, 0.2),
    "fading": Nominal(0.75, 1600.0, 0.02),
    "ringing": Nominal(0.75, 1600.0, 0.005),
}
"""Six sets. (Those of the paper's Table 2 are not in its text.)"""


def step_response(nominal: Nominal, fmu: Path = FMU) -> pd.DataFrame:
    """Return force and position of one set."""
    horizon = PERIODS * 2 * np.pi / np.sqrt(nominal.k / nominal.m)
    times = np.arange(0.0, horizon, SAMPLE)
    force = np.full(times.size, DEFLECTION * nominal.k)
    setup = SimulationSetup(times, ("F",), force[:, None], ("x",), tolerance=TOLERANCE)
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        position = simulator.simulate(setup, nominal.parameters)[:, 0]
    return pd.DataFrame({"time [s]": times, "force [N]": force, "position [m]": position})


def record(name: str, table: pd.DataFrame, **facts: str) -> None:
    """Add a table of texts, and facts, to ``figures.json``, of which the README is made."""
    file = HERE / "figures.json"
    found = json.loads(file.read_text()) if file.exists() else {"tables": {}, "facts": {}}
    rows = table.astype(str).to_numpy().tolist()
    found["tables"][name] = {"header": list(table.columns), "rows": rows}
    found.setdefault("facts", {}).update(facts)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--fmu", type=Path, default=FMU)
    parser.add_argument("--output", type=Path, default=HERE / "data", metavar="FOLDER")
    args = parser.parse_args()
    if not args.fmu.exists():
        parser.error(f"no FMU at {args.fmu}: run 'fmident build {CLASS}'")
    args.output.mkdir(parents=True, exist_ok=True)
    for name, nominal in NOMINAL.items():
        table = step_response(nominal, args.fmu)
        table.to_csv(args.output / f"{name}.csv", index=False, float_format="%.17g")
        print(f"{args.output / f'{name}.csv'}: {len(table)} samples")


if __name__ == "__main__":
    main()
