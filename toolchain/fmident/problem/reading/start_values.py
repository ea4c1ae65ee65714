"""FMU variables that a problem file names, and their start values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fmident.errors import Code, FmuError, did_you_mean
from fmident.fmu import ModelDescription, Variable
from fmident.toml_file import Section


def start_values(section: Section, description: ModelDescription) -> dict[str, float | str]:
    """Read a table ``start_values``: FMU variable = value.

    Raises
    ------
    fmident.errors.ProblemError
        A variable that there is not or that cannot be set, a value of the wrong type.
    """
    found: dict[str, float | str] = {}
    for name, value in section.items():
        variable = variable_of(section, description, name, name)
        if not variable.settable and variable.causality != "input":
            known = description.why_not_settable(name)
            reason, advice = known or (f"it is {variable.why_not_settable}", "")
            raise section.error(
                f"'{name}' cannot be set in the FMU: {reason}",
                name,
                hint=advice or _settable_hint(name, description),
                code=Code.NOT_SETTABLE,
            )
        wanted = _START_KINDS[variable.type]
        if not wanted.fits(value):
            raise section.wrong(name, value, wanted.words)
        found[name] = float(value) if variable.type == "Real" else value
    return found


def variable_of(section: Section, description: ModelDescription, name: str, key: str) -> Variable:
    """Return a variable of the FMU; an error has the place of the key that names it."""
    try:
        return description.variable(name)
    except FmuError as error:
        known = description.why_not_settable(name)
        if known is not None:
            reason, advice = known
            message = f"'{name}' is not a variable of the FMU: {reason}"
            raise section.error(message, key, hint=advice, code=Code.NOT_SETTABLE) from error
        raise section.at_key(error, key) from error


@dataclass(frozen=True)
class _Kind:
    """Values that a variable of some type can start with."""

    words: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_WHOLE = _Kind(
    "a whole number of 32 bits",
    lambda v: _is_number(v) and isinstance(v, int) and -(2**31) <= v < 2**31,
)
_START_KINDS = {
    "Real": _Kind("a finite number", lambda v: _is_number(v) and bool(np.isfinite(float(v)))),
    "Integer": _WHOLE,
    "Enumeration": _WHOLE,
    "Boolean": _Kind("true or false", lambda v: isinstance(v, bool)),
    "String": _Kind("a text without zero bytes", lambda v: isinstance(v, str) and "\0" not in v),
}


def _settable_hint(name: str, description: ModelDescription) -> str:
    names = [v.name for v in description.settable_parameters]
    return did_you_mean(name, names, kind="parameter that can be set")
