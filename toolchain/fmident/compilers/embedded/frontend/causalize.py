"""From equations to explicit formulas: aliases, matching, order, solution of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from . import syntax as sx
from . import values as v
from .linear import SingularMatrixError, solve
from .refusal import Refusal
from .structure import (
    Matching,
    blocks,
    maximum_matching,
    reachable_equations,
    reachable_unknowns,
)
from .system import ScalarEquation, Unknowns
from .values import Scalar

MAXIMUM_LINEAR_BLOCK = 12
"""Largest linear loop that is solved symbolically."""

SHOWN = 6
"""Longest list of equations or variables in a message."""


@dataclass(frozen=True)
class Alias:
    """``variable = sign * representative``."""

    representative: str
    sign: int


@dataclass
class Solution:
    """Explicit formulas.

    Parameters
    ----------
    states
        Names of the states.
    aliases
        Variables that equal another one up to the sign.
    formulas
        Algebraic variables and derivatives (under the name of their symbol) as expressions of
        time, states, inputs, parameters and calculated parameters.
    """

    states: list[str]
    aliases: dict[str, Alias]
    formulas: dict[str, Scalar] = field(default_factory=dict)


class Substitution:
    """Replaces solved symbols in expressions; keeps common parts common."""

    def __init__(self) -> None:
        self._solved: dict[int, tuple[v.SX, Scalar]] = {}

    def define(self, symbol: v.SX, value: Scalar) -> None:
        """Let `symbol` stand for `value` from now on."""
        self._solved[symbol.element_hash()] = (symbol, value)

    def __call__(self, expressions: Sequence[Scalar]) -> list[Scalar]:
        """Return the expressions with all defined symbols replaced."""
        stacked = ca.SX(ca.vertcat(*expressions)) if expressions else ca.SX(0, 1)
        found = [
            self._solved[s.element_hash()]
            for s in ca.symvar(stacked)
            if s.element_hash() in self._solved
        ]
        if not found:
            return list(expressions)
        symbols = ca.vertcat(*(s for s, _ in found))
        values = ca.SX(ca.vertcat(*(value for _, value in found)))
        replaced = ca.substitute(stacked, symbols, values)
        return [v.plain(replaced[i]) for i in range(len(expressions))]


def causalize(equations: Sequence[ScalarEquation], unknowns: Unknowns) -> Solution:
    """Solve the equations for derivatives and algebraic variables.

    Raises
    ------
    Refusal
        Unbalanced, structurally singular, higher index, a loop that cannot be solved.
    """
    aliases, remaining = _eliminate_aliases(equations, unknowns)
    substitution = Substitution()
    for name, alias in aliases.items():
        symbol = _symbol(alias.representative, unknowns)
        substitution.define(unknowns.variables[name], alias.sign * symbol)
    states: list[str] = []
    for name in unknowns.variables:
        if name not in unknowns.derivatives:
            continue
        alias = aliases.get(name, Alias(name, 1))
        if alias.representative in unknowns.inputs:
            raise Refusal(
                "unsupported-der-input",
                f"'der({name})', and '{name}' equals the input '{alias.representative}'",
                unknowns.derivative_spans[name],
                "make the derivative an input of its own",
            )
        if alias.representative not in states:
            states.append(alias.representative)
    order = {name: i for i, name in enumerate(unknowns.variables)}
    states.sort(key=order.__getitem__)
    targets: dict[str, v.SX] = {}
    for name in states:
        if name not in unknowns.derivatives:
            unknowns.derivatives[name] = ca.SX.sym(f"der({name})")
        targets[f"der({name})"] = unknowns.derivatives[name]
    for name, symbol in list(unknowns.derivatives.items()):
        if name in aliases:
            alias = aliases[name]
            substitution.define(symbol, alias.sign * unknowns.derivatives[alias.representative])
    for name, symbol in unknowns.variables.items():
        if name not in aliases and name not in states:
            targets[name] = symbol
    solution = Solution(states, aliases)
    replaced = substitution([e for q in remaining for e in (q.left, q.right)])
    pairs = [
        ScalarEquation(replaced[2 * i], replaced[2 * i + 1], q.text, q.span)
        for i, q in enumerate(remaining)
    ]
    solution.formulas = solve_blocks(pairs, targets, unknowns, states)
    return solution


def _symbol(name: str, unknowns: Unknowns) -> v.SX:
    return unknowns.inputs[name] if name in unknowns.inputs else unknowns.variables[name]


# -- aliases ----------------------------------------------------------------------------


def _eliminate_aliases(
    equations: Sequence[ScalarEquation], unknowns: Unknowns
) -> tuple[dict[str, Alias], list[ScalarEquation]]:
    """Find equations ``a = b`` and ``a = -b`` of variables; return aliases and the rest."""
    names = {s.element_hash(): n for n, s in (unknowns.variables | unknowns.inputs).items()}
    parent: dict[str, tuple[str, int]] = {}

    def root(name: str) -> tuple[str, int]:
        sign = 1
        while name in parent:
            name, factor = parent[name]
            sign *= factor
        return name, sign

    remaining: list[ScalarEquation] = []
    for equation in equations:
        pair = _alias_pair(equation, names)
        if pair is None:
            remaining.append(equation)
            continue
        first, second, sign = pair
        (a, sign_a), (b, sign_b) = root(first), root(second)
        if a == b or (a in unknowns.inputs and b in unknowns.inputs):
            # Says something about the variable itself, or fixes an input: let matching judge.
            remaining.append(equation)
            continue
        if _rank(a, unknowns) > _rank(b, unknowns):
            a, b = b, a
        parent[b] = (a, sign * sign_a * sign_b)
    aliases = {}
    for name in unknowns.variables:
        representative, sign = root(name)
        if representative != name:
            aliases[name] = Alias(representative, sign)
    return aliases, remaining


def _rank(name: str, unknowns: Unknowns) -> tuple[int, int]:
    """Order of preference as representative: inputs, then start values that count, then states."""
    if name in unknowns.inputs:
        return (0, 0)
    variable, _ = unknowns.declared[name]
    fixed = isinstance(variable.fixed, sx.Boolean) and variable.fixed.value
    is_state = name in unknowns.derivatives
    preference = 0 if fixed else 1 if variable.start is not None and is_state else 2
    return (1, preference if is_state or fixed else 3)


def _alias_pair(equation: ScalarEquation, names: Mapping[int, str]) -> tuple[str, str, int] | None:
    residual = equation.residual
    if not v.is_symbolic(residual) or ca.n_nodes(residual) > 6:
        return None
    symbols = ca.symvar(residual)
    if len(symbols) != 2 or any(s.element_hash() not in names for s in symbols):
        return None
    gradient = ca.jacobian(residual, ca.vertcat(*symbols))
    if not gradient.is_constant():
        return None
    first, second = float(gradient[0]), float(gradient[1])
    offset = ca.substitute(residual, ca.vertcat(*symbols), ca.DM.zeros(2))
    if abs(first) != 1 or abs(second) != 1 or not offset.is_zero():
        return None
    a, b = (names[s.element_hash()] for s in symbols)
    return a, b, -1 if first == second else 1


# -- blocks -----------------------------------------------------------------------------


def solve_blocks(
    equations: Sequence[ScalarEquation],
    targets: Mapping[str, v.SX],
    unknowns: Unknowns,
    states: Sequence[str],
) -> dict[str, Scalar]:
    """Return an explicit formula for each of `targets`.

    Parameters
    ----------
    equations
        As many as targets.
    targets
        What to solve for: name to symbol.
    unknowns
        For messages.
    states
        Names of the states; a constraint between them is a higher index.
    """
    names = list(targets)
    positions = {targets[name].element_hash(): j for j, name in enumerate(names)}
    residuals = [q.residual for q in equations]
    incidence = [_incidence(q, positions) for q in residuals]
    matching = maximum_matching(incidence, len(names))
    if matching.unmatched_equations or matching.unmatched_unknowns:
        raise _not_matched(equations, residuals, incidence, matching, names, unknowns, states)
    substitution = Substitution()
    formulas: dict[str, Scalar] = {}
    for block in blocks(incidence, matching):
        wanted = [u for i in block if (u := matching.unknown_of[i]) is not None]
        symbols = [targets[names[j]] for j in wanted]
        solved = _solve_block([equations[i] for i in block], symbols, [names[j] for j in wanted])
        values = substitution(solved)
        for j, symbol, value in zip(wanted, symbols, values, strict=True):
            formulas[names[j]] = value
            substitution.define(symbol, value)
    return formulas


def _incidence(residual: Scalar, positions: Mapping[int, int]) -> list[int]:
    if not v.is_symbolic(residual):
        return []
    return [
        positions[s.element_hash()] for s in ca.symvar(residual) if s.element_hash() in positions
    ]


def _solve_block(
    equations: Sequence[ScalarEquation], symbols: Sequence[v.SX], names: Sequence[str]
) -> list[Scalar]:
    """Solve one block; the result contains symbols of earlier blocks."""
    if len(equations) == 1:
        explicit = _explicit(equations[0], symbols[0])
        if explicit is not None:
            return [explicit]
    unknown = ca.vertcat(*symbols)
    residual = ca.vertcat(*(q.residual for q in equations))
    matrix = ca.jacobian(residual, unknown)
    if ca.depends_on(matrix, unknown):
        raise _loop_refusal("nonlinear-loop", "a nonlinear algebraic loop", equations, names)
    if len(equations) > MAXIMUM_LINEAR_BLOCK:
        raise _loop_refusal(
            "large-loop",
            f"a linear algebraic loop of {len(equations)} equations "
            f"(at most {MAXIMUM_LINEAR_BLOCK} are solved)",
            equations,
            names,
        )
    offset = ca.substitute(residual, unknown, ca.DM.zeros(len(symbols)))
    rows = [[v.plain(matrix[i, j]) for j in range(len(symbols))] for i in range(len(equations))]
    if _always_singular(matrix):
        raise _loop_refusal("singular-block", "a singular algebraic loop", equations, names)
    try:
        return solve(rows, [v.plain(-offset[i]) for i in range(len(equations))])
    except SingularMatrixError:
        raise _loop_refusal(
            "singular-block", "a singular algebraic loop", equations, names
        ) from None


def _explicit(equation: ScalarEquation, symbol: v.SX) -> Scalar | None:
    """Return the right side of ``symbol = expression`` as it stands."""
    for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
        if _is_same(one, symbol) and not (v.is_symbolic(other) and ca.depends_on(other, symbol)):
            return other
    return None


def _is_same(value: Scalar, symbol: v.SX) -> bool:
    return v.is_symbolic(value) and bool(ca.is_equal(value, symbol))


_RANDOM_POINTS = 3
_RANK_TOLERANCE = 1e-13


def _always_singular(matrix: v.SX) -> bool:
    """Return whether the matrix is rank deficient at several random points.

    A structurally regular matrix can still be singular for every value of its symbols.
    """
    symbols = ca.symvar(matrix)
    function = ca.Function("matrix", [ca.SX(ca.vertcat(*symbols))], [ca.densify(matrix)])
    generator = np.random.default_rng(1)
    for _ in range(_RANDOM_POINTS):
        value = np.array(function(generator.uniform(0.5, 1.5, len(symbols))))
        if not np.all(np.isfinite(value)):
            return False
        scale = np.max(np.abs(value), axis=1, keepdims=True)
        if np.linalg.cond(value / np.where(scale > 0, scale, 1.0)) < 1 / _RANK_TOLERANCE:
            return False
    return True


def _listed(items: Sequence[str]) -> str:
    shown = list(dict.fromkeys(items))
    more = f", ... ({len(shown)} in all)" if len(shown) > SHOWN else ""
    return ", ".join(f"'{item}'" for item in shown[:SHOWN]) + more


def _loop_refusal(
    rule: str, what: str, equations: Sequence[ScalarEquation], names: Sequence[str]
) -> Refusal:
    return Refusal(
        rule,
        f"{what} for {_listed(names)} in the equations {_listed([q.text for q in equations])}",
        equations[0].span,
    )


def _not_matched(
    equations: Sequence[ScalarEquation],
    residuals: Sequence[Scalar],
    incidence: Sequence[Sequence[int]],
    matching: Matching,
    names: Sequence[str],
    unknowns: Unknowns,
    states: Sequence[str],
) -> Refusal:
    """Say why the system cannot be solved: higher index, too many, too few, or singular."""
    if matching.unmatched_equations and states:
        refusal = _higher_index(equations, residuals, incidence, matching, names, unknowns, states)
        if refusal is not None:
            return refusal
    surplus = len(equations) - len(names)
    if matching.unmatched_equations:
        start = matching.unmatched_equations[0]
        part = [equations[i] for i in reachable_equations(incidence, matching, start)]
        if surplus > 0:
            return Refusal(
                "too-many-equations",
                f"too many equations, by {surplus}: one of {_listed([q.text for q in part])} "
                "is too many",
                part[0].span,
                "remove an equation, or declare a variable for it",
            )
    if matching.unmatched_unknowns:
        start = matching.unmatched_unknowns[0]
        free = [names[j] for j in reachable_unknowns(incidence, matching, start)]
        if surplus < 0:
            return Refusal(
                "too-few-equations",
                f"too few equations, by {-surplus}: nothing determines one of {_listed(free)}",
                _declared_at(free[0], unknowns),
                "add an equation, or declare the variable an input or a parameter",
            )
        part = [equations[i] for i in matching.unmatched_equations]
        return Refusal(
            "structurally-singular",
            f"the equations do not determine the variables: nothing determines {_listed(free)}, "
            f"and {_listed([q.text for q in part])} contradicts or repeats others",
            part[0].span,
            "correct the equations",
        )
    raise AssertionError("called for a perfect matching")


def _declared_at(name: str, unknowns: Unknowns) -> sx.Span:
    plain = name[4:-1] if name.startswith("der(") else name
    declared = unknowns.declared.get(plain)
    return declared[0].span if declared else sx.NOWHERE


def _higher_index(
    equations: Sequence[ScalarEquation],
    residuals: Sequence[Scalar],
    incidence: Sequence[Sequence[int]],
    matching: Matching,
    names: Sequence[str],
    unknowns: Unknowns,
    states: Sequence[str],
) -> Refusal | None:
    """Return a refusal when an equation constrains states instead of giving a derivative."""
    if len(equations) != len(names):
        return None
    positions = {unknowns.variables[s].element_hash(): s for s in states}
    start = matching.unmatched_equations[0]
    part = reachable_equations(incidence, matching, start)
    bound: list[str] = []
    for i in part:
        if v.is_symbolic(residuals[i]):
            bound.extend(
                positions[s.element_hash()]
                for s in ca.symvar(residuals[i])
                if s.element_hash() in positions
            )
    if not bound:
        return None
    return Refusal(
        "higher-index",
        f"the model has a higher index: {_listed([equations[i].text for i in part])} constrains "
        f"{_listed(bound)}, which stand under der(); some of these equations would have to be "
        "differentiated",
        equations[start].span,
        "choose other states so that no equation binds them to each other or to inputs; else "
        "compile this class with OpenModelica: --compiler openmodelica",
    )
