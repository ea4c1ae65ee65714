"""The line of a page that says when a result was made, and from which files."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from fmident.report.contents import origin_of

PROBLEM = '[[experiments]]\nname = "a"\ndata = "/there/run.csv"\n'


def test_the_date_is_that_of_the_result(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM, encoding="utf-8")
    file = tmp_path / "result.json"
    file.write_text("{}", encoding="utf-8")
    then = datetime(2024, 2, 29, 12).timestamp()
    os.utime(file, (then, then))
    assert origin_of(file) == "29 February 2024 · data: run.csv"


def test_a_result_that_is_still_to_be_written_is_of_today(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM, encoding="utf-8")
    line = origin_of(tmp_path / "result.json")
    assert line.endswith(f"{datetime.now():%B %Y} · data: run.csv")


def test_without_a_problem_file_nothing_is_said(tmp_path: Path) -> None:
    assert origin_of(tmp_path / "result.json") == ""
