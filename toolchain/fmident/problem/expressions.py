"""Expressions and relations between parameters, such as ``"3 kg - m1"``: from text to tree.

The operators are Modelica's, ``+ - * / ^``, with ``**`` for ``^``. A unit follows a number, as in
``3 kg`` or ``2 N.m/rad``, without blanks inside, or in brackets, ``3 [kg]``. Nothing is evaluated
by Python: the reader knows numbers, names, operators and the functions of :data:`FUNCTIONS`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fmident.errors import Code, ProblemError, UnitError, did_you_mean, shown
from fmident.units import Unit, parse_unit

RELATIONS = {"<=": "<=", "≤": "<=", ">=": ">=", "≥": ">=", "=": "=", "==": "="}
"""What may stand between the sides of a constraint, and what it means."""

_LONGEST = 2000
_DEEPEST = 50
_MOST_TOKENS = 400
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_PART = r"(?:[^\W\d]\w*|'[^']*')(?:\[\s*\d+(?:\s*,\s*\d+)*\s*\])?"
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")
_OPERATOR = re.compile(r"\*\*|<=|>=|==|!=|<>|[-+*/^()<>=≤≥,]")
_BRACKETS = re.compile(r"\s*\[([^\[\]]*)\]")
_LETTER = re.compile(r"[^\W\d_]|[°%]")


Relation = Literal["=", "<=", ">="]


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
            read(self.text)

    @property
    def tree(self) -> Node:
        """Syntax tree of the expression."""
        return read(self.text) if self.given is None else self.given

    @property
    def names(self) -> frozenset[str]:
        """Names it contains, as written."""
        return names_in(self.tree)

    def __str__(self) -> str:
        return self.text


@functools.lru_cache(maxsize=1024)
def read(text: str) -> Node:
    """Return the tree of an expression; see :func:`read_expression`."""
    return read_expression(text)


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


def unit_or_none(text: str | None) -> Unit | None:
    """Return a unit; ``None`` if the text is ``None`` or cannot be parsed."""
    if text is None:
        return None
    try:
        return parse_unit(text)
    except UnitError:
        return None


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
class Token:
    """A number with its unit, a name, or an operator; `kind` says which."""

    kind: str
    text: str
    position: int
    number: Number | None = None


def read_expression(text: str) -> Node:
    """Return the syntax tree of an expression.

    Raises `ExpressionError` if it cannot be parsed or is a relation between expressions.
    """
    reader = TreeReader(text, tokens(text))
    tree = reader.sum(0)
    here = reader.here
    if here is not None and here.text in RELATIONS:
        raise reader.error(
            f"'{here.text}' makes a constraint of it, not a value",
            hint="write the value alone; constraints belong into the table [constraints]",
        )
    reader.end()
    return tree


def sides_of(text: str) -> tuple[str, ...]:
    """Return the texts of those sides of a constraint that can be parsed."""
    texts, begin = [], 0
    for token in tokens(text):
        if token.text in RELATIONS:
            texts.append(text[begin : token.position].strip())
            begin = token.position + len(token.text)
    return (*texts, text[begin:].strip())


def read_relation(text: str, *, complete: bool = True) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Return the sides of a constraint such as ``"Fs >= Fc"`` and the relations between them.

    There are two sides and one relation, or three and two as in ``0 <= x <= 1``; a relation
    is ``"="``, ``"<="`` or ``">="``. With `complete`, at least one is required. Raises
    `ExpressionError`.
    """
    reader = TreeReader(text, tokens(text))
    sides, relations = [reader.sum(0)], []
    while reader.here is not None:
        relations.append(reader.relation())
        sides.append(reader.sum(0))
    if not relations and complete:
        raise ExpressionError(
            f"'{shown(text)}' says nothing: a constraint compares two sides",
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


def tokens(text: str, words: Container[str] = ()) -> list[Token]:
    """Return the tokens of an expression.

    `words` are not read as units, even after a number. Raises `ExpressionError` for an
    invalid character or an excessive number of tokens.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters is too long", text, 0)
    token_list: list[Token] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        token, position = _token(text, position, words)
        token_list.append(token)
    if len(token_list) > _MOST_TOKENS:
        raise ExpressionError(
            f"an expression of {len(token_list)} numbers, names and operators is too long",
            text,
            token_list[_MOST_TOKENS].position,
            hint="introduce dependent parameters for its parts",
        )
    return token_list


def _token(text: str, position: int, words: Container[str]) -> tuple[Token, int]:
    if number := _NUMBER.match(text, position):
        unit, bare, end = _unit_after(text, number.end())
        if bare and unit in words:
            unit, bare, end = None, False, number.end()
        if not math.isfinite(float(number[0])):
            raise ExpressionError(f"the number {number[0]} is beyond all numbers", text, position)
        value = Number(float(number[0]), unit, bare, position)
        return Token("number", text[position:end], position, value), end
    for kind, pattern in (("name", _NAME), ("operator", _OPERATOR)):
        if match := pattern.match(text, position):
            return Token(kind, match[0], position), match.end()
    raise ExpressionError(
        f"'{shown(text)}' cannot be read: unexpected '{text[position]}'",
        text,
        position,
        hint="an expression holds numbers with units, names of parameters, + - * / ^ ( ) and "
        + ", ".join(FUNCTIONS),
    )


def _unit_after(text: str, start: int) -> tuple[str | None, bool, int]:
    """Return the unit after a number, whether it has no brackets, and its end position."""
    if brackets := _BRACKETS.match(text, start):
        return brackets[1].strip(), False, brackets.end()
    position = start
    while position < len(text) and text[position].isspace():
        position += 1
    if position == len(text) or not _LETTER.match(text[position]):
        return None, False, start
    end, depth = position, 0
    while end < len(text):
        here, after = text[end], text[end + 1 : end + 2]
        if here in "./·⋅":
            if not (_LETTER.match(after) or after == "("):
                break
        elif here == "(":
            if text[end - 1] not in "./·⋅(":
                break
            depth += 1
        elif here == ")":
            if not depth:
                break
            depth -= 1
        elif here == "^":
            if not after.isdigit():
                break
        elif not (here.isalnum() or here in "°%⁻"):
            break
        end += 1
    return text[position:end], True, end


class TreeReader:
    """Recursive-descent parser of an expression."""

    def __init__(self, text: str, found: Sequence[Token]) -> None:
        self._text, self._tokens, self._next = text, found, 0

    @property
    def here(self) -> Token | None:
        """The next token; ``None`` at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    @property
    def rest(self) -> Sequence[Token]:
        """The remaining tokens."""
        return self._tokens[self._next :]

    def error(self, what: str, hint: str | None = None) -> ExpressionError:
        """Return an error at the next token."""
        here = self.here
        position = len(self._text) if here is None else here.position
        return ExpressionError(
            f"'{shown(self._text)}' cannot be read: {what}", self._text, position, hint=hint
        )

    def take(self, *words: str, kind: str = "operator") -> Token | None:
        """Consume and return the next token if it is one of `words`."""
        here = self.here
        if here is not None and here.kind == kind and here.text in words:
            self._next += 1
            return here
        return None

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
        """Return the relation between two sides of a constraint."""
        here = self.here
        if here is not None and here.text in RELATIONS:
            self._next += 1
            return RELATIONS[here.text]
        if here is not None and here.text in ("<", ">"):
            raise self.error(
                f"'{here.text}' excludes the limit itself, which no search can do",
                hint=f"write '{here.text}='; for a distance add it, as in 'a {here.text}= b + 1 N'",
            )
        if here is not None and here.text in ("!=", "<>"):
            raise self.error(f"'{here.text}' is not a constraint that a search can keep")
        self.end()
        raise AssertionError("unreachable")

    def refuse_depth(self, depth: int) -> None:
        """Raise if the nesting is excessively deep."""
        if depth > _DEEPEST:
            raise self.error("it is nested too deeply")

    def sum(self, depth: int) -> Node:
        """Parse a sum of terms."""
        self.refuse_depth(depth)
        node = self.product(depth)
        while token := self.take("+", "-"):
            node = Binary(token.text, node, self.product(depth), token.position)
        return node

    def product(self, depth: int) -> Node:
        """Parse a product of factors."""
        node = self.signed(depth)
        while token := self.take("*", "/"):
            node = Binary(token.text, node, self.signed(depth), token.position)
        return node

    def signed(self, depth: int) -> Node:
        """Parse a power with its sign."""
        self.refuse_depth(depth)
        if token := self.take("-"):
            return Negative(self.signed(depth + 1), token.position)
        if self.take("+"):
            return self.signed(depth + 1)
        return self.power(depth)

    def power(self, depth: int) -> Node:
        """Parse an atom or a power of it."""
        bare = self.here is not None and self.here.number is not None
        base = self.atom(depth)
        here = self.here
        token = self.take("^", "**")
        if token is None:
            return base
        if bare and isinstance(base, Number) and base.unit is not None and here is not None:
            self._next -= 1
            raise self.error(
                f"it is not clear whether '{here.text}' belongs to the unit '{base.unit}'",
                hint=f"write '({base.value:g} {base.unit}){here.text}...' for a power of the whole",
            )
        return Binary("^", base, self.signed(depth + 1), token.position)

    def atom(self, depth: int) -> Node:
        """Parse a number, a name, a call, or an expression in parentheses."""
        here = self.here
        if here is None:
            raise self.error("something is missing at its end")
        if here.number is not None:
            self._next += 1
            return here.number
        if here.kind == "name":
            self._next += 1
            if self.take("("):
                return self._call(here, depth)
            return Name(here.text, here.position)
        if self.take("("):
            inner = self.sum(depth + 1)
            self.closed()
            return inner
        raise self.error(f"unexpected '{here.text}'")

    def _call(self, name: Token, depth: int) -> Node:
        if name.text not in FUNCTIONS:
            raise ExpressionError(
                f"there is no function '{name.text}'",
                self._text,
                name.position,
                hint=did_you_mean(name.text, FUNCTIONS, kind="function")
                + "; write products with '*'",
                code=Code.UNKNOWN_NAME,
            )
        inner = self.sum(depth + 1)
        if self.here is not None and self.here.text == ",":
            raise self.error(f"'{name.text}' takes one argument")
        self.closed()
        return Call(name.text, inner, name.position)

    def closed(self) -> None:
        """Consume a closing parenthesis."""
        if not self.take(")"):
            raise self.error("a ')' is missing")


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
    """The name of a parameter."""

    name: str
    position: int = 0


@dataclass(frozen=True)
class Negative:
    """The negation of a node."""

    inner: Node
    position: int = 0


@dataclass(frozen=True)
class Binary:
    """Two nodes combined by ``+``, ``-``, ``*``, ``/`` or ``^``."""

    operator: str
    left: Node
    right: Node
    position: int = 0


@dataclass(frozen=True)
class Call:
    """A call of one of `FUNCTIONS` with one argument."""

    function: str
    inner: Node
    position: int = 0


Node: TypeAlias = Number | Name | Negative | Binary | Call


@dataclass(frozen=True)
class Function:
    """A function of one number with its first two derivatives.

    They may raise ``ValueError`` or ``ZeroDivisionError`` where undefined.
    """

    value: Callable[[float], float]
    first: Callable[[float], float]
    second: Callable[[float], float]


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0


FUNCTIONS: dict[str, Function] = {
    "sqrt": Function(math.sqrt, lambda x: 0.5 / math.sqrt(x), lambda x: -0.25 / (x * math.sqrt(x))),
    "exp": Function(math.exp, math.exp, math.exp),
    "log": Function(math.log, lambda x: 1.0 / x, lambda x: -1.0 / x**2),
    "log10": Function(
        math.log10, lambda x: 1.0 / (x * math.log(10.0)), lambda x: -1.0 / (x**2 * math.log(10.0))
    ),
    "abs": Function(abs, _sign, lambda _: 0.0),
    "sin": Function(math.sin, math.cos, lambda x: -math.sin(x)),
    "cos": Function(math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x)),
    "tan": Function(
        math.tan,
        lambda x: 1.0 / math.cos(x) ** 2,
        lambda x: 2.0 * math.tan(x) / math.cos(x) ** 2,
    ),
    "asin": Function(
        math.asin,
        lambda x: 1.0 / math.sqrt(1.0 - x**2),
        lambda x: x / (1.0 - x**2) ** 1.5,
    ),
    "acos": Function(
        math.acos,
        lambda x: -1.0 / math.sqrt(1.0 - x**2),
        lambda x: -x / (1.0 - x**2) ** 1.5,
    ),
    "atan": Function(
        math.atan, lambda x: 1.0 / (1.0 + x**2), lambda x: -2.0 * x / (1.0 + x**2) ** 2
    ),
    "sinh": Function(math.sinh, math.cosh, math.sinh),
    "cosh": Function(math.cosh, math.sinh, math.cosh),
    "tanh": Function(
        math.tanh,
        lambda x: 1.0 - math.tanh(x) ** 2,
        lambda x: -2.0 * math.tanh(x) * (1.0 - math.tanh(x) ** 2),
    ),
}
"""By name; ``log`` is the natural logarithm, as in Modelica."""

