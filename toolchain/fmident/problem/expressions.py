"""Expressions, relations and conditions of named quantities, such as ``"3 kg - m1"``.

The operators are Modelica's, ``+ - * / ^``, with ``**`` for ``^``. A unit follows a number, as in
``3 kg`` or ``2 N.m/rad``, without blanks inside, or in brackets, ``3 [kg]``. Conditions join
comparisons with ``and``, ``or`` and ``not``. Nothing is evaluated by Python: the parser knows
numbers, names, operators and the functions of :data:`FUNCTIONS`.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from fmident.errors import Code, ProblemError, UnitError, did_you_mean, shown
from fmident.units import DIMENSIONLESS, Unit, compatible, in_si, parse_unit, si_symbols

RELATIONS = {"<=": "<=", "≤": "<=", ">=": ">=", "≥": ">=", "=": "=", "==": "="}
"""What may stand between the sides of a constraint, and what it means."""

_LONGEST = 2000
_DEEPEST = 50
_MOST_TOKENS = 400
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_PART = r"(?:[^\W\d]\w*|'[^']*')(?:\[\s*\d+(?:\s*,\s*\d+)*\s*\])?"
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")
_OPERATOR = re.compile(r"\*\*|<=|>=|==|!=|<>|[-+*/^()<>=≤≥,]")
_SYMBOLS = {"&": "and", "|": "or", "!": "not", "~": "not"}
_BRACKETS = re.compile(r"\s*\[([^\[\]]*)\]")
_LETTER = re.compile(r"[^\W\d_]|[°%]")
_UNIT = re.compile(rf"(?:[^\W_]|[°%⁻]|[./·⋅](?={_LETTER.pattern}|\()|(?<=[./·⋅(])\(|\)|\^(?=\d))*")


Relation = Literal["=", "<=", ">="]


FUNCTIONS = (
    *("sqrt", "exp", "log", "log10", "abs", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh"),
)
"""Functions in expressions; ``log`` is the natural logarithm, as in Modelica."""

CONSTANTS = {"pi": math.pi}

WORDS = ("and", "or", "not")
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}
_WAYS = ({"<", "<=", "≤"}, {">", ">=", "≥"})
_CONDITION, _NOT, _COMPARISON, _SUM, _SIGN, _POWER = 1, 3, 4, 5, 7, 8
_BINDING = {"or": _CONDITION, "and": 2, **dict.fromkeys(COMPARISONS, _COMPARISON)}
_BINDING |= {"+": _SUM, "-": _SUM, "*": 6, "/": 6, "^": _POWER, "**": _POWER}
"""How tightly operators bind their operands."""

_NAMES_OF_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_NAMES_OF_CASADI = {"abs": "fabs"}


@dataclass(frozen=True)
class Expression:
    """An expression of parameters and numbers with units.

    Values are taken in SI units, whatever the units of the parameters are, and the result is
    converted to that of the parameter that it gives.

    Parameters
    ----------
    text
        Such as ``"3 kg - m1"``.
    given
        Its tree where the text is what it stems from, such as a constraint; else it is read.

    Raises
    ------
    ExpressionError
        It cannot be read.
    """

    text: str
    given: Node | None = None

    def __post_init__(self) -> None:
        if self.given is None:
            read_expression(self.text)

    @property
    def tree(self) -> Node:
        """Syntax tree of the expression."""
        return read_expression(self.text) if self.given is None else self.given

    @property
    def names(self) -> frozenset[str]:
        """Names it contains, as written."""
        return names_in(self.tree)

    def __str__(self) -> str:
        return self.text


def names_in(*trees: Node) -> frozenset[str]:
    """Return the names in syntax trees."""
    return frozenset(n.name for tree in trees for n in nodes(tree) if isinstance(n, Name))


def known_name(name: str, parameters: object) -> str | None:
    """Return the parameter that a name, possibly quoted, refers to; ``None`` if there is none.

    `parameters` is a collection of names, or a mapping by name.
    """
    if name in parameters:  # type: ignore[operator]
        return name
    plain = name[1:-1]
    quoted = name.startswith("'") and name.endswith("'") and "'" not in plain
    return plain if quoted and plain in parameters else None  # type: ignore[operator]


class ExpressionError(ProblemError):
    """An expression that cannot be parsed or is inconsistent.

    `position` is the offset in the expression `text`, counted from 0; the other arguments
    are as for every problem error.
    """

    def __init__(
        self,
        message: str,
        # With defaults, so that it can be unpickled: an exception is made anew from its message.
        text: str = "",
        position: int = 0,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.text = text
        self.position = position


@dataclass(frozen=True)
class Number:
    """A number with an optional unit.

    `value` is in its unit, `bare` says whether the unit was written without brackets, and
    `position` is the offset in the text, counted from 0.
    """

    value: float
    unit: str | None = None
    bare: bool = False
    position: int = 0


@dataclass(frozen=True)
class Name:
    """The name of a quantity."""

    name: str
    position: int = 0


@dataclass(frozen=True)
class Operation:
    """``+ - * / ^``, a function, or ``and``, ``or`` and ``not``, applied to operands."""

    operator: str
    operands: tuple[Node, ...]
    position: int = 0


@dataclass(frozen=True)
class Comparison:
    """Operands and the operators between them: ``low < x <= high`` has three operands."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]
    position: int = 0


