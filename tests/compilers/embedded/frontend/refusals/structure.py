"""Equations that do not determine the unknowns, or not one by one."""

from __future__ import annotations

from .case import Case

STRUCTURE = {
    "a type that is defined by itself": Case(
        "circular-definition",
        "Real = Real(",
        declarations='type Real = Real(unit="V");',
        words=("'M.Real' = 'M.Real'",),
        hint="type MyReal = Real(...)",
    ),
    "types that are defined by each other": Case(
        "circular-definition",
        "A = B",
        declarations="type A = B;\n  type B = A;\n  A a;",
        words=("'M.A' = 'M.B' = 'M.A'",),
        hint="type A = Real(...)",
    ),
    "too few equations": Case(
        "too-few-equations", "Real z;", declarations="Real z;", words=("'z'",)
    ),
    "too many equations": Case(
        "too-many-equations", "y = 2*x", "y = x;\n  y = 2*x;", words=("'y = 2*x'",)
    ),
    "connectors that do not match": Case(
        "too-few-equations",
        "Real a;",
        "y = x;\n  connect(p, q);",
        "P p;\n  Q q;",
        "connector P\n  Real a;\n  flow Real b;\nend P;\n"
        "connector Q\n  Real c;\n  flow Real b;\nend Q;",
    ),
    "derivative of a formula of an input": Case(
        "higher-index",
        "z = 2*x + u",
        "z = 2*x + u;\n  y = der(z);",
        "Real z;",
        words=("'z = 2*x + u'", "'x'", "'u'"),
    ),
    "second derivative of a state that an input drives": Case(
        "higher-index", "v = der(x)", "v = der(x);\n  y = der(v);", "Real v;", words=("'u'",)
    ),
    "singular system": Case(
        "singular-block",
        "y + z = x",
        "y + z = x;\n  2*y + 2*z = u;",
        "Real z;",
        words=("'y'", "'z'"),
    ),
    "singular for every parameter": Case(
        "singular-block",
        "y + p*z",
        "y + p*z = x;\n  p*y + p*p*z = u;",
        "Real z;\n  parameter Real p = 2;",
    ),
    "large loop": Case(
        "large-loop",
        "i in 1:70",
        "for i in 1:70 loop\n    z[i] = x + 0.1*sum(z.*z);\n  end for;\n  y = sum(z);",
        "Real z[70];",
        words=("70", "60"),
    ),
}
