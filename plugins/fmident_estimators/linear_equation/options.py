"""Options of estimators that treat the model as a linear differential equation."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Annotated, Any

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import DataError, ProblemError
from fmident.options import Options, Range
from fmident.problem.dependent import Dependence
from fmident.problem.model import Problem

EXAMPLE = 'order = 2, known = { b0 = "1/m" }, map = { k = "m*a0", d = "m*a1" }'


_FUNCTIONS = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "abs": abs}
_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow,
    ast.USub, ast.UAdd, ast.Constant, ast.Name, ast.Load, ast.Call,
)  # fmt: skip


_NAME = re.compile(r"([ab])(\d+)")


_JITTER = 0.02
"""Largest deviation from the sampling interval, relative to it."""


_STEP = 1e-6
_PROBES = (0.37, 1.9, -2.3)
_AFFINE = 1e-9


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


def read_setup(problem: Problem, options: EquationOptions, estimator: str) -> Setup:
    """Check the options against the problem; raises `ProblemError` if they do not fit."""
    reader = _Reader(problem, options, estimator)
    formulas = reader.formulas()
    values = reader.known_values()
    unknown = reader.unknown(formulas, values)
    try:
        equation = LinearEquation(options.order, unknown, values)
    except ValueError as error:
        raise reader.refuse(str(error)) from error
    reader.refuse_measurements()
    u, y = reader.signals(has_input=equation.has_input)
    parameters = ParameterMap(unknown, list(formulas.values()), {**reader.fixed, **values})
    setup = Setup(equation, parameters, u, y)
    for experiment in problem.experiments:
        setup.columns(experiment)
    return setup


class _Reader:
    """Reads the parts of a setup; each method rejects what does not fit."""

    def __init__(self, problem: Problem, options: EquationOptions, estimator: str) -> None:
        self._problem = problem
        self._options = options
        self._estimator = estimator
        free = {q.name for q in problem.free}
        dependence = Dependence.of(problem)
        self.fixed = {
            q.name: q.initial
            for q in problem.parameters
            if q.fixed
            or (q.expression is not None and not dependence.sources(q.expression.tree) & free)
        }
        self._coefficients = {f"{side}{i}" for side in "ab" for i in range(options.order + 1)}

    def refuse(self, message: str, hint: str | None = None) -> ProblemError:
        """Return the error that rejects a setup."""
        return ProblemError(
            f"[estimator]: '{self._estimator}': {message}",
            location=self._problem.where(),
            hint=hint or f"for example {EXAMPLE}",
        )

    def formulas(self) -> dict[str, Formula]:
        """Return the formula of each free parameter in terms of the coefficients, in order."""
        given = self._read(self._options.map)
        free = [q.name for q in self._problem.free]
        for name in given:
            if name not in free:
                raise self.refuse(
                    f"map gives '{name}', which is not a free parameter of the problem"
                )
        for name in free:
            if name not in given and name not in self._coefficients:
                raise self.refuse(f"map does not say how '{name}' follows from the coefficients")
        return {name: given[name] if name in given else Formula(name) for name in free}

    def known_values(self) -> dict[str, float]:
        """Return the values of the known coefficients."""
        values: dict[str, float] = {}
        for name, formula in self._read(self._options.known).items():
            for other in formula.names:
                if other not in self.fixed:
                    raise self.refuse(
                        f"known.{name} uses '{other}', which is not a fixed parameter of the"
                        " problem"
                    )
            values[name] = formula(self.fixed)
            if math.isnan(values[name]):
                raise self.refuse(f"known.{name} = '{formula.text}' has no value")
        return values

    def unknown(
        self, formulas: Mapping[str, Formula], values: Mapping[str, float]
    ) -> tuple[str, ...]:
        """Return the coefficients to estimate: the given ones, or those in the formulas."""
        used = [n for formula in formulas.values() for n in sorted(formula.names)]
        for name in used:
            if name not in self._coefficients and name not in self.fixed:
                raise self.refuse(
                    f"map uses '{name}', which is neither a coefficient nor a fixed parameter"
                )
        open_ones = [n for n in used if n in self._coefficients and n not in values]
        unknown = self._options.unknown or tuple(dict.fromkeys(open_ones))
        for name in open_ones:
            if name not in unknown:
                raise self.refuse(f"map uses '{name}', which is neither known nor unknown")
        return unknown

    def refuse_measurements(self) -> None:
        """Reject measurements that are not an output of the equation itself."""
        for experiment in self._problem.experiments:
            for m in experiment.measurements:
                altered = m.gain != 1.0 or m.offset != 0.0 or m.delay != 0.0
                if altered or m.references or m.decimation:
                    raise self.refuse(
                        f"the measurement '{m.name}' has a gain, offset, delay or decimation, "
                        "which the equation does not know",
                        "correct the data before, or use least-squares",
                    )

    def signals(self, *, has_input: bool) -> tuple[str | None, str]:
        """Return the names of u (``None`` without input) and y."""
        first = self._problem.experiments[0]
        u = (self._options.input or _only(tuple(first.inputs))) if has_input else None
        y = self._options.output or _only(tuple(m.name for m in first.measurements))
        if has_input and u is None:
            raise self.refuse("there are several inputs or none", 'say which is u: input = "NAME"')
        if y is None:
            raise self.refuse("several outputs are measured", 'say which is y: output = "NAME"')
        return u, y

    def _read(self, texts: Mapping[str, Any]) -> dict[str, Formula]:
        try:
            return {name: Formula(text) for name, text in texts.items()}
        except ValueError as error:
            raise self.refuse(str(error)) from error


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


class Formula:
    """A formula of numbers, names, ``+ - * / **``, ``sqrt``, ``exp``, ``log`` and ``abs``."""

    def __init__(self, source: str | float) -> None:
        self.text = str(source)
        try:
            tree = ast.parse(self.text, mode="eval")
        except SyntaxError as error:
            raise ValueError(f"'{self.text}' is not a formula ({error.msg})") from error
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED) or not _is_plain(node):
                raise ValueError(
                    f"'{self.text}' holds more than numbers, names, + - * / ** and "
                    + ", ".join(_FUNCTIONS)
                )
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.names = frozenset(names - set(_FUNCTIONS))
        self._code: CodeType = compile(tree, self.text, "eval")

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return the value for given names; NaN where undefined, as in a division by zero."""
        try:
            # The tree holds arithmetic only: it was checked node by node.
            value = eval(self._code, {"__builtins__": {}, **_FUNCTIONS}, dict(values))
        except (ZeroDivisionError, ValueError, OverflowError):
            return math.nan
        return float(value) if isinstance(value, (int, float)) else math.nan

    def __repr__(self) -> str:
        return f"Formula('{self.text}')"


