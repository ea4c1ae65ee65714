"""Finite differences inside bounds, with steps from the measured noise, corrected for events.

The error of a forward difference is minimal for ``h = 8^(1/4) * sqrt(eps_f / |f''|)``
with the noise level ``eps_f`` (More and Wild, Estimating derivatives of noisy
simulations, ACM TOMS 38, 2012, theorem 3.2); for residual vectors both are root mean
squares over the components. A fixed step of 1e-8, the default of general optimisers, is
far below the tolerance of a variable-step solver and gives a Jacobian of noise.

Step-size control makes a simulation with an adaptive solver jump by about its
tolerance. High-order differences along a line remove the smooth part and leave the
noise (ECnoise: More and Wild, Estimating computational noise, SIAM J. Sci. Comput. 33,
2011, sections 3-5). Here the table has whole residual vectors and needs few points.

Contact, stick-slip and switches make outputs jump, or bend, at instants that depend on
the parameters. For a sample that the event crosses, the difference quotient is the jump
over the step, not a derivative (for that see Galan, Feehery and Barton, Parametric
sensitivity functions for hybrid discrete/continuous systems, Appl. Num. Math. 31,
1999). An event crosses a sample on one side only, so the one-sided differences disagree
by far more than noise and curvature explain. With a smaller step, a derivative does not
change, while the quotient of a jump grows or vanishes.

Points are in the search space, arrays have one item for each of its n parameters; `columns` are
the indices of those that are differenced.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64, Flags, root_mean_square
from fmident.errors import Code, EstimationError
from fmident.problem.model import SearchSpace

Difference = Literal["forward", "central", "auto"]
Scheme = Literal["one-sided", "central", "aside"]

_EPS = float(np.finfo(np.float64).eps)

# --------------------------------------------------------------------------- steps

_SMALLEST_SIZE = 0.1
"""Smallest size of a parameter in relation to its initial value."""

LARGEST = 2e-2
"""Largest step, relative to the size of the parameter."""

POINTS = 7
"""Points on the line of the noise, as recommended by More and Wild (6 to 8)."""

_SPACING = 1e-4
"""Relative spacing of the noise table that is tried first: about the size of the steps that
simulations want, so that the noise is that of such steps."""

_NARROWER, _WIDER = 1e-2, 1e2
_WIDEST = _SPACING * _WIDER
_ATTEMPTS = 3
"""Spacings of the noise table."""

_SPREAD = 4.0
"""Largest ratio of three successive levels that are one noise."""

_ALTERNATING = 0.5
"""Part of the differences, weighted by size, that must change sign to be noise."""

NOTHING = 32.0
"""Changes of so many roundings of the outputs are none: a cost that is blind to a parameter need
not be so bit by bit."""

_TRIALS, _SHRINK = 4, 0.1
"""Trials of the curvature, each with a part of the step before."""

_LOOKS = 2
"""Shorter trials that tell rows that an event jumps across from a narrow but smooth peak."""

_SMOOTH = 5.0 * _SHRINK**2
"""Part to which the second difference of a smooth row falls at least from trial to trial: it falls
by the square, that of a bend in proportion, that of a jump not at all."""

_SEEN = 20.0
"""Times the floor for rows that stand out, from where on those of a smooth peak are sure to."""

_EVENT = 15.0
"""Noise levels of a second difference that are not noise, six standard deviations."""

_VISIBLE, _LARGE_CHANGE = 100.0, 0.1
"""Noise levels of a second difference, and part of the outputs, above which a trial is too long."""

# ------------------------------------------------------------------------- columns

_RETRIES = ((-1.0, 1.0), (1.0, 0.1), (-1.0, 0.1), (1.0, 0.01), (-1.0, 0.01))
"""Side and factor on the step, tried in turn for a column whose simulation failed."""

_LONGER = (10.0, 100.0, 1000.0)
"""Factors on the step, tried in turn for a column that is zero though the parameter acts."""

_ROOM = 0.5
"""Part of a central step that must fit between point and bound; else it goes to one side."""

_FAR, _NEAR = 0.2, 0.02
"""Allowed error of the Jacobian in relation to its smallest singular value, columns scaled to
length 1: far from the minimum a step may be off a little, near it that moves the estimate."""

_STILL_FAR = 0.01
"""Part of the cost from which on a Gauss-Newton step shows that the minimum is far."""

# -------------------------------------------------------------------------- events

_SHARE, _HEAVY = 0.9, 30.0
"""Part of the rows that is taken to be free of events, and times its quantile that a row has to
exceed. Smooth responses and noise stay within 3 to 10 of it; a jump that a finite-difference step
moves across a sample is far beyond."""

_FEWEST = 10
"""Number of rows below which none stands out from the others."""

_SCREEN = 10.0
"""The factor for changes on one side, which only decides whether the other side is looked at."""

_FAMILIAR = 4.0
"""Times the largest derivative of a group that is known, up to which none is that of a jump: the
quotient of a jump is larger by about the width of a smooth peak over the step."""

_DEVIATIONS = 6.0
"""Noise levels that are taken for noise."""

_SMALLER = 0.125
"""The smaller step in relation to the step."""

_EVEN = 0.35
"""Relative size of what is not curvature where one-sided differences change with the step."""

_AGREE = 0.05
"""Relative difference of two one-sided differences of the same derivative."""


class JacobianError(EstimationError):
    """A column of the Jacobian cannot be computed, since every simulation nearby fails."""

    default_code = Code.NO_DERIVATIVE


@dataclass(frozen=True)
class Sample:
    """Change of the residuals, shape (m,), for an actual `offset` of one parameter."""

    offset: float
    change: F64

    @property
    def slope(self) -> F64:
        """The one-sided difference quotient, shape (m,)."""
        return self.change / self.offset


@dataclass(frozen=True)
class Neighbourhood:
    """Evaluates residuals around a point `z` of the search space, inside the bounds.

    `evaluate` returns residuals at points, (k, n) -> (k, m), NaN for failures; `base` are
    those at `z`. `groups` are rows that belong together, such as those of one output; empty
    if outlying rows do not indicate events.
    """

    evaluate: Callable[[F64], F64]
    base: F64
    z: F64
    lower: F64
    upper: F64
    groups: Sequence[slice] = (slice(None),)

    def room(self, column: int) -> tuple[float, float]:
        """Return the distances of the parameter to its lower and upper bounds."""
        z = float(self.z[column])
        return z - float(self.lower[column]), float(self.upper[column]) - z

    def contains(self, column: int, offset: float) -> bool:
        """Return whether the parameter stays within its bounds if changed by `offset`."""
        value = self.z[column] + offset
        return bool(self.lower[column] <= value <= self.upper[column])

    def inside(self, column: int, step: float) -> float:
        """Return the step with a sign, and if necessary a size, that respects the bounds."""
        if self.contains(column, step):
            return step
        if self.contains(column, -step):
            return -step
        down, up = self.room(column)
        return up if up >= down else -down

    def samples(self, probes: Sequence[tuple[int, float]]) -> list[Sample | None]:
        """Evaluate probes (column, offset) as a batch, ``None`` if failed or without offset."""
        if not probes:
            return []
        points = np.tile(self.z, (len(probes), 1))
        for row, (column, offset) in enumerate(probes):
            points[row, column] += offset
        samples: list[Sample | None] = []
        for (column, _), point, values in zip(probes, points, self.evaluate(points), strict=True):
            offset = float(point[column] - self.z[column])
            good = offset != 0.0 and bool(np.isfinite(values).all())
            samples.append(Sample(offset, values - self.base) if good else None)
        return samples


def standing_out(
    values: F64, floor: float, factor: float = _HEAVY, groups: Sequence[slice] = (slice(None),)
) -> Flags:
    """Return the rows far larger than nearly all others, at most a tenth of each group.

    The threshold is `factor` times the 0.9 quantile of the magnitudes, at least `floor`; if
    that quantile is zero, all non-zero rows are outliers.
    """
    sizes = np.abs(values)
    flags = np.zeros(values.shape, dtype=np.bool_)
    for rows in groups:
        group = sizes[rows]
        if group.size >= _FEWEST:
            flags[rows] = group > max(factor * float(np.quantile(group, _SHARE)), floor)
    return flags


def _standing_out_of_active(values: F64, floor: float) -> Flags:
    """Return outliers among non-zero rows, for a parameter that affects few rows."""
    flags = np.zeros(values.shape, dtype=np.bool_)
    active = values != 0.0
    flags[active] = standing_out(values[active], floor)
    return flags


@dataclass(frozen=True)
class StepSizes:
    """Steps in the search space and their origin.

    Arrays have shape (n,), NaN or false for parameters that are not differenced.

    Parameters
    ----------
    noise
        Root mean square of the simulation's noise per whitened residual; NaN if not
        measured.
    curvature
        Root mean square of the second derivative per residual; NaN if not measured; an
        upper limit if it could not be distinguished from noise.
    errors
        Expected root mean square error per entry of a column of the Jacobian.
    central
        Steps of central differences.
    size
        Of the parameters.
    rounding
        Used as noise if that was not measured.
    events
        Whether the parameter seems to move events across samples.
    influence
        Whether any residual changed with the parameter by more than rounding; ``None`` if
        not measured.
    """

    steps: F64
    noise: float
    curvature: F64
    errors: F64
    reasons: tuple[str, ...]
    central: F64
    size: F64
    rounding: float
    events: Flags
    influence: Flags | None = None

    def only(self, columns: Sequence[int], reasons: Sequence[str]) -> StepSizes:
        """Return a copy without steps for parameters other than `columns`, for these `reasons`."""
        chosen = np.isin(np.arange(self.steps.size), columns)
        changes: dict[str, Any] = {
            f.name: np.where(chosen, values, False if values.dtype == np.bool_ else np.nan)
            for f in dataclasses.fields(self)
            if isinstance(values := getattr(self, f.name), np.ndarray)
        }
        texts = [own if c else r for c, own, r in zip(chosen, self.reasons, reasons, strict=True)]
        return dataclasses.replace(self, **changes, reasons=tuple(texts))

    @property
    def noise_or_rounding(self) -> float:
        """Noise per residual, measured or assumed as rounding."""
        return self.noise if np.isfinite(self.noise) else self.rounding

    def error(self, column: int, scheme: Scheme, step: float) -> float:
        """Return the expected root mean square error per entry of a column.

        `scheme` is ``"one-sided"``: one step; ``"central"``: one to each side; ``"aside"``: one
        and two steps to the same side, of second order.
        """
        noise = self.noise_or_rounding / step
        second = float(np.nan_to_num(self.curvature[column]))
        if scheme == "one-sided":
            return float(np.hypot(np.sqrt(2.0) * noise, 0.5 * step * second))
        third = second / float(self.size[column])  # as it is not measured
        if scheme == "central":
            return float(np.hypot(np.sqrt(0.5) * noise, step**2 * third / 6.0))
        return float(np.hypot(np.sqrt(6.5) * noise, step**2 * third / 3.0))

    def with_own_steps(self, own: F64, difference: Difference) -> StepSizes:
        """Return a copy with steps chosen by the user, shape (n,); NaN keeps the present ones."""
        chosen = np.isfinite(own)
        steps = np.where(chosen, own, self.steps)
        return dataclasses.replace(
            self,
            steps=steps,
            errors=np.where(chosen, self.expected_errors(steps, difference), self.errors),
            central=np.where(chosen, own, self.central),
            reasons=tuple(
                "step of the problem" if mine else reason
                for mine, reason in zip(chosen, self.reasons, strict=True)
            ),
        )

    def expected_errors(self, steps: F64, difference: Difference) -> F64:
        """Return the expected error of each column with these steps, shape (n,)."""
        scheme: Scheme = "central" if difference == "central" else "one-sided"
        return np.array([self.error(j, scheme, float(h)) for j, h in enumerate(steps)])


def parameter_size(space: SearchSpace, initial: F64, z: F64) -> F64:
    """Return the size of the parameters in the search space, shape (n,).

    It is at least a fraction of the initial size, or the scale if that is zero.
    """
    first = np.abs(initial)
    floor = np.where(first > 0.0, _SMALLEST_SIZE * first, 1.0)
    size = np.where(space.log, 1.0, np.maximum(np.abs(z), floor))
    limited: F64 = np.minimum(size, space.upper - space.lower)
    return limited


def longest_step(around: Neighbourhood, size: F64) -> F64:
    """Return the longest step of each parameter, shape (n,)."""
    longest: F64 = np.minimum(LARGEST * size, 0.25 * (around.upper - around.lower))
    return longest


def fixed_steps(relative: float, size: F64, magnitude: float, difference: Difference) -> StepSizes:
    """Return steps chosen by the user, `relative` to `size`, with rounding as noise."""
    steps = relative * size
    noise = _EPS * magnitude
    factor = 1.0 / np.sqrt(2.0) if difference == "central" else np.sqrt(2.0)
    return StepSizes(
        steps,
        float("nan"),
        np.full(size.size, np.nan),
        factor * noise / steps,
        (f"relative step {relative:g} of the problem",) * size.size,
        steps,
        size,
        noise,
        np.zeros(size.size, dtype=np.bool_),
    )


def choose_steps(
    around: Neighbourhood,
    size: F64,
    magnitude: float,
    difference: Difference,
    columns: Sequence[int] | None = None,
) -> StepSizes:
    """Measure noise and curvature at `z` and choose the steps of `columns`, by default all.

    Costs 6 simulations for the noise and usually 2 per parameter for the curvature.
    """
    columns = range(size.size) if columns is None else columns
    noise, origin = measure_noise(around, size, magnitude, columns)
    curvature, influence, events = measure_curvature(around, size, noise, magnitude, columns)
    largest = longest_step(around, size)
    smallest = np.minimum(np.maximum(np.abs(around.z), size) * _EPS**0.75, largest)
    with np.errstate(divide="ignore"):
        forward = 8.0**0.25 * np.sqrt(noise / curvature)
        # The third derivative is taken for curvature / size.
        central = np.cbrt(3.0 * noise * size / curvature)
        # The longer the step, the more samples an event moves across.
        central = np.minimum(central, forward) if bool(events.any()) else central
    wanted = central if difference == "central" else forward
    steps = np.clip(wanted, smallest, largest)
    reasons = tuple(
        f"{origin}; " + ("nearly linear, largest step" if h < w else f"curvature {c:.2g}")
        for h, w, c in zip(steps, wanted, curvature, strict=True)
    )
    sizes = StepSizes(
        steps,
        noise,
        curvature,
        np.zeros(size.size),
        reasons,
        np.clip(central, smallest, largest),
        size,
        _EPS * magnitude,
        events,
        influence,
    )
    return dataclasses.replace(sizes, errors=sizes.expected_errors(steps, difference))


@dataclass(frozen=True)
class NoiseEstimate:
    """Result of a difference table: root mean square noise per component.

    `outcome` is ``"too-large"`` if the smooth part hides the noise at this spacing, and
    ``"too-small"`` if the function hardly changes; then `level` is NaN.
    """

    level: float
    outcome: Literal["found", "too-large", "too-small"]
    order: int = 0


def noise_level(values: F64) -> NoiseEstimate:
    """Return the noise level of a vector function from values on an equidistant line.

    The level of order k is ``sqrt(gamma_k * mean(T_k^2))`` with the k-th differences
    ``T_k`` and ``gamma_k = (k!)^2 / (2k)!`` (equation 4.2). It is taken at the first order
    for which three successive levels agree within a factor of 4 and the differences change
    sign along the line. `values` has shape (points, m), at least 5 points, finite.
    """
    count = values.shape[0]
    varying = np.ptp(values, axis=0) > 0.0
    if not bool(varying.any()):
        return NoiseEstimate(math.nan, "too-small")
    table = values[:, varying]
    components = values.shape[1]
    levels = []
    alternating = []
    gamma = 1.0
    for order in range(1, count):
        table = np.diff(table, axis=0)
        if order == 1 and np.count_nonzero(table) <= 0.5 * table.size:
            return NoiseEstimate(math.nan, "too-small")
        gamma *= 0.5 * order / (2 * order - 1)
        squares = table**2
        # A component that an event jumps or bends on this line is neither smooth nor noise.
        squares[:, _standing_out_of_active(np.sqrt(squares.sum(axis=0)), 0.0)] = 0.0
        mean_square = float(squares.sum()) / (table.shape[0] * components)
        levels.append(math.sqrt(gamma * mean_square))
        changes = (table.min(axis=0) < 0.0) & (table.max(axis=0) > 0.0)
        # Weighted by size, so that components without noise have no say.
        weight = np.sum(squares, axis=0)
        alternating.append(float(np.sum(weight[changes])) >= _ALTERNATING * float(weight.sum()))
    for index in range(len(levels) - 2):
        window = levels[index : index + 3]
        if alternating[index] and max(window) <= _SPREAD * min(window):
            return NoiseEstimate(levels[index], "found", index + 1)
    return NoiseEstimate(math.nan, "too-large")


def measure_noise(
    around: Neighbourhood, size: F64, magnitude: float, columns: Sequence[int]
) -> tuple[float, str]:
    """Return the noise level along one direction of `columns`, and a description of its origin.

    `magnitude` is the root mean square of the whitened outputs.
    """
    floor = _EPS * magnitude
    signs = np.zeros(size.size)
    signs[list(columns)] = np.random.default_rng(0).choice([-1.0, 1.0], size=len(columns))
    room_up, room_down = around.upper - around.z, around.z - around.lower
    reach = (POINTS - 1) * _WIDEST * size
    signs = np.where((signs > 0) & (room_up < reach) & (room_down > room_up), -1.0, signs)
    signs = np.where((signs < 0) & (room_down < reach) & (room_up > room_down), 1.0, signs)
    room = np.where(signs > 0, room_up, room_down)
    spacing = _SPACING
    offsets = np.arange(1, POINTS)[:, np.newaxis]
    for _ in range(_ATTEMPTS):
        step = signs * np.minimum(spacing * size, room / (POINTS - 1))
        values = np.vstack([around.base, around.evaluate(around.z + offsets * step)])
        if not bool(np.isfinite(values).all()):
            spacing *= _NARROWER
            continue
        estimate = noise_level(values)
        if estimate.outcome == "found":
            level = max(estimate.level, floor)
            return level, f"noise {level:.2g} measured at relative spacing {spacing:g}"
        spacing *= _NARROWER if estimate.outcome == "too-large" else _WIDER
        if spacing > 1.5 * _WIDEST:
            break
    assumed = _EPS ** (2.0 / 3.0) * magnitude
    return assumed, f"noise could not be measured; {assumed:.2g} assumed"


def measure_curvature(
    around: Neighbourhood, size: F64, noise: float, magnitude: float, columns: Sequence[int]
) -> tuple[F64, Flags, Flags]:
    """Return the root mean square second derivative, and two flags per parameter.

    The flags tell whether anything changed, and whether rows changed as with events; these
    are excluded, after shorter trial steps have ruled out a narrow smooth peak.

    As in section 5.1 of More and Wild (ACM TOMS 38, 2012), the function must not change by
    more than a tenth of its size over the second difference. They also require a difference
    of 100 times the noise; starting from the largest step, a smaller one gives an upper
    limit of the curvature, which is sufficient. `size` is that of the parameters, shape
    (n,).
    """
    trial = longest_step(around, size)
    curves = [_Curve() for _ in range(size.size)]
    open_columns = list(columns)
    # Nothing is infinitely large: without groups no row is taken for one of an event.
    floor = _EVENT * noise if around.groups else np.inf
    for _ in range(_TRIALS):
        points, one_sided = _trial_points(around, trial, open_columns)
        probes = _second_differences(around.base, around.evaluate(points), one_sided, floor)
        open_columns = [
            j
            for j, probe in zip(open_columns, probes, strict=True)
            if curves[j].take(probe, float(trial[j]), noise, floor, magnitude)
        ]
        trial[open_columns] *= _SHRINK
        if not open_columns:
            break
    # Where every trial failed nothing is known, so the step becomes the size of the trial.
    unknown = noise / np.maximum(trial, _EPS * size) ** 2
    curvature = np.array([c.curvature for c in curves])
    return (
        np.where(np.isfinite(curvature), curvature, unknown),
        np.array([c.influence for c in curves], dtype=np.bool_),
        np.array([c.events for c in curves], dtype=np.bool_),
    )


@dataclass(frozen=True)
class _Probe:
    """Second difference and change of one column; NaN if it failed.

    Root mean squares `second` without outlying rows, `whole` with them, and `change`;
    `peak` is the largest of the outlying rows.
    """

    second: float
    whole: float
    change: float
    peak: float


@dataclass
class _Curve:
    curvature: float = np.nan
    influence: bool = False
    events: bool = False
    _settled: bool = False
    _probes: list[_Probe] = field(default_factory=list)

    def take(
        self, probe: _Probe, trial: float, noise: float, floor: float, magnitude: float
    ) -> bool:
        """Add a trial; return whether a shorter one is needed."""
        self.influence |= not probe.change <= NOTHING * _EPS * magnitude  # NaN, a failure, is one
        if not np.isfinite(probe.second):
            self._probes.clear()
            return True
        before = self._probes[-1] if self._probes else None
        self._probes.append(probe)
        second, undecided = probe.second, False
        if before is None or before.peak == 0.0:
            self.events = undecided = probe.peak > 0.0
        elif 0.0 < probe.peak <= _SMOOTH * before.peak:
            second, self.events = probe.whole, False
        elif probe.peak == 0.0 and _SHRINK**2 * before.peak < _SEEN * floor:
            # Too small to be seen by now, were it smooth: the trial before shows its curvature.
            second, self.events = _SHRINK**2 * before.whole, False
        else:
            undecided = probe.peak > 0.0 and len(self._probes) <= _LOOKS
        if not (self.events and self._settled):
            self.curvature = max(second, noise) / trial**2
        large = probe.change > _LARGE_CHANGE * magnitude and second > _VISIBLE * noise
        self._settled = not large
        return undecided or large


def _trial_points(
    around: Neighbourhood, trial: F64, columns: Sequence[int]
) -> tuple[F64, list[bool]]:
    """Return two points per column, (2 k, n), and whether both are on the same side."""
    z, points, one_sided = around.z, [], []
    for j in columns:
        h = trial[j]
        aside = -1.0 if z[j] + h > around.upper[j] else 1.0 if z[j] - h < around.lower[j] else 0.0
        one_sided.append(aside != 0.0)
        for shift in (aside * h, aside * 2.0 * h) if aside else (h, -h):
            point = z.copy()
            point[j] += shift
            points.append(point)
    return np.array(points), one_sided


def _second_differences(
    base: F64, values: F64, one_sided: Sequence[bool], floor: float
) -> list[_Probe]:
    """Return one probe per column from its two trials; rows above `floor` may be events."""
    probes = []
    for first, other, aside in zip(values[::2], values[1::2], one_sided, strict=True):
        second = base - 2.0 * first + other if aside else first - 2.0 * base + other
        change = float(np.max([root_mean_square(first - base), root_mean_square(other - base)]))
        # A jump is not curvature; where one side fails nothing can be told apart.
        whole = bool(np.isfinite(second).all())
        out = _standing_out_of_active(second, floor) if whole else np.zeros(base.size, np.bool_)
        peak = float(np.max(np.abs(second[out]), initial=0.0))
        probes.append(
            _Probe(root_mean_square(second[~out]), root_mean_square(second), change, peak)
        )
    return probes


@dataclass(frozen=True)
class Crossing:
    """Rows of a column, shape (k,), that an event crosses because of a step.

    Where not `resolved`, neither side gives a derivative, and the smaller one was used.
    """

    column: int
    rows: npt.NDArray[np.intp]
    resolved: Flags


@dataclass(frozen=True)
class Columns:
    """A Jacobian by finite differences with respect to the search space, shape (m, n).

    `errors` are the expected root mean square errors per entry of each column, shape (n,);
    `crossings` are the rows corrected for events. All is zero for columns that are not differenced.
    """

    jacobian: F64
    errors: F64
    crossings: tuple[Crossing, ...]

    @property
    def smooth(self) -> F64:
        """The Jacobian with 0 where events crossed, shape (m, n)."""
        jacobian = self.jacobian.copy()
        for crossing in self.crossings:
            jacobian[crossing.rows, crossing.column] = 0.0
        return jacobian


def difference_columns(
    around: Neighbourhood,
    sizes: StepSizes,
    names: Sequence[str],
    difference: Difference,
    columns: Sequence[int] | None = None,
    reason: Callable[[], str] = str,
    known: F64 | None = None,
) -> Columns:
    """Return the derivative of the residuals with respect to the search space.

    A forward step that would leave the bounds goes backwards; a central difference near a
    bound is shortened or one-sided. If a simulation fails, the other side and smaller steps
    are tried. With ``"auto"``, inaccurate columns are recomputed by central differences.
    Rows crossed by events are corrected. `columns` are all by default, `names` those of all
    parameters. `known` are smooth derivatives at another point, shape (m, n), which limit the
    suspicion of events.
    """
    chosen = range(around.z.size) if columns is None else columns
    differences = _Differences(around, sizes, chosen)
    if difference == "central":
        differences.simulate({j: _both(around, j, float(sizes.central[j])) for j in chosen})
    else:
        differences.simulate({j: [around.inside(j, float(sizes.steps[j]))] for j in chosen})
    differences.retry()
    for j, column in differences.columns.items():
        if not column.samples:
            raise JacobianError(
                f"the derivative with respect to '{names[j]}' cannot be computed: every simulation "
                f"nearby fails: {reason()}",
                hint=f"narrow the bounds of '{names[j]}', or start elsewhere",
            )
    differences.lengthen()
    if difference == "auto":
        crude = differences.too_inexact()
        differences.simulate({j: _both(around, j, float(sizes.central[j])) for j in crude})
    crossings = differences.separate_events(known)
    jacobian, errors = np.zeros((around.base.size, around.z.size)), np.zeros(around.z.size)
    for j, column in differences.columns.items():
        jacobian[:, j], errors[j] = column.values, column.error
    return Columns(jacobian, errors, tuple(crossings))


def _both(around: Neighbourhood, column: int, step: float) -> list[float]:
    """Return the offsets of a central difference, or of a one-sided one near a bound."""
    down, up = around.room(column)
    near = min(down, up)
    if near >= step:
        return [step, -step]
    if near >= _ROOM * step:
        return [near, -near]
    side = 1.0 if up > down else -1.0
    length = side * min(step, 0.5 * max(up, down))
    return [length, 2.0 * length]


def _derivative(samples: Sequence[Sample]) -> tuple[Scheme, F64]:
    """Return the difference formula for one sample, one on each side, or two on one side."""
    first = samples[0]
    if len(samples) == 1:
        return "one-sided", first.slope
    second = samples[1]
    a, b = first.offset, second.offset
    # The slope at 0 of the parabola through three points, for a = -b the central difference.
    values: F64 = (b * first.slope - a * second.slope) / (b - a)
    return ("central" if a * b < 0.0 else "aside"), values


@dataclass
class _Column:
    """A column so far; unknown without samples."""

    values: F64
    error: float = np.inf
    samples: list[Sample] = field(default_factory=list)


class _Differences:
    """The columns of a Jacobian, improved step by step."""

    def __init__(self, around: Neighbourhood, sizes: StepSizes, columns: Sequence[int]) -> None:
        self._around, self._sizes = around, sizes
        self.columns = {j: _Column(np.full(around.base.size, np.nan)) for j in columns}

    def simulate(self, offsets: Mapping[int, Sequence[float]]) -> None:
        """Evaluate the offsets of columns as one batch, and update the columns that improve."""
        probes = [(j, offset) for j, own in offsets.items() for offset in own]
        outcomes = iter(self._around.samples(probes))
        for j, own in offsets.items():
            samples = [s for s in (next(outcomes) for _ in own) if s is not None]
            if not samples:
                continue
            scheme, values = _derivative(samples)
            error = self._sizes.error(j, scheme, abs(samples[0].offset))
            if not self.columns[j].samples or error < self.columns[j].error:
                self.columns[j] = _Column(values, error, samples)

    def retry(self) -> None:
        """Retry columns whose simulations failed on the other side and with smaller steps."""
        for side, factor in _RETRIES:
            offsets = {}
            for j, column in self.columns.items():
                offset = side * factor * self._around.inside(j, float(self._sizes.steps[j]))
                if not column.samples and self._around.contains(j, offset):
                    offsets[j] = [offset]
            self.simulate(offsets)

    def lengthen(self) -> None:
        """Increase steps without effect, for parameters of coarsely rounded outputs."""
        influence = self._sizes.influence
        if influence is None:
            return
        for factor in _LONGER:
            offsets = {}
            for j, column in self.columns.items():
                offset = factor * column.samples[0].offset
                if (
                    influence[j]
                    and not any(bool(s.change.any()) for s in column.samples)
                    and self._around.contains(j, offset)
                    and abs(offset) <= LARGEST * float(self._sizes.size[j])
                ):
                    offsets[j] = [offset]
                    column.error = np.inf
            self.simulate(offsets)

    def too_inexact(self) -> list[int]:
        """Return the columns whose errors affect the next step or the end of the search."""
        base, columns = self._around.base, list(self.columns)
        jacobian = np.column_stack([c.values for c in self.columns.values()])
        norms = np.linalg.norm(jacobian, axis=0)
        seen = np.flatnonzero(norms > 0.0)
        if seen.size == 0:
            return []
        scaled = jacobian[:, seen] / norms[seen]
        errors = np.array([c.error for c in self.columns.values()])[seen]
        relative = errors * np.sqrt(base.size) / norms[seen]
        basis, triangle = np.linalg.qr(scaled)
        smallest = float(np.linalg.svd(triangle, compute_uv=False)[-1])
        power = float(base @ base)
        promised = float(np.sum((basis.T @ base) ** 2)) / power if power > 0.0 else 0.0
        allowed = (_FAR if promised > _STILL_FAR else _NEAR) * smallest
        if float(np.linalg.norm(relative)) <= allowed:
            return []
        return [columns[int(k)] for k in seen[relative > allowed / np.sqrt(seen.size)]]

    def separate_events(self, known: F64 | None) -> list[Crossing]:
        """Correct rows crossed by an event, with a smaller step; free if none is suspected.

        A narrow peak of a smooth model, where derivatives are `known`, is examined in the first
        Jacobian only.
        """
        around, noise = self._around, self._sizes.noise_or_rounding
        groups, watched = around.groups, self._sizes.events

        def changed(sample: Sample) -> Flags:
            return standing_out(sample.change, _DEVIATIONS * noise, _SCREEN, groups)

        def new(j: int) -> Flags:
            """Return the rows far beyond all derivatives of their group at another point."""
            flags = np.ones(around.base.shape, dtype=np.bool_)
            if known is not None and not watched[j]:
                slopes = np.max([np.abs(s.slope) for s in self.columns[j].samples], axis=0)
                for rows in groups:
                    largest = float(np.max(np.abs(known[rows, j]), initial=0.0))
                    flags[rows] = slopes[rows] > _FAMILIAR * largest
            return flags

        # As a rule all parameters move an event, though only some of them by much.
        suspicious = any(
            watched[j] or bool((changed(c.samples[0]) & new(j)).any())
            for j, c in self.columns.items()
        )
        others = [
            (j, -c.samples[0].offset)
            for j, c in self.columns.items()
            if suspicious and len(c.samples) == 1 and around.contains(j, -c.samples[0].offset)
        ]
        other = {j: s for (j, _), s in zip(others, around.samples(others), strict=True) if s}
        doubtful: dict[int, tuple[list[Sample], Flags]] = {}
        for j, column in self.columns.items():
            samples = [*column.samples, *([other[j]] if j in other else [])]
            if len(samples) == 1 and not suspicious:
                continue
            if len(samples) == 1:
                rows = changed(samples[0])
            else:
                width = min(abs(s.offset) for s in samples)
                gap = width * (samples[0].slope - samples[1].slope)
                rows = standing_out(gap, _DEVIATIONS * np.sqrt(6.0) * noise, groups=groups)
                rows &= suspicious | new(j)
            if bool(rows.any()):
                doubtful[j] = samples, rows
        probes = [(j, _SMALLER * s.offset) for j, (own, _) in doubtful.items() for s in own]
        near = iter(around.samples(probes))
        crossings = []
        for j, (samples, flags) in doubtful.items():
            both = [(s, next(near)) for s in samples]
            pairs = [(far, close) for far, close in both if close is not None]
            crossing = _corrected(j, self.columns[j].values, np.flatnonzero(flags), pairs, noise)
            crossings += [] if crossing is None else [crossing]
        return crossings


def _corrected(
    j: int,
    column: F64,
    rows: npt.NDArray[np.intp],
    pairs: Sequence[tuple[Sample, Sample]],
    noise: float,
) -> Crossing | None:
    """Choose per row, in place, among the differences of each side, by the step and a smaller one.

    Return the rows that an event crosses, if any.
    """
    if not pairs:
        return None
    far = np.array([s.slope[rows] for s, _ in pairs])
    near = np.array([s.slope[rows] for _, s in pairs])
    scatter = np.array([np.sqrt(2.0) * noise / abs(s.offset) for _, s in pairs])[:, np.newaxis]
    slack = _AGREE * np.abs(near) + _DEVIATIONS * scatter
    steady = np.abs(far - near) <= slack
    together = np.ptp(near, axis=0) <= slack.max(axis=0)
    best = column[rows].copy()
    resolved = np.ones(rows.size, dtype=np.bool_)
    for k in range(rows.size):
        sides = np.flatnonzero(steady[:, k])
        if sides.size == len(pairs):
            # One derivative on both sides, or a bend so near that any of the two will do.
            resolved[k] = together[k]
            if not together[k]:
                best[k] = float(np.mean(near[:, k]))
        elif sides.size:
            best[k] = far[sides[0], k]
        elif len(pairs) > 1 and together[k]:
            best[k] = float(np.mean(near[:, k]))
        else:
            options = np.array([near[:, k], far[:, k]])
            least = int(np.argmin(np.abs(options)))
            best[k] = options.flat[least]
            resolved[k] = len(pairs) == 1 and least == 0
    crossed = (~steady.all(axis=0) | ~resolved) & ~_merely_curved(far, near, scatter)
    if not bool(crossed.any()):
        return None
    column[rows[crossed]] = best[crossed]
    return Crossing(j, rows[crossed], resolved[crossed])


def _merely_curved(far: F64, near: F64, scatter: F64) -> Flags:
    """Return where the differences of both sides fit a strongly curved smooth model.

    Curvature shifts both differences by equal amounts; an event shifts only one.
    """
    if far.shape[0] != 2:
        return np.zeros(far.shape[1], dtype=np.bool_)
    slack = _DEVIATIONS * float(np.linalg.norm(scatter))
    apart, still_apart = np.abs(far[0] - far[1]), np.abs(near[0] - near[1])
    uneven = np.abs(far.sum(axis=0) - near.sum(axis=0))
    curved: Flags = (
        (uneven <= _EVEN * apart)
        & (still_apart <= _EVEN * apart + slack)
        & (still_apart >= 0.25 * _SMALLER * apart - slack)
    )
    return curved
