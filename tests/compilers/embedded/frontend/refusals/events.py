"""Events and discrete variables."""

from __future__ import annotations

from .case import OTHER, Case

EVENTS = {
    "reinit of what is not a state": Case(
        "unsupported",
        "reinit(z, 0)",
        "y = x;\n  z = 2*x;\n  when x > 0.5 then\n    reinit(z, 0);\n  end when;",
        "Real z;",
        words=("z is not a state",),
    ),
    "pre of a continuous variable": Case(
        "unsupported-pre",
        "pre(w)",
        "y = x;\n  w = 2*x + u;\n  when time > 1 then\n    z = pre(w);\n  end when;",
        "discrete Real z; Real w;",
        words=("'w'",),
        hint="'w'",
    ),
    "noEvent in the condition of when": Case(
        "unsupported-when",
        "noEvent",
        "y = x;\n  when noEvent(x > 0.5) then\n    z = 1;\n  end when;",
        "discrete Real z;",
        hint="noEvent",
    ),
    "assert in when": Case(
        "unsupported",
        "x",
        'y = x;\n  when x > 0.5 then\n    assert(u > 0, "no");\n  end when;',
    ),
    "Boolean input that varies": Case(
        "unsupported-discrete",
        "Boolean b",
        "y = if b then x else 2*x;",
        "input Boolean b;",
        words=("'b'",),
        hint="Real input",
    ),
    "discrete variable without an equation": Case(
        "discrete-variable",
        "Real z",
        "y = x;\n  z = x;",
        "discrete Real z;",
        words=("'z'",),
    ),
    "terminate": Case(
        "unsupported-terminate", "terminate(", 'y = x;\n  terminate("end");', hint=OTHER
    ),
    "String variable": Case("unsupported-discrete", "String s", 'y = x;\n  s = "a";', "String s;"),
}
