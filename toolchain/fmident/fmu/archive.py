"""Safe extraction of an FMU, which is a zip file of unknown origin.

Only model description, binaries of this platform and resources are written. Names
outside the target folder, links, encrypted members and excessive sizes are refused
before.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import stat
import sys
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn, Protocol

from fmident._fmu_suggestions import advice
from fmident.errors import Code, FmuError, Location, advice_on

DESCRIPTION = "modelDescription.xml"

_DEEPEST, _LONGEST_NAME = 64, 255
"""Folders in folders, and bytes of a file's name; file systems take no longer ones."""

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits of an archive: number of members, and uncompressed sizes of all and of the XML."""

    members: int = 20_000
    total_bytes: int = 2 * 1024**3
    description_bytes: int = 256 * 1024**2


@dataclass(frozen=True)
class Archive:
    """A checked zip file; `members` maps safe relative paths to entries, files only."""

    path: Path
    members: dict[PurePosixPath, zipfile.ZipInfo]

    @property
    def platforms(self) -> tuple[str, ...]:
        """Folders under ``binaries`` that hold at least one file."""
        return tuple(
            sorted({m.parts[1] for m in self.members if len(m.parts) > 2 and _is_binary(m)})
        )

    def read_description(self) -> bytes:
        """Return the content of the model description; raise `FmuError` if it is damaged."""
        return self.read(DESCRIPTION)

    def read(self, name: str) -> bytes:
        """Return the content of an existing member; raise `FmuError` if it is damaged."""
        entry = self.members[PurePosixPath(name)]
        with zipfile.ZipFile(self.path) as file:
            content = BytesIO()
            _copy(file, entry, content, self.path)
            return content.getvalue()

    def extract(self, target: Path) -> None:
        """Write description, binaries of this platform and resources to `target`."""
        here = {platform_folder("2.0"), platform_folder("3.0")}
        with zipfile.ZipFile(self.path) as file:
            for name, entry in self.members.items():
                wanted = (
                    str(name) == DESCRIPTION
                    or name.parts[0] == "resources"
                    or (_is_binary(name) and name.parts[1] in here)
                )
                if not wanted:
                    continue
                destination = target.joinpath(*name.parts)
                try:
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    with destination.open("xb") as out:
                        _copy(file, entry, out, self.path)
                except (OSError, ValueError) as error:  # ValueError: letters
                    reason = error.strerror if isinstance(error, OSError) else None
                    raise FmuError(
                        f"cannot unpack '{name}' to '{target}': {reason or error}",
                        location=Location(str(self.path)),
                        hint=advice_on(error)
                        or "check the folder; TMPDIR names another one for temporary files",
                    ) from error


def platform_folder(fmi_version: str = "2.0") -> str:
    """Return FMI's name of this platform, ``"linux64"`` (2.0) or ``"x86_64-linux"`` (3.0)."""
    bits = ctypes.sizeof(ctypes.c_void_p) * 8
    systems = {"linux": "linux", "darwin": "darwin", "win32": "win", "cygwin": "win"}
    system = systems.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    intel = machine in ("x86_64", "amd64", "i386", "i686")
    if fmi_version.startswith("3."):
        processor = {64: "x86_64", 32: "x86"}[bits] if intel else machine
        names = {"arm64": "aarch64"}
        return "-".join((names.get(processor, processor), "windows" if system == "win" else system))
    if intel or system in ("darwin", "win"):
        return f"{system}{bits}"
    return f"{machine}-{system}"  # FMI 3.0's naming; FMI 2.0 has no names beyond x86


def library_suffix() -> str:
    """Return the file name suffix of shared libraries on this platform."""
    return {"darwin": ".dylib", "win32": ".dll", "cygwin": ".dll"}.get(sys.platform, ".so")


