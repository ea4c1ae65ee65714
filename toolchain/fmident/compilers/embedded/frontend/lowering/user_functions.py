"""User-defined functions, executed symbolically at each call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Scope
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering, expect_count
from fmident.compilers.embedded.frontend.lowering.library_functions import EXTERNAL, KNOWN
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value, region, replaced
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal, refusing_at, unknown_name
from fmident.errors import did_you_mean

MAXIMUM_DEPTH = 30
"""Deepest nesting of calls; more is taken for a recursion without end."""


@dataclass
class Frame(Scope):
    """Variables of one call; the scope in which its algorithm is evaluated."""

    function: str
    variables: dict[str, Value | v.Unassigned] = field(default_factory=dict)

    def value(self, name: str, span: sx.Span) -> Value:
        """Return the value of a variable of the function, which must be assigned."""
        value = self.whole(name, span)
        for scalar in v.flat(value):
            if scalar is v.UNASSIGNED:
                raise Refusal(
                    "unassigned",
                    f"'{name}' of the function '{self.function}' is used before it is assigned "
                    "on every path",
                    span,
                    "assign it first, or in every branch of the 'if'",
                )
        return value

    def whole(self, name: str, span: sx.Span) -> Value:
        """Return a variable of the function, which may be partly unassigned."""
        root, *fields = name.split(".")
        if root not in self.variables:
            raise unknown_name(name, span, list(self.variables))
        value = self.variables[root]
        for part in fields:
            if not isinstance(value, v.RecordValue) or part not in value.fields:
                raise unknown_name(name, span, list(self.variables))
            value = value.fields[part]
        return value

    def sizes(self, name: str, span: sx.Span) -> tuple[int, ...]:
        """Return the sizes of a variable, assigned or not."""
        known = self.variables.get(name)
        return v.shape(known if isinstance(known, np.ndarray) else self.value(name, span))

    def derivative(self, reference: sx.Reference) -> Value:
        """Refuse ``der`` inside functions."""
        raise Refusal("type-error", "'der' inside a function", reference.span, "")


class FunctionInliner:
    """Evaluates calls by running the function's algorithm on symbolic values."""

    def __init__(
        self, functions: Mapping[str, sx.Function], records: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._functions = functions
        self._records = records
        self.prescribed: list[v.Prescribed] = []

    def __call__(self, call: sx.Call, arguments: list[Value], caller: Lowering) -> list[Value]:
        """Return the outputs of one call."""
        function = self._functions.get(call.name)
        if function is None:
            raise Refusal(
                "unknown-function",
                f"the function '{call.name}' is not known",
                call.span,
                did_you_mean(call.name, self._functions, kind="function"),
            )
        known = KNOWN.get(call.name)
        if known is not None:
            return known(call, arguments, caller)
        if function.external_name in EXTERNAL:
            return [self._external(function, call, arguments, caller)]
        if function.external:
            raise Refusal(
                "unsupported-external",
                f"'{call.name}' is an external function",
                function.span if function.span != sx.NOWHERE else call.span,
            )
        if not function.pure:
            raise Refusal("unsupported-impure", f"'{call.name}' is an impure function", call.span)
        if caller.depth >= MAXIMUM_DEPTH:
            raise Refusal(
                "unsupported-recursion", f"'{call.name}' calls itself too deeply", call.span
            )
        if function.constructor:
            return [self._record(function, call, arguments)]
        outputs = self._run(function, call, arguments, caller)
        rates = self._rates(function, call, arguments, caller)
        return outputs if rates is None else list(map(self._prescribed, outputs, rates))

    def _rates(
        self, function: sx.Function, call: sx.Call, arguments: list[Value], caller: Lowering
    ) -> list[Value] | None:
        """Return the declared derivatives of the outputs, where they say more than the body.

        They do where an argument that varies is not to be differentiated. ``None`` also if
        another argument is neither time nor invariant.
        """
        annotation = function.derivative
        if annotation is None or len(arguments) != len(annotation.differentiated):
            return None
        invariant = caller.state.time_invariant
        pairs = list(zip(arguments, annotation.differentiated, strict=True))
        if all(v.symbols(*v.flat(a)).keys() <= invariant for a, yes in pairs if not yes):
            return None
        rates: list[float] = []
        count = sum(annotation.differentiated)
        for value in [a for a, yes in pairs if yes][count - count // annotation.order :]:
            if v.symbols(*v.flat(value)).keys() <= invariant:
                rates.append(0.0)
            elif isinstance(value, ca.SX) and value.is_symbolic() and value.name() == sx.TIME:
                rates.append(1.0)
            else:
                return None
        written = (*call.arguments, *map(sx.Number, rates))
        derivative = replace(call, name=annotation.name, arguments=written)
        return self(derivative, [*arguments, *rates], caller)

    def _prescribed(self, value: Value, rate: Value) -> Value:
        def scalar(value: Scalar, rate: Scalar) -> Scalar:
            if not v.is_symbolic(value):
                return value
            symbol = ca.SX.sym("prescribed")
            self.prescribed.append(v.Prescribed(symbol, value, rate))
            return symbol

        return v.pairwise(scalar, value, rate, "a function and its derivative")

    def _record(self, function: sx.Function, call: sx.Call, arguments: list[Value]) -> Value:
        names = [variable.name for variable in function.inputs]
        expect_count(call, len(names), len(names))
        return v.RecordValue(function.name, dict(zip(names, arguments, strict=True)))

    def _external(
        self, function: sx.Function, call: sx.Call, arguments: list[Value], caller: Lowering
    ) -> Value:
        lowering = self._called(function, call, arguments, caller)
        outputs = {output.name for output in function.outputs}
        given = [
            lowering.evaluate(a)
            for a in function.external_arguments
            if not (isinstance(a, sx.Reference) and a.name in outputs)
        ]
        return EXTERNAL[function.external_name](call, given, caller)

    def _run(
        self, function: sx.Function, call: sx.Call, arguments: list[Value], caller: Lowering
    ) -> list[Value]:
        lowering = self._called(function, call, arguments, caller)
        frame = lowering.scope
        assert isinstance(frame, Frame)
        for variable in (*function.outputs, *function.locals):
            frame.variables[variable.name] = self._initial(variable, lowering)
        for variable in (*function.outputs, *function.locals):
            if variable.default is not None:
                frame.variables[variable.name] = lowering.evaluate(variable.default)
        Body(frame, lowering).run(function.body)
        return [frame.value(variable.name, variable.span) for variable in function.outputs]

    def _called(
        self, function: sx.Function, call: sx.Call, arguments: list[Value], caller: Lowering
    ) -> Lowering:
        """Return the evaluator of a function's body, with its inputs set."""
        frame = Frame(function.name)
        lowering = Lowering(
            frame,
            self,
            caller.state,
            no_event=True,
            guard=caller.guard,
            depth=caller.depth + 1,
        )
        required = (n for n, x in enumerate(function.inputs, 1) if x.default is None)
        expect_count(call, max(required, default=0), len(function.inputs))
        for position, variable in enumerate(function.inputs):
            if position < len(arguments):
                value: Value = arguments[position]
            else:
                assert variable.default is not None
                value = lowering.evaluate(variable.default)
            self._check_input(function, variable, value, lowering, call)
            frame.variables[variable.name] = value
        return lowering

    def _check_input(
        self,
        function: sx.Function,
        variable: sx.FunctionVariable,
        value: Value,
        lowering: Lowering,
        call: sx.Call,
    ) -> None:
        sizes = v.shape(value)
        if len(sizes) != len(variable.shape):
            raise Refusal(
                "shape-mismatch",
                f"argument '{variable.name}' of '{function.name}' has {len(sizes)} dimensions "
                f"instead of {len(variable.shape)}",
                call.span,
                "call the function for each element",
            )
        for size, wanted in zip(sizes, variable.shape, strict=True):
            if wanted is not None and lowering.integer(wanted, "a size") != size:
                raise Refusal(
                    "shape-mismatch",
                    f"argument '{variable.name}' of '{function.name}' has the size {size} instead "
                    f"of {lowering.integer(wanted, 'a size')}",
                    call.span,
                    "",
                )

    def _initial(self, variable: sx.FunctionVariable, lowering: Lowering) -> Value | v.Unassigned:
        fields = self._records.get(variable.type_name)
        if fields is not None:
            if variable.shape:
                raise Refusal(
                    "unsupported-record", "an array of records inside a function", variable.span
                )
            return v.RecordValue(variable.type_name, dict.fromkeys(fields, v.UNASSIGNED))
        if any(size is None for size in variable.shape):
            return v.UNASSIGNED
        sizes = tuple(lowering.integer(s, "a size") for s in variable.shape if s is not None)
        return v.filled(v.UNASSIGNED, sizes) if sizes else v.UNASSIGNED


class _Leave(Exception):  # noqa: N818 - control flow, not an error
    """``break`` or ``return`` on a path known at compile time."""

    def __init__(self, construct: str) -> None:
        self.construct = construct


class Body:
    """Runs statements on a frame."""

    def __init__(self, frame: Frame, lowering: Lowering) -> None:
        self.frame = frame
        self.lowering = lowering
        self._guard_at_call = lowering.guard

    def run(self, statements: Iterable[sx.Statement]) -> None:
        """Run the body of the function."""
        try:
            self.block(statements)
        except _Leave:
            return

    def block(self, statements: Iterable[sx.Statement]) -> None:
        """Run statements; refusals get their source spans."""
        for statement in statements:
            with refusing_at(statement.span):
                self.statement(statement)

    def statement(self, statement: sx.Statement) -> None:
        """Run one statement."""
        match statement:
            case sx.Assignment(target=target, value=value):
                self.assign(target, self.lowering.evaluate(value))
            case sx.CallStatement(call=call, targets=targets):
                self._call(call, targets)
            case sx.IfStatement(branches=branches, otherwise=otherwise):
                self._if(list(branches), otherwise)
            case sx.ForStatement(indices=indices, body=body):
                self._for(list(indices), body)
            case sx.WhileStatement(condition=condition, body=body):
                self._while(condition, body)
            case sx.AssertStatement():
                self.lowering.assertion(statement)
            case sx.WhenStatement():
                raise Refusal(
                    "unsupported-statement", "a 'when' statement here", statement.span, "remove it"
                )
            case sx.OtherStatement(construct="break" | "return" as construct):
                if self.lowering.guard is not self._guard_at_call:
                    raise Refusal(
                        "unsupported-statement",
                        f"'{construct}' under a condition that is not constant",
                        statement.span,
                    )
                raise _Leave(construct)
            case sx.OtherStatement(construct=construct):
                raise Refusal(
                    "unsupported-statement",
                    f"a '{construct}' statement in a function",
                    statement.span,
                )

    def _call(self, call: sx.Call, targets: Sequence[sx.Target | None]) -> None:
        results = self.lowering.outputs(call)
        if len(targets) > len(results):
            raise Refusal(
                "argument-count",
                f"'{call.name}' has {len(results)} outputs, {len(targets)} are wanted",
                call.span,
                "",
            )
        for target, value in zip(targets, results, strict=False):
            if target is not None:
                self.assign(target, value)

    def _for(self, indices: list[tuple[str, sx.Expression]], body: Sequence[sx.Statement]) -> None:
        if not indices:
            self.block(body)
            return
        name, domain = indices[0]
        for value in self.lowering.range_values(domain):
            with self.lowering.index(name, value):
                try:
                    self._for(indices[1:], body)
                except _Leave as leave:
                    if leave.construct == "break":
                        break
                    raise

    def _while(self, condition: sx.Expression, body: Sequence[sx.Statement]) -> None:
        while True:
            value = self.lowering.evaluate(condition)
            if not isinstance(value, bool):
                raise Refusal(
                    "unsupported-statement",
                    "a 'while' loop whose end is not known when the model is compiled",
                    condition.span,
                )
            if not value:
                return
            self.lowering.count_pass()
            try:
                self.block(body)
            except _Leave as leave:
                if leave.construct == "break":
                    return
                raise

    def _if(
        self,
        branches: list[tuple[sx.Expression, tuple[sx.Statement, ...]]],
        otherwise: Sequence[sx.Statement],
    ) -> None:
        if not branches:
            self.block(otherwise)
            return
        condition_node, body = branches[0]
        condition = self.lowering.evaluate(condition_node)
        if isinstance(condition, bool):
            if condition:
                self.block(body)
            else:
                self._if(branches[1:], otherwise)
            return
        if not v.is_symbolic(condition):
            raise Refusal("type-error", "the condition is not Boolean", condition_node.span, "")
        guard = self.lowering.guard
        before = copied(self.frame.variables)
        with self.lowering.having(guard=v.logical_and(guard, condition)):
            self.block(body)
        yes = self.frame.variables
        self.frame.variables = before
        with self.lowering.having(guard=v.logical_and(guard, v.logical_not(condition))):
            self._if(branches[1:], otherwise)
        no = self.frame.variables
        self.frame.variables = {
            name: merged(condition, value, no[name]) for name, value in yes.items()
        }

    def assign(self, target: sx.Target, value: Value) -> None:
        """Assign a value to a variable, a part of it or a field."""
        (name, subscripts), *fields = target.parts
        if name not in self.frame.variables:
            raise unknown_name(str(target), target.span, list(self.frame.variables))
        current = self.frame.variables[name]
        self.frame.variables[name] = self._replaced(current, subscripts, fields, value, target)

    def _replaced(
        self,
        current: Value | v.Unassigned,
        subscripts: Sequence[sx.Expression | None],
        fields: Sequence[tuple[str, Sequence[sx.Expression | None]]],
        value: Value,
        target: sx.Target,
    ) -> Value:
        if fields:
            if subscripts or not isinstance(current, v.RecordValue):
                raise Refusal("unsupported-record", f"an assignment to '{target}'", target.span)
            (name, inner), *rest = fields
            updated = dict(current.fields)
            if name not in updated:
                raise unknown_name(str(target), target.span, list(updated))
            updated[name] = self._replaced(updated[name], inner, rest, value, target)
            return v.RecordValue(current.type_name, updated)
        if not subscripts:
            if current is not v.UNASSIGNED and v.shape(current) != v.shape(value):
                raise _shape_refusal(target, v.shape(current), v.shape(value))
            return value
        if not isinstance(current, np.ndarray):
            raise Refusal(
                "shape-mismatch", f"'{target}' has no known size and gets a subscript", target.span
            )
        key = self.lowering.subscript_key(subscripts, current.shape, str(target))
        sizes, _ = region(key)
        if sizes != v.shape(value):
            raise _shape_refusal(target, sizes, v.shape(value))
        return replaced(current, key, value)


def _shape_refusal(target: sx.Target, wanted: object, got: object) -> Refusal:
    return Refusal(
        "shape-mismatch",
        f"'{target}' has the sizes {wanted} and gets a value of the sizes {got}",
        target.span,
        "",
    )


def copied(variables: Mapping[str, Value | v.Unassigned]) -> dict[str, Value | v.Unassigned]:
    """Return a copy whose variables can be assigned independently."""
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in variables.items()
    }


def merged(
    condition: Scalar, yes: Value | v.Unassigned, no: Value | v.Unassigned
) -> Value | v.Unassigned:
    """Merge the values of a variable after the two branches of an ``if``."""
    if yes is no:
        return yes
    if isinstance(yes, v.RecordValue) and isinstance(no, v.RecordValue):
        fields = {n: merged(condition, x, no.fields[n]) for n, x in yes.fields.items()}
        return v.RecordValue(yes.type_name, fields)
    if isinstance(yes, np.ndarray) and isinstance(no, np.ndarray) and yes.shape == no.shape:
        return np.frompyfunc(partial(merged, condition), 2, 1)(yes, no)
    if yes is v.UNASSIGNED or no is v.UNASSIGNED:
        return v.UNASSIGNED
    return v.choose_value(condition, yes, no)
