"""Named values, brought into the arrays that FMI's set functions take."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fmident.errors import FmuError, shown
from fmident.fmu.description import ModelDescription
from fmident.fmu.instance import Instance
from fmident.fmu.variables import Value, Variable


class Assignment:
    """Sets the same names again and again, with one FMI call per type.

    Parameters
    ----------
    description
        The FMU's description.
    names
        Variables to set.

    Raises
    ------
    FmuError
        A name is unknown (the nearest are listed) or cannot be set (the reason is given).
    """

    def __init__(self, description: ModelDescription, names: Sequence[str]) -> None:
        groups: dict[str, list[Variable]] = {"Real": [], "Integer": [], "Boolean": [], "String": []}
        for name in names:
            variable = description.variable(name)
            refuse_settable(variable, description)
            groups["Integer" if variable.type == "Enumeration" else variable.type].append(variable)
        self._reals, self._integers = groups["Real"], groups["Integer"]
        self._booleans, self._strings = groups["Boolean"], groups["String"]
        self._real_references = reference_array(self._reals)
        self._integer_references = reference_array(self._integers)
        self._boolean_references = reference_array(self._booleans)
        self._string_references = reference_array(self._strings)

    def apply(self, instance: Instance, values: Mapping[str, Value]) -> None:
        """Set the variables to `values`, which has an element for each name.

        Raises
        ------
        FmuError
            A value is of the wrong type or not finite.
        CallFailed
            The FMU refuses.
        """
        if self._reals:
            reals = np.array([real_value(v, values[v.name]) for v in self._reals])
            instance.set_reals(self._real_references, reals)
        if self._integers:
            integers = np.array([_integer(v, values[v.name]) for v in self._integers], np.int32)
            instance.set_integers(self._integer_references, integers)
        if self._booleans:
            booleans = np.array(
                [boolean_value(v, values[v.name]) for v in self._booleans], np.int32
            )
            instance.set_booleans(self._boolean_references, booleans)
        if self._strings:
            texts = [text_value(v, values[v.name]) for v in self._strings]
            array = (ctypes.c_char_p * len(texts))(*texts)
            references = self._string_references
            instance.call("fmi2SetString", references.ctypes.data, len(texts), array)


def refuse_settable(variable: Variable, description: ModelDescription) -> None:
    """Refuse variables that no value can be given to.

    Raises
    ------
    FmuError
        The reason is given.
    """
    why_not = variable.why_not_settable
    if why_not is not None and variable.causality != "input":
        raise FmuError(
            f"variable '{variable.name}' of '{description.name}' cannot be set: it is {why_not}",
            hint=_settable_hint(variable, description),
        )


def reference_array(variables: Sequence[Variable]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the value references of `variables` as a C array."""
    return np.array([v.value_reference for v in variables], dtype=np.uint32)


def _settable_hint(variable: Variable, description: ModelDescription) -> str:
    names = ", ".join(f"'{v.name}'" for v in description.settable_parameters[:12])
    more = ", ..." if len(description.settable_parameters) > 12 else ""
    if variable.causality == "calculatedParameter":
        return f"set the parameters that it is calculated from; settable are {names}{more}"
    return f"settable parameters are {names}{more}" if names else "the FMU has none to set"


def wrong_value(variable: Variable, value: object, wanted: str) -> FmuError:
    """Return the error for a value of the wrong type."""
    return FmuError(
        f"variable '{variable.name}' is {variable.type}: it takes {wanted}, not {shown(value)}"
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


def _integer(variable: Variable, value: object) -> int:
    number = real_value(variable, value)
    if number != int(number) or not -(2**31) <= number < 2**31:
        raise wrong_value(variable, value, "a whole number of 32 bits")
    return int(number)


def boolean_value(variable: Variable, value: object) -> int:
    """Return 0 or 1, or raise FmuError."""
    if isinstance(value, str) or value not in (0, 1):
        raise wrong_value(variable, value, "True or False")
    return int(bool(value))


def text_value(variable: Variable, value: object) -> bytes:
    """Return a text as C has it, or raise FmuError."""
    if not isinstance(value, str) or "\0" in value:
        raise wrong_value(variable, value, "a text")
    return value.encode()
