"""Named values as arrays for FMI's set functions."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fmident.errors import Code, FmuError, shown
from fmident.fmu.life_cycle.instance import BaseInstance
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable, array_name, native_type
from fmident.fmu.native_code.library import Library
from fmident.fmu.tables import Group, Mover, make_groups, prefix_of


class Assignment:
    """Repeated assignment to the same names, structural parameters first, one call per type."""

    def __init__(
        self, description: ModelDescription, library: Library, names: Sequence[str]
    ) -> None:
        variables = [description.variable(name) for name in names]
        for variable in variables:
            refuse_settable(variable, description)
        self._mover = Mover(library, "Set", prefix_of(description))
        structural = [v for v in variables if v.causality == "structuralParameter"]
        others = [v for v in variables if v.causality != "structuralParameter"]
        self._structural = _Values(description, self._mover, structural)
        self._others = _Values(description, self._mover, others)

    def apply(self, instance: BaseInstance, values: Mapping[str, Value]) -> None:
        """Set the variables to `values`, which has an element for each name."""
        if self._structural:
            instance.call("fmi3EnterConfigurationMode")
            self._structural.set(instance, values)
            instance.call("fmi3ExitConfigurationMode")
        self._others.set(instance, values)


class _Values:
    """Numbers and texts that are set in the same mode."""

    def __init__(
        self, description: ModelDescription, mover: Mover, variables: Sequence[Variable]
    ) -> None:
        self._mover = mover
        self._numbers = _Filled(description, [v for v in variables if v.type != "String"])
        self._texts = _texts(description, [v for v in variables if v.type == "String"])

    def __bool__(self) -> bool:
        return bool(self._numbers.groups or self._texts)

    def set(self, instance: BaseInstance, values: Mapping[str, Value]) -> None:
        if self._numbers.groups:
            self._numbers.fill(values)
            self._mover.move(instance, self._numbers.groups, 0)
        if self._texts:
            references = np.array([group[0].value_reference for group in self._texts], np.uint32)
            texts = [
                text_value(v, values.get(v.name, v.start)) for group in self._texts for v in group
            ]
            array = (ctypes.c_char_p * len(texts))(*texts)
            arguments = [references.ctypes.data, references.size, array]
            if instance.prefix == "fmi3":
                arguments.append(len(texts))
            instance.call(f"{instance.prefix}SetString", *arguments)


class _Filled:
    """Groups of numbers of one row; elements not named have their start values."""

    def __init__(self, description: ModelDescription, variables: Sequence[Variable]) -> None:
        self._variables = variables
        self.groups = make_groups(variables, 1, prefix_of(description), [None] * len(variables))
        for group in self.groups:
            self._fill_others(description, group)

    def _fill_others(self, description: ModelDescription, group: Group) -> None:
        named = set(group.targets)
        for variable in description.variables if len(named) < group.values.shape[1] else ():
            place = group.places.get(variable.value_reference)
            if place is None or native_type(variable) != group.native:
                continue
            column = place + variable.element
            if column in named:
                continue
            if variable.start is None:
                base = array_name(variable.name)
                raise FmuError(
                    f"'{variable.name}' has neither a value nor a start value, but other"
                    f" elements of the array '{base}' are set",
                    hint=f"an array is set as a whole: give all elements of '{base}'",
                )
            group.values[0, column] = variable.start

    def fill(self, values: Mapping[str, Value]) -> None:
        """Write the values of one run."""
        for group in self.groups:
            for signal, column in group.columns:
                variable = self._variables[signal]
                value = _number(variable, values[variable.name], group.values.dtype)
                group.values[0, column] = value


def refuse_settable(variable: Variable, description: ModelDescription) -> None:
    """Raise `FmuError`, with the reason, for a variable that cannot be set."""
    why_not = variable.why_not_settable
    if why_not is not None and variable.causality != "input":
        raise FmuError(
            f"variable '{variable.name}' of '{description.name}' cannot be set: it is {why_not}",
            hint=_settable_hint(variable, description),
            code=Code.NOT_SETTABLE,
        )


def _settable_hint(variable: Variable, description: ModelDescription) -> str:
    names = ", ".join(f"'{v.name}'" for v in description.settable_parameters[:12])
    more = ", ..." if len(description.settable_parameters) > 12 else ""
    if variable.causality == "calculatedParameter":
        return f"set the parameters that it is calculated from; settable are {names}{more}"
    return f"settable parameters are {names}{more}" if names else "the FMU has none to set"


def wrong_value(variable: Variable, value: object, wanted: str) -> FmuError:
    """Return the error for a value of the wrong type."""
    return FmuError(
        f"variable '{variable.name}' is {variable.type}: it takes {wanted}, not {shown(value)}",
        code=Code.WRONG_TYPE,
    )


def real_value(variable: Variable, value: object) -> float:
    """Return a finite number, or raise FmuError."""
    if isinstance(value, (bool, str)):
        raise wrong_value(variable, value, "a number")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise wrong_value(variable, value, "a number") from None
    if not math.isfinite(number):
        raise wrong_value(variable, value, "a finite number")
    return number


def boolean_value(variable: Variable, value: object) -> int:
    """Return 0 or 1, or raise FmuError."""
    if isinstance(value, str) or value not in (0, 1):
        raise wrong_value(variable, value, "True or False")
    return int(bool(value))


def text_value(variable: Variable, value: object) -> bytes:
    """Return a text as a C string, or raise FmuError."""
    if not isinstance(value, str) or "\0" in value:
        raise wrong_value(variable, value, "a text")
    return value.encode()


def _number(variable: Variable, value: object, dtype: np.dtype[Any]) -> float | int:
    if variable.type == "Boolean":
        return boolean_value(variable, value)
    number = real_value(variable, value)
    if variable.type == "Real":
        return number
    info = np.iinfo(dtype)
    whole = int(value) if isinstance(value, int) else int(number)
    if number != int(number) or not info.min <= whole <= info.max:
        raise wrong_value(variable, value, f"a whole number from {info.min} to {info.max}")
    return whole


def _texts(
    description: ModelDescription, variables: Sequence[Variable]
) -> list[tuple[Variable, ...]]:
    """Return all elements of each text variable."""
    wanted = dict.fromkeys(v.value_reference for v in variables)
    elements_of: dict[int, dict[int, Variable]] = {reference: {} for reference in wanted}
    for variable in (*description.variables, *variables):  # of aliases, one that is named
        if variable.type == "String" and variable.value_reference in elements_of:
            elements_of[variable.value_reference][variable.element] = variable
    return [tuple(e[k] for k in sorted(e)) for e in elements_of.values()]
