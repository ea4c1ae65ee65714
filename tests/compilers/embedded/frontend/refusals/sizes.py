"""Models that nobody could compile, whatever the memory."""

from .case import Case, function

SMALLER = "make it smaller"

SIZES = {
    "array of 1e8": Case(
        "too-large", "Real z[100000000]", "y = x; z = fill(x, 100000000);",
        "Real z[100000000];", words=("'z'", "100000000", "200000"), hint=SMALLER,
    ),
    "loop of 1e9 passes": Case(
        "too-large", "", "y = f(x, 1000000000);",
        before=function(
            "b := 0; for i in 1:n loop b := b + a^i; end for;", "input Real a; input Integer n;"
        ),
        words=("1000000000",), hint=SMALLER,
    ),
}  # fmt: skip
