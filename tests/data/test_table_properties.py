"""Tables in CSV: what is written is read, whatever separates cells, decimals and lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmident.data import CsvOptions
from fmident.data.table import read_table
from fmident.errors import Code, DataError

from ..properties import examples, numbers

SEPARATORS = [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ",")]
GAPS = ["", " ", "NaN", "NA", "null", "-"]
NAMES = ["x", "q[1]", "J[1,2]", "der(x)", "force é", "a b"]
UNITS = ["", " [m]", " [N.m/rad]", " [kg.m2]"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, dict[str, list[float]]]:
    """Return a file and what it means."""
    separator, point = draw(st.sampled_from(SEPARATORS))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(1, 6))
    cell = numbers | st.none()
    first = st.lists(numbers, min_size=rows, max_size=rows)
    content = {"t": draw(first)}
    for name in names:
        content[name] = draw(st.lists(cell, min_size=rows, max_size=rows))
    comment = draw(st.sampled_from(["", "# 1;2,3", "\n"]))
    header = [f'"{n}{draw(st.sampled_from(UNITS))}"' for n in content]
    lines = [separator.join(header)]
    for k in range(rows):
        values = [content[name][k] for name in content]
        cells = [
            draw(st.sampled_from(GAPS)) if v is None else repr(v).replace(".", point)
            for v in values
        ]
        lines.append(separator.join(cells))
        if comment and draw(st.booleans()):
            lines.append(comment)
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    bom = draw(st.sampled_from(["", "\ufeff"]))
    meaning = {n: [np.nan if v is None else v for v in column] for n, column in content.items()}
    return (bom + end.join(lines) + draw(st.sampled_from(["", end]))).encode(), meaning


@given(tables())
@examples(80)
def test_what_is_written_is_read_to_the_last_bit(
    tmp_path: Path, example: tuple[bytes, dict[str, list[float]]]
) -> None:
    content, meaning = example
    (tmp_path / "data.csv").write_bytes(content)
    table = read_table(tmp_path / "data.csv")
    assert table.names == list(meaning)
    if any("group thousands" in e.message for e in table.errors.values()):
        # All numbers with commas look like 1,234: refused unless the user says what they are.
        assert b";" in content or b"\t" in content
        table = read_table(tmp_path / "data.csv", layout=CsvOptions(decimal=","))
    for name, values in meaning.items():
        np.testing.assert_array_equal(table.column(name), values)


@given(st.binary(max_size=60) | st.text('t,x;\t\n\r"#01.eE-+_ nNaA[]', max_size=60))
@examples(150)
def test_any_bytes_are_a_table_or_are_refused(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        table = read_table(path)
        columns = [table.column(name) for name in table.names]
    except DataError:
        return
    assert len({column.size for column in columns}) <= 1


@pytest.mark.parametrize("cell", ["1_000", "1_0.5", "1e1_0"])
def test_underscores_are_python_not_numbers(cell: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(f"t,x\n0,1\n1,{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, check=lambda e: e.code == Code.NOT_A_NUMBER):
        read_table(tmp_path / "data.csv").column("x")
