"""Explicit formulas for equations: matching, order, and solution block by block.

Small linear systems are solved by elimination with pivoting. Constant pivots are chosen when the
model is compiled. For a pivot that depends on variables, rows are exchanged by conditional
expressions when the code runs: partial pivoting without branches (G. H. Golub, C. F. Van Loan,
Matrix Computations, section 3.4).

Tearing: which unknowns of an algebraic loop are iterated, and which follow from them.

Source: the greedy choice of the unknown that occurs most, with causalisation after each
(F. E. Cellier, E. Kofman, Continuous System Simulation, 2006, section 7.6). An equation gives an
unknown only where its coefficient is a number, so that nothing is divided by what may become zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
import numpy.typing as npt

from fmident.compilers.embedded.frontend.equations.structure import (
    blocks,
    listed,
    maximum_matching,
    not_matched,
)
from fmident.compilers.embedded.frontend.equations.system import (
    ScalarEquation,
    Substitution,
    Unknowns,
)
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar, is_affine, jumps_with
from fmident.compilers.embedded.frontend.refusal import Refusal

MAXIMUM_LINEAR_BLOCK = 12
"""Largest linear loop that is solved symbolically."""

MAXIMUM_ITERATED = 60
"""Most unknowns of a loop that are found by iteration."""


@dataclass(frozen=True)
class SolvedBlock:
    """Equations solved together; `iterated` unknowns have no formula."""

    names: tuple[str, ...]
    equations: tuple[str, ...]
    iterated: tuple[str, ...] = ()


@dataclass
class Iterations:
    """Record of how blocks are solved, in order of dependency.

    `preferred` says by name whether to prefer an unknown as iteration variable; `loops` are
    solved during simulation.
    """

    preferred: Callable[[str], bool] = lambda _: False
    loops: list[TornLoop] = field(default_factory=list)
    blocks: list[SolvedBlock] = field(default_factory=list)


def solve_blocks(
    equations: Sequence[ScalarEquation],
    targets: Mapping[str, v.SX],
    unknowns: Unknowns,
    states: Sequence[str],
    *,
    varying: frozenset[int] | None = None,
    iterations: Iterations | None = None,
) -> dict[str, Scalar]:
    """Return an explicit formula for each of `targets`, given as many equations.

    In the formulas of an iterated loop, the symbols of its unknowns remain. A constraint
    between `states` means a higher index. `varying` are hashes of symbols that coefficients
    of linear blocks must not depend on; ``None`` allows all. `iterations` collects the
    loops without a formula; ``None`` refuses them.
    """
    names = list(targets)
    incidence = incidence_of(equations, targets)
    matching = maximum_matching(incidence, len(names))
    if matching.unmatched_equations or matching.unmatched_unknowns:
        raise not_matched(equations, incidence, matching, names, unknowns, states)
    substitution = Substitution()
    formulas: dict[str, Scalar] = {}
    for block in blocks(incidence, matching):
        wanted = [u for i in block if (u := matching.unknown_of[i]) is not None]
        symbols = [targets[names[j]] for j in wanted]
        part, called = [equations[i] for i in block], [names[j] for j in wanted]
        iterated: tuple[str, ...] = ()
        try:
            solved = _solve_block(part, symbols, called, varying)
        except _NoFormula as loop:
            if iterations is None:
                raise loop.refusal from None
            solved = _iterated(part, symbols, called, iterations, substitution)
            iterated = iterations.loops[-1].names
        if iterations is not None:
            texts = tuple(q.text for q in part)
            iterations.blocks.append(SolvedBlock(tuple(called), texts, iterated))
        values = substitution(solved)
        for j, symbol, value in zip(wanted, symbols, values, strict=True):
            formulas[names[j]] = value
            substitution.define(symbol, value)
    return formulas


def incidence_of(
    equations: Sequence[ScalarEquation], targets: Mapping[str, v.SX]
) -> list[list[int]]:
    """Return, for each equation, the positions of the targets that occur in it."""
    position = {symbol.element_hash(): j for j, symbol in enumerate(targets.values())}
    return [sorted(position[k] for k in q.symbols if k in position) for q in equations]


class _NoFormula(Exception):  # noqa: N818  # no mistake of the model
    """A loop without a formula; holds the refusal in case it cannot be iterated."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _solve_block(
    equations: Sequence[ScalarEquation],
    symbols: Sequence[v.SX],
    names: Sequence[str],
    varying: frozenset[int] | None,
) -> list[Scalar]:
    """Solve one block; the result contains symbols of earlier blocks."""
    if len(equations) == 1:
        explicit = _explicit(equations[0], symbols[0])
        if explicit is not None:
            return [explicit]
    unknown = ca.vertcat(*symbols)
    residual = ca.vertcat(*(q.residual for q in equations))
    matrix = ca.jacobian(residual, unknown)
    if _always_singular(matrix):
        raise _loop_refusal("singular-block", "a singular algebraic loop", equations, names)
    if not is_affine([q.residual for q in equations], symbols):
        refusal = _loop_refusal("nonlinear-loop", "a nonlinear algebraic loop", equations, names)
        raise _NoFormula(refusal)
    if varying and v.symbols(matrix).keys() & varying:
        raise _loop_refusal("varying-loop", "a loop with varying coefficients", equations, names)
    if len(equations) > MAXIMUM_LINEAR_BLOCK:
        what = f"a linear algebraic loop of {len(equations)} equations"
        raise _NoFormula(_loop_refusal("large-loop", what, equations, names))
    offset = ca.substitute(residual, unknown, ca.DM.zeros(len(symbols)))
    rows = [[v.plain(matrix[i, j]) for j in range(len(symbols))] for i in range(len(equations))]
    try:
        return solve(rows, [v.plain(-offset[i]) for i in range(len(equations))])
    except SingularMatrixError:
        raise _loop_refusal(
            "singular-block", "a singular algebraic loop", equations, names
        ) from None


