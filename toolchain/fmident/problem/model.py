"""The estimation problem as immutable data."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import Diagnostic, Location
from fmident.fmu.model_description.description import InterfaceChoice
from fmident.fmu.setup import Interpolation
from fmident.options import INSIDE_UNIT, POSITIVE, InFile, Options, Range
from fmident.problem.cost import Cost, TimeDomain
from fmident.problem.expressions import Constraint, Expression
from fmident.problem.settings_keys import WHAT, WHO, setting_keys
from fmident.toml_file import Arguments, Source
from fmident.views import view

if TYPE_CHECKING:
    import pandas as pd


Scaling = Literal["linear", "log"]
DifferenceScheme = Literal["forward", "central", "auto"]
"""Scheme of finite differences."""

Derivation = Literal["forward", "central", "auto", "sensitivities"]
"""Source of a Jacobian."""


PriorName = Literal["normal", "lognormal", "uniform"]

T = TypeVar("T")

_TINY = 1e-300
"""Replaces values that a lognormal quantity cannot have, so that its logarithm is finite."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of the problem.

    Parameters
    ----------
    name
        Unique within the problem.
    initial
        Start of the search, in `unit`.
    lower, upper
        Bounds; infinite when absent.
    variable
        FMU variable it sets; ``None`` for a parameter of the measurement model only.
    experiments
        Names of the experiments it acts on; ``None`` means all (a shared parameter).
    scaling
        ``"linear"``: searched as ``p / scale``; ``"log"``: as ``log(p)``.
    scale
        Typical magnitude, in `unit`; positive.
    step
        Finite-difference step, in `unit`; ``None`` derives it from the measured noise.
    fixed
        Held at `initial`.
    unit
        The FMU's unit, or ``None``.
    description
        From the FMU.
    expression
        Defines a dependent parameter, which is not searched. Its `initial` is the value of
        the expression at the initial values of the others.
    prior
        Prior distribution, or ``None``.
    """

    name: str
    initial: float
    lower: float = -np.inf
    upper: float = np.inf
    variable: str | None = None
    experiments: tuple[str, ...] | None = None
    scaling: Scaling = "linear"
    scale: float = 1.0
    fixed: bool = False
    unit: str | None = None
    description: str = ""
    step: float | None = None
    expression: Expression | None = None
    prior: Prior | None = None

    @property
    def searched(self) -> bool:
        """Whether an estimator searches it, i.e. it is neither fixed nor dependent."""
        return not self.fixed and self.expression is None

    def acts_on(self, experiment: str) -> bool:
        """Return whether the parameter acts on the experiment of that name."""
        return self.experiments is None or experiment in self.experiments


@dataclass(frozen=True)
class EstimatorSettings:
    """Name of the estimator and its options as the user wrote them (not yet validated)."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EvaluationSettings(Options):
    """Simulation settings: the keys of ``[evaluation]``.

    The annotations of the fields are defined in :mod:`fmident.problem.settings_keys`.

    Parameters
    ----------
    tolerance
        Relative tolerance passed to the FMU, or ``None`` for its default.
    interpolation
        Inputs between samples: ``"auto"``, ``"hold"``, ``"linear"`` or ``"mean"``, as in
        :class:`fmident.fmu.SimulationSetup`; experiments and inputs may override it.
    substeps
        Number of equal steps of a Co-Simulation between two samples.
    interface
        For an FMU with both: ``"co-simulation"``, ``"model-exchange"``, or ``"auto"``,
        which selects Co-Simulation.
    difference
        Method for the Jacobian. ``"forward"`` and ``"central"``: finite differences;
        ``"sensitivities"``: exact sensitivities, which the FMU must provide; ``"auto"``:
        sensitivities if the FMU provides them, else forward differences if they are
        accurate enough, else central ones. ``None``: sensitivities if provided, else
        forward differences.
    relative_step
        Step in the search space; ``None`` derives it from the measured noise.
    check
        Run the first simulation in a child process, so that a crash becomes an error.
    timeout
        Time limit of one simulation, s: in that check, and wherever a simulation can be
        stopped.
    executor
        What runs the simulations: ``"inline"`` (this process), ``"processes"``, ``"auto"``,
        or one registered by a plugin, such as ``"dask"``.
    executor_options
        Options specific to that executor; ``None``: its defaults.
    workers
        Number of parallel simulations; ``None``: the number of processors available to this
        process.
    memory_limit
        Maximum resident size of a worker process, bytes; ``None``: unlimited.
    renew_after
        Number of simulations after which a worker process is replaced; ``None``: only when
        its memory has grown.
    """

    tolerance: Annotated[float | None, INSIDE_UNIT, WHAT] = None
    interpolation: Annotated[Interpolation, WHAT] = "auto"
    substeps: Annotated[int, Range(least=1), WHAT] = 1
    interface: Annotated[InterfaceChoice, WHAT] = "auto"
    difference: Annotated[Derivation | None, WHAT] = None
    relative_step: Annotated[float | None, INSIDE_UNIT, WHAT] = None
    check: Annotated[bool, WHO] = True
    timeout: Annotated[float, Range(above=0.0, below=math.inf), WHO] = 60.0
    executor: Annotated[str, WHO] = "auto"
    executor_options: Annotated[Any, InFile(None), WHO] = None
    workers: Annotated[int | None, Range(least=1), WHO] = None
    memory_limit: Annotated[int | None, POSITIVE, InFile("memory_limit_mb", 1_000_000), WHO] = None
    renew_after: Annotated[int | None, Range(least=1), WHO] = None

    @property
    def scheme(self) -> DifferenceScheme:
        """Scheme of the finite differences, if any are used."""
        if self.difference is None or self.difference == "sensitivities":
            return "forward"
        return self.difference

    @property
    def takes_sensitivities(self) -> bool:
        """Whether exact sensitivities are used if the FMU provides them."""
        return self.difference not in ("forward", "central")


