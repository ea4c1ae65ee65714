"""Platforms that an FMU can hold binaries for: their names in FMI 2.0, in FMI 3.0 and here.

Source: FMI specification 2.0.4, section 2.3, and 3.0.1, section 2.5.1.4 ("Platform Tuple").

Tell whether an FMU still is what its sources, options and compiler would give.

Every FMU that fmident builds carries a record of what it was made from, as
``resources/fmident.json``.
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
from fmident.errors import Code, CompilationError, did_you_mean
from fmident.fmu.archive import platform_folder

ALL = "all"
"""Stands for every platform."""


RECORD_NAME = "fmident.json"
RECORD_PATH = f"resources/{RECORD_NAME}"


@dataclass(frozen=True)
class Platform:
    """A processor with an operating system.

    Parameters
    ----------
    name
        The name in FMI 2.0, ``"linux64"``; for what has none there, one like it.
    tuple
        The name in FMI 3.0, ``"x86_64-linux"``.
    suffix
        Of a shared library's file name.
    folder
        Under ``binaries/`` of an FMU for FMI 2.0. Both processors of macOS share one, which then
        holds a universal binary.
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
    """Return the platform of this machine.

    Raises
    ------
    CompilationError
        It is none of :data:`PLATFORMS`.
    """
    here = platform_folder("3.0")
    for platform in PLATFORMS:
        if platform.tuple == here:
            return platform
    raise CompilationError(
        f"binaries for this machine's platform, '{here}', are not known how to make",
        hint=f"name one of these with --platforms: {', '.join(p.name for p in PLATFORMS)}",
    )


def recorded_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names under which an FMU records what it holds binaries for.

    Parameters
    ----------
    names
        Of the request, as :func:`platform_names` gives them; none for this machine's platform,
        which is then named, in FMI 3.0's way where it is none of :data:`PLATFORMS`.
    """
    given = tuple(names)
    if given:
        return given
    try:
        return (this_platform().name,)
    except CompilationError:
        return (platform_folder("3.0"),)


def platform_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of FMI 2.0 of platforms that were asked for; none for none.

    Raises
    ------
    CompilationError
        There is no such platform; the nearest name is given.
    """
    given = tuple(names)
    return tuple(p.name for p in read_platforms(given)) if given else ()


def read_platforms(names: Iterable[str]) -> tuple[Platform, ...]:
    """Return the platforms with these names, each once, in the order of :data:`PLATFORMS`.

    Parameters
    ----------
    names
        Names of FMI 2.0 or 3.0, or ``"all"``; none for this machine's platform.

    Raises
    ------
    CompilationError
        There is no such platform; the nearest name is given.
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
                f"there is no platform '{name}'",
                hint=did_you_mean(name, [*known, ALL], kind="platform"),
                code=Code.UNKNOWN_NAME,
            )
    return tuple(p for p in PLATFORMS if p in wanted) or (this_platform(),)


def source_files(sources: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return every Modelica file of the sources, with a name that is free of this machine.

    Parameters
    ----------
    sources
        Files or folders, as in :class:`~fmident.compilers.base.BuildRequest`.

    Returns
    -------
    list of (str, Path)
        Name relative to its source, and the file; in a fixed order.
    """
    found: list[tuple[str, Path]] = []
    for source in sources:
        if source.is_dir():
            files = sorted(
                file
                for pattern in ("*.mo", "package.order")
                for file in source.rglob(pattern)
                if file.is_file()
            )
            found += [(f"{source.name}/{f.relative_to(source).as_posix()}", f) for f in files]
        elif source.is_file():
            found.append((source.name, source))
    return found


def source_hash(sources: Iterable[Path]) -> str:
    """Return the SHA-256 of names and contents of all source files."""
    digest = hashlib.sha256()
    for name, file in source_files(sources):
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def make_record(request: BuildRequest, compiler: Compiler) -> dict[str, Any]:
    """Return what an FMU built from `request` by `compiler` is made from."""
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
    """Return the record in an FMU, or ``None`` when there is none that can be read."""
    try:
        with zipfile.ZipFile(fmu) as archive:
            record = loads_json(archive.read(RECORD_PATH).decode())
    except (OSError, KeyError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile):
        return None
    return record if isinstance(record, dict) else None


def is_stale(fmu: Path, request: BuildRequest, compiler: Compiler) -> bool:
    """Return whether the FMU must be built anew.

    Parameters
    ----------
    fmu
        The file, which may be missing.
    request
        What it should be built from; `request.output` plays no part.
    compiler
        What it should be built with.

    Returns
    -------
    bool
        ``True`` when the file or its record is missing, when class, sources, tolerance, options
        or compiler (its version, for the embedded one its code too) differ, or when it lacks one
        of the platforms. With more platforms it is as good.
    """
    found, wanted = read_record(fmu), make_record(request, compiler)
    platforms = (found or {}).get("platforms")
    if isinstance(platforms, list) and all(name in platforms for name in wanted["platforms"]):
        wanted["platforms"] = platforms
    return found != wanted
