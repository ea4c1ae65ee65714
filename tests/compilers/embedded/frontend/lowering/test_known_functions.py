"""Functions of the standard library whose text rumoca cannot read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError

from ..conftest import Compiled

LIBRARY = """
package Modelica
  package Math
    package Vectors
      function interpolate "With a search that rumoca refuses"
        input Real x[:];
        input Real y[size(x, 1)];
        input Real xi;
        input Integer iLast = 1;
        output Real yi;
        output Integer iNew = 1;
      protected
        Integer i;
      algorithm
        i := min(max(iLast, 1), size(x, 1) - 1);
        if xi >= x[i] then
          while i < size(x, 1) and xi >= x[i] loop
            i := i + 1;
          end while;
          i := i - 1;
        else
          while i > 1 and xi < x[i] loop
            i := i - 1;
          end while;
        end if;
        yi := y[i] + (y[i + 1] - y[i])*(xi - x[i])/(x[i + 1] - x[i]);
        iNew := i;
      end interpolate;
    end Vectors;
  end Math;
end Modelica;
"""
MODEL = """
model M
  parameter Real table[:, 2] = {table};
  output Real y = Modelica.Math.Vectors.interpolate(table[:, 1], table[:, 2], time{last});
end M;
"""


def compiled(folder: Path, table: str, last: str = "") -> Compiled:
    library = folder / "Modelica.mo"
    library.write_text(LIBRARY)
    file = folder / "M.mo"
    file.write_text(MODEL.format(table=table, last=last))
    return Compiled(*load_model("M", [file, library]))


@pytest.mark.parametrize("last", ["", ", 1", ", 3"])
def test_points_are_joined_by_lines_that_go_on_outside(tmp_path: Path, last: str) -> None:
    found = compiled(tmp_path, "[-1, 2; 0, 3; 0.5, -1; 2, 8]", last)
    instants = [-3.0, -1.0, -0.4, 0.0, 0.3, 0.5, 1.0, 2.0, 4.0]
    values = [found.at(t=t).outputs["y"] for t in instants]
    inside = np.interp(instants[1:-1], [-1, 0, 0.5, 2], [2, 3, -1, 8])
    assert values == pytest.approx([0.0, *inside, 20.0], abs=1e-14)


def test_its_points_can_be_set(tmp_path: Path) -> None:
    found = compiled(tmp_path, "[0, 0; 1, 2; 2, 2]")
    assert found.at(t=0.5, p={"table[2,2]": 4.0}).outputs["y"] == pytest.approx(2.0)
    assert all(found.at(t=0.5).asserts)
    assert not all(found.at(t=0.5, p={"table[2,1]": 3.0}).asserts)


def test_one_point_is_a_constant(tmp_path: Path) -> None:
    assert compiled(tmp_path, "[1, 7]").at(t=5.0).outputs["y"] == 7.0


def test_the_second_output_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Modelica.mo").write_text(LIBRARY)
    file = tmp_path / "M.mo"
    file.write_text(
        "model M\n  Real y;\n  Integer n;\nequation\n"
        "  (y, n) = Modelica.Math.Vectors.interpolate({0, 1}, {2, 3}, time);\nend M;\n"
    )
    with pytest.raises(CompilationError) as caught:
        load_model("M", [file, tmp_path / "Modelica.mo"])
    assert caught.value.diagnostics[0].location is not None
