"""Files that contain a class and its dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmident.errors import Code, CompilationError, Diagnostic, Location, did_you_mean

CLASS_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z_]\w*|;|\(|\)|=")
_CLASS_WORDS = {
    "model", "package", "block", "class", "function", "record", "connector", "type", "operator",
}  # fmt: skip
_PREFIXES = {"final", "encapsulated", "partial", "expandable", "pure", "impure"}
_USES = re.compile(r"\buses\s*\(")
_USED = re.compile(r'\b([A-Za-z_]\w*)\s*\(\s*version\s*=\s*"([^"\n]*)"')


@dataclass(frozen=True)
class LoadPlan:
    """What omc must load: files including all dependencies, libraries first.

    `missing` are libraries not among the sources, with the requested version; `found` says
    whether the class's top-level package is among them.
    """

    files: tuple[Path, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    found: bool = True


def plan_loading(class_name: str, sources: Sequence[Path]) -> LoadPlan:
    """Find the class among the sources (files or folders), and what its top-level class uses."""
    if not CLASS_NAME.fullmatch(class_name):
        raise CompilationError(
            f"'{class_name}' is not the full name of a Modelica class",
            hint="give names with dots between, such as Mechanisms.Robots.DeltaInverse",
        )
    for source in sources:
        if not source.exists():
            raise CompilationError(
                f"there is no source '{source}'",
                hint="give Modelica files, or folders that hold a 'package.mo'",
                code=Code.UNKNOWN_NAME,
            )
    top = class_name.partition(".")[0]
    files: list[Path] = []
    missing: dict[str, str] = {}
    begun: set[Path] = set()  # Modelica and ModelicaServices use each other

    def add(name: str, version: str) -> None:
        """Add a library, preceded by what it uses."""
        entry = find_top_level(name, sources)
        if entry is None:
            missing.setdefault(name, version)
        elif entry not in begun:
            begun.add(entry)
            for other, asked in used_libraries(read_source(entry)).items():
                add(other, asked)
            files.append(entry)

    add(top, "")
    # A single file that was named is meant, even if nothing 'uses' it by annotation.
    for source in sources:
        entry = entry_file(source) if source.is_file() else None
        if entry is not None and entry not in files:
            files.insert(0, entry)
    return LoadPlan(tuple(files), missing, find_top_level(top, sources) is not None)


def find_top_level(name: str, sources: Sequence[Path]) -> Path | None:
    """Return the file to load for the top-level class `name`, or ``None``."""
    for source in sources:
        for candidate in _candidates(name, source):
            if candidate.is_file():
                return candidate
        if source.is_file():
            entry = entry_file(source)
            if name in top_level_classes(read_source(entry)):
                return entry
    return None


def _candidates(name: str, source: Path) -> Iterator[Path]:
    if not source.is_dir():
        return
    plain = source.resolve().name.partition(" ")[0]  # "Modelica 4.0.0" holds Modelica
    if plain == name:
        yield source / "package.mo"
    yield source / name / "package.mo"
    yield source / f"{name}.mo"
    yield from sorted(p / "package.mo" for p in source.glob(f"{name} *"))


def entry_file(file: Path) -> Path:
    """Return the file to load for a file: ``package.mo`` if it is in a package folder."""
    entry = file
    folder = file.resolve().parent
    if re.search(r"^\s*within\s+[A-Za-z_]", without_comments(read_source(file))):
        while (folder / "package.mo").is_file():
            entry = folder / "package.mo"
            folder = folder.parent
    return entry


def top_level_classes(text: str) -> tuple[str, ...]:
    """Return the names of the top-level classes of a file."""
    tokens = _TOKEN.findall(without_comments(text))
    names: list[str] = []
    place = 0
    while place < len(tokens):
        word = tokens[place]
        if word in _PREFIXES:
            place += 1
        elif word in _CLASS_WORDS:
            while place < len(tokens) and tokens[place] in _CLASS_WORDS | _PREFIXES:
                place += 1
            if place >= len(tokens):
                break
            names.append(tokens[place])
            place = _behind_class(tokens, place)
        else:
            place += 1
    return tuple(names)


def _behind_class(tokens: Sequence[str], place: int) -> int:
    """Return the position after the class whose name is at `place`."""
    name = tokens[place]
    if tokens[place + 1 : place + 2] == ["="]:  # short form: type Angle = Real;
        while place < len(tokens) and tokens[place] != ";":
            place += 1
        return place + 1
    while place + 1 < len(tokens):
        place += 1
        if tokens[place] == "end" and tokens[place + 1 : place + 2] == [name]:
            return place + 2
    return place + 1


def used_libraries(text: str) -> dict[str, str]:
    """Return the libraries in the ``uses`` annotations of a file: library -> version."""
    libraries: dict[str, str] = {}
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    for match in _USES.finditer(text):
        depth, place = 1, match.end()
        while place < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 1
        for name, version in _USED.findall(text[match.end() : place]):
            libraries.setdefault(name, version)
    return libraries


def without_comments(text: str) -> str:
    """Return Modelica text with comments and strings blanked out."""
    return _COMMENT_OR_TEXT.sub(" ", text)


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


def missing_source(class_name: str, sources: Sequence[Path]) -> str:
    """Return a hint for a top-level class that is in no source and no library."""
    classes: set[str] = set()
    for source in sources:
        if source.is_file():
            classes.update(top_level_classes(read_source(source)))
        elif (source / "package.mo").is_file():
            classes.add(source.resolve().name.partition(" ")[0])
        else:
            classes.update(p.parent.name.partition(" ")[0] for p in source.glob("*/package.mo"))
            classes.update(p.stem for p in source.glob("*.mo"))
    top = class_name.partition(".")[0]
    return "in the sources, " + did_you_mean(top, classes, kind="top-level class")
