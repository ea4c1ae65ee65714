"""Options of estimators that know the model as a linear differential equation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Location, ProblemError
from fmident.options import Options, Range
from fmident.problem.model import Problem
from fmident.problem.relations.dependent import Dependence
from fmident_estimators.linear_equation.formula import Formula
from fmident_estimators.linear_equation.parameter_map import ParameterMap
from fmident_estimators.linear_equation.structure import LinearEquation

EXAMPLE = 'order = 2, known = { b0 = "1/m" }, map = { k = "m*a0", d = "m*a1" }'


@dataclass(frozen=True)
class EquationOptions(Options):
    """The equation ``sum a_i y^(i) = sum b_j u^(j)`` with ``a_order = 1``.

    Parameters
    ----------
    order
        Of the equation.
    unknown
        Coefficients to estimate; by default those that `map` uses and `known` does not give.
    known
        Coefficient to number or formula of the problem's fixed parameters; what is neither
        known nor unknown is 0.
    map
        Free parameter to formula of coefficients and fixed parameters. A parameter with the
        name of a coefficient needs none.
    input
        FMU variable of u; may be left out when there is one input.
    output
        Measurement y; may be left out when there is one.
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

    Parameters
    ----------
    equation
        Its structure and known coefficients.
    parameters
        From coefficients to free parameters.
    input, output
        FMU variable of u (``None`` without input) and name of the measurement y.
    """

    equation: LinearEquation
    parameters: ParameterMap
    input: str | None
    output: str

    def columns(self, experiment: Experiment) -> tuple[int, int]:
        """Return the places of u (-1 without) and y among an experiment's columns.

        Raises
        ------
        fmident.errors.ProblemError
            The experiment has no such column.
        """
        u = -1
        if self.input is not None:
            u = _place(tuple(experiment.inputs), self.input, "input", experiment.name)
        names = tuple(m.name for m in experiment.measurements)
        return u, _place(names, self.output, "measured output", experiment.name)

    def measurement(self, experiment: Experiment) -> Measurement:
        """Return the measurement y of an experiment."""
        return experiment.measurements[self.columns(experiment)[1]]


def read_setup(problem: Problem, options: EquationOptions, estimator: str) -> Setup:
    """Check the options against the problem.

    Raises
    ------
    fmident.errors.ProblemError
        They do not fit; the message says which and how.
    """
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
    """Reads the parts of a setup; each method refuses what does not fit.

    Parameters
    ----------
    problem, options, estimator
        As for :func:`read_setup`.

    Attributes
    ----------
    fixed
        Values of the fixed parameters, and of those that follow from them alone.
    """

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
        """Return the error with which a setup is refused."""
        source = self._problem.source
        return ProblemError(
            f"[estimator]: '{self._estimator}': {message}",
            location=None if source is None else Location(str(source)),
            hint=hint or f"for example {EXAMPLE}",
        )

    def formulas(self) -> dict[str, Formula]:
        """Return how each free parameter follows from the coefficients, in their order."""
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
        """Return the coefficients to estimate: those given, or else what the formulas use."""
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
        """Refuse measurements that are not an output of the equation itself."""
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
