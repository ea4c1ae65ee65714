"""Names, inheritance and annotations of classes: what a picture of a class consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drawing.tree import (
    BINDING,
    Call,
    Choice,
    Class,
    Component,
    Connection,
    Expression,
    Items,
    Operation,
    Ref,
)

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Values:
    """Values of parameters by name: literals as numbers or truth values, and texts to show."""

    known: Mapping[str, Expression] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Placed:
    """A component with the class it is of; `kind` is None where that class is not at hand."""

    component: Component
    owner: Class
    kind: Class | None


class Libraries:
    """Libraries by name; resolves names as Modelica does (specification 3.4, chapter 5)."""

    def __init__(self, roots: Sequence[Class]) -> None:
        self.roots = {root.name: root for root in roots}

    def find(self, name: str, scope: Class | None) -> Class | None:
        """Class of a name as seen from inside `scope`."""
        first, _, rest = name.lstrip(".").partition(".")
        begin = None if name.startswith(".") else scope
        while begin is not None:
            found = self._member(begin, first, set())
            if found is None and first in begin.imports:
                found = self.find(begin.imports[first], None)
            if found is not None:
                return self._inside(found, rest)
            begin = begin.parent
        root = self.roots.get(first)
        return self._inside(root, rest) if root else None

    def _inside(self, it: Class, rest: str) -> Class | None:
        found: Class | None = it
        for part in rest.split(".") if rest else ():
            found = self._member(found, part, set()) if found else None
        return found

    def _member(self, it: Class, name: str, seen: set[str]) -> Class | None:
        if name in it.classes:
            return it.classes[name]
        for base in it.bases:
            key = f"{it.full_name}:{base.type_name}"
            if key not in seen and base.type_name.lstrip(".").partition(".")[0] != name:
                seen.add(key)
                kind = self.find_base(base.type_name, it)
                found = self._member(kind, name, seen) if kind else None
                if found is not None:
                    return found
        return None

    def find_base(self, name: str, it: Class) -> Class | None:
        """Class of an ``extends``: never looked up among what is inherited by it."""
        first, _, rest = name.lstrip(".").partition(".")
        begin: Class | None = it
        while begin is not None and not name.startswith("."):
            if first in begin.classes:
                return self._inside(begin.classes[first], rest)
            if first in begin.imports:
                found = self.find(begin.imports[first], None)
                return self._inside(found, rest) if found else None
            begin = begin.parent
        root = self.roots.get(first)
        return self._inside(root, rest) if root else None

    def lineage(self, it: Class) -> Iterator[Class]:
        """All bases in order, each before what extends it; the class itself is the last."""
        for base in it.bases:
            kind = self.find_base(base.type_name, it)
            if kind is not None and kind is not it:
                yield from self.lineage(kind)
        yield it

    def components(self, it: Class) -> Iterator[Placed]:
        """Components with those of the bases; a redeclared one counts once, as redeclared."""
        found: dict[str, Placed] = {}
        for owner in self.lineage(it):
            for component in owner.components:
                kind = self.find(component.type_name, owner)
                found[component.name] = Placed(component, owner, kind)
        yield from found.values()

    def connections(self, it: Class) -> Iterator[Connection]:
        """Yield connections with those of the bases."""
        for owner in self.lineage(it):
            yield from owner.connections

    def is_connector(self, it: Class | None) -> bool:
        """Return whether a class or one of its bases is a connector."""
        return it is not None and any(c.kind == "connector" for c in self.lineage(it))

    def values(self, it: Class, modification: Call | None = None) -> Values:
        """Values that a component of this class has, with its modification."""
        known: dict[str, Expression] = {}
        shown: dict[str, str] = {}
        for owner in self.lineage(it):
            for component in owner.components:
                value = _literal(component.value)
                if value is not None:
                    known[component.name] = value
                if component.value:
                    shown[component.name] = component.value
            for base in owner.bases:
                _modify(known, shown, base.modification)
        if modification is not None:
            _modify(known, shown, modification)
        return Values(known, shown)


def _modify(known: dict[str, Expression], shown: dict[str, str], by: Call) -> None:
    for name, value in by.named.items():
        given = value.value if isinstance(value, Call) and value.value is not None else value
        known[name] = given
        shown[name] = text_of(given)


def _literal(text: str) -> Expression | None:
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return None


def text_of(value: Expression) -> str:
    """Write an expression as Modelica writes it, short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, Items):
        return "{" + ",".join(text_of(v) for v in value.items) + "}"
    if isinstance(value, Operation):
        sign = f" {value.sign} " if value.sign.isalpha() else value.sign
        binding = _binding(value)
        if len(value.operands) == 1:
            return sign.lstrip() + _bound(value.operands[0], binding)
        left, right = value.operands
        return _bound(left, binding) + sign + _bound(right, binding + 1)
    if isinstance(value, Call):
        return f"{value.name}({', '.join(text_of(v) for v in value.arguments)})"
    return "..."


