"""What estimators share that treat the model as a linear differential equation."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar

import casadi
import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.data.time import uneven_step
from fmident.errors import DataError, ProblemError
from fmident.estimation.contract import Flag, OnlineEstimate, Requirement, TimeSeriesEstimate
from fmident.estimation.online import OnlineEstimator, Tracker, time_series
from fmident.options import Options, Range
from fmident.problem.dependent import Dependence, finite
from fmident.problem.expressions import (
    CONSTANTS,
    Expression,
    ExpressionError,
    Number,
    evaluated,
    nodes,
    value_of,
)
from fmident.problem.model import Problem

EXAMPLE = 'order = 2, known = { b0 = "1/m" }, map = { k = "m*a0", d = "m*a1" }'

_NAME = re.compile(r"([ab])(\d+)")

_JITTER = 0.02
"""Largest deviation from the sampling interval, relative to it."""


@dataclass(frozen=True)
class EquationOptions(Options):
    """The equation ``sum a_i y^(i) = sum b_j u^(j)`` with ``a_order = 1``.

    Parameters
    ----------
    order
        Order of the equation.
    unknown
        Coefficients to estimate; by default those that `map` uses and `known` does not
        give.
    known
        Coefficient to number or formula of the problem's fixed parameters; coefficients
        that are neither known nor unknown are 0.
    map
        Free parameter to formula of coefficients and fixed parameters. A parameter with the
        name of a coefficient needs none.
    input
        FMU variable of u; optional when there is one input.
    output
        Measurement y; optional when there is one.
    """

    order: Annotated[int, Range(least=1)] = 2
    unknown: tuple[str, ...] = ()
    known: dict[str, Any] = field(default_factory=dict)
    map: dict[str, Any] = field(default_factory=dict)
    input: str | None = None
    output: str | None = None


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one side of the equation.

    `known` are the coefficients by order of the derivative, shape (order + 1,); `unknown` are
    the orders with unknown coefficients, and `places` the indices of these among all unknown.
    """

    known: F64
    unknown: tuple[int, ...]
    places: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LinearEquation:
    """``sum a_i y^(i) = sum b_j u^(j)``, i and j from 0 to `order`, with ``a_order = 1``.

    `unknown` are the coefficients to estimate, such as ``("a0", "a1")``; those that are
    neither known nor unknown are 0. Raises ``ValueError`` for invalid or repeated names, or
    if nothing is unknown.
    """

    order: int
    unknown: tuple[str, ...]
    known: Mapping[str, float] = field(default_factory=dict)
    y: Terms = field(init=False)
    u: Terms = field(init=False)

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"the order is {self.order}, but at least 1 is needed")
        if not self.unknown:
            raise ValueError("no coefficient is unknown")
        seen: set[str] = set()
        for name in (*self.unknown, *self.known):
            if parse_coefficient(name, self.order) == ("a", self.order):
                raise ValueError(f"{name} is 1: the equation is divided by it")
            if name in seen:
                raise ValueError(f"{name} is given twice")
            seen.add(name)
        object.__setattr__(self, "y", self._terms("a", {f"a{self.order}": 1.0, **self.known}))
        object.__setattr__(self, "u", self._terms("b", self.known))

    @property
    def has_input(self) -> bool:
        """Whether u occurs in the equation."""
        return bool(self.u.unknown) or bool(np.any(self.u.known))

    def _terms(self, side: str, known: Mapping[str, float]) -> Terms:
        values = np.zeros(self.order + 1)
        for name, value in known.items():
            if name.startswith(side):
                values[int(name[1:])] = value
        places = [k for k, name in enumerate(self.unknown) if name.startswith(side)]
        orders = tuple(int(self.unknown[k][1:]) for k in places)
        return Terms(values, orders, np.array(places, dtype=np.int64))


