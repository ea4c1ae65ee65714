"""State of the lowering: scopes of names, assertions, and values held between events.

Between two events a relation keeps its value of the last one, so that the equations are
smooth. Its symbol stands for that value; its current value is stored separately.

Source: Modelica language specification 3.6, sections 3.7.5 (operators), 8.3.5
(when-equations) and 8.5 (events and synchronization).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.syntax import expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal

EVENT_OPERATORS: Mapping[str, int] = {
    "pre": 1,
    "edge": 1,
    "change": 1,
    "initial": 0,
    "terminal": 0,
    "sample": 2,
}
"""Name to the number of arguments."""

Invariant = Callable[[Scalar], bool]


@dataclass(frozen=True)
class Held:
    """A value that changes at events only, with the expression of its current value."""

    symbol: v.SX
    live: Scalar
    text: str


@dataclass(frozen=True)
class Sample:
    """``sample(start, interval)``: true at its own time events."""

    symbol: v.SX
    start: Scalar
    interval: Scalar


@dataclass(frozen=True)
class Discrete:
    """A scalar discrete variable and its value before the event."""

    name: str
    variable: sx.Variable
    position: int
    symbol: v.SX
    before: v.SX


@dataclass
class Events:
    """Values that a model holds between events: relations, discontinuous functions, samples.

    `before` are non-discrete variables whose ``pre`` is used, by name.
    """

    held: list[Held] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    discretes: dict[str, Discrete] = field(default_factory=dict)
    before: dict[str, sx.Span] = field(default_factory=dict)
    initial: v.SX = field(default_factory=lambda: ca.SX.sym("initial()"))
    terminal: v.SX = field(default_factory=lambda: ca.SX.sym("terminal()"))
    uses_phases: bool = False

    def __post_init__(self) -> None:
        self._by_symbol: dict[int, Discrete] = {}
        self._discrete_time = {s.element_hash() for s in (self.initial, self.terminal)}

    @property
    def any(self) -> bool:
        """Whether the model has events."""
        return bool(self.held or self.samples or self.discretes or self.uses_phases)

    def declare(self, name: str, variable: sx.Variable, position: int) -> v.SX:
        """Return the symbol of a new discrete variable."""
        one = Discrete(name, variable, position, ca.SX.sym(name), ca.SX.sym(f"pre({name})"))
        self.discretes[name] = one
        self._by_symbol[one.symbol.element_hash()] = one
        self._discrete_time |= {s.element_hash() for s in (one.symbol, one.before)}
        return one.symbol

    def hold(self, live: Scalar, text: str) -> v.SX:
        """Return the symbol of the value that `live` had at the last event."""
        for known in self.held:
            if known.text == text and ca.is_equal(known.live, live, 20):
                return known.symbol
        symbol = ca.SX.sym(text)
        self.held.append(Held(symbol, live, text))
        self._discrete_time.add(symbol.element_hash())
        return symbol

    def sample(self, start: Scalar, interval: Scalar) -> v.SX:
        """Return the symbol of ``sample(start, interval)``."""
        for known in self.samples:
            pairs = ((known.start, start), (known.interval, interval))
            if all(ca.is_equal(ca.SX(a), ca.SX(b), 20) for a, b in pairs):
                return known.symbol
        symbol = ca.SX.sym("sample()")
        self.samples.append(Sample(symbol, start, interval))
        self._discrete_time.add(symbol.element_hash())
        return symbol

    def of(self, value: Scalar) -> Discrete | None:
        """Return the discrete variable whose symbol is `value`."""
        if not v.is_symbolic(value) or not value.is_symbolic():
            return None
        return self._by_symbol.get(value.element_hash())

    def is_set_at_start(self, value: Scalar, is_time_invariant: Invariant) -> bool:
        """Return whether `value` depends on parameters set by initial equations."""
        return all(
            is_time_invariant(s)
            or ((one := self._by_symbol.get(key)) is not None and one.variable.free)
            for key, s in v.symbols(value).items()
        )

    def is_discrete_time(self, value: Scalar, time_invariant: frozenset[int]) -> bool:
        """Return whether `value` changes at events only."""
        return v.symbols(value).keys() <= self._discrete_time | time_invariant


def event_operator(
    node: sx.Call,
    arguments: Sequence[Value],
    in_model: Sequence[Value],
    events: Events,
    is_time_invariant: Invariant,
) -> Value:
    """Return the value of one of :data:`EVENT_OPERATORS`.

    `in_model` are the arguments as the model knows them, apart from what an algorithm assigns.
    """
    if node.name in ("initial", "terminal"):
        events.uses_phases = True
        return events.initial if node.name == "initial" else events.terminal
    if node.name == "sample":
        for argument in arguments:
            if isinstance(argument, bool | str) or not (
                is_time_invariant(argument) or events.is_set_at_start(argument, is_time_invariant)
            ):
                raise Refusal(
                    "unsupported-sample",
                    f"'{expression_text(node)}': start and interval must be parameters",
                    node.span,
                    "give numbers or parameters",
                )
        return events.sample(arguments[0], arguments[1])
    value = arguments[0]
    before = v.elementwise(lambda s: _before(s, node, events, is_time_invariant), in_model[0])
    match node.name:
        case "pre":
            return before
        case "edge":
            return v.pairwise(
                lambda a, b: v.logical_and(a, v.logical_not(b)), value, before, "'edge'"
            )
        case _:
            return v.pairwise(partial(v.compared, "<>"), value, before, "'change'")


def _before(value: Scalar, node: sx.Call, events: Events, is_time_invariant: Invariant) -> Scalar:
    if is_time_invariant(value):
        return value
    discrete = events.of(value)
    if discrete is not None:
        return discrete.before
    if (
        node.name == "pre"
        and value.is_symbolic()
        and not events.is_discrete_time(value, frozenset())
    ):
        # Of a state the value before the event is what it is until reinit acts; whether it is
        # one is known later.
        events.before[value.name()] = node.span
        return value
    raise Refusal(
        f"unsupported-{node.name}",
        f"'{expression_text(node)}': the argument is not a discrete variable",
        node.span,
        "give the argument a discrete variable of its own",
    )


class Scope(ABC):
    """Lookup of names."""

    @abstractmethod
    def value(self, name: str, span: sx.Span) -> Value:
        """Return the value of a variable; raise :class:`Refusal` if it has none."""

    @abstractmethod
    def derivative(self, reference: sx.Reference) -> Value:
        """Return the value of ``der(reference)``."""

    def of_model(self) -> Scope:
        """Return the scope in which names mean what they mean in the equations of the model."""
        return self

    def whole(self, name: str, span: sx.Span) -> Value:
        """Return a variable whose elements may be unassigned."""
        return self.value(name, span)

    def sizes(self, name: str, span: sx.Span) -> tuple[int, ...]:
        """Return the sizes of a variable, which may be unassigned."""
        return v.shape(self.value(name, span))


@dataclass(frozen=True)
class AssertValue:
    """An assertion found during lowering."""

    condition: Scalar
    message: str
    warning: bool


@dataclass
class LoweringState:
    """Assertions and events collected during lowering; `passes` counts loop iterations."""

    enumerators: Mapping[str, int] = field(default_factory=dict)
    time_invariant: frozenset[int] = frozenset()
    assertions: list[AssertValue] = field(default_factory=list)
    events: Events = field(default_factory=Events)
    passes: int = 0
