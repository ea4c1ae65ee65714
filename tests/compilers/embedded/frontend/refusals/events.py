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
    "reinit where another state is wanted": Case(
        "unsupported-reinit",
        "va, 0)",
        "y = x;\n  der(a) = va;\n  der(va) = f;\n  der(b) = vb;\n  der(vb) = -f;\n"
        "  r = a - b;\n  vr = der(r);\n  f = -r - vr;\n"
        "  when a > 1 then\n    reinit(va, 0);\n  end when;",
        "Real a(stateSelect=StateSelect.always); Real va(stateSelect=StateSelect.always); Real b; "
        "Real vb; Real f; Real r(stateSelect=StateSelect.prefer); "
        "Real vr(stateSelect=StateSelect.prefer);",
        words=("'va'", "'vr'", "'vb'"),
        hint="stateSelect",
    ),
    "assert in when": Case(
        "unsupported-when",
        "u > 0",
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
    "initial equation of what an equation gives already": Case(
        "initial-equation",
        "b = true",
        "y = x;\n  b = x > 0.5;\ninitial equation\n  b = true;",
        "Boolean b;",
        words=("'b'",),
        hint="pre(b)",
    ),
    "initial equation of what is fixed": Case(
        "initial-equation",
        "Integer n",
        "y = x;\n  when x > 0.5 then\n    n = pre(n) + 1;\n  end when;\n"
        "initial equation\n  pre(n) = 7;",
        "Integer n(start = 3, fixed = true);",
        words=("'n'", "fixed=true"),
    ),
    "terminate": Case(
        "unsupported-terminate", "terminate(", 'y = x;\n  terminate("end");', hint=OTHER
    ),
    "String variable": Case("unsupported-discrete", "String s", 'y = x;\n  s = "a";', "String s;"),
}
