"""Time axes: found, checked, merged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.data import merge, read_table, time_axis, time_column
from fmident.errors import Code, DataError

from ..refused import refused


def axis(folder: Path, content: str, name: str | None = None) -> np.ndarray:
    path = folder / "data.csv"
    path.write_text(content)
    table = read_table(path)
    return time_axis(table, time_column(table, name))


@pytest.mark.parametrize(
    ("header", "name", "expected"),
    [
        ("x,time", None, "time"),
        ("x,Time [s]", None, "Time"),
        ("x,t", None, "t"),
        ("a,b", None, "a"),
        ("t,b", "b", "b"),
    ],
)
def test_which_column(header: str, name: str | None, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"{header}\n0,0\n1,1\n")
    assert time_column(read_table(path), name) == expected


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("", 10.0), (" [s]", 10.0), (" [ms]", 0.01), (" (min)", 600.0), (" [us]", 1e-5)],
)
def test_units_of_time(unit: str, expected: float, tmp_path: Path) -> None:
    found = axis(tmp_path, f"t{unit},x\n0,1\n10,2\n")
    assert found[1] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ("t,x\n0,1\n1,2\n# c\n1,3\n", ("data.csv:5", "1 appears twice")),
        ("t,x\n0,1\n2,2\n1,3\n3,4\n", ("data.csv:4", "time 1 goes back from 2")),
        ("t,x\n0,1\n,2\n1,3\n", ("data.csv:3", "missing")),
        ("t,x\n0,1\n", ("data.csv", "fewer than two rows")),
        ("t [m],x\n0,1\n1,2\n", ("data.csv", "'m'", "not a time")),
        ("t [sec],x\n0,1\n1,2\n", ("data.csv", "'sec'")),
        ("t,x\n0,1\n12:00,2\n", ("data.csv:3:1", "'12:00'")),
    ],
)
def test_refused(content: str, fragments: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        axis(tmp_path, content)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_an_unknown_column_of_time(tmp_path: Path) -> None:
    with refused(Code.UNKNOWN_NAME, DataError, match="'zeit'"):
        axis(tmp_path, "t,x\n0,1\n1,2\n", "zeit")


def test_stamps_that_differ_in_the_last_bits_are_one_instant() -> None:
    first = 0.01 * np.arange(1000)
    second = first + 3.6e-15 * np.random.default_rng(0).choice([-1.0, 1.0], 1000)
    assert (first != second).any()
    times, rows_first, rows_second = merge(first, second)
    np.testing.assert_array_equal(times, first)
    np.testing.assert_array_equal(rows_first, np.arange(1000))
    np.testing.assert_array_equal(rows_second, np.arange(1000))


def test_accumulated_steps_align_with_multiplied_ones() -> None:
    first = 0.1 * np.arange(101)
    second = np.concatenate([[0.0], np.cumsum(np.full(100, 0.1))])
    assert np.abs(first - second).max() > 1e-15
    times, _, rows = merge(first, second)
    np.testing.assert_array_equal(times, first)
    np.testing.assert_array_equal(rows, np.arange(101))


def test_seconds_since_1970_align_in_spite_of_their_coarse_stamps() -> None:
    first = 1.7e9 + 1e-3 * np.arange(100)
    second = np.nextafter(first, np.inf)
    times, _, rows = merge(first, second)
    np.testing.assert_array_equal(times, first)
    np.testing.assert_array_equal(rows, np.arange(100))


def test_a_single_instant() -> None:
    times, _, rows = merge(np.arange(3.0), np.array([1.0 + 1e-9]))
    np.testing.assert_array_equal(times, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(rows, [1])
    times, _, rows = merge(np.arange(3.0), np.array([1.5]))
    np.testing.assert_array_equal(times, [0.0, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(rows, [2])


def test_different_rates_and_instants_of_one_axis_only() -> None:
    times, a, b = merge(np.array([0.0, 1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 1.5, 3.0, 4.0]))
    np.testing.assert_array_equal(times, [-1.0, 0.0, 1.0, 1.5, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(times[a], [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(times[b], [-1.0, 0.0, 1.5, 3.0, 4.0])
