"""Translation of expressions to CasADi.

Outside ``noEvent``, when-equations and functions, jumps of ``floor``, ``div``, ``sign``
and similar functions are events (Modelica 3.6, section 3.7.2).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, reduce
from typing import Any, Literal, assert_never

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import (
    EVENT_OPERATORS,
    AssertValue,
    LoweringState,
    Scope,
    event_operator,
)
from fmident.compilers.embedded.frontend.lowering.values import (
    UNSUPPORTED_FUNCTIONS,
    ArrayValue,
    Scalar,
    Value,
)
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.syntax import expression_text
from fmident.compilers.embedded.frontend.refusal import (
    Refusal,
    check_passes,
    check_size,
    refusing_at,
)

FunctionCaller = Callable[[sx.Call, "list[Value]", "Lowering"], "list[Value]"]


_PAIRWISE: Mapping[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": v.add,
    "-": v.subtract,
    ".+": v.add,
    ".-": v.subtract,
    ".*": v.multiply,
    "./": v.divide,
    ".^": v.power,
}


def _truncated(x: Scalar) -> Scalar:
    return ca.if_else(x < 0, ca.ceil(x), ca.floor(x))


_JUMPING: Mapping[str, tuple[Callable[..., float], Callable[..., Scalar]]] = {
    "floor": (lambda x: float(math.floor(x)), lambda hold, x: hold(ca.floor(x))),
    "ceil": (lambda x: float(math.ceil(x)), lambda hold, x: hold(ca.ceil(x))),
    "integer": (lambda x: math.floor(x), lambda hold, x: hold(ca.floor(x))),
    "sign": (lambda x: float((x > 0) - (x < 0)), lambda hold, x: hold(ca.sign(x))),
    "div": (lambda x, y: type(x)(math.trunc(x / y)), lambda hold, x, y: hold(_truncated(x / y))),
    "mod": (
        lambda x, y: x - math.floor(x / y) * y,
        lambda hold, x, y: v.plain(x - hold(ca.floor(x / y)) * y),
    ),
    "rem": (
        lambda x, y: x - math.trunc(x / y) * y,
        lambda hold, x, y: v.plain(x - hold(_truncated(x / y)) * y),
    ),
}
"""Discontinuous function of numbers; of expressions, given what `hold` makes of jumps."""

_ELEMENTARY: Mapping[str, tuple[Callable[[float], float], Callable[[v.SX], v.SX]]] = {
    **{
        name: (getattr(math, name), getattr(ca, name))
        for name in (
            *("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh"),
        )
    },
    "abs": (abs, ca.fabs),
}
"""Function of a number, function of an expression. ``abs`` has no event: it is continuous."""


class Lowering:
    """Evaluates expressions in a scope.

    `no_event` says whether relations may vary with time: in functions, ``noEvent``,
    ``smooth``, asserts. `guard` is the condition under which the code is reached.
    """

    def __init__(
        self,
        scope: Scope,
        call: FunctionCaller,
        state: LoweringState,
        *,
        no_event: bool = False,
        guard: Scalar = True,
        depth: int = 0,
    ) -> None:
        self.scope = scope
        self.call_function = call
        self.state = state
        self.no_event = no_event
        self.guard = guard
        self.depth = depth
        self._indices: dict[str, int] = {}
        self._end: int | None = None
        """Size of the dimension whose subscript is evaluated."""

    @contextmanager
    def having(self, **attributes: Any) -> Iterator[None]:
        """Set attributes for a while."""
        before = {name: getattr(self, name) for name in attributes}
        self.__dict__.update(attributes)
        try:
            yield
        finally:
            self.__dict__.update(before)

    def evaluate(self, node: sx.Expression) -> Value:
        """Return the value of an expression."""
        with refusing_at(node.span):
            return self._evaluate(node)

    def outputs(self, node: sx.Expression) -> list[Value]:
        """Return all outputs of a call, or the single value of any other expression."""
        if isinstance(node, sx.Call) and not node.builtin and not node.constructor:
            with refusing_at(node.span):
                arguments = [self.evaluate(a) for a in node.arguments]
                return self.call_function(node, arguments, self)
        return [self.evaluate(node)]

    def integer(self, node: sx.Expression, what: str) -> int:
        """Return a constant integer such as a size or a subscript."""
        with refusing_at(node.span):
            return _size(self.evaluate(node), what)

    def range_values(self, node: sx.Expression) -> list[Scalar]:
        """Return the elements of the range or vector that a loop runs over."""
        value = self.evaluate(node)
        if isinstance(value, np.ndarray) and value.ndim == 1:
            return list(value)
        raise Refusal("unsupported-range", "a loop over something that is not a vector", node.span)

    def assertion(self, statement: sx.AssertStatement) -> None:
        """Record an assertion, under the guard of this lowering."""
        with self.without_events():
            condition = self.evaluate(statement.condition)
        if not isinstance(condition, bool) and not v.is_symbolic(condition):
            raise Refusal("type-error", "the condition of an assert is not Boolean", statement.span)
        guarded = v.logical_or(v.logical_not(self.guard), condition)
        if guarded is not True:
            warning = is_warning(statement.level)
            text = message_text(statement.message, self.evaluate)
            self.state.assertions.append(AssertValue(guarded, text, warning))

    def require(self, condition: Scalar, message: str) -> None:
        """Record an assertion of the compiler's own, under the guard of this lowering."""
        guarded = v.logical_or(v.logical_not(self.guard), condition)
        if guarded is not True:
            self.state.assertions.append(AssertValue(guarded, message, False))

    def without_events(self) -> AbstractContextManager[None]:
        """Allow relations that vary with time."""
        return self.having(no_event=True)

    def count_pass(self) -> None:
        """Count an iteration of a loop; refuse too many."""
        self.state.passes += 1
        check_passes(self.state.passes)

    def index(self, name: str, value: int) -> AbstractContextManager[None]:
        """Set the index variable of a loop or comprehension."""
        self.count_pass()
        return self.having(_indices={**self._indices, name: value})

    def _evaluate(self, node: sx.Expression) -> Value:
        match node:
            case sx.Number(value=value) | sx.Boolean(value=value) | sx.Text(value=value):
                return value
            case sx.Reference():
                return self._reference(node)
            case sx.Binary():
                return self._binary(node)
            case sx.Unary():
                return self._unary(node)
            case sx.Call():
                return self._call(node)
            case sx.If():
                return self._if(node)
            case sx.Array():
                return self._array(node)
            case sx.Range():
                return self._range(node)
            case sx.Comprehension():
                return self._comprehension(node.body, list(node.indices))
            case sx.Index():
                return self._index(node)
            case sx.Field():
                return self._field(self.evaluate(node.base), node.name)
            case sx.Tuple(elements=(single,)) if single is not None:
                return self.evaluate(single)
            case sx.Tuple():
                raise Refusal("unsupported-expression", "a tuple inside an expression", node.span)
            case _:
                assert_never(node)

    def _index(self, node: sx.Index) -> Value:
        if isinstance(node.base, sx.Reference) and not node.base.subscripts:
            return self._reference(sx.Reference(node.base.name, node.subscripts, node.span))
        return self._subscripted(self.evaluate(node.base), node.subscripts, "expression")

    def _reference(self, node: sx.Reference) -> Value:
        if node.name in self._indices:
            value: Value = self._indices[node.name]
        elif node.name == "end" and self._end is not None:
            return self._end
        elif node.name in self.state.enumerators:
            return v.Enumerator(self.state.enumerators[node.name], node.name.rsplit(".", 1)[-1])
        else:
            lookup = self.scope.whole if node.subscripts else self.scope.value
            value = lookup(node.name, node.span)
        if not node.subscripts:
            return value
        part = self._subscripted(value, node.subscripts, node.name)
        if any(s is v.UNASSIGNED for s in v.flat(part)):
            self.scope.value(node.name, node.span)  # raises
        return part

    def _field(self, base: Value, name: str) -> Value:
        if isinstance(base, v.RecordValue) and name in base.fields:
            return base.fields[name]
        if isinstance(base, np.ndarray) and base.size:
            return v.array([self._field(item, name) for item in base])
        raise Refusal("unknown-field", f"there is no record field '{name}' here", hint="")

    def subscript_key(
        self, subscripts: Sequence[sx.Expression | None], sizes: tuple[int, ...], what: str
    ) -> v.Key:
        """Return zero-based positions per dimension: a number, or a list for a slice."""
        if len(subscripts) > len(sizes):
            raise Refusal(
                "shape-mismatch",
                f"'{what}' has {len(sizes)} dimensions and gets {len(subscripts)} subscripts",
                hint="",
            )
        key: list[int | list[int]] = []
        for subscript, size in zip(subscripts, sizes, strict=False):
            if subscript is None:
                key.append(list(range(size)))
                continue
            with self.having(_end=size):
                value = self.evaluate(subscript)
            key.append(v.positions(value, size, what, subscript.span))
        key.extend(list(range(size)) for size in sizes[len(subscripts) :])
        return tuple(key)

    def _subscripted(
        self, value: Value, subscripts: Sequence[sx.Expression | None], what: str
    ) -> Value:
        if not isinstance(value, np.ndarray):
            raise Refusal("shape-mismatch", f"'{what}' is a scalar and gets a subscript", hint="")
        if len(subscripts) == 1 and value.ndim == 1 and subscripts[0] is not None:
            with self.having(_end=len(value)):
                place = self.evaluate(subscripts[0])
            if v.is_symbolic(place) and len(value):
                return self._varying_element(value, place, what, subscripts[0].span)
        key = self.subscript_key(subscripts, value.shape, what)
        return v.select(value, key)

    def _varying_element(
        self, value: v.ArrayValue, place: Scalar, what: str, span: sx.Span
    ) -> Value:
        """Return a vector element at an index that is a parameter or changes at events."""
        if not self.no_event and not self.state.events.is_discrete_time(
            place, self.state.time_invariant
        ):
            raise Refusal(
                "unsupported-subscript", f"a subscript of '{what}' varies between events", span
            )
        element, inside = v.element_at(value, place)
        self.require(inside, f"a subscript of '{what}' is outside 1 to {len(value)}")
        return element

    def _binary(self, node: sx.Binary) -> Value:
        left, operator = self.evaluate(node.left), node.operator
        if (operator == "and" and left is False) or (operator == "or" and left is True):
            return left  # what is behind need not have a value
        right = self.evaluate(node.right)
        if isinstance(left, v.RecordValue) or isinstance(right, v.RecordValue):
            raise Refusal("unsupported-record", f"'{operator}' of a record (operator record)")
        match operator:
            case "and":
                return v.logical_and(left, right)
            case "or":
                return v.logical_or(left, right)
            case _:
                if is_arithmetic(operator):
                    return arithmetic(operator, left, right)
                return self._relation(node, left, right)

    def _relation(self, node: sx.Binary, left: Value, right: Value) -> Value:
        operator = node.operator
        if any(isinstance(side, np.ndarray | v.RecordValue) for side in (left, right)):
            raise Refusal("type-error", f"'{operator}' of arrays", hint="compare the elements")
        if not v.is_symbolic(left) and not v.is_symbolic(right):
            return v.compared(operator, left, right)
        if isinstance(left, str) or isinstance(right, str):
            raise Refusal("type-error", f"'{operator}' of a number and something else", hint="")
        if isinstance(left, bool) or isinstance(right, bool):
            if operator not in ("==", "<>"):
                raise Refusal("type-error", f"'{operator}' of a Boolean", hint="")
            left, right = (int(s) if isinstance(s, bool) else s for s in (left, right))
        return self._at_events(v.compared(operator, left, right), node)

    def _at_events(self, value: Scalar, node: sx.Expression) -> Scalar:
        """Return the replacement of a discontinuous value: the one held since the last event."""
        known = self.state.time_invariant
        if self.no_event or self.state.events.is_discrete_time(value, known):
            return value
        return self.state.events.hold(value, expression_text(node))

    def _unary(self, node: sx.Unary) -> Value:
        operand = self.evaluate(node.operand)
        if node.operator == "not":
            return v.logical_not(operand)
        return v.elementwise(v.negate, operand) if node.operator == "-" else operand

    def is_time_invariant(self, value: Scalar) -> bool:
        """Return whether `value` depends on parameters and constants only."""
        return v.symbols(value).keys() <= self.state.time_invariant

    def _if(self, node: sx.If) -> Value:
        branches: list[tuple[Scalar, sx.Expression]] = []
        otherwise = node.otherwise
        for condition_node, branch in node.branches:
            condition = self.evaluate(condition_node)
            if not isinstance(condition, bool) and not v.is_symbolic(condition):
                raise Refusal("type-error", "the condition is not Boolean", condition_node.span, "")
            if condition is False:
                continue
            if condition is True:
                otherwise = branch
                break
            branches.append((condition, branch))
        reached: Scalar = self.guard
        pending: list[tuple[Scalar, Value]] = []
        for condition, branch in branches:
            with self.having(guard=v.logical_and(reached, condition)):
                pending.append((condition, self.evaluate(branch)))
            reached = v.logical_and(reached, v.logical_not(condition))
        with self.having(guard=reached):
            result = self.evaluate(otherwise)
        for condition, value in reversed(pending):
            result = v.choose_value(condition, value, result)
        return result

    def _array(self, node: sx.Array) -> Value:
        if node.layout != "array":
            return concatenate_matrix([self.evaluate(e) for e in node.elements], node.layout)
        return v.array([self.evaluate(e) for e in node.elements])

    def _range(self, node: sx.Range) -> Value:
        numbers: list[float | int] = []
        for part in (node.start, node.step, node.end):
            value: Value = 1 if part is None else self.evaluate(part)
            if not v.is_number(value):
                raise Refusal(
                    "unsupported-range",
                    "a range whose bounds are not constant",
                    node.span,
                    "give the bounds by literals, constants or Integer parameters",
                )
            numbers.append(value)
        start, step, end = numbers
        if step == 0:
            raise Refusal("unsupported-range", "a range with the step zero", node.span, "")
        count = max(0, int(np.floor((end - start) / step + 1e-12)) + 1)
        check_size([count], "a range", node.span)
        return v.array([start + i * step for i in range(count)])

    def _comprehension(
        self, body: sx.Expression, indices: list[tuple[str, sx.Expression]]
    ) -> Value:
        if not indices:
            return self.evaluate(body)
        # The last index is the outermost dimension.
        name, domain = indices[-1]
        items: list[Value] = []
        for value in self.range_values(domain):
            with self.index(name, value):
                items.append(self._comprehension(body, indices[:-1]))
        return v.array(items)

    def _first_result(self, node: sx.Call) -> Value:
        if node.constructor:
            results = self.call_function(node, [self.evaluate(a) for a in node.arguments], self)
        else:
            results = self.outputs(node)
        if not results:
            raise Refusal("type-error", f"'{node.name}' has no output", node.span, "")
        return results[0]

    def _call(self, node: sx.Call) -> Value:
        if not node.builtin:
            return self._first_result(node)
        match node.name:
            case "der":
                return self._der(node)
            case "noEvent":
                expect_count(node, 1, 1)
                with self.without_events():
                    return self.evaluate(node.arguments[0])
            case "smooth":
                expect_count(node, 2, 2)
                self.integer(node.arguments[0], "the order of 'smooth'")
                with self.without_events():
                    return self.evaluate(node.arguments[1])
            case "string" | "String":
                return message_text(node, self.evaluate)
            case "homotopy":
                expect_count(node, 2, 2)
                return self.evaluate(node.arguments[0])  # what it is in the end
            case "semiLinear":
                return self._semi_linear(node)
            case name if name in EVENT_OPERATORS:
                expect_count(node, EVENT_OPERATORS[name], EVENT_OPERATORS[name])
                values = in_model = [self.evaluate(a) for a in node.arguments]
                if (scope := self.scope.of_model()) is not self.scope:
                    with self.having(scope=scope):
                        in_model = [self.evaluate(a) for a in node.arguments]
                invariant = self.is_time_invariant
                return event_operator(node, values, in_model, self.state.events, invariant)
            case name if name in _JUMPING:
                return self._jumping(node)
        if node.name in UNSUPPORTED_FUNCTIONS:
            raise Refusal(
                f"unsupported-{node.name}",
                f"'{node.name}' ({UNSUPPORTED_FUNCTIONS[node.name]})",
                node.span,
            )
        first = node.arguments[0] if node.arguments else None
        if node.name in ("size", "ndims") and isinstance(first, sx.Reference):
            return self._sizes(node, first)
        if node.name not in BUILTINS:
            raise Refusal("unsupported-function", f"the built-in function '{node.name}'", node.span)
        expect_count(node, *_arity(BUILTINS[node.name]))
        return BUILTINS[node.name](*map(self.evaluate, node.arguments))

    def _sizes(self, node: sx.Call, argument: sx.Reference) -> Value:
        """Return ``size`` or ``ndims`` of a variable, which need not be assigned yet."""
        function = BUILTINS[node.name]
        expect_count(node, *_arity(function))
        if argument.subscripts or argument.name in self._indices:
            return function(*map(self.evaluate, node.arguments))
        sizes = self.scope.sizes(argument.name, argument.span)
        stand_in = v.filled(0, sizes) if sizes else 0
        return function(stand_in, *map(self.evaluate, node.arguments[1:]))

    def _jumping(self, node: sx.Call) -> Value:
        count, _ = _arity(_JUMPING[node.name][0])
        expect_count(node, count, count)
        arguments = [self.evaluate(a) for a in node.arguments]

        def one(*scalars: Scalar) -> Scalar:
            return jumping(node.name, scalars, lambda s: self._at_events(s, node))

        if count == 1:
            return v.elementwise(one, arguments[0])
        return v.pairwise(one, arguments[0], arguments[1], f"'{node.name}'")

    def _semi_linear(self, node: sx.Call) -> Value:
        expect_count(node, 3, 3)
        x, positive, negative = (self.evaluate(a) for a in node.arguments)
        if any(v.shape(a) or isinstance(a, bool | str) for a in (x, positive, negative)):
            raise Refusal("type-error", "an argument of 'semiLinear' is not a number", hint="")
        condition = sx.Binary(">=", node.arguments[0], sx.Number(0, node.span), node.span)
        switch = self._relation(condition, x, 0)
        return v.choose(switch, v.multiply(positive, x), v.multiply(negative, x))

    def _der(self, node: sx.Call) -> Value:
        expect_count(node, 1, 1)
        argument = node.arguments[0]
        if isinstance(argument, sx.Reference):
            return self.scope.derivative(argument)
        raise Refusal(
            "unsupported-der",
            "'der' of an expression: it would have to be differentiated",
            node.span,
            "give the expression a variable of its own that is a state, or write its derivative; "
            "else compile with --compiler openmodelica",
        )


