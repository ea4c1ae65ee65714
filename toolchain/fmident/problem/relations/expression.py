"""An expression between parameters, such as ``"3 kg - m1"``."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from fmident.errors import UnitError
from fmident.problem.relations.reader import read_expression
from fmident.problem.relations.tree import Name, Node, nodes
from fmident.units import Unit, parse_unit


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
    fmident.problem.relations.reader.ExpressionError
        It cannot be read.
    """

    text: str
    given: Node | None = None

    def __post_init__(self) -> None:
        if self.given is None:
            read(self.text)

    @property
    def tree(self) -> Node:
        """What it consists of."""
        return read(self.text) if self.given is None else self.given

    @property
    def names(self) -> frozenset[str]:
        """Names in it, as they were written."""
        return names_in(self.tree)

    def __str__(self) -> str:
        return self.text


@functools.lru_cache(maxsize=1024)
def read(text: str) -> Node:
    """Return the tree of an expression; see :func:`~fmident.problem.relations.reader`."""
    return read_expression(text)


def names_in(*trees: Node) -> frozenset[str]:
    """Return the names in trees."""
    return frozenset(n.name for tree in trees for n in nodes(tree) if isinstance(n, Name))


def known_name(name: str, parameters: object) -> str | None:
    """Return the parameter that a name means: itself, or what quotes around it hold.

    Parameters
    ----------
    name
        As it was written.
    parameters
        Names of all parameters, or a mapping with them for keys.

    Returns
    -------
    str or None
        ``None`` where there is no such parameter.
    """
    if name in parameters:  # type: ignore[operator]
        return name
    plain = name[1:-1]
    quoted = name.startswith("'") and name.endswith("'") and "'" not in plain
    return plain if quoted and plain in parameters else None  # type: ignore[operator]


def unit_or_none(text: str | None) -> Unit | None:
    """Return a unit; ``None`` where there is none or it cannot be read."""
    if text is None:
        return None
    try:
        return parse_unit(text)
    except UnitError:
        return None
