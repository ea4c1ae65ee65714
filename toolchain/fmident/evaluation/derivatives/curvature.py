"""Curvature of the residuals by second differences, excluding the effect of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood
from fmident.evaluation.derivatives.noise import Flags, standing_out_of_active

LARGEST = 2e-2
"""Largest step, relative to the size of the parameter."""

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
"""Noise levels of a second difference that are not noise, six standard deviations."""

_VISIBLE = 100.0
_LARGE_CHANGE = 0.1
_EPS = float(np.finfo(np.float64).eps)


def longest_step(around: Neighbourhood, size: F64) -> F64:
    """Return the longest step of each parameter, shape (n,)."""
    longest: F64 = np.minimum(LARGEST * size, 0.25 * (around.upper - around.lower))
    return longest


def measure_curvature(
    around: Neighbourhood, size: F64, noise: float, magnitude: float
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
    columns = [_Curve() for _ in range(size.size)]
    open_columns = list(range(size.size))
    # Nothing is infinitely large: without groups no row is taken for one of an event.
    floor = _EVENT * noise if around.groups else np.inf
    for _ in range(_TRIALS):
        probes = _second_differences(around, trial, open_columns, floor)
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

    Root mean squares `second` without outlying rows, `whole` with them, and `change`;
    `peak` is the largest of the outlying rows.
    """

    second: float
    whole: float
    change: float
    peak: float


@dataclass
class _Curve:
    """Results of the trials for one column so far."""

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


def _second_differences(
    around: Neighbourhood, trial: F64, columns: Sequence[int], floor: float
) -> list[_Probe]:
    """Return one probe per column, central if possible; rows above `floor` may be events."""
    base, z = around.base, around.z
    points = []
    one_sided = []
    for j in columns:
        h = trial[j]
        if z[j] + h > around.upper[j]:
            shifts, centred = (-h, -2.0 * h), False
        elif z[j] - h < around.lower[j]:
            shifts, centred = (h, 2.0 * h), False
        else:
            shifts, centred = (h, -h), True
        one_sided.append(not centred)
        for shift in shifts:
            point = z.copy()
            point[j] += shift
            points.append(point)
    values = around.evaluate(np.array(points))
    probes = []
    for k, aside in enumerate(one_sided):
        first, other = values[2 * k], values[2 * k + 1]
        second = base - 2.0 * first + other if aside else first - 2.0 * base + other
        change = max(_rms(first - base), _rms(other - base), key=lambda x: (np.isnan(x), x))
        # A jump is not curvature; where one side fails nothing can be told apart.
        if np.isfinite(second).all():
            out = standing_out_of_active(second, floor)
        else:
            out = np.zeros(second.shape, dtype=np.bool_)
        peak = float(np.max(np.abs(second[out]), initial=0.0))
        probes.append(_Probe(_rms(second[~out]), _rms(second), change, peak))
    return probes


def _rms(values: F64) -> float:
    return float(np.sqrt(np.mean(values**2)))
