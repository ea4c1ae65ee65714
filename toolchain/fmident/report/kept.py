"""What pages are made of, kept from one page to the next where there is room for it.

Nothing depends on it: what cannot be read, is torn or was changed is made anew, and what cannot be
written, such as on a full disk, is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from fmident.files import whole_file


def kept_bytes(place: Path) -> bytes | None:
    """Return what :func:`keep_bytes` has written; ``None`` where that is not whole.

    Parameters
    ----------
    place
        The file.
    """
    with contextlib.suppress(OSError):
        digest, _, content = place.read_bytes().partition(b" ")
        if digest == _digest(content):
            return content
    return None


def keep_bytes(place: Path, content: bytes) -> None:
    """Write a file that :func:`kept_bytes` reads; nothing where it cannot be written.

    Parameters
    ----------
    place
        The file.
    content
        That it is to hold.
    """
    with contextlib.suppress(OSError), whole_file(place) as stream:
        stream.write(_digest(content) + b" " + content)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")
