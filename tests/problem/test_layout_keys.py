"""How CSV files are written, as keys of the problem file; time stamps over several files."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.errors import Code, FmidentError

from ..refused import refused
from .conftest import Case

OTHER = 'x = { column = "x", data = "x.csv"'
STAMPED = "time;force;torque\n{}\n{}\n"


def test_keys_of_an_experiment(case: Case) -> None:
    text = (case.folder / "data.csv").read_text(encoding="utf-8").replace(",", "|")
    case.write("data.csv", "Logger 7\n" + text)
    keys = 'data = "data.csv"\nseparator = "|"\nskip_rows = 1\nunits_row = 0\nencoding = "latin-1"'
    (experiment,) = case.load('data = "data.csv"', keys).experiments
    np.testing.assert_array_equal(experiment.inputs["F"], [1.0, 1.5, 2.0, 2.5])
    assert not [n for n in experiment.notes if n.rule == "data-layout"]
    (experiment,) = case.load(keys, 'data = "data.csv"').experiments
    (note,) = [n for n in experiment.notes if n.rule == "data-layout"]
    assert "separator bar, decimal point, header in line 2" in note.message


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ('separator = ":"', Code.NOT_A_CHOICE, "not ':'"),
        ('decimal = ";"', Code.NOT_A_CHOICE, "not ';'"),
        ('separator = ","\ndecimal = ","', Code.INVALID_PROBLEM, "both a comma"),
        ("skip_rows = -1", Code.OUT_OF_RANGE, "skip_rows must be zero or positive"),
        ("units_row = true", Code.WRONG_TYPE, "'units_row' must be an integer"),
        ('dates = "iso"', Code.NOT_A_CHOICE, "not 'iso'"),
        ("encoding = 8", Code.WRONG_TYPE, "'encoding' must be a text"),
        ('seperator = ";"', Code.UNKNOWN_KEY, "unknown key 'seperator'"),
    ],
)
def test_keys_that_are_refused(line: str, code: Code, message: str, case: Case) -> None:
    with refused(code, FmidentError, match=rf"problem\.toml:1[345]: .*{message}"):
        case.load('data = "data.csv"', f'data = "data.csv"\n{line}')


def test_an_output_with_a_file_of_its_own(case: Case) -> None:
    case.write("x.csv", "t;x\n0;1,000\n0,1;2,000\n".replace("0,1;", "1;"))
    with refused(Code.NOT_A_NUMBER, FmidentError, match=r"x\.csv:2:2: '1,000' .* can be 1\.000"):
        case.load('x = { column = "position"', OTHER)
    case.write("x.csv", "t;x\n0;1,000\n,1;2,000\n")
    problem = case.load(OTHER, f'{OTHER}, decimal = ","')
    np.testing.assert_array_equal(problem.experiments[0].measurements[0].values[:2], [1.0, 2.0])
    with refused(Code.INVALID_PROBLEM, FmidentError, match="without a file of its own"):
        case.load(OTHER, 'x = { column = "position"')


def test_time_stamps_of_two_files_count_from_one_instant(case: Case) -> None:
    case.write("data.csv", STAMPED.format("2024-03-01T12:00:00Z;1;0", "2024-03-01T12:00:02Z;2;0"))
    case.write("x.csv", "time;x\n2024-03-01T13:00:00+01:00;1.5\n2024-03-01T13:00:01+01:00;2.5\n")
    (experiment,) = case.load('x = { column = "position"', OTHER).experiments
    np.testing.assert_array_equal(experiment.times, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(experiment.measurements[0].values, [1.5, 2.5, np.nan])
    for content, message in (
        ("t;x\n0;1\n1;2\n", "do not share"),
        ("t;x\n2024-03-01T13:00:00;1\n2024-03-01T13:00:01;2\n", "has a time zone"),
        ("t;x\n13:00:00;1\n13:00:01;2\n", "do not share"),
    ):
        case.write("x.csv", content)
        with refused(Code.INVALID_PROBLEM, FmidentError, match=message):
            case.load()