EVALUATION_KEYS = frozenset(s.key for s in setting_keys(EvaluationSettings) if s.key is not None)
"""Keys of ``[evaluation]`` of all executors, which no option of one may have."""


@dataclass(frozen=True)
class NoOptions:
    """Options of an executor that has none."""


@dataclass(frozen=True)
class ProblemFile:
    """Where a problem comes from; empty when it is built of its parts.

    Parameters
    ----------
    path
        The problem file, or ``None`` when the problem is made of data in memory.
    text
        As read: of the file, or what it would be.
    notes
        What the user should know of how the text was understood.
    frames
        Data in memory, by the names of files that `text` gives them.
    experiments
        Names of all experiments as they follow each other in `text`.
    """

    path: Path | None = None
    text: str = ""
    notes: tuple[Diagnostic, ...] = ()
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict, compare=False)
    experiments: tuple[str, ...] = ()

    def where(self, *keys: str | int) -> Location | None:
        """Return the place of a key of the text, or of the argument in Python; ``None``: none."""
        if self.path is not None:
            if not keys or not self.text:
                return Location(str(self.path))
            return Source(self.path, self.text).where(keys)
        return Arguments(Path(), self.text).where(keys) if self.frames and keys else None


@dataclass(frozen=True, repr=False)
class Problem:
    """Everything an estimation needs but the FMU's code.

    Parameters
    ----------
    fmu
        Path of the FMU.
    parameters
        All parameters, fixed and dependent ones included.
    experiments
        At least one.
    estimator
        Estimator and options.
    evaluation
        How to simulate.
    cost
        What is minimised.
    start_values
        Values of FMU variables that hold for all experiments.
    stages
        If there are any, they are solved one after the other in place of the whole.
    constraints
        Between parameters.
    eliminated
        Constraints whose place bounds and dependent parameters have taken.
    preliminary
        Whether a later stage searches all of its parameters again, so that what it finds is no more
        than a start.
    validation
        Experiments that are not fitted: they are simulated with the values that were found.
    file
        Where the problem comes from.
    """

    fmu: Path
    parameters: tuple[Parameter, ...]
    experiments: tuple[Experiment, ...]
    estimator: EstimatorSettings
    evaluation: EvaluationSettings = EvaluationSettings()
    cost: Cost = field(default_factory=TimeDomain)
    start_values: Mapping[str, float | int | bool | str] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    eliminated: tuple[Constraint, ...] = ()
    preliminary: bool = False
    validation: tuple[Experiment, ...] = ()
    file: ProblemFile = ProblemFile()

    @classmethod
    def from_frames(
        cls,
        fmu: str | os.PathLike[str],
        data: pd.DataFrame | Mapping[str, Any],
        *,
        parameters: Mapping[str, Mapping[str, Any]],
        outputs: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        time: str | None = None,
        prepare: Mapping[str, Any] | None = None,
        experiments: Mapping[str, Mapping[str, Any]] | None = None,
        model: Mapping[str, Any] | None = None,
        constraints: Mapping[str, str] | None = None,
        estimator: str | Mapping[str, Any] | None = None,
        cost: str | Mapping[str, Any] | None = None,
        stages: Sequence[Mapping[str, Any]] | None = None,
        evaluation: Mapping[str, Any] | None = None,
        host: Any = None,
        report: Callable[[Iterable[Diagnostic]], None] | None = None,
    ) -> Problem:
        """Make a problem of data in memory.

        Every argument is a table of the problem file with the same keys, is checked by the same
        reader, and refused with the same messages; a place such as ``parameters.m.bounds`` stands
        for the line. A key that is ``None`` is left out.

        Parameters
        ----------
        fmu
            Path of an FMU, or name of a Modelica class, which is compiled as ``class`` of the file
            is. Paths are relative to the working directory.
        data
            A DataFrame, columns by name, or several of these by the name of the experiment:
            ``{"step": frame, "sweep": frame}``. A unit may follow the name of a column:
            ``"force [N]"``. An index that has a name is a column.
        parameters
            Name to ``initial``, ``bounds``, ``unit`` and so on.
        outputs, inputs
            FMU variable to column, or to a table with ``column``, ``sigma`` and so on; of all
            experiments. The ``data`` of an output may be a frame, too.
        time
            Name of the time column, where it is not ``time`` or ``t``.
        prepare
            What is made of the data of all experiments: ``hampel``, ``exclude``, filters.
        experiments
            Further keys of single experiments, by name: ``window``, ``start_values``, or inputs and
            outputs of their own. The only experiment is called ``"data"`` unless `data` names it.
        model
            Further keys of ``[model]``: ``start_values``, ``sources``, ``compiler``.
        constraints, estimator, cost, stages, evaluation
            The tables of these names. A text in place of an estimator or a cost is its name.
        host
            Plugins; loaded when not given.
        report
            Takes warnings; Python warnings by default.

        Returns
        -------
        Problem
            With a copy of the data in ``file.frames``.

        Raises
        ------
        fmident.errors.FmidentError
            Anything that is wrong in the arguments, the data or the FMU.
        """
        shared = {"time": time, "prepare": prepare, "inputs": inputs, "outputs": outputs}
        tables = {
            "parameters": parameters,
            "constraints": constraints,
            "estimator": estimator,
            "cost": cost,
            "stages": stages,
            "evaluation": evaluation,
            "model": model,
        }
        problem: Problem = view("problem_in_memory")(
            fmu, data, shared, experiments or {}, tables, host=host, report=report
        )
        return problem

    def to_toml(self, path: str | os.PathLike[str] | None = None, *, data: bool = False) -> str:
        """Return the problem file, with absolute paths; write it if `path` is given.

        Parameters
        ----------
        path
            Target file, such as ``"study/problem.toml"``.
        data
            Whether to write the data beside it: data in memory as CSV, files as copies.
            Otherwise data in memory are not written, and the file names where they would be.

        Returns
        -------
        str
            The text. Reading it, with its data, gives an equal problem; this is verified.

        Raises
        ------
        fmident.errors.FmidentError
            The problem was changed after it was read, so that no text describes it, or a file
            already exists or cannot be written.
        """
        text: str = view("write_problem")(self, path, data=data)
        return text

    def __repr__(self) -> str:
        free, experiments = len(self.free), len(self.experiments)
        searched = f"{free} of {len(self.parameters)} parameters searched"
        count = f"{experiments} experiment" + ("s" if experiments != 1 else "")
        return f"<Problem {self.fmu.stem}: {searched}, {count}, {self.estimator.name}>"

    def _repr_html_(self) -> str:
        html: str = view("problem_view")(self)
        return html

    def interpolation_of(self, experiment: Experiment, name: str) -> Interpolation:
        """Return the interpolation of an input of an experiment between samples."""
        return experiment.interpolation.get(name, self.evaluation.interpolation)

    def where(self, *keys: str | int) -> Location | None:
        """Return the location of a key in the problem file, or of the argument in Python.

        It is ``None`` if the problem was built from its parts. Experiments are counted as in
        :attr:`experiments`.
        """
        if len(keys) > 1 and keys[0] == "experiments" and isinstance(keys[1], int):
            name = self.experiments[keys[1]].name
            if name in self.file.experiments:
                keys = ("experiments", self.file.experiments.index(name), *keys[2:])
        return self.file.where(*keys)

    @property
    def source(self) -> Path | None:
        """The problem file, if there is one."""
        return self.file.path

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """What the user should know of how the problem was understood."""
        return self.file.notes

    @property
    def sigma_known(self) -> bool:
        """Whether every measurement has a standard deviation of its noise.

        Otherwise the residuals are relative to ``1 / weight``, and the covariance of the
        parameters is scaled by the residual variance.
        """
        return all(m.sigma is not None for e in self.experiments for m in e.measurements)

    @property
    def free(self) -> tuple[Parameter, ...]:
        """The searched parameters in order; ``p`` has shape (len(free),)."""
        return tuple(p for p in self.parameters if p.searched)

    @property
    def initial(self) -> F64:
        """Start values of the free parameters, shape (n,)."""
        return np.array([p.initial for p in self.free], dtype=np.float64)

    @property
    def lower(self) -> F64:
        """Lower bounds of the free parameters, shape (n,)."""
        return np.array([p.lower for p in self.free], dtype=np.float64)

    @property
    def upper(self) -> F64:
        """Upper bounds of the free parameters, shape (n,)."""
        return np.array([p.upper for p in self.free], dtype=np.float64)


