"""Algorithm sections of models, executed symbolically to give a value to each variable.

At the start of a section, discrete variables have their values before the event, and
others their attribute ``start`` (Modelica language specification 3.6, section 11.1.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fmident.compilers.embedded.frontend.equations.discrete import DiscreteSolution, acts_of
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation
from fmident.compilers.embedded.frontend.initial import start_value
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Events, Scope
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.user_functions import (
    Body,
    Frame,
    copied,
    merged,
)
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.parameters import shaped
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal, refusing_at

_BEFORE = "pre "
"""Marks, in front of its name, the value of a variable before the event."""


def assigned_in_algorithms(flat: sx.FlatModel) -> frozenset[str]:
    """Return the variables assigned by a ``when`` in an algorithm section."""
    whens = (n for s in flat.algorithms for n in _all(s) if isinstance(n, sx.WhenStatement))
    return frozenset(name for when in whens for name in _names([when], flat))


def _all(statements: Sequence[sx.Statement]) -> Iterator[sx.Node]:
    return (node for statement in statements for node in sx.walk(statement))


@dataclass
class _Scope(Frame):
    """Variables assigned by the section, with those of the model as outer scope."""

    model: Scope = field(kw_only=True)
    events: Events = field(kw_only=True)

    def value(self, name: str, span: sx.Span) -> Value:
        """Return the value of a name at this point of the section."""
        if name.startswith(_BEFORE):
            value = self.model.value(name[len(_BEFORE) :], span)
            return v.elementwise(lambda s: self._before(s, name, span), value)
        if name in self.variables:
            return self.variables[name]
        return self.model.value(name, span)

    whole = Scope.whole
    sizes = Scope.sizes

    def derivative(self, reference: sx.Reference) -> Value:
        """Return the derivative of a variable of the model."""
        return self.model.derivative(reference)

    def _before(self, scalar: Scalar, name: str, span: sx.Span) -> Scalar:
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
    """Runs the statements of one section, with `scope` for the assigned variables."""

    def __init__(self, scope: _Scope, lowering: Lowering, result: DiscreteSolution) -> None:
        super().__init__(scope, lowering)
        self._scope = scope
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
        acts = acts_of(condition, span, self.lowering, self._result)
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
        events = self._scope.events
        if all(events.of(s) is None for s in v.flat(self._scope.model.value(name, span))):
            return
        known = self.lowering.state.time_invariant
        for scalar in (*v.flat(value), self.lowering.guard):
            if not events.is_discrete_time(scalar, known):
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
    flat: sx.FlatModel, model: Lowering, result: DiscreteSolution
) -> list[ScalarEquation]:
    """Run all algorithm sections; return the equations of non-discrete variables."""
    equations: list[ScalarEquation] = []
    for statements in flat.algorithms:
        span = next((s.span for s in statements if s.span != sx.NOWHERE), sx.NOWHERE)
        with refusing_at(span):
            equations += _run(statements, span, flat, model, result)
    return equations


def _run(
    statements: Sequence[sx.Statement],
    span: sx.Span,
    flat: sx.FlatModel,
    model: Lowering,
    result: DiscreteSolution,
) -> list[ScalarEquation]:
    events = model.state.events
    scope = _Scope("algorithm", model=model.scope, events=events)
    lowering = Lowering(scope, model.call_function, model.state)
    own: dict[str, list[Scalar]] = {}
    for name in _names(statements, flat):
        symbols = model.scope.value(name, span)
        own[name] = v.flat(symbols)
        with model.without_events():
            first = [
                start_value(flat.variables[name], k, model) if one is None else one.before
                for k, one in enumerate(map(events.of, own[name]))
            ]
        scope.variables[name] = shaped(first, v.shape(symbols))
    _Section(scope, lowering, result).run([_marked(s) for s in statements])
    equations: list[ScalarEquation] = []
    for name, symbols in own.items():
        for symbol, value in zip(symbols, v.flat(scope.variables[name]), strict=True):
            one = events.of(symbol)
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


def _names(statements: Sequence[sx.Statement], flat: sx.FlatModel) -> list[str]:
    """Return the variables that a section may assign."""
    variables: dict[str, None] = {}
    for target in (n for n in _all(statements) if isinstance(n, sx.Target)):
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


def _marked(node: Any) -> Any:
    """Return a statement in which ``pre``, ``edge`` and ``change`` refer to the value before."""
    match node:
        case sx.Call(
            name="pre" | "edge" | "change" as name,
            builtin=True,
            arguments=(sx.Reference() as inner,),
        ):
            before = sx.Reference(_BEFORE + inner.name, inner.subscripts, inner.span)
            if name == "pre":
                return before
            if name == "change":
                return sx.Binary("<>", inner, before, node.span)
            return sx.Binary("and", inner, sx.Unary("not", before, node.span), node.span)
        case _:
            return sx.rebuilt(node, _marked)
