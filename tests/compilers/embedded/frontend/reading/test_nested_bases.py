"""Bases that a class declares inside itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError

from ..conftest import Compiled

RIGID = "within P;\npartial model Rigid\n  Real s(start=1, fixed=true);\nend Rigid;\n"
BODY = """within P;
model Body "its base is inside"
  extends Moving;
  parameter Real k = 2;
  output Real y = s + f;
  encapsulated partial model Moving "with what it inherits"
    import P;
    Real f;
    extends P.Rigid;
  equation
    der(s) = -f*{name};
  end Moving;
equation
  f = k*s;
end Body;
"""


def package(folder: Path, name: str = "s") -> Path:
    place = folder / "P"
    place.mkdir()
    (place / "package.mo").write_text("package P\nend P;\n")
    (place / "Rigid.mo").write_text(RIGID)
    (place / "Body.mo").write_text(BODY.format(name=name))
    return place


def test_its_variables_are_those_of_the_class(tmp_path: Path) -> None:
    point = Compiled(*load_model("P.Body", [package(tmp_path)])).at()
    assert point.rates == pytest.approx({"s": -2.0})
    assert point.outputs == pytest.approx({"y": 3.0})


def test_what_is_wrong_in_it_has_its_place(tmp_path: Path) -> None:
    place = package(tmp_path, "nothing")
    with pytest.raises(CompilationError) as caught:
        load_model("P.Body", [place])
    location = caught.value.diagnostics[0].location
    assert location is not None
    assert Path(location.file) == place / "Body.mo"
    assert location.line == 11
