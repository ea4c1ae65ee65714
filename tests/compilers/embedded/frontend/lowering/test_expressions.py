"""Each expression of the language against a hand-written formula."""

import math

import numpy as np
import pytest

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])

# Modelica expression of the state x, the input u and the parameter p; the same in Python.
CASES = {
    "abs(u)": lambda x, u, p: abs(u),
    "noEvent(sign(u))": lambda x, u, p: math.copysign(1, u),
    "sqrt(abs(x))": lambda x, u, p: math.sqrt(abs(x)),
    "sin(x) + cos(u)*tan(0.1)": lambda x, u, p: math.sin(x) + math.cos(u) * math.tan(0.1),
    "asin(x/9) + acos(u/9) + atan(x)": lambda x, u, p: (
        math.asin(x / 9) + math.acos(u / 9) + math.atan(x)
    ),
    "atan2(x, u)": lambda x, u, p: math.atan2(x, u),
    "sinh(x) + cosh(u) + tanh(p)": lambda x, u, p: math.sinh(x) + math.cosh(u) + math.tanh(p),
    "exp(x)*log(p)/log10(7)": lambda x, u, p: math.exp(x) * math.log(p) / math.log10(7),
    "x^2 - u^3 + p^0.5 + 2^x": lambda x, u, p: x**2 - u**3 + p**0.5 + 2**x,
    "-x^2": lambda x, u, p: -(x**2),
    "x - u - p": lambda x, u, p: (x - u) - p,
    "x/u/p": lambda x, u, p: (x / u) / p,
    "2/4*x + 1/3": lambda x, u, p: 0.5 * x + 1 / 3,
    "min(x, u) + max(x, p)": lambda x, u, p: min(x, u) + max(x, p),
    "min({x, u, p})": lambda x, u, p: min(x, u, p),
    "noEvent(if x > u then x else u)": lambda x, u, p: x if x > u else u,
    "noEvent(if x > 1e3 then 1 elseif u < 0 and not p < 0 then 2 else 3)": lambda x, u, p: (
        2 if u < 0 and not p < 0 else 3
    ),
    "smooth(1, if x >= 0 or u >= 0 then x^2 else 0)": lambda x, u, p: (
        x**2 if x >= 0 or u >= 0 else 0
    ),
    "if noEvent(x > 0) then x else -u": lambda x, u, p: x if x > 0 else -u,
    "if p > 2 then x else u": lambda x, u, p: x if p > 2 else u,
    "if flag and n == 3 then x else u": lambda x, u, p: x,
    "time*x": lambda x, u, p: 0.25 * x,
    "sum({x, u, p}) + product({x, u, p})": lambda x, u, p: x + u + p + x * u * p,
    "{x, u, p}*{1, 2, 3}": lambda x, u, p: x + 2 * u + 3 * p,
    "sum(A*{x, u, p})": lambda x, u, p: (A @ [x, u, p]).sum(),
    "sum({x, u, p}*A)": lambda x, u, p: ([x, u, p] @ A).sum(),
    "sum(A*A*{x, u, p})": lambda x, u, p: (A @ A @ [x, u, p]).sum(),
    "(transpose(A)*{x, u, p})*{1, 2, 3}": lambda x, u, p: (A.T @ [x, u, p]) @ [1, 2, 3],
    "cross({x, u, p}, {x, 1, 2})*{1, 2, 3}": lambda x, u, p: (
        np.cross([x, u, p], [x, 1, 2]) @ [1, 2, 3]
    ),
    "sum((A.*A)*{x, u, p})": lambda x, u, p: ((A * A) @ [x, u, p]).sum(),
    "sum({x, u, p}./{1, 2, 3}) + sum({x, u}.^2)": lambda x, u, p: x + u / 2 + p / 3 + x * x + u * u,
    "A[2, 3]*x + A[end, 1]*u": lambda x, u, p: A[1, 2] * x + A[2, 0] * u,
    "sum(A[2, :])*x + sum(A[:, 1])*u + sum(A[1:2, 2:3])": lambda x, u, p: (
        A[1].sum() * x + A[:, 0].sum() * u + A[:2, 1:].sum()
    ),
    "sum(i*x for i in 1:4)": lambda x, u, p: 10 * x,
    "sum({i*j*x for i in 1:2, j in 1:3})": lambda x, u, p: 18 * x,
    "sum([x, u; p, 1]*{1, 2})": lambda x, u, p: x + 2 * u + p + 2,
    "sum(identity(3)*{x, u, p}) + sum(diagonal({1, 2})*{x, u})": lambda x, u, p: (
        x + u + p + x + 2 * u
    ),
    "sum(fill(x, 2, 3)) + sum(zeros(3)) + sum(ones(2, 2))": lambda x, u, p: 6 * x + 4,
    "size(A, 1)*x + size(A, 2)": lambda x, u, p: 3 * x + 3,
    "sum(outerProduct({x, u}, {1, 2}))": lambda x, u, p: (x + u) * 3,
    "(skew({x, u, p})*{1, 2, 3})*{3, 2, 1}": lambda x, u, p: (
        np.cross([x, u, p], [1, 2, 3]) @ [3, 2, 1]
    ),
    "sum(linspace(0, x, 5))": lambda x, u, p: 2.5 * x,
    "sum(cat(1, {x, u}, {p}))*2": lambda x, u, p: 2 * (x + u + p),
    "floor(2.7)*x + ceil(2.1) + mod(7, 4) + rem(-7, 4) + div(7, 2)": lambda x, u, p: (
        2 * x + 3 + 3 - 3 + 3
    ),
    "c3*x": lambda x, u, p: 3 * math.pi * x,
    "scaled(x, u)": lambda x, u, p: x * u + 2,
    "scaled(u=u, x=x)": lambda x, u, p: x * u + 2,
    "norm({x, u, p})": lambda x, u, p: math.sqrt(x * x + u * u + p * p),
    "horner({1, 2, 3}, x)": lambda x, u, p: 1 + 2 * x + 3 * x * x,
    "branch(u)": lambda x, u, p: u * u if u > 0 else -u,
    "default(x)": lambda x, u, p: 3 * x,
    "throughRecord(x, u)": lambda x, u, p: x + 2 * u,
}

