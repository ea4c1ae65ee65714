"""Functions of the standard library that we evaluate ourselves, as rumoca cannot read their loops.

Their bodies are shown to rumoca as external; every character outside keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.scan_check import involved
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText
from fmident.compilers.embedded.frontend.reading.source.sources import SourceTree

INTERPOLATE = "Modelica.Math.Vectors.interpolate"
KNOWN_FUNCTIONS: Mapping[str, str] = {INTERPOLATE: "yi = interpolate(x, y, xi, iLast, iNew)"}
"""Full name to the call that rumoca sees."""
_BODY = frozenset({"protected", "algorithm"})


def without_known_bodies(class_name: str, names: Names) -> dict[Path, str]:
    """Return the files with functions that the class uses and that we know, without bodies."""
    changed: dict[Path, str] = {}
    for item in involved(class_name, names):
        if item.name in KNOWN_FUNCTIONS:
            text = changed.get(item.file) or _tree_of(item, names.trees).classes.text(item.file)
            changed[item.file] = _masked(text, item)
    return changed


def _tree_of(item: ClassText, trees: Iterable[SourceTree]) -> SourceTree:
    return next(tree for tree in trees if item.file in tree.files)


def _masked(text: str, item: ClassText) -> str:
    """Return the text with everything from the first section of a function to its end external."""
    first = next(t.offset for t in item.tokens if t.kind == "word" and t.text in _BODY)
    end = text.rindex("end", first, item.end)
    external = f'external "C" {KNOWN_FUNCTIONS[item.name]};'
    blanks = "".join(c if c == "\n" else " " for c in text[first + len(external) : end])
    return text[:first] + external + blanks + text[end:]
