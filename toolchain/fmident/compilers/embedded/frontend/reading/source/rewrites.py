"""Rewrites of source text where rumoca deviates from the Modelica specification.

- A base class declared inside the class that extends it is moved to a file of its own,
  since rumoca takes its variables for those of the class. As it is ``encapsulated``,
  its names have the same meaning there.
- A scalar bound to a function of arrays gets a factor of one before the call; otherwise
  rumoca calls the function for each element of its arguments (Modelica 3.6, section
  12.4.6).
- An unused import of a class that does not exist is removed, since rumoca refuses it.

All other characters keep their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.names import Import, Names, bases, imports
from fmident.compilers.embedded.frontend.reading.source.scan_check import involved
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Edit, Token
from fmident.compilers.embedded.frontend.reading.source.sources import SourceTree

_BEFORE = frozenset({"=", "then", "else"})
_BODY = frozenset({"equation", "algorithm"})
_MOST_ALIASES = 20


@dataclass(frozen=True)
class Moved:
    """A file made for rumoca from a part of the user's file `original`."""

    text: str
    original: Path


def without_nested_bases(
    class_name: str, names: Names, changed: MutableMapping[Path, str]
) -> dict[Path, Moved]:
    """Return files for the nested bases of the classes used; `changed` gains the rest."""
    result: dict[Path, Moved] = {}
    for item in involved(class_name, names):
        for base in _own_bases(item, names):
            place = item.file.with_name(f"{base.name.rsplit('.', 1)[-1]}.mo")
            text = changed.get(item.file) or names.text(item.file)
            begin, end = _extent(text, base)
            head = text[: text.index(";") + 1]
            if begin < len(head) or place.exists() or place in result:
                continue
            result[place] = Moved(
                head + _blank(text[len(head) : begin]) + text[begin:end], item.file
            )
            changed[item.file] = text[:begin] + _blank(text[begin:end]) + text[end:]
    return result


def _own_bases(item: ClassText, names: Names) -> Iterator[ClassText]:
    """Yield the encapsulated bases inside a class that has its own file."""
    if item.file.stem != item.name.rsplit(".", 1)[-1] or "." not in item.name:
        return
    for parts in bases(item):
        full = names.resolve(parts, item) if len(parts) == 1 else None
        base = names.find(full) if full == f"{item.name}.{parts[0]}" else None
        outside = ".".join([*item.name.split(".")[:-1], parts[0]])
        if base is None or base.file != item.file or names.find(outside) is not None:
            continue
        if any(t.text == "encapsulated" for t in base.prefixes):
            yield base


def _extent(text: str, base: ClassText) -> tuple[int, int]:
    """Return where a class begins, with its prefixes, and where its semicolon ends."""
    return base.prefixes[0].offset, text.index(";", base.end) + 1


def _blank(text: str) -> str:
    return "".join(c if c == "\n" else " " for c in text)


def scalar_calls(items: Sequence[ClassText], names: Names) -> Iterator[Edit]:
    """Yield the edits that insert factors into classes."""
    for item in items:
        for offset in _calls(item, names):
            yield Edit(item.file, offset, offset, "1*")


def _calls(item: ClassText, names: Names) -> Iterator[int]:
    """Yield the offsets of such calls in the declarations of a class."""
    tokens = item.tokens
    for i, token in enumerate(tokens):
        if token.text in _BODY:
            return
        if token.kind != "word" or i == 0 or tokens[i - 1].text not in _BEFORE:
            continue
        parts, end = _dotted(tokens, i)
        if end < len(tokens) and tokens[end].text == "(":
            full = names.resolve(parts, item)
            function = names.find(full) if full else None
            if function is not None and _is_scalar_of_arrays(function, names):
                yield token.offset


def _dotted(tokens: Sequence[Token], i: int) -> tuple[list[str], int]:
    """Return the parts of the name at a position, and the position after it."""
    parts = [tokens[i].text]
    while i + 2 < len(tokens) and tokens[i + 1].text == ".":
        i += 2
        parts.append(tokens[i].text)
    return parts, i + 1


def _is_scalar_of_arrays(function: ClassText, names: Names) -> bool:
    """Return whether a function takes an array or external object and returns a Real."""
    if function.keyword != "function":
        return False
    takes, gives = False, False
    for kind, parts, sized, owner in _formals(function, names):
        if kind == "input":
            takes = takes or sized or _is_object(parts, owner, names)
        else:
            gives = not sized and _is_real(parts, owner, names)
            break  # of several outputs an expression takes the first
    return takes and gives


def _formals(function: ClassText, names: Names) -> Iterator[tuple[str, list[str], bool, ClassText]]:
    """Yield inputs, then outputs, bases first: kind, type, whether an array, class."""
    owners = [
        base
        for parts in bases(function)
        if (full := names.resolve_base(parts, function)) and (base := names.find(full))
    ]
    for kind in ("input", "output"):
        for owner in (*owners, function):
            tokens = owner.tokens
            for i, token in enumerate(tokens):
                if token.text == kind and token.kind == "word":
                    parts, end = _dotted(tokens, i + 1)
                    after = [t.text for t in tokens[end : end + 2]]
                    yield kind, parts, "[" in after, owner


def _is_object(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    full = names.resolve(parts, item)
    definition = names.find(full) if full else None
    return definition is not None and any(t.text == "ExternalObject" for t in definition.tokens)


def _is_real(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    for _ in range(_MOST_ALIASES):
        if list(parts) == ["Real"]:
            return True
        full = names.resolve(parts, item)
        definition = names.find(full) if full else None
        if definition is None or definition.keyword != "type" or definition.tokens[:1] == ():
            return False
        (parts, *_), item = bases(definition) or [[]], definition
    return False


def without_unused_imports(
    tree: SourceTree, names: Names, changed: MutableMapping[Path, str]
) -> bool:
    """Overwrite unused imports of missing names with blanks, into `changed`; return success."""
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
    """Return whether the name is used in the class or inside it; true for ``*``."""
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
