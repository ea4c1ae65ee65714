"""Algorithm sections and when-equations, executed symbolically to give a value to each variable.

At the start of a section, discrete variables have their values before the event, and
others their attribute ``start`` (Modelica language specification 3.6, section 11.1.2). In a
when-equation, unlike in a statement, a variable stands for its value after the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

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

_REINIT = "reinit "
"""Marks, in front of its name, the value of a state after the event."""

Kind = Literal["algorithm", "initial algorithm", "when-equation"]


def assigned_at_events(flat: sx.FlatModel) -> frozenset[str]:
    """Return the variables that when-equations and ``when`` in algorithm sections assign."""
    inside = (n for s in flat.algorithms for n in _all(s) if isinstance(n, sx.WhenStatement))
    return frozenset(name for when in (*flat.whens, *inside) for name in _names([when], flat))


def _all(statements: Sequence[sx.Statement]) -> Iterator[sx.Node]:
    return (node for statement in statements for node in sx.walk(statement))


def _reinits(statements: Sequence[sx.Statement]) -> list[sx.Assignment]:
    return [n for n in _all(statements) if isinstance(n, sx.Assignment) and n.reinit]


@dataclass
class _Scope(Frame):
    """Variables assigned by the section, with those of the model as outer scope."""

    model: Scope = field(kw_only=True)
    events: Events = field(kw_only=True)
    kind: Kind = field(kw_only=True)

    def value(self, name: str, span: sx.Span) -> Value:
        if name in self.variables and self.kind != "when-equation":
            return self.variables[name]
        return self.model.value(name, span)

    whole = Scope.whole
    sizes = Scope.sizes

    def derivative(self, reference: sx.Reference) -> Value:
        return self.model.derivative(reference)

    def of_model(self) -> Scope:
        return self.model


class _Section(Body):
    """Runs the statements of one section, with `scope` for the assigned variables."""

    def __init__(self, scope: _Scope, lowering: Lowering, result: DiscreteSolution) -> None:
        super().__init__(scope, lowering)
        self._scope = scope
        self._result = result
        self._condition: sx.Expression | None = None
        """Condition of the ``when`` that is run."""

    def statement(self, statement: sx.Statement) -> None:
        outside = self._condition is None and self._scope.kind != "initial algorithm"
        match statement:
            case sx.WhenStatement(branches=branches) if outside:
                self._when(list(branches), False, statement.span)
            case sx.AssertStatement() if self._condition is not None:
                self._check_at_start(statement)
            case sx.Assignment(target=target, value=value, reinit=True):
                after = sx.Target(((f"{_REINIT}{target}", ()),), target.span)
                super().assign(after, self.lowering.evaluate(value))
            case _:
                super().statement(statement)

    def _check_at_start(self, statement: sx.AssertStatement) -> None:
        """Record an assert inside ``when initial()``."""
        if not _is_initial(self._condition):
            raise Refusal(
                "unsupported-when",
                "an assert inside a 'when' whose condition is not initial()",
                statement.span,
                "write it outside 'when', with the condition in it",
            )
        guard = v.logical_and(self.lowering.guard, self._scope.events.initial)
        with self.lowering.having(guard=guard):
            self.lowering.assertion(statement)

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
        with self.lowering.without_events():
            self._condition = condition
            self.block(body)
            self._condition = None
        if self._scope.kind == "algorithm" and not _is_initial(condition):
            what = "a function with an assert inside 'when'"
            _expect_invariant(self.lowering, checks, "unsupported-when", what, span)
        yes = self.frame.variables
        self.frame.variables = before
        self._when(branches[1:], v.logical_or(earlier, acts), span)
        chosen = v.logical_and(acts, v.logical_not(earlier))
        if chosen is False:
            return
        no = self.frame.variables
        self.frame.variables = {n: merged(chosen, x, no[n]) for n, x in yes.items()}

    def assign(self, target: sx.Target, value: Value) -> None:
        *outer, (last, subscripts) = target.parts
        name = ".".join([*(self._indexed(part, subs) for part, subs in outer), last])
        if name not in self.frame.variables:
            raise Refusal("unsupported-algorithm", f"an assignment to '{target}'", target.span)
        one = sx.Target(((name, subscripts),), target.span)
        if self._condition is None and self._scope.kind == "algorithm":
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


def _is_initial(condition: sx.Expression | None) -> bool:
    return isinstance(condition, sx.Call) and condition.builtin and condition.name == "initial"


def _expect_invariant(lowering: Lowering, first: int, rule: str, what: str, span: sx.Span) -> None:
    """Refuse assertions from the `first` on that depend on more than parameters."""
    checks = lowering.state.assertions[first:]
    if not all(lowering.is_time_invariant(check.condition) for check in checks):
        raise Refusal(rule, what, span)


def lower_algorithms(
    flat: sx.FlatModel, model: Lowering, result: DiscreteSolution
) -> list[ScalarEquation]:
    """Run algorithm sections and when-equations; return the equations of non-discrete variables."""
    equations: list[ScalarEquation] = []
    for statements in flat.algorithms:
        equations += _between_events(statements, "algorithm", flat, model, result)
    for when in flat.whens:
        equations += _between_events([when], "when-equation", flat, model, result)
    return equations


def lower_initial_algorithms(flat: sx.FlatModel, model: Lowering) -> list[ScalarEquation]:
    """Run the initial algorithms; return their initial equations."""
    equations: list[ScalarEquation] = []
    for statements in flat.initial_algorithms:
        checks = len(model.state.assertions)
        run = _run(statements, "initial algorithm", flat, model, DiscreteSolution())
        what = "an initial algorithm section that checks what varies with time"
        _expect_invariant(model, checks, "unsupported-algorithm", what, _place(statements))
        equations += run
    return equations


def _place(statements: Sequence[sx.Statement]) -> sx.Span:
    return next((s.span for s in statements if s.span != sx.NOWHERE), sx.NOWHERE)


def _between_events(
    statements: Sequence[sx.Statement],
    kind: Kind,
    flat: sx.FlatModel,
    model: Lowering,
    result: DiscreteSolution,
) -> list[ScalarEquation]:
    """Add the values of discrete variables to `result`; return the other equations."""
    equations: list[ScalarEquation] = []
    for equation in _run(statements, kind, flat, model, result):
        one = model.state.events.of(equation.left)
        if one is None:
            equations.append(equation)
            continue
        if one.name in result.formulas:
            raise Refusal(
                "discrete-variable",
                f"two when-equations or algorithm sections give '{one.name}' a value",
                equation.span,
                "use one, with elsewhen",
            )
        result.formulas[one.name] = equation.right
        result.assigned.add(one.name)
    return equations


def _run(
    statements: Sequence[sx.Statement],
    kind: Kind,
    flat: sx.FlatModel,
    model: Lowering,
    result: DiscreteSolution,
) -> list[ScalarEquation]:
    """Return the equation of each assigned variable; add what is reinitialised to `result`."""
    span = _place(statements)
    with refusing_at(span):
        events = model.state.events
        scope = _Scope("algorithm", model=model.scope, events=events, kind=kind)
        initial = kind == "initial algorithm"
        lowering = Lowering(scope, model.call_function, model.state, no_event=initial)
        own = {name: model.scope.value(name, span) for name in _names(statements, flat)}
        for name, value in own.items():
            with model.without_events():
                first = [
                    start_value(flat.variables[name], k, model) if one is None else one.before
                    for k, one in enumerate(map(events.of, v.flat(value)))
                ]
            scope.variables[name] = shaped(first, v.shape(value))
        states = {str(r.target): r.span for r in _reinits(statements)}
        for name, place in states.items():
            scope.variables[_REINIT + name] = model.scope.value(name, place)
        _Section(scope, lowering, result).run(statements)
        for name, place in states.items():
            before = v.flat(model.scope.value(name, place))
            after = v.flat(scope.variables[_REINIT + name])
            for symbol, value in zip(before, after, strict=True):
                if symbol.name() in result.reinits:
                    raise Refusal(
                        "reinit",
                        f"two when-equations reinitialise '{symbol.name()}'",
                        place,
                        "use one when-equation with elsewhen",
                    )
                result.reinits[symbol.name()] = (value, place)
        symbols = [symbol for value in own.values() for symbol in v.flat(value)]
        values = [value for name in own for value in v.flat(scope.variables[name])]
        return [
            ScalarEquation(s, value, f"the value of '{s.name()}' in an {kind} section", span)
            for s, value in zip(symbols, values, strict=True)
        ]


def _names(statements: Sequence[sx.Statement], flat: sx.FlatModel) -> list[str]:
    """Return the variables that a section may assign."""
    variables: dict[str, None] = {}
    states = [assignment.target for assignment in _reinits(statements)]
    targets = (n for n in _all(statements) if isinstance(n, sx.Target) and n not in states)
    for target in targets:
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