def check_archive(path: Path, limits: ArchiveLimits | None = None) -> Archive:
    """Check the zip's directory without extracting anything."""
    limits = limits or ArchiveLimits()
    place = Location(str(path))

    def refuse(message: str, hint: str | None = None, code: Code | None = None) -> NoReturn:
        raise FmuError(message, location=place, hint=hint, code=code)

    entries = _entries(path, refuse)
    if len(entries) > limits.members:
        refuse(f"the archive has {len(entries)} members, more than {limits.members} are refused")
    members: dict[PurePosixPath, zipfile.ZipInfo] = {}
    total = 0
    for entry in entries:
        name = _safe_name(entry, refuse)
        if entry.is_dir() or entry.filename.endswith("\\"):
            continue
        total += entry.file_size
        if total > limits.total_bytes:
            refuse(
                f"the archive unpacks to more than {limits.total_bytes / 1024**2:.0f} MiB",
                "if you trust it, raise the limit: open_fmu(path, limits=ArchiveLimits(...))",
            )
        if entry.flag_bits & 0x1:
            refuse(f"member '{entry.filename}' is encrypted", "get the FMU without a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            refuse(
                f"member '{entry.filename}' is compressed in a way that FMI does not allow",
                "pack the FMU again with the method 'deflate'",
            )
        first = members.setdefault(name, entry)
        if (first.CRC, first.file_size) != (entry.CRC, entry.file_size):
            refuse(
                f"the archive holds '{name}' twice, with different contents",
                "it is not clear which one is meant: export the FMU again",
            )
    description = members.get(PurePosixPath(DESCRIPTION))
    if description is None:
        refuse(
            f"this is not an FMU: the zip file holds no '{DESCRIPTION}' at its top",
            "if it was packed by hand: zip the folder's content, not the folder",
        )
    if description.file_size > limits.description_bytes:
        refuse(f"'{DESCRIPTION}' is larger than {limits.description_bytes / 1024**2:.0f} MiB")
    return Archive(path=path, members=members)


def _entries(path: Path, refuse: _Refuse) -> list[zipfile.ZipInfo]:
    if not path.exists():
        refuse("there is no such FMU", advice(path), Code.UNKNOWN_NAME)
    if not path.is_file():
        refuse("this is a folder, not an FMU file" if path.is_dir() else "this is not a file")
    try:
        with zipfile.ZipFile(path) as file:
            return file.infolist()
    except zipfile.BadZipFile as error:
        refuse(
            f"this is not an FMU: it is not a zip file ({error})",
            "an FMU is a zip file; was the download or the copy complete?",
        )
    except (OSError, NotImplementedError, ValueError) as error:  # ValueError: bad names
        refuse(f"the FMU cannot be read: {error}", advice_on(error))


def _safe_name(entry: zipfile.ZipInfo, refuse: _Refuse) -> PurePosixPath:
    """Return the member's path; refuse links and names outside the target folder."""
    hint = "a sound FMU has no such member: do not use this file"
    if stat.S_ISLNK(entry.external_attr >> 16):
        refuse(f"member '{entry.filename}' is a symbolic link", hint)
    text = entry.filename.replace("\\", "/")  # some tools write back slashes
    name = PurePosixPath(text)
    drive = len(text) > 1 and text[1] == ":"
    if name.is_absolute() or drive or ".." in name.parts or not name.parts or "\0" in text:
        refuse(f"member '{entry.filename}' would be written outside the target folder", hint)
    if len(name.parts) > _DEEPEST:
        refuse(f"member '{entry.filename}' is in folders more than {_DEEPEST} deep", hint)
    if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in name.parts):
        refuse(f"member '{entry.filename}' has a name of more than {_LONGEST_NAME} bytes", hint)
    return name


class _Refuse(Protocol):
    def __call__(
        self, message: str, hint: str | None = None, code: Code | None = None
    ) -> NoReturn: ...


def _is_binary(name: PurePosixPath) -> bool:
    return name.parts[0] == "binaries" and len(name.parts) > 2


def _copy(file: zipfile.ZipFile, entry: zipfile.ZipInfo, out: IO[bytes], path: Path) -> None:
    def damaged(error: Exception) -> FmuError:
        return FmuError(
            f"member '{entry.filename}' of the archive is damaged: {error}",
            location=Location(str(path)),
            hint=advice_on(error) or "get the FMU from its source again",
        )

    try:
        source = file.open(entry)
    except (*_DAMAGE, OSError, ValueError) as error:  # these two: a place outside the file
        raise damaged(error) from error
    try:
        with source:
            shutil.copyfileobj(source, out)
    except _DAMAGE as error:
        raise damaged(error) from error