Node: TypeAlias = Number | Name | Operation | Comparison


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants from left to right."""
    yield node
    if isinstance(node, Operation | Comparison):
        for operand in node.operands:
            yield from nodes(operand)


@functools.lru_cache(maxsize=1024)
def read_expression(text: str) -> Node:
    """Return the syntax tree of an expression.

    Raises `ExpressionError` if it cannot be parsed or is a relation between expressions.
    """
    parser = _Parser(text, tokens(text))
    tree = parser.parse(_SUM)
    here = parser.here
    if here is not None and here.text in RELATIONS:
        raise parser.error(
            f"'{here.text}' makes a constraint of it, not a value",
            hint="write the value alone; constraints belong into the table [constraints]",
        )
    parser.end()
    return tree


def read_condition(text: str) -> Node:
    """Return the syntax tree of a condition; raise `ExpressionError` if it cannot be parsed."""
    parser = _Parser(text, tokens(text, condition=True))
    tree = parser.condition(_CONDITION)
    if (here := parser.here) is not None and here.text in _BINDING:
        raise parser.error(
            f"unexpected '{here.text}'",
            hint="both sides are true or false: join them with 'and' or 'or'",
        )
    parser.end()
    return tree


def read_relation(text: str, *, complete: bool = True) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Return the sides of a constraint such as ``"Fs >= Fc"`` and the relations between them.

    There are two sides and one relation, or three and two as in ``0 <= x <= 1``; a relation
    is ``"="``, ``"<="`` or ``">="``. With `complete`, at least one is required. Raises
    `ExpressionError`.
    """
    parser = _Parser(text, tokens(text))
    sides, relations = [parser.parse(_SUM)], []
    while parser.here is not None:
        relations.append(parser.relation())
        sides.append(parser.parse(_SUM))
    if not relations and complete:
        raise ExpressionError(
            f"'{shown(text)}' is not a constraint: a constraint compares two sides",
            text,
            len(text),
            hint="write '>=', '<=' or '=' between two sides, such as 'Fs >= Fc'",
        )
    if len(relations) > 2 or (len(relations) == 2 and len(set(relations)) > 1):
        raise ExpressionError(
            f"'{shown(text)}' compares more than an expression with two limits",
            text,
            0,
            hint="write each comparison on a line of its own, or 'low <= expression <= high'",
        )
    return tuple(sides), tuple(relations)


@dataclass(frozen=True)
class Token:
    """A number with its unit, a name, or an operator; `kind` says which."""

    kind: str
    text: str
    position: int
    number: Number | None = None


