"""Initial values and parameters."""

from __future__ import annotations

from .case import Case

VALUES = {
    # initial values
    "initial equation for a fixed state": Case(
        "initial-equation", "x = 3", after="initial equation\n  x = 3;"
    ),
    "too many initial equations": Case(
        "initial-equation",
        "z = 11",
        "y = z;\n  der(z) = x;",
        "Real z;",
        after="initial equation\n  z = 11;\n  z = 12;",
    ),
    "ambiguous initial equation": Case(
        "initial-equation",
        "z + w = 4",
        "y = z;\n  der(z) = w;\n  der(w) = -z;",
        "Real z, w;",
        after="initial equation\n  z + w = 4;",
        words=("'z'", "'w'"),
        hint="fixed=true",
    ),
    "start that varies": Case(
        "variability", "2*x)", "y = z;\n  der(z) = x;", "Real z(start=2*x);", words=("'z'",)
    ),
    "fixed algebraic variable": Case(
        "fixed-algebraic",
        "Real z",
        "y = x;\n  z = 2*x;",
        "Real z(start=1, fixed=true);",
        words=("'z'",),
    ),
    # parameters
    "parameter without value": Case(
        "no-value", "Real p;", "y = p*x;", "parameter Real p;", hint="p = ..."
    ),
    "constant without value": Case("no-value", "Real k;", "y = k*x;", "constant Real k;"),
    "cyclic parameters": Case(
        "cyclic-parameter",
        "p = q",
        "y = p*x;",
        "parameter Real p = q;\n  parameter Real q = 2*p;",
        words=("'p'",),
    ),
    "parameter that varies": Case("variability", "p = x", "y = p*x;", "parameter Real p = x;"),
    "Integer parameter with a Real value": Case(
        "type-error", "2.5", "y = n*x;", "parameter Integer n = 2.5;"
    ),
    "parameter from an initial equation": Case(
        "unsupported-initial-parameter",
        "Real k",
        "y = k*x;",
        "parameter Real k(fixed=false, start=2);",
        after="initial equation\n  k^3 + k = 3;",
        hint="solve",
    ),
    "input with a binding": Case(
        "unsupported-input-binding", "Real w = x", "y = w;", "input Real w = x;", words=("'w'",)
    ),
}
