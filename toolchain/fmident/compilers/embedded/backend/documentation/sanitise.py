"""HTML of a class's documentation without anything that runs or loads, and well-formed as XML."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import PurePosixPath

from fmident.compilers.embedded.backend.description.xml_text import content, tag

MOST_NESTED = 100
"""Elements inside each other; the tags of further ones are left out."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _words("br col hr img wbr")
_BLOCKS = _words("blockquote center div dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table ul")
_INLINE = _words(
    "a abbr b big caption cite code colgroup dd del dfn dt em figcaption font i ins kbd li q s "
    "samp small span strike strong sub sup tbody td tfoot th thead tr tt u var"
)
_ALLOWED = _VOID | _BLOCKS | _INLINE
_DROPPED = _words(
    "applet audio canvas embed frame frameset iframe math noembed noframes noscript object "
    "script select style svg template textarea title video xmp"
)
"""Elements that are left out with all that is in them."""

_ATTRIBUTES = _words(
    "align alt bgcolor border cellpadding cellspacing color colspan dir height id lang name "
    "rowspan scope size span start summary title type valign width"
)
_CLOSES: Mapping[str, frozenset[str]] = {
    "li": frozenset({"li", "p"}),
    "dt": frozenset({"dt", "dd", "p"}),
    "dd": frozenset({"dt", "dd", "p"}),
    "td": frozenset({"td", "th", "p"}),
    "th": frozenset({"td", "th", "p"}),
    "tr": frozenset({"tr", "td", "th", "p"}),
    **dict.fromkeys(("tbody", "thead", "tfoot"), frozenset({"tr", "td", "th", "p"})),
    **dict.fromkeys(_BLOCKS, frozenset({"p"})),
}
"""Open elements that end where another begins."""

_LINKS = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
_DATA = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+\Z")
_STYLE = re.compile(r"[\w\s:;.,%#+-]*\Z")  # no brackets, so neither url() nor expression()


def data_address(kind: str, data: bytes) -> str:
    """Return an address that contains what it stands for."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def sanitised(text: str, images: Mapping[str, tuple[str, bytes]]) -> str:
    """Return the documentation of a class for the inside of a page.

    Parameters
    ----------
    text
        HTML in ``<html>``, else plain text.
    images
        Type and content of the pictures that are at hand, by address. In place of others is text.

    Notes
    -----
    Elements and attributes are kept that are known to be harmless: no scripts, forms, frames or
    styles that load. Links lead to web pages, mail or inside the page; others are plain text.
    """
    if not re.match(r"\s*<html", text, re.IGNORECASE):
        return f"<pre>{content(text.strip())}</pre>" if text.strip() else ""
    cleaner = _Cleaner(images)
    cleaner.feed(text)
    cleaner.close()
    return cleaner.result()


class _Cleaner(HTMLParser):
    def __init__(self, images: Mapping[str, tuple[str, bytes]]) -> None:
        super().__init__(convert_charrefs=True)
        self._images = images
        self._parts: list[str] = []
        self._open: list[str] = []
        self._dropped: list[str] = []

    def result(self) -> str:
        """Return what was read, with all elements closed."""
        self._close(len(self._open))
        return "".join(self._parts).strip()

    def _close(self, count: int) -> None:
        for _ in range(count):
            self._parts.append(f"</{self._open.pop()}>")

    def handle_starttag(self, name: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        """Write an opening tag that is allowed."""
        if self._dropped or name in _DROPPED:
            self._dropped.append(name)
            return
        if name not in _ALLOWED or len(self._open) >= MOST_NESTED:
            return
        while self._open and self._open[-1] in _CLOSES.get(name, ()):
            self._close(1)
        given = {key: value or "" for key, value in reversed(attributes)}
        kept = {key: value for key, value in given.items() if key in _ATTRIBUTES}
        if _STYLE.match(given.get("style", "")) and given.get("style"):
            kept["style"] = given["style"]
        if name == "img":
            self._parts.append(self._image(given.get("src", "").strip(), kept))
            return
        link = given.get("href", "").strip()
        if name == "a" and _LINKS.match(link):
            kept["href"] = link
            kept["rel"] = "noopener noreferrer"
        ordered = {key: kept[key] for key in sorted(kept)}
        self._parts.append(tag(name, ordered, close=name in _VOID))
        if name not in _VOID:
            self._open.append(name)

    def handle_startendtag(self, name: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        """Write an element without content; ``<div/>`` begins one in HTML."""
        if name in _DROPPED:
            return
        self.handle_starttag(name, attributes)

    def handle_endtag(self, name: str) -> None:
        """Close an element, and what is open inside it."""
        if self._dropped:
            if name in self._dropped:
                while self._dropped.pop() != name:
                    pass
        elif name in self._open:
            self._close(self._open[::-1].index(name) + 1)

    def handle_data(self, data: str) -> None:
        """Write text."""
        if not self._dropped:
            self._parts.append(content(data))

    def _image(self, address: str, kept: dict[str, str]) -> str:
        found = self._images.get(address)
        if found is not None:
            source = data_address(*found)
        elif _DATA.match(address):
            source = address
        else:
            shown = kept.get("alt") or PurePosixPath(address).name
            return f"<i>[{content(shown)}]</i>" if shown else ""
        ordered = {"alt": "", **{key: kept[key] for key in sorted(kept)}, "src": source}
        return tag("img", ordered)
