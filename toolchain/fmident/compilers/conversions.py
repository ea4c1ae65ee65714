"""Classes that a library has renamed, read from its annotation ``conversion``.

It reads the rules ``convertClass`` of the scripts and of ``change`` (Modelica 3.6,
section 18.8.2); the other rules are about components and modifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.scanner import (
    Token,
    annotation_arguments,
    behind,
    has,
    modifiers,
    outside,
    text_of,
    tokens,
)
from fmident.compilers.sources import name_of, read_source, read_tree, version_key
from fmident.errors import CompilationError, Diagnostic


@dataclass(frozen=True)
class Conversion:
    """Renamed classes, old to new: from the version `since` on they have the new names."""

    since: str
    classes: Mapping[str, str]

    def new_name(self, name: str) -> str | None:
        """Return the new name of a class that is renamed, or of which a package is."""
        parts = name.split(".")
        for n in range(len(parts), 0, -1):  # the longest path decides
            if (new := self.classes.get(".".join(parts[:n]))) is not None:
                return ".".join([new, *parts[n:]])
        return None


@dataclass(frozen=True)
class RenamedClass:
    """The present name of a class, and a note on the change."""

    name: str
    note: Diagnostic


def renamed_class(name: str, libraries: Iterable[Path]) -> RenamedClass | None:
    """Return what a class is called that the libraries have renamed.

    If one of them has a class of the old name again, it is meant, and the note tells it from
    the former one. ``None`` if no library has renamed the class to one that it has.
    """
    for library in libraries:
        history = conversions(library)
        if all(conversion.new_name(name) is None for conversion in history):
            continue
        classes = read_tree(library).classes
        new, since, earlier = name, "", {name}
        while new == name or new not in classes:
            steps = ((c.new_name(new), c.since) for c in history)
            step = next(((n, v) for n, v in steps if n is not None and n not in earlier), None)
            if step is None:
                break
            new, since = step
            earlier.add(new)
        else:
            version = f"{name_of(library)} {since}".rstrip()
            text = f"{name} is called {new} since {version}"
            if name in classes:
                text = f"{name} is another class since {version}; the former one is called {new}"
            note = Diagnostic("note", text)
            return RenamedClass(name if name in classes else new, note)
    return None


def conversions(library: Path) -> tuple[Conversion, ...]:
    """Return the conversions of a library, those from its latest versions first.

    Scripts that do not exist are left out. There are none in a library that cannot be read.
    """
    try:
        stream = tuple(tokens(read_source(_entry(library))))
        result = list(_conversions(library, stream))
    except CompilationError:  # the compiler says what is wrong with it
        return ()
    return tuple(conversion for _, conversion in sorted(result, key=lambda r: r[0], reverse=True))


def _entry(library: Path) -> Path:
    return library / "package.mo" if library.is_dir() else library


def _conversions(
    library: Path, stream: tuple[Token, ...]
) -> Iterator[tuple[tuple[int, ...], Conversion]]:
    """Yield the conversions with the latest version that each is from."""
    version = annotation_arguments(stream, "version").get("version", "").strip('"')
    for begin in (i for i, token in enumerate(stream) if token.text == "conversion"):
        for i in range(begin + 2, behind(stream, begin + 1)):
            given = modifiers(stream, i + 1) if stream[i].text == "from" else {}
            if "script" in given:
                script = _script(library, text_of(stream, given["script"]).strip('"'))
                rules = tuple(tokens(read_source(script))) if script.is_file() else ()
            elif "change" in given:
                rules = stream[slice(*given["change"])]
            else:
                continue
            earlier = _texts(stream[slice(*given.get("version", (0, 0)))])
            since = text_of(stream, given["to"]).strip('"') if "to" in given else version
            latest = max(map(version_key, earlier), default=())
            yield latest, Conversion(since, dict(_renamings(rules)))


def _script(library: Path, address: str) -> Path:
    return _entry(library).parent / address.removeprefix(f"modelica://{name_of(library)}/")


def _renamings(rules: Sequence[Token]) -> Iterator[tuple[str, str]]:
    for i, token in enumerate(rules):
        if token.text != "convertClass" or not has(rules, i + 1, "("):
            continue
        end = behind(rules, i + 1) - 1
        comma = next((k for k in outside(rules, i + 2) if rules[k].text == ","), end)
        old, new = _texts(rules[i + 2 : comma]), _texts(rules[comma:end])
        if new:  # one for all, or one for each
            yield from zip(old, new if len(new) == len(old) else new[:1] * len(old), strict=True)


def _texts(stream: Iterable[Token]) -> list[str]:
    return [token.text.strip('"') for token in stream if token.kind == "string"]
