"""Prepare the measured positioning axis (EMPS) for the problem files of this study.

The data set (A. Janot, M. Gautier, M. Brunot, "Data Set and Reference Models of EMPS",
Workshop on Nonlinear System Identification Benchmarks, 2019) is not part of this
project: README.md says where to get it.

    python examples/positioning-axis/prepare.py path/to/identification.csv

writes ``data/inverse.csv`` (filtered and differentiated motion with the measured force)
and ``data/closed-loop.csv`` (reference position, measured position and force).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import signal

HERE = Path(__file__).parent

GTAU = 35.15065188248547
"""Drive gain, N/V."""

PERIOD = 1e-3  # s, nominal
FIRST_ROW = 49  # the published procedure uses rows 50 to the end, counted from 1


def read_measured(path: Path) -> pd.DataFrame:
    """Return the columns t [s], qg [m], qm [m], vir [V] of the measured data."""
    frame = pd.read_csv(path)
    missing = {"t", "qg", "qm", "vir"} - set(frame.columns)
    if missing:
        raise SystemExit(f"{path}: no column {', '.join(sorted(missing))}; see README.md")
    return frame


def inverse_rows(measured: pd.DataFrame) -> pd.DataFrame:
    """Return motion and force as the published procedure prepares them.

    Zero-phase Butterworth low-pass (order 4, 100 Hz, padded by 12 samples) on the
    position, then central differences twice (one-sided at the ends).
    """
    b, a = signal.butter(4, 100.0, fs=1.0 / PERIOD)
    q = signal.filtfilt(b, a, measured["qm"].to_numpy(), padtype="odd", padlen=12)
    qd = np.gradient(q, PERIOD)
    qdd = np.gradient(qd, PERIOD)
    rows = pd.DataFrame(
        {
            "time [s]": np.arange(len(q)) * PERIOD,
            "q [m]": q,
            "qd [m/s]": qd,
            "qdd [m/s2]": qdd,
            "force [N]": GTAU * measured["vir"].to_numpy(),
        }
    )
    return rows.iloc[FIRST_ROW:]


def closed_loop_rows(measured: pd.DataFrame) -> pd.DataFrame:
    """Return reference position, measured position and force at the measured instants.

    ``clock`` counts the samples of the controller: a recorded instant that rounding puts
    before its sample would meet the voltage of the sample before.
    """
    return pd.DataFrame(
        {
            "time [s]": measured["t"],
            "clock [s]": np.arange(len(measured)) * PERIOD,
            "q_ref [m]": measured["qg"],
            "q [m]": measured["qm"],
            "force [N]": GTAU * measured["vir"],
        }
    )


def main() -> None:
    """Write both CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="identification.csv of the data set")
    parser.add_argument("--output", type=Path, default=HERE / "data", metavar="FOLDER")
    args = parser.parse_args()
    if not args.data.exists():
        parser.error(f"no file {args.data}; README.md says where to get the data set")
    measured = read_measured(args.data)
    args.output.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        ("inverse.csv", inverse_rows(measured)),
        ("closed-loop.csv", closed_loop_rows(measured)),
    ):
        rows.to_csv(args.output / name, index=False, float_format="%.15g")
        print(f"{args.output / name}: {len(rows)} rows")


if __name__ == "__main__":
    main()
