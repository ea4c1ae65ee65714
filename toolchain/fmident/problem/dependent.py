"""Dependent parameters.

A dependent parameter is defined by an expression instead of being searched. It works
with every estimator: its value is computed wherever parameter values are used, and its
derivatives with respect to the searched parameters give its standard error by the chain
rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, ProblemError, did_you_mean
from fmident.problem.expressions import (
    CONSTANTS,
    ExpressionError,
    Name,
    Node,
    Units,
    advised,
    check_numbers,
    evaluated,
    known_name,
    names_in,
    nodes,
    value_of,
)
from fmident.problem.model import Parameter, Problem, made_once
from fmident.units import DIMENSIONLESS, Unit, compatible, unit_or_none

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


class Dependence:
    """Maps the searched parameters of a problem to all parameters.

    The expressions in `parameters` must not depend on each other cyclically.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = tuple(parameters)
        self._searched = tuple(q for q in parameters if q.searched)
        self._units = {q.name: unit_or_none(q.unit) for q in parameters}
        self._trees: dict[str, Node] = {
            q.name: q.expression.tree for q in parameters if q.expression is not None
        }
        self._order = ordered(self._trees)

    @classmethod
    def of(cls, problem: Problem) -> Dependence:
        """Return the cached instance of a problem."""
        return made_once(problem, cls._made)

    @classmethod
    def _made(cls, problem: Problem) -> Dependence:
        return cls(problem.parameters)

    def values(self, p: F64) -> dict[str, float]:
        """Return the values of all parameters by name, in their units.

        `p` are the searched parameters, shape (n,).
        """
        values = self._given(p)
        if self._order:
            si = self.values_in_si(p)
            for name in self._order:
                values[name] = self._from_si(name, si[name])
        return values

    def values_in_si(self, p: F64) -> Mapping[str, float]:
        """Return the values of all parameters in SI units; quoted names are accepted as keys."""
        si = _Environment({n: self._to_si(n, x) for n, x in self._given(p).items()}, float)
        for name in self._order:
            si[name] = value_of(self._trees[name], si)
        return si

    def _given(self, p: F64) -> dict[str, float]:
        values = {q.name: q.initial for q in self._parameters}
        values.update(zip((q.name for q in self._searched), (float(x) for x in p), strict=True))
        return values

    def derivatives(self, p: F64) -> dict[str, F64]:
        """Return the derivatives of all parameters with respect to the searched ones `p`.

        Each name maps to a row of shape (n,), in the parameter's unit per unit of the searched
        ones.
        """
        count = len(self._searched)
        rows = {q.name: np.zeros(count) for q in self._parameters}
        for j, q in enumerate(self._searched):
            rows[q.name][j] = 1.0
        if self._order:
            for name, row in zip(self._order, finite(self._jacobian(p)), strict=True):
                unit = self._units[name]
                rows[name] = row / (1.0 if unit is None else unit.factor)
        return rows

    @cached_property
    def _jacobian(self) -> Any:
        """Derivatives of the dependent parameters in SI units, in their order."""
        import casadi  # here: it takes 0.2 s, and few problems have expressions

        p, si = self.symbols()
        values = casadi.vertcat(*(si[name] for name in self._order))
        return casadi.Function("dependent", [p], [casadi.jacobian(values, p)])

    def symbols(self) -> tuple[Any, Mapping[str, Any]]:
        """Return CasADi's symbols of the searched parameters, and all parameters in SI units."""
        import casadi  # here: it takes 0.2 s, and few problems have expressions

        p = casadi.SX.sym("p", len(self._searched))
        values = {q.name: casadi.SX(q.initial) for q in self._parameters}
        values |= {q.name: p[j] for j, q in enumerate(self._searched)}
        si = _Environment({n: self._to_si(n, x) for n, x in values.items()}, casadi.SX)
        for name in self._order:
            si[name] = evaluated(self._trees[name], si, casadi)
        return p, si

    def sources(self, *trees: Node) -> frozenset[str]:
        """Return the independent parameters on which the expressions depend."""
        independent: set[str] = set()
        waiting = self.resolved(trees)
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self._trees:
                waiting += self.resolved([self._trees[name]])
            else:
                independent.add(name)
        return frozenset(independent)

    def resolved(self, trees: Iterable[Node]) -> list[str]:
        """Return the parameters named in the expressions."""
        known = [known_name(n, self._units) for n in sorted(names_in(*trees))]
        return [name for name in known if name is not None]

    def _to_si(self, name: str, value: Any) -> Any:
        unit = self._units[name]
        return value if unit is None else value * unit.factor + unit.offset

    def _from_si(self, name: str, value: float) -> float:
        unit = self._units[name]
        return value if unit is None else (value - unit.offset) / unit.factor


T = TypeVar("T")


