"""What a name in the source means, and what the front end takes for used."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend.reading.names import Names
from fmident.compilers.embedded.frontend.reading.scan_check import involved
from fmident.compilers.sources import SCANNED_AT_ONCE, read_tree

from ..conftest import Compile

LIBRARY = """
package L
  package Parts
    model Wheel
      Hub hub;
    end Wheel;
    model Hub
    end Hub;
    model Spare
    end Spare;
  end Parts;
  partial package Base
    model Inherited
    end Inherited;
  end Base;
  package Deep
    extends L.Base;
    import L.Parts.{Hub, Spare};
    import W = L.Parts.Wheel;
    model Car
      import L.Parts.*;
      Inherited i;
      %PART% part;
    end Car;
  end Deep;
end L;
"""


@pytest.mark.parametrize(
    ("part", "used"),
    [
        ("W", {"L.Parts.Wheel", "L.Parts.Hub"}),
        ("Spare", {"L.Parts.Spare"}),
        ("Hub", {"L.Parts.Hub"}),
        ("Parts.Wheel", {"L.Parts.Wheel", "L.Parts.Hub"}),
        ("Real", set()),
    ],
)
def test_only_what_is_named_is_used(tmp_path: Path, part: str, used: set[str]) -> None:
    """An import alone uses nothing."""
    file = tmp_path / "L.mo"
    file.write_text(LIBRARY.replace("%PART%", part))
    found = {item.name for item in involved("L.Deep.Car", Names([read_tree(file)]))}
    assert found == {"L.Deep.Car", "L.Base.Inherited"} | used


def test_of_a_large_library_only_some_files_are_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "Big 1.0"
    (folder / "Sub").mkdir(parents=True)
    (folder / "package.mo").write_text("package Big\n  model Own\n  end Own;\nend Big;\n")
    (folder / "Sub" / "package.mo").write_text("within Big;\npackage Sub\nend Sub;\n")
    (folder / "Sub" / "A.mo").write_text("within Big.Sub;\nmodel A\n  B b;\nend A;\n")
    padding = "// " + "x" * SCANNED_AT_ONCE + "\n"
    (folder / "Sub" / "B.mo").write_text(
        f"within Big.Sub;\n{padding}model B\n  Other.C c;\n  model Inner\n  end Inner;\nend B;\n"
    )
    tree = read_tree(folder)
    assert tree.classes.top_level == "Big"
    assert "Big.Sub.C" not in tree.classes
    assert {item.name for item in involved("Big.Sub.A", Names([tree]))} == {
        "Big.Sub.A",
        "Big.Sub.B",
    }
    assert tree.classes["Big.Sub.B.Inner"].file == folder / "Sub" / "B.mo"
    assert tree.classes.mentions(frozenset({"Other", "Nothing"})) == {"Other"}
    assert "Big.Own" in set(tree.classes)


def test_a_call_in_a_branch_of_an_expression_is_no_equation(compile_text: Compile) -> None:
    compiled = compile_text(
        """
model M
  parameter Boolean b = true;
  Real x(start=1, fixed=true);
  Real y;
equation
  der(x) = if b then if not b then 1 else min(x, 2) else max(x, 2);
  if b then
    y = if b then x else abs(x);
  else
    y = 0;
  end if;
end M;
""",
        "M",
    )
    assert compiled.at().rates["x"] == 1.0


def test_a_function_may_have_the_name_of_an_operator_of_state_machines(
    compile_text: Compile,
) -> None:
    text = (
        "package P\n  function initialState\n    input Real a;\n    output Real b;\n  algorithm\n"
        "    b := 2*a;\n  end initialState;\nend P;\n"
        "model M\n  output Real y = P.initialState(time);\nend M;\n"
    )
    assert compile_text(text).at(t=1.5).outputs["y"] == 3.0