@dataclass(frozen=True)
class Stage:
    """One stage of a problem that is solved in several.

    Parameters
    ----------
    name
        Unique within the problem.
    problem
        Part solved by the stage: some parameters free and the others fixed, some of the
        experiments, a cost and an estimator. Earlier estimates replace its initial values.
    starts
        Initial values set by the stage itself, by parameter.
    separate
        Whether the stage has its own problem file and FMU. Values are passed on by name.
    propagate
        Whether its intervals include the uncertainty of values estimated in earlier stages
        and held in this one.
    """

    name: str
    problem: Problem
    starts: Mapping[str, float] = field(default_factory=dict)
    separate: bool = False
    propagate: bool = True


def made_once(problem: Problem, make: Callable[[Problem], T]) -> T:
    """Return what a function makes of a problem, and keep it with the problem."""
    if make not in (made := problem.__dict__.setdefault("_made", {})):
        made[make] = make(problem)
    result: T = made[make]
    return result


def with_notes(problem: Problem, notes: Iterable[Diagnostic]) -> Problem:
    """Return the problem with other notes on how it was understood."""
    return replace(problem, file=replace(problem.file, notes=tuple(notes)))


@dataclass(frozen=True)
class Prior:
    """Prior distribution of a parameter's value.

    Parameters
    ----------
    distribution
        ``"normal"``; ``"lognormal"``, for positive quantities; ``"uniform"``, which only
        says that the value lies within limits.
    mean, sd
        Mean and standard deviation of the quantity itself in the parameter's unit, even for
        a lognormal distribution: 2.0 and 0.2 mean "2.0 within 10 %". NaN if uniform.
    lower, upper
        Limits of a uniform distribution, in the parameter's unit.
    """

    distribution: PriorName
    mean: float = math.nan
    sd: float = math.nan
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def counts(self) -> bool:
        """Whether it adds to the cost; a uniform prior is constant within its limits."""
        return self.distribution != "uniform"

    @property
    def log_sd(self) -> float:
        """Standard deviation of the logarithm of a lognormal quantity."""
        return math.sqrt(math.log1p((self.sd / self.mean) ** 2))

    @property
    def center(self) -> float:
        """The value of zero deviation: the mean, or the median of a lognormal quantity."""
        if self.distribution == "uniform":
            return 0.5 * (self.lower + self.upper)
        if self.distribution == "lognormal":
            return self.mean * math.exp(-0.5 * self.log_sd**2)
        return self.mean

    def deviation(self, value: float) -> float:
        """Return how many standard deviations a value lies above the centre.

        A lognormal quantity is measured on the log scale, where it is normal; a uniform one has
        deviation 0.
        """
        if self.distribution == "normal":
            return (value - self.mean) / self.sd
        if self.distribution == "lognormal":
            return (math.log(max(value, _TINY)) - math.log(self.center)) / self.log_sd
        return 0.0

    def slope(self, value: float) -> float:
        """Return the derivative of :meth:`deviation` with respect to the value."""
        if self.distribution == "normal":
            return 1.0 / self.sd
        if self.distribution == "lognormal":
            return 1.0 / (max(value, _TINY) * self.log_sd) if value > 0.0 else 0.0
        return 0.0

    def __str__(self) -> str:
        if self.distribution == "uniform":
            return f"uniform from {self.lower:g} to {self.upper:g}"
        return f"{self.distribution}, {self.mean:g} +- {self.sd:g}"


