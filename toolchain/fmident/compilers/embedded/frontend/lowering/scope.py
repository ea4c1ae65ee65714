"""Interfaces of name lookup, and what lowering collects besides values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fmident.compilers.embedded.frontend.lowering.events import Events
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx


class Scope(Protocol):
    """Lookup of names."""

    def value(self, name: str, span: sx.Span) -> Value:
        """Return the value of a variable; raise :class:`Refusal` if it has none."""

    def whole(self, name: str, span: sx.Span) -> Value:
        """Return a variable whose elements may be unassigned."""

    def sizes(self, name: str, span: sx.Span) -> tuple[int, ...]:
        """Return the sizes of a variable, which may be unassigned."""

    def derivative(self, reference: sx.Reference) -> Value:
        """Return the value of ``der(reference)``."""


@dataclass(frozen=True)
class AssertValue:
    """An assertion found during lowering."""

    condition: Scalar
    message: str
    warning: bool
    span: sx.Span


@dataclass
class LoweringState:
    """What lowering collects besides values; `passes` counts loop iterations."""

    enumerators: Mapping[str, int] = field(default_factory=dict)
    time_invariant: frozenset[int] = frozenset()
    assertions: list[AssertValue] = field(default_factory=list)
    events: Events = field(default_factory=Events)
    passes: int = 0