def parse_coefficient(name: str, order: int) -> tuple[str, int]:
    """Return side and index of a coefficient, ``"a0"`` -> ``("a", 0)``, or ``ValueError``."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[2]) > order:
        raise ValueError(
            f"'{name}' is not a coefficient of an equation of order {order}: "
            f"those are a0 to a{order - 1} of the output and b0 to b{order} of the input"
        )
    return match[1], int(match[2])


class ParameterMap:
    """Mapping from the unknown coefficients to the free parameters.

    There are r `unknown` names and n `formulas`, one per free parameter; `constants` are
    the values of all other names in the formulas.
    """

    def __init__(
        self, unknown: Sequence[str], formulas: Sequence[Expression], constants: Mapping[str, float]
    ) -> None:
        self._unknown, self._constants = tuple(unknown), dict(constants)
        self._trees = [formula.tree for formula in formulas]
        x = casadi.SX.sym("x", len(self._unknown))
        symbols = {name: casadi.SX(value) for name, value in self._constants.items()}
        symbols |= {name: x[k] for k, name in enumerate(self._unknown)}
        values = casadi.vertcat(*(evaluated(tree, symbols, casadi) for tree in self._trees))
        self._derivatives = casadi.Function("formulas", [x], [casadi.jacobian(values, x)])
        self._affine: tuple[F64, F64] | None = None
        if casadi.is_linear(values, x):  # the usual case, and faster
            zero = np.zeros(len(self._unknown))
            self._affine = self._jacobian(zero), self._evaluate(zero)

    def __call__(self, coefficients: F64) -> F64:
        """Return the parameters, (r,) -> (n,) or (k, r) -> (k, n)."""
        if self._affine is not None:
            matrix, offset = self._affine
            values: F64 = coefficients @ matrix.T + offset
            return values
        if coefficients.ndim == 2:
            return np.array([self._evaluate(row) for row in coefficients])
        return self._evaluate(coefficients)

    def standard_errors(self, coefficients: F64, covariance: F64) -> F64:
        """Return the standard errors of the parameters to first order, shape (n,) or (k, n)."""
        if self._affine is None and coefficients.ndim == 2:
            rows = [self.standard_errors(*p) for p in zip(coefficients, covariance, strict=True)]
            return np.array(rows)
        matrix = self._jacobian(coefficients) if self._affine is None else self._affine[0]
        variance = ((matrix @ covariance) * matrix).sum(axis=-1)
        errors: F64 = np.sqrt(np.maximum(variance, 0.0))
        return errors

    def _evaluate(self, coefficients: F64) -> F64:
        values = {**self._constants, **dict(zip(self._unknown, coefficients.tolist(), strict=True))}
        return np.array([value_of(tree, values) for tree in self._trees])

    def _jacobian(self, coefficients: F64) -> F64:
        """Return the derivative of the parameters, shape (n, r)."""
        return finite(self._derivatives(coefficients))


@dataclass(frozen=True, eq=False)
class Setup:
    """Options, checked against a problem.

    `parameters` maps coefficients to free parameters; `input` is the FMU variable of u,
    ``None`` without input, and `output` the name of the measurement y.
    """

    equation: LinearEquation
    parameters: ParameterMap
    input: str | None
    output: str

    def columns(self, experiment: Experiment) -> tuple[int, int]:
        """Return the indices of u (-1 without input) and y among an experiment's columns."""
        u = -1
        if self.input is not None:
            u = _place(tuple(experiment.inputs), self.input, "input", experiment.name)
        names = tuple(m.name for m in experiment.measurements)
        return u, _place(names, self.output, "measured output", experiment.name)

    def measurement(self, experiment: Experiment) -> Measurement:
        """Return the measurement y of an experiment."""
        return experiment.measurements[self.columns(experiment)[1]]

    def noise(self, experiment: Experiment) -> float | None:
        """Return the standard deviation of y's noise as one number (root mean square)."""
        sigma = self.measurement(experiment).sigma
        return None if sigma is None else float(np.sqrt(np.mean(np.square(sigma))))

    def signals(self, experiment: Experiment) -> tuple[F64, F64]:
        """Return y and u (zero without input), shape (n,) each."""
        u, y = self.columns(experiment)
        measured = experiment.measurements[y].values
        given = np.zeros_like(measured) if u < 0 else list(experiment.inputs.values())[u]
        return measured, given


