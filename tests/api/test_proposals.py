"""Data files as a program reads them, before there is a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

import fmident
from fmident.errors import FmidentError

TEXT = "stamp;clock;F [N]\n5;0,0;1,5\n6;0,1;2,5\n7;0,2;3,5\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_file_as_it_is_understood(file: Path) -> None:
    table, described = fmident.read_data(file)
    assert table.column("F").tolist() == [1.5, 2.5, 3.5]
    assert (described.time.column, described.time.step) == ("stamp", 1.0)
    assert {c.name: c.unit for c in described.columns} == {"clock": None, "F": "N"}


def test_with_keys_that_say_how_to_read_it(file: Path) -> None:
    table, described = fmident.read_data(file, {"time": "clock", "decimal": ","})
    assert described.time.step == pytest.approx(0.1)
    assert "stamp" in table.names


def test_a_key_that_there_is_not(file: Path) -> None:
    with pytest.raises(FmidentError, match="seperator"):
        fmident.read_data(file, {"seperator": ";"})


def test_the_fmu_of_a_model_table(tmp_path: Path) -> None:
    (tmp_path / "Pump.mo").write_text("model Pump\n  Real x = time;\nend Pump;\n", "utf-8")
    table = {"class": "Pump", "sources": ["Pump.mo"], "fmu_folder": "built"}
    assert fmident.model_fmu(table, tmp_path) == tmp_path / "built" / "Pump.fmu"
    assert fmident.model_fmu({"fmu": "a.fmu"}, tmp_path) == tmp_path / "a.fmu"
    with pytest.raises(FmidentError, match="Nowhere"):
        fmident.model_fmu({"class": "Nowhere.Pump"}, tmp_path)


def test_the_models_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "Plant.mo"
    file.write_text(
        "package Plant\n  model A\n    Real x = time;\n  end A;\n"
        "  partial model B\n  end B;\n  block C\n    output Real y = time;\n  end C;\n"
        "end Plant;\n",
        encoding="utf-8",
    )
    assert fmident.model_classes(file) == ("Plant.A", "Plant.C")