def _is_plain(node: ast.AST) -> bool:
    """Return whether a node of an allowed kind contains only arithmetic."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        return known and len(node.args) == 1 and not node.keywords
    return True


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

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"the order is {self.order}, but at least 1 is needed")
        if not self.unknown:
            raise ValueError("no coefficient is unknown")
        seen: set[str] = set()
        for name in (*self.unknown, *self.known):
            side, index = parse_coefficient(name, self.order)
            if (side, index) == ("a", self.order):
                raise ValueError(f"{name} is 1: the equation is divided by it")
            if name in seen:
                raise ValueError(f"{name} is given twice")
            seen.add(name)

    @cached_property
    def unknown_a(self) -> tuple[int, ...]:
        """Orders of the derivatives of y with unknown coefficients, in the order of `unknown`."""
        return self._orders("a")

    @cached_property
    def unknown_b(self) -> tuple[int, ...]:
        """Orders of the derivatives of u with unknown coefficients, in the order of `unknown`."""
        return self._orders("b")

    @cached_property
    def places_a(self) -> tuple[int, ...]:
        """Indices of the unknown a in `unknown`."""
        return tuple(i for i, name in enumerate(self.unknown) if name.startswith("a"))

    @cached_property
    def places_b(self) -> tuple[int, ...]:
        """Indices of the unknown b in `unknown`."""
        return tuple(i for i, name in enumerate(self.unknown) if name.startswith("b"))

    @cached_property
    def known_a(self) -> F64:
        """Known coefficients of y, shape (order + 1,), the leading 1 included."""
        values = self._values("a")
        values[self.order] = 1.0
        return values

    @cached_property
    def known_b(self) -> F64:
        """Known coefficients of u, shape (order + 1,)."""
        return self._values("b")

    @property
    def has_input(self) -> bool:
        """Whether u occurs in the equation."""
        return bool(self.unknown_b) or bool(np.any(self.known_b))

    def _orders(self, side: str) -> tuple[int, ...]:
        pairs = [parse_coefficient(name, self.order) for name in self.unknown]
        return tuple(index for s, index in pairs if s == side)

    def _values(self, side: str) -> F64:
        values = np.zeros(self.order + 1)
        for name, value in self.known.items():
            s, index = parse_coefficient(name, self.order)
            if s == side:
                values[index] = value
        return values


def parse_coefficient(name: str, order: int) -> tuple[str, int]:
    """Return side and index of a coefficient, ``"a0"`` -> ``("a", 0)``, or ``ValueError``."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[2]) > order:
        raise ValueError(
            f"'{name}' is not a coefficient of an equation of order {order}: "
            f"those are a0 to a{order - 1} of the output and b0 to b{order} of the input"
        )
    return match[1], int(match[2])


