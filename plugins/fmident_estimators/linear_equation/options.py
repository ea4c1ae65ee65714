"""Options of estimators that know the model as a linear differential equation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Location, ProblemError
from fmident.options import Options, Range
from fmident.problem.model import Problem
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
    location = Location(str(problem.source)) if problem.source is not None else None

    def refuse(message: str, hint: str | None = None) -> ProblemError:
        return ProblemError(
            f"[estimator]: '{estimator}': {message}",
            location=location,
            hint=hint or f"for example {EXAMPLE}",
        )

    fixed = {q.name: q.initial for q in problem.parameters if q.fixed}
    free = [q.name for q in problem.free]
    try:
        known = {name: Formula(text) for name, text in options.known.items()}
        formulas = {name: Formula(text) for name, text in options.map.items()}
    except ValueError as error:
        raise refuse(str(error)) from error
    for name in formulas:
        if name not in free:
            raise refuse(f"map gives '{name}', which is not a free parameter of the problem")
    coefficients = {f"{side}{i}" for side in "ab" for i in range(options.order + 1)}
    for name in free:
        if name not in formulas:
            if name not in coefficients:
                raise refuse(f"map does not say how '{name}' follows from the coefficients")
            formulas[name] = Formula(name)
    values: dict[str, float] = {}
    for name, formula in known.items():
        for other in formula.names:
            if other not in fixed:
                raise refuse(
                    f"known.{name} uses '{other}', which is not a fixed parameter of the problem"
                )
        values[name] = formula(fixed)
        if values[name] != values[name]:
            raise refuse(f"known.{name} = '{formula.text}' has no value")
    used = [n for name in free for n in sorted(formulas[name].names)]
    for name in used:
        if name not in coefficients and name not in fixed:
            raise refuse(f"map uses '{name}', which is neither a coefficient nor a fixed parameter")
    unknown = options.unknown or tuple(
        dict.fromkeys(n for n in used if n in coefficients and n not in values)
    )
    for name in used:
        if name in coefficients and name not in values and name not in unknown:
            raise refuse(f"map uses '{name}', which is neither known nor unknown")
    try:
        equation = LinearEquation(options.order, unknown, values)
    except ValueError as error:
        raise refuse(str(error)) from error
    for experiment in problem.experiments:
        for m in experiment.measurements:
            if m.references or m.gain != 1.0 or m.offset != 0.0 or m.delay != 0.0 or m.decimation:
                raise refuse(
                    f"the measurement '{m.name}' has a gain, offset, delay or decimation, which "
                    "the equation does not know",
                    "correct the data before, or use least-squares",
                )
    first = problem.experiments[0]
    u = options.input or (_only(tuple(first.inputs)) if equation.has_input else None)
    y = options.output or _only(tuple(m.name for m in first.measurements))
    if equation.has_input and u is None:
        raise refuse("there are several inputs or none", 'say which is u: input = "NAME"')
    if y is None:
        raise refuse("several outputs are measured", 'say which is y: output = "NAME"')
    setup = Setup(
        equation,
        ParameterMap(unknown, [formulas[name] for name in free], {**fixed, **values}),
        u if equation.has_input else None,
        y,
    )
    for experiment in problem.experiments:
        setup.columns(experiment)
    return setup


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
