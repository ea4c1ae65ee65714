"""Array variables of FMI 3.0, taken apart into scalar ones.

The size of an array can depend on structural parameters: then the names of its elements
do, too. A description is made from declarations and values of these parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fmident.errors import FmuError
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Declaration, Value, Variable, element_name

LARGEST = 100_000
"""Arrays with more elements keep their start values; their elements have no names."""


def size_parameters(declarations: Sequence[Declaration]) -> dict[str, Variable]:
    """Return the structural parameters that are sizes of arrays, by name.

    Others are like any parameter, but set in configuration mode (FMI 3.0.2, section
    2.4.7.4).
    """
    sizes = {size for d in declarations for size in d.dimensions if isinstance(size, str)}
    return {
        name: d.variable
        for d in declarations
        if d.variable.causality == "structuralParameter"
        and str(d.variable.value_reference) in sizes
        for name in (d.variable.name, *(a[0] for a in d.aliases))
    }


def take_apart(
    declarations: Sequence[Declaration], values: Mapping[str, Value]
) -> tuple[tuple[Variable, ...], dict[str, tuple[int, ...]]]:
    """Return all scalar variables, and the dimensions of the arrays by name.

    `values` are structural parameters that differ from their start values.
    """
    sizes: dict[str, int] = {}
    for name, parameter in size_parameters(declarations).items():
        value = values.get(name, parameter.start)
        reference = str(parameter.value_reference)
        if name in values or reference not in sizes:
            sizes[reference] = _size(name, value)
    variables: list[Variable] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for declaration in declarations:
        shape = tuple(_dimension(declaration, d, sizes) for d in declaration.dimensions)
        count = math.prod(shape)
        starts = declaration.starts if len(declaration.starts) in (1, count) else ()
        base = declaration.variable
        names = [(base.name, base.description, base.display_unit), *declaration.aliases]
        for name, text, display_unit in names:
            named = replace(base, name=name, description=text, display_unit=display_unit)
            if not declaration.dimensions:
                variables.append(named)
                continue
            shapes[name] = shape
            if count > LARGEST:
                continue
            for element, index in enumerate(itertools.product(*(range(1, k + 1) for k in shape))):
                start = starts[element % len(starts)] if starts else None
                label = element_name(name, index)
                variables.append(
                    replace(named, name=label, start=start, element=element, elements=count)
                )
    return tuple(variables), shapes


def configure(description: ModelDescription, values: Mapping[str, Value]) -> ModelDescription:
    """Return the description for other values of structural parameters."""
    variables, shapes = take_apart(description.declarations, values)
    return replace(description, variables=variables, shapes=shapes)


def resized(description: ModelDescription, values: Mapping[str, Value]) -> ModelDescription:
    """Return the description with array sizes from the structural parameters among `values`."""
    known = size_parameters(description.declarations)
    sizes = {name: value for name, value in values.items() if name in known}
    return configure(description, sizes) if sizes else description


def _size(name: str, value: object) -> int:
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or not 0 <= value < 2**31 or value != int(value):  # type: ignore[operator,call-overload]
        raise FmuError(
            f"the structural parameter '{name}' is {value!r}",
            hint="it is the size of an array: give a whole number",
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def _dimension(declaration: Declaration, given: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(given, int):
        return given
    if given not in sizes:
        raise FmuError(
            f"a dimension of '{declaration.variable.name}' refers to the variable"
            f" {given}, which is not a structural parameter",
            hint="the model description is wrong: export the FMU again",
        )
    return sizes[given]
