"""Inputs and outputs in connectors of the class itself: they are those of the FMU."""

from __future__ import annotations

import pytest

from fmident.errors import Code, CompilationError

from ....refused import refused
from .conftest import Compile

BUS = """
package T
  connector In = input Real;
  connector Bus
    input Real speed(unit="rad/s") "wanted speed";
    output Real torque;
    In gains[2];
  end Bus;
  model Amplifier
    Bus bus;
    parameter Real k = 2;
  equation
    bus.torque = k*bus.speed*(bus.gains[1] + 10*bus.gains[2]);
  end Amplifier;
  %s
end T;
"""


def names(variables: tuple) -> list[str]:
    return [v.name for v in variables]


def test_a_connector_has_inputs_and_outputs(compile_text: Compile) -> None:
    compiled = compile_text(BUS % "", "T.Amplifier")
    assert names(compiled.model.inputs) == ["bus.speed", "bus.gains[1]", "bus.gains[2]"]
    assert names(compiled.model.outputs) == ["bus.torque"]
    assert compiled.model.inputs[0].unit == "rad/s"
    point = compiled.at(u={"bus.speed": 3.0, "bus.gains[1]": 0.5, "bus.gains[2]": 0.25})
    assert point.outputs == {"bus.torque": pytest.approx(2 * 3 * 3.0)}


def test_connectors_in_connectors_and_arrays_of_them(compile_text: Compile) -> None:
    text = (
        BUS
        % """
    connector Both Bus bus; In more; end Both;
    model M
      Both both;
      Bus side[2];
      Real x(start=0, fixed=true);
    equation
      der(x) = both.more - x;
      both.bus.torque = x + both.bus.speed + both.bus.gains[2];
      for i in 1:2 loop side[i].torque = i*side[i].speed + side[i].gains[1]; end for;
    end M;
    """
    )
    compiled = compile_text(text, "T.M")
    given = {"both.bus.speed": 1.0, "both.bus.gains[2]": 20.0, "both.more": 7.0}
    given |= {"side[1].speed": 3.0, "side[2].speed": 4.0, "side[2].gains[1]": 100.0}
    point = compiled.at(x={"x": 0.5}, u=given)
    assert point.rates == {"x": pytest.approx(6.5)}
    expected = {"both.bus.torque": 21.5, "side[1].torque": 3.0, "side[2].torque": 108.0}
    assert point.outputs == pytest.approx(expected)


def test_connectors_of_parts_and_protected_ones_are_not_the_interface(
    compile_text: Compile,
) -> None:
    text = (
        BUS
        % """
    model M
      Amplifier a;
      output Real y;
    protected
      Bus hidden;
    equation
      connect(hidden, a.bus);
      hidden.speed = time; hidden.gains = {1, 0};
      y = hidden.torque;
    end M;
    """
    )
    compiled = compile_text(text, "T.M")
    assert names(compiled.model.inputs) == []
    assert compiled.at(t=5.0).outputs == {"y": pytest.approx(10.0)}


def test_a_connector_that_is_passed_on_is_the_interface(compile_text: Compile) -> None:
    text = BUS % "model M Bus bus; Amplifier a; equation connect(bus, a.bus); end M;"
    compiled = compile_text(text, "T.M")
    assert names(compiled.model.outputs) == ["bus.torque"]
    point = compiled.at(u={"bus.speed": 1.0, "bus.gains[1]": 4.0})
    assert point.outputs == {"bus.torque": pytest.approx(8.0)}


def test_an_input_of_a_connector_cannot_have_an_equation_too(compile_text: Compile) -> None:
    text = (
        BUS
        % """
    model M Bus bus; equation bus.speed = 1; bus.gains = {1, 2}; bus.torque = 3; end M;
    """
    )
    with refused(Code.COMPILATION_FAILED, CompilationError, match="too many equations"):
        compile_text(text, "T.M")


def test_a_switch_in_a_connector_is_refused(compile_text: Compile) -> None:
    text = "package T connector C input Boolean on; end C; model M C c; Real x; equation "
    with refused(Code.COMPILATION_FAILED, CompilationError, match=r"Boolean input 'c\.on'"):
        compile_text(f"{text} x = if c.on then 1 else 2; end M; end T;", "T.M")
