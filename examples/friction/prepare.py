"""Make the data of the friction study: measured, or simulated for those who have no measured ones.

    python examples/friction/prepare.py path/to/identification.csv    # or FMIDENT_EMPS_DATA
    python examples/friction/prepare.py --synthetic                   # the truth is in README.md

Both write ``data/axis.csv``: speed and acceleration from the filtered position, and the force. The
measured data set (EMPS) is not part of this project; the README of the study ``positioning-axis``
says where to get it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
AXIS = HERE.parent / "positioning-axis" / "prepare.py"

TRUTH = {"m": 95.0, "coulombForce": 20.0, "viscousFriction": 200.0, "offset": -3.0}
NOISE, CORRELATION = 2.0, 0.7
"""Standard deviation of the synthetic noise on the decimated force, N; of neighbours, 10 ms."""

PERIOD, END = 1e-3, 24.84
COLUMNS = ["time [s]", "qd [m/s]", "qdd [m/s2]", "force [N]"]


def positioning_axis() -> ModuleType:
    """Return the script that prepares the measured data for the study of the axis."""
    spec = importlib.util.spec_from_file_location("axis_prepare", AXIS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(path: Path) -> pd.DataFrame:
    """Return filtered motion and force of the measured record."""
    script = positioning_axis()
    rows: pd.DataFrame = script.inverse_rows(script.read_measured(path))
    return rows[COLUMNS]


def synthetic(seed: int = 1, static: float = 20.0, speed: float = 0.01) -> pd.DataFrame:
    """Return a motion like the measured one, with Coulomb and viscous friction and coloured noise.

    Parameters
    ----------
    seed
        Of the noise.
    static, speed
        Static friction, N, and Stribeck speed, m/s; by default there is no Stribeck effect.
    """
    times = np.arange(0.0, END, PERIOD)
    w = 2.0 * np.pi / 6.24  # a cycle forth and back, as in the record
    qd = 0.12 * np.sin(w * times) + 0.02 * np.sin(5.0 * w * times)
    qdd = 0.12 * w * np.cos(w * times) + 0.1 * w * np.cos(5.0 * w * times)
    level = TRUTH["coulombForce"] + (static - TRUTH["coulombForce"]) * np.exp(-((qd / speed) ** 2))
    force = TRUTH["m"] * qdd + level * np.tanh(qd / 1e-5) + TRUTH["viscousFriction"] * qd
    rng = np.random.default_rng(seed)
    slow = np.empty(times.size // 10 + 2)
    slow[0] = rng.normal()
    for k in range(1, slow.size):
        slow[k] = CORRELATION * slow[k - 1] + np.sqrt(1.0 - CORRELATION**2) * rng.normal()
    noise = NOISE * np.interp(times, 10.0 * PERIOD * np.arange(slow.size), slow)
    columns = np.column_stack([times, qd, qdd, force + TRUTH["offset"] + noise])
    return pd.DataFrame(columns, columns=COLUMNS)


def main() -> None:
    """Write the data."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "data",
        nargs="?",
        type=Path,
        default=os.environ.get("FMIDENT_EMPS_DATA"),
        help="identification.csv of the data set; by default FMIDENT_EMPS_DATA",
    )
    parser.add_argument("--synthetic", action="store_true", help="simulated data in its place")
    parser.add_argument("--seed", type=int, default=1, help="of the synthetic noise")
    parser.add_argument("--output", type=Path, default=HERE / "data", metavar="FOLDER")
    args = parser.parse_args()
    if not args.synthetic and (args.data is None or not Path(args.data).exists()):
        parser.error("give the path of identification.csv, or --synthetic")
    rows = synthetic(args.seed) if args.synthetic else measured(Path(args.data))
    args.output.mkdir(parents=True, exist_ok=True)
    rows.to_csv(args.output / "axis.csv", index=False, float_format="%.12g")
    print(f"{args.output / 'axis.csv'}: {len(rows)} rows")


if __name__ == "__main__":
    main()
