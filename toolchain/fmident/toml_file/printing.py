"""Values and keys as TOML writes them."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def quoted(key: str) -> str:
    """Return a key as it is written in TOML, in quotation marks where it needs them."""
    return key if _BARE.fullmatch(key) else _string(key)


def encoded(value: object) -> str:
    """Return a value as TOML writes it, on one line.

    Parameters
    ----------
    value
        What :func:`~fmident.toml_file.loads` returns, or anything else as its text.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(encoded, value)) + "]"
    if isinstance(value, Mapping):
        items = [f"{quoted(str(key))} = {encoded(item)}" for key, item in value.items()]
        return "{ " + ", ".join(items) + " }" if items else "{}"
    return _string(str(value))


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for the delete character and for pairs of surrogates.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
