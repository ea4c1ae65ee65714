"""Names of elements for screen readers."""

from __future__ import annotations

from typing import TypeVar

from nicegui.element import Element

AnyElement = TypeVar("AnyElement", bound=Element)


def named(element: AnyElement, text: str) -> AnyElement:
    """Give an element a name; `text` may be of a file, so that it must not be parsed as props."""
    element.props["aria-label"] = text
    return element
