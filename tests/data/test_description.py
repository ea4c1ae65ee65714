"""What a data file holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fmident.data import read_table, time_axis, time_column
from fmident.data.description import DataDescription, describe, spark


def described(folder: Path, content: str) -> DataDescription:
    path = folder / "data.csv"
    path.write_text(content, encoding="utf-8")
    table = read_table(path)
    column = time_column(table)
    return describe(table, time_axis(table, column), column)


def test_columns_rate_and_pauses(tmp_path: Path) -> None:
    times = [0.0, 10.0, 20.0, 30.0, 90.0, 100.0]
    cells = ["1", "3", "", "5", "-1", "2"]
    rows = "".join(f"{t},{x},on\n" for t, x in zip(times, cells, strict=True))
    found = described(tmp_path, f"time [ms],x [mm],state\n{rows}")
    assert found.rows == 6
    assert (found.time.start, found.time.stop) == (0.0, 0.1)
    assert found.time.step == pytest.approx(0.01)
    assert not found.time.even
    ((start, length),) = found.time.pauses
    assert (start, length) == (pytest.approx(0.03), pytest.approx(0.06))
    x, state = found.columns
    assert (x.name, x.unit, x.samples, x.missing) == ("x", "mm", 5, 1)
    assert (x.smallest, x.largest, x.mean) == (-1.0, 5.0, 2.0)
    assert "'on' in column 'state'" in str(state.problem)
    stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert stored["columns"][1]["mean"] is None
    assert stored["time"]["pauses"] == [[start, length]]


def test_what_is_missing_or_infinite_has_a_place(tmp_path: Path) -> None:
    found = described(tmp_path, "time,x,y\n0,1,1\n1,nan,inf\n2,,3\n3,4,-inf\n")
    x, y = found.columns
    assert (x.samples, x.missing, x.infinite) == (2, 2, 0)
    assert (x.first_missing, x.first_infinite) == ("line 3", "")
    assert (y.samples, y.missing, y.infinite, y.first_infinite) == (2, 0, 2, "line 3")


def test_an_even_axis(tmp_path: Path) -> None:
    rows = "".join(f"2024-03-01T00:00:{k:02d}Z,{k}\n" for k in range(60))
    found = described(tmp_path, f"time,x\n{rows}")
    assert found.time.even
    assert found.time.pauses == ()
    assert found.time.since == "2024-03-01 00:00:00 UTC"


def test_sparks() -> None:
    assert spark(np.arange(8.0), 8) == "▁▂▃▄▅▆▇█"
    assert spark(np.arange(800.0), 8) == "▁▂▃▄▅▆▇█"
    assert spark(np.array([0.0, np.nan, 1.0])) == "▁ █"
    assert spark(np.full(3, np.nan)) == "   "
    assert spark(np.full(3, 7.0)) == "▁▁▁"
