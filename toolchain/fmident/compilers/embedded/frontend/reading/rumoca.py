"""The parser rumoca: the flat model of a class, or diagnostics made from rumoca's messages.

For source that it cannot parse, rumoca lists all possible tokens. Where a semicolon is missing,
as most often, the diagnostic names only that.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmident.compilers.embedded.frontend.lowering.values import UNSUPPORTED_FUNCTIONS
from fmident.compilers.embedded.frontend.reading.names import Names, imports
from fmident.compilers.embedded.frontend.reading.rewrites import (
    Moved,
    rewritten,
    unused_imports,
)
from fmident.compilers.embedded.frontend.reading.scan_check import involved
from fmident.compilers.embedded.frontend.reading.syntax import NOWHERE, Span, Variable
from fmident.compilers.embedded.frontend.refusal import NO_ALGORITHM, OPENMODELICA
from fmident.compilers.embedded.model import MEMORY_BYTES
from fmident.compilers.embedded.standard_library import (
    HOW_TO_GET_IT,
    STANDARD_LIBRARY,
    is_stand_in,
)
from fmident.compilers.libraries import modelica_path
from fmident.compilers.scanner import (
    NAMES,
    ClassText,
    Token,
    has,
    outside,
)
from fmident.compilers.sources import SourceTree, declared_version, offset_location
from fmident.errors import CompilationError, Diagnostic, Location, did_you_mean, nearest
from fmident.fmu.processes.child import ScratchFolder
from fmident.operating_system import ENDED_FOR_PROCESSOR_TIME, ENDED_FOR_WANT_OF_MEMORY
from fmident.operating_system.cache import cache_folder

SUPPORTED_VERSION = "0.10."
TIME_LIMIT_S = 1800.0
CPU_LIMIT_S = 100
"""Processor time that rumoca may take, s."""
TOO_LARGE, NOT_INSTALLED = 75, 76
"""Exit codes of the worker: its answer would be too large; there is no rumoca."""
PROBE = "FmidentProbe"
PROBE_VARIABLE = "fmident_probe"
USES = "FmidentUses"

_NO_IMPORT = "unresolved import"
_UNREADABLE = "Failed to load source root"
_BALANCE = re.compile(r"unbalanced model: .*\(balance = (-?\d+)\)")


_PLACE = re.compile(r"\s*\[(?P<file>[^\[\]]*):(?P<line>\d+):(?P<column>\d+)\]\s*$")
_QUOTED = re.compile(r"[`']([^`']+)[`']")
_IMPORT = re.compile(r"unresolved import: [`'](?:(?P<alias>\w+) = )?(?P<name>[\w.]+)")
_UNRESOLVED = re.compile(
    r"(?:unresolved (?!import)|base class not found|type )[^`']*[`'](?P<head>\w+)\."
)
_SPAN = re.compile(r"start: BytePos\((\d+)\)")

DER_OF_EXPRESSION = "der("
"""Marks a search for ``der`` of anything but a variable."""

_RULES: Sequence[tuple[str, str, str | None]] = (
    (r"^unresolved component reference|^unresolved Flat reference", "unknown-variable", None),
    (r"^unresolved function call", "unknown-function", None),
    (r"^unresolved type reference|^unresolved import", "missing-class", None),
    (r"^base class not found|^unresolved extends", "missing-class", None),
    (r"^impure function", "unsupported-impure", OPENMODELICA),
    (r"unresolved flat reference", "unresolved", None),
    (r"unbalanced model", "unbalanced", "make the number of equations and of unknowns equal"),
    (
        r"invalid call of function|expects \d+ argument",
        "argument-count",
        "give it the arguments of its declaration",
    ),
    (
        r"unknown modifier|cannot redeclare|is declared final",
        "wrong-modifier",
        "modify only components that the class declares, and none that is final",
    ),
    (r"dimension mismatch|out of bounds|shape", "shape-mismatch", "correct the sizes"),
    (r"type mismatch", "type-error", "correct the types"),
    (r"cyclic dependency in parameter", "cyclic-parameter", "give one of them a value"),
    (r"cannot depend on continuous variable", "variability", "use parameters and constants only"),
    (r"partial model", "partial-class", "use a class that is not partial, or redeclare it"),
    (r"requires inner", "unsupported-inner-outer", OPENMODELICA),
    (r"state-machine", "unsupported-state-machine", OPENMODELICA),
    (r"clock", "unsupported-clocked", OPENMODELICA),
    (
        r"derivative expression",
        "unsupported-der",
        "give the expression a variable of its own, as in 'w = a - b', and write 'der(w)'",
    ),
    (r"derivative target", "unsupported-der", OPENMODELICA),
    (r"initial algorithm|model algorithm", "unsupported-algorithm", NO_ALGORITHM),
    (r"equality comparison on Real", "real-equality", "compare with < or >"),
    (r"[Dd]uplicate", "duplicate", "remove one of them"),
    (r"cardinality", "unsupported-cardinality", OPENMODELICA),
    (
        r"function statement|function loop|record output|function call statement",
        "unsupported-function-body",
        OPENMODELICA,
    ),
    (r"expected (a )?(Boolean|numeric)", "type-error", "correct the types"),
    (r"^type '.*' not found", "missing-class", None),
    (r"violates constrainedby", "wrong-modifier", "redeclare with a subtype"),
    (
        r"array dimensions|component dimension",
        "unknown-size",
        "give sizes by literals, constants of the class or Integer parameters",
    ),
    (r"unsupported", "unsupported", OPENMODELICA),
    (
        r"\(MLS |cyclic class",
        "invalid",
        "correct it; the Modelica specification forbids it",
    ),
)


_SYNTAX = re.compile(
    r"×\s*(?P<what>.*?)\n\s*╭─\[(?P<file>.*?):(?P<line>\d+):(?P<column>\d+)\]", re.DOTALL
)
_EXPECTED = re.compile(r"help: expected (?:one of: )?(.*?)(?:\n\n|\n[A-Z]{2}\d+|\Z)", re.DOTALL)
_UNEXPECTED = re.compile(r"unexpected `(?P<token>[^`]*)`")
_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|\w+|[^\s\w]", re.DOTALL)

_OPERATORS = re.compile(
    r"and|or|not|[-*+/^]|dot(star|plus|minus|slash|circumflex)|circumflex|(lt|gt|equ)(equ|gt)?"
)
_OPEN = re.compile(
    r"algorithm|block|class|connector|connect|constant|discrete|each|else|elseif|elsewhen"
    r"|encapsulated|equation|expandable|extends|final|flow|for|function|if|import|impure|in"
    r"|initial|inner|input|loop|model|not|or|and|operator|outer|output|package|parameter|partial"
    r"|protected|public|pure|record|redeclare|replaceable|stream|then|type|when|while|within"
)
"""Words behind which no semicolon can be missing."""


_LONGEST_MODIFIER = 500
"""Bytes of a modifier before its value."""


@dataclass
class SourceMap:
    """Files and texts by the compiler's source identifiers."""

    files: Mapping[int, tuple[str, str]]
    _bytes: dict[int, bytes] = field(default_factory=dict)

    def location(self, span: Span) -> Location | None:
        """Return file, line and column of the start of `span`."""
        if span == NOWHERE or span.source not in self.files:
            return None
        name, text = self.files[span.source]
        data = self._bytes.setdefault(span.source, text.encode())
        before = data[: span.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        return Location(name, line, column)

    def has_final_modifier(self, variable: Variable) -> bool:
        """Return whether a ``final`` modifier gives a variable its value.

        rumoca loses the word in the modifiers of a redeclared component.
        """
        span = NOWHERE if variable.binding is None else variable.binding.span
        if span == NOWHERE or span.source not in self.files:
            return False
        text = self.files[span.source][1]
        data = self._bytes.setdefault(span.source, text.encode())
        name = re.escape(variable.name.rpartition(".")[2].encode())
        before = data[max(span.start - _LONGEST_MODIFIER, 0) : span.start]
        pattern = rb"\bfinal\s+(each\s+)?" + name + rb"\s*=[\s(+-]*\Z"
        return re.search(pattern, before) is not None


@dataclass(frozen=True)
class Flattened:
    """Result of rumoca.

    `unbalanced` is its message on too many or too few equations; `flat` then has additional
    variables or equations named :data:`PROBE_VARIABLE`, so that the culprits can be named.
    """

    flat: Mapping[str, Any]
    sources: SourceMap
    unbalanced: str | None = None


def flatten(class_name: str, tree: SourceTree, names: Names) -> Flattened:
    """Parse, resolve, check and flatten a class from `tree`; `names` are all sources."""
    with ScratchFolder("rumoca") as folder:
        scratch = folder.path
        stage = _Stage(scratch / "first", tree, names.trees, *rewritten(class_name, names))
        answer = _run(stage.request(class_name), scratch)
        if _NO_IMPORT in answer.get("error", "") and (unused := unused_imports(tree, names)):
            files = rewritten(class_name, names, unused)
            stage = _Stage(scratch / "trimmed", tree, names.trees, *files)
            answer = _run(stage.request(class_name), scratch)
        if "flat" in answer:
            return Flattened(answer["flat"], stage.sources(answer))
        if _UNREADABLE in answer["error"]:  # rumoca locates errors in the given file only
            answer = _run(stage.plain_request(class_name), scratch)
            if "flat" in answer:  # it checks the layout of the given file less strictly
                return Flattened(answer["flat"], stage.sources(answer))
        unbalanced = _BALANCE.search(answer["error"])
        if unbalanced:
            probed = _run(stage.probe(class_name, int(unbalanced.group(1))), scratch)
            if "flat" in probed:
                return Flattened(probed["flat"], stage.sources(probed), unbalanced.group(0))
        diagnostics = diagnose(
            class_name,
            stage.in_users_words(answer["error"]),
            [{**d, "message": stage.in_users_words(d["message"])} for d in answer["diagnostics"]],
            tree,
            names,
            panic=bool(answer["panic"]),
        )
        raise CompilationError(f"{class_name} cannot be compiled", diagnostics=diagnostics)


class _Stage:
    """Gives rumoca the user's files only.

    It reads all Modelica files next to the given one, so a single file is copied elsewhere.
    """

    def __init__(
        self,
        scratch: Path,
        tree: SourceTree,
        others: Sequence[SourceTree],
        changed: Mapping[Path, str],
        moved: Mapping[Path, Moved],
    ) -> None:
        self._original: dict[str, str] = {}
        self._scratch = scratch
        self._tree = tree
        self._changed = changed
        self._moved = moved
        scratch.mkdir()
        libraries = [other for other in others if other is not tree]
        self._entry = self._staged(tree, "entry")
        self._roots = [
            str(self._staged(other, f"root{i}").parent) for i, other in enumerate(libraries)
        ]
        inside = [self._entry.parent / f.relative_to(tree.entry.parent) for f in tree.files[1:]]
        self._files = [str(self._entry), *map(str, inside)]
        self._uses = _uses_package(tree, libraries)

    def _staged(self, tree: SourceTree, folder: str) -> Path:
        own = tree is self._tree
        changed = any(file in self._changed for file in tree.files)
        if tree.entry.name == "package.mo" and not changed:
            return tree.entry.resolve()
        base = self._scratch / folder
        for file in tree.files:
            target = base / file.relative_to(tree.entry.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            if own or file in self._changed:
                target.write_text(self._text(file), encoding="utf-8")
            else:
                shutil.copyfile(file, target)
            self._original[str(target)] = str(file)
        for place, extra in self._moved.items():
            if extra.original in tree.files:
                target = base / place.relative_to(tree.entry.parent)
                target.write_text(extra.text, encoding="utf-8")
                self._original[str(target)] = str(extra.original)
        return base / tree.entry.name

    def _text(self, file: Path) -> str:
        """Return the text of a user's file as rumoca is to read it."""
        return self._changed.get(file) or file.read_text(encoding="utf-8")

    def request(self, class_name: str) -> dict[str, Any]:
        """Return the request to compile the class with the libraries that it mentions.

        rumoca reads a library only if the given file mentions it, which a class deeper in the
        package may do instead. It is therefore given a generated package that uses all of them.
        """
        if not self._uses:
            return self.plain_request(class_name)
        return self._with_text(class_name, "uses", self._uses)

    def plain_request(self, class_name: str) -> dict[str, Any]:
        return {
            "entry": str(self._entry),
            "text": None,
            "class_name": class_name,
            "roots": self._roots,
            "check": self._files,
        }

    def probe(self, class_name: str, surplus: int) -> dict[str, Any]:
        """Return the request to compile the class balanced by dummy variables or equations."""
        count = abs(surplus)
        text = f"\nmodel {PROBE}\n  extends {class_name};\n  Real {PROBE_VARIABLE}[{count}];\n"
        if surplus < 0:
            text += f"equation\n  {PROBE_VARIABLE} = zeros({count});\n"
            text += f"  {PROBE_VARIABLE} = ones({count});\n"
        text += f"end {PROBE};\n{self._uses}"
        return self._with_text(PROBE, "probe", text) | {"check": []}

    def _with_text(self, class_name: str, name: str, text: str) -> dict[str, Any]:
        """Return a request with generated text, in a file beside a package or behind a file's."""
        request = self.plain_request(class_name)
        if self._tree.entry.name != "package.mo":
            return request | {"text": self._text(self._tree.entry) + text}
        entry, roots = self._scratch / name / f"{name}.mo", [*self._roots, str(self._entry.parent)]
        return request | {"text": text, "entry": str(entry), "roots": roots}

    def sources(self, answer: Mapping[str, Any]) -> SourceMap:
        files = answer["files"]
        return SourceMap({int(k): (self._users_name(name), text) for k, name, text in files})

    def _users_name(self, name: str) -> str:
        if name in self._original:
            return self._original[name]
        try:
            relative = Path(name).resolve().relative_to(self._entry.parent)
        except ValueError:
            return name
        return str(self._tree.entry.parent / relative)

    def in_users_words(self, text: str) -> str:
        for staged, original in self._original.items():
            text = text.replace(staged, original)
        return text.replace(str(self._entry.parent), str(self._tree.entry.parent))


def _uses_package(tree: SourceTree, libraries: Sequence[SourceTree]) -> str:
    """Return a package that uses `tree` and its libraries; empty if it has none."""
    top = tree.classes.top_level
    # A file may lie within a package of one of the libraries.
    waiting = [tree, *(library for library in libraries if library.classes.top_level == top)]
    used = [top]
    others = {o.classes.top_level: o for o in libraries if o.classes.top_level != top}
    while waiting:
        for name in sorted(waiting.pop().classes.mentions(frozenset(others))):
            used.append(name)
            waiting.append(others.pop(name))
    if len(used) == 1:
        return ""
    named = ", ".join(f'{name}(version="")' for name in used)
    return f"\npackage {USES} annotation(uses({named})); end {USES};\n"


def _environment(scratch: Path) -> dict[str, str]:
    """Return the environment of the worker.

    It has rumoca's cache, without which the standard library takes half a minute, and no
    MODELICAPATH, since the sources of a class are already determined and hashed.
    """
    others = {k: v for k, v in os.environ.items() if k != "MODELICAPATH"}
    cache = cache_folder("rumoca-" + importlib.metadata.version("rumoca"))
    return {**others, "XDG_CACHE_HOME": str(cache or scratch / "cache")}


def _too_slow(class_name: str, limit: str) -> CompilationError:
    return CompilationError(
        f"{class_name}: rumoca, the front end of the embedded compiler, did not finish within "
        f"{limit}",
        hint="look for a loop with very many passes, or for a function that calls itself without "
        "end; else compile the class with OpenModelica: --compiler openmodelica",
    )


def _run(request: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    worker = Path(__file__).with_name("rumoca_worker.py")
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(worker)],
            input=json.dumps({**request, "memory": MEMORY_BYTES, "seconds": CPU_LIMIT_S}),
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
            env=_environment(scratch),
        )
    except subprocess.TimeoutExpired:
        raise _too_slow(request["class_name"], f"{TIME_LIMIT_S:g} s") from None
    if done.returncode in ENDED_FOR_PROCESSOR_TIME:
        raise _too_slow(request["class_name"], f"{CPU_LIMIT_S} s of processor time")
    if done.returncode in (*ENDED_FOR_WANT_OF_MEMORY, TOO_LARGE):
        first = done.stderr.strip().splitlines()[:1] or ["no message"]
        raise CompilationError(
            f"{request['class_name']} is too large or too deeply nested for rumoca, the front end "
            f"of the embedded compiler: {first[0]}",
            hint=f"make arrays and expressions smaller; it may take {MEMORY_BYTES / 1e9:g} GB",
        )
    if done.returncode == NOT_INSTALLED:
        raise CompilationError(
            "the embedded compiler needs the Python package rumoca",
            hint="install it: pip install 'rumoca>=0.10,<0.11'",
        )
    if done.returncode != 0 or not done.stdout:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {
            "error": f"rumoca crashed ({last[0]})",
            "panic": True,
            "diagnostics": [],
            "version": SUPPORTED_VERSION,
        }
    answer: dict[str, Any] = json.loads(done.stdout)
    version = answer["version"].removeprefix("rumoca ")
    if not version.startswith(SUPPORTED_VERSION):
        raise CompilationError(
            f"the embedded compiler needs rumoca {SUPPORTED_VERSION}x and finds {version}",
            hint="install the version that fmident asks for: pip install 'rumoca>=0.10,<0.11'",
        )
    return answer


def diagnose(
    class_name: str,
    error: str,
    findings: Sequence[Mapping[str, Any]],
    tree: SourceTree,
    names: Names,
    *,
    panic: bool = False,
) -> list[Diagnostic]:
    """Return diagnostics for a class that rumoca did not accept.

    `findings` are rumoca's own diagnostics, `tree` and `names` the sources for suggestions and
    missing places; `panic` says whether rumoca crashed.
    """
    syntax = [d for item in findings if item["level"] == "error" for d in syntax_errors(item)]
    if syntax:
        return syntax[:1]
    messages = _without_consequences(_messages(class_name, error, panic))
    absent, messages = _absent_libraries(messages, names)
    result = [*absent, *(_diagnostic(class_name, message, tree, names) for message in messages)]
    causes = [d for d in result if d.rule == "unsupported-msl"]
    one_per_place = {str(d.location): d for d in reversed(causes or result)}
    return list(reversed(one_per_place.values()))


def _without_consequences(messages: Sequence[str]) -> list[str]:
    """Remove unknown names that are only a consequence of an import not found."""
    missing = [m for message in messages if (m := _IMPORT.match(message))]
    heads = {m["alias"] or m["name"].rsplit(".", 1)[-1] for m in missing}
    remaining = []
    for message in messages:
        unresolved = _UNRESOLVED.match(message)
        if unresolved is None or unresolved["head"] not in heads:
            remaining.append(message)
    return remaining


def _absent_libraries(messages: Sequence[str], names: Names) -> tuple[list[Diagnostic], list[str]]:
    """Return a diagnostic for each missing library, and the other messages."""
    there = {tree.classes.top_level for tree in names.trees}
    diagnostics: dict[str, Diagnostic] = {}
    remaining = []
    for message in messages:
        unknown = "not found" in message or "unresolved" in message
        quoted = _QUOTED.findall(_PLACE.sub("", message)) if unknown else []
        heads = [q.split(" = ")[-1].split(".")[0] for q in quoted]
        absent = next((h for h in heads if h not in there and _asked_for(h, names)), None)
        if absent is None:
            remaining.append(message)
        elif absent not in diagnostics and (asking := _asked_for(absent, names)) is not None:
            item, offset = asking
            diagnostics[absent] = Diagnostic(
                "error",
                f"'{item.name}' needs the library '{absent}', which is not among the sources",
                offset_location(item.file, offset),
                f"put '{absent}' beside '{item.name}', or let MODELICAPATH name the folder that "
                "holds it; or name it with --source",
                "missing-library",
            )
    return list(diagnostics.values()), remaining


def _asked_for(library: str, names: Names) -> tuple[ClassText, int] | None:
    """Return the package whose annotation ``uses`` names a library, and the position."""
    for tree in names.trees:
        item = names.find(tree.classes.top_level)
        words = [] if item is None else [t.text for t in item.tokens]
        if item is not None and "uses" in words:
            offset = find_words(item.tokens[words.index("uses") :], [library])
            if offset is not None:
                return item, offset
    return None


def _messages(class_name: str, error: str, panic: bool) -> list[str]:
    """Split an exception's text into findings, without the names of rumoca's phases."""
    related = [
        line.split("]: ", 1)[1]
        for line in error.splitlines()
        if line.startswith("- ") and "]: " in line
    ]
    if related:
        return list(dict.fromkeys(related))
    first = error.splitlines()[0] if error else f"rumoca gave no message about '{class_name}'"
    detail = re.search(r'feature: "([^"]*)", detail: "([^"]*)"', first)
    if detail:  # a panic
        place = _SPAN.search(first)
        return [f"{detail[1]}: {detail[2]}" + (f" ({place[0]})" if place else "")]
    if panic:
        return [f"rumoca failed inside when it compiled '{class_name}': {first}"]
    first = re.sub(r"^\w+ failed: \S+ failed in \w+: ", "", first)
    return [re.sub(r"^\S+ could not be compiled: ", "", first)]


def _diagnostic(class_name: str, message: str, tree: SourceTree, known: Names) -> Diagnostic:
    place_match = _PLACE.search(message)
    place: Location | None = None
    if place_match:
        place = Location(place_match["file"], int(place_match["line"]), int(place_match["column"]))
        message = message[: place_match.start()]
    rule, hint = "unsupported", OPENMODELICA
    for pattern, known_rule, known_hint in _RULES:
        if re.search(pattern, message):
            rule, hint = known_rule, known_hint or OPENMODELICA
            break
    quoted = (n.split(" = ")[-1] for n in _QUOTED.findall(message))  # import A = B.C
    names = [n for n in quoted if n != class_name]
    if rule in ("unknown-variable", "unknown-function", "missing-class") and names:
        rule, hint = _missing(rule, names[0], class_name, tree, known)
    if place is None:
        place = _search(class_name, [*_keywords(message), *names], tree, known, message)
        message = re.sub(r" \(start: BytePos\(\d+\)\)$", "", message)
    return Diagnostic("error", _plain(message), place, hint, rule)


_REWORDED: Sequence[tuple[str, str]] = (
    (r".*derivative (expression|target).*", "'der' of something that is not a plain variable"),
    (r".*initial algorithm.*", "an initial algorithm section"),
    (
        r".*model algorithm.*multi-output.*",
        "an algorithm section that gives values to several variables",
    ),
    (r".*unsupported model algorithm.*", "an algorithm section of a model"),
    (
        r".*(function statement|loop reduction)`: `([^`]*)`.*",
        r"the function '\2' has a loop or statement that cannot be unrolled",
    ),
    (
        r".*type mismatch: expected Boolean, found (\w+).*",
        r"a \1 is used where a Boolean is needed",
    ),
)


def _plain(message: str) -> str:
    for pattern, words in _REWORDED:
        if re.fullmatch(pattern, message, re.DOTALL):
            return re.sub(pattern, words, message, flags=re.DOTALL)
    message = re.sub(r"unsupported Flat semantic owner `([^`]*)`", r"unsupported \1", message)
    return message.replace("`", "'")


def _missing(
    rule: str, name: str, class_name: str, tree: SourceTree, sources: Names
) -> tuple[str, str]:
    """Return rule and hint for an undefined name."""
    first = name.split(".")[0]
    item = tree.classes.get(class_name)
    packages = [i.package for i in imports(item) if i.alias == first] if item else []
    if STANDARD_LIBRARY in (first, *(package.split(".")[0] for package in packages)):
        if any(map(is_stand_in, sources.trees)):
            return "unsupported-msl", f"{HOW_TO_GET_IT}; or {OPENMODELICA}; {modelica_path()}"
        version = declared_version(sources.find(STANDARD_LIBRARY)) or "unknown"
        if not version.startswith("4."):
            return "unsupported-msl", f"this is version {version}: {HOW_TO_GET_IT}"
    if name in UNSUPPORTED_FUNCTIONS:
        return f"unsupported-{name}", OPENMODELICA
    if rule == "unknown-variable":
        own = tree.classes.get(class_name)
        words = {t.text for t in own.tokens if t.kind == "word"} - {name} if own else set()
        return rule, did_you_mean(name, words, kind="name in this class")
    kinds = {"function"} if rule == "unknown-function" else None
    known = [n for n, c in tree.classes.items() if kinds is None or c.keyword in kinds]
    known += [n.rsplit(".", 1)[-1] for n in known]
    close = nearest(name, known)
    kind = "function" if kinds else "class"
    if close:
        return rule, f"nearest {kind}: " + ", ".join(f"'{c}'" for c in close)
    package = name.split(".")[0]
    looked = "" if sources.find(package) else f"; {modelica_path()}"
    return rule, f"declare it, or add the file or folder of '{package}' to the sources{looked}"


_KEYWORDS: Sequence[tuple[str, tuple[str, ...]]] = (
    (r"derivative", (DER_OF_EXPRESSION,)),
    (r"initial algorithm|model algorithm", ("algorithm",)),
    (r"equality comparison", ("==", "<>")),
    (r"expected Boolean", ("assert", "if")),
    (r"(\w+)\(\)", ()),
    (r"requires inner declarations: (\w+)", ()),
)
"""Pattern of a message that quotes no name, and what to search for: by default its group."""


def _keywords(message: str) -> list[str]:
    """Return words to search for when a message quotes no name."""
    for pattern, words in _KEYWORDS:
        if match := re.search(pattern, message):
            return [*(words or match.groups())]
    return []


def _search(
    class_name: str, names: Iterable[str], tree: SourceTree, known: Names, message: str
) -> Location | None:
    """Return the first place of one of the names, in the class or else in those it uses."""
    own = tree.classes.get(class_name)
    byte = _SPAN.search(message)
    if byte and own is not None and len(tree.files) == 1:
        return offset_location(own.file, int(byte.group(1)))
    others = [item for item in _used_and_around(class_name, known) if item.name != class_name]
    for name in names:
        words = name.removesuffix(".*").split(".")
        for item in [own, *others]:
            if item is None:
                continue
            offset = find_words(item.tokens, words)
            if offset is not None:
                return offset_location(item.file, offset)
    return tree.location(class_name)


def _used_and_around(class_name: str, known: Names) -> list[ClassText]:
    used = involved(class_name, known)
    items = {item.name: item for item in used}
    for item in used:
        parts = item.name.split(".")
        for depth in range(len(parts) - 1, 0, -1):
            around = known.find(".".join(parts[:depth]))
            if around is not None:
                items.setdefault(around.name, around)
    return list(items.values())


def _der_of_expression(tokens: Sequence[Token]) -> int | None:
    """Return the offset of a ``der`` whose argument is more than a name with subscripts."""
    for i, token in enumerate(tokens):
        if token.text == "der" and has(tokens, i + 1, "("):
            argument = (tokens[k] for k in outside(tokens, i + 2))
            if any(t.kind not in NAMES and t.text not in (".", "[", "]") for t in argument):
                return token.offset
    return None


def find_words(tokens: Sequence[Token], words: Sequence[str]) -> int | None:
    """Return the offset of a dotted name in tokens; its declaration is the last choice."""
    if words == [DER_OF_EXPRESSION]:
        return _der_of_expression(tokens)
    wanted = [part for word in words for part in (".", word)][1:]
    for i, token in enumerate(tokens):
        follows = [t.text for t in tokens[i : i + len(wanted)]]
        if token.text == wanted[0] and follows == wanted and not has(tokens, i - 1, "."):
            return token.offset
    return None


def syntax_errors(item: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the parse errors in one of rumoca's findings."""
    text = str(item["message"])
    result = []
    for match in _SYNTAX.finditer(text):
        rest = text[match.end() :].split("×")[0]
        listing = _EXPECTED.search(rest)
        expected = _tokens(listing[1]) if listing else []
        what = " ".join(match["what"].replace("│", " ").split())
        place = Location(match["file"], int(match["line"]), int(match["column"]))
        rule, message = "syntax-error", f"syntax error: {what.replace('`', chr(39))}"
        hint = f"expected {_listed(expected)}" if expected else "correct the source here"
        if "uplicate" in what:
            rule, message = "duplicate", what.removeprefix("parse error: ")
            hint = "correct the source here"
        elif ";" in expected and (missing := _missing_semicolon(what, place)) is not None:
            message, hint = missing
        result.append(Diagnostic("error", message, place, hint, rule))
    return result


def _missing_semicolon(what: str, place: Location) -> tuple[str, str] | None:
    """Return message and hint if a semicolon is missing before the unexpected token."""
    unexpected = _UNEXPECTED.search(what)
    if unexpected is None or not re.match(r"\w", unexpected["token"]):
        return None
    assert place.line is not None
    assert place.column is not None
    try:
        lines = Path(place.file).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return None
    before = "".join(lines[: place.line - 1]) + lines[place.line - 1][: place.column - 1]
    code = [m for m in _CODE.finditer(before) if not m[0].startswith(("//", "/*"))]
    if not code or _OPEN.fullmatch(code[-1][0]):
        return None
    last = code[-1]
    if not re.match(r"[\w\")\]}]", last[0]):
        return None
    line = before.count("\n", 0, last.end()) + 1
    return (
        f"syntax error: expected ';' before '{unexpected['token']}'",
        f"end line {line} with a ';'" if line < place.line else "put a ';' there",
    )


def _tokens(text: str) -> list[str]:
    """Return the tokens of rumoca's comma-separated list, in which the comma is a token, too."""
    words = " ".join(text.split()).replace(", ,,", ", COMMA,").replace(", ,", ", COMMA")
    return ["," if word == "COMMA" else word for word in words.split(", ") if word]


def _listed(expected: list[str]) -> str:
    """Return the tokens in words; operators count as one kind."""
    kinds = dict.fromkeys(
        "an operator" if _OPERATORS.fullmatch(token) else _shown(token) for token in expected
    )
    listed = list(kinds)
    if "an operator" in kinds:  # nearly always possible, and so the least informative
        listed = [k for k in listed if k != "an operator"] + ["an operator"]
    if len(listed) > 8:
        signs = [k for k in listed if not k[1:2].isalpha()]
        listed = [*signs[:5], "a keyword"] if len(signs) < len(listed) else signs[:8]
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " or " + listed[-1]


def _shown(token: str) -> str:
    names = {"colonequ": ":=", "string": "a text"}
    token = names.get(token, token.removesuffix(" (keyword)"))
    return token if token.startswith("a ") else f"'{token}'"