def finite(matrix: Any) -> F64:
    """Return a matrix of CasADi with NaN where it is not finite."""
    array = np.asarray(matrix, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


class _Environment(dict[str, T]):
    """Values by name or quoted name, and the constants."""

    def __init__(self, values: Mapping[str, T], constant: Callable[[float], T]) -> None:
        super().__init__(values)
        self._constant = constant

    def __missing__(self, name: str) -> T:
        if name in CONSTANTS:
            return self._constant(CONSTANTS[name])
        plain = name[1:-1]
        if f"'{plain}'" != name:
            raise KeyError(name)
        return self[plain]


def ordered(trees: Mapping[str, Node]) -> tuple[str, ...]:
    """Return the dependent parameters in evaluation order, given their expressions by name.

    Raises `ProblemError` if some depend on each other cyclically.
    """
    order: list[str] = []
    state: dict[str, str] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if state.get(name) == "done":
            return
        if name in path:
            circle = " -> ".join(f"'{n}'" for n in (*path[path.index(name) :], name))
            raise ProblemError(
                f"'{name}' follows from itself"
                if len(path) == 1
                else f"parameters follow from each other in a circle: {circle}",
                hint="give one of them an initial value in place of its expression",
                key=name,
            )
        for other in sorted(names_in(trees[name])):
            known = known_name(other, trees)
            if known is not None:
                visit(known, (*path, name))
        state[name] = "done"
        order.append(name)

    for name in trees:
        visit(name, ())
    return tuple(order)


def check_names(trees: Iterable[Node], text: str, units: Mapping[str, Unit | None]) -> None:
    """Raise `ExpressionError`, with the position, for a name that no parameter has.

    `trees` are the syntax trees of the expression `text`, and `units` those of the
    parameters.
    """
    names = list(units)
    for tree in trees:
        check_numbers(tree, units, text)
        for node in nodes(tree):
            if not isinstance(node, Name) or known_name(node.name, names) is not None:
                continue
            if node.name not in CONSTANTS:
                raise ExpressionError(
                    f"there is no parameter '{node.name}'",
                    text,
                    node.position,
                    hint=did_you_mean(node.name, names, kind="parameter")
                    + "; a variable of the FMU needs a table [parameters.NAME], with"
                    " 'fixed = true' if it is known",
                    code=Code.UNKNOWN_NAME,
                )


def units_by_name(parameters: Sequence[Parameter]) -> Mapping[str, Unit | None]:
    """Return the units by name as used in expressions; ``None`` for a parameter without one."""
    units = {q.name: unit_or_none(q.unit) for q in parameters}
    return _Environment(units, lambda _: DIMENSIONLESS)


def check_dependent(parameters: Sequence[Parameter]) -> None:
    """Check the expressions of all dependent parameters: names, cycles, units, values.

    Raises `ProblemError`; its key is the parameter's name.
    """
    units = units_by_name(parameters)
    dependent = [
        (q, q.expression.tree, q.expression.text) for q in parameters if q.expression is not None
    ]
    for q, tree, text in dependent:
        try:
            check_names([tree], text, units)
        except ExpressionError as error:
            error.key = q.name
            raise
    dependence = Dependence(parameters)
    for q, tree, text in dependent:
        try:
            _check_unit(q, Units(units, text).of(tree), text)
        except ExpressionError as error:
            error.key = q.name
            advised(error, [tree], units)
            raise
    initial = np.array([q.initial for q in parameters if q.searched])
    values = dependence.values(initial)
    for q, _, text in dependent:
        if not math.isfinite(values[q.name]):
            raise ProblemError(
                f"'{q.name}' = {text} is not a finite number at the initial values",
                hint="change the initial values, or the expression",
                key=q.name,
            )


def named_elsewhere(problem: Problem) -> set[str]:
    """Return the parameters named in expressions of others or in constraints."""
    names = {q.name for q in problem.parameters}
    written = names_in(
        *(q.expression.tree for q in problem.parameters if q.expression is not None),
        *(side for c in problem.constraints for side in (c.left, c.right)),
    )
    return {known for n in written if (known := known_name(n, names)) is not None}


def acting_on(problem: Problem, experiments: Iterable[str]) -> set[str]:
    """Return the parameters that affect any of the experiments, directly or indirectly."""
    chosen = list(experiments)
    acting = {q.name for q in problem.parameters if any(q.acts_on(e) for e in chosen)}
    trees = {q.name: q.expression.tree for q in problem.parameters if q.expression is not None}
    known = {q.name for q in problem.parameters}
    waiting = [n for n in acting if n in trees]
    while waiting:
        for written in names_in(trees[waiting.pop()]):
            name = known_name(written, known)
            if name is not None and name not in acting:
                acting.add(name)
                waiting += [name] if name in trees else []
    return acting


def with_values(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters with the initial values of the dependent ones computed."""
    if all(q.expression is None for q in parameters):
        return tuple(parameters)
    initial = np.array([q.initial for q in parameters if q.searched])
    values = Dependence(parameters).values(initial)
    return tuple(
        q if q.expression is None else replace(q, initial=values[q.name]) for q in parameters
    )


def _check_unit(q: Parameter, found: Unit | None, text: str) -> None:
    wanted = unit_or_none(q.unit)
    if found is None or wanted is None or compatible(found, wanted):
        return
    raise ExpressionError(
        f"'{q.name}' is in '{wanted.text}' ({wanted.si}), but its expression gives"
        f" {'a plain number' if found.dimensionless else found.si}",
        text,
        0,
        hint="correct the expression, or the units of its parameters",
        code=Code.UNITS_DIFFER,
    )


def parameter_derivatives_for(problem: Problem, experiment: Experiment, p: F64) -> dict[str, F64]:
    """Return the derivatives of the FMU variables set by the parameters in one experiment.

    Each variable maps to its derivatives with respect to the searched parameters `p`
    (physical units), shape (n,), in the order of
    :func:`~fmident.problem.parameter_values_for`. The row of a searched parameter has a
    single 1, that of a fixed one is zero, and that of a dependent one follows from its
    expression.
    """
    rows = Dependence.of(problem).derivatives(p)
    return {
        q.variable: rows[q.name]
        for q in problem.parameters
        if q.variable is not None and q.acts_on(experiment.name)
    }


def measurement_derivatives(problem: Problem, p: F64) -> dict[str, F64]:
    """Return the derivatives of the parameters used by the measurement model, by name.

    They are with respect to the searched parameters `p` (physical units), shape (n,); the
    parameters are those of :func:`~fmident.problem.measurement_values`.
    """
    used = {name for e in problem.experiments for m in e.measurements for name in m.references}
    rows = Dependence.of(problem).derivatives(p)
    return {name: row for name, row in rows.items() if name in used}
