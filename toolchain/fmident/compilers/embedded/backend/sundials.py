"""Sources of SUNDIALS CVODE, for FMUs whose model needs it.

They are compiled together with the model for each platform, so no installed library is
needed. They are not in the repository: the wheel includes them, packed by this module;
``ci/setup`` fetches them for a checkout; otherwise the release is downloaded once. In
all cases the contents must match a known checksum.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import lzma
import os
import re
import sys
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from fmident.errors import Code, CompilationError
from fmident.files import whole_file
from fmident.operating_system.cache import cache_folder

VERSION = "6.4.1"
VARIABLE = "FMIDENT_SUNDIALS"
"""Names an archive or a folder of the sources."""

RELEASE = f"https://github.com/LLNL/sundials/releases/download/v{VERSION}/sundials-{VERSION}.tar.gz"
PACKED = Path(__file__).resolve().parents[1] / f"sundials-{VERSION}.zip"
"""Place of the sources in the wheel."""

SHA256 = "e8321b3a67ac2a1b117dfef3796d394361ef4d50f57a6eda4f6072d620fe8dab"
"""Checksum of all files that are used, see :func:`checksum`."""

LICENCES = ("LICENSE", "NOTICE")

TIME_LIMIT_S = 60.0
_LARGEST = 200_000_000

_COMPILED = (
    *(f"src/cvode/cvode{part}.c" for part in ("", "_io", "_ls", "_nls", "_proj")),
    "src/nvector/serial/nvector_serial.c",
    *(
        f"src/sundials/sundials_{part}.c"
        for part in (
            *("context", "dense", "linearsolver", "logger", "math", "matrix"),
            *("nonlinearsolver", "nvector", "nvector_senswrapper"),
        )
    ),
    "src/sunlinsol/dense/sunlinsol_dense.c",
    "src/sunmatrix/band/sunmatrix_band.c",
    "src/sunmatrix/dense/sunmatrix_dense.c",
    "src/sunnonlinsol/newton/sunnonlinsol_newton.c",
)
"""Files that CVODE with dense matrices needs."""

_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+\.h)[">]', re.MULTILINE)
_FOLDERS = ("include", "src/sundials", "src/cvode")

_EXPORT = """\
#ifndef SUNDIALS_EXPORT_H
#define SUNDIALS_EXPORT_H
#define SUNDIALS_EXPORT
#define SUNDIALS_NO_EXPORT
#define SUNDIALS_DEPRECATED
#define SUNDIALS_DEPRECATED_EXPORT
#define SUNDIALS_DEPRECATED_NO_EXPORT
#endif
"""

_CONFIG = f"""\
#ifndef SUNDIALS_CONFIG_H
#define SUNDIALS_CONFIG_H
#include "sundials/sundials_export.h"
#define SUNDIALS_DEPRECATED_MSG(text)
#define SUNDIALS_DEPRECATED_EXPORT_MSG(text)
#define SUNDIALS_DEPRECATED_NO_EXPORT_MSG(text)
#define SUNDIALS_VERSION "{VERSION}"
#define SUNDIALS_VERSION_MAJOR {VERSION.split(".")[0]}
#define SUNDIALS_VERSION_MINOR {VERSION.split(".")[1]}
#define SUNDIALS_VERSION_PATCH {VERSION.split(".")[2]}
#define SUNDIALS_VERSION_LABEL ""
#define SUNDIALS_GIT_VERSION ""
#define SUNDIALS_C_COMPILER_HAS_MATH_PRECISIONS
#define SUNDIALS_C_COMPILER_HAS_ISINF_ISNAN
#define SUNDIALS_C_COMPILER_HAS_INLINE
#define SUNDIALS_C_COMPILER_HAS_SNPRINTF_AND_VA_COPY
#define SUNDIALS_DOUBLE_PRECISION 1
#define SUNDIALS_INT64_T 1
#define SUNDIALS_INDEX_TYPE int64_t
#define SUNDIALS_LOGGING_LEVEL 0
#define SUNDIALS_MPI_ENABLED 0
#define SUNDIALS_CVODE 1
#define SUNDIALS_C_INLINE inline
#define SUNDIALS_INLINE inline
#define SUNDIALS_STATIC_INLINE static inline
#endif
"""

_READ = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def sources() -> dict[str, str]:
    """Return all source files, name in the build folder to text.

    Public headers are in ``cvode/``, ``sundials/`` and so on, so that one include path is
    enough.
    """
    files = _files()
    renamed = {_place(name): text for name, text in files.items() if name not in LICENCES}
    return {
        **renamed,
        "sundials/sundials_config.h": _CONFIG,
        "sundials/sundials_export.h": _EXPORT,
    }


def licences() -> dict[str, str]:
    """Return the licence texts that an FMU containing SUNDIALS must include."""
    files = _files()
    return {f"SUNDIALS-{name}.txt": files[name] for name in LICENCES}


def checksum(files: Mapping[str, str]) -> str:
    """Return the SHA-256 of names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name].encode())}\0{files[name]}".encode())
    return digest.hexdigest()


