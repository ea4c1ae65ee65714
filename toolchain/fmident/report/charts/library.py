"""The JavaScript that draws charts: that of Bokeh, and what tells it what to draw.

Bokeh's Python package brings its JavaScript; nothing of the package is imported, which would take
longer than a small estimation. It goes into a page compressed, a third of its size.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.util
import zlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from fmident.errors import Code, FmidentError
from fmident.operating_system.cache import cache_folder
from fmident.report.kept import keep_bytes, kept_bytes

_FILES = ("bokeh.min.js", "bokeh-api.min.js")
_LEVEL = 6


@dataclass(frozen=True)
class Scripts:
    """What a page with charts runs.

    Parameters
    ----------
    packed
        Base64 of the library, compressed as by zlib.
    own
        The script of fmident, which unpacks the library.
    hashes
        Sources for the policy of the page, one for each.
    """

    packed: str
    own: str
    hashes: tuple[str, ...]


@functools.cache
def scripts() -> Scripts:
    """Return the scripts; they are read once.

    Raises
    ------
    fmident.errors.FmidentError
        Bokeh is not installed, or lacks its JavaScript.
    """
    folder = _folder()
    try:
        # A browser reads line ends as "\n", and the hash is of what it reads.
        parts = [_text((folder / name).read_bytes()) for name in _FILES]
    except OSError as error:
        raise FmidentError(
            f"the JavaScript of Bokeh, which draws the report, cannot be read: {error}",
            hint="install bokeh again: pip install --force-reinstall bokeh",
            code=Code.UNUSABLE_FILE,
        ) from error
    library = ";\n".join(parts).encode("utf-8")
    own = _text(resources.files("fmident.report").joinpath("templates/report.js").read_bytes())
    digest = hashlib.sha256(library).digest()
    sources = (_source(hashlib.sha256(own.encode("utf-8")).digest()), _source(digest))
    return Scripts(_packed(library, digest.hex()), own, sources)


def _packed(library: bytes, name: str) -> str:
    """Return Base64 of the compressed library; it is kept, since packing it takes its time."""
    folder = cache_folder("scripts")
    place = None if folder is None else folder / f"{name}-{_LEVEL}"
    kept = None if place is None else kept_bytes(place)
    if kept is not None:
        return kept.decode("ascii")
    packed = base64.b64encode(zlib.compress(library, _LEVEL))
    if place is not None:
        keep_bytes(place, packed)
    return packed.decode("ascii")


def _text(content: bytes) -> str:
    return content.decode("utf-8").replace("\r\n", "\n")


def _folder() -> Path:
    found = importlib.util.find_spec("bokeh")
    if found is None or found.origin is None:
        raise FmidentError(
            "Bokeh, whose JavaScript draws the report, is not installed",
            hint="pip install bokeh",
            code=Code.UNUSABLE_FILE,
        )
    return Path(found.origin).parent / "server" / "static" / "js"


def _source(digest: bytes) -> str:
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