def _iterated(
    equations: Sequence[ScalarEquation],
    symbols: Sequence[v.SX],
    names: Sequence[str],
    iterations: Iterations,
    earlier: Substitution,
) -> list[Scalar]:
    """Leave a loop to the simulation; the result contains the iterated symbols."""
    residuals = [ca.SX(q.residual) for q in equations]
    matrix = ca.sparsify(ca.jacobian(ca.vertcat(*residuals), ca.vertcat(*symbols)))
    tearing = tear(matrix, [iterations.preferred(n) for n in names], jumps_with(residuals, symbols))
    if len(tearing.torn) > MAXIMUM_ITERATED:
        raise _loop_refusal(
            "large-loop",
            f"an algebraic loop with {len(tearing.torn)} unknowns (at most {MAXIMUM_ITERATED} are "
            "iterated)",
            equations,
            names,
        )
    inner = Substitution()
    values: list[Scalar] = list(symbols)
    for i, j in tearing.order:
        (residual,) = inner([residuals[i]])
        values[j] = given_by(residual, symbols[j], v.plain(matrix[i, j]))
        inner.define(symbols[j], values[j])
    rest = earlier.in_equations(inner.in_equations([equations[i] for i in tearing.rest]))
    iterations.loops.append(
        TornLoop(
            tuple(names[j] for j in tearing.torn),
            tuple(symbols[j] for j in tearing.torn),
            tuple(rest),
        )
    )
    return values


def _explicit(equation: ScalarEquation, symbol: v.SX) -> Scalar | None:
    """Return the right side of an equation of the form ``symbol = expression``."""
    for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
        if v.is_same(one, symbol) and not (v.is_symbolic(other) and ca.depends_on(other, symbol)):
            return other
    return None


_RANDOM_POINTS_OF_ALL_SIZES = 60
_RANDOM_POINTS = 3
_RANK_TOLERANCE = 1e-13


