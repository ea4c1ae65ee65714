"""The user's source files: those of a class, and positions in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.scanner import (
    ClassText,
    annotation_arguments,
    classes,
    is_part_of_package,
)
from fmident.errors import Code, CompilationError, Diagnostic, Location, did_you_mean

SCANNED_AT_ONCE = 1_000_000
"""Characters of a tree up to which all files are scanned. The standard library has ten times that,
and takes a quarter of a minute."""


@dataclass(frozen=True)
class SourceTree:
    """Files of one top-level package or file, the entry first, and the classes in them."""

    entry: Path
    files: tuple[Path, ...]
    classes: ClassIndex

    def location(self, name: str) -> Location | None:
        """Return the location of the definition of class `name`."""
        item = self.classes.get(name)
        return None if item is None else offset_location(item.file, item.start)


def offset_location(file: Path, offset: int) -> Location:
    """Return file, line and column of a character offset."""
    before = read_source(file)[:offset]
    return Location(str(file), before.count("\n") + 1, offset - before.rfind("\n"))


def read_tree(path: Path) -> SourceTree:
    """Read a file, or the whole package that contains a file or folder.

    Raises `CompilationError` if `path` does not exist or has no Modelica source.
    """
    if not path.exists():
        raise CompilationError(
            f"there is no Modelica source {path}",
            hint="name a .mo file or the folder that holds package.mo",
            code=Code.UNKNOWN_NAME,
        )
    entry = entry_file(path / "package.mo" if path.is_dir() else path)
    if not entry.is_file():
        raise CompilationError(
            f"{path} is not a Modelica package: it has no package.mo",
            hint="name a .mo file or the folder that holds package.mo",
        )
    inside = sorted(entry.parent.rglob("*.mo")) if entry.name == "package.mo" else []
    files = (entry, *(f for f in inside if f != entry))
    return SourceTree(entry, files, ClassIndex({file: read_source(file) for file in files}))


def entry_file(file: Path) -> Path:
    """Return ``package.mo`` of the top-level package that a file belongs to, or else the file."""
    folder = file.resolve().parent
    if file.name == "package.mo":
        folder = folder.parent
    elif not is_part_of_package(read_source(file)):
        return file
    while (folder / "package.mo").is_file():
        file, folder = folder / "package.mo", folder.parent
    return file


def read_source(file: Path) -> str:
    """Read a Modelica file; raise `CompilationError` if it is missing or not UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        finding = Diagnostic(
            "error",
            f"the file is not UTF-8: {error.reason} at byte {error.start}",
            Location(str(file)),
            "Modelica source is UTF-8: save it so",
            "encoding",
        )
        raise CompilationError(
            "Modelica source cannot be read", diagnostics=[finding], code=Code.UNUSABLE_FILE
        ) from error
    except OSError as error:
        raise CompilationError(
            f"'{file}' cannot be read: {error.strerror or error}", code=Code.UNUSABLE_FILE
        ) from error


def name_of(place: Path) -> str:
    """Return the library's name: ``"Modelica"`` of the folder ``Modelica 4.0.0+maint.om``."""
    return (place.stem if place.suffix == ".mo" else place.name).partition(" ")[0]


def version_of(place: Path) -> str:
    """Return the version in a library's name without build metadata, or ``""``."""
    return plain_version(place.name.removesuffix(".mo").partition(" ")[2])


def plain_version(version: str) -> str:
    """Return a version without build metadata (Semantic Versioning 2.0.0, item 10)."""
    return version.partition("+")[0].strip()


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison."""
    return tuple(int(part) for part in re.findall(r"\d+", plain_version(version)))


def choose_tree(class_name: str, trees: Sequence[SourceTree]) -> SourceTree:
    """Return the first tree that contains the class's top-level package."""
    for tree in trees:
        if class_name in tree.classes:
            return tree
    known = [
        name
        for tree in trees
        for name, item in tree.classes.items()
        if item.keyword in ("model", "block", "class")
    ]
    where = ", ".join(str(tree.entry) for tree in trees) or "no source at all"
    raise CompilationError(
        f"there is no class '{class_name}' in {where}",
        diagnostics=[
            Diagnostic(
                "error",
                f"there is no class '{class_name}'",
                Location(str(trees[0].entry)) if trees else None,
                _nearest_class(class_name, known),
                "missing-class",
            )
        ],
        code=Code.UNKNOWN_NAME,
    )


def _nearest_class(name: str, known: Sequence[str]) -> str:
    last = name.rsplit(".", 1)[-1]
    same = [k for k in known if k.rsplit(".", 1)[-1] == last]
    if same:
        return "nearest class: " + ", ".join(f"'{k}'" for k in same[:3])
    return did_you_mean(name, known, kind="class")


def declared_version(item: ClassText | None) -> str:
    """Return the annotation ``version`` of a package; empty if it has none."""
    given = {} if item is None else annotation_arguments(item.tokens, "version")
    return given.get("version", "").strip('"')


def annotation_numbers(item: ClassText, name: str) -> dict[str, float]:
    """Return the numeric arguments of an annotation such as ``experiment``."""
    result: dict[str, float] = {}
    for key, text in annotation_arguments(item.tokens, name).items():
        try:
            result[key] = float(text)
        except ValueError:
            continue
    return result


class ClassIndex(Mapping[str, ClassText]):
    """Full class name to the position of the class.

    In a large package a class is first searched where the language prescribes it, ``A.B.C``
    in ``B/C.mo`` or ``B.mo``, for example (Modelica 3.6, section 13.4). Iterating scans all
    files.
    """

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = dict(texts)
        self._waiting = dict.fromkeys(self._texts)
        self._scanned: dict[str, ClassText] = {}
        self._places: dict[str, Path] | None = None
        if sum(map(len, self._texts.values())) <= SCANNED_AT_ONCE:
            self._scan_all()

    @property
    def top_level(self) -> str:
        """Name of the top-level class of the entry; empty if it declares none."""
        entry = next(iter(self._texts), None)
        if entry is None:
            return ""
        self._scan(entry)
        own = next((c.name for c in self._scanned.values() if c.file == entry), "")
        return own.split(".")[0]

    def text(self, file: Path) -> str:
        """Return the text of one of the files."""
        return self._texts[file]

    def __getitem__(self, name: str) -> ClassText:
        if name not in self._scanned and self._waiting:
            place = self._place(name)
            if place is not None:
                self._scan(place)
        return self._scanned[name]

    def __iter__(self) -> Iterator[str]:
        self._scan_all()
        return iter(self._scanned)

    def __len__(self) -> int:
        self._scan_all()
        return len(self._scanned)

    def mentions(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of the names that occur as words in the code of some class."""
        result: set[str] = set()
        for file, text in self._texts.items():
            if any(name in text for name in names - result):
                self._scan(file)
                items = (c for c in self._scanned.values() if c.file == file)
                result |= names & {t.text for item in items for t in item.tokens}
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
            self._scanned.setdefault(item.name, item)

    def _scan_all(self) -> None:
        for file in list(self._waiting):
            self._scan(file)