def tokens(text: str, *, condition: bool = False) -> list[Token]:
    """Return the tokens of an expression, or of a condition, which has words for operators.

    Raises `ExpressionError` for an invalid character or an excessive number of tokens.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters is too long", text, 0)
    token_list: list[Token] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        token, position = _token(text, position, condition)
        token_list.append(token)
    if len(token_list) > _MOST_TOKENS:
        raise ExpressionError(
            f"an expression of {len(token_list)} numbers, names and operators is too long",
            text,
            token_list[_MOST_TOKENS].position,
            hint="introduce dependent parameters for its parts",
        )
    return token_list


def _token(text: str, position: int, condition: bool) -> tuple[Token, int]:
    if number := _NUMBER.match(text, position):
        unit, bare, end = _unit_after(text, number.end())
        if condition and bare and unit in WORDS:
            unit, bare, end = None, False, number.end()
        if not math.isfinite(float(number[0])):
            raise ExpressionError(f"the number {number[0]} is too large", text, position)
        value = Number(float(number[0]), unit, bare, position)
        return Token("number", text[position:end], position, value), end
    if name := _NAME.match(text, position):
        kind = "operator" if condition and name[0] in WORDS else "name"
        return Token(kind, name[0], position), name.end()
    if match := _OPERATOR.match(text, position):
        return Token("operator", match[0], position), match.end()
    functions = ", ".join(FUNCTIONS)
    hint = (
        "an expression holds numbers with units, names of parameters, + - * / ^ ( ) and "
        + functions
    )
    if condition:
        hint = (
            "a condition holds names of signals, numbers, + - * / ^ ( ), comparisons such as '<',"
            f" 'and', 'or', 'not', and {functions}"
        )
        if text[position] in _SYMBOLS:
            hint = f"write '{_SYMBOLS[text[position]]}'"
    message = f"'{shown(text)}' cannot be read: unexpected '{text[position]}'"
    raise ExpressionError(message, text, position, hint=hint)


def _unit_after(text: str, start: int) -> tuple[str | None, bool, int]:
    """Return the unit after a number, whether it has no brackets, and its end position."""
    if brackets := _BRACKETS.match(text, start):
        return brackets[1].strip(), False, brackets.end()
    position = start
    while position < len(text) and text[position].isspace():
        position += 1
    if position == len(text) or not _LETTER.match(text[position]):
        return None, False, start
    match = _UNIT.match(text, position)
    assert match is not None  # an empty one at least
    opened = [*itertools.accumulate((c == "(") - (c == ")") for c in match[0])]
    unit = match[0][: opened.index(-1) if -1 in opened else None]
    return unit, True, position + len(unit)


class _Parser:
    """Operator-precedence parser (Pratt, Top Down Operator Precedence, 1973)."""

    def __init__(self, text: str, token_list: list[Token]) -> None:
        self._text, self._tokens, self._next, self._depth = text, token_list, 0, 0

    @property
    def here(self) -> Token | None:
        """The next token; ``None`` at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def error(self, what: str, hint: str | None = None) -> ExpressionError:
        here = self.here
        position = len(self._text) if here is None else here.position
        message = f"'{shown(self._text)}' cannot be read: {what}"
        return ExpressionError(message, self._text, position, hint=hint)

    def end(self) -> None:
        """Raise if tokens are left over."""
        here = self.here
        if here is None:
            return
        hint = None
        if here.kind != "operator":
            hint = "an operator is missing: write products with '*'"
            if here.kind == "number":
                hint += "; a unit that begins with a number needs brackets, as in '0.3 [1/s]'"
        elif here.text == ",":
            hint = "write decimals with a point"
        raise self.error(f"unexpected '{shown(here.text)}'", hint)

    def relation(self) -> str:
        text = self._operator()
        if text in RELATIONS:
            self._next += 1
            return RELATIONS[text]
        if text in ("<", ">"):
            raise self.error(
                f"'{text}' excludes the limit itself, which a search cannot do",
                hint=f"write '{text}='; for a distance add it, as in 'a {text}= b + 1 N'",
            )
        if text in ("!=", "<>"):
            raise self.error(f"'{text}' is not a constraint that a search can keep")
        self.end()
        raise AssertionError("unreachable")

    def parse(self, least: int) -> Node:
        """Parse operands joined by operators that bind at least that tightly."""
        if self._depth > _DEEPEST:
            raise self.error("it is nested too deeply")
        left = self._operand(least)
        while _BINDING.get(sign := self._operator(), 0) >= least:
            if sign in WORDS:
                self._refuse_value(left)
            elif _is_condition(left):
                break
            left = self._comparison(left) if sign in COMPARISONS else self._operation(left)
        return left

    def condition(self, least: int) -> Node:
        tree = self.parse(least)
        self._refuse_value(tree)
        return tree

    def _operator(self) -> str:
        """Return the next token if it is an operator; else an empty text."""
        here = self.here
        return here.text if here is not None and here.kind == "operator" else ""

    def _take(self, text: str) -> bool:
        taken = self._operator() == text
        self._next += taken
        return taken

    def _nested(self, least: int) -> Node:
        self._depth += 1
        inner = self.parse(least)
        self._depth -= 1
        return inner

    def _closed(self) -> None:
        if not self._take(")"):
            raise self.error("a ')' is missing")

    def _refuse_value(self, tree: Node) -> None:
        if _is_condition(tree):
            return
        if self.here is not None and self._operator() not in (*WORDS, ")"):
            self.end()
        raise self.error(
            "this is a value, which is neither true nor false",
            hint="compare it, as in 'abs(v) < 0.01'",
        )

    def _operand(self, least: int) -> Node:
        here = self.here
        if here is None:
            raise self.error("an operand is missing at its end")
        self._next += 1
        if here.number is not None:
            return here.number
        if here.kind == "name":
            return self._call(here) if self._take("(") else Name(here.text, here.position)
        if here.text == "(":
            inner = self._nested(_SUM if least > _NOT else _CONDITION)
            self._closed()
            return inner
        if here.text == "+":
            return self._nested(_SIGN)
        if here.text == "-":
            return Operation("-", (self._nested(_SIGN),), here.position)
        if here.text == "not" and least <= _NOT:
            inner = self._nested(_NOT)
            self._refuse_value(inner)
            return Operation("not", (inner,), here.position)
        self._next -= 1
        hint = "a comparison is missing there" if here.text in WORDS else None
        raise self.error(f"unexpected '{here.text}'", hint)

    def _call(self, name: Token) -> Node:
        if name.text not in FUNCTIONS:
            raise ExpressionError(
                f"there is no function '{name.text}'",
                self._text,
                name.position,
                hint=did_you_mean(name.text, FUNCTIONS, kind="function")
                + "; write products with '*'",
                code=Code.UNKNOWN_NAME,
            )
        inner = self._nested(_SUM)
        if self._operator() == ",":
            raise self.error(f"'{name.text}' takes one argument")
        self._closed()
        return Operation(name.text, (inner,), name.position)

    def _operation(self, left: Node) -> Node:
        """Parse an operator other than a comparison, and its right operand."""
        sign, before = self._tokens[self._next], self._tokens[self._next - 1]
        binding = _BINDING[sign.text]
        if binding == _POWER and before.number is not None and before.number.unit is not None:
            number, text = before.number, sign.text
            raise self.error(
                f"it is not clear whether '{text}' belongs to the unit '{number.unit}'",
                hint=f"write '({number.value:g} {number.unit}){text}...' for a power of the whole",
            )
        self._next += 1
        if binding == _POWER:
            return Operation("^", (left, self._nested(_POWER)), sign.position)
        right = self.parse(binding + 1)
        if sign.text in WORDS:
            self._refuse_value(right)
        return Operation(sign.text, (left, right), sign.position)

    def _comparison(self, left: Node) -> Node:
        operands, operators = [left], []
        while (sign := self._operator()) in COMPARISONS:
            self._next += 1
            operators.append(sign)
            operands.append(self.parse(_SUM))
        one_way = any({*operators} <= way for way in _WAYS)
        if len(operators) > 1 and not (one_way and len(operators) == 2):
            raise self.error(
                "a chain has at most two comparisons, in one direction",
                hint="join two comparisons with 'and', or write 'low < expression < high'",
            )
        return Comparison(tuple(operators), tuple(operands), operands[0].position)


