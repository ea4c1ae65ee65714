"""The FMU's zip file: the same content gives the same bytes."""

from __future__ import annotations

import zipfile
from collections.abc import Container, Mapping
from pathlib import Path

from fmident._whole_file import whole_file

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file can hold


def write_archive(
    path: Path, members: Mapping[str, bytes], executables: Container[str] = ()
) -> None:
    """Write a zip file atomically.

    Parameters
    ----------
    path
        The file; its folder is made when missing. It is replaced only by a whole file.
    members
        Name in the archive to content, written in this order.
    executables
        Names of the members to be marked executable.
    """
    with whole_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.create_system = 3  # Unix, wherever it is written
            info.external_attr = (0o755 if name in executables else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