FUNCTIONS = """
function scaled
  input Real x;
  input Real u;
  output Real y;
protected
  Real a[2];
algorithm
  a[1] := x*u;
  a[2] := 2;
  y := sum(a);
end scaled;
function default
  input Real x;
  input Real k = 3;
  output Real y = x*k;
algorithm
end default;
function norm
  input Real v[:];
  output Real n;
algorithm
  n := 0;
  for i in 1:size(v, 1) loop
    n := n + v[i]^2;
  end for;
  n := sqrt(n);
end norm;
function horner
  input Real c[:];
  input Real x;
  output Real y;
algorithm
  y := 0;
  for i in size(c, 1):-1:1 loop
    y := y*x + c[i];
  end for;
end horner;
function branch
  input Real u;
  output Real y;
algorithm
  if u > 0 then
    y := u;
    y := y*u;
  else
    y := -u;
  end if;
end branch;
record Pair
  Real a;
  Real b;
end Pair;
function makePair
  input Real a;
  input Real b;
  output Pair r;
algorithm
  r := Pair(a, 2*b);
end makePair;
function throughRecord
  input Real a;
  input Real b;
  output Real y;
protected
  Pair r;
algorithm
  r := makePair(a, b);
  y := r.a + r.b;
end throughRecord;
"""

POINTS = [(1.2, -0.7, 2.5), (-0.4, 1.9, 1.1)]


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, float]]:
    """All expressions as outputs of one model, evaluated at both points."""
    from pathlib import Path

    from fmident.compilers.embedded.frontend import load_model

    from ..conftest import Compiled

    outputs = "".join(f"  output Real y{i};\n" for i in range(len(CASES)))
    equations = "".join(f"  y{i} = {text};\n" for i, text in enumerate(CASES))
    source = f"""{FUNCTIONS}
model M
  input Real u;
  parameter Real p = 2.5;
  parameter Boolean flag = true;
  parameter Integer n = 3;
  constant Real A[3, 3] = {{{{1, 2, 3}}, {{4, 5, 6}}, {{7, 8, 10}}}};
  constant Real pi = 3.14159265358979323846;
  constant Real c3 = 3*pi;
  Real x(start=1.2, fixed=true);
{outputs}equation
  der(x) = u;
{equations}end M;
"""
    file = Path(tmp_path_factory.mktemp("expressions")) / "M.mo"
    file.write_text(source, encoding="utf-8")
    compiled = Compiled(*load_model("M", [file]))
    return [compiled.at({"x": x}, {"u": u}, {"p": p}, t=0.25).outputs for x, u, p in POINTS]


@pytest.mark.parametrize("point", range(len(POINTS)))
@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_value(values: list[dict[str, float]], number: int, point: int) -> None:
    formula = list(CASES.values())[number]
    assert values[point][f"y{number}"] == pytest.approx(formula(*POINTS[point]), rel=1e-13)
