"""What lowering looks names up in, and what it gathers beside values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fmident.compilers.embedded.frontend.lowering.events import Events
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx


class Scope(Protocol):
    """Where names are looked up."""

    def value(self, name: str, span: sx.Span) -> Value:
        """Return the value of a variable; raise :class:`Refusal` when there is none."""

    def whole(self, name: str, span: sx.Span) -> Value:
        """Return a variable of which elements need not have a value yet."""

    def sizes(self, name: str, span: sx.Span) -> tuple[int, ...]:
        """Return the sizes of a variable, which need not have a value yet."""

    def derivative(self, reference: sx.Reference) -> Value:
        """Return the value of ``der(reference)``."""


@dataclass(frozen=True)
class AssertValue:
    """An assertion met during lowering: condition, and when it holds as a check at all."""

    condition: Scalar
    message: str
    warning: bool
    span: sx.Span


@dataclass
class LoweringState:
    """What lowering gathers beside values.

    Parameters
    ----------
    time_invariant
        Hashes of the CasADi symbols of parameters and constants.
    passes
        Of all loops so far.
    enumerators
        Literals of enumerations, with their places.
    """

    enumerators: Mapping[str, int] = field(default_factory=dict)
    time_invariant: frozenset[int] = frozenset()
    assertions: list[AssertValue] = field(default_factory=list)
    events: Events = field(default_factory=Events)
    passes: int = 0
