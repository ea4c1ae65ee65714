"""Which coefficients of a linear differential equation are unknown, and what the others are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fmident.arrays import F64

_NAME = re.compile(r"([ab])(\d+)")


@dataclass(frozen=True, eq=False)
class LinearEquation:
    """``sum a_i y^(i) = sum b_j u^(j)``, i and j from 0 to `order`, with ``a_order = 1``.

    Parameters
    ----------
    order
        n, at least 1.
    unknown
        Coefficients to estimate, such as ``("a0", "a1")``.
    known
        Values of others; what is neither known nor unknown is 0.

    Raises
    ------
    ValueError
        A name that is not a coefficient of this equation, or is given twice; nothing unknown.
    """

    order: int
    unknown: tuple[str, ...]
    known: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"the order is {self.order}, but at least 1 is needed")
        if not self.unknown:
            raise ValueError("no coefficient is unknown")
        seen: set[str] = set()
        for name in (*self.unknown, *self.known):
            side, index = parse_coefficient(name, self.order)
            if (side, index) == ("a", self.order):
                raise ValueError(f"{name} is 1: the equation is divided by it")
            if name in seen:
                raise ValueError(f"{name} is given twice")
            seen.add(name)

    @cached_property
    def unknown_a(self) -> tuple[int, ...]:
        """Orders of the derivatives of y with unknown coefficient, in the order of `unknown`."""
        return self._orders("a")

    @cached_property
    def unknown_b(self) -> tuple[int, ...]:
        """Orders of the derivatives of u with unknown coefficient, in the order of `unknown`."""
        return self._orders("b")

    @cached_property
    def places_a(self) -> tuple[int, ...]:
        """Places of the unknown a among `unknown`."""
        return tuple(i for i, name in enumerate(self.unknown) if name.startswith("a"))

    @cached_property
    def places_b(self) -> tuple[int, ...]:
        """Places of the unknown b among `unknown`."""
        return tuple(i for i, name in enumerate(self.unknown) if name.startswith("b"))

    @cached_property
    def known_a(self) -> F64:
        """Known coefficients of y, shape (order + 1,), the leading 1 included."""
        values = self._values("a")
        values[self.order] = 1.0
        return values

    @cached_property
    def known_b(self) -> F64:
        """Known coefficients of u, shape (order + 1,)."""
        return self._values("b")

    @property
    def has_input(self) -> bool:
        """Whether u takes part."""
        return bool(self.unknown_b) or bool(np.any(self.known_b))

    def _orders(self, side: str) -> tuple[int, ...]:
        pairs = [parse_coefficient(name, self.order) for name in self.unknown]
        return tuple(index for s, index in pairs if s == side)

    def _values(self, side: str) -> F64:
        values = np.zeros(self.order + 1)
        for name, value in self.known.items():
            s, index = parse_coefficient(name, self.order)
            if s == side:
                values[index] = value
        return values


def parse_coefficient(name: str, order: int) -> tuple[str, int]:
    """Return side and index of a coefficient, ``"a0"`` -> ``("a", 0)``.

    Raises
    ------
    ValueError
        It is none of an equation of that order.
    """
    found = _NAME.fullmatch(name)
    if found is None or int(found[2]) > order:
        raise ValueError(
            f"'{name}' is not a coefficient of an equation of order {order}: "
            f"those are a0 to a{order - 1} of the output and b0 to b{order} of the input"
        )
    return found[1], int(found[2])
