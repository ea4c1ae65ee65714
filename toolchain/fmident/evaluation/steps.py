"""Steps of finite differences from the measured noise of the simulation.

The error of a forward difference is least for ``h = 8^(1/4) * sqrt(eps_f / |f''|)`` with the
noise level ``eps_f`` (More and Wild, Estimating derivatives of noisy simulations, ACM TOMS 38,
2012, theorem 3.2); for residual vectors both are root mean squares over the components. A
fixed step of 1e-8, the default of general optimisers, lies far below the tolerance of a
variable-step solver and gives a Jacobian of noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from fmident._types import F64
from fmident.evaluation.noise import POINTS, noise_level
from fmident.evaluation.outliers import standing_out_of_active
from fmident.problem.search_space import SearchSpace

Difference = Literal["forward", "central", "auto"]
Scheme = Literal["one-sided", "central", "aside"]
Flags = npt.NDArray[np.bool_]

SPACING = 1e-4
"""Relative spacing of the noise table that is tried first: about the size of the steps that
simulations want, so that the noise is that of such steps."""

_NARROWER, _WIDER = 1e-2, 1e2
_WIDEST = SPACING * _WIDER
_ATTEMPTS = 3

LARGEST = 2e-2
"""Largest step, relative to the size of the parameter."""

_SMALLEST_SIZE = 0.1
"""Smallest size of a parameter in relation to its initial value."""

NOTHING = 32.0
"""Changes of so many roundings of the outputs are none: a cost that is blind to a parameter need
not be so bit by bit."""

_TRIALS = 4
_SHRINK = 0.1
_LOOKS = 2
"""Shorter trials that tell rows that an event jumps across from a narrow but smooth peak."""

_SMOOTH = 5.0 * _SHRINK**2
"""Part to which the second difference of a smooth row falls at least from trial to trial: it falls
by the square, that of a bend in proportion, that of a jump not at all."""

_SEEN = 20.0
"""Times the floor for rows that stand out, from where on those of a smooth peak are sure to."""

_EVENT = 15.0
"""Noise levels of a second difference that are no noise, six standard deviations."""

_VISIBLE = 100.0
_LARGE_CHANGE = 0.1
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class StepSizes:
    """Steps in the search space and where they come from.

    Parameters
    ----------
    steps
        Shape (n,), positive.
    noise
        Root mean square of the simulation's noise per whitened residual; NaN if not measured.
    curvature
        Root mean square of the second derivative per residual, shape (n,); NaN if not
        measured; an upper limit where it could not be told from noise.
    errors
        Expected root mean square error per entry of a column of the Jacobian with respect
        to the search space, shape (n,).
    reasons
        In words, one per parameter.
    influence
        Whether any residual changed with the parameter by more than rounding, shape (n,); ``None``
        if not measured.
    central
        Steps of central differences, shape (n,); ``None``: `steps` serve both.
    size
        Size of the parameters, shape (n,); ``None`` if unknown.
    rounding
        What is taken for noise where it was not measured.
    events
        Whether the parameter seems to move events across samples, shape (n,); ``None`` if not
        looked at.
    """

    steps: F64
    noise: float
    curvature: F64
    errors: F64
    reasons: tuple[str, ...]
    influence: Flags | None = None
    central: F64 | None = None
    size: F64 | None = None
    rounding: float = 0.0
    events: Flags | None = None

    @property
    def noise_or_rounding(self) -> float:
        """Noise per residual, measured or not."""
        return self.noise if np.isfinite(self.noise) else self.rounding

    def error(self, column: int, scheme: Scheme, step: float) -> float:
        """Return the expected root mean square error per entry of a column.

        Parameters
        ----------
        column
            Parameter.
        scheme
            ``"one-sided"``: one step; ``"central"``: one to each side; ``"aside"``: one and two
            steps to the same side, to second order.
        step
            Positive.
        """
        noise = self.noise_or_rounding / step
        second = float(np.nan_to_num(self.curvature[column]))
        if scheme == "one-sided":
            return float(np.hypot(np.sqrt(2.0) * noise, 0.5 * step * second))
        # The third derivative is taken for curvature / size.
        third = second / float(self.size[column]) if self.size is not None else 0.0
        if scheme == "central":
            return float(np.hypot(np.sqrt(0.5) * noise, step**2 * third / 6.0))
        return float(np.hypot(np.sqrt(6.5) * noise, step**2 * third / 3.0))

    def with_own_steps(self, own: F64, scheme: Scheme) -> StepSizes:
        """Return the same with steps that the user chose, shape (n,); NaN leaves them."""
        chosen = np.isfinite(own)
        if not bool(chosen.any()):
            return self
        steps = np.where(chosen, own, self.steps)
        errors = np.array([self.error(j, scheme, float(h)) for j, h in enumerate(steps)])
        return dataclasses.replace(
            self,
            steps=steps,
            errors=np.where(chosen, errors, self.errors),
            central=None if self.central is None else np.where(chosen, own, self.central),
            reasons=tuple(
                "step of the problem" if mine else reason
                for mine, reason in zip(chosen, self.reasons, strict=True)
            ),
        )


def parameter_size(space: SearchSpace, initial: F64, z: F64) -> F64:
    """Return the size of the parameters in the search space, shape (n,).

    A parameter that comes near zero keeps a part of its initial size; one that starts there
    has its scale.

    Parameters
    ----------
    space
        Of the problem.
    initial, z
        Initial and present point, shape (n,).
    """
    first = np.abs(initial)
    floor = np.where(first > 0.0, _SMALLEST_SIZE * first, 1.0)
    size = np.where(space.log, 1.0, np.maximum(np.abs(z), floor))
    limited: F64 = np.minimum(size, space.upper - space.lower)
    return limited


def fixed_steps(relative: float, size: F64, magnitude: float, difference: Difference) -> StepSizes:
    """Return steps that the user chose.

    Parameters
    ----------
    relative
        Step relative to the size of the parameter in the search space.
    size
        Size of the parameters in the search space, shape (n,).
    magnitude
        Root mean square of the whitened outputs; the noise is taken for rounding.
    difference
        Scheme.
    """
    steps = relative * size
    noise = _EPS * magnitude
    factor = 1.0 / np.sqrt(2.0) if difference == "central" else np.sqrt(2.0)
    reason = f"relative step {relative:g} of the problem"
    return StepSizes(
        steps,
        float("nan"),
        np.full(size.size, np.nan),
        factor * noise / steps,
        (reason,) * size.size,
        size=size,
        rounding=noise,
    )


def measure_noise(
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    size: F64,
    lower: F64,
    upper: F64,
    magnitude: float,
) -> tuple[float, str]:
    """Return the noise level along one direction through `z`, and in words how it was found.

    Parameters
    ----------
    evaluate
        Residuals at points of the search space, (k, n) -> (k, m); NaN rows where it failed.
    base
        Residuals at `z`, shape (m,).
    z
        Point, shape (n,).
    size
        Size of the parameters in the search space, shape (n,).
    lower, upper
        Bounds, shape (n,).
    magnitude
        Root mean square of the whitened outputs.
    """
    floor = _EPS * magnitude
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=z.size)
    room_up, room_down = upper - z, z - lower
    reach = (POINTS - 1) * _WIDEST * size
    signs = np.where((signs > 0) & (room_up < reach) & (room_down > room_up), -1.0, signs)
    signs = np.where((signs < 0) & (room_down < reach) & (room_up > room_down), 1.0, signs)
    room = np.where(signs > 0, room_up, room_down)
    spacing = SPACING
    offsets = np.arange(1, POINTS)[:, np.newaxis]
    for _ in range(_ATTEMPTS):
        step = signs * np.minimum(spacing * size, room / (POINTS - 1))
        values = np.vstack([base, evaluate(z + offsets * step)])
        if not bool(np.isfinite(values).all()):
            spacing *= _NARROWER
            continue
        found = noise_level(values)
        if found.outcome == "found":
            level = max(found.level, floor)
            return level, f"noise {level:.2g} measured at relative spacing {spacing:g}"
        spacing *= _NARROWER if found.outcome == "too-large" else _WIDER
        if spacing > 1.5 * _WIDEST:
            break
    assumed = _EPS ** (2.0 / 3.0) * magnitude
    return assumed, f"noise could not be measured; {assumed:.2g} assumed"


def choose_steps(
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    size: F64,
    lower: F64,
    upper: F64,
    magnitude: float,
    difference: Difference,
    *,
    jumps: bool = True,
) -> StepSizes:
    """Measure noise and curvature at `z` and choose the steps.

    Costs 6 simulations for the noise and, as a rule, 2 per parameter for the curvature.

    Parameters
    ----------
    evaluate
        Residuals at points of the search space, (k, n) -> (k, m); NaN rows where it failed.
    base
        Residuals at `z`, shape (m,), finite.
    z
        Point, shape (n,).
    size
        Size of the parameters in the search space, shape (n,).
    lower, upper
        Bounds, shape (n,).
    magnitude
        Root mean square of the whitened outputs.
    difference
        Scheme.
    jumps
        Whether a residual that stands out is one that an event jumps across.
    """
    noise, origin = measure_noise(evaluate, base, z, size, lower, upper, magnitude)
    curvature, influence, events = _measure_curvature(
        evaluate, base, z, size, lower, upper, noise, magnitude, jumps=jumps
    )
    largest = np.minimum(LARGEST * size, 0.25 * (upper - lower))
    smallest = np.minimum(np.maximum(np.abs(z), size) * _EPS**0.75, largest)
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
    found = StepSizes(
        steps,
        noise,
        curvature,
        np.zeros(z.size),
        reasons,
        influence,
        np.clip(central, smallest, largest),
        size,
        _EPS * magnitude,
        events,
    )
    scheme: Scheme = "central" if difference == "central" else "one-sided"
    errors = np.array([found.error(j, scheme, float(h)) for j, h in enumerate(steps)])
    return dataclasses.replace(found, errors=errors)


def _measure_curvature(
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    size: F64,
    lower: F64,
    upper: F64,
    noise: float,
    magnitude: float,
    *,
    jumps: bool,
) -> tuple[F64, Flags, Flags]:
    """Return the root mean square second derivative, and two flags per parameter.

    They tell whether anything changed, and whether some rows changed as events make them; such
    rows are left out of the curvature. Rows that stand out are looked at with shorter trials:
    a smooth peak counts, however narrow it is.

    As in section 5.1 of the paper, the function must not change by more than a tenth of its
    size over the second difference. The paper wants the difference to stand out of the noise
    by a factor of 100 as well; starting from the largest step, one that does not gives an upper
    limit of the curvature, which is all that the choice of a step needs.
    """
    trial = np.minimum(LARGEST * size, 0.25 * (upper - lower))
    columns = [_Curve() for _ in range(z.size)]
    open_columns = list(range(z.size))
    # Nothing is infinitely large: no row is taken for one of an event.
    floor = _EVENT * noise if jumps else np.inf
    for _ in range(_TRIALS):
        probes = _second_differences(evaluate, base, z, trial, lower, upper, open_columns, floor)
        open_columns = [
            j
            for j, probe in zip(open_columns, probes, strict=True)
            if columns[j].take(probe, float(trial[j]), noise, floor, magnitude)
        ]
        trial[open_columns] *= _SHRINK
        if not open_columns:
            break
    # Where every trial failed nothing is known, so the step becomes the size of the trial.
    unknown = noise / np.maximum(trial, _EPS * size) ** 2
    curvature = np.array([c.curvature for c in columns])
    return (
        np.where(np.isfinite(curvature), curvature, unknown),
        np.array([c.influence for c in columns], dtype=np.bool_),
        np.array([c.events for c in columns], dtype=np.bool_),
    )


@dataclass(frozen=True)
class _Probe:
    """Second difference and change of one column; NaN if it failed.

    Root mean squares without the rows that stand out, with them, and of the change; the largest
    of the rows that stand out, 0 if none does.
    """

    second: float
    whole: float
    change: float
    peak: float


@dataclass
class _Curve:
    """What the trials so far tell of one column."""

    curvature: float = np.nan
    influence: bool = False
    events: bool = False
    _settled: bool = False
    _probes: list[_Probe] = field(default_factory=list)

    def take(
        self, probe: _Probe, trial: float, noise: float, floor: float, magnitude: float
    ) -> bool:
        """Take in a trial; return whether a shorter one is needed."""
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
            # Too small to be seen by now, were it smooth: the trial before tells its curvature.
            second, self.events = _SHRINK**2 * before.whole, False
        else:
            undecided = probe.peak > 0.0 and len(self._probes) <= _LOOKS
        if not (self.events and self._settled):
            self.curvature = max(second, noise) / trial**2
        large = probe.change > _LARGE_CHANGE * magnitude and second > _VISIBLE * noise
        self._settled = not large
        return undecided or large


def _second_differences(
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    trial: F64,
    lower: F64,
    upper: F64,
    columns: Sequence[int],
    floor: float,
) -> list[_Probe]:
    """Return one probe per column; centred where the bounds allow it, else one-sided.

    Rows that stand out and exceed `floor` are taken for those of events.
    """
    points = []
    one_sided = []
    for j in columns:
        h = trial[j]
        if z[j] + h > upper[j]:
            shifts, centred = (-h, -2.0 * h), False
        elif z[j] - h < lower[j]:
            shifts, centred = (h, 2.0 * h), False
        else:
            shifts, centred = (h, -h), True
        one_sided.append(not centred)
        for shift in shifts:
            point = z.copy()
            point[j] += shift
            points.append(point)
    values = evaluate(np.array(points))
    probes = []
    for k, aside in enumerate(one_sided):
        first, other = values[2 * k], values[2 * k + 1]
        second = base - 2.0 * first + other if aside else first - 2.0 * base + other
        change = max(_rms(first - base), _rms(other - base), key=lambda x: (np.isnan(x), x))
        # A jump is no curvature; where one side fails nothing can be told apart.
        if np.isfinite(second).all():
            out = standing_out_of_active(second, floor)
        else:
            out = np.zeros(second.shape, dtype=np.bool_)
        peak = float(np.max(np.abs(second[out]), initial=0.0))
        probes.append(_Probe(_rms(second[~out]), _rms(second), change, peak))
    return probes


def _rms(values: F64) -> float:
    return float(np.sqrt(np.mean(values**2)))
