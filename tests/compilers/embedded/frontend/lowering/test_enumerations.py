"""Enumerations as parameters, builtin functions by ``external``, arrays put together."""

from __future__ import annotations

from math import sin

import pytest

from fmident.errors import CompilationError

from ..conftest import Compile

ENUMERATION = """
package L
  type Mode = enumeration(off "nothing", slow, fast);
  block B
    parameter Mode mode = Mode.slow;
    output Real y;
  equation
    if mode == Mode.off then
      y = 0;
    elseif mode < Mode.fast then
      y = 2*time;
    else
      y = 3*time;
    end if;
  end B;
  function gain
    input Mode m = Mode.fast;
    output Real k;
  algorithm
    k := if m == Mode.fast then 10 else Integer(m);
  end gain;
  model M
    parameter Mode given = Mode.fast;
    parameter Mode list[2] = {Mode.off, given};
    final parameter Real k = gain(Mode.slow) + gain();
    B a;
    B b(mode=given);
    B c(final mode=list[1]);
  end M;
end L;
"""


def test_parameters_of_enumerations(compile_text: Compile) -> None:
    compiled = compile_text(ENUMERATION, "L.M")
    values = compiled.at(t=1.0).values
    assert (values["a.y"], values["b.y"], values["c.y"]) == (2.0, 3.0, 0.0)
    assert compiled.at().calculated["k"] == 12.0
    assert "enumeration" in compiled.model.frozen["given"].reason
    notes = [d.message for d in compiled.diagnostics if d.rule == "structural-parameter"]
    assert "given = fast" in notes[0]


def test_an_external_builtin_is_the_function_itself(compile_text: Compile) -> None:
    """And what only stands beside it in the source does not matter."""
    text = """
package L
  function sine
    input Real u;
    output Real y;
    external "builtin" y = sin(u);
  end sine;
  function swapped
    input Real b;
    input Real a;
    output Real y;
    external "builtin" y = atan2(a, b);
  end swapped;
  function foreign
    input Real u;
    output Real y;
    external "C" y = something(u);
  end foreign;
  model M
    output Real y, z;
  equation
    y = sine(time);
    z = swapped(0, 1);
  end M;
  model Unlucky
    output Real y = foreign(time);
  end Unlucky;
  model Unknown
    function strange
      input Real u;
      output Real y;
      external "builtin" y = besselJ(u);
    end strange;
    output Real y = strange(time);
  end Unknown;
end L;
"""
    outputs = compile_text(text, "L.M").at(t=0.7).outputs
    assert outputs["y"] == pytest.approx(sin(0.7), rel=1e-15)
    assert outputs["z"] == pytest.approx(1.5707963267948966)
    for name, rule in (
        ("L.Unlucky", "unsupported-external"),
        ("L.Unknown", "unsupported-function"),
    ):
        with pytest.raises(CompilationError) as caught:
            compile_text(text, name)
        assert [d.rule for d in caught.value.diagnostics] == [rule]
        assert caught.value.diagnostics[0].location is not None


def test_arrays_of_three_dimensions_are_put_together(compile_text: Compile) -> None:
    """Inside brackets the parts get as many dimensions as the one with most of them."""
    compiled = compile_text(
        """
model M
  constant Real A[2, 1, 2] = {{{1, 2}}, {{3, 4}}};
  Real B[2, 2, 2] = [A, A*time];
  Real C[3, 1, 2] = cat(1, A, {{{5*time, 6}}});
  Real D[2, 2, 2] = cat(2, A, A*time);
end M;
""",
        "M",
    )
    values = compiled.at(t=10.0).locals
    assert [values[f"B[2,{i},{j}]"] for i in (1, 2) for j in (1, 2)] == [3, 4, 30, 40]
    assert [values[f"C[3,1,{j}]"] for j in (1, 2)] == [50, 6]
    assert [values[f"D[2,{i},2]"] for i in (1, 2)] == [4, 40]
