"""Variables of an FMU that can be data-driven inputs, and those that can be recorded."""

from __future__ import annotations

from fmident.errors import Code, FmuError
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Variable


def input_variable(description: ModelDescription, name: str) -> Variable:
    """Return an input that can follow data."""
    variable = description.variable(name)
    if variable.causality == "structuralParameter":
        raise FmuError(
            f"'{name}' of '{description.name}' is a structural parameter: it can be set before"
            " initialisation only, not follow data",
            hint="give it in the start values of the setup",
            code=Code.NOT_AN_INPUT,
        )
    if variable.causality != "input":
        known = ", ".join(f"'{v.name}'" for v in description.inputs[:12]) or "none"
        raise FmuError(
            f"variable '{name}' of '{description.name}' is not an input"
            f" (causality '{variable.causality}')",
            hint=f"inputs of this FMU: {known}",
            code=Code.NOT_AN_INPUT,
        )
    if variable.type == "String":
        raise FmuError(
            f"input '{name}' is a text, which cannot follow data", code=Code.NOT_AN_INPUT
        )
    return variable


def output_variable(description: ModelDescription, name: str) -> Variable:
    """Return a variable that can be recorded."""
    variable = description.variable(name)
    if variable.type == "String":
        raise FmuError(
            f"variable '{name}' is a text, which cannot be recorded",
            hint="choose a variable that is a number, a Boolean or an enumeration",
            code=Code.NOT_AN_OUTPUT,
        )
    return variable