def read_setup(problem: Problem, options: EquationOptions, estimator: str) -> Setup:
    """Check the options against the problem; raises `ProblemError` if they do not fit."""

    def refuse(message: str, hint: str | None = None) -> ProblemError:
        return ProblemError(
            f"[estimator]: '{estimator}': {message}",
            location=problem.where(),
            hint=hint or f"for example {EXAMPLE}",
        )

    free = [q.name for q in problem.free]
    dependence = Dependence.of(problem)
    fixed = dict(CONSTANTS)
    for q in problem.parameters:
        tree = None if q.expression is None else q.expression.tree
        if q.fixed or (tree is not None and not dependence.sources(tree) & {*free}):
            fixed[q.name] = q.initial
    try:
        known_formulas = {name: _formula(text) for name, text in options.known.items()}
        formulas = {name: _formula(text) for name, text in options.map.items()}
    except ValueError as error:
        raise refuse(str(error)) from error
    known: dict[str, float] = {}
    for name, formula in known_formulas.items():
        for other in sorted(formula.names - {*fixed}):
            raise refuse(
                f"known.{name} uses '{other}', which is not a fixed parameter of the problem"
            )
        known[name] = value_of(formula.tree, fixed)
        if math.isnan(known[name]):
            raise refuse(f"known.{name} = '{formula.text}' has no value")
    coefficients = {f"{side}{i}" for side in "ab" for i in range(options.order + 1)}
    by_name = {name: Expression(name) for name in free if name in coefficients}
    formulas = {**by_name, **formulas}
    used = [n for name in free if name in formulas for n in sorted(formulas[name].names)]
    wanted = [n for n in used if n in coefficients and n not in known]
    unknown = options.unknown or tuple(dict.fromkeys(wanted))
    for message in _misfits(free, formulas, used, {*coefficients, *fixed}, wanted, unknown):
        raise refuse(message)
    try:
        equation = LinearEquation(options.order, unknown, known)
    except ValueError as error:
        raise refuse(str(error)) from error
    u, y = _signals(problem, options, equation, refuse)
    parameters = ParameterMap(unknown, [formulas[name] for name in free], {**fixed, **known})
    setup = Setup(equation, parameters, u, y)
    for experiment in problem.experiments:
        setup.columns(experiment)
    return setup


def _signals(
    problem: Problem,
    options: EquationOptions,
    equation: LinearEquation,
    refuse: Callable[..., ProblemError],
) -> tuple[str | None, str]:
    """Return the names of u (``None`` without input) and y, if the equation can be that of y."""
    for m in (m for e in problem.experiments for m in e.measurements):
        altered = m.gain != 1.0 or m.offset != 0.0 or m.delay != 0.0
        if altered or m.references or m.decimation:
            raise refuse(
                f"the measurement '{m.name}' has a gain, offset, delay or decimation, which the"
                " equation does not know",
                "correct the data before, or use least-squares",
            )
    first = problem.experiments[0]
    u = (options.input or _only(tuple(first.inputs))) if equation.has_input else None
    y = options.output or _only(tuple(m.name for m in first.measurements))
    if equation.has_input and u is None:
        raise refuse("there are several inputs or none", 'say which is u: input = "NAME"')
    if y is None:
        raise refuse("several outputs are measured", 'say which is y: output = "NAME"')
    return u, y


def _formula(text: object) -> Expression:
    try:
        formula = Expression(str(text))
    except ExpressionError as error:
        raise ValueError(error.message) from error
    if any(isinstance(node, Number) and node.unit for node in nodes(formula.tree)):
        raise ValueError(f"'{text}' gives a number a unit, which a coefficient does not have")
    return formula


def _misfits(
    free: Sequence[str],
    formulas: Mapping[str, Expression],
    used: Sequence[str],
    allowed: set[str],
    wanted: Sequence[str],
    unknown: Sequence[str],
) -> Iterator[str]:
    """Yield what is wrong with the map from coefficients to parameters."""
    for name in formulas:
        if name not in free:
            yield f"map gives '{name}', which is not a free parameter of the problem"
    for name in free:
        if name not in formulas:
            yield f"map does not say how '{name}' follows from the coefficients"
    for name in used:
        if name not in allowed:
            yield f"map uses '{name}', which is neither a coefficient nor a fixed parameter"
    for name in wanted:
        if name not in unknown:
            yield f"map uses '{name}', which is neither known nor unknown"


