"""From the bytes of a file to its text."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from fmident.errors import Code, DataError, Location

NOT_CSV = "other formats than CSV need a plugin (hook fmident_read_data)"

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 4096
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def read_text(path: Path, encoding: str | None = None) -> tuple[str, str]:
    r"""Return the text of a file with ``\n`` between its lines, and the codec it was read with.

    Without a mark, UTF-8 is tried first; text in it is hardly ever anything else. UTF-16 shows in
    the zero bytes of every other place. What is left is taken for Windows-1252, unless it holds
    bytes that are control characters there.

    Parameters
    ----------
    path
        The file.
    encoding
        Name of a codec, where the user says it.

    Raises
    ------
    fmident.errors.DataError
        Not text, or not in this encoding, with the line.
    """
    content = path.read_bytes()
    codec = _codec(path, encoding) if encoding is not None else _found(content)
    try:
        text = content.decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{content[error.start]:02x} is not text in {codec.upper()}",
            location=Location(str(path), content.count(b"\n", 0, error.start) + 1),
            hint=f"save the file as CSV in UTF-8, or say what it is in with 'encoding'; {NOT_CSV}",
            code=Code.UNUSABLE_FILE,
        ) from error
    if "\0" in text:
        raise DataError(
            "the file is not text (it holds a zero byte)",
            location=Location(str(path), text.count("\n", 0, text.index("\0")) + 1),
            hint=NOT_CSV,
        )
    return text.replace("\r\n", "\n").replace("\r", "\n"), codec


def _found(content: bytes) -> str:
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), None)
    if marked is not None:
        return marked
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return _wide(content) or "utf-8"
    return _wide(content) or ("cp1252" if _is_cp1252(content) else "utf-8")


def _wide(content: bytes) -> str | None:
    """Return the form of UTF-16 without a mark that the zero bytes show, or ``None``."""
    head = content[: min(len(content), _LOOKED_AT) // 2 * 2]
    low, high = head[::2], head[1::2]
    for ascii_part, zeros, codec in ((low, high, "utf-16-le"), (high, low, "utf-16-be")):
        if head and zeros.count(0) > 0.6 * len(zeros) and not ascii_part.count(0):
            return codec
    return None


def _is_cp1252(content: bytes) -> bool:
    try:
        return _CONTROLS.search(content.decode("cp1252")) is None
    except UnicodeDecodeError:
        return False


def _codec(path: Path, name: str) -> str:
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise DataError(
            f"there is no encoding '{name}'",
            location=Location(str(path)),
            hint="such as 'utf-8', 'utf-16', 'cp1252' (Windows) or 'latin-1'",
            code=Code.UNKNOWN_NAME,
        )
    return found.name
