"""Algorithms and functions."""

from __future__ import annotations

from .case import OTHER, Case, function

FUNCTIONS = {
    "algorithm that gives values to several variables": Case(
        "unsupported-algorithm",
        "algorithm",
        after="algorithm\n  y := 2*x;\n  z := y + u;",
        equations="",
        declarations="Real z;",
        words=("an algorithm section",),
        hint="write equations",
    ),
    "initial algorithm that checks a state": Case(
        "unsupported-algorithm",
        "assert",
        after='initial algorithm\n  assert(x > 0, "no");',
        hint=OTHER,
    ),
    "external function": Case(
        "unsupported-external",
        "f",
        "y = f(x);",
        before='function f\n  input Real a;\n  output Real b;\n  external "C" b = g(a);\nend f;',
        hint=OTHER,
    ),
    "impure function": Case(
        "unsupported-impure", "algorithm", "y = f(x);", before="impure " + function("b := a;")
    ),
    "recursion": Case(
        "unsupported-recursion",
        "f(a)",
        "y = f(x);",
        before=function("b := f(a) + 1;"),
        words=("'f'",),
    ),
    "while": Case(
        "unsupported-function-body",
        "f(x)",
        "y = f(x);",
        before=function("b := a;\n  while b > 1 loop\n    b := b - 1;\n  end while;"),
        words=("'f'",),
        hint=OTHER,
    ),
    "break that depends on time": Case(
        "unsupported-function-body",
        "f(x)",
        "y = f(x);",
        before=function(
            "for i in 1:3 loop\n    if a > i then\n      break;\n    end if;\n"
            "    b := i;\n  end for;"
        ),
    ),
    "result not assigned on every path": Case(
        "unassigned",
        "Real b;",
        "y = f(x);",
        before=function("if a > 0 then\n    b := 1;\n  end if;"),
        words=("'b'", "'f'"),
    ),
    "partial derivative of a function": Case(
        "unsupported-derivative-function",
        "der(f, a)",
        "y = fd(x);",
        "function fd = der(f, a);",
        function("b := a^2;"),
    ),
    "call as an equation": Case(
        "unsupported-call-statement",
        "f(x)",
        "y = x;\n  f(x);",
        before='function f\n  input Real a;\nalgorithm\n  assert(a < 2, "a");\nend f;',
    ),
    "scalar function of an array": Case(
        "shape-mismatch",
        "f({x, u})",
        "a = f({x, u});\n  y = a[1];",
        "Real a[2];",
        function("b := a;"),
    ),
}
