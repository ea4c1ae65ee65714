"""A constraint between parameters, such as ``Fs >= Fc``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fmident.problem.relations.expression import names_in
from fmident.problem.relations.reader import read_relation, sides_of
from fmident.problem.relations.tree import Node

Relation = Literal["=", "<=", ">="]


@dataclass(frozen=True)
class Constraint:
    """One comparison of two expressions.

    Parameters
    ----------
    name
        As the user calls it. Both halves of ``low <= x <= high`` have the same.
    text
        The comparison, such as ``"Fs >= Fc"``.
    left, right
        Its sides.
    relation
        ``"="``, ``"<="`` or ``">="``.
    written
        What the user wrote, to which positions refer.
    """

    name: str
    text: str
    left: Node
    right: Node
    relation: Relation
    written: str

    @property
    def equality(self) -> bool:
        """Whether both sides must be equal."""
        return self.relation == "="

    @property
    def names(self) -> frozenset[str]:
        """Names in it, as they were written."""
        return names_in(self.left, self.right)

    @property
    def not_kept(self) -> str:
        """That the initial values do not keep it, in words."""
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
    fmident.problem.relations.reader.ExpressionError
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
