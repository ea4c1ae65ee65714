"""The classes of a source tree by name; of a large library only the files asked for are scanned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, classes

SCANNED_AT_ONCE = 1_000_000
"""Characters of a tree up to which all files are scanned. The standard library has ten times that,
and takes a quarter of a minute."""


class ClassIndex(Mapping[str, ClassText]):
    """Full class name to its place.

    Parameters
    ----------
    texts
        The files with their text, the entry first.

    Notes
    -----
    In a large package a class is looked for where the language wants it: ``A.B.C`` in ``B/C.mo``,
    ``B/C/package.mo``, ``B.mo`` or ``B/package.mo`` (Modelica 3.6, section 13.4). Going through all
    names scans all files.
    """

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = dict(texts)
        self._waiting = dict.fromkeys(self._texts)
        self._found: dict[str, ClassText] = {}
        self._places: dict[str, Path] | None = None
        if sum(map(len, self._texts.values())) <= SCANNED_AT_ONCE:
            self._scan_all()

    @property
    def top_level(self) -> str:
        """The name of the top-level class of the entry; empty when it declares none."""
        entry = next(iter(self._texts), None)
        if entry is None:
            return ""
        self._scan(entry)
        own = next((c.name for c in self._found.values() if c.file == entry), "")
        return own.split(".")[0]

    def text(self, file: Path) -> str:
        """Return the text of one of the files."""
        return self._texts[file]

    def __getitem__(self, name: str) -> ClassText:
        if name not in self._found and self._waiting:
            place = self._place(name)
            if place is not None:
                self._scan(place)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        self._scan_all()
        return iter(self._found)

    def __len__(self) -> int:
        self._scan_all()
        return len(self._found)

    def mentions(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of the names that are words of the code of some class."""
        result: set[str] = set()
        for file, text in self._texts.items():
            if any(name in text for name in names - result):
                self._scan(file)
                found = (c for c in self._found.values() if c.file == file)
                result |= names & {t.text for item in found for t in item.tokens}
        return frozenset(result)

    def _place(self, name: str) -> Path | None:
        """Return the file in which the class must be."""
        if self._places is None:
            self._places = self._named_files()
        parts = name.split(".")
        prefixes = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((self._places[p] for p in prefixes if p in self._places), None)

    def _named_files(self) -> dict[str, Path]:
        entry = next(iter(self._texts))
        top = self.top_level
        result = {top: entry}
        for file in self._texts:
            inside = file.relative_to(entry.parent) if entry.parent in file.parents else file
            parts = [*inside.parent.parts, *([] if file.name == "package.mo" else [file.stem])]
            result[".".join([top, *parts])] = file
        return result

    def _scan(self, file: Path) -> None:
        if file not in self._waiting:
            return
        del self._waiting[file]
        for item in classes(self._texts[file], file):
            self._found.setdefault(item.name, item)

    def _scan_all(self) -> None:
        for file in list(self._waiting):
            self._scan(file)
