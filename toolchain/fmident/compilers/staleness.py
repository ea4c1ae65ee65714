"""Tell whether an FMU still is what its sources, options and compiler would give.

Every FMU that fmident builds carries a record of what it was made from, as
``resources/fmident.json``.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fmident._json import loads_json
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.platforms import recorded_names

RECORD_NAME = "fmident.json"
RECORD_PATH = f"resources/{RECORD_NAME}"


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