def expect_count(call: sx.Call, least: int, most: int) -> None:
    """Refuse a call with another number of arguments."""
    if not least <= len(call.arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise Refusal(
            "argument-count",
            f"'{call.name}' takes {wanted} arguments and gets {len(call.arguments)}",
            call.span,
            "correct the call",
        )


def is_arithmetic(operator: str) -> bool:
    """Return whether `operator` is handled by :func:`arithmetic`."""
    return operator in _PAIRWISE or operator in ("*", "/", "^")


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Return ``left operator right``; raise `Refusal` for incompatible sizes or types."""
    if operator in _PAIRWISE:
        function = _PAIRWISE[operator]
        if operator.startswith("."):
            left, right = _broadcast(left, right)
        if isinstance(left, str) and isinstance(right, str) and operator == "+":
            return left + right
        return v.pairwise(function, left, right, f"'{operator}'")
    if operator == "*":
        return v.matrix_product(left, right)
    if operator == "^":
        return _power(left, right)
    if isinstance(right, np.ndarray):
        raise Refusal("shape-mismatch", "a division by an array", hint="use './'")
    return v.elementwise(lambda a: v.divide(a, right), left)


def _power(left: Value, right: Value) -> Value:
    if isinstance(left, np.ndarray):
        if left.ndim != 2 or left.shape[0] != left.shape[1] or not isinstance(right, int):
            raise Refusal(
                "shape-mismatch",
                "'^' of an array needs a square matrix and an integer",
                hint="'.^' works element by element",
            )
        result: Value = _identity(left.shape[0])
        for _ in range(right):
            result = v.matrix_product(result, left)
        return result
    if isinstance(right, np.ndarray):
        raise Refusal("shape-mismatch", "an array as exponent", hint="use '.^'")
    return v.power(left, right)


def _broadcast(left: Value, right: Value) -> tuple[Value, Value]:
    if isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        return left, v.filled(right, left.shape)
    if isinstance(right, np.ndarray) and not isinstance(left, np.ndarray):
        return v.filled(left, right.shape), right
    return left, right


def jumping(name: str, arguments: Sequence[Scalar], hold: Callable[[Scalar], Scalar]) -> Scalar:
    """Return a discontinuous function, with `hold` applied to jumps."""
    if any(isinstance(a, bool | str) for a in arguments):
        raise Refusal("type-error", f"an argument of '{name}' is not a number", hint="")
    number, symbolic = _JUMPING[name]
    if any(v.is_symbolic(a) for a in arguments):
        return symbolic(hold, *arguments)
    try:
        return number(*arguments)
    except ZeroDivisionError:
        raise Refusal("division-by-zero", "a division by zero", hint="") from None


def is_warning(level: sx.Expression | None) -> bool:
    """Return whether an assert's level is ``AssertionLevel.warning`` (the first literal)."""
    match level:
        case None | sx.Number(value=2) | sx.Reference(name="AssertionLevel.error"):
            return False
        case sx.Number(value=1) | sx.Reference(name="AssertionLevel.warning"):
            return True
        case _:
            raise Refusal("type-error", "the level of an assert is not constant", level.span)


def text_of(value: Value, node: sx.Expression) -> str:
    """Return a known value as text, or else the expression in angle brackets."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if v.is_number(value):
        return str(value) if isinstance(value, int) else f"{value:.6g}"
    return f"<{expression_text(node)}>"


def message_text(node: sx.Expression, evaluate: Callable[[sx.Expression], Value]) -> str:
    """Return the text of a message; time-varying parts appear as expressions."""
    match node:
        case sx.Text(value=value):
            return value
        case sx.Binary(operator="+", left=left, right=right):
            return message_text(left, evaluate) + message_text(right, evaluate)
        case sx.Call(name="string" | "String", arguments=(argument, *_)):
            return text_of(v.plain(evaluate(argument)), argument)
        case _:
            return text_of(evaluate(node), node)


def elementary(name: str, argument: Scalar) -> Scalar:
    """Return an elementary function of a scalar."""
    if isinstance(argument, bool | str):
        raise Refusal("type-error", f"the argument of '{name}' is not a number", hint="")
    number, symbolic = _ELEMENTARY[name]
    if v.is_symbolic(argument):
        return v.plain(symbolic(argument))
    try:
        return number(argument)
    except (ValueError, OverflowError):
        raise Refusal(
            "not-finite", f"{name}({argument:g}) has no finite value", hint="correct the constants"
        ) from None


def _of_two(
    number: Callable[[float, float], float], symbolic: Callable[[Scalar, Scalar], v.SX]
) -> Callable[[Scalar, Scalar], Scalar]:
    def function(a: Scalar, b: Scalar) -> Scalar:
        known = not (v.is_symbolic(a) or v.is_symbolic(b))
        return number(a, b) if known else v.plain(symbolic(a, b))

    return function


def _size(value: Value, what: str = "a size") -> int:
    number = v.plain(value)
    if not v.is_number(number) or number != int(number):
        raise Refusal(
            "unknown-size",
            f"{what} is not a constant integer",
            hint="give it by a literal, a constant or an Integer parameter",
        )
    return int(number)


def _array(value: Value, name: str, dimensions: int | None = None) -> ArrayValue:
    if not isinstance(value, np.ndarray) or (dimensions and value.ndim != dimensions):
        kind = {1: "a vector", 2: "a matrix"}.get(dimensions or 0, "an array")
        raise Refusal("shape-mismatch", f"the argument of '{name}' is not {kind}", hint="")
    return value


def _reduced(function: Callable[[Scalar, Scalar], Scalar], neutral: Scalar, a: Value) -> Value:
    return reduce(function, v.flat(a)) if v.flat(a) else neutral


def _extreme(
    name: str, function: Callable[[Scalar, Scalar], Scalar], a: Value, b: Value = None
) -> Value:
    if b is not None:
        return v.pairwise(function, a, b, f"'{name}'")
    scalars = v.flat(_array(a, name))
    if not scalars:
        raise Refusal("shape-mismatch", f"'{name}' of an empty array", hint="")
    return reduce(function, scalars)


def _cross(a: Value, b: Value) -> Value:
    a, b = (_array(x, "cross", 1) for x in (a, b))
    if len(a) != 3 or len(b) != 3:
        raise Refusal("shape-mismatch", "'cross' needs two vectors of three elements", hint="")

    def minor(i: int, j: int) -> Scalar:
        return v.subtract(v.multiply(a[i], b[j]), v.multiply(a[j], b[i]))

    return v.array([minor(1, 2), minor(2, 0), minor(0, 1)])


def _skew(a: Value) -> Value:
    a = _array(a, "skew", 1)
    if len(a) != 3:
        raise Refusal("shape-mismatch", "'skew' needs a vector of three elements", hint="")
    rows = [[0, v.negate(a[2]), a[1]], [a[2], 0, v.negate(a[0])], [v.negate(a[1]), a[0], 0]]
    return v.array([v.array(row) for row in rows])


def _square(n: int, element: Callable[[int, int], Scalar]) -> Value:
    check_size((n, n), "a matrix")
    return v.array([v.array([element(i, j) for j in range(n)]) for i in range(n)], (n, n))


def _identity(n: Value) -> Value:
    return _square(_size(n), lambda i, j: int(i == j))


def _diagonal(d: Value) -> Value:
    d = _array(d, "diagonal", 1)
    return _square(len(d), lambda i, j: d[i] if i == j else 0)


def _symmetric(a: Value) -> Value:
    a = _array(a, "symmetric", 2)
    return _square(len(a), lambda i, j: a[min(i, j), max(i, j)])


def _filled(value: Value, *sizes: Value) -> Value:
    return v.filled(value, tuple(map(_size, sizes)))


def _size_of(a: Value, dimension: Value = None) -> Value:
    sizes = v.shape(a)
    if dimension is None:
        return v.array(list(sizes))
    number = _size(dimension)
    if not 1 <= number <= len(sizes):
        raise Refusal("shape-mismatch", f"'size' has no dimension {number} here", hint="")
    return sizes[number - 1]


def _scalar(a: Value) -> Value:
    if len(v.flat(a)) != 1:
        raise Refusal("shape-mismatch", "the argument of 'scalar' has several elements", hint="")
    return v.flat(a)[0]


def _vector(a: Value) -> Value:
    if sum(n > 1 for n in v.shape(a)) > 1:
        raise Refusal("shape-mismatch", "the argument of 'vector' is a matrix", hint="")
    return v.array(v.flat(a))


def _matrix(a: Value) -> Value:
    if len(v.shape(a)) > 2:
        what = "the argument of 'matrix' has more than two dimensions"
        raise Refusal("shape-mismatch", what, hint="")
    return _promoted(a, 2).copy()


def _outer_product(a: Value, b: Value) -> Value:
    a, b = (_array(x, "outerProduct", 1) for x in (a, b))
    return v.matrix_product(a[:, np.newaxis], b[np.newaxis, :])


def _linspace(first: Value, last: Value, points: Value) -> Value:
    count = _size(points)
    if count < 2:
        raise Refusal("shape-mismatch", "'linspace' needs at least two points", hint="")
    check_size([count], "an array")
    step = v.divide(v.subtract(last, first), count - 1)
    return v.array([v.add(first, v.multiply(step, i)) for i in range(count)])


def _cat(dimension: Value, *arrays: Value) -> Value:
    axis = _size(dimension) - 1
    try:
        return np.concatenate([_array(x, "cat") for x in arrays], axis=axis)
    except (ValueError, IndexError):
        raise Refusal(
            "shape-mismatch", "the arrays of 'cat' do not fit together", hint=""
        ) from None


def _promoted(value: Value, dimensions: int) -> ArrayValue:
    """Append dimensions of size 1 to a value (Modelica 3.6, section 10.4.2)."""
    array = value if isinstance(value, np.ndarray) else v.array([value])
    return array.reshape(array.shape + (1,) * (dimensions - array.ndim))


def concatenate_matrix(parts: Sequence[Value], layout: Literal["horizontal", "vertical"]) -> Value:
    """Return ``[a, b]`` or ``[a; b]``."""
    try:
        axis = 1 if layout == "horizontal" else 0
        most = max(2, *(len(v.shape(part)) for part in parts))
        return np.concatenate([_promoted(part, most) for part in parts], axis=axis)
    except ValueError:
        raise Refusal(
            "shape-mismatch", "the parts of a matrix do not fit together", hint=""
        ) from None


BUILTINS: Mapping[str, Callable[..., Value]] = {
    **{name: partial(v.elementwise, partial(elementary, name)) for name in _ELEMENTARY},
    "atan2": lambda a, b: v.pairwise(_of_two(math.atan2, ca.atan2), a, b, "'atan2'"),
    "min": partial(_extreme, "min", _of_two(min, ca.fmin)),
    "max": partial(_extreme, "max", _of_two(max, ca.fmax)),
    "sum": partial(_reduced, v.add, 0),
    "product": partial(_reduced, v.multiply, 1),
    "cross": _cross,
    "skew": _skew,
    "transpose": lambda a: _array(a, "transpose", 2).T.copy(),
    "identity": _identity,
    "diagonal": _diagonal,
    "zeros": lambda n, *more: _filled(0, n, *more),
    "ones": lambda n, *more: _filled(1, n, *more),
    "fill": lambda value, n, *more: _filled(value, n, *more),
    "size": _size_of,
    "ndims": lambda a: len(v.shape(a)),
    "scalar": _scalar,
    "vector": _vector,
    "matrix": _matrix,
    "outerProduct": _outer_product,
    "symmetric": _symmetric,
    "linspace": _linspace,
    "cat": lambda dimension, first, *more: _cat(dimension, first, *more),
}


def _arity(function: Callable[..., object]) -> tuple[int, int]:
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return len(parameters) - 1, 99
    return sum(p.default is p.empty for p in parameters), len(parameters)
