"""Base classes that a class declares inside itself: rumoca takes their variables for its own.

Such a base is shown to rumoca beside the class, in a file of its own. As it is ``encapsulated``,
its names mean the same there. Every character keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.names import Names, bases
from fmident.compilers.embedded.frontend.reading.source.scan_check import involved
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText


@dataclass(frozen=True)
class Moved:
    """A file that is shown to rumoca and that the user does not have.

    Parameters
    ----------
    text
        Its text.
    original
        The user's file that holds it.
    """

    text: str
    original: Path


def without_nested_bases(
    class_name: str, names: Names, changed: MutableMapping[Path, str]
) -> dict[Path, Moved]:
    """Return files for the bases of classes that are used; `changed` gains the rest."""
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
    """Yield the encapsulated bases inside a class that has a file to itself."""
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
