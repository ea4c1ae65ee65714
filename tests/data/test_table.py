"""CSV files as users have them: separators, units, gaps, and what is refused with which line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fmident.data import read_table, split_header, time_axis, time_column
from fmident.errors import Code, DataError, FmidentError

from ..refused import refused


def written(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("cell", "name", "unit"),
    [
        ("q", "q", None),
        ("q [rad]", "q", "rad"),
        ("q (rad)", "q", "rad"),
        ("q[rad]", "q", "rad"),
        ("q(rad/s)", "q", "rad/s"),
        ("q[1]", "q[1]", None),
        ("q[1,2]", "q[1,2]", None),
        ("q[1] [rad]", "q[1]", "rad"),
        ("q[1](rad)", "q[1]", "rad"),
        ("q[1][rad]", "q[1]", "rad"),
        ("axis.q[12] [N.m.s/rad]", "axis.q[12]", "N.m.s/rad"),
        ("ratio [1]", "ratio", "1"),
        ("ratio [-]", "ratio", "-"),
        ("torque [Nm]", "torque", "Nm"),
        ("force (measured)", "force (measured)", None),
        ("a[i]", "a[i]", None),
        ("der(x)", "der(x)", None),
        ("der(x) [m/s]", "der(x)", "m/s"),
        ("der(s)", "der(s)", None),
        ("axis.der(s)(m/s)", "axis.der(s)", "m/s"),
        ("  spaced name  ", "spaced name", None),
    ],
)
def test_header_cells(cell: str, name: str, unit: str | None) -> None:
    assert split_header(cell) == (name, unit)


@pytest.mark.parametrize(
    "content",
    [
        "t,x,y\n0,1.5,-2\n1,2.5,3e-3\n",
        "t;x;y\n0;1,5;-2\n1;2,5;3e-3\n",
        "t;x;y\r\n0;1.5;-2\r\n1;2.5;3e-3\r\n",
        "t\tx\ty\n0\t1,5\t-2\n1\t2,5\t0,003\n",
        "\ufefft,x,y\n0,1.5,-2\n1,2.5,3e-3",
        '"t","x","y"\n"0","1.5","-2"\n1, 2.5 ,"3e-3"\n',
        "# made by hand\n\nt,x,y\n# in between\n0,1.5,-2\n\n1,2.5,0.003\n# end\n",
        "t,x,y,\n0,1.5,-2,\n1,2.5,3e-3,\n",
        "t,x,y\r0,1.5,-2\r1,2.5,3e-3\r",
    ],
    ids=[
        "comma",
        "decimal comma",
        "semicolon",
        "tab",
        "BOM",
        "quotes",
        "comments",
        "trailing",
        "CR",
    ],
)
def test_forms_of_the_same_table(content: str, tmp_path: Path) -> None:
    table = read_table(written(tmp_path, content))
    assert list(table.frame.columns) == ["t", "x", "y"]
    np.testing.assert_array_equal(table.column("t"), [0.0, 1.0])
    np.testing.assert_array_equal(table.column("x"), [1.5, 2.5])
    np.testing.assert_array_equal(table.column("y"), [-2.0, 3e-3])


def test_matrix_elements_as_names(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, 't;"J[1,2]";J[2,1] [kg.m2]\n0;1;2\n1;2;3\n'))
    assert list(table.frame.columns) == ["t", "J[1,2]", "J[2,1]"]
    assert table.units == {"t": None, "J[1,2]": None, "J[2,1]": "kg.m2"}
    quoted = read_table(written(tmp_path, 't,"J[1,2]"\n0,1\n1,2\n'))
    assert list(quoted.frame.columns) == ["t", "J[1,2]"]


@pytest.mark.parametrize("gap", ["", " ", "NaN", "nan", "NA", "N/A", "null", "-", '""'])
def test_gaps(gap: str, tmp_path: Path) -> None:
    table = read_table(written(tmp_path, f"t,x\n0,1\n1,{gap}\n2,3\n"))
    np.testing.assert_array_equal(table.column("x"), [1.0, np.nan, 3.0])


def test_rows_know_their_lines(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "# a\nt,x\n0,1\n\n# b\n1,2\n"))
    assert [table.where(i).line for i in range(2)] == [3, 6]


def test_text_in_a_column_that_nobody_uses(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "t,x,remark\n0,1,start\n1,2,\n"))
    np.testing.assert_array_equal(table.column("x"), [1.0, 2.0])
    assert table.names == ["t", "x", "remark"]
    with refused(Code.NOT_A_NUMBER, DataError, match="data.csv:2:3: 'start' .*'remark'"):
        table.column("remark")


def test_index_column_of_pandas_is_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"t": [0.0, 1.0], "x": [2.0, 3.0]})
    frame.to_csv(tmp_path / "data.csv")
    assert read_table(tmp_path / "data.csv").names == ["t", "x"]


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ("", ("data.csv", "empty")),
        ("# only a remark\n\n", ("data.csv", "empty")),
        ("t,x\n", ("data.csv:1", "no rows")),
        ("t,x,x\n0,1,2\n", ("data.csv:1", "'x' appears twice")),
        ("t,x [m],x [mm]\n0,1,2\n", ("data.csv:1", "'x' appears twice")),
        ("t,x\n0,1\n1,2,3\n", ("data.csv:3", "3 cells", "header has 2")),
        ("t,x,y\n0,1,2\n\n1,2\n", ("data.csv:4", "2 cells", "header has 3")),
        ("t,x\n0,1,5\n1,2,5\n", ("data.csv:2", "semicolons")),
        ("0,1\n1,2\n", ("data.csv:1", "first line holds numbers")),
        (bytes(range(256)), ("data.csv:2", "UTF-8")),
        (b"t,x\n0,1\n\0,2\n", ("data.csv:3", "zero byte")),
        ("t,x\n0,1\n\x81".encode("latin-1"), ("data.csv:3", "0x81", "UTF-8", "'encoding'")),
    ],
)
def test_refused_files(content: str | bytes, fragments: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_table(written(tmp_path, content))
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("content", "column", "fragments"),
    [
        ("t,x\n0,1\n# c\n1,one\n", "x", ("data.csv:4:2", "'one' in column 'x'")),
        ("t;x\n0,5;1,5\n1.5;2\n", "t", ("data.csv:2:1", "'0,5'", "throughout")),
        ("t;x\n0.5;1,000\n1.5;2,000\n", "x", ("data.csv:2:2", "'1,000'", "throughout")),
        ("t;x\n0;1,5\n1;2,x\n", "x", ("data.csv:3:2", "'2,x'", "leave a cell empty")),
        ("t:x\n0:1\n1:2\n", "t:x", ("data.csv:2:1", "'0:1'", "semicolon or tab")),
        ("t,x\n0,1.2.3\n", "x", ("data.csv:2:2", "'1.2.3'")),
        ("time,x\n0,1\n", "tim", ("data.csv", "no column 'tim'", "'time'")),
    ],
)
def test_refused_columns(
    content: str, column: str, fragments: tuple[str, ...], tmp_path: Path
) -> None:
    table = read_table(written(tmp_path, content))
    with pytest.raises(DataError) as caught:
        table.column(column)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, "t,x\n0,1\n", "cycle.csv")
    with refused(Code.UNKNOWN_NAME, DataError, match=r"cycel.csv'\n  hint: .*'cycle"):
        read_table(tmp_path / "cycel.csv")
    with refused(Code.UNUSABLE_FILE, DataError):
        read_table(tmp_path)


def test_another_format_by_a_reader(tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def reader(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
        asked.append((path.name, spec))
        if path.suffix != ".log":
            return None
        return pd.DataFrame({"time [ms]": [0, 1], "x": [1, None], "who": ["a", "b"]})

    table = read_table(written(tmp_path, "anything", "a.log"), {"data": "a.log"}, reader=reader)
    assert table.units["time"] == "ms"
    np.testing.assert_array_equal(table.column("x"), [1.0, np.nan])
    with pytest.raises(FmidentError, match="'who' is not numeric"):
        table.column("who")
    plain = read_table(written(tmp_path, "t,x\n0,1\n"), reader=reader)
    assert plain.names == ["t", "x"]
    assert asked == [("a.log", {"data": "a.log"}), ("data.csv", {})]


def test_rows_of_a_format_without_lines(tmp_path: Path) -> None:
    frames = {"a": {"f": [10.0, 10.0]}, "b": {"f": [1.0, 2.0], "t": [0.0, 0.0]}}

    def reader(path: Path, spec: dict[str, Any]) -> pd.DataFrame:
        return pd.DataFrame(frames[path.stem])

    table = read_table(written(tmp_path, "", "a.npz"), reader=reader)
    with refused(Code.UNKNOWN_NAME, DataError, match=r"a\.npz: .*'time'\n.*'f'"):
        time_column(table)
    assert time_column(table, "f") == "f"
    table = read_table(written(tmp_path, "", "b.npz"), reader=reader)
    with pytest.raises(DataError, match=r"b\.npz: time 0 appears twice in row 2"):
        time_axis(table, time_column(table))
