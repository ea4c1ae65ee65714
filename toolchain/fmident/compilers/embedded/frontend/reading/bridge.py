"""Calls rumoca: source files to its flat model, and error messages to diagnostics."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.compilers.embedded.frontend.reading.complaints import diagnose
from fmident.compilers.embedded.frontend.reading.source.known_functions import (
    without_known_bodies,
)
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.redeclarations import held_modifiers
from fmident.compilers.embedded.frontend.reading.source.rewrites import (
    Moved,
    scalar_calls,
    without_nested_bases,
    without_unused_imports,
)
from fmident.compilers.embedded.frontend.reading.source.scan_check import involved
from fmident.compilers.embedded.frontend.reading.source.scanner import Edit, edited
from fmident.compilers.embedded.frontend.reading.source.sources import SourceMap, SourceTree
from fmident.compilers.embedded.frontend.refusal import MEMORY_BYTES
from fmident.errors import CompilationError
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
        changed = without_known_bodies(class_name, names)
        nested = without_nested_bases(class_name, names, changed)
        stage = _Stage(
            scratch / "first", tree, names.trees, *_edited(class_name, names, changed, nested)
        )
        answer = _run(stage.request(class_name), scratch)
        if _NO_IMPORT in answer.get("error", "") and without_unused_imports(tree, names, changed):
            edits = _edited(class_name, names, changed, nested)
            stage = _Stage(scratch / "trimmed", tree, names.trees, *edits)
            answer = _run(stage.request(class_name), scratch)
        if "flat" in answer:
            return Flattened(answer["flat"], stage.sources(answer))
        if _UNREADABLE in answer["error"]:  # only the file that it is given gets a place
            answer = _run(stage.plain_request(class_name), scratch)
            if "flat" in answer:  # of the file that it is given the layout matters less
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


def _edited(
    class_name: str, names: Names, changed: Mapping[Path, str], moved: Mapping[Path, Moved]
) -> tuple[dict[Path, str], dict[Path, Moved]]:
    """Return changed and moved files with the edits that shift positions."""
    items = involved(class_name, names)
    edits: dict[Path, list[Edit]] = {}
    for edit in (*scalar_calls(items, names), *held_modifiers(items, class_name, names)):
        edits.setdefault(edit.file, []).append(edit)
    texts = {
        file: edited(changed.get(file) or names.text(file), edits.get(file, ()), names.text(file))
        for file in {**changed, **edits}
    }
    moved_files = {
        place: Moved(edited(m.text, edits.get(m.original, ()), names.text(m.original)), m.original)
        for place, m in moved.items()
    }
    return texts, moved_files


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
        request = self.plain_request(class_name)
        if self._uses and self._tree.entry.name == "package.mo":
            request["text"] = self._uses
            request["entry"] = str(self._scratch / "uses" / "uses.mo")
            request["roots"] = [*self._roots, str(self._entry.parent)]
        elif self._uses:
            request["text"] = self._text(self._tree.entry) + self._uses
        return request

    def plain_request(self, class_name: str) -> dict[str, Any]:
        """Return the request to compile the class."""
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
        roots = list(self._roots)
        if self._tree.entry.name == "package.mo":
            entry = self._scratch / "probe" / "probe.mo"
            roots.append(str(self._entry.parent))
        else:
            entry = self._entry
            text = self._text(self._tree.entry) + text
        return {
            "entry": str(entry),
            "text": text,
            "class_name": PROBE,
            "roots": roots,
            "check": [],
        }

    def sources(self, answer: Mapping[str, Any]) -> SourceMap:
        """Return the source map with the user's file names."""
        files: dict[int, tuple[str, str]] = {}
        for key, name, text in answer["files"]:
            files[int(key)] = (self._users_name(str(name)), str(text))
        return SourceMap(files)

    def _users_name(self, name: str) -> str:
        if name in self._original:
            return self._original[name]
        try:
            relative = Path(name).resolve().relative_to(self._entry.parent)
        except ValueError:
            return name
        return str(self._tree.entry.parent / relative)

    def in_users_words(self, text: str) -> str:
        """Return a message of rumoca with the user's file names."""
        for staged, original in self._original.items():
            text = text.replace(staged, original)
        return text.replace(str(self._entry.parent), str(self._tree.entry.parent))


def _uses_package(tree: SourceTree, libraries: Sequence[SourceTree]) -> str:
    """Return a package that uses `tree` and its libraries; empty if it has none."""
    waiting, used = [tree], [tree.classes.top_level]
    others = {library.classes.top_level: library for library in libraries}
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