def _bound(value: Expression, least: int) -> str:
    """Text of an operand, in brackets where it binds less than `least`."""
    text = text_of(value)
    return f"({text})" if _binding(value) < least else text


def _binding(value: Expression) -> int:
    """How strongly what holds an expression together binds; a sign does as a product."""
    if not isinstance(value, Operation):
        return max(BINDING.values()) + 1
    if len(value.operands) == 1 and value.sign in "+-":
        return BINDING["*"]
    return BINDING.get(value.sign, BINDING["and"] + 1)


def evaluate(value: Expression, values: Values) -> Expression:
    """Value as far as it is known: choices made, names of parameters replaced."""
    if isinstance(value, Choice):
        condition = evaluate(value.condition, values)
        return evaluate(value.yes if condition is True else value.no, values)
    if isinstance(value, Call) and value.name == "DynamicSelect":
        return evaluate(value.arguments[0], values)
    if isinstance(value, Ref) and value.name in values.known:
        known = values.known[value.name]
        return known if isinstance(known, (bool, float, str)) else value
    if isinstance(value, Operation):
        operands = [evaluate(v, values) for v in value.operands]
        if value.sign == "not":
            return operands[0] is not True
        if value.sign == "and":
            return all(v is True for v in operands)
        if value.sign == "or":
            return any(v is True for v in operands)
        if value.sign in ("*", "+", "-", "/") and all(isinstance(v, float) for v in operands):
            return _arithmetic(value.sign, operands)
    return value


def _arithmetic(sign: str, operands: Sequence[Expression]) -> Expression:
    a, b = (float(v) for v in operands if isinstance(v, float))
    return {"*": a * b, "+": a + b, "-": a - b, "/": a / b if b else 0.0}[sign]


def part(call: Expression | None, *names: str) -> Expression | None:
    """Argument of an annotation by its path, such as ``part(a, "Icon", "graphics")``."""
    for name in names:
        call = call.named.get(name) if isinstance(call, Call) else None
    if isinstance(call, Call) and call.value is not None:
        return call.value
    return call


def numbers(value: Expression | None, values: Values | None = None) -> Numbers:
    """Numbers of a nested array, flat; what is unknown counts as zero."""
    if isinstance(value, Items):
        return tuple(n for item in value.items for n in numbers(item, values))
    value = evaluate(value, values or Values()) if value is not None else None
    if isinstance(value, Items):
        return numbers(value, values)
    return (float(value),) if isinstance(value, (int, float)) else (0.0,)


def graphics(it: Class, layer: str) -> tuple[Call, ...]:
    """Graphic items of ``Icon`` or ``Diagram`` of this class alone."""
    found = part(it.annotation, layer, "graphics")
    items = found.items if isinstance(found, Items) else ()
    return tuple(item for item in items if isinstance(item, Call))


def extent(libraries: Libraries, it: Class, layer: str) -> Numbers:
    """Coordinate system ``x1, y1, x2, y2`` of a layer, own or inherited."""
    for owner in reversed(list(libraries.lineage(it))):
        found = part(owner.annotation, layer, "coordinateSystem", "extent")
        if found is not None:
            return numbers(found)
    return (-100.0, -100.0, 100.0, 100.0)


def is_shown(component: Component, values: Values) -> bool:
    """Whether a conditional component exists."""
    return component.condition is None or evaluate(component.condition, values) is True
