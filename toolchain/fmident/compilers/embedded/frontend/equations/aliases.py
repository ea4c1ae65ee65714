"""Variables that equal another variable or an input, up to the sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.frontend.equations.jumps import is_affine
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.reading import syntax as sx


@dataclass(frozen=True)
class Alias:
    """``variable = sign * representative``."""

    representative: str
    sign: int


def eliminate_aliases(
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
    if not gradient.is_constant() or not is_affine([residual], symbols):
        return None
    first, second = float(gradient[0]), float(gradient[1])
    offset = ca.substitute(residual, ca.vertcat(*symbols), ca.DM.zeros(2))
    if abs(first) != 1 or abs(second) != 1 or not offset.is_zero():
        return None
    a, b = (names[s.element_hash()] for s in symbols)
    return a, b, -1 if first == second else 1