def _place(name: str) -> str:
    path = PurePosixPath(name)
    return path.relative_to("include").as_posix() if path.parts[0] == "include" else path.name


def whereabouts() -> str:
    """Return where the sources will be taken from."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return named
    folder = cache_folder("sundials")
    for path in (PACKED, *([folder / PACKED.name] if folder else [])):
        if path.is_file():
            return str(path)
    return f"to be downloaded when needed: {RELEASE}"


@cache
def _files() -> dict[str, str]:
    named = os.environ.get(VARIABLE, "")
    if named:
        return _checked(Path(named), f"{VARIABLE}={named}")
    if PACKED.is_file():
        return _checked(PACKED, f"'{PACKED}'")
    folder = cache_folder("sundials")
    cached = folder / PACKED.name if folder else None
    if cached is not None and cached.is_file():
        try:
            return _checked(cached, f"'{cached}'")
        except CompilationError:
            cached.unlink(missing_ok=True)
    content = _download()
    try:
        files = _needed(_of_tar(content), RELEASE)
    except _READ as error:  # the download was cut short, or something between answered instead
        raise _not_downloaded(f"what was downloaded is not that archive: {error}") from None
    if cached is not None:
        pack(files, cached)
    return files


def _checked(place: Path, name: str) -> dict[str, str]:
    try:
        return _needed(_texts(place), name)
    except _READ as error:
        raise CompilationError(
            f"{name} cannot be read as the sources of SUNDIALS: {error}",
            hint=f"{VARIABLE} names the release's archive, or the folder that it was unpacked to",
            code=Code.UNUSABLE_FILE,
        ) from None


def _texts(place: Path) -> dict[str, str]:
    """Return the source files of a folder or an archive, by their path relative to the root."""
    if place.is_dir():
        files = [*place.rglob("*.[ch]"), *(place / name for name in LICENCES)]
        return {
            file.relative_to(place).as_posix(): file.read_text(encoding="utf-8", errors="replace")
            for file in files
        }
    if zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            return {n: archive.read(n).decode() for n in archive.namelist()}
    return _of_tar(place.read_bytes())


def _of_tar(content: bytes) -> dict[str, str]:
    texts = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            _, _, name = member.name.partition("/")
            if member.isfile() and name.endswith((".c", ".h", *LICENCES)):
                file = archive.extractfile(member)
                texts[name] = file.read().decode(errors="replace") if file else ""
    return texts


def _needed(there: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the files to compile, all SUNDIALS headers they include, and the licence texts."""
    texts = {file: there[file] for file in (*_COMPILED, *LICENCES)}
    waiting = [*_COMPILED]
    while waiting:
        for header in _INCLUDE.findall(texts[waiting.pop()]):
            files = (f"{folder}/{header}" for folder in _FOLDERS)
            file = next((f for f in files if f in there), None)
            if file is not None and file not in texts:
                texts[file] = there[file]
                waiting.append(file)
    if checksum(texts) != SHA256:
        raise CompilationError(
            f"{name} is not SUNDIALS {VERSION} as released: the content of its files differs",
            hint=f"{RELEASE} is the right one; {VARIABLE} can name the downloaded file",
            code=Code.UNUSABLE_FILE,
        )
    return texts


def _download() -> bytes:
    try:
        with urllib.request.urlopen(RELEASE, timeout=TIME_LIMIT_S) as answer:  # https only
            return bytes(answer.read(_LARGEST))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _not_downloaded(str(error)) from None


def _not_downloaded(why: str) -> CompilationError:
    return CompilationError(
        "a model with more than 100 states, or with the integrator 'cvode', needs SUNDIALS "
        f"{VERSION}, and {RELEASE} cannot be downloaded: {why}",
        hint=f"let {VARIABLE} name that file, downloaded elsewhere; or choose another "
        "integrator: --option integrator=rosenbrock",
        code=Code.NOT_INSTALLED,
    )


def pack(files: Mapping[str, str], target: Path) -> None:
    """Write the files to a reproducible zip file: the same files give the same bytes."""
    try:
        with whole_file(target) as stream, zipfile.ZipFile(stream, "w") as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, files[name])
    except OSError:
        if target == PACKED:
            raise


def main(arguments: Iterable[str]) -> int:
    """Pack the sources, given or of the release, into the package; called by ``ci/sundials``."""
    try:
        named = next(iter(arguments), None)
        files = _checked(Path(named), f"'{named}'") if named else _files()
        pack(files, PACKED)
    except (CompilationError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
