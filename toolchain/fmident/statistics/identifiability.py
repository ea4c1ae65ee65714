"""Names for what the rank says: combinations, products, parameters to fix, and the verdict.

**Which parameters to fix** if the data do not determine all of them: the parameter to fix is the
one without which the others are best identifiable: the smallest singular value of their Jacobian,
with columns of unit length, becomes largest; while combinations are undetermined, one without which
fewer are. This is repeated until nothing is nearly collinear (subset selection by collinearity:
Brun, Reichert and Kuensch, Water Resources Research 37, 2001). A wrong fixed value changes the
others: the resulting bias follows from the same Jacobian.

**Products of powers**, such as ``k/m``, may be determined although their factors are not.
Parameters that always occur as a product or a quotient can be scaled against each other without any
effect. In ``log |p|`` the direction without effect is then the same at all points, with small
integer components, whereas in ``p`` it rotates from point to point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.problem.reading.quantities import same_dimension
from fmident.statistics.rank import RankAnalysis, null_space
from fmident.words import listed

_MOST_DIRECTIONS = 6

_MOST_NAMED = 6
"""More combinations than these are counted in a sentence, not listed."""

_EXACT, _NUMERATOR, _DENOMINATOR = 1e-6, 100, 12
"""Relative error of a coefficient that is rounding, and the largest numbers of a fraction."""


ENOUGH = 10.0
"""Collinearity index above which Brun et al. call parameters poorly identifiable."""

_MOST_RANKED = 60
_NOTHING = 1e-3
"""Relative change per relative error that is not mentioned."""

_SINGULAR = 1e-9
"""Smallest singular value that is more than rounding."""


_SAME = 1e-2
_LARGEST = 6
_NO_SHARE = 1e-3
_LADDER = ((_SAME, _LARGEST), (0.05, 3), (0.2, 2))
"""How far powers may be from whole numbers, and how large these may be, to be worth a test."""

_MOST_FACTORS, _LARGEST_POWER = 8, 2
"""Of products that are looked for one by one."""

_UNCHANGED = 3e-3
"""Relative change of such a product along a direction without effect that may be error."""

_PART = 0.2
"""Share in a direction without effect that counts as none, in parts of the error of the powers."""


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
    for row in row_reduced(left[:, dimension:].T):
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
    for row in row_reduced(null.T):
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
    return np.where(same, near, coefficients)


def _fraction(value: float) -> Fraction:
    most = int(_NUMERATOR / max(abs(value), 1.0))
    return Fraction(value).limit_denominator(min(max(most, 1), _DENOMINATOR))


def _term(size: float, name: str) -> str:
    # Twelve digits first, so that rounding does not divide equal coefficients such as 0.050625.
    text = f"{float(f'{size:.12g}'):.4g}"
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


def _not_told_apart(names: Sequence[str], determined: Sequence[str]) -> str:
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
        everything = "Both" if count == 2 else f"All {count}"
        sentences.append(
            "The parameter is identifiable."
            if count == 1
            else f"{everything} parameters are identifiable."
        )
    else:
        silent = analysis.without_influence
        unresolved = ""
        if undecided:
            least = [f"{n} +-{error:.2g}" for n, error in undecided.items()]
            unresolved = (
                "The derivatives are too inexact to tell whether the data determine "
                f"{listed(list(undecided))}: tighten evaluation.tolerance. If they do, the "
                f"standard errors are at least {listed(least)}."
            )
        verdict = combined_verdict(
            names,
            analysis.rank,
            [int(j) for j in np.flatnonzero(analysis.involved & ~silent)],
            [c.text for c in combinations],
            [int(j) for j in np.flatnonzero(~analysis.involved)],
            silent,
            unresolved=unresolved,
        )
        sentences.append(verdict)
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


def row_reduced(matrix: F64, least: float = 1e-3) -> F64:
    """Return the reduced row echelon form, with entries of the size of errors set to zero.

    A column without an entry above `least` has no pivot.
    """
    reduced = matrix.copy()
    row = 0
    for column in range(reduced.shape[1]):
        if row == reduced.shape[0]:
            break
        pivot = row + int(np.argmax(np.abs(reduced[row:, column])))
        if abs(reduced[pivot, column]) < least:
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


@dataclass(frozen=True)
class FixingStep:
    """One parameter to fix, after the previous ones.

    `before` and `after` are the collinearity index of the free parameters without and with
    it fixed: 1 over the smallest singular value, infinite if the data do not determine all.
    `shifts` are the relative changes of the others per relative error of the fixed value.
    """

    name: str
    before: float
    after: float
    shifts: Mapping[str, float] = field(default_factory=dict)


def ranked_for_fixing(
    names: Sequence[str], jacobian: F64, sizes: F64, enough: float = ENOUGH
) -> tuple[FixingStep, ...]:
    """Return the parameters to fix in order; empty if none, or for very many parameters.

    `jacobian` is that of the whitened residuals, `sizes` are those to which relative
    changes refer, and `enough` is the collinearity index at which no more are fixed.
    """
    norms = np.linalg.norm(jacobian, axis=0)
    # What does nothing cannot be told from anything; collinearity has nothing to do with it.
    free = [int(j) for j in np.flatnonzero(norms > 0.0)]
    if not 2 <= len(free) <= _MOST_RANKED:
        return ()
    unit: F64 = np.asarray(np.linalg.qr(jacobian[:, free] / norms[free], mode="r"))
    place = {j: k for k, j in enumerate(free)}
    steps = []
    now = _collinearity(unit)
    while len(free) > 1 and now > enough:
        trials = {j: _deficiency(unit[:, [place[k] for k in free if k != j]]) for j in free}
        best = min(trials, key=lambda j: (*trials[j], norms[j] * sizes[j]))
        free.remove(best)
        after = float("inf") if trials[best][0] else trials[best][1]
        shifts = {}
        if np.isfinite(after):
            columns = [place[k] for k in free]
            changes = -np.linalg.lstsq(unit[:, columns], unit[:, place[best]], rcond=None)[0]
            effect = changes * norms[best] * sizes[best] / (norms[free] * sizes[free])
            shifts = dict(zip((names[k] for k in free), effect.tolist(), strict=True))
        steps.append(FixingStep(names[best], now, after, shifts))
        now = after
    return tuple(steps)


def fixing_sentence(steps: Sequence[FixingStep], *, most: int = 3) -> str:
    """Return what to fix in which order, and the effect on the others; empty without steps."""
    if not steps:
        return ""
    parts = []
    for step in steps:
        largest = sorted(step.shifts.items(), key=lambda one: -abs(one[1]))[:most]
        words = ", ".join(
            f"{name} {_signed_percent(10.0 * shift)}"
            for name, shift in largest
            if abs(shift) > _NOTHING
        )
        effect = f"; +10 % in it gives {words}" if words else ""
        change = f"collinearity {collinearity_text(step.before)} to {collinearity_text(step.after)}"
        parts.append(f"{step.name} ({change}{effect})")
    return f"Fix first what is known from elsewhere, best in this order: {', then '.join(parts)}."


def _collinearity(unit: F64) -> float:
    missing, rest = _deficiency(unit)
    return float("inf") if missing else rest


def _deficiency(unit: F64) -> tuple[int, float]:
    """Return the number of undetermined combinations, and the collinearity of the others."""
    values = np.linalg.svd(unit, compute_uv=False)
    seen = values[values > _SINGULAR]
    return unit.shape[1] - seen.size, 1.0 / float(seen[-1]) if seen.size else float("inf")


def collinearity_text(index: float) -> str:
    """Return a collinearity index as text."""
    return "unbounded" if np.isinf(index) else f"{index:.3g}"


def _signed_percent(value: float) -> str:
    return f"{value:+.2g} %"


@dataclass(frozen=True)
class PointSensitivity:
    """A Jacobian at a point within the bounds, whitened, shape (m, n).

    `column_errors` are the lengths of the errors of its columns, shape (n,).
    """

    point: F64
    jacobian: F64
    column_errors: F64
    rank: int


def product_verdict(
    names: Sequence[str], sensitivities: Sequence[PointSensitivity], judged: Identifiability
) -> tuple[tuple[str, ...], str] | None:
    """Return the determined products, and the statement that names them.

    Sensitivities at two or more points, the initial one first, distinguish products from
    sums. ``None`` if nothing indicates products, or all parameters are identifiable.
    """
    count = len(names)
    if judged.rank in (0, count) or judged.undecided or len(sensitivities) < 2:
        return None
    if any(not bool((s.point != 0.0).all()) for s in sensitivities):
        return None
    missing = count - judged.rank
    relative, plain = [], []
    for s in sensitivities:
        if bool((np.linalg.norm(s.jacobian, axis=0) <= s.column_errors).any()):
            return None
        relative.append(null_space(s.jacobian * s.point, missing))
        plain.append(null_space(s.jacobian, missing))
    if _spread(relative) > _SAME or _spread(relative) >= _spread(plain):
        return None
    products = _products(names, relative[0])
    return (
        None
        if products is None
        else (products.texts, products_verdict(names, judged.rank, products))
    )


@dataclass(frozen=True)
class Products:
    """Products of powers that may determine the outputs.

    `texts` are such as ``"R1*C"``, with the exponents of all parameters in `powers`, shape
    (k, n). None of the products changes along `directions` in the logarithms of the
    parameters' sizes, shape (n, missing). `involved` are the parameters that are not
    identifiable separately.
    """

    texts: tuple[str, ...]
    powers: F64
    directions: F64
    involved: tuple[int, ...]


def products_of(names: Sequence[str], relative: F64, missing: int) -> list[Products]:
    """Return the products that a Jacobian with respect to ``log p`` indicates at one point.

    The best supported come first. For an inexact Jacobian, as near jumps, products with
    only small powers that are close to it follow, which need a test. `missing` is the
    dimension of its null space.
    """
    basis = null_space(relative, missing)
    candidates: list[Products] = []
    for same, largest in _LADDER:
        more = _products(names, basis, same, largest)
        if more is not None and more.texts not in [f.texts for f in candidates]:
            candidates.append(more)
    return candidates


def monomials_of(null_spaces: Sequence[F64]) -> list[npt.NDArray[np.intp]]:
    """Return independent products of small powers that the data determine, the simplest first.

    `null_spaces` are bases of the directions without effect, in the logarithms of n parameters, at
    several points, shape (n, missing) each. Each product is given by its powers, shape (n,). None
    are looked for among many parameters.
    """
    count = len(null_spaces[0])
    if count > _MOST_FACTORS:
        return []
    each = np.arange(-_LARGEST_POWER, _LARGEST_POWER + 1)
    powers = np.stack(np.meshgrid(*[each] * count, indexing="ij"), axis=-1).reshape(-1, count)
    powers = powers[len(powers) // 2 + 1 :]  # the others are their reciprocals
    sizes = np.linalg.norm(powers, axis=1)
    for null in null_spaces:
        same = np.linalg.norm(powers @ null, axis=1) <= _UNCHANGED * sizes
        powers, sizes = powers[same], sizes[same]
    products: list[npt.NDArray[np.intp]] = []
    for row in powers[np.argsort(np.abs(powers).sum(axis=1), kind="stable")]:
        if np.linalg.matrix_rank([*products, row]) > len(products):
            products.append(row)
    return products


def _products(
    names: Sequence[str], basis: F64, same: float = _SAME, largest: int = _LARGEST
) -> Products | None:
    nothing = max(_NO_SHARE, _PART * (same - _SAME))
    involved = [int(j) for j in np.flatnonzero(np.linalg.norm(basis, axis=1) > nothing)]
    rows = _whole_rows(_complement(basis[involved]), same, largest)
    if rows is None or len(rows) != len(involved) - basis.shape[1]:
        return None
    powers = np.zeros((len(rows), len(names)))
    powers[:, involved] = np.array(rows, dtype=np.float64).reshape(len(rows), len(involved))
    texts = tuple(product_text(row, [names[j] for j in involved]) for row in rows)
    # Exactly along what does not change the whole powers.
    directions = np.zeros((len(names), basis.shape[1]))
    if rows:
        inner = powers[:, involved]
        _, _, right = np.linalg.svd(inner, full_matrices=True)
        directions[involved] = right[len(rows) :].T[:, : basis.shape[1]]
    else:
        directions = basis
    return Products(texts, powers, directions, tuple(involved))


def products_verdict(names: Sequence[str], rank: int, products: Products) -> str:
    """Return the statement that names the products; `rank` is the numerical rank."""
    rest = [j for j in range(len(names)) if j not in products.involved]
    return combined_verdict(names, rank, products.involved, products.texts, rest)


def combined_verdict(
    names: Sequence[str],
    rank: int,
    involved: Sequence[int],
    determined: Sequence[str],
    identifiable: Sequence[int],
    silent: Sequence[bool] | npt.NDArray[np.bool_] = (),
    count: int | None = None,
    *,
    unresolved: str = "",
) -> str:
    """Return the statement that names combinations.

    `involved` are the indices of parameters that are not identifiable separately,
    `determined` their determined combinations (empty texts for those without a name),
    `identifiable` the indices of determined parameters, and `silent` those without visible
    influence. `count` is the number of parameters that are not held on a bound; by default
    all. A text of what is `unresolved` takes the place of the combinations.
    """
    undecided = bool(unresolved)
    sentences = [rank_sentence(rank, len(names) if count is None else count, undecided=undecided)]
    if unseen := [names[int(j)] for j in np.flatnonzero(silent)]:
        verb = "has" if len(unseen) == 1 else "have"
        sentences.append(f"{listed(unseen)} {verb} no visible influence on the measured outputs.")
    if unresolved:
        sentences.append(unresolved)
    elif tangled := [names[j] for j in sorted(involved)]:
        sentences.append(_not_told_apart(tangled, determined))
    if rest := [names[j] for j in identifiable]:
        sentences.append(f"{listed(rest)} {'is' if len(rest) == 1 else 'are'} identifiable.")
    return " ".join(sentences)


def blocks(null: F64) -> list[list[int]]:
    """Return index groups such that every direction without effect lies in one group.

    `null` is an orthonormal basis of these directions, shape (n, missing). Parameters that
    are in no such direction are in no group.
    """
    linked = np.abs(null @ null.T) > _NO_SHARE
    left = {int(j) for j in np.flatnonzero(np.linalg.norm(null, axis=1) > _NO_SHARE)}
    groups = []
    while left:
        group, new = set[int](), {min(left)}
        while new:
            group |= new
            new = {k for j in new for k in left if linked[j, k]} - group
        left -= group
        groups.append(sorted(group))
    return groups


def product_text(powers: Sequence[int], names: Sequence[str]) -> str:
    """Return a product of powers as a user would write it.

    >>> product_text([1, -1, 0], ["k", "m", "c"]), product_text([2, 1, -2], ["a", "b", "c"])
    ('k/m', 'a^2*b/c^2')
    """
    above = [_power(n, k) for n, k in zip(names, powers, strict=True) if k > 0]
    below = [_power(n, -k) for n, k in zip(names, powers, strict=True) if k < 0]
    text = "*".join(above) or "1"
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


def _spread(bases: Sequence[F64]) -> float:
    """Return the largest sine of an angle between the first subspace and the others."""
    first = bases[0]
    worst = 0.0
    for other in bases[1:]:
        outside = other - first @ (first.T @ other)
        worst = max(worst, float(np.linalg.norm(outside, 2)))
    return worst


def _complement(basis: F64) -> F64:
    left, values, _ = np.linalg.svd(basis, full_matrices=True)
    rank = int(np.count_nonzero(values > _NO_SHARE))
    return left[:, rank:].T


def _whole_rows(rows: F64, same: float, largest: int) -> list[list[int]] | None:
    """Return integer rows that span the same space, or ``None`` if there are none."""
    # Numerators read best when the first names are above the line.
    reduced = row_reduced(rows, 0.05)
    if len(reduced) < len(rows):
        return None
    whole = []
    for row in reduced:
        fractions = [Fraction(float(x)).limit_denominator(largest) for x in row]
        if any(abs(float(f) - x) > same for f, x in zip(fractions, row, strict=True)):
            return None
        common = lcm(*(f.denominator for f in fractions))
        numbers = [int(f * common) for f in fractions]
        if max(map(abs, numbers)) > largest:
            return None
        whole.append(numbers)
    return whole
