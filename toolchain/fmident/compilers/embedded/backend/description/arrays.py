"""Which variables of a model FMI 3.0 shows as arrays.

Source: FMI specification 3.0.2, section 2.4.7 (attributes belong to an array as a whole, except
start values; elements in row-major order).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fmident.compilers.embedded.backend.layout import FmuVariable

_ELEMENT = re.compile(r"(?P<base>.*)\[(?P<index>[0-9]+(,[0-9]+)*)\]", re.DOTALL)
_DERIVATIVE = re.compile(r"der\((?P<state>.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Declaration:
    """One variable of FMI 3.0: a scalar or an array.

    Parameters
    ----------
    name
        Of the whole.
    elements
        In row-major order. Their value references follow each other; that of the first is the
        whole's.
    shape
        Number of elements in each dimension; empty for a scalar.
    """

    name: str
    elements: tuple[FmuVariable, ...]
    shape: tuple[int, ...] = ()

    @property
    def first(self) -> FmuVariable:
        """The first element, or the scalar itself."""
        return self.elements[0]

    @property
    def value_reference(self) -> int:
        """Value reference of the whole."""
        return self.first.value_reference


def declarations(variables: Sequence[FmuVariable]) -> list[Declaration]:
    """Return variables as FMI 3.0 declares them, in the order of their value references.

    An array is one where all its elements are there, in order, and do not differ in what belongs to
    an array as a whole; states are an array only together with their derivatives. All else are
    scalars.
    """
    found: dict[str, list[tuple[FmuVariable, tuple[int, ...]]]] = {}
    for variable in variables:
        base, index = _split(variable.name)
        if index:
            found.setdefault(base, []).append((variable, index))
    arrays = {
        array.name: array
        for array in (_array(base, members) for base, members in found.items())
        if array is not None
    }
    _drop_halves(arrays, variables)
    inside = {v.name for array in arrays.values() for v in array.elements}
    scalars = (Declaration(v.name, (v,)) for v in variables if v.name not in inside)
    return sorted((*arrays.values(), *scalars), key=lambda d: d.value_reference)


def references(declared: Iterable[Declaration]) -> dict[str, int]:
    """Return the value reference by which FMI 3.0 knows each scalar variable, by its name."""
    return {v.name: one.value_reference for one in declared for v in one.elements}


def _split(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the array that a name is an element of, and its index; no index for a scalar."""
    derivative = _DERIVATIVE.fullmatch(name)
    if derivative is not None:
        base, index = _split(derivative["state"])
        return f"der({base})", index
    element = _ELEMENT.fullmatch(name)
    if element is None:
        return name, ()
    return element["base"], tuple(int(k) for k in element["index"].split(","))


def _array(base: str, members: Sequence[tuple[FmuVariable, tuple[int, ...]]]) -> Declaration | None:
    """Return an array of variables and their indices; ``None`` where they are not one."""
    elements = tuple(variable for variable, _ in members)
    indices = [index for _, index in members]
    shape = indices[-1]
    complete = math.prod(shape) == len(indices) and indices == list(
        itertools.product(*(range(1, size + 1) for size in shape))
    )
    first = elements[0].value_reference
    row = [v.value_reference for v in elements] == list(range(first, first + len(elements)))
    alike = len({_of_the_whole(v) for v in elements}) == 1
    return Declaration(base, elements, shape) if complete and row and alike else None


def _of_the_whole(v: FmuVariable) -> tuple[object, ...]:
    """Return what all elements of an array have in common."""
    m = v.variable
    return (
        *(v.causality, v.variability, v.initial, v.start is None, v.derivative_of is None),
        *(m.type_name, m.unit, m.display_unit, m.quantity, m.description),
        *(m.minimum, m.maximum, m.nominal),
    )


def _drop_halves(arrays: dict[str, Declaration], variables: Sequence[FmuVariable]) -> None:
    """Remove arrays of states whose derivatives are none, and the other way round."""
    derivative_of: Mapping[str, str] = {
        v.derivative_of: v.name for v in variables if v.derivative_of is not None
    }
    for array in list(arrays.values()):
        states = [v.derivative_of or v.name for v in array.elements]
        slopes = [derivative_of.get(state) for state in states]
        if not any(slopes):
            continue
        wanted = {tuple(v.name for v in other.elements) for other in arrays.values()}
        if tuple(states) not in wanted or tuple(slopes) not in wanted:
            del arrays[array.name]
