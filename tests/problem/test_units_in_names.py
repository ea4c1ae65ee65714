"""A column whose name ends with a unit, but whose header has none, is not taken without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

import fmident
from fmident.errors import Diagnostic
from fmident.problem.reading.experiments import _unit_in_name

from ..study import Study


def notes_of(study: Study, header: str) -> list[Diagnostic]:
    lines = (study.folder / "data.csv").read_text().splitlines()
    position = lines[0].split(",").index(next(c for c in lines[0].split(",") if "force" in c))
    names = lines[0].split(",")
    names[position] = header
    bare = [name.split("[")[0].strip() if k != position else name for k, name in enumerate(names)]
    (study.folder / "data.csv").write_text("\n".join([",".join(bare), *lines[1:]]))
    column = header.split("[")[0].strip()
    study.change('F = "force"', f'F = "{column}"')
    problem = fmident.load_problem(study.problem)
    return [n for n in problem.notes if n.rule == "unit-suspicious"]


@pytest.mark.parametrize("name", ["force/kN", "force_kN", "force.kN"])
def test_a_column_that_is_named_in_another_unit_is_warned_of(study: Study, name: str) -> None:
    (found,) = notes_of(study, name)
    assert found.severity == "warning"
    assert f"'{name}'" in found.message
    assert "kN" in found.message
    assert "N is assumed" in found.message
    assert f"'{name} [kN]'" in (found.hint or "")
    assert found.location is not None
    assert Path(found.location.file).name == "problem.toml"


@pytest.mark.parametrize("name", ["force_N", "force", "force_kN [N]"])
def test_a_name_that_fits_and_a_unit_in_the_header_are_taken(study: Study, name: str) -> None:
    assert notes_of(study, name) == []


@pytest.mark.parametrize(
    ("column", "unit", "found"),
    [
        ("x_mm", "m", "mm"),
        ("angle (deg)", "rad", "deg"),
        ("speed_rpm", "rad/s", "rpm"),
        ("T_degC", "K", "degC"),
        ("torque_m", "N.m", None),  # the name of the motor, say
        ("v_max", "m/s", None),
        ("q1", "rad", None),
        ("kN", "N", None),  # a symbol, not a unit behind one
    ],
)
def test_what_a_name_says(column: str, unit: str, found: str | None) -> None:
    assert _unit_in_name(column, unit) == found
