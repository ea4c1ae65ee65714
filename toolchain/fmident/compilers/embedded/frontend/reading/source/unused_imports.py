"""Imports of what is not there and is not used: rumoca refuses them, the language does not mind."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.names import Import, Names, imports
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText
from fmident.compilers.embedded.frontend.reading.source.sources import SourceTree


def without_unused_imports(
    tree: SourceTree, names: Names, changed: MutableMapping[Path, str]
) -> bool:
    """Write blanks over imports, without need, of what no source declares, into `changed`.

    Every character keeps its place. Returns whether there are any.
    """
    blanks: dict[Path, list[tuple[int, int]]] = {}
    for item in tree.classes.values():
        for clause in imports(item):
            if names.find(clause.package) is None and not _is_used(clause, item, tree):
                first, last = item.tokens[clause.first], item.tokens[clause.last]
                end = last.offset + len(last.text)
                blanks.setdefault(item.file, []).append((first.offset, end))
    for file, places in blanks.items():
        changed[file] = _blanked(changed.get(file) or tree.classes.text(file), places)
    return bool(blanks)


def _is_used(clause: Import, item: ClassText, tree: SourceTree) -> bool:
    """Return whether the name is used in the class or in one inside; of ``*`` nobody knows."""
    if not clause.alias:
        return True
    inside = [c for n, c in tree.classes.items() if n.startswith(f"{item.name}.")]
    for user in (item, *inside):
        ranges = [range(c.first, c.last + 1) for c in imports(user)]
        for i, token in enumerate(user.tokens):
            if token.text == clause.alias and not any(i in r for r in ranges):
                return True
    return False


def _blanked(text: str, places: list[tuple[int, int]]) -> str:
    for start, end in places:
        blank = "".join(c if c == "\n" else " " for c in text[start:end])
        text = text[:start] + blank + text[end:]
    return text
