"""The dimensional analysis: what it finds, and what it must leave alone."""

import pytest

from fmident.errors import CompilationError

from ..conftest import Compile

DECLARATIONS = """
  input Real F(unit="N");
  parameter Real m(unit="kg") = 1;
  parameter Real k(unit="N/m") = 2;
  parameter Real d(unit="N.s/m") = 3;
  parameter Real L(unit="m") = 1;
  parameter Real free = 1;
  parameter Real one(unit="1") = 1;
  parameter Real w(unit="rad/s") = 1;
  parameter Real v0(unit="m/s") = 1;
  Real x(unit="m", start=0), v(unit="m/s"), a(unit="m/s2");
  Real E(unit="J"), P(unit="W"), phi(unit="rad"), tau(unit="N.m"), r3[3](each unit="m"), q;
"""
REST = {
    "a": "a = F/m;",
    "E": "E = 0;",
    "P": "P = 0;",
    "phi": "phi = 0;",
    "tau": "tau = 0;",
    "r3": "r3 = zeros(3);",
    "q": "q = 0;",
}


def model(**replaced: str) -> str:
    equations = "\n".join(f"  {text}" for text in {**REST, **replaced}.values())
    return f"model M{DECLARATIONS}equation\n  der(x) = v;\n  der(v) = a;\n{equations}\nend M;\n"


MISMATCHES = {
    "sum": ("q", "q = m + L;", "'kg'", "'m'"),
    "equation": ("E", "E = 0.5*m*v;", "'J'", "kg.m/s"),
    "missing square": ("E", "E = k*x/2;", "'J'", "kg.m/s2"),
    "derivative": ("a", "a = der(x);", "'m/s2'", "m/s"),
    "argument of a function": ("q", "q = sin(x);", "'m'", "dimensionless"),
    "argument of tanh": ("q", "q = tanh(v);", "'m/s'", "dimensionless"),
    "relation": ("q", "q = noEvent(if x > v then 1 else 2);", "'m'", "'m/s'"),
    "branches": ("q", "q = noEvent(if x > 0 then x else v);", "'m'", "'m/s'"),
    "min": ("q", "q = min(x, v);", "'m'", "'m/s'"),
    "square root": ("v", "", "", ""),
    "vector": ("r3", "r3 = {1, 2, 3}*v;", "'m'", "'m/s'"),
    "cross": ("r3", "r3 = cross(r3, r3);", "'m'", "'m2'"),
    "dot": ("E", "E = r3*r3;", "'J'", "m2"),
}
MISMATCHES["square root"] = ("q", "q = sqrt(k/m) + v;", "1/s", "'m/s'")

ACCEPTED = {
    "energy": ("E", "E = 0.5*m*v^2 + 0.5*k*x^2;"),
    "power": ("P", "P = F*v - d*v*v;"),
    "radian": ("phi", "phi = w*time + x/L;"),
    "torque is energy": ("tau", "tau = F*L + E;"),
    "literal in a sum": ("x", ""),
    "literal with a unit": ("a", "a = 9.81 + F/m;"),
    "factor with a unit": ("a", "a = 0.001*x;"),
    "amplitude": ("a", "a = 10*sin(5*time);"),
    "no unit": ("q", "q = free*m + L*free;"),
    "frequency": ("q", "q = sqrt(k/m)*time;"),
    "ratio": ("q", "q = x/L + one - 1;"),
    "square root of squares": ("r3", "r3 = {sqrt(x*x), L, 0};"),
    "zero": ("a", "a = if one > 0 then F/m else 0;"),
    "smooth sign": ("a", "a = F/m*tanh(v/v0);"),
    "power of a ratio": ("q", "q = (x/L)^free;"),
    "exponent of half": ("v1", ""),
    "atan2": ("phi", "phi = atan2(x, L);"),
}
ACCEPTED["literal in a sum"] = ("q", "q = 1 + x/L;")
ACCEPTED["exponent of half"] = ("q", "q = (k/m)^0.5 - w + (k/m)^(1/2);")


@pytest.mark.parametrize("name", MISMATCHES)
def test_mismatch(compile_text: Compile, name: str) -> None:
    variable, equation, *units = MISMATCHES[name]
    with pytest.raises(CompilationError) as caught:
        compile_text(model(**{variable: equation}))
    (found,) = caught.value.diagnostics
    assert found.rule == "unit-mismatch"
    left = equation.split("=")[0].strip()
    assert f"'{left} = " in found.message
    for unit in units:
        assert unit in found.message
    assert found.location is not None
    assert found.location.line == model(**{variable: equation}).split(equation)[0].count("\n") + 1


