"""The problem file in the result folder means what it meant where it stood."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fmident.problem.reading.in_memory import with_absolute_paths

FOLDER = Path('/study "1"/ä')

CASES = [
    ("[model]\nfmu = 'a.fmu'  # there\n", "model.fmu"),
    ('model.fmu = "../x/a b.fmu"\n', "model.fmu"),
    ('[model]\nclass = "A.data"\nsources = ["Lib", # "one"\n  \'B.mo\']\n', "model.sources"),
    ('[model]\nclass = "A"\nsources = "Lib"\nfmu_folder = "out"\n', "model.sources"),
    ('[[experiments]]\nname = "data"\ndata = "a.csv"\n', "experiments.0.data"),
    ('[[experiments]]\ndata = "a.csv"\n[experiments.outputs]\n'
     'x = { column = "data", data = "late.csv", sigma = 1 }\n"data" = "y"\n',
     "experiments.0.outputs.x.data"),
    ('[[experiments]]\noutputs.x.data = "a.csv"\noutputs.x.column = "a"\n',
     "experiments.0.outputs.x.data"),
    ('[[experiments]]\ndata = "/abs/a.csv"\n', "experiments.0.data"),
]  # fmt: skip


def at(document: object, path: str) -> object:
    for name in path.split("."):
        document = document[int(name) if name.isdecimal() else name]  # type: ignore[index]
    return document


@pytest.mark.parametrize(("text", "path"), CASES)
def test_paths_become_absolute(text: str, path: str) -> None:
    changed = with_absolute_paths(text, FOLDER)
    before, after = at(tomllib.loads(text), path), at(tomllib.loads(changed), path)
    if isinstance(before, str):
        assert after == str(FOLDER / before)
    else:
        assert after == [str(FOLDER / b) for b in before]  # type: ignore[attr-defined]
    assert with_absolute_paths(changed, Path("/elsewhere")) == changed
    assert not changed.startswith("#")


@pytest.mark.parametrize(
    "text",
    ['[model]\nclass = "A.B"  # mine\n[x]\n', 'model.class = "A.B"\n', "  [model]\n  class='A.B'"],
)
def test_fmu_of_a_class_is_found_again(text: str) -> None:
    changed = with_absolute_paths(text, Path("/s"), Path("/s/fmus/A.B.fmu"))
    model = tomllib.loads(changed)["model"]
    assert model == {"class": "A.B", "fmu_folder": "/s/fmus"}
    other = with_absolute_paths('model.class = "A"\nmodel.fmu_folder = "o"', Path("/s"), Path("/x"))
    assert tomllib.loads(other)["model"]["fmu_folder"] == "/s/o"


def test_copies_of_the_files_of_stages_are_named() -> None:
    text = '[[stages]]\nproblem = "a/../b.toml"\n[[stages]]\nproblem = "c.toml"\n'
    changed = with_absolute_paths(text, Path("/s"), copies={Path("/s/b.toml"): "stage-1.toml"})
    assert [s["problem"] for s in tomllib.loads(changed)["stages"]] == ["stage-1.toml", "/s/c.toml"]
    assert not changed.startswith("#")


def test_nothing_but_paths_changes() -> None:
    text = '[model]\nfmu = "a.fmu"\n[parameters.data]\ninitial = 1.0 # data = "no"\n'
    changed = with_absolute_paths(text, Path("/s"))
    assert tomllib.loads(changed) == {
        "model": {"fmu": "/s/a.fmu"}, "parameters": {"data": {"initial": 1.0}},
    }  # fmt: skip


def test_a_path_of_several_lines_is_replaced() -> None:
    changed = with_absolute_paths('[model]\nfmu = """a.fmu"""\n', Path("/s"))
    assert changed == '[model]\nfmu = "/s/a.fmu"\n'
