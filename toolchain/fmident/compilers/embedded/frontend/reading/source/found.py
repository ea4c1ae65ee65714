"""A construct in the source that the subset does not contain."""

from __future__ import annotations

from dataclasses import dataclass

from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token


@dataclass(frozen=True)
class Found:
    """A construct outside the subset: its rule, its name, and where it is."""

    rule: str
    what: str
    item: ClassText
    token: Token
