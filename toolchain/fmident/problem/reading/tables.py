"""The tables of a problem file: their keys, types, choices, ranges and defaults.

:meth:`fmident.toml_file.Section.read` makes them of a file, or of arguments in Python. What depends
on the FMU or on the data is checked by the functions that take a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fmident.data import CsvOptions, Decimation
from fmident.data.experiment import LARGEST_ORDER, Criterion
from fmident.data.outliers import Hampel
from fmident.data.prepare import ORDERS, Edges, LowPass
from fmident.fmu.setup import Interpolation
from fmident.options import NOT_NEGATIVE, POSITIVE, Advice, InFile, Range, Requires, Short
from fmident.problem.model import PriorName, Scaling
from fmident.toml_file import Section
from fmident.toml_file.text import KeyPath

Role = Literal["estimation", "validation"]
Several = tuple[str, ...]
_FINITE = Range(above=-math.inf, below=math.inf)
_POSITIVE = Range(above=0.0, below=math.inf)
_NumberOrName = Annotated[float, _FINITE] | str
_Columns = Annotated[Hampel | None, Short("columns")]
_HOLD = "to hold it at a value: initial = ..., and fixed = true in the next line"


@dataclass(frozen=True, kw_only=True)
class ModelTable:
    """``[model]``."""

    section: Section
    fmu: str | None = None
    class_name: Annotated[str | None, InFile("class")] = None
    sources: str | Several = ()
    compiler: str | None = None
    fmu_folder: str | None = None
    start_values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PriorTable:
    """``prior`` of a parameter."""

    section: Section
    distribution: PriorName
    mean: float | None = None
    sd: float | None = None
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, kw_only=True)
class StartTable:
    """``[stages.parameters.NAME]``, and what every parameter has."""

    section: Section
    initial: float | None = None
    bounds: tuple[float, float] | None = None
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterTable(StartTable):
    """``[parameters.NAME]``."""

    variable: str | None = None
    variable_unit: str | None = None
    expression: str | None = None
    scaling: Scaling = "linear"
    scale: float | None = None
    step: Annotated[float | None, _POSITIVE] = None
    fixed: Annotated[bool, Advice(_HOLD)] = False
    experiments: Several | None = None
    prior: PriorTable | None = None


@dataclass(frozen=True, kw_only=True)
class NoiseTable:
    """``noise`` of an output."""

    model: Literal["ar", "white"]
    order: Annotated[
        Annotated[int, Range(least=1, most=LARGEST_ORDER)] | Literal["auto"],
        Requires("model", "ar"),
    ] = "auto"
    criterion: Criterion = "aicc"


@dataclass(frozen=True, kw_only=True)
class InputTable:
    """An entry of ``[experiments.inputs]``."""

    section: Section
    column: str
    unit: str | None = None
    variable_unit: str | None = None
    interpolation: Interpolation | None = None


@dataclass(frozen=True, kw_only=True)
class OutputTable(CsvOptions):
    """An entry of ``[experiments.outputs]``; it says how to read a data file of its own."""

    section: Section
    column: str
    variable: str | None = None
    variable_unit: str | None = None
    data: str | None = None
    unit: str | None = None
    gain: _NumberOrName = 1.0
    offset: _NumberOrName = 0.0
    delay: _NumberOrName = 0.0
    sigma: float | str | None = None
    weight: Annotated[float, _POSITIVE] = 1.0
    decimate: Annotated[Decimation | None, Short("factor")] = None
    noise: Annotated[NoiseTable | None, Short("model")] = None
    exclude: str | Several = ()


@dataclass(frozen=True, kw_only=True)
class PrepareTable:
    """``[experiments.prepare]``: outliers, one of two ways to filter columns, derivatives."""

    section: Section
    columns: Several = ()
    cutoff: Annotated[float, POSITIVE] | Literal["auto"] | None = None
    order: Annotated[int, ORDERS] = LowPass.order
    passband: float | None = None
    stopband: float | None = None
    ripple: float = Edges.ripple
    attenuation: float = Edges.attenuation
    padding: Annotated[int | None, NOT_NEGATIVE] = None
    derivatives: Mapping[str, str] = field(default_factory=dict)
    hampel: _Columns = None
    exclude: str | Several = ()


@dataclass(frozen=True, kw_only=True)
class ExperimentTable(CsvOptions):
    """``[[experiments]]``; it says how to read its data file."""

    section: Section
    data: str
    outputs: Mapping[str, Annotated[OutputTable, Short("column")]]
    inputs: Mapping[str, Annotated[InputTable, Short("column")]] = field(default_factory=dict)
    name: str | None = None
    role: Role = "estimation"
    time: str | None = None
    window: tuple[float, float] | None = None
    every: Annotated[int, Range(least=1)] = 1
    start_values: Mapping[str, Any] = field(default_factory=dict)
    interpolation: Interpolation | None = None
    fill_inputs: Literal["linear"] | None = None
    prepare: PrepareTable | None = None


@dataclass(frozen=True, kw_only=True)
class StageTable:
    """``[[stages]]``."""

    section: Section
    name: str | None = None
    problem: str | None = None
    propagate: bool = True
    free: Several | None = None
    experiments: Several | None = None
    cost: Mapping[str, Any] | None = None
    estimator: Mapping[str, Any] | None = None
    parameters: Mapping[str, StartTable] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProblemTables:
    """A whole problem file."""

    section: Section
    model: ModelTable
    parameters: Mapping[str, ParameterTable] = field(default_factory=dict)
    experiments: tuple[ExperimentTable, ...] = ()
    constraints: Mapping[str, str] = field(default_factory=dict)
    estimator: Mapping[str, Any] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[StageTable, ...] = ()

    def own_units(self) -> Iterator[tuple[str, str, KeyPath]]:
        """Yield each FMU variable with a ``variable_unit``, that unit, and its keys."""
        named: list[tuple[str, ParameterTable | InputTable | OutputTable]] = [
            (t.variable or name, t) for name, t in self.parameters.items()
        ]
        for e in self.experiments:
            named += e.inputs.items()
            named += [(t.variable or name, t) for name, t in e.outputs.items()]
        for variable, table in named:
            if table.variable_unit is not None:
                yield variable, table.variable_unit, (*table.section.keys, "variable_unit")


def several(texts: str | Several) -> Several:
    """Return a text, or several, as a tuple."""
    return (texts,) if isinstance(texts, str) else texts