def _only(names: tuple[str, ...]) -> str | None:
    return names[0] if len(names) == 1 else None


def _place(names: tuple[str, ...], name: str, what: str, experiment: str) -> int:
    if name not in names:
        known = ", ".join(f"'{n}'" for n in names) or "none"
        raise ProblemError(
            f"[estimator]: experiment '{experiment}' has no {what} '{name}'",
            hint=f"it has {known}",
        )
    return names.index(name)


def sampling_interval(experiment: Experiment) -> float:
    """Return the interval of an equidistant experiment, s; raises `DataError` for others."""
    times = experiment.times
    if times.size < 2:
        raise DataError(f"experiment '{experiment.name}' has one sample only")
    step = float(np.median(np.diff(times)))
    k = uneven_step(times, step, _JITTER)
    if k is not None:
        raise DataError(
            f"the samples of '{experiment.name}' are not equidistant: {times[k + 1] - times[k]:.6g}"
            f" s after t = {times[k]:.6g} s, but {step:.6g} s elsewhere",
            hint="resample the data, or use an estimator that simulates, such as least-squares",
        )
    return float((times[-1] - times[0]) / (times.size - 1))


class Stream(Protocol):
    """Coefficients, shape (r,), and their covariance, (r, r), sample by sample."""

    coefficients: F64
    covariance: F64

    def update(self, y: float, u: float = 0.0) -> int:
        """Process one sample; return a `Flag`."""

    def restart(self) -> None:
        """Forget the samples before a gap in the data."""


class EquationTracker(Tracker):
    """Passes each sample to a stream, which begins again after a gap in the times.

    `columns` are the indices of u (-1 without input) and y in a sample, `step` is the sampling
    interval, s.
    """

    missing_is_a_gap: ClassVar[bool] = False
    """Whether the stream begins again after a missing sample."""

    def __init__(
        self, stream: Stream, parameters: ParameterMap, columns: tuple[int, int], step: float
    ) -> None:
        self._stream, self._map, self._step = stream, parameters, step
        self._u, self._y = columns
        self._before: float | None = None

    def update(self, time: float, inputs: F64, outputs: F64) -> OnlineEstimate | None:
        """Process one sample."""
        before = self._before
        if before is not None and abs(time - before - self._step) > _JITTER * self._step:
            self._stream.restart()
        u = inputs[self._u] if self._u >= 0 else 0.0
        self.flag = Flag(self._stream.update(outputs[self._y], u))
        if not (self.missing_is_a_gap and self.flag is Flag.MISSING):
            self._before = time
        if self.flag is not Flag.GOOD:
            return None
        values = self._map(self._stream.coefficients)
        errors = self.errors(values)
        if errors is None:
            self.flag = Flag.SINGULAR
            return None
        return OnlineEstimate(time, values, errors)

    @abstractmethod
    def errors(self, values: F64) -> F64 | None:
        """Return the standard errors of the parameters; ``None`` for unusable `values`."""


AnyOptions = TypeVar("AnyOptions", bound=EquationOptions)


class EquationEstimator(OnlineEstimator[AnyOptions], Generic[AnyOptions]):
    """Estimates the coefficients of a linear differential equation."""

    any_cost: ClassVar[bool] = False
    needs: ClassVar[str] = (
        "a model that is a linear differential equation from an input to one output"
    )
    requires: ClassVar[frozenset[Requirement]] = frozenset({"linear-equation"})


def usable_series(
    problem: Problem,
    experiment: Experiment,
    values: F64,
    errors: F64,
    flags: npt.NDArray[np.integer],
    usable: npt.NDArray[np.bool_],
) -> TimeSeriesEstimate:
    """Return the series in which estimates that are not `usable` count as singular."""
    flags[(flags == Flag.GOOD) & ~usable] = Flag.SINGULAR
    values[flags != Flag.GOOD] = np.nan
    errors[flags != Flag.GOOD] = np.nan
    return time_series(problem, experiment, values, errors, flags)
