"""Files of pictures that annotations name by ``modelica://`` addresses."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from urllib.parse import unquote

from fmident.compilers.embedded.frontend.reading.source.names import Names

SCHEME = "modelica://"
KINDS = {
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".bmp": "image/bmp",
}
"""Type of a picture, by the end of its file's name."""

LARGEST = 2_000_000
"""Bytes of a picture; larger ones are left out."""

_BEGINNINGS = {b"\x89PNG": "image/png", b"\xff\xd8": "image/jpeg", b"GIF8": "image/gif"}


def read_image(address: str, names: Names) -> tuple[str, bytes] | None:
    """Return type and content of a picture, or ``None`` where it is not in the sources.

    Parameters
    ----------
    address
        Such as ``modelica://Library/Resources/Images/a.png``, or ``base64:`` with the content.
    names
        The sources.
    """
    if address.startswith("base64:"):
        return _encoded(address.removeprefix("base64:"))
    file = _file(address, names)
    kind = KINDS.get(file.suffix.lower()) if file else None
    if file is None or kind is None:
        return None
    try:
        if file.stat().st_size > LARGEST:
            return None
        return kind, file.read_bytes()
    except OSError:
        return None


def _encoded(text: str) -> tuple[str, bytes] | None:
    try:
        content = base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None
    kind = next((k for begin, k in _BEGINNINGS.items() if content.startswith(begin)), None)
    return (kind, content) if kind and len(content) <= LARGEST else None


def _file(address: str, names: Names) -> Path | None:
    """Return the file of an address: in the folder of the library, or of a package in it."""
    if not address.lower().startswith(SCHEME):
        return None
    package, _, rest = unquote(address[len(SCHEME) :]).partition("/")
    top, *inner = package.split(".")
    tree = next((t for t in names.trees if t.classes.top_level == top), None)
    if tree is None or not rest or "\0" in rest:
        return None
    root = folder = tree.entry.parent.resolve()
    for part in inner:
        folder /= part
    for place in dict.fromkeys((folder, root)):
        file = (place / rest).resolve()
        if file.is_relative_to(root) and file.is_file():
            return file
    return None
