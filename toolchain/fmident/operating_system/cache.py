"""Folder of the cache, which outlives builds and reports."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fmident.operating_system import belongs_to_user

VARIABLE = "FMIDENT_CACHE"
"""Names another folder; empty for no cache."""


def cache_folder(name: str) -> Path | None:
    """Return a folder in the user's cache, made when it is not there; ``None`` without one.

    What is in it may be removed at any time. Some of it is run as code: a folder of another user,
    or one to which everybody can write, is not taken.
    """
    given = os.environ.get(VARIABLE)
    if given == "":
        return None
    if given:
        base = Path(given).expanduser()
    else:
        home = os.environ.get("XDG_CACHE_HOME", "")
        try:
            base = (Path(home) if home else Path.home() / ".cache") / "fmident"
        except RuntimeError:  # no home
            return None
    folder = base.absolute() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    own = belongs_to_user(status) and not (os.name == "posix" and status.st_mode & stat.S_IWOTH)
    return folder if own and os.access(folder, os.W_OK) else None
