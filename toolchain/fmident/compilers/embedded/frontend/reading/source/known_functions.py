"""Standard library functions that rumoca reads in another form.

Functions that we evaluate ourselves get another body, since their loops would be
refused. A call of ``Streams.error`` as an equation, which rumoca drops, becomes an
assert that fails. All characters outside keep their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.scan_check import (
    equation_calls,
    involved,
)
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token

INTERPOLATE = "Modelica.Math.Vectors.interpolate"
FIRST_TRUE_INDEX = "Modelica.Math.BooleanVectors.firstTrueIndex"
CHEBYSHEV = "Modelica.Blocks.Continuous.Internal.Filter.base.ChebyshevI"
ERROR = "Modelica.Utilities.Streams.error"
KNOWN_FUNCTIONS: Mapping[str, str] = {
    INTERPOLATE: 'external "C" yi = interpolate(x, y, xi, iLast, iNew);',
    FIRST_TRUE_INDEX: 'external "C" index = firstTrueIndex(b);',
    # An external function with several outputs is refused; should rumoca evaluate this, it fails.
    CHEBYSHEV: 'algorithm assert(false, "not to be evaluated"); cr := zeros(size(cr, 1)); '
    "c0 := zeros(size(c0, 1)); c1 := zeros(size(c1, 1));",
}
"""Full name to the body that rumoca sees."""
_BODY = frozenset({"protected", "algorithm"})


def without_known_bodies(class_name: str, names: Names) -> dict[Path, str]:
    """Return the changed files among those that the class uses."""
    changed: dict[Path, str] = {}
    for item in involved(class_name, names):
        calls = list(error_calls(item, names))
        if item.name not in KNOWN_FUNCTIONS and not calls:
            continue
        text = changed.get(item.file) or names.text(item.file)
        if item.name in KNOWN_FUNCTIONS:
            text = _masked(text, item)
        for first, bracket in calls:
            text = _as_assert(text, first.offset, bracket.offset)
        changed[item.file] = text
    return changed


def error_calls(item: ClassText, names: Names) -> Iterator[tuple[Token, Token]]:
    """Yield the first token and the bracket of each ``Streams.error`` call as an equation."""
    for i in equation_calls(item):
        tokens, end = item.tokens, i
        while tokens[end + 1].text == ".":
            end += 2
        parts = [t.text for t in tokens[i : end + 1 : 2]]
        if parts[-1] == "error" and names.resolve(parts, item) == ERROR:
            yield tokens[i], tokens[end + 1]


def _as_assert(text: str, begin: int, bracket: int) -> str:
    replacement = "assert(false,"
    if bracket + 1 - begin < len(replacement):
        return text  # there is no room: it is refused as what rumoca drops
    return text[:begin] + replacement.ljust(bracket + 1 - begin) + text[bracket + 1 :]


def _masked(text: str, item: ClassText) -> str:
    """Return the text with a function replaced from its first section to its end."""
    first = next(t.offset for t in item.tokens if t.kind == "word" and t.text in _BODY)
    end = text.rindex("end", first, item.end)
    body = KNOWN_FUNCTIONS[item.name]
    blanks = "".join(c if c == "\n" else " " for c in text[first + len(body) : end])
    return text[:first] + body + blanks + text[end:]
