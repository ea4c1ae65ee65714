"""CSV files as instruments and spreadsheets write them: what is found, said and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.data import CsvOptions, read_table, time_axis, time_column
from fmident.data.table import Table
from fmident.errors import Code, DataError

from ..refused import refused

PLAIN = "time;force;x é\n0;1,5;-2\n0,5;2,5;3e-3\n"


def read(folder: Path, content: str | bytes, **said: object) -> Table:
    path = folder / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, layout=CsvOptions(**said))  # type: ignore[arg-type]


def same_as_plain(table: Table) -> None:
    assert table.names == ["time", "force", "x é"]
    np.testing.assert_array_equal(table.column("time"), [0.0, 0.5])
    np.testing.assert_array_equal(table.column("force"), [1.5, 2.5])
    np.testing.assert_array_equal(table.column("x é"), [-2.0, 3e-3])


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"],
)
def test_encodings_are_found(encoding: str, tmp_path: Path) -> None:
    table = read(tmp_path, PLAIN.encode(encoding))
    same_as_plain(table)
    assert bool(table.notes) == (not encoding.startswith("utf-8"))


def test_an_encoding_that_is_said(tmp_path: Path) -> None:
    table = read(tmp_path, "t;größe\n0;1\n1;2\n".encode("cp850"), encoding="cp850")
    assert table.names == ["t", "größe"]
    assert not table.notes  # nothing was guessed
    with pytest.raises(DataError, match="no encoding 'utf-9'"):
        read(tmp_path, PLAIN, encoding="utf-9")
    with pytest.raises(DataError, match="0xe9 is not text in ASCII"):
        read(tmp_path, PLAIN.encode("cp1252"), encoding="ascii")


@pytest.mark.parametrize(
    "content",
    [
        "sep=;\n" + PLAIN,
        "Logger 7\nof the 3rd of May\n\n" + PLAIN,
        "Logger;7\nSerial;99\n" + PLAIN,
        "Logger;7;\nof the;3rd;May\n" + PLAIN,
        "a;b;c\n" + PLAIN,
        "# remark\nLogger,7,a,b\n" + PLAIN.replace(";", "\t"),
        PLAIN.replace(";", "|"),
        'time   force "x é"\n  0   1.5  -2\n0.5\t2.5 3e-3\n',
        PLAIN.replace(";-2\n", ";-2;;\n"),
    ],
    ids=["sep", "title", "table above", "as wide", "names above", "tabs", "bars", "blanks", "ends"],
)
def test_forms_of_the_same_table(content: str, tmp_path: Path) -> None:
    same_as_plain(read(tmp_path, content))


def test_lines_and_columns_of_messages_are_those_of_the_file(tmp_path: Path) -> None:
    table = read(tmp_path, "Logger 7\n\ntime;x\ns;m\n0;1,5\n1;1,25\n2;2,x\n")
    assert [table.where(k).line for k in range(3)] == [5, 6, 7]
    with pytest.raises(DataError, match=r"data\.csv:7:2: '2,x' in column 'x'"):
        table.column("x")


def test_the_guess_is_said_in_one_line_and_only_where_there_is_one(tmp_path: Path) -> None:
    (note,) = read(tmp_path, "Logger 7\n" + PLAIN.replace("\n", "\ns;N;mm\n", 1)).notes
    assert note.severity == "note"
    assert note.message.endswith(
        "data.csv' is read with encoding utf-8, separator semicolon, decimal comma, header in"
        " line 2, units in line 3"
    )
    assert not read(tmp_path, PLAIN).notes


@pytest.mark.parametrize("row", ["s;N;mm", "[s];[N];[mm]", "s;;mm", "(s);N;mm"])
def test_units_in_a_row_below_the_names(row: str, tmp_path: Path) -> None:
    table = read(tmp_path, PLAIN.replace("\n", f"\n{row}\n", 1))
    same_as_plain(table)
    assert table.units == {"time": "s", "force": "N" if "N" in row else None, "x é": "mm"}


def test_units_in_header_and_row_must_agree(tmp_path: Path) -> None:
    table = read(tmp_path, "t [s];x [mm]\ns;mm\n0;1\n1;2\n")
    assert table.units == {"t": "s", "x": "mm"}
    with pytest.raises(DataError, match=r"csv:1: .*'x' is 'mm' in the header and 'm' in line 2"):
        read(tmp_path, "t [s];x [mm]\ns;m\n0;1\n1;2\n")


def test_a_row_of_units_that_is_said(tmp_path: Path) -> None:
    content = "s;furlongs\nt;x\nfirst;second\n0;1\n1;2\n"
    table = read(tmp_path, content, skip_rows=1, units_row=3)
    assert table.units == {"t": "first", "x": "second"}
    above = read(tmp_path, "s;furlongs\nt;x\n0;1\n1;2\n", skip_rows=1, units_row=1)
    assert above.units == {"t": "s", "x": "furlongs"}
    none = read(tmp_path, "t;mode\ns;A\n0;1\n1;2\n", units_row=0)
    with pytest.raises(DataError, match=r"data\.csv:2:1: 's' in column 't' is not a number"):
        none.column("t")
    for line, message in ((9, "is not there: the file has"), (1, "is the header"), (3, "numbers")):
        with pytest.raises(DataError, match=message):
            read(tmp_path, "t;x\ns;m\n0;1\n1;2\n", units_row=line)


def test_rows_that_are_skipped_because_it_is_said(tmp_path: Path) -> None:
    same_as_plain(read(tmp_path, "a;b;c\n\n# d\n" + PLAIN, skip_rows=3))
    with refused(Code.INVALID_DATA, DataError, match="no line follows the 9 that are skipped"):
        read(tmp_path, PLAIN, skip_rows=9)
    # Without a word these are names, and the true names are what is wrong.
    with refused(Code.NOT_A_NUMBER, DataError, match=r"'time' in column 'a'(?s:.*)'skip_rows'"):
        read(tmp_path, "a;b;c\n" + PLAIN, skip_rows=0).column("a")
    with refused(
        Code.INVALID_DATA, DataError, match=r"data\.csv:4: the row has 1 cells(?s:.*)begin with '#'"
    ):
        read(tmp_path, PLAIN + "the end\n")


@pytest.mark.parametrize("cell", ["1,234", "-12,500", "999,999"])
def test_a_comma_that_can_be_both_is_refused_until_it_is_said(cell: str, tmp_path: Path) -> None:
    content = f"t;x;y\n0;;1\n1;{cell};2\n"
    table = read(tmp_path, content)
    np.testing.assert_array_equal(table.column("y"), [1.0, 2.0])
    with pytest.raises(DataError, match=rf"data.csv:3:2: '{cell}' .*\n  hint: write decimal = "):
        table.column("x")
    value = read(tmp_path, content, decimal=",").column("x")[1]
    assert value == float(cell.replace(",", "."))
    assert read(tmp_path, content, decimal=".").column("x")[1] == 1000.0 * value
    quoted = f't,x\n0,1\n1,"{cell}"\n'
    with pytest.raises(DataError, match="group thousands"):
        read(tmp_path, quoted).column("x")
    assert read(tmp_path, quoted, decimal=".").column("x")[1] == 1000.0 * value


@pytest.mark.parametrize("other", ["0,125", "1,2", "1234,567", "1,2345", ",500", "1,234e3"])
def test_one_number_can_say_what_the_commas_of_all_are(other: str, tmp_path: Path) -> None:
    table = read(tmp_path, f"t;x;y\n0;1,234;{other}\n1;1,5e0;1\n")
    np.testing.assert_array_equal(table.column("x"), [1.234, 1.5])
    assert table.column("y")[0] == float(other.replace(",", "."))


def test_groups_of_thousands_need_the_decimal_sign(tmp_path: Path) -> None:
    content = "t;x\n0;1.234,5\n1;12.345.678,25\n2;-1\n"
    with pytest.raises(DataError, match=r"2:2: '1\.234,5' (?s:.*)decimal = \",\" in"):
        read(tmp_path, content).column("x")
    found = read(tmp_path, content, decimal=",").column("x")
    np.testing.assert_array_equal(found, [1234.5, 12345678.25, -1.0])
    for wrong in ("1.23,5", "1,5.000", "1.2345", "1.5"):
        with pytest.raises(DataError, match="not a number"):
            read(tmp_path, f"t;x\n0;{wrong}\n1;2\n", decimal=",").column("x")


def axis(folder: Path, *stamps: str, **said: object) -> np.ndarray:
    rows = "".join(f"{stamp};1\n" for stamp in stamps)
    table = read(folder, f"time;x\n{rows}", **said)
    times = time_axis(table, time_column(table))
    assert table.units["time"] == "s"
    return times


@pytest.mark.parametrize(
    ("stamps", "seconds"),
    [
        (("2024-02-28T23:59:59Z", "2024-02-29T00:00:00.250Z"), 1.25),
        (("2024-03-01 12:00", "2024-03-01 12:01"), 60.0),
        (("2024-03-31T01:59:59+01:00", "2024-03-31T03:00:00+02:00"), 1.0),
        (("20240301T120000,5Z", "20240301T120001,75Z"), 1.25),
        (("2024/3/1 1:00:00 PM", "2024/3/1 2:00:00 PM"), 3600.0),
        (("01.03.2024 11:59:59,9", "01.03.2024 12:00:00,0"), 0.1),
        (("01-Mar-2024 00:00:00", "02-Mar-2024 00:00:00"), 86400.0),
        (("12/31/2024 11:59:59 PM", "01/01/2025 12:00:00 AM"), 1.0),
        (("31/12/2024 23:59:59", "01/01/2025 00:00:00"), 1.0),
        (("2024-03-01", "2024-03-02"), 86400.0),
        (("12:00:00.123456789", "12:00:00.123456790"), 1e-9),
    ],
)
def test_time_stamps(stamps: tuple[str, str], seconds: float, tmp_path: Path) -> None:
    np.testing.assert_allclose(axis(tmp_path, *stamps), [0.0, seconds], rtol=1e-12)


def test_time_stamps_are_those_of_pandas(tmp_path: Path) -> None:
    """A peer's reading, over many instants, in the forms that both know."""
    nanoseconds = np.sort(np.random.default_rng(0).integers(0, 4_000_000_000, 50)) * 10**9
    instants = pd.to_datetime(nanoseconds + 123_456_000).tz_localize("UTC")
    expected = (instants - instants[0]).total_seconds()
    for form, said in (
        ("%Y-%m-%dT%H:%M:%S.%fZ", {}),
        ("%d.%m.%Y %H:%M:%S,%f", {}),
        ("%m/%d/%Y %I:%M:%S.%f %p", {"dates": "month-first"}),
        ("%d-%b-%Y %H:%M:%S.%f", {}),
    ):
        found = axis(tmp_path, *instants.strftime(form), **said)
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("first", ["day", "month"])
def test_a_date_that_can_be_both_is_refused_until_it_is_said(first: str, tmp_path: Path) -> None:
    stamps = ("01/02/2024 00:00:00", "02/02/2024 00:00:00")
    with pytest.raises(DataError, match=r"data.csv:2:1: '01/02/2024 .*\n  hint: .*day-first"):
        axis(tmp_path, *stamps)
    days = {"day": 1, "month": 31}[first]
    assert axis(tmp_path, *stamps, dates=f"{first}-first")[1] == days * 86400.0