@pytest.mark.parametrize("name", ACCEPTED)
def test_no_false_alarm(compile_text: Compile, name: str) -> None:
    variable, equation = ACCEPTED[name]
    compile_text(model(**{variable: equation}))


def test_binding_of_a_parameter(compile_text: Compile) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_text(
            'model M\n  parameter Real m(unit="kg") = 1;\n  parameter Real l(unit="m") = 2*m;\n'
            "  output Real y = l;\nend M;\n"
        )
    (found,) = caught.value.diagnostics
    assert found.rule == "unit-mismatch"
    assert found.location is not None
    assert found.location.line == 3


def test_unit_that_cannot_be_read_is_a_warning(compile_text: Compile) -> None:
    compiled = compile_text(
        'model M\n  parameter Real m(unit="kilo") = 1;\n  output Real y = m;\nend M;\n'
    )
    (found,) = compiled.diagnostics
    assert (found.severity, found.rule) == ("warning", "unknown-unit")
    assert "'m'" in found.message


FUNCTIONS = """function coulomb
  input Real v;
  input Real Fc;
  input Real width;
  output Real f;
algorithm
  f := Fc*tanh(v/width);
end coulomb;
function length
  input Real r[:];
  output Real l;
algorithm
  l := 0;
  for i in 1:size(r, 1) loop
    l := l + r[i]^2;
  end for;
  l := sqrt(l);
end length;
function larger
  input Real a;
  input Real b;
  output Real c;
algorithm
  if a > b then
    c := a;
  else
    c := b;
  end if;
end larger;
"""

CALLS = {
    "force and torque": ("q = coulomb(v, F, v0) - F + coulomb(w, tau, w)/L;", ""),
    "result": ("E = coulomb(v, F, v0);", "coulomb(v, F, v0)"),
    "exchanged arguments": ("q = coulomb(v, v0, F);", "f := Fc*tanh(v/width)"),
    "loop": ("q = length(r3) - L;", ""),
    "result of a loop": ("q = length(r3) - v;", "length(r3)"),
    "branches": ("q = larger(x, L) + L;", ""),
    "relation in a function": ("q = larger(x, v);", "if a > b"),
    "literals": ("q = larger(x, 3) + coulomb(v, 2.5, 0.001)*F;", ""),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_followed(compile_text: Compile, name: str) -> None:
    equation, mark = CALLS[name]
    variable = equation.split(" =")[0]
    text = FUNCTIONS + model(**{variable: equation})
    if not mark:
        compile_text(text)
        return
    with pytest.raises(CompilationError) as caught:
        compile_text(text)
    (found,) = caught.value.diagnostics
    assert found.rule == "unit-mismatch"
    assert mark in found.message
    assert found.location is not None
    assert found.location.line == text.split(equation)[0].count("\n") + 1


SIZES = {
    "length": ('input Real u(unit="m");\n  output Real y(unit="mm");', "y = u;", False),
    "length, converted": (
        'input Real u(unit="m");\n  output Real y(unit="mm");',
        "y = 1000*u;",
        True,
    ),
    "angle": ('input Real u(unit="deg");\n  output Real y(unit="rad");', "y = u;", False),
    "sine of degrees": ('input Real u(unit="deg");\n  output Real y;', "y = sin(u);", False),
    "sine, converted": (
        'input Real u(unit="deg");\n  output Real y;',
        "y = sin(3.14159265*u/180);",
        True,
    ),
    "frequency": ('input Real u(unit="1/min");\n  output Real y(unit="1/s");', "y = u;", False),
    "temperature": ('input Real u(unit="degC");\n  output Real y(unit="K");', "y = u;", False),
    "product": (
        'input Real u(unit="mm");\n  input Real F(unit="kN");\n  output Real y(unit="N.m");',
        "y = F*u;",
        True,
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_units_are_compared(compile_text: Compile, name: str) -> None:
    """A host converts data to the declared unit: a factor that is missing would be silent."""
    declarations, equation, fits = SIZES[name]
    text = f"model M\n  {declarations}\nequation\n  {equation}\nend M;\n"
    if fits:
        compile_text(text)
        return
    with pytest.raises(CompilationError) as caught:
        compile_text(text)
    (found,) = caught.value.diagnostics
    assert found.rule == "unit-mismatch"
    assert found.location is not None
    assert found.location.line == text.split(equation)[0].count("\n") + 1
