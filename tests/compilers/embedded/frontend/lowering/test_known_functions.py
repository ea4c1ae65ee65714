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


OTHERS = """
package Modelica
  package Math
    package BooleanVectors
      function firstTrueIndex
        input Boolean b[:];
        output Integer index;
      algorithm
        index := 0;
        for i in 1:size(b, 1) loop
          if b[i] then
            index := i;
            return;
          end if;
        end for;
      end firstTrueIndex;
    end BooleanVectors;
    package Matrices
      function isEqual
        input Real M1[:, :];
        input Real M2[:, :];
        input Real eps = 0;
        output Boolean result;
      algorithm
        result := false;
      end isEqual;
    end Matrices;
  end Math;
  package Utilities
    package Streams
      pure function error
        input String string;
        external "C" ModelicaError(string);
      end error;
    end Streams;
  end Utilities;
  package Blocks
    package Continuous
      package Internal
        package Filter
          package base
            function ChebyshevI "With loops that rumoca refuses"
              input Integer order(min=1);
              input Real A_ripple = 0.5;
              input Boolean normalized = true;
              output Real cr[mod(order, 2)];
              output Real c0[integer(order/2)];
              output Real c1[integer(order/2)];
            protected
              Real u = 1;
            algorithm
              while u > 0 loop
                u := u - A_ripple;
              end while;
              cr := fill(u, mod(order, 2));
            end ChebyshevI;
          end base;
        end Filter;
      end Internal;
    end Continuous;
  end Blocks;
end Modelica;
"""


def with_library(folder: Path, text: str) -> Compiled:
    library = folder / "Modelica.mo"
    library.write_text(OTHERS)
    file = folder / "M.mo"
    file.write_text(text)
    return Compiled(*load_model("M", [file, library]))


def test_the_first_true_element_chooses_a_value(tmp_path: Path) -> None:
    model = with_library(
        tmp_path,
        "model M\n  Boolean b[3] = {time > 3, time > 1, time > 2};\n"
        "  Integer i = Modelica.Math.BooleanVectors.firstTrueIndex(b);\n"
        "  Real v[3] = {7, 8, 9};\n  output Real y = if i == 0 then -1 else v[i];\nend M;\n",
    ).model
    assert [v.name for v in model.events.variables] == ["b[1]", "b[2]", "b[3]", "i"]
    held = np.zeros(model.output_values.size_in(4)[0])

    def found(b: list[int], i: int) -> float:
        held[len(held) - 4 :] = [*b, i]
        before = np.zeros(4)
        update = model.events.update(0.0, [], [], [], relations(b), before)[0]
        assert float(np.array(update).ravel()[3]) == i
        return float(model.output_values(0.0, [], [], [], held))

    def relations(b: list[int]) -> list[float]:
        return [*map(float, b), *([0.0] * (len(held) - 3))]

    assert found([0, 0, 0], 0) == -1.0
    assert found([0, 1, 1], 2) == 8.0
    assert found([0, 0, 1], 3) == 9.0


def test_matrices_that_are_equal(tmp_path: Path) -> None:
    model = with_library(
        tmp_path,
        "model M\n  parameter Real a[1, 2] = [1, 2];\n  output Real y =\n    noEvent(if "
        "Modelica.Math.Matrices.isEqual(a, [1, 2], 0.1) then 1 else 0);\nend M;\n",
    )
    assert model.at(p={"a[1,2]": 2.05}).outputs["y"] == 1.0
    assert model.at(p={"a[1,2]": 2.2}).outputs["y"] == 0.0


def test_an_error_as_an_equation_is_an_assert(tmp_path: Path) -> None:
    text = (
        "model M\n  parameter Integer k = {};\n  Real x(start=1, fixed=true);\nequation\n"
        '  der(x) = -x;\n  if k > 2 then\n    Modelica.Utilities.Streams.error("k is too '
        'large");\n  end if;\nend M;\n'
    )
    fine = with_library(tmp_path, text.format(2)).at()
    assert fine.rates == {"x": -1.0}
    assert fine.asserts == []
    wrong = with_library(tmp_path, text.format(3))
    assert wrong.at().asserts == [False]
    assert wrong.model.asserts[0].message == "k is too large"


@pytest.mark.parametrize(("order", "ripple"), [(3, 0.5), (4, 1.0)])
def test_chebyshev_filters(tmp_path: Path, order: int, ripple: float) -> None:
    """-3 dB at their frequency, and ripples of the height that is asked for below it."""
    odd, pairs = order % 2, order // 2
    model = with_library(
        tmp_path,
        "model M\n  parameter Real A = 0.1;\n"
        f"  parameter Real r[{odd}](each fixed=false);\n"
        f"  parameter Real a[{pairs}](each fixed=false);\n"
        f"  parameter Real b[{pairs}](each fixed=false);\n  Real x(start=1, fixed=true);\n"
        "initial equation\n"
        "  (r, a, b) = Modelica.Blocks.Continuous.Internal.Filter.base.ChebyshevI("
        f"{order}, A, true);\nequation\n  der(x) = -x*(sum(r) + sum(a) + sum(b));\nend M;\n",
    ).model
    assert [p.name for p in model.parameters] == ["A"]
    held = np.zeros(model.rhs.size_in(4)[0])
    starts = np.array(model.events.starts(0.0, [1.0], [], [ripple], held)).ravel()
    r, a, b = np.split(starts, [odd, odd + pairs])

    def gain(w: float) -> float:
        s = 1j * w
        lines = np.prod(r / (s + r))
        return float(abs(lines * np.prod(a / (s**2 + b * s + a))))

    assert 20 * np.log10(gain(1.0)) == pytest.approx(-3.0, abs=1e-10)
    assert gain(0.0) == pytest.approx(1.0)
    below = np.array([gain(w) for w in np.linspace(0.0, 0.99, 20001)])
    turns = below[1:-1][np.diff(np.sign(np.diff(below))) != 0]
    lowest, highest = (-ripple, 0.0) if odd else (0.0, ripple)
    assert 20 * np.log10(turns.min()) == pytest.approx(lowest, abs=1e-4)
    assert 20 * np.log10(turns.max()) == pytest.approx(highest, abs=1e-4)
