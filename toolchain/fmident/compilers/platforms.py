"""Platforms of an FMU's binaries, and the record of what an FMU was built from.

Source: FMI specification 2.0.4, section 2.3, and 3.0.1, section 2.5.1.4 ("Platform Tuple").

Every FMU that fmident builds carries the record as ``resources/fmident.json``. It shows whether
the FMU still is what its sources, options and compiler would give.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident._json import loads_json
from fmident.compilers.base import BuildRequest, Compiler
from fmident.errors import CompilationError, unknown_name
from fmident.fmu.archive import platform_folder

ALL = "all"
"""Stands for every platform."""


RECORD_NAME = "fmident.json"
RECORD_PATH = f"resources/{RECORD_NAME}"


@dataclass(frozen=True)
class Platform:
    """A processor with an operating system.

    `name` is that of FMI 2.0, ``"linux64"``, or a similar one; `tuple` that of FMI 3.0,
    ``"x86_64-linux"``. `folder` is under ``binaries/`` of an FMI 2.0 FMU; both processors
    of macOS share one, for a universal binary.
    """

    name: str
    tuple: str
    suffix: str
    folder: str

    @property
    def system(self) -> str:
        """Return ``"linux"``, ``"windows"`` or ``"darwin"``."""
        return self.tuple.partition("-")[2]


PLATFORMS = (
    Platform("linux64", "x86_64-linux", ".so", "linux64"),
    Platform("win64", "x86_64-windows", ".dll", "win64"),
    Platform("darwin64", "x86_64-darwin", ".dylib", "darwin64"),
    Platform("linux-aarch64", "aarch64-linux", ".so", "aarch64-linux"),
    Platform("darwin-aarch64", "aarch64-darwin", ".dylib", "darwin64"),
)
"""In the order in which an FMU holds them."""


def this_platform() -> Platform:
    """Return this machine's platform; raise `CompilationError` if not in :data:`PLATFORMS`."""
    here = platform_folder("3.0")
    for platform in PLATFORMS:
        if platform.tuple == here:
            return platform
    raise CompilationError(
        f"fmident cannot make binaries for this machine's platform, '{here}'",
        hint=f"name one of these with --platforms: {', '.join(p.name for p in PLATFORMS)}",
    )


def recorded_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names with which an FMU records the platforms of its binaries.

    Without `names` this is the machine's platform, with its FMI 3.0 name if it has no
    other.
    """
    given = tuple(names)
    if given:
        return given
    try:
        return (this_platform().name,)
    except CompilationError:
        return (platform_folder("3.0"),)


def platform_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the FMI 2.0 names of requested platforms; empty if none are requested.

    Raises `CompilationError`, suggesting a similar name, for an unknown platform.
    """
    given = tuple(names)
    return tuple(p.name for p in read_platforms(given)) if given else ()


def read_platforms(names: Iterable[str]) -> tuple[Platform, ...]:
    """Return the platforms with these names, each once, in the order of :data:`PLATFORMS`.

    `names` are of FMI 2.0 or 3.0, or ``"all"``; empty for this machine's platform. Raises
    `CompilationError`, suggesting a similar name, for an unknown platform.
    """
    known = {name: p for p in PLATFORMS for name in (p.name, p.tuple)}
    wanted: list[Platform] = []
    for name in names:
        if name == ALL:
            wanted += PLATFORMS
        elif name in known:
            wanted.append(known[name])
        else:
            raise CompilationError(
                f"there is no platform '{name}'", **unknown_name(name, [*known, ALL], "platform")
            )
    return tuple(p for p in PLATFORMS if p in wanted) or (this_platform(),)


def source_files(sources: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return every Modelica file of the sources, with its relative name, in a fixed order."""
    entries: list[tuple[str, Path]] = []
    for source in sources:
        if source.is_dir():
            files = sorted(
                file
                for pattern in ("*.mo", "package.order")
                for file in source.rglob(pattern)
                if file.is_file()
            )
            entries += [(f"{source.name}/{f.relative_to(source).as_posix()}", f) for f in files]
        elif source.is_file():
            entries.append((source.name, source))
    return entries


def source_hash(sources: Iterable[Path]) -> str:
    """Return the SHA-256 of names and contents of all source files."""
    digest = hashlib.sha256()
    for name, file in source_files(sources):
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def make_record(request: BuildRequest, compiler: Compiler) -> dict[str, Any]:
    """Return the build record for a request and a compiler."""
    record = {
        "class": request.class_name,
        "compiler": compiler.version(),
        "sources": source_hash(request.sources),
        "tolerance": request.tolerance,
        "options": request.options,
        "platforms": recorded_names(request.platforms),
    }
    return dict(json.loads(json.dumps(record, default=str, sort_keys=True)))


def encode_record(record: dict[str, Any]) -> bytes:
    """Return the bytes of :data:`RECORD_PATH`."""
    return (json.dumps(record, indent=2, sort_keys=True) + "\n").encode()


def read_record(fmu: Path) -> dict[str, Any] | None:
    """Return the record in an FMU, or ``None`` if it is missing or unreadable."""
    try:
        with zipfile.ZipFile(fmu) as archive:
            record = loads_json(archive.read(RECORD_PATH).decode())
    except (OSError, KeyError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile):
        return None
    return record if isinstance(record, dict) else None


def is_stale(fmu: Path, request: BuildRequest, compiler: Compiler) -> bool:
    """Return whether the FMU must be rebuilt.

    True if its record is missing, if class, sources, tolerance, options or compiler (for
    the embedded one its code, too) differ, or if a platform is missing. `request.output` is
    ignored.
    """
    record, wanted = read_record(fmu), make_record(request, compiler)
    platforms = (record or {}).get("platforms")
    if isinstance(platforms, list) and all(name in platforms for name in wanted["platforms"]):
        wanted["platforms"] = platforms
    return record != wanted
