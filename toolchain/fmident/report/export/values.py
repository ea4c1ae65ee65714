"""Which values of a result belong to the model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fmident.errors import EstimationError

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.fmu import ModelDescription
    from fmident.statistics import Identifiability


@dataclass(frozen=True)
class ExportedValue:
    """A value of one variable of the model.

    Parameters
    ----------
    name
        Of the variable, such as ``"axis.mass"`` or ``"c[2]"``.
    value
        In `unit`.
    unit
        The variable's own, or ``None``.
    description
        Text of the modeller.
    standard_error
        ``nan`` when there is none.
    interval_95
        Lower and upper end; ``nan`` or infinite when there is none.
    origin
        ``"identified"``, ``"dependent"`` on others, ``"fixed"`` in the problem, ``"silent"``
        without influence on the outputs, or ``"default"`` of the FMU: an array can be given as a
        whole only.
    expression
        How a dependent one follows from others.
    base
        Names of the base parameters of which it is a member.
    """

    name: str
    value: float
    unit: str | None = None
    description: str = ""
    standard_error: float = math.nan
    interval_95: tuple[float, float] = (math.nan, math.nan)
    origin: str = "identified"
    expression: str = ""
    base: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exports:
    """What can be exported of a result.

    Parameters
    ----------
    model
        Full name of the Modelica class, as the FMU calls its model.
    values
        The model's.
    left_out
        Parameters that no model can take, with the reason.
    source
        How the values came about, for comments.
    elements
        All parameters of the FMU by name, for elements of arrays that were not searched;
        ``None`` when the FMU is not at hand.
    base
        Combinations that the data determine in place of their members.
    """

    model: str
    values: tuple[ExportedValue, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    elements: Mapping[str, ExportedValue] | None = None
    base: tuple[ParameterEstimate, ...] = ()


def exported_values(
    result: EstimationResult,
    description: ModelDescription | None = None,
    start_values: Mapping[str, float | int | bool | str] | None = None,
) -> Exports:
    """Return what can be exported of a result.

    Parameters
    ----------
    result
        Of an estimation.
    description
        The FMU's; needed when single elements of arrays were identified.
    start_values
        Values that the problem gave to FMU variables in all experiments; they take the
        place of the FMU's own for the other elements of such arrays.

    Raises
    ------
    fmident.errors.EstimationError
        The result holds no values of model parameters.
    """
    values: list[ExportedValue] = []
    left_out: dict[str, str] = {}
    for estimate in result.estimates:
        if estimate.variable is None:
            left_out[estimate.name] = (
                f"follows from others ({estimate.expression}), sets no variable of the model"
                if estimate.expression
                else "belongs to the measurement, not to the model"
            )
        elif estimate.experiments is not None:
            listed = ", ".join(estimate.experiments)
            left_out[estimate.name] = f"holds for some experiments only: {listed}"
        elif not math.isfinite(estimate.value):
            left_out[estimate.name] = "has no value, for the estimation failed"
        else:
            values.append(
                ExportedValue(
                    estimate.variable,
                    estimate.value,
                    estimate.unit,
                    estimate.description,
                    estimate.standard_error,
                    estimate.interval_95,
                    _origin(estimate, result.identifiability),
                    estimate.follows if estimate.expression else "",
                    estimate.base,
                )
            )
    if not values:
        raise EstimationError(
            "the result holds no value of a model parameter"
            + (": " + "; ".join(f"'{n}' {why}" for n, why in left_out.items()) if left_out else ""),
            hint="only parameters of the FMU can be exported",
        )
    return Exports(
        result.fmu_name,
        tuple(values),
        left_out,
        f"{result.estimator}, {result.status}"
        + ("" if result.noise is None else f"; {result.noise.summary}"),
        None if description is None else _elements(description, start_values or {}),
        result.base_parameters,
    )


def _origin(estimate: ParameterEstimate, judged: Identifiability | None) -> str:
    if estimate.expression:
        return "dependent"
    if judged is not None and estimate.name in judged.silent:
        return "silent"
    return "fixed" if estimate.fixed else "identified"


def _elements(
    description: ModelDescription, start_values: Mapping[str, float | int | bool | str]
) -> dict[str, ExportedValue]:
    found: dict[str, ExportedValue] = {}
    for variable in description.parameters:
        value = start_values.get(variable.name, variable.start)
        if variable.type == "Real" and isinstance(value, int | float):
            found[variable.name] = ExportedValue(
                variable.name,
                float(value),
                variable.unit,
                variable.description,
                origin="default",
            )
    return found