def _is_condition(node: Node) -> bool:
    return isinstance(node, Comparison) or (isinstance(node, Operation) and node.operator in WORDS)


@dataclass(frozen=True)
class Constraint:
    """A comparison, ``"="``, ``"<="`` or ``">="``, of two expressions.

    Both halves of ``low <= x <= high`` share the user's `name`. `text` is the comparison,
    such as ``"Fs >= Fc"``, and `written` the user's text, to which positions refer.
    """

    name: str
    text: str
    left: Node
    right: Node
    relation: Relation
    written: str

    @property
    def equality(self) -> bool:
        """Whether it is an equality."""
        return self.relation == "="

    @property
    def names(self) -> frozenset[str]:
        """Names it contains, as written."""
        return names_in(self.left, self.right)

    @property
    def not_kept(self) -> str:
        """A statement that the initial values violate it."""
        return f"the initial values do not keep the constraint {self}"

    def __str__(self) -> str:
        return f"'{self.name}' ({self.text})"


def read_constraint(name: str, text: str) -> tuple[Constraint, ...]:
    """Return the comparisons of a text: one, or two for ``low <= x <= high``.

    Raises `ExpressionError` if it cannot be read.
    """
    sides, relations = read_relation(text)
    signs = [t for t in tokens(text) if t.text in RELATIONS]
    begins = [0, *(t.position + len(t.text) for t in signs)]
    ends = [*(t.position for t in signs), len(text)]
    texts = [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True)]
    return tuple(
        Constraint(
            name,
            f"{texts[k]} {relation} {texts[k + 1]}",
            sides[k],
            sides[k + 1],
            relation,  # type: ignore[arg-type]
            text,
        )
        for k, relation in enumerate(relations)
    )


