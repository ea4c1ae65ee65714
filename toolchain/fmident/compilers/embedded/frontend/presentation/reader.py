"""What the annotations of a class say of it, from the source text: rumoca drops most of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from fmident.compilers.embedded.frontend.presentation.classes import (
    Libraries,
    Placed,
    extent,
    graphics,
    is_shown,
    numbers,
    part,
)
from fmident.compilers.embedded.frontend.presentation.images import read_image
from fmident.compilers.embedded.frontend.presentation.painter import Painter
from fmident.compilers.embedded.frontend.presentation.parser import Parser
from fmident.compilers.embedded.frontend.presentation.tree import Class
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText
from fmident.compilers.embedded.frontend.reading.source.sources import offset_location
from fmident.compilers.embedded.presentation import Connector, Picture, Presentation
from fmident.errors import Diagnostic

LARGEST_PICTURE = 20_000.0
"""Pixels of a side of an icon; one of the usual coordinate system has 200."""

MOST_SHAPES = 5000
"""Shapes of an icon."""

_UNREADABLE = (
    SyntaxError,
    LookupError,
    ValueError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    TypeError,
    RecursionError,
)
"""What reading an annotation that is not as it should be may raise."""

_IMAGE = re.compile(
    r"""\bsrc\s*=\s*(?:"\s*(modelica:[^"]*)"|'\s*(modelica:[^']*)'|(modelica:[^\s>"']+))""", re.I
)

_T = TypeVar("_T")


class SourceClasses(Libraries):
    """Classes as the front end finds them; each is read when it is asked for.

    Parameters
    ----------
    names
        The sources.
    """

    def __init__(self, names: Names) -> None:
        super().__init__(())
        self._names = names
        self._read: dict[str, Class] = {}

    def get(self, full_name: str) -> Class | None:
        """Return the class of a full name."""
        item = self._names.find(full_name)
        if item is None:
            return None
        if full_name not in self._read:
            self._read[full_name] = self._parsed(item)
        return self._read[full_name]

    def _parsed(self, item: ClassText) -> Class:
        text = next(t.classes.text(item.file) for t in self._names.trees if item.file in t.files)
        parent: Class | None = None
        *outer, name = item.name.split(".")
        for one in outer:
            parent = Class(one, "package", frozenset(), parent=parent)
        prefixes = frozenset(t.text for t in item.prefixes)
        found = Class(name, item.keyword, prefixes, parent=parent, file=item.file)
        return Parser(text, item.file, item.tokens).own(found)

    def find(self, name: str, scope: Class | None) -> Class | None:
        """Class of a name as seen from inside `scope`."""
        return self._resolved(name, scope, self._names.resolve)

    def find_base(self, name: str, it: Class) -> Class | None:
        """Class of an ``extends``: never looked up among what is inherited by it."""
        return self._resolved(name, it, self._names.resolve_base)

    def _resolved(
        self, name: str, scope: Class | None, resolve: Callable[[list[str], ClassText], str | None]
    ) -> Class | None:
        item = self._names.find(scope.full_name) if scope else None
        if item is None or name.startswith("."):
            return self.get(name.lstrip("."))
        full = resolve(name.split("."), item)
        return self.get(full) if full is not None and full != item.name else None


def read_presentation(class_name: str, names: Names) -> tuple[Presentation, tuple[Diagnostic, ...]]:
    """Return what a class says of itself, and remarks on what cannot be read of it.

    Parameters
    ----------
    class_name
        The class, which is in the sources.
    names
        The sources.
    """
    remarks: list[str] = []

    def tried(what: str, read: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return read()
        except _UNREADABLE as error:
            remarks.append(f"{what} of '{class_name}' cannot be read and is left out: {error}")
            return otherwise

    classes = SourceClasses(names)
    it = tried("an annotation", lambda: classes.get(class_name), None)
    if it is None:
        return Presentation(), _diagnostics(class_name, names, remarks)
    painter = Painter(classes, partial(read_image, names=names))
    lineage = tried("a base", lambda: list(classes.lineage(it)), [it])
    information, revisions, documented = tried(
        "the documentation", lambda: _documentation(lineage), ("", "", "")
    )
    found = Presentation(
        information,
        revisions,
        documented,
        dict(_images(information + revisions, names)),
        tried("the icon", lambda: _checked(painter.icon(it, connectors=False)), None),
        tried("the icon", lambda: _extent(classes, it), Presentation.extent),
        tried("a connector", lambda: tuple(_connectors(classes, painter, it)), ()),
    )
    return found, _diagnostics(class_name, names, remarks)


def _diagnostics(class_name: str, names: Names, remarks: list[str]) -> tuple[Diagnostic, ...]:
    item = names.find(class_name)
    place = offset_location(item.file, item.start) if item and remarks else None
    return tuple(Diagnostic("note", text, place, None, "annotation") for text in remarks)


def _documentation(lineage: list[Class]) -> tuple[str, str, str]:
    """Return information and revisions of the class or of its nearest base that has any."""
    for owner in reversed(lineage):
        texts = [part(owner.annotation, "Documentation", key) for key in ("info", "revisions")]
        information, revisions = (t if isinstance(t, str) else "" for t in texts)
        if information.strip() or revisions.strip():
            return information, revisions, owner.full_name
    return "", "", ""


def _images(text: str, names: Names) -> Iterator[tuple[str, tuple[str, bytes]]]:
    for match in _IMAGE.finditer(text):
        address = (match[1] or match[2] or match[3]).strip()
        found = read_image(address, names)
        if found is not None:
            yield address, found


def _checked(picture: Picture | None) -> Picture | None:
    if picture is None:
        return None
    sides = (picture.width, picture.height)
    if not all(math.isfinite(s) and s <= LARGEST_PICTURE for s in sides):
        raise ValueError(f"it is larger than {LARGEST_PICTURE:g}")
    if len(picture.shapes) > MOST_SHAPES:
        raise ValueError(f"it has more than {MOST_SHAPES} shapes")
    return picture


def _extent(classes: Libraries, it: Class) -> tuple[float, float, float, float]:
    x1, y1, x2, y2 = extent(classes, it, "Icon")
    if not (math.isfinite(x1 + y1 + x2 + y2) and x1 < x2 and y1 < y2):
        raise ValueError("its coordinate system has no extent")
    return x1, y1, x2, y2


def _connectors(classes: Libraries, painter: Painter, it: Class) -> Iterator[Connector]:
    values = classes.values(it)
    for placed in classes.components(it):
        component, kind = placed.component, placed.kind
        if kind is None or not component.public or not classes.is_connector(kind):
            continue
        if is_shown(component, values):
            yield Connector(
                component.name,
                kind.full_name,
                component.description or kind.description,
                _checked(painter.connector(it, placed)),
                _color(classes, placed),
            )


def _color(classes: Libraries, placed: Placed) -> tuple[int, int, int] | None:
    """Return the colour of the first line of a connector's icon, which connections have."""
    assert placed.kind is not None
    for owner in classes.lineage(placed.kind):
        for item in graphics(owner, "Icon"):
            given = part(item, "color" if item.name == "Line" else "lineColor")
            found = numbers(given) if given is not None else ()
            if len(found) == 3 and all(0 <= v <= 255 for v in found):
                return round(found[0]), round(found[1]), round(found[2])
    return None
