"""The tables that are read, and the page that describes them, name the same keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fmident.data import CsvOptions, Decimation
from fmident.data.outliers import Hampel
from fmident.problem.reading.tables import (
    ExperimentTable,
    InputTable,
    ModelTable,
    NoiseTable,
    OutputTable,
    ParameterTable,
    PrepareTable,
    PriorTable,
    ProblemTables,
    StageTable,
    StartTable,
)
from fmident.problem.settings_keys import setting_keys

TEXT = (Path(__file__).parents[2] / "docs/reference/problem-file.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^#+ (.*)\n((?:(?!#+ ).*\n)*)", TEXT, re.MULTILINE))
LAYOUT = {setting.key for setting in setting_keys(CsvOptions)}


def keys_of(*kinds: Any) -> set[str | None]:
    return {s.key for kind in kinds for s in setting_keys(kind)} - {"section"}


def rows_of(*titles: str) -> dict[str, str]:
    """The rows of the tables of sections, by the keys in their first cells."""
    rows = {}
    for title in titles:
        for first, rest in re.findall(r"^\| (`[^|]*) \|(.*)$", SECTIONS[title], re.MULTILINE):
            rows.update(dict.fromkeys(re.findall(r"`(\w+)`", first), rest))
    return rows


def test_every_table_has_a_section() -> None:
    titles = {re.sub(r"\W*(\w+).*", r"\1", t) for t in SECTIONS if t.startswith("`[")}
    assert titles == keys_of(ProblemTables)


def test_a_section_has_the_keys_of_its_table(subtests: pytest.Subtests) -> None:
    for titles, kinds, elsewhere in [
        (["`[model]`"], [ModelTable], set()),
        (["`[parameters.NAME]`"], [ParameterTable], set()),
        (["`[[experiments]]`"], [ExperimentTable], set()),
        (["Outputs"], [OutputTable], LAYOUT),
        (["Filters and derivatives", "Outliers and exclusions"], [PrepareTable, Hampel], set()),
        (["`[[stages]]`"], [StageTable], set()),
        (["Data files"], [CsvOptions], set()),
    ]:
        with subtests.test(titles[0]):
            assert rows_of(*titles).keys() == keys_of(*kinds) - elsewhere


def test_a_row_has_the_keys_of_its_table(subtests: pytest.Subtests) -> None:
    for title, key, kind in [
        ("`[parameters.NAME]`", "prior", PriorTable),
        ("`[[experiments]]`", "inputs", InputTable),
        ("Outputs", "noise", NoiseTable),
        ("Outputs", "decimate", Decimation),
        ("`[[stages]]`", "parameters", StartTable),
    ]:
        with subtests.test(key):
            codes = re.findall(r"`([^`]+)`", rows_of(title)[key])
            named = {
                re.split(r"\W+", word.strip(" {}"))[0] for code in codes for word in code.split(",")
            }
            in_braces = re.findall(r"[{,] *(\w+)", " ".join(c for c in codes if c.startswith("{")))
            assert keys_of(kind) <= named
            assert set(in_braces) <= keys_of(kind)