def number_in_si(number: Number) -> float:
    """Return a number in SI units."""
    return number.value * (1.0 if number.unit is None else parse_unit(number.unit).factor)


def value_of(node: Node, values: Mapping[str, float]) -> float:
    """Return the value of an expression in SI units; NaN where a part of it is not finite.

    `values` has the parameters by name, in SI units.
    """
    with np.errstate(all="raise", under="ignore"):
        try:
            value = float(evaluated(node, values))
        except FloatingPointError:
            return math.nan
    return value if math.isfinite(value) else math.nan


def evaluated(node: Node, values: Mapping[str, Any], library: Any = np) -> Any:
    """Return an expression in SI units of NumPy's numbers, or with CasADi of its symbols."""
    match node:
        case Number():
            return np.float64(number_in_si(node))
        case Name(name):
            value = values[name]
            return np.float64(value) if library is np else value
        case Operation(operator, operands):
            return applied(operator, [evaluated(o, values, library) for o in operands], library)
    raise AssertionError("a condition has no value")


def applied(operator: str, operands: Sequence[Any], library: Any = np) -> Any:
    """Return an arithmetic operation, or a function of `library`, of operands."""
    if len(operands) == 2:
        return _ARITHMETIC[operator](*operands)
    if operator == "-":
        return -operands[0]
    other_names = _NAMES_OF_NUMPY if library is np else _NAMES_OF_CASADI
    return getattr(library, other_names.get(operator, operator))(operands[0])


def check_numbers(node: Node, units: Mapping[str, Unit | None], text: str) -> None:
    """Raise `ExpressionError` for units of numbers that cannot be parsed or are ambiguous.

    The unit of ``3 N/m`` extends to the blank, even if there is a parameter 'm': if that
    was meant, the dimensions do not match. If the parameter has no unit, nothing would
    reveal the mistake.
    """
    for number in nodes(node):
        if not isinstance(number, Number) or number.unit is None:
            continue
        try:
            unit = parse_unit(number.unit)
        except UnitError as error:
            raise ExpressionError(
                error.message, text, number.position, hint=error.hint, code=error.code
            ) from error
        if unit.offset:
            raise ExpressionError(
                f"'{number.value:g} {number.unit}' could be a temperature or a difference of two",
                text,
                number.position,
                hint=f"write it in K: {number.value * unit.factor + unit.offset:g} K for the"
                f" temperature, {number.value * unit.factor:g} K for the difference",
            )
        for part in doubtful_parts(number):
            if part in units and units[part] is None:
                raise ExpressionError(
                    f"it is not clear whether '{part}' in '{number.value:g} {number.unit}' is a"
                    " unit or the parameter of that name",
                    text,
                    number.position,
                    hint=f"write '{number.value:g} [{number.unit}]' for the unit, or blanks around"
                    " '/' for the parameter",
                )


def doubtful_parts(number: Number) -> tuple[str, ...]:
    """Return the parts of a number's unit after a '/', which may be meant as parameters."""
    if not number.bare or number.unit is None:
        return ()
    return tuple(part.strip("()") for part in number.unit.split("/")[1:])