@dataclass(frozen=True)
class SearchSpace:
    """Mapping between physical parameters and scaled ones.

    A component is ``p / scale`` or, with log scaling, ``log(p)``. All fields have shape
    (n,); `scale` is unused where `log` is true, `lower` and `upper` are the bounds in the
    search space, and `least` and `most` the physical ones.
    """

    scale: F64
    log: np.ndarray[tuple[int], np.dtype[np.bool_]]
    lower: F64
    upper: F64
    least: F64
    most: F64

    @classmethod
    def of(cls, problem: Problem) -> SearchSpace:
        """Return the search space of the problem's free parameters."""
        scale = np.array([p.scale for p in problem.free], dtype=np.float64)
        log = np.array([p.scaling == "log" for p in problem.free], dtype=np.bool_)
        least, most = problem.lower, problem.upper
        bare = cls(scale, log, scale, scale, least, most)
        return replace(bare, lower=bare.from_physical(least), upper=bare.from_physical(most))

    def from_physical(self, p: F64) -> F64:
        """Return the search-space point of physical parameters, shape (..., n)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = np.log(np.maximum(p, 0.0))
        return np.where(self.log, logarithm, p / self.scale)

    def to_physical(self, z: F64) -> F64:
        """Return the physical parameters of a search-space point, shape (..., n)."""
        exponent = np.where(self.log, z, 0.0)
        return np.where(self.log, np.exp(exponent), z * self.scale)

    def bounded(self, z: F64) -> F64:
        """Return the physical parameters within their bounds, shape (..., n)."""
        inside: F64 = np.clip(self.to_physical(z), self.least, self.most)
        return inside

    def derivative(self, p: F64) -> F64:
        """Return ``dp/dz`` at the physical point `p`, shape (n,)."""
        return np.where(self.log, p, self.scale)
