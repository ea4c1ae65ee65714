"""Source that is no valid Modelica, or names what is not there."""

from __future__ import annotations

from .case import OTHER, Case, function

SOURCE = {
    "units": Case(
        "unit-mismatch",
        "y = m + l",
        "y = m + l;",
        'parameter Real m(unit="kg") = 1;\n  parameter Real l(unit="m") = 1;',
        words=("'kg'", "'m'", "'y = m + l'"),
    ),
    "syntax": Case("syntax-error", ";\n\nend M", "y = x +;", words=("';'",), hint="expected"),
    "end of another class": Case("syntax-error", "end M;", after="end N;"),
    "keyword as a name": Case("syntax-error", "der;", declarations="Real der;"),
    "duplicate declaration": Case(
        "duplicate", "x;\nequation", declarations="Real x;", words=("'x'",)
    ),
    "unknown variable": Case(
        "unknown-variable",
        "stiffnes;",
        "y = stiffnes;",
        "parameter Real stiffness = 1;",
        words=("'stiffnes'",),
        hint="'stiffness'",
    ),
    "unknown function": Case(
        "unknown-function",
        "squared(x)",
        "y = squared(x);",
        before=function("b := a^2;", name="square"),
        hint="'square'",
    ),
    "too many arguments": Case(
        "argument-count",
        "f(x, 1, 2)",
        "y = f(x, 1, 2);",
        before=function("b := a;"),
        words=("'f'",),
    ),
    "too few arguments": Case(
        "argument-count",
        "f(x)",
        "y = f(x);",
        before=function("b := a;", "input Real a;\n  input Real c;"),
        words=("'c'",),
    ),
    "arguments of a built-in function": Case("argument-count", "sin(x, 2)", "y = sin(x, 2);"),
    "redeclaration of nothing": Case(
        "wrong-modifier",
        "B = C",
        declarations=("A a(redeclare model B = C);"),
        before="model A\n  Real z = 1;\nend A;",
        words=("'B'",),
    ),
    "modifier of nothing": Case(
        "wrong-modifier",
        "q=3",
        declarations="A a(q=3);",
        before="model A\n  parameter Real p = 1;\nend A;",
        words=("'q'",),
    ),
    "modifier of a final parameter": Case(
        "wrong-modifier",
        "p=3",
        declarations="A a(p=3);",
        before="model A\n  final parameter Real p = 1;\nend A;",
        words=("'p'", "final"),
    ),
    "partial class": Case(
        "partial-class",
        "a;\nequation",
        declarations="A a;",
        before="partial model A\n  Real z;\nend A;",
        words=("'A'",),
    ),
    "missing package": Case(
        "missing-class", "Foo.Bar b", declarations="Foo.Bar b;", words=("'Foo.Bar'",), hint="'Foo'"
    ),
    "missing import": Case("missing-class", "Foo.Bar;", declarations="import Foo.Bar;\n  Bar b;"),
    "missing base class": Case(
        "missing-class", "Nothing;", declarations="extends Nothing;", words=("'Nothing'",)
    ),
    "Modelica Standard Library, component": Case(
        "unsupported-msl",
        "Modelica.Blocks",
        "y = s.y;",
        "Modelica.Blocks.Sources.Pulse s;",
        hint=OTHER,
    ),
    "Modelica Standard Library, function": Case(
        "unsupported-msl",
        "Modelica.Math.Vectors",
        "y = Modelica.Math.Vectors.norm({x});",
        hint="MODELICAPATH",
    ),
    "Modelica Standard Library, type": Case(
        "unsupported-msl",
        "Modelica.Media",
        "y = x;\n  m = 1;",
        "Modelica.Media.Interfaces.Types.Density m;",
        hint="4.0.0 or 4.1.0",
    ),
    "sizes": Case(
        "shape-mismatch", "b = a;", "y = x;\n  a = {1, 2, 3};\n  b = a;", "Real a[3];\n  Real b[2];"
    ),
    "subscript": Case("shape-mismatch", "a[4]", "y = a[4];\n  a = {1, 2, 3};", "Real a[3];"),
    "String for a Real": Case("type-error", 'y = "text"', 'y = "text";'),
    "Boolean for a Real": Case("type-error", "y = true", "y = true;"),
    "Real for a Boolean": Case("type-error", "assert(x,", 'y = x;\n  assert(x, "a");'),
    "equality of Reals": Case("real-equality", "== 0", "y = noEvent(if x == 0 then 1 else 0);"),
    "division by zero": Case("division-by-zero", "x/0", "y = x/0;"),
    "logarithm of a negative constant": Case("not-finite", "log(-1)", "y = x + log(-1);"),
    "text outside ASCII before the mistake": Case(
        "unknown-variable", "zz;", "y = zz;", 'Real z = x "Größe, 5 °";'
    ),
}
