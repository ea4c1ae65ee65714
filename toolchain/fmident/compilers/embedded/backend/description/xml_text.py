"""Writing XML elements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tag(name: str, attributes: Mapping[str, str | None], *, close: bool = True) -> str:
    """Return an element without content, or its opening tag.

    Parameters
    ----------
    name
        Of the element.
    attributes
        Those that are ``None`` are left out; characters that XML cannot hold are dropped.
    close
        ``False`` for an opening tag.
    """
    parts = [
        f" {key}={quoteattr(_NOT_XML.sub('', value))}"
        for key, value in attributes.items()
        if value is not None
    ]
    return f"<{name}{''.join(parts)}{'/>' if close else '>'}"


def number(value: float | None) -> str | None:
    """Return a number so that it reads back to the same bits."""
    return None if value is None else repr(float(value))


def content(text: str) -> str:
    """Return text for the inside of an element; characters that XML cannot hold are dropped."""
    return escape(_NOT_XML.sub("", text))