def _always_singular(matrix: v.SX) -> bool:
    """Return whether the matrix is rank deficient at several random points."""
    symbols = ca.symvar(matrix)
    function = ca.Function("matrix", [ca.SX(ca.vertcat(*symbols))], [ca.densify(matrix)])
    for values in _points(len(symbols)):
        value = np.array(function(values))
        if not np.all(np.isfinite(value)):
            return False
        scale = np.max(np.abs(value), axis=1, keepdims=True)
        if np.linalg.cond(value / np.where(scale > 0, scale, 1.0)) < 1 / _RANK_TOLERANCE:
            return False
    return True


def _points(count: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield values near 1, then of various magnitudes, signs and truth values."""
    generator = np.random.default_rng(1)
    for _ in range(_RANDOM_POINTS):
        yield generator.uniform(0.5, 1.5, count)
    for _ in range(_RANDOM_POINTS_OF_ALL_SIZES):
        sizes = 10.0 ** generator.uniform(-6.0, 3.0, count) * generator.choice([-1.0, 1.0], count)
        truths = generator.choice([0.0, 1.0], count)
        yield np.where(generator.uniform(size=count) < 0.5, sizes, truths)


def _loop_refusal(
    rule: str, what: str, equations: Sequence[ScalarEquation], names: Sequence[str]
) -> Refusal:
    return Refusal(
        rule,
        f"{what} for {listed(names)} in the equations {listed([q.text for q in equations])}",
        equations[0].span,
    )


class SingularMatrixError(Exception):
    """The matrix is singular for all values of its symbols."""


def _is_zero(entry: Scalar) -> bool:
    return not v.is_symbolic(entry) and entry == 0


def solve(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """Return x with ``matrix @ x = right``, or raise `SingularMatrixError`."""
    n = len(right)
    rows = [[*map(v.plain, row), v.plain(b)] for row, b in zip(matrix, right, strict=True)]
    columns = list(range(n))
    for k in range(n):
        _bring_pivot(rows, columns, k)
        pivot = rows[k][columns[k]]
        for i in range(k + 1, n):
            entry = rows[i][columns[k]]
            if _is_zero(entry):
                continue
            factor = v.plain(entry / pivot)
            rows[i][columns[k]] = 0
            for j in (*columns[k + 1 :], n):
                if not _is_zero(rows[k][j]):
                    rows[i][j] = v.plain(rows[i][j] - factor * rows[k][j])
    solution: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        total = rows[k][n]
        for j in columns[k + 1 :]:
            if not _is_zero(rows[k][j]):
                total = total - rows[k][j] * solution[j]
        solution[columns[k]] = v.plain(total / rows[k][columns[k]])
    return solution


def _bring_pivot(rows: list[list[Scalar]], columns: list[int], k: int) -> None:
    """Exchange rows and columns so that a good pivot is at step `k`."""
    place = _numeric_pivot(rows, columns, k)
    if place is not None:
        i, j = place
        rows[k], rows[i] = rows[i], rows[k]
        columns[k], columns[j] = columns[j], columns[k]
        return
    n = len(rows)
    counts = [(sum(not _is_zero(rows[i][columns[j]]) for i in range(k, n)), j) for j in range(k, n)]
    candidates = [item for item in counts if item[0] > 0]
    if len(candidates) < len(counts):
        raise SingularMatrixError
    _, j = min(candidates)
    columns[k], columns[j] = columns[j], columns[k]
    _choose_when_simulated(rows, columns, k)


def _numeric_pivot(rows: list[list[Scalar]], columns: list[int], k: int) -> tuple[int, int] | None:
    """Return the row and column position of a good numeric pivot.

    Only a purely numeric column allows a choice at compile time.
    """
    n = len(rows)
    best: tuple[int, int, int] | None = None
    for i in range(k, n):
        filled = sum(not _is_zero(rows[i][columns[j]]) for j in range(k, n))
        for j in range(k, n):
            column = [rows[r][columns[j]] for r in range(k, n)]
            entry = column[i - k]
            if any(v.is_symbolic(x) for x in column) or entry == 0:
                continue
            largest = max(abs(float(x)) for x in column)
            if abs(entry) == largest and (best is None or filled < best[0]):
                best = (filled, i, j)
    return None if best is None else best[1:]


def _choose_when_simulated(rows: list[list[Scalar]], columns: list[int], k: int) -> None:
    """Exchange rows at run time so that the largest element of column `k` is the pivot."""
    n = len(rows)
    column = columns[k]
    order = sorted(range(k, n), key=lambda i: _is_zero(rows[i][column]))
    rows[k:] = [rows[i] for i in order]
    for i in range(k + 1, n):
        if _is_zero(rows[i][column]):
            continue
        larger = ca.fabs(rows[i][column]) > ca.fabs(rows[k][column])
        for m in (*columns[k:], n):
            first, second = rows[k][m], rows[i][m]
            if _is_zero(first) and _is_zero(second):
                continue
            rows[k][m] = v.choose(larger, second, first)
            rows[i][m] = v.choose(larger, first, second)


@dataclass(frozen=True)
class TornLoop:
    """An algebraic loop that is solved during simulation.

    `equations` remain when all unknowns but `names` are replaced; they may contain symbols
    of earlier blocks.
    """

    names: tuple[str, ...]
    symbols: tuple[v.SX, ...]
    equations: tuple[ScalarEquation, ...]

    def replaced(self, known: Substitution) -> TornLoop:
        """Return a copy whose equations have known symbols replaced."""
        return replace(self, equations=tuple(known.in_equations(self.equations)))


@dataclass(frozen=True)
class Tearing:
    """Solution of a loop: pairs of equation and unknown in order, iterated unknowns, the rest."""

    order: tuple[tuple[int, int], ...]
    torn: tuple[int, ...]
    rest: tuple[int, ...]


def tear(matrix: v.SX, preferred: Sequence[bool], jumps: Sequence[frozenset[int]]) -> Tearing:
    """Choose the iterated unknowns of a loop.

    `matrix` is the Jacobian of the equations, shape (n, n), sparse. `preferred` unknowns,
    such as those with a ``start``, are iterated first; no equation is solved for an unknown
    in which it jumps, given by `jumps`.
    """
    rows: list[set[int]] = [set() for _ in preferred]
    given: list[set[int]] = [set() for _ in preferred]
    users: list[set[int]] = [set() for _ in preferred]
    for i, j in zip(*matrix.sparsity().get_triplet(), strict=True):
        entry = v.plain(matrix[i, j])
        if not v.is_symbolic(entry) and entry == 0:
            continue
        rows[i].add(j)
        users[j].add(i)
        if not v.is_symbolic(entry) and j not in jumps[i]:
            given[i].add(j)
    for i, jumping in enumerate(jumps):
        for j in jumping:
            rows[i].add(j)
            users[j].add(i)
    order: list[tuple[int, int]] = []
    torn: list[int] = []
    open_rows, unknown = set(range(len(rows))), set(range(len(rows)))

    def settle(j: int) -> None:
        unknown.discard(j)
        for i in users[j]:
            rows[i].discard(j)

    while unknown:
        ready = [i for i in sorted(open_rows) if len(rows[i]) == 1 and rows[i] <= given[i]]
        if ready:
            i = ready[0]
            (j,) = rows[i]
            order.append((i, j))
            open_rows.discard(i)
        else:
            j = max(
                sorted(unknown),
                key=lambda k: (preferred[k], len(users[k] & open_rows), -_ways(k, users, given)),
            )
            torn.append(j)
        settle(j)
    return Tearing(tuple(order), tuple(torn), tuple(sorted(open_rows)))


def _ways(unknown: int, users: Sequence[set[int]], given: Sequence[set[int]]) -> int:
    """Return the number of equations that could be solved for an unknown."""
    return sum(unknown in given[i] for i in users[unknown])


def given_by(equation: Scalar, symbol: v.SX, coefficient: Scalar) -> Scalar:
    """Return the value of `symbol` that makes a residual with known coefficient zero."""
    rest = ca.substitute(ca.SX(equation), symbol, ca.SX(0.0))
    return v.plain(-rest / coefficient)
