"""Rank of the Jacobian, and descriptions of parameters that are not identifiable.

The columns of the whitened Jacobian ``J`` are scaled to unit length, ``J = J_s D``, so
that the result does not depend on units. With ``J_s = U S V^T``, the rows of
``V_r^T D`` span the linear combinations of the parameters that the data determine, and
``D^-1 V_0`` the directions in which the parameters can be moved without any effect on
the outputs (Golub and Van Loan, Matrix Computations, section 5.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.problem.reading.quantities import same_dimension
from fmident.statistics.fixing import FixingStep
from fmident.words import listed

_SAFETY = 1.5
"""Times the disagreement of two estimates that may be the error of either."""

INVISIBLE = 0.5
"""Ratio of the measured error of a column to its length from which it may be error alone. Scaled to
the length of the others, it would take part in their combinations."""

_NEGLIGIBLE = 1e-4
"""Share of a parameter in a unit null vector below which it counts as not involved."""

_MOST_DIRECTIONS = 6

_MOST_NAMED = 6
"""More combinations than these are counted in a sentence, not listed."""

"""More words than these are not all listed, but these first."""

_EXACT, _DENOMINATOR = 1e-6, 12
"""Relative error of a coefficient that is rounding, and the largest denominator of a fraction."""


@dataclass(frozen=True, eq=False)
class DeterminedCombination:
    """A determined combination of parameters that are not identifiable separately.

    The text is such as ``"mA + 2*mB"``, ``"k/m"`` or ``"(k1 + k2)/m"``, empty if units do
    not fit. `sums` has the coefficients of all parameters, one row per factor, and `powers`
    those of the factors. `leading` is the member after which it is named, with which no
    other begins. It is a base parameter if it is determined `everywhere`, otherwise it is
    that of the derivatives at one point.
    """

    text: str
    sums: F64
    powers: tuple[int, ...] = (1,)
    leading: int = 0
    everywhere: bool = False

    @property
    def members(self) -> tuple[int, ...]:
        """Indices of the parameters in it."""
        return tuple(int(j) for j in np.flatnonzero(self.sums.any(axis=0)))

    def value(self, p: F64) -> float:
        """Return the value for parameters, shape (n,)."""
        return float(np.prod((self.sums @ p) ** np.array(self.powers, dtype=np.float64)))

    def gradient(self, p: F64) -> F64:
        """Return the derivatives with respect to the parameters, shape (n,)."""
        if self.powers == (1,):
            plain: F64 = self.sums[0]
            return plain
        slopes: F64 = (np.array(self.powers) / (self.sums @ p)) @ self.sums
        return self.value(p) * slopes


@dataclass(frozen=True)
class WeakDirection:
    """A direction of the parameters along which the residuals change little.

    `singular_value` is the change of the whitened residuals per unit of it; its inverse is
    the ratio of the standard error along it to that of a parameter if all others were
    known, the unit of the `shares` of parameters. Their squares add up to 1. `determined`
    directions differ from no change.
    """

    singular_value: float
    determined: bool
    shares: Mapping[str, float]


@dataclass(frozen=True)
class Identifiability:
    """Identifiability by the Jacobian at the solution.

    Parameters
    ----------
    singular_values
        Of the column-scaled, whitened Jacobian, descending, one for each parameter that is
        not held at a bound.
    rank
        Numerical rank.
    verdict
        In words: every parameter is identifiable, or which combination is not.
    determined
        Combinations that the data determine although their members are not.
    undecided
        Parameters whose derivatives are too inexact to decide whether they are
        identifiable.
    jumps
        Parameters without an interval, since the cost jumps next to the estimate.
    withheld
        Identifiable parameters whose derivatives are too inexact for a standard error.
    rank_known
        Whether the rank is meaningful; not if the cost jumps.
    weakest
        Directions that the data determine least, six at most, the weakest first.
    fixing
        Parameters to fix, in order, if they are collinear or not identifiable separately.
    silent
        Parameters without a visible influence on the outputs.
    by_choice
        Whether the estimator has chosen the values of members of base parameters.
    """

    singular_values: F64
    rank: int
    verdict: str
    determined: tuple[DeterminedCombination, ...] = ()
    undecided: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    rank_known: bool = True
    weakest: tuple[WeakDirection, ...] = ()
    fixing: tuple[FixingStep, ...] = ()
    silent: tuple[str, ...] = ()
    by_choice: bool = False

    @property
    def full_rank(self) -> bool:
        """Whether the data determine every parameter that is not on a bound."""
        return self.rank_known and 0 < self.singular_values.size == self.rank


@dataclass(frozen=True)
class DirectionErrors:
    """Errors of a Jacobian that was computed along directions instead of columns.

    `directions` are in physical parameters, linearly independent, shape (n, n); `lengths`
    are those of the error of the derivative along each, shape (n,).
    """

    directions: F64
    lengths: F64

    def along(self, vectors: F64) -> F64:
        """Return a bound of the error of the derivative along vectors, (n, k) -> (k,)."""
        shares: F64 = np.abs(np.linalg.solve(self.directions, vectors)).T @ self.lengths
        return shares


@dataclass(frozen=True)
class RankAnalysis:
    """Singular value decomposition of the column-scaled Jacobian, with its numerical rank.

    `column_norms` are the lengths of the Jacobian's columns, and `right` are the right
    singular vectors as columns, shape (n, n), in scaled parameters ``column_norms * p``.
    The rank is the number of leading singular values (descending) above their `tolerance`;
    `involved` are the parameters in undetermined directions. The others have the shape
    (n,).
    """

    column_norms: F64
    singular_values: F64
    right: F64
    tolerance: F64
    rank: int
    involved: npt.NDArray[np.bool_]

    @property
    def without_influence(self) -> npt.NDArray[np.bool_]:
        """Whether the column of a parameter is zero, shape (n,)."""
        zero: npt.NDArray[np.bool_] = self.column_norms == 0.0
        return zero

    @property
    def blur(self) -> float:
        """Uncertainty of the null vectors: tolerance over the gap to the next singular value."""
        smallest_kept = float(self.singular_values[self.rank - 1]) if self.rank else 1.0
        return float(self.tolerance[self.rank :].max(initial=0.0)) / smallest_kept


def scaled_jacobian_error(column_norms: F64, column_errors: F64) -> float:
    """Return the Frobenius norm of the error of the column-scaled Jacobian."""
    used = column_norms > 0.0
    ratio = column_errors[used] / column_norms[used]
    return float(np.linalg.norm(ratio))


def analyse_rank(
    jacobian: F64,
    column_errors: F64 | None = None,
    spread: F64 | None = None,
) -> RankAnalysis:
    """Decompose a Jacobian and determine its numerical rank.

    A singular value counts as zero if rounding or the known error of the Jacobian can
    explain it: by Weyl's inequality an error matrix ``E`` changes a singular value by at
    most ``||E||``, and to first order by the error along its singular vector, which is used
    if it is known. A column that is no longer than its own error counts as zero.

    `jacobian` is whitened and finite; `column_errors` are the lengths of the errors of its
    columns, ``None`` if exact. `spread`, the difference of two independent estimates of the
    Jacobian, measures its error along any direction and replaces `column_errors`.
    """
    rows, columns = jacobian.shape
    norms: F64 = np.linalg.norm(jacobian, axis=0)
    if spread is not None:
        column_errors = np.linalg.norm(spread, axis=0) / INVISIBLE
    if column_errors is not None:
        norms = np.where(norms <= column_errors, 0.0, norms)
    safe = np.where(norms > 0.0, norms, 1.0)
    scaled = np.where(norms > 0.0, jacobian, 0.0) / safe
    # The R factor has the singular values of the whole and is small; it is (n, n) for m >= n.
    triangle = np.linalg.qr(scaled, mode="r")
    _, values, right_t = np.linalg.svd(triangle, full_matrices=True)
    right: F64 = right_t.T
    singular = np.zeros(columns)
    singular[: values.size] = values
    rounding = max(rows, columns) * float(np.finfo(np.float64).eps)
    tolerance = np.full(columns, rounding * float(singular.max(initial=0.0)))
    if spread is not None:
        apart = np.linalg.qr(np.where(norms > 0.0, spread, 0.0) / safe, mode="r")
        tolerance = np.maximum(tolerance, _SAFETY * np.linalg.norm(apart @ right, axis=0))
    elif column_errors is not None:
        tolerance = np.maximum(tolerance, scaled_jacobian_error(norms, column_errors))
    rank = int(np.count_nonzero(np.cumprod(singular > tolerance)))
    nobody = np.zeros(columns, dtype=np.bool_)
    analysis = RankAnalysis(norms, singular, right, tolerance, rank, nobody)
    # Smaller shares in a null vector than it is known to mean nothing.
    least = min(0.1, max(_NEGLIGIBLE, 3.0 * analysis.blur))
    return replace(analysis, involved=np.linalg.norm(right[:, rank:], axis=1) > least)


def determined_combinations(
    analysis: RankAnalysis, names: Sequence[str], units: Sequence[str | None] | None = None
) -> tuple[DeterminedCombination, ...]:
    """Return the determined combinations; sums of terms with different units have no text."""
    units = [None] * len(names) if units is None else units
    index = [int(i) for i in np.flatnonzero(analysis.involved & ~analysis.without_influence)]
    if not index:
        return ()
    null = analysis.right[index][:, analysis.rank :]
    left, values, _ = np.linalg.svd(null, full_matrices=True)
    dimension = int(np.count_nonzero(values > 1e-3))
    scale = analysis.column_norms[index]
    combinations = []
    for row in _row_reduce(left[:, dimension:].T):
        first = int(np.flatnonzero(row)[0])
        coefficients = simple_fractions(row * scale / (row[first] * scale[first]))
        full = np.zeros(len(names))
        full[index] = coefficients
        text = ""
        if can_be_added([units[int(i)] for i in np.flatnonzero(full)]):
            text = format_combination(coefficients, [names[i] for i in index])
        combinations.append(DeterminedCombination(text, full[np.newaxis], leading=index[first]))
    return tuple(combinations)


def weakest_directions(analysis: RankAnalysis, names: Sequence[str]) -> tuple[WeakDirection, ...]:
    """Return the directions that the data determine least, the weakest first.

    If several are not determined at all, neither is any combination of them: those that
    move the fewest parameters are returned. `analysis` is that of the Jacobian with one
    column per name.
    """
    null, values = analysis.right[:, analysis.rank :], analysis.singular_values
    open_ones = []
    for row in _row_reduce(null.T):
        vector = row / np.linalg.norm(row)
        value = float(np.linalg.norm(values[analysis.rank :] * (null.T @ vector)))
        open_ones.append((value, False, vector))
    open_ones.sort(key=lambda one: one[0])
    known = [(float(values[k]), True, analysis.right[:, k]) for k in reversed(range(analysis.rank))]
    directions = []
    for value, determined, vector in [*open_ones, *known][:_MOST_DIRECTIONS]:
        sign = 1.0 if vector[np.argmax(np.abs(vector))] > 0.0 else -1.0
        shares = {n: float(sign * x) for n, x in zip(names, vector, strict=True)}
        directions.append(WeakDirection(value, determined, shares))
    return tuple(directions)


def format_combination(coefficients: F64, names: Sequence[str]) -> str:
    """Return a linear combination as a user would write it.

    Coefficients have four digits, or are small fractions if that is exact.

    >>> format_combination(np.array([1.0, 2.0, -1.0 / 3.0]), ["mA", "mB", "mC"])
    'mA + 2*mB - mC/3'
    """
    text = ""
    for coefficient, name in zip(coefficients, names, strict=True):
        if coefficient == 0.0:
            continue
        term = _term(abs(float(coefficient)), name)
        if not text:
            text = f"-{term}" if coefficient < 0.0 else term
        else:
            text += f" - {term}" if coefficient < 0.0 else f" + {term}"
    return text


def simple_fractions(coefficients: F64) -> F64:
    """Return coefficients, with those close to a small fraction made exact."""
    near = np.array([float(_fraction(float(c))) for c in coefficients])
    same = np.abs(near - coefficients) <= _EXACT * np.abs(coefficients)
    fractions: F64 = np.where(same, near, coefficients)
    return fractions


def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(_DENOMINATOR)


def _term(size: float, name: str) -> str:
    text = f"{size:.4g}"
    if text == "1":
        return name
    near = _fraction(size)
    if abs(float(text) - size) > _EXACT * size >= abs(float(near) - size):
        above = name if near.numerator == 1 else f"{near.numerator}*{name}"
        return f"{above}/{near.denominator}"
    return f"{text}*{name}"


def can_be_added(units: Sequence[str | None]) -> bool:
    """Return whether values in these units can be added; an unknown unit fits any other."""
    known = [u for u in units if u is not None]
    return all(same_dimension(known[0], u) for u in known[1:])


def without_influence(names: Sequence[str]) -> str:
    """Return the sentence on parameters without influence on the outputs."""
    verb = "has" if len(names) == 1 else "have"
    return f"{listed(names)} {verb} no visible influence on the measured outputs."


def not_told_apart(names: Sequence[str], determined: Sequence[str]) -> str:
    """Return the sentence on parameters that are not identifiable separately."""
    known = [text for text in determined if text]
    if len(known) > _MOST_NAMED:
        known = []
    unnamed = len(determined) - len(known)
    if unnamed:
        number = "one combination" if unnamed == 1 else f"{unnamed} combinations"
        known.append(f"{number} of them")
    verb = "is" if len(determined) == 1 else "are"
    only = f"; only {listed(known)} {verb} determined" if known else ""
    return f"{listed(names)} cannot be told apart{only}."


def describe(
    analysis: RankAnalysis,
    names: Sequence[str],
    combinations: Sequence[DeterminedCombination],
    undecided: Mapping[str, float] | None = None,
    withheld: Mapping[str, float] | None = None,
) -> str:
    """Return the identifiability in words; `names` are the parameters not held at a bound.

    `undecided` are parameters whose identifiability is open because of errors of the
    Jacobian, not the data, with their smallest possible standard error. `withheld` are
    those without a standard error because of inexact derivatives, with its relative change
    from one estimate of the derivatives to another.
    """
    undecided = undecided or {}
    count = len(names)
    sentences = []
    if count == 0:
        sentences.append("No parameter is free between its bounds.")
    elif analysis.rank == count:
        sentences.append(
            "The parameter is identifiable."
            if count == 1
            else f"{'Both' if count == 2 else f'All {count}'} parameters are identifiable."
        )
    else:
        sentences.append(rank_sentence(analysis.rank, count, undecided=bool(undecided)))
        silent = [n for n, zero in zip(names, analysis.without_influence, strict=True) if zero]
        if silent:
            sentences.append(without_influence(silent))
        tangled = [
            n
            for n, part, zero in zip(
                names, analysis.involved, analysis.without_influence, strict=True
            )
            if part and not zero and n not in undecided
        ]
        if undecided:
            least = [f"{n} +-{error:.2g}" for n, error in undecided.items()]
            sentences.append(
                "The derivatives are too inexact to tell whether the data determine "
                f"{listed(list(undecided))}: tighten evaluation.tolerance. If they do, the "
                f"standard errors are at least {listed(least)}."
            )
        elif tangled:
            sentences.append(not_told_apart(tangled, [c.text for c in combinations]))
        rest = [n for n, part in zip(names, analysis.involved, strict=True) if not part]
        if rest:
            sentences.append(f"{listed(rest)} {'is' if len(rest) == 1 else 'are'} identifiable.")
    if withheld:
        sizes = [f"{n} by {_percent(doubt)}" for n, doubt in withheld.items()]
        sentences.append(
            "The derivatives are too inexact for a standard error of "
            f"{listed(list(withheld))}: with other steps it changes ({listed(sizes)})."
        )
    return " ".join(sentences)


def rank_sentence(rank: int, count: int, *, undecided: bool = False) -> str:
    """Return the beginning of the description of a rank-deficient problem."""
    return f"Rank {'at least ' if undecided else ''}{rank} of {count}."


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 1.0 else "more than its size"


def _row_reduce(matrix: F64) -> F64:
    """Return the reduced row echelon form, with entries of the size of errors set to zero."""
    reduced = matrix.copy()
    row = 0
    for column in range(reduced.shape[1]):
        if row == reduced.shape[0]:
            break
        pivot = row + int(np.argmax(np.abs(reduced[row:, column])))
        if abs(reduced[pivot, column]) < 1e-3:
            continue
        reduced[[row, pivot]] = reduced[[pivot, row]]
        reduced[row] /= reduced[row, column]
        for other in range(reduced.shape[0]):
            if other != row:
                reduced[other] -= reduced[other, column] * reduced[row]
        row += 1
    largest = np.abs(reduced).max(axis=1, keepdims=True, initial=0.0)
    cleaned: F64 = np.where(np.abs(reduced) < 1e-3 * largest, 0.0, reduced)
    return cleaned[:row]
