"""What is read of Modelica source, as data: classes, components, connections, expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

BINDING = {
    ":": 0,
    "or": 1,
    "and": 2,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "<>"), 3),
    **dict.fromkeys(("+", "-", ".+", ".-"), 4),
    **dict.fromkeys(("*", "/", ".*", "./"), 5),
    **dict.fromkeys(("^", ".^"), 6),
}
"""How strongly operators bind."""


@dataclass(frozen=True)
class Ref:
    """A name, such as ``FillPattern.Solid``."""

    name: str


@dataclass(frozen=True)
class Call:
    """``name(1, x=2)``; also a modification ``name(x=2) = 3`` (then with `value`)."""

    name: str
    arguments: tuple[Expression, ...] = ()
    named: Mapping[str, Expression] = field(default_factory=dict)
    value: Expression | None = None


@dataclass(frozen=True)
class Choice:
    """``if condition then yes else no``."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True)
class Operation:
    """An operator with its one or two operands."""

    sign: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Items:
    """``{a, b}``."""

    items: tuple[Expression, ...]


Expression: TypeAlias = float | str | bool | Ref | Call | Choice | Operation | Items


@dataclass(frozen=True)
class Component:
    """A declared component; `value` is the text of its binding."""

    name: str
    type_name: str
    prefixes: frozenset[str]
    dimensions: str
    modification: Call
    value: str
    condition: Expression | None
    description: str
    annotation: Call
    public: bool


@dataclass(frozen=True)
class Base:
    """An ``extends`` clause."""

    type_name: str
    modification: Call
    annotation: Call


@dataclass(frozen=True)
class Connection:
    """A ``connect``."""

    ends: tuple[str, str]
    annotation: Call


@dataclass
class Class:
    """One class with what it holds; `parent` is the enclosing class."""

    name: str
    kind: str
    prefixes: frozenset[str]
    description: str = ""
    parent: Class | None = None
    file: Path | None = None
    bases: list[Base] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    classes: dict[str, Class] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    annotation: Call = Call("annotation")

    @property
    def full_name(self) -> str:
        """Return the name with those of the enclosing classes."""
        return f"{self.parent.full_name}.{self.name}" if self.parent else self.name

    def walk(self) -> Iterator[Class]:
        """Yield this class and all inside, in the order of the source."""
        yield self
        for inner in self.classes.values():
            yield from inner.walk()
