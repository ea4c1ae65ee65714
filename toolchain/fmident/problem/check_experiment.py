"""What an experiment must satisfy, whether it came from a file or from Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fmident.arrays import F64
from fmident.data import Experiment, Measurement
from fmident.data.filters import check_equidistant
from fmident.errors import Code, DataError, Location, ProblemError, did_you_mean
from fmident.fmu import ModelDescription, Variable

Where = Callable[..., Location | None]
"""Keys below the experiment's table to their place."""


def check_experiment(experiment: Experiment, description: ModelDescription, where: Where) -> None:
    """Check one experiment against its FMU and against itself.

    Parameters
    ----------
    experiment
        What to check.
    description
        Of the FMU.
    where
        Finds the place of a key for the message.

    Raises
    ------
    ProblemError
        The first thing that is wrong.
    """
    times = experiment.times
    if times.ndim != 1 or times.size < 2 or not bool(np.all(np.diff(times) > 0.0)):
        raise ProblemError(
            f"experiment '{experiment.name}': the times must be two or more, strictly increasing",
            location=where(),
        )
    for name, values in experiment.inputs.items():
        _check_input(experiment, name, values, description, where("inputs", name))
    if not experiment.measurements:
        raise ProblemError(
            f"experiment '{experiment.name}' has no outputs", location=where("outputs")
        )
    names = [m.name for m in experiment.measurements]
    for measurement in experiment.measurements:
        place = where("outputs", measurement.name)
        if names.count(measurement.name) > 1:
            raise ProblemError(f"two outputs are called '{measurement.name}'", location=place)
        _check_measurement(experiment, measurement, description, place)


def _positive(values: F64) -> bool:
    return bool((np.isfinite(values) & (values > 0.0)).all())


def why_not_compared(variable: Variable) -> str | None:
    """Return why a variable of the FMU is nothing to compare with data, ``None`` if it is."""
    kind = {
        "input": "an input",
        "independent": "the time",
        "parameter": "a parameter",
        "calculatedParameter": "a parameter",
    }.get(variable.causality)
    if kind is not None:
        return f"'{variable.name}' is {kind} of the FMU, not an output"
    if variable.type == "String":
        return f"'{variable.name}' is a text and cannot be compared with data"
    return None


def _check_input(
    experiment: Experiment,
    name: str,
    values: F64,
    description: ModelDescription,
    place: Location | None,
) -> None:
    inputs = [v.name for v in description.inputs]
    if name not in inputs:
        raise ProblemError(
            f"the FMU of '{description.name}' has no input '{name}'",
            location=place,
            hint=did_you_mean(name, inputs, kind="input"),
            code=Code.UNKNOWN_NAME,
        )
    if values.shape != experiment.times.shape or not bool(np.isfinite(values).all()):
        raise ProblemError(
            f"input '{name}' of experiment '{experiment.name}' needs a finite value at each of "
            f"the {experiment.times.size} instants",
            location=place,
        )


def _check_measurement(
    experiment: Experiment, m: Measurement, description: ModelDescription, place: Location | None
) -> None:
    variable = description.by_name.get(m.variable)
    label = f"output '{m.name}' of experiment '{experiment.name}'"
    if variable is None:
        raise ProblemError(
            f"the FMU of '{description.name}' has no variable '{m.variable}'",
            location=place,
            hint=did_you_mean(m.variable, [v.name for v in description.outputs], kind="output"),
            code=Code.UNKNOWN_NAME,
        )
    reason = why_not_compared(variable)
    if reason is not None:
        raise ProblemError(
            reason,
            location=place,
            hint=did_you_mean(m.variable, [v.name for v in description.outputs], kind="output"),
            code=Code.NOT_AN_OUTPUT,
        )
    if m.values.shape != experiment.times.shape:
        raise ProblemError(
            f"{label} has {m.values.size} values for {experiment.times.size} instants",
            location=place,
        )
    if np.isinf(m.values).any() or not np.isfinite(m.values).any():
        raise ProblemError(f"{label} has no finite values", location=place)
    for key, given in (("gain", m.gain), ("offset", m.offset), ("delay", m.delay)):
        if not isinstance(given, str) and not np.isfinite(given):
            raise ProblemError(f"{label}: the {key} must be finite, not {given}", location=place)
    if m.decimation is not None:
        try:
            check_equidistant(experiment.times, "decimation")
            _ = m.compared
        except DataError as error:
            raise ProblemError(
                f"{label}: {error.message}", location=place, hint=error.hint, code=error.code
            ) from error
    sigma = np.ones(1) if m.sigma is None else np.broadcast_to(m.sigma, m.values.shape)[m.rows]
    with np.errstate(all="ignore"):
        factors = m.whitening
    if not (_positive(sigma) and _positive(np.array(m.weight)) and _positive(factors)):
        raise ProblemError(f"{label}: sigma and weight must be positive and finite", location=place)
