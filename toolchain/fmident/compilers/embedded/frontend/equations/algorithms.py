"""Algorithm sections of models, executed symbolically to give a value to each variable.

At the start of a section, discrete variables have their values before the event, and
others their attribute ``start`` (Modelica language specification 3.6, section 11.1.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fmident.compilers.embedded.frontend.equations.discrete import DiscreteSolution, acts_of
from fmident.compilers.embedded.frontend.equations.system import ModelScope, ScalarEquation
from fmident.compilers.embedded.frontend.initial import start_value
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Events
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.functions import (
    Body,
    Frame,
    FunctionInliner,
    copied,
    merged,
)
from fmident.compilers.embedded.frontend.lowering.scope import LoweringState
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_BEFORE = "pre "
"""Marks, in front of its name, the value of a variable before the event."""


def assigned_in_algorithms(flat: sx.FlatModel) -> frozenset[str]:
    """Return the variables assigned by a ``when`` in an algorithm section."""
    bodies = [
        body
        for statements in flat.algorithms
        for when in _whens(statements)
        for _, body in when.branches
    ]
    return frozenset(name for body in bodies for name in _names(body, flat))


def _whens(statements: Sequence[sx.Statement]) -> Iterator[sx.WhenStatement]:
    for statement in statements:
        if isinstance(statement, sx.WhenStatement):
            yield statement
        else:
            for block in _blocks(statement):
                yield from _whens(block)


def _blocks(statement: sx.Statement) -> Iterator[tuple[sx.Statement, ...]]:
    match statement:
        case sx.IfStatement(branches=branches, otherwise=otherwise):
            yield from (body for _, body in branches)
            yield otherwise
        case sx.WhenStatement(branches=branches):
            yield from (body for _, body in branches)
        case sx.ForStatement(body=body) | sx.WhileStatement(body=body):
            yield body
        case _:
            return


def _targets(statements: Sequence[sx.Statement]) -> Iterator[sx.Target]:
    for statement in statements:
        match statement:
            case sx.Assignment(target=target):
                yield target
            case sx.CallStatement(targets=targets):
                yield from (t for t in targets if t is not None)
            case _:
                for block in _blocks(statement):
                    yield from _targets(block)


@dataclass
class _Scope(Frame):
    """Variables assigned by the section, with those of the model as outer scope."""

    model: ModelScope | None = None
    events: Events | None = None

    def value(self, name: str, span: sx.Span) -> Value:
        """Return the value of a name at this point of the section."""
        assert self.model is not None
        if name.startswith(_BEFORE):
            value = self.model.value(name[len(_BEFORE) :], span)
            return v.elementwise(lambda s: self._before(s, name, span), value)
        if name in self.variables:
            return self.variables[name]
        return self.model.value(name, span)

    def whole(self, name: str, span: sx.Span) -> Value:
        """Return the same as `value`."""
        return self.value(name, span)

    def sizes(self, name: str, span: sx.Span) -> tuple[int, ...]:
        """Return the sizes of a variable."""
        return v.shape(self.value(name, span))

    def derivative(self, reference: sx.Reference) -> Value:
        """Return the derivative of a variable of the model."""
        assert self.model is not None
        return self.model.derivative(reference)

    def _before(self, scalar: Scalar, name: str, span: sx.Span) -> Scalar:
        assert self.events is not None
        one = self.events.of(scalar)
        if one is None:
            raise Refusal(
                "unsupported-pre",
                f"'{name[len(_BEFORE) :]}', whose value before the event is taken, is not discrete",
                span,
                "assign it inside 'when' only",
            )
        return one.before


class _Section(Body):
    """Runs the statements of one section, with `frame` for the assigned variables."""

    def __init__(
        self, frame: _Scope, lowering: Lowering, events: Events, result: DiscreteSolution
    ) -> None:
        super().__init__(frame, lowering)
        self._events = events
        self._result = result
        self._in_when = False

    def statement(self, statement: sx.Statement) -> None:
        """Run one statement."""
        match statement:
            case sx.WhenStatement(branches=branches) if not self._in_when:
                self._when(list(branches), False, statement.span)
            case sx.AssertStatement() if self._in_when:
                raise Refusal("unsupported-when", "an assert inside 'when'", statement.span)
            case _:
                super().statement(statement)

    def _when(
        self,
        branches: list[tuple[sx.Expression, tuple[sx.Statement, ...]]],
        earlier: Scalar,
        span: sx.Span,
    ) -> None:
        if not branches:
            return
        condition, body = branches[0]
        acts = acts_of(condition, span, self.lowering, self._events, self._result)
        before = copied(self.frame.variables)
        checks = len(self.lowering.state.assertions)
        self._in_when = True
        with self.lowering.without_events():
            self.block(body)
        self._in_when = False
        if not all(
            self.lowering.is_time_invariant(a.condition)
            for a in self.lowering.state.assertions[checks:]
        ):
            raise Refusal("unsupported-when", "a function with an assert inside 'when'", span)
        yes = self.frame.variables
        self.frame.variables = before
        self._when(branches[1:], v.logical_or(earlier, acts), span)
        chosen = v.logical_and(acts, v.logical_not(earlier))
        if chosen is False:
            return
        no = self.frame.variables
        self.frame.variables = {n: merged(chosen, x, no[n]) for n, x in yes.items()}

    def assign(self, target: sx.Target, value: Value) -> None:
        """Assign a value to a variable of the model."""
        *outer, (last, subscripts) = target.parts
        name = ".".join([*(self._indexed(part, subs) for part, subs in outer), last])
        if name not in self.frame.variables:
            raise Refusal("unsupported-algorithm", f"an assignment to '{target}'", target.span)
        one = sx.Target(((name, subscripts),), target.span)
        if not self._in_when:
            self._expect_discrete(name, value, target.span)
        super().assign(one, value)

    def _expect_discrete(self, name: str, value: Value, span: sx.Span) -> None:
        """Refuse a discrete variable that would vary between events."""
        assert isinstance(self.frame, _Scope)
        assert self.frame.model is not None
        if all(self._events.of(s) is None for s in v.flat(self.frame.model.value(name, span))):
            return
        known = self.lowering.state.time_invariant
        for scalar in (*v.flat(value), self.lowering.guard):
            if not self._events.is_discrete_time(scalar, known):
                raise Refusal(
                    "unsupported-algorithm",
                    f"'{name}' changes at events only, and gets a value that varies between them",
                    span,
                    "assign it inside 'when' only, or without noEvent",
                )

    def _indexed(self, part: str, subscripts: Sequence[sx.Expression | None]) -> str:
        if not subscripts:
            return part
        numbers = [self.lowering.integer(s, "a subscript") for s in subscripts if s is not None]
        if len(numbers) != len(subscripts):
            raise Refusal("unsupported-algorithm", f"an assignment to several '{part}'")
        return f"{part}[{','.join(map(str, numbers))}]"


def lower_algorithms(
    flat: sx.FlatModel,
    scope: ModelScope,
    inliner: FunctionInliner,
    state: LoweringState,
    result: DiscreteSolution,
) -> list[ScalarEquation]:
    """Run all algorithm sections; return the equations of non-discrete variables."""
    equations: list[ScalarEquation] = []
    for statements in flat.algorithms:
        span = next((s.span for s in statements if s.span != sx.NOWHERE), sx.NOWHERE)
        try:
            equations += _run(statements, span, flat, scope, inliner, state, result)
        except Refusal as refusal:
            raise refusal.at(span) from None
    return equations


def _run(
    statements: Sequence[sx.Statement],
    span: sx.Span,
    flat: sx.FlatModel,
    scope: ModelScope,
    inliner: FunctionInliner,
    state: LoweringState,
    result: DiscreteSolution,
) -> list[ScalarEquation]:
    frame = _Scope("algorithm", model=scope, events=state.events)
    lowering = Lowering(frame, inliner, state)
    outside = Lowering(scope, inliner, state, no_event=True)
    own: dict[str, list[Scalar]] = {}
    for name in _names(statements, flat):
        symbols = scope.value(name, span)
        own[name] = v.flat(symbols)
        first = [
            _first(s, k, flat.variables[name], outside, state.events)
            for k, s in enumerate(own[name])
        ]
        frame.variables[name] = _like(symbols, first)
    _Section(frame, lowering, state.events, result).run([_marked(s) for s in statements])
    equations: list[ScalarEquation] = []
    for name, symbols in own.items():
        for symbol, value in zip(symbols, v.flat(frame.variables[name]), strict=True):
            one = state.events.of(symbol)
            if one is None:
                text = f"the value of '{symbol.name()}' in an algorithm section"
                equations.append(ScalarEquation(symbol, value, text, span))
                continue
            if one.name in result.formulas:
                raise Refusal(
                    "discrete-variable",
                    f"two algorithm sections give '{one.name}' a value",
                    span,
                    "use one section",
                )
            result.formulas[one.name] = value
            result.assigned.add(one.name)
    return equations


def _first(
    symbol: Scalar, position: int, variable: sx.Variable, lowering: Lowering, events: Events
) -> Scalar:
    one = events.of(symbol)
    return start_value(variable, position, lowering) if one is None else one.before


def _like(shape: Value, scalars: list[Scalar]) -> Value:
    if not isinstance(shape, np.ndarray):
        return scalars[0]
    result = np.empty(shape.shape, dtype=object)
    for index, scalar in zip(np.ndindex(*shape.shape), scalars, strict=True):
        result[index] = scalar
    return result


def _names(statements: Sequence[sx.Statement], flat: sx.FlatModel) -> list[str]:
    """Return the variables that a section may assign."""
    variables: dict[str, None] = {}
    for target in _targets(statements):
        parts = [part for part, _ in target.parts]
        if not any(subs for _, subs in target.parts[:-1]):
            names = [n for n in [".".join(parts)] if n in flat.variables]
        else:
            names = [n for n in flat.variables if _without_indices(n) == ".".join(parts)]
        if not names:
            raise Refusal("unsupported-algorithm", f"an assignment to '{target}'", target.span)
        for name in names:
            if flat.variables[name].variability in ("parameter", "constant"):
                raise Refusal(
                    "variability", f"an assignment to the parameter '{name}'", target.span, ""
                )
            variables[name] = None
    return list(variables)


def _without_indices(name: str) -> str:
    return ".".join(part.split("[", 1)[0] for part in name.split("."))


def _marked(statement: sx.Statement) -> sx.Statement:
    """Return a statement in which ``pre``, ``edge`` and ``change`` refer to the value before."""

    def of(node: sx.Expression) -> sx.Expression:
        match node:
            case sx.Call(name="pre", builtin=True, arguments=(sx.Reference() as inner,)):
                return sx.Reference(_BEFORE + inner.name, inner.subscripts, inner.span)
            case sx.Call(name="edge", builtin=True, arguments=(sx.Reference() as inner,)):
                before = sx.Reference(_BEFORE + inner.name, inner.subscripts, inner.span)
                risen = sx.Unary("not", before, node.span)
                return sx.Binary("and", inner, risen, node.span)
            case sx.Call(name="change", builtin=True, arguments=(sx.Reference() as inner,)):
                before = sx.Reference(_BEFORE + inner.name, inner.subscripts, inner.span)
                return sx.Binary("<>", inner, before, node.span)
            case _:
                return sx.rebuilt(node, of)

    return _changed(statement, of, _marked)


def _changed(
    statement: sx.Statement,
    change: Callable[[sx.Expression], sx.Expression],
    again: Callable[[sx.Statement], sx.Statement],
) -> sx.Statement:
    """Return a statement with `change` applied to expressions, `again` to inner statements."""

    def branches(
        pairs: tuple[tuple[sx.Expression, tuple[sx.Statement, ...]], ...],
    ) -> tuple[tuple[sx.Expression, tuple[sx.Statement, ...]], ...]:
        return tuple((change(c), tuple(map(again, body))) for c, body in pairs)

    match statement:
        case sx.Assignment():
            return replace(statement, value=change(statement.value))
        case sx.CallStatement(call=call):
            arguments = tuple(map(change, call.arguments))
            return replace(statement, call=replace(call, arguments=arguments))
        case sx.IfStatement(otherwise=otherwise):
            rest = tuple(map(again, otherwise))
            return replace(statement, branches=branches(statement.branches), otherwise=rest)
        case sx.ForStatement(indices=indices, body=body):
            domains = tuple((n, change(d)) for n, d in indices)
            return replace(statement, indices=domains, body=tuple(map(again, body)))
        case sx.WhileStatement(condition=condition, body=body):
            return replace(statement, condition=change(condition), body=tuple(map(again, body)))
        case sx.WhenStatement():
            return replace(statement, branches=branches(statement.branches))
        case sx.AssertStatement(condition=condition):
            return replace(statement, condition=change(condition))
        case sx.OtherStatement():
            return statement
