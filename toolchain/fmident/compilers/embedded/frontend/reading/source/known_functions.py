"""What of the standard library rumoca is shown in another form than it has.

Functions that we evaluate ourselves are shown with another body, as their loops are refused. A
call of ``Streams.error`` as an equation, which rumoca drops, is shown as an assert that fails.
Every character outside keeps its place.
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
    """Return the files with what the class uses and rumoca is shown in another form."""
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
    """Yield the calls of ``Streams.error`` as equations: their first token, and the bracket."""
    for i in equation_calls(item):
        tokens, end = item.tokens, i
        while tokens[end + 1].text == ".":
            end += 2
        parts = [t.text for t in tokens[i : end + 1 : 2]]
        if parts[-1] == "error" and names.resolve(parts, item) == ERROR:
            yield tokens[i], tokens[end + 1]


def _as_assert(text: str, begin: int, bracket: int) -> str:
    shown = "assert(false,"
    if bracket + 1 - begin < len(shown):
        return text  # there is no room: it is refused as what rumoca drops
    return text[:begin] + shown.ljust(bracket + 1 - begin) + text[bracket + 1 :]


def _masked(text: str, item: ClassText) -> str:
    """Return the text with another body from the first section of a function to its end."""
    first = next(t.offset for t in item.tokens if t.kind == "word" and t.text in _BODY)
    end = text.rindex("end", first, item.end)
    shown = KNOWN_FUNCTIONS[item.name]
    blanks = "".join(c if c == "\n" else " " for c in text[first + len(shown) : end])
    return text[:first] + shown + blanks + text[end:]
