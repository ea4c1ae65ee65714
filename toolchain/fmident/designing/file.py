"""Read a design file (TOML): model and parameters as in a problem file, and the axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from fmident.data.experiment import Experiment, Measurement
from fmident.designing.excitation import DesignSettings
from fmident.designing.fourier import Axis
from fmident.designing.information import Criterion
from fmident.designing.sine import SineCriterion, SineSettings
from fmident.errors import Code, FmuError, ProblemError, did_you_mean
from fmident.fmu import ModelDescription
from fmident.problem.model import EstimatorSettings, Problem, ProblemFile
from fmident.problem.reading.evaluation_file import read_evaluation
from fmident.problem.reading.file import (
    NO_PLUGINS,
    Plugins,
    read_model,
    read_toml,
)
from fmident.problem.reading.parameters import read_parameters
from fmident.toml_file import Section


@dataclass(frozen=True)
class DesignTask:
    """The task described by a design file.

    The only experiment of `problem` is a placeholder without motion. There are no `axes`
    for a sine. `sigmas` are the standard deviations of the noise of the output variables to
    be measured, and `units` those of the inputs.
    """

    problem: Problem
    axes: tuple[Axis, ...]
    sigmas: Mapping[str, float]
    settings: DesignSettings | SineSettings
    units: Mapping[str, str | None]


def load_design(
    path: str | Path,
    *,
    plugins: Plugins = NO_PLUGINS,
) -> DesignTask:
    """Read a design file.

    Parameters
    ----------
    path
        The TOML file: ``[model]`` and ``[parameters]`` as in a problem file, ``[outputs]`` with
        a standard deviation for each, ``[design]``, and one ``[[axes]]`` for each axis or
        ``[sine]``.
    plugins
        What the file can name besides files.

    Raises
    ------
    fmident.errors.ProblemError
        Anything that is wrong in the file, with its line.
    """
    path = Path(path)
    root = read_toml(path)
    fmu, description, shared = read_model(root, path.parent, plugins)
    sigmas = _sigmas(root.table("outputs"), description)
    axes: tuple[Axis, ...] = ()
    settings: DesignSettings | SineSettings
    if root.raw("sine", None) is not None:
        settings = _sine(root.table("design"), root.table("sine"), description)
        inputs = [settings.input]
    else:
        axes = _axes(root, description)
        settings = _settings(root.table("design"))
        inputs = [name for axis in axes for name in axis.inputs if name is not None]
    parameters, notes = read_parameters(root, description, ())
    evaluation = read_evaluation(root, plugins.executors)
    root.finish()
    times = settings.times[:2]
    still = Experiment(
        "design",
        times,
        {name: np.zeros(times.size) for name in inputs},
        tuple(
            Measurement(name, name, name, np.zeros(times.size), np.array(sigma))
            for name, sigma in sigmas.items()
        ),
    )
    problem = Problem(
        fmu=fmu,
        parameters=parameters,
        experiments=(still,),
        estimator=EstimatorSettings("least-squares"),
        evaluation=evaluation,
        start_values=shared,
        file=ProblemFile(path, notes=notes),
    )
    if not problem.free:
        raise root.error("there is no free parameter to design for", "parameters")
    units = {name: description.variable(name).unit for name in inputs}
    return DesignTask(problem, axes, sigmas, settings, units)


def _positive(section: Section, description: ModelDescription, what: str) -> dict[str, float]:
    """Return the positive numbers of a section by FMU variable."""
    numbers = {}
    for name, _ in section.items():
        try:
            description.variable(name)
        except FmuError as error:
            raise section.at_key(error, name) from error
        value = section.number(name)
        if not (np.isfinite(value) and value > 0.0):
            raise section.error(f"the {what} of '{name}' must be positive", name)
        numbers[name] = float(value)
    section.finish()
    return numbers


def _sigmas(section: Section, description: ModelDescription) -> dict[str, float]:
    sigmas = _positive(section, description, "standard deviation")
    if not sigmas:
        raise section.error(
            "no output will be measured", hint="add OUTPUT = STANDARD DEVIATION to [outputs]"
        )
    return sigmas


def _sine(design: Section, section: Section, description: ModelDescription) -> SineSettings:
    name = section.text("input")
    _refuse_no_input(section, "input", name, description)
    omega = section.pair("omega")
    if omega is None:
        raise section.error("'omega' is missing", hint="omega = [lowest, highest] in rad/s")
    natural = section.number("natural", np.nan)
    values: dict[str, Any] = {
        "amplitude": section.number("amplitude"),
        "natural": None if np.isnan(natural) else natural,
        "limits": _positive(section.table("limits", {}), description, "limit"),
        "duration": design.number("duration"),
        "rate": design.number("rate", 1000.0),
        "criterion": design.choice("criterion", get_args(SineCriterion), "determinant"),
        "parameter": design.text("parameter", None),
    }
    section.finish()
    design.finish()
    try:
        return SineSettings(name, omega=omega, **values)
    except ProblemError as error:
        raise section.at_key(error) from error


def _settings(section: Section) -> DesignSettings:
    default = DesignSettings(1.0)
    values: dict[str, Any] = {"period": section.number("period")}
    values["rate"] = section.number("rate", default.rate)
    for key in ("harmonics", "starts", "iterations", "seed"):
        value = section.raw(key, getattr(default, key))
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise section.wrong(key, value, "a whole number")
        values[key] = value
    values["criterion"] = section.choice("criterion", get_args(Criterion), default.criterion)
    section.finish()
    try:
        return DesignSettings(**values)
    except ProblemError as error:
        raise section.at_key(error) from error


def _axes(root: Section, description: ModelDescription) -> tuple[Axis, ...]:
    tables = root.raw("axes", [])
    if not isinstance(tables, list) or not tables:
        raise root.error("nothing moves", hint="add a table [[axes]] for each axis")
    axes = []
    for number, table in enumerate(tables):
        section = Section(root.source, ("axes", number), table)
        names = {key: section.text(key, None) for key in ("position", "speed", "acceleration")}
        for key, name in names.items():
            if name is not None:
                _refuse_no_input(section, key, name, description)
        limits = section.pair("position_limits")
        try:
            axis = Axis(
                **names,
                turns=section.number("turns", 0.0),
                position_limits=(-np.inf, np.inf) if limits is None else limits,
                speed_limit=section.number("speed_limit", np.inf),
                acceleration_limit=section.number("acceleration_limit", np.inf),
            )
        except ProblemError as error:
            raise section.at_key(error) from error
        section.finish()
        axes.append(axis)
    return tuple(axes)


def _refuse_no_input(section: Section, key: str, name: str, description: ModelDescription) -> None:
    inputs = [v.name for v in description.inputs]
    if name not in inputs:
        raise section.error(
            f"'{name}' is not an input of the FMU",
            key,
            hint=did_you_mean(name, inputs, kind="input"),
            code=Code.UNKNOWN_NAME,
        )
