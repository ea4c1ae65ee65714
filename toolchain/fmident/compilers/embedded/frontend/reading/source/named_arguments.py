"""Named arguments of built-in operators, which rumoca takes in the order in which they stand.

Source: Modelica language specification 3.6, sections 3.7 and 12.4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmident.compilers.embedded.frontend.reading.source.scanner import Token

ORDER: Mapping[str, tuple[str, ...]] = {
    "atan2": ("u1", "u2"),
    "delay": ("expr", "delayTime", "delayMax"),
    "div": ("x", "y"),
    "homotopy": ("actual", "simplified"),
    "linspace": ("x1", "x2", "n"),
    "max": ("x", "y"),
    "min": ("x", "y"),
    "mod": ("x", "y"),
    "rem": ("x", "y"),
    "sample": ("start", "interval"),
    "semiLinear": ("x", "positiveSlope", "negativeSlope"),
    "smooth": ("p", "expr"),
}
"""Built-in operator to the names of its arguments."""


def out_of_order(tokens: Sequence[Token], i: int) -> bool:
    """Return whether token `i` calls a built-in operator with named arguments in another order.

    Parameters
    ----------
    tokens
        Of a class.
    i
        Position of a name in front of a parenthesis.
    """
    expected = ORDER.get(tokens[i].text)
    if expected is None or (i > 0 and tokens[i - 1].text == "."):
        return False
    given = _names(tokens, i + 1)
    named = [name for name in given if name is not None]
    if not named or not set(named) <= set(expected):
        return False  # or the modification of a component of that name
    return [name or other for name, other in zip(given, expected, strict=False)] != list(
        expected[: len(given)]
    )


def _names(tokens: Sequence[Token], i: int) -> list[str | None]:
    """Return the names of the arguments behind the parenthesis at `i`; ``None`` without one."""
    names: list[str | None] = []
    depth = 0
    while i < len(tokens):
        text = tokens[i].text
        begins = (depth == 1 and text == ",") or (depth == 0 and text == "(")
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth == 0:
            break
        if begins:
            after = tokens[i + 1 : i + 3]
            named = len(after) == 2 and after[0].kind == "word" and after[1].text == "="
            names.append(after[0].text if named else None)
        i += 1
    return names