CONSTANTS = {"pi": math.pi}


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants from left to right."""
    yield node
    if isinstance(node, Binary):
        yield from nodes(node.left)
        yield from nodes(node.right)
    elif isinstance(node, Negative | Call):
        yield from nodes(node.inner)


def degree(node: Node, degrees: dict[str, float]) -> float:
    """Return the degree of an expression as a polynomial in the searched parameters.

    It is 0 for a constant, 1 for an affine function, and infinite if it is not a
    polynomial. In `degrees`, a held parameter has 0 and a searched one 1.
    """
    match node:
        case Number():
            return 0.0
        case Name(name):
            return degrees.get(name, 0.0)
        case Negative(inner):
            return degree(inner, degrees)
        case Call(_, inner):
            return math.inf if degree(inner, degrees) else 0.0
        case Binary(operator, left, right):
            first, second = degree(left, degrees), degree(right, degrees)
            if operator in "+-":
                return max(first, second)
            if operator == "*":
                return first + second
            if not second and operator == "/":
                return first
            if not second and isinstance(right, Number) and right.value in (1.0, 2.0, 3.0):
                return first * right.value
            return math.inf if first or second else 0.0


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

    Parameters
    ----------
    name
        Of the constraint.
    text
        Such as ``"m1 + m2 = 3 kg"``.

    Raises
    ------
    fmident.problem.expressions.ExpressionError
        It cannot be read.
    """
    sides, relations = read_relation(text)
    texts = sides_of(text)
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
