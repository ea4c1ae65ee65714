from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.report.tables.csv_file import write_csv

COLUMNS = {
    "text": ["a", 'with "marks", and comma', "", None],
    "number": [0.1, 1e-300, math.nan, -math.inf],
    "long": [1.0 / 3.0, 1e22, 123456789.123456789, -0.0],
    "whole": [1, 2, 3, 10**6],
    "gap in whole numbers": [1, None, 3, 4],
    "mixed": [1, 2.5, None, 4],
    "truth": [True, False, True, True],
    "truth or not known": [True, None, False, True],
    "nothing": [None, None, None, None],
    "name [kg, \u00b5m]": [1.0, 2.0, 3.0, 4.0],
}


@pytest.mark.parametrize("digits", [None, 9, 12])
def test_the_file_is_the_one_that_pandas_writes(tmp_path: Path, digits: int | None) -> None:
    write_csv(tmp_path / "own.csv", list(COLUMNS), [COLUMNS], digits=digits)
    form = None if digits is None else f"%.{digits}g"
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "pandas.csv", index=False, float_format=form)
    assert (tmp_path / "own.csv").read_bytes() == (tmp_path / "pandas.csv").read_bytes()


def test_random_numbers_are_written_as_pandas_writes_them(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    numbers = generator.integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    for digits in (None, 9):
        write_csv(tmp_path / "own.csv", ["x"], [{"x": numbers.tolist()}], digits=digits)
        form = None if digits is None else f"%.{digits}g"
        pd.DataFrame({"x": numbers}).to_csv(tmp_path / "p.csv", index=False, float_format=form)
        assert (tmp_path / "own.csv").read_bytes() == (tmp_path / "p.csv").read_bytes()


def test_parts_follow_each_other_and_may_lack_columns(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", ["a", "b"], [{"a": [1], "b": [2]}, {"a": [3]}])
    assert (tmp_path / "x.csv").read_text(encoding="utf-8").split() == ["a,b", "1,2", "3,"]
