"""Operators and kinds of connector that the subset does not contain, and der."""

from __future__ import annotations

from .case import OTHER, Case

OPERATORS = {
    # operators
    "delay": Case("unsupported-delay", "delay(x, 0.1)", "y = delay(x, 0.1);", hint=OTHER),
    "spatialDistribution": Case(
        "unsupported-spatialDistribution",
        "spatialDistribution(",
        "(y, q) = spatialDistribution(u, 0, x, true, {0, 1}, {0, 0});",
        "Real q;",
        hint=OTHER,
    ),
    "named arguments in another order": Case(
        "unsupported-named-arguments",
        "mod(",
        "y = x + mod(y = 2, x = 7);",
        words=("'mod'", "x, y"),
    ),
    "homotopy with its arguments exchanged": Case(
        "unsupported-named-arguments",
        "homotopy(",
        "y = homotopy(simplified = 0, actual = 2*x);",
        words=("actual, simplified",),
    ),
    "sample with its arguments exchanged": Case(
        "unsupported-named-arguments",
        "sample(",
        "y = x;\n  when sample(interval = 0.5, start = f(0.25)) then\n    z = x;\n  end when;",
        "discrete Real z;",
        before="function f\n  input Real a;\n  output Real b = a;\nalgorithm\nend f;\n",
    ),
    "clock": Case(
        "unsupported-clocked",
        "Clock(",
        "y = x;\n  z = sample(x, Clock(0.1));",
        "Real z;",
        hint=OTHER,
    ),
    "state machine": Case(
        "unsupported-state-machine",
        "initialState(",
        "y = x;\n  initialState(s1);\n  transition(s1, s2, x > 1);",
        "block S\n    Real q = 1;\n  end S;\n  S s1;\n  S s2;",
        hint=OTHER,
    ),
    "stream connector": Case(
        "unsupported-stream",
        "inStream(",
        "y = inStream(s1.h);\n  connect(s1, s2);",
        "S s1, s2;",
        "connector S\n  Real p;\n  flow Real m;\n  stream Real h;\nend S;",
    ),
    "expandable connector": Case(
        "unsupported-expandable",
        "expandable",
        declarations="E e;",
        before="expandable connector E\nend E;",
    ),
    "outer variable of a simple type": Case(
        "unsupported-inner-outer",
        "outer",
        "y = a.z;",
        "inner parameter Real g = 3;\n  A a;",
        "model A\n  outer parameter Real g;\n  Real z = g;\nend A;",
        words=("'g'",),
        hint=OTHER,
    ),
    "outer component without an inner one": Case(
        "unsupported-inner-outer",
        "outer",
        "y = a.z;",
        "A a;",
        "model W\n  parameter Real g = 1;\nend W;\nmodel A\n  outer W w;\n  Real z = w.g;\nend A;",
        words=("'w'", "'inner'"),
        hint=OTHER,
    ),
    "cardinality": Case(
        "unsupported-cardinality",
        "cardinality(",
        "y = cardinality(p);",
        "P p;",
        "connector P\n  Real a;\n  flow Real b;\nend P;",
    ),
    # der
    "der of an input": Case("unsupported-der", "der(u)", "y = der(u);", hint=OTHER),
    "der of an alias of an input": Case(
        "unsupported-der-input", "z);", "z = u;\n  y = der(z);", "Real z;", words=("'u'",)
    ),
    "der of an expression": Case(
        "unsupported-der", "der(x*u)", "y = der(x*u);", hint="a variable of its own"
    ),
    "second derivative": Case("unsupported-der", "der(der(x))", "y = der(der(x));"),
}
