"""Events and discrete variables."""

from __future__ import annotations

from .case import OTHER, Case

EVENTS = {
    "when": Case(
        "unsupported-when",
        "x > 0.5",
        "y = x;\n  when x > 0.5 then\n    reinit(x, 0);\n  end when;",
        hint=OTHER,
    ),
    "when in a component": Case(
        "unsupported-when",
        "time > 1",
        declarations="A a;",
        before=(
            "model A\n  discrete Real z;\nequation\n  when time > 1 then\n    z = 1;\n  end when;\n"
            "end A;"
        ),
        hint=OTHER,
    ),
    "sample": Case(
        "unsupported-when",
        "sample(0, 0.1)",
        "y = x;\n  when sample(0, 0.1) then\n    z = x;\n  end when;",
        "discrete Real z;",
        hint=OTHER,
    ),
    "pre": Case(
        "unsupported-when",
        "x > 0.7",
        "y = x;\n  when x > 0.7 then\n    z = pre(z) + 1;\n  end when;",
        "discrete Real z(start=0);",
        hint=OTHER,
    ),
    "if-equation": Case(
        "unsupported-event",
        "x > 0 then",
        "if x > 0 then\n    y = x;\n  else\n    y = 2*x;\n  end if;",
        words=("'x > 0'",),
        hint="noEvent",
    ),
    "if-expression": Case(
        "unsupported-event",
        "x > 0 then",
        "y = if x > 0 then x else 2*x;",
        words=("'x > 0'",),
        hint=OTHER,
    ),
    "if on time": Case("unsupported-event", "time > 1", "y = if time > 1 then x else 2*x;"),
    "condition of continuous functions": Case(
        "unsupported-event", "min(x, u) > 0", "y = if min(x, u) > 0 then 1 else 2;"
    ),
    "relation to a Boolean": Case(
        "unsupported-discrete",
        "Boolean b",
        "b = x > 0;\n  y = x;",
        "Boolean b;",
        words=("Boolean", "'b'"),
        hint=OTHER,
    ),
    "edge": Case(
        "unsupported-discrete",
        "Boolean b",
        "b = x > 0.5;\n  y = if edge(b) then 1 else 0;",
        "Boolean b;",
    ),
    "change": Case(
        "unsupported-discrete",
        "Boolean b",
        "b = x > 0.5;\n  y = if change(b) then 1 else 0;",
        "Boolean b;",
    ),
    "initial": Case(
        "unsupported-initial", "initial()", "y = if initial() then 1 else x;", hint=OTHER
    ),
    "terminal": Case("unsupported-terminal", "terminal()", "y = if terminal() then 1 else x;"),
    "terminate": Case(
        "unsupported-terminate", "terminate(", 'y = x;\n  terminate("end");', hint=OTHER
    ),
    "discrete Real": Case(
        "unsupported-discrete", "Real z;", "y = x;\n  z = 1;", "discrete Real z;"
    ),
    "Integer variable": Case("unsupported-discrete", "Integer i", "y = x;\n  i = 3;", "Integer i;"),
    "String variable": Case("unsupported-discrete", "String s", 'y = x;\n  s = "a";', "String s;"),
    "sign": Case("unsupported-sign", "sign(x)", "y = sign(x);", hint="tanh"),
    "floor": Case("unsupported-floor", "floor(x)", "y = floor(x);", hint=OTHER),
    "ceil": Case("unsupported-ceil", "ceil(x)", "y = ceil(x);"),
    "integer": Case("unsupported-integer", "integer(x)", "y = integer(x);"),
    "mod": Case("unsupported-mod", "mod(x, 2)", "y = mod(x, 2);"),
    "rem": Case("unsupported-rem", "rem(x, 2)", "y = rem(x, 2);"),
    "div": Case("unsupported-div", "div(x, 2)", "y = div(x, 2);"),
    "enumeration that varies": Case(
        "unsupported-discrete",
        "E e",
        "e = if u > 1 then E.a else E.b;",
        "type E = enumeration(a, b);\n  E e;",
    ),
}
