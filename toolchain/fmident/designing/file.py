"""Read a design file (TOML): model and parameters as in a problem file, and the axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fmident.data.experiment import Experiment, Measurement
from fmident.designing.excitation import (
    Axis,
    DesignSettings,
    Positive,
    Sine,
    SineRecord,
    SineSettings,
)
from fmident.errors import FmuError, ProblemError, unknown_name
from fmident.fmu import ModelDescription
from fmident.problem.model import EstimatorSettings, Problem, ProblemFile
from fmident.problem.reading.file import (
    NO_PLUGINS,
    Plugins,
    read_evaluation,
    read_model,
    read_toml,
)
from fmident.problem.reading.parameters import read_parameters
from fmident.problem.reading.tables import ModelTable, ParameterTable
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
    tables = root.read(_DesignTables)
    fmu, description, shared = read_model(tables.model, path.parent, plugins)
    sigmas = tables.outputs
    _refuse_unknown(root.inner("outputs"), sigmas, description)
    if not sigmas:
        raise root.inner("outputs").error(
            "no output will be measured", hint="add OUTPUT = STANDARD DEVIATION to [outputs]"
        )
    settings, inputs = _motion(root, tables, description)
    parameters, notes = read_parameters(tables.parameters, description, (), root)
    evaluation = read_evaluation(root.inner("evaluation"), plugins.executors)
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
    return DesignTask(problem, tables.axes, sigmas, settings, units)


def _motion(
    root: Section, tables: _DesignTables, description: ModelDescription
) -> tuple[DesignSettings | SineSettings, list[str]]:
    """Return the settings of a sine, or of the axes, and the inputs that move."""
    design = root.inner("design")
    if tables.sine is not None:
        section, record = root.inner("sine"), design.read(SineRecord)
        _refuse_no_input(section, "input", tables.sine.input, description)
        _refuse_unknown(section.inner("limits"), tables.sine.limits, description)
        try:
            sine = SineSettings(**vars(tables.sine), **vars(record))
        except ProblemError as error:
            raise section.at_key(error) from error
        return sine, [sine.input]
    if not tables.axes:
        raise root.error("nothing moves", hint="add a table [[axes]] for each axis")
    for number, axis in enumerate(tables.axes):
        for key in ("position", "speed", "acceleration"):
            if (name := getattr(axis, key)) is not None:
                _refuse_no_input(root.inner("axes", number), key, name, description)
    inputs = [name for axis in tables.axes for name in axis.inputs if name is not None]
    return design.read(DesignSettings), inputs


@dataclass(frozen=True, kw_only=True)
class _DesignTables:
    model: ModelTable
    outputs: Mapping[str, Positive]
    design: Mapping[str, Any]
    parameters: Mapping[str, ParameterTable] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    sine: Sine | None = None
    evaluation: Mapping[str, Any] = field(default_factory=dict)


def _refuse_unknown(section: Section, names: Iterable[str], description: ModelDescription) -> None:
    for name in names:
        try:
            description.variable(name)
        except FmuError as error:
            raise section.at_key(error, name) from error


def _refuse_no_input(section: Section, key: str, name: str, description: ModelDescription) -> None:
    inputs = [v.name for v in description.inputs]
    if name not in inputs:
        raise section.error(
            f"'{name}' is not an input of the FMU", key, **unknown_name(name, inputs, "input")
        )