def advised(error: ExpressionError, trees: Iterable[Node], names: Container[str]) -> None:
    """Add to an error's hint which parameter names were read as units."""
    for number in (n for tree in trees for n in nodes(tree) if isinstance(n, Number)):
        for part in doubtful_parts(number):
            if part in names:
                error.hint = (
                    f"'{part}' in '{number.value:g} {number.unit}' is read as a unit: write blanks"
                    f" around '/' if the parameter is meant; else {error.hint}"
                )
                return


class Units:
    """Bottom-up inference of the units of an expression, up to a factor.

    In `units`, ``None`` marks a parameter without a unit, which is compatible with
    everything. Raises `ExpressionError` if quantities of different dimensions are added or
    compared, or if the argument of a function or an exponent has a dimension.
    """

    def __init__(self, units: Mapping[str, Unit | None], text: str) -> None:
        self._units, self._text = units, text

    def of(self, node: Node) -> Unit | None:
        """Return the unit of a node; ``None`` if it is unknown."""
        match node:
            case Number():
                return DIMENSIONLESS if node.unit is None else parse_unit(node.unit)
            case Name(name):
                return self._units.get(name)
            case Operation("-", (inner,)):
                return self.of(inner)
            case Operation("+" | "-", (left, right), position):
                return self.same(left, right, position, "added to")
            case Operation("^", (left, right), position):
                return self._power(left, right, position)
            case Operation(sign, (left, right)):
                first, second = self.of(left), self.of(right)
                if first is None or second is None:
                    return None
                return first * second if sign == "*" else first / second
            case Operation(function, (inner,), position):
                return self._call(function, inner, position)
        raise AssertionError("a condition has no unit")

    def same(self, left: Node, right: Node, position: int, how: str) -> Unit | None:
        """Return the unit of two nodes that must have the same dimension."""
        first, second = self.of(left), self.of(right)
        if first is None or second is None or compatible(first, second):
            return second if first is None else first
        for plain, other in ((left, second), (right, first)):
            if isinstance(plain, Number) and plain.unit is None:
                if plain.value == 0.0:
                    return other
                symbols = _symbols(other)
                raise self._differ(
                    f"the number {plain.value:g} has no unit, but it is {how} a quantity in"
                    f" {symbols}",
                    plain.position,
                    f"write '{plain.value:g} {symbols}', or another unit that fits",
                )
        raise self._differ(
            f"a quantity in {_symbols(second)} cannot be {how} one in {_symbols(first)}",
            position,
            "correct the expression, or the units of its parameters",
        )

    def _differ(self, message: str, position: int, hint: str | None = None) -> ExpressionError:
        return ExpressionError(message, self._text, position, hint, Code.UNITS_DIFFER)

    def _call(self, function: str, inner: Node, position: int) -> Unit | None:
        unit = self.of(inner)
        if unit is None:
            return None if function in ("sqrt", "abs") else DIMENSIONLESS
        if function == "abs":
            return unit
        if function == "sqrt":
            return unit ** Fraction(1, 2)
        if not unit.dimensionless:
            raise self._differ(
                f"'{function}' needs a number or an angle, not a quantity in {_symbols(unit)}",
                position,
                "divide its argument by a quantity of the same kind",
            )
        return DIMENSIONLESS

    def _power(self, base: Node, exponent: Node, position: int) -> Unit | None:
        unit, power = self.of(base), self.of(exponent)
        if power is not None and not power.dimensionless:
            raise self._differ(f"an exponent cannot be a quantity in {_symbols(power)}", position)
        if unit is None or unit.dimensionless:
            return unit
        value = constant_value(exponent)
        if value is None:
            raise self._differ(
                f"a quantity in {_symbols(unit)} needs a number for its exponent",
                position,
                "divide the base by a quantity of the same kind",
            )
        return unit ** Fraction(value).limit_denominator(12)


def constant_value(node: Node) -> float | None:
    """Return the value of an expression of plain numbers; ``None`` if it has names or units."""
    if names_in(node) or any(isinstance(n, Number) and n.unit for n in nodes(node)):
        return None
    return value_of(node, {})


def _symbols(unit: Unit) -> str:
    if unit.dimensionless:
        return "1"
    return unit.text if in_si(unit) else si_symbols(unit)