@pytest.mark.parametrize(
    ("stamps", "fragments"),
    [
        (("2024-03-01T12:00:00Z", "2024-03-01T12:00:01"), (":3:1", "time zone")),
        (("2024-03-01T12:00:00", "7"), (":3:1", "'7' is not a time stamp")),
        (("2024-02-30T12:00:00", "2024-03-01T12:00:00"), (":2:1", "day")),
        (("2024-03-01T24:00:00", "2024-03-02T12:00:00"), (":2:1", "hours end at 23")),
        (("13:00:00 PM", "13:00:01 PM"), (":2:1", "between 1 and 12")),
        (("2024-03-01", "2024-03-02 12:00:00"), (":3:1", "another form")),
        (("13/12/2024", "12/13/2024"), (":3:1", "and second in the other")),
        (("12:00", "12:01"), (":2:1", "hours and minutes, or minutes and seconds")),
        (("01/02/24 12:00", "01/03/24 12:00"), (":2:1", "not a number")),
        (("23:59:59", "00:00:00"), (":3", "after midnight a column with the day")),
        (("12:00:00", "12:00:00"), (":3", "digits")),
    ],
)
def test_time_stamps_that_are_refused(
    stamps: tuple[str, str], fragments: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        axis(tmp_path, *stamps)
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize("header", ["Date;Time;x", "Datum;Uhrzeit;x"])
def test_day_and_time_in_two_columns(header: str, tmp_path: Path) -> None:
    content = f"{header}\n31.12.2024;23:59;1\n01.01.2025;00:01;2\n"
    table = read(tmp_path, content)
    np.testing.assert_array_equal(time_axis(table, time_column(table)), [0.0, 120.0])
    first, second, _ = header.split(";")
    assert f"day in '{first}' and time in '{second}'" in table.notes[0].message


def test_instants_of_a_reader_are_seconds_not_nanoseconds(tmp_path: Path) -> None:
    stamps = pd.DatetimeIndex(["2024-03-01T12:00:00.0", "2024-03-01T12:00:01.5", None])
    frame = pd.DataFrame(
        {"time": stamps, "zoned": stamps.tz_localize("Europe/Berlin"), "age": stamps - stamps[0]}
    )
    (tmp_path / "a.bin").write_bytes(b"")
    table = read_table(tmp_path / "a.bin", reader=lambda path, spec: frame)
    for name in frame.columns:
        np.testing.assert_array_equal(table.column(name), [0.0, 1.5, np.nan])
        assert table.units[name] == "s"
    assert table.origins["zoned"].text() == "2024-03-01 11:00:00 UTC"
    with refused(
        "invalid-data", DataError, match="'separator' does not apply to a file that is not CSV"
    ):
        read_table(
            tmp_path / "a.bin", reader=lambda path, spec: frame, layout=CsvOptions(separator=";")
        )
