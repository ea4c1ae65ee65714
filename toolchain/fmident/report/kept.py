"""Cache of page components on disk.

It is optional: what is unreadable, truncated or modified is recreated, and what cannot
be written, as on a full disk, is skipped.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from fmident.files import whole_file


def kept_bytes(place: Path) -> bytes | None:
    """Return what :func:`keep_bytes` has written; ``None`` if it is not intact."""
    with contextlib.suppress(OSError):
        digest, _, content = place.read_bytes().partition(b" ")
        if digest == _digest(content):
            return content
    return None


def keep_bytes(place: Path, content: bytes) -> None:
    """Write a file for :func:`kept_bytes`; ignored if it cannot be written."""
    with contextlib.suppress(OSError), whole_file(place) as stream:
        stream.write(_digest(content) + b" " + content)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")