def sampling_interval(experiment: Experiment) -> float:
    """Return the interval of an equidistant experiment, s; raises `DataError` for others."""
    steps = np.diff(experiment.times)
    if steps.size == 0:
        raise DataError(f"experiment '{experiment.name}' has one sample only")
    step = float(np.median(steps))
    if float(np.max(np.abs(steps - step))) > _JITTER * step:
        k = int(np.argmax(np.abs(steps - step)))
        raise DataError(
            f"the samples of '{experiment.name}' are not equidistant: {steps[k]:.6g} s after "
            f"t = {experiment.times[k]:.6g} s, but {step:.6g} s elsewhere",
            hint="resample the data, or use an estimator that simulates, such as least-squares",
        )
    return float((experiment.times[-1] - experiment.times[0]) / steps.size)


def is_gap(before: float, now: float, step: float) -> bool:
    """Return whether the distance of two samples differs from the sampling interval."""
    return abs(now - before - step) > _JITTER * step


def noise_of(measurement: Measurement) -> float | None:
    """Return the standard deviation of the noise as one number (root mean square)."""
    if measurement.sigma is None:
        return None
    return float(np.sqrt(np.mean(np.square(measurement.sigma))))


class ParameterMap:
    """Mapping from the unknown coefficients to the free parameters.

    There are r `unknown` names and n `formulas`, one per free parameter; `constants` are
    the values of all other names in the formulas.
    """

    def __init__(
        self,
        unknown: Sequence[str],
        formulas: Sequence[Formula],
        constants: Mapping[str, float],
    ) -> None:
        self._unknown = tuple(unknown)
        self._formulas = tuple(formulas)
        self._constants = dict(constants)
        self._affine = self._find_affine()

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
        values = dict(self._constants)
        values.update(zip(self._unknown, coefficients.tolist(), strict=True))
        return np.array([formula(values) for formula in self._formulas])

    def _jacobian(self, coefficients: F64) -> F64:
        """Return the derivative of the parameters by central differences, shape (n, r)."""
        columns = []
        for j, value in enumerate(coefficients):
            step = _STEP * (abs(value) if value != 0.0 else 1.0)
            up, down = coefficients.copy(), coefficients.copy()
            up[j] += step
            down[j] -= step
            columns.append((self._evaluate(up) - self._evaluate(down)) / (up[j] - down[j]))
        return np.column_stack(columns)

    def _find_affine(self) -> tuple[F64, F64] | None:
        """Return matrix and offset if all formulas are affine, the usual case, which is faster."""
        r = len(self._unknown)
        offset = self._evaluate(np.zeros(r))
        matrix = np.column_stack([self._evaluate(unit) - offset for unit in np.eye(r)])
        for factor in _PROBES:
            point: F64 = factor * (1.0 + np.arange(r, dtype=np.float64))
            expected = matrix @ point + offset
            actual = self._evaluate(point)
            size = np.abs(matrix) @ np.abs(point) + np.abs(offset)
            if not bool(np.all(np.abs(actual - expected) <= _AFFINE * size)):
                return None  # also where a formula has no value (NaN)
        return matrix, offset
