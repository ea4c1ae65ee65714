"""What findings of units count: contradictions of units that the user declared."""

from __future__ import annotations

import pytest

from fmident.errors import CompilationError

from ..conftest import Compile

HARMLESS = {
    "time as an argument": ("Real y", "y = sin(time);"),
    "time in an equation": ('Real y(unit="m")', "y = time;"),
    "ramp": ('Real y(unit="K")', "y = 20*(time - 0.5);"),
    "time and a number without unit": ('Real y(unit="m"); Real n(unit="1") = 2', "y = n*time;"),
    "time added": ('Real y; Real w(unit="rad/s") = 1', "y = w + time;"),
    "function of time": ('Real y(unit="V")', "y = twice(time);"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_time_and_numbers_are_remarked_only(compile_text: Compile, name: str) -> None:
    declarations, equation = HARMLESS[name]
    compiled = compile_text(
        "function twice\n  input Real a;\n  output Real b;\nalgorithm\n  b := 2*sin(a);\n"
        f"end twice;\nmodel M\n  {declarations};\nequation\n  {equation}\nend M;\n",
        "M",
    )
    (found,) = [d for d in compiled.diagnostics if d.rule == "unit-mismatch"][:1]
    assert found.severity == "warning"
    assert found.location is not None
    assert found.location.line == 10


def test_a_remark_does_not_hide_a_contradiction(compile_text: Compile) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_text(
            'model M\n  Real y(unit="m"), F(unit="N") = 1;\nequation\n'
            "  y = sin(time) + F;\nend M;\n"
        )
    assert [d.rule for d in caught.value.diagnostics] == ["unit-mismatch"]


@pytest.mark.parametrize(
    ("declarations", "equation", "words"),
    [
        ('Real x(unit="mm", start=1, fixed=true); Real v(unit="m/s")', "der(x) = v; v = 1",
         "'der(x)' is in '0.001 m/s' and 'v' in 'm/s'"),
        ('Real x(unit="mm") = 1; Real A(unit="m2")', "A = x*x",
         "'A' is in 'm2' and 'x*x' in '1e-06 m2'"),
        ('Real x(unit="mm") = 1; Real y(unit="m")', "y = x", "'x' in 'mm' (0.001 m)"),
    ],
)  # fmt: skip
def test_units_of_one_dimension_are_shown_with_their_size(
    compile_text: Compile, declarations: str, equation: str, words: str
) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_text(f"model M\n  {declarations};\nequation\n  {equation};\nend M;\n")
    assert words in caught.value.diagnostics[0].message


CONVERSIONS = """
package L
  type Celsius = Real(final unit="degC");
  type Warm = Celsius(min=0);
  package Functions
    import L.Warm;
    partial function Conversion
      input Real k(unit="K");
    end Conversion;
    function warm
      extends Conversion;
      output Warm c;
    algorithm
      c := k - 273.15;
    end warm;
    function plain
      input Real k(unit="K");
      output Real c(unit="degC"), d(unit="K");
    algorithm
      c := k - 273.15;
      d := k;
    end plain;
  end Functions;
  model M
    import F = L.Functions;
    parameter Real k(unit="K") = 300;
    output Real y(unit="%UNIT%");
  equation
    y = F.%NAME%(k);
  end M;
end L;
"""


@pytest.mark.parametrize("name", ["warm", "plain"])
def test_the_declared_unit_of_an_output_wins(compile_text: Compile, name: str) -> None:
    text = CONVERSIONS.replace("%NAME%", name)
    compiled = compile_text(text.replace("%UNIT%", "degC"), "L.M")
    assert [d for d in compiled.diagnostics if d.rule == "unit-mismatch"] == []
    assert compiled.at(p={"k": 300.0}).outputs["y"] == pytest.approx(26.85)
    with pytest.raises(CompilationError) as caught:
        compile_text(text.replace("%UNIT%", "K"), "L.M")
    assert caught.value.diagnostics[0].rule == "unit-mismatch"
