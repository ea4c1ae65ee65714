"""Start values of the states: attributes ``start`` and initial equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.equations.blocks import (
    Iterations,
    TornLoop,
    solve_blocks,
)
from fmident.compilers.embedded.frontend.equations.causalize import (
    Solution,
    determined_by,
    has_start,
)
from fmident.compilers.embedded.frontend.equations.system import (
    ScalarEquation,
    Substitution,
    Unknowns,
)
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_ROUNDING = 1e-12
"""Two start values that differ by less, relative to them, are the same."""


def start_value(
    variable: sx.Variable, position: int, lowering: Lowering, otherwise: float = 0.0
) -> Scalar:
    """Return the attribute ``start`` of one scalar; `otherwise` if absent."""
    if variable.start is None:
        return otherwise
    value = lowering.evaluate(variable.start)
    sizes = v.shape(value)
    if sizes and sizes != variable.shape:
        raise Refusal(
            "shape-mismatch",
            f"'start' of '{variable.name}' has the sizes {list(sizes)} instead of "
            f"{list(variable.shape)}",
            variable.span,
            "",
        )
    scalar = v.flat(value)[position if isinstance(value, np.ndarray) else 0]
    if isinstance(scalar, str) or (isinstance(scalar, bool) and variable.type_name == "Real"):
        raise Refusal(
            "type-error", f"'start' of '{variable.name}' is not a number", variable.span, ""
        )
    if not lowering.is_time_invariant(scalar):
        raise Refusal(
            "variability",
            f"'start' of '{variable.name}' depends on a variable",
            variable.start.span,
            "use parameters and constants only, or write an initial equation",
        )
    return scalar if v.is_symbolic(scalar) else float(scalar)


def is_fixed(variable: sx.Variable, position: int, lowering: Lowering) -> bool | None:
    """Return the attribute ``fixed`` of one scalar; ``None`` if absent."""
    if variable.fixed is None:
        return None
    scalars = v.flat(lowering.evaluate(variable.fixed))
    scalar = scalars[position if len(scalars) > 1 else 0]
    if not isinstance(scalar, bool):
        raise Refusal(
            "type-error",
            f"'fixed' of '{variable.name}' is not a constant Boolean",
            variable.span,
            "",
        )
    return scalar


def initial_states(
    solution: Solution,
    unknowns: Unknowns,
    equations: Sequence[ScalarEquation],
    substitution: Substitution,
    lowering: Lowering,
    defaults: Mapping[int, float],
) -> InitialStates:
    """Return the initial value of each state and the states that start by default.

    `defaults` are values of parameters and constants by symbol hash, for choices among
    states that depend on numbers.
    """
    starts: dict[str, Scalar] = {}
    free: dict[str, v.SX] = {}
    for name in solution.states:
        variable, position = unknowns.declared[name]
        starts[name] = start_value(variable, position, lowering)
        if is_fixed(variable, position, lowering) is not True:
            free[name] = unknowns.variables[name]
    pairs = substitution.in_equations([*equations, *_fixed_others(solution, unknowns, lowering)])
    known_starts = Substitution()
    for name, value in starts.items():
        if name not in free:
            known_starts.define(unknowns.variables[name], value)
    pairs = [p for p in pairs if not _holds_anyway(p, known_starts)]
    loops = _needed(pairs, solution.loops)
    targets = _determined(pairs, free, loops) | _unknowns_of(loops)
    pairs = [*pairs, *(q for loop in loops for q in loop.equations)]
    bound = [
        q
        for c in solution.constraints
        if not _holds_anyway(q := ScalarEquation(c.residual, 0, c.text, c.span), known_starts)
    ]
    left = {n: s for n, s in free.items() if n not in targets}
    bound, following = _bound(bound, left, starts, unknowns, defaults)
    targets |= following
    pairs += bound
    iterations = Iterations(lambda name: has_start(name, unknowns))
    block_formulas = solve_blocks(pairs, targets, unknowns, (), iterations=iterations)
    # What is iterated at the start has symbols of its own: afterwards it is another loop.
    renamed, initial_loops = _renamed(iterations.loops)
    formulas = dict(zip(block_formulas, renamed(list(block_formulas.values())), strict=True))
    of_loops = (q.residual for loop in initial_loops for q in loop.equations)
    used = v.symbols(*formulas.values(), *of_loops)
    entering = [n for n in solution.states if unknowns.variables[n].element_hash() in used]
    known = Substitution()
    for name in solution.states:
        if name not in formulas:
            known.define(unknowns.variables[name], starts[name])
    values = starts | dict(zip(formulas, known([*formulas.values()]), strict=True))
    return InitialStates(
        [values[n] for n in solution.states],
        [n for n in free if n not in formulas],
        [loop.replaced(known) for loop in initial_loops],
        [n not in formulas and n not in entering for n in solution.states],
        [n for n in entering if n not in formulas and not v.is_symbolic(starts[n])],
    )


def _bound(
    constraints: Sequence[ScalarEquation],
    free: Mapping[str, v.SX],
    starts: Mapping[str, Scalar],
    unknowns: Unknowns,
    defaults: Mapping[int, float],
) -> tuple[list[ScalarEquation], dict[str, v.SX]]:
    """Return the constraints that determine states at the start, and these states."""
    point = {**defaults, **_numbers(starts, unknowns, defaults)}
    open_ones = {s.element_hash() for s in free.values()}
    deciding: list[ScalarEquation] = []
    for pair in constraints:
        if v.symbols(pair.residual).keys() & open_ones:
            deciding.append(pair)
        elif not _is_zero(pair.residual, point):
            raise Refusal(
                "initial-equation",
                f"the start values of states with fixed=true contradict '{pair.text}'",
                pair.span,
                "remove fixed=true of a state that follows from others, or correct its 'start'",
            )
    preferred = [n for n in free if unknowns.declared[n][0].start is None]
    names = determined_by([q.residual for q in deciding], free, preferred, point)
    if len(names) < len(deciding):
        texts = ", ".join(f"'{t}'" for t in dict.fromkeys(q.text for q in deciding))
        raise Refusal(
            "initial-equation",
            f"{len(deciding)} constraints of the states, from {texts}, cannot be satisfied by "
            f"the {len(free)} states without fixed=true"
            + (": " + ", ".join(f"'{n}'" for n in free) if free else ""),
            deciding[0].span,
            "remove fixed=true of states, or give them a 'start' near consistent values",
        )
    return deciding, {n: free[n] for n in names}


def _numbers(
    starts: Mapping[str, Scalar], unknowns: Unknowns, defaults: Mapping[int, float]
) -> dict[int, float]:
    """Return the start values of states by symbol hash."""
    numbers = v.numbers(v.column(starts.values()), defaults).ravel()
    return {
        unknowns.variables[n].element_hash(): float(x) for n, x in zip(starts, numbers, strict=True)
    }


def _is_zero(residual: Scalar, point: Mapping[int, float]) -> bool:
    arguments = v.column(v.symbols(residual).values())
    terms = ca.jacobian(ca.SX(residual), arguments).T * arguments
    value, *sizes = np.abs(v.numbers(ca.vertcat(ca.SX(residual), terms), point)).ravel()
    return bool(value <= 1e-9 * max(sizes, default=1e-300))


@dataclass(frozen=True)
class InitialStates:
    """Initial values of the states.

    `defaulted` states begin at their ``start`` although it is not fixed. A state is `free`
    if it begins at its ``start`` and no other start value depends on it. `deciding` states
    have a numeric start on which others depend.
    """

    values: list[Scalar]
    defaulted: list[str]
    loops: list[TornLoop]
    free: list[bool]
    deciding: list[str]

    def replaced(self, known: Substitution) -> InitialStates:
        """Return a copy with some symbols replaced."""
        loops = [loop.replaced(known) for loop in self.loops]
        return replace(self, values=known(self.values), loops=loops)


def _unknowns_of(loops: Sequence[TornLoop]) -> dict[str, v.SX]:
    pairs = (pair for loop in loops for pair in zip(loop.names, loop.symbols, strict=True))
    return dict(pairs)


def _needed(pairs: Sequence[ScalarEquation], loops: Sequence[TornLoop]) -> list[TornLoop]:
    used = {*v.symbols(*(q.residual for q in pairs))}
    needed: list[TornLoop] = []
    # A loop depends on earlier ones only.
    for loop in reversed(loops):
        if any(s.element_hash() in used for s in loop.symbols):
            needed.insert(0, loop)
            used |= v.symbols(*(q.residual for q in loop.equations)).keys()
    return needed


def _renamed(loops: Sequence[TornLoop]) -> tuple[Substitution, list[TornLoop]]:
    substitution = Substitution()
    symbols = [[ca.SX.sym(f"initial {n}") for n in loop.names] for loop in loops]
    for loop, own in zip(loops, symbols, strict=True):
        for old, new in zip(loop.symbols, own, strict=True):
            substitution.define(old, new)
    return substitution, [
        replace(loop, symbols=tuple(own)).replaced(substitution)
        for loop, own in zip(loops, symbols, strict=True)
    ]


@dataclass(frozen=True)
class _FixedStart(ScalarEquation):
    """The equation meant by ``fixed=true`` of a variable that is not a state."""

    name: str = ""
    because: str = ""
    """Reason why a variable under ``der`` is not a state; empty for others."""


def _called(pair: ScalarEquation) -> str:
    if isinstance(pair, _FixedStart):
        return f"'{pair.name}' is not a state{pair.because}; its fixed=true, '{pair.text}',"
    return f"the initial equation '{pair.text}'"


def _determined(
    pairs: Sequence[ScalarEquation], free: Mapping[str, v.SX], loops: Sequence[TornLoop]
) -> dict[str, v.SX]:
    """Return the states that initial equations determine; refuse an ambiguous choice."""
    names = {symbol.element_hash(): name for name, symbol in free.items()}
    iterated = {s.element_hash() for loop in loops for s in loop.symbols}
    touched: dict[str, v.SX] = {}
    for pair in pairs:
        symbols = v.symbols(pair.residual)
        candidates = [names[key] for key in symbols if key in names]
        if not candidates and not iterated & symbols.keys():
            raise Refusal(
                "fixed-algebraic" if isinstance(pair, _FixedStart) else "initial-equation",
                f"{_called(pair)} determines no state: every state in it has fixed=true, or there "
                "is none in it",
                pair.span,
                "remove it, or remove fixed=true",
            )
        # 'x = expression' determines x whatever else it contains.
        explicit = [
            n for n in candidates if any(v.is_same(e, free[n]) for e in (pair.left, pair.right))
        ]
        for name in explicit[:1] or candidates:
            touched[name] = free[name]
    if len(touched) < len(pairs):
        through = v.symbols(*(q.residual for loop in loops for q in loop.equations))
        touched |= {n: s for n, s in free.items() if s.element_hash() in through}
    if len(touched) != len(pairs):
        given = " (fixed=true of what is not a state is one, too)"
        raise Refusal(
            "initial-equation",
            f"{len(pairs)} initial equations"
            + (given if any(isinstance(p, _FixedStart) for p in pairs) else "")
            + f" for the {len(touched)} states "
            + ", ".join(f"'{n}'" for n in touched),
            pairs[0].span,
            "set fixed=true on the states that start at their 'start', so that as many states "
            "are free as there are initial equations",
        )
    return touched


def _fixed_others(
    solution: Solution, unknowns: Unknowns, lowering: Lowering
) -> list[ScalarEquation]:
    """Return ``v = start`` for non-states with ``fixed=true`` (Modelica 3.6, section 8.6)."""
    result: list[ScalarEquation] = []
    followed = {d.name: f" (it follows from '{d.text}')" for d in solution.demotions}
    for name, symbol in unknowns.variables.items():
        variable, position = unknowns.declared[name]
        if name in solution.states or is_fixed(variable, position, lowering) is not True:
            continue
        start = start_value(variable, position, lowering)
        right = start if v.is_symbolic(start) else f"{start:g}"
        text = f"{name} = {right}"
        result.append(_FixedStart(symbol, start, text, variable.span, name, followed.get(name, "")))
    return result


def _holds_anyway(pair: ScalarEquation, starts: Substitution) -> bool:
    """Return whether an equation already holds because of states with ``fixed=true``."""
    left, right = (
        v.plain(ca.simplify(side)) if v.is_symbolic(side) else side
        for side in starts([pair.left, pair.right])
    )
    if v.is_symbolic(left) and v.is_symbolic(right):
        return bool(ca.is_equal(left, right, 10))
    if v.is_symbolic(left) or v.is_symbolic(right):
        return False
    return bool(abs(left - right) <= _ROUNDING * max(abs(left), abs(right)))
