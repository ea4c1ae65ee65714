"""Which modifiers hold after a redeclaration (Modelica 3.6, section 7.3.2), and scalar calls."""

from __future__ import annotations

import pytest

from fmident.errors import CompilationError

from ..conftest import Compile

LAWS = """
partial model Law
  Real y;
  parameter Real e = 10;
end Law;
model One
  extends Law;
  parameter Real a = 1;
equation
  y = a + e;
end One;
model Two
  extends Law;
  parameter Real a = 1;
  parameter Real c = 1;
equation
  y = a*c + e;
end Two;
model Free
  parameter Real p = 2;
  replaceable One m(a = p);
  output Real y = m.y;
end Free;
model Bound
  parameter Real p = 2;
  replaceable One m(a = p) constrainedby Law(e = 100);
  output Real y = m.y;
end Bound;
model Pair
  replaceable One m[2](a = {2, 3}) constrainedby Law;
  output Real y = m[1].y + m[2].y;
end Pair;
model Middle
  extends Bound;
end Middle;
model Open
  replaceable model L = One;
  L m;
  output Real y = m.y;
end Open;
model Preset
  replaceable model L = One(a = 6);
  L m;
  output Real y = m.y;
end Preset;
model Limited
  replaceable model L = One constrainedby Law(e = 100);
  L m;
  output Real y = m.y;
end Limited;
model Inside
  parameter Real p = 2;
  model L = One(a = p);
  L m;
  output Real y = m.y;
end Inside;
"""


@pytest.mark.parametrize(
    ("body", "y"),
    [
        ("extends Bound;", 102.0),
        ("extends Bound(redeclare Two m(c = 3));", 103.0),
        ("extends Bound(redeclare Two m(c = 3, e = 50));", 53.0),
        ("extends Bound(redeclare Two m(c = 3, a = p));", 106.0),
        ("extends Middle(redeclare Two m(e = 50));", 51.0),
        ("Bound b(redeclare Two m(c = 3)); output Real y = b.y;", 103.0),
        ("Bound b(p = 7); output Real y = b.y;", 107.0),
        ("extends Free(redeclare Two m(c = 3));", 16.0),
        ("extends Pair(redeclare Two m[2](c = {3, 4}));", 27.0),
        ("extends Open(redeclare model L = Two);", 11.0),
    ],
)
def test_modifiers_that_hold(compile_text: Compile, body: str, y: float) -> None:
    assert compile_text(f"{LAWS}\nmodel M\n  {body}\nend M;").at().outputs["y"] == y


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("Bound b, c(redeclare Two m); output Real y = b.y + c.y;", "One m(a = p) constrained"),
        ("extends Middle(redeclare Two m(c = 3));", "extends Middle("),
        ("extends Open(redeclare model L = One(a = 3));", "extends Open"),
        ("extends Preset(redeclare model L = Two);", "model L = One(a = 6)"),
        ("extends Limited;", "constrainedby Law(e = 100);\n  L m"),
        ("extends Inside;", "model L = One(a = p)"),
        ("model N Free b; end N; N n(b(redeclare Two m)); output Real y = n.b.y;", "N n(b("),
    ],
)
def test_modifiers_that_rumoca_would_drop(compile_text: Compile, body: str, line: str) -> None:
    text = f"{LAWS}\nmodel M\n  {body}\nend M;"
    with pytest.raises(CompilationError) as caught:
        compile_text(text)
    (found, *_) = caught.value.diagnostics
    assert found.rule == "unsupported-redeclaration"
    assert found.location is not None
    assert found.location.line == text[: text.index(line)].count("\n") + 1


@pytest.mark.parametrize(
    "binding",
    [
        "parameter Real a = f(t);",
        "parameter Real b = 1, a = if b > 2 then 0 else f(t);",
        "P p(a = f(t)); Real a = p.a;",
        "Real a = f({t[1, 1:2]});",
    ],
)
def test_a_function_of_an_array_gives_a_scalar(compile_text: Compile, binding: str) -> None:
    text = f"""
function f
  input Real u[:, :];
  output Real y;
algorithm
  y := u[1, 2];
end f;
model P
  parameter Real a;
end P;
model M
  parameter Real t[:, 2] = [0, 5; 1, 6];
  {binding}
  output Real y;
equation
  y = a;
end M;
"""
    assert compile_text(text).at().outputs["y"] == 5.0
