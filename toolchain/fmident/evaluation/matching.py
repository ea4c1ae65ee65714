"""Residuals near events, compared with the branch that a sample was measured on.

Before the parameters are right, an event of the simulation comes earlier or later than the measured
one. Samples between the two instants are then compared with the wrong branch: before the impact
with after it. They say little about the parameters, but the cost jumps whenever the simulated event
passes a sample. Each branch of the simulation is smooth, so it can be extrapolated beyond its end.
A sample near an event is compared with its own branch and with the extrapolated neighbour, and the
nearer one counts. That cost hardly jumps: when the event passes a sample, own branch and neighbour
change places. Where measured and simulated events agree, it is the cost itself.

A break is an instant between two samples at which a signal jumps or bends. Between two breaks a
parabola through three samples predicts the next one; across a break it fails from either side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from zipfile import is_zipfile

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.evaluation.contract import Evaluator
from fmident.fmu.fmu import read_description
from fmident.problem.model import Problem
from fmident.problem.priors.rows import Priors
from fmident.problem.residuals import measured_signals, residual_layout

_STRIDE = 0.5
"""Distance of the samples from which a branch is continued, as part of how far it is."""


_MOVE, _SPREAD = 0.05, 0.4
"""By how much parameters are changed to see whether breaks move, relative to their size, and by
which part of that this differs between them, so that their effects do not cancel each other."""

_GOLDEN = 0.6180339887498949
"""Multiples of it, without the integers, are spread evenly."""

_NOISE = 1.3
"""Mean square of whitened residuals up to which they are noise of the sigma that was given."""

_NEGLIGIBLE, _COLOURED, _MOSTLY = 1e-4, 0.2, 0.3
"""Without a sigma: residuals below this part of the signal are none; else they are noise if their
autocorrelation and their part of the signal are no larger than these."""

_ROUNDING = 1e-12
"""Residuals below this part of the signal are rounding."""

_HELD = 0.1
"""Part of the samples at which an input may change that is held in between, or change its sign if
that is more than noise around zero."""


_STANDS_OUT = 8.0
"""Times the defects on either side by which the defect at a break exceeds them. That of a smooth
signal changes from sample to sample by less, unless it is hardly sampled at all."""

_VISIBLE = 1e-3
"""Part of the range of a signal that a defect must have; less does not matter to a search."""

_FAINT_STANDS_OUT, _FAINT_VISIBLE = 2.0, 1e-4
"""The same for a break that is known from another simulation and may be smaller in this one."""

_BASE = 3
"""Samples of the parabola."""

_CALM = 3
"""Neighbouring defects on a side that are looked at."""

FEWEST = 2 * (_BASE + 1)
"""Samples of a signal in which a break can be found."""


@dataclass(frozen=True)
class Matched:
    """Residuals after the choice between branches.

    Parameters
    ----------
    residuals
        Whitened, shape (m,).
    other
        Rows that were compared with a continued neighbour, boolean, shape (m,).
    """

    residuals: F64
    other: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Series:
    """The residuals of one measured output of one experiment."""

    rows: slice
    times: F64
    measured: F64
    scale: F64

    def predicted(self, residuals: F64) -> F64:
        return self.measured - residuals[self.rows] / self.scale


class EventMatching:
    """Compares measured and simulated outputs with regard to events.

    Parameters
    ----------
    problem
        Its residuals must be those of the samples one by one: `usable`.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @property
    def usable(self) -> bool:
        """Whether residuals are the whitened differences, sample by sample."""
        cost = self._problem.cost
        return cost.by_sample and cost.gives_intervals

    @cached_property
    def kind(self) -> str:
        """What breaks outputs: events, or jumps where the FMU is known to have no state events.

        An FMU with Model Exchange says how many event indicators it has; a Co-Simulation need not.
        """
        if not is_zipfile(self._problem.fmu):
            return "Events"
        about = read_description(self._problem.fmu)
        named = any(i.kind == "model-exchange" for i in about.interfaces)
        return "Jumps of the outputs" if named and about.indicator_count == 0 else "Events"

    @cached_property
    def progress(self) -> F64:
        """When each sample comes, from 0 to 1 within its experiment, shape (m,)."""
        layout = residual_layout(self._problem)
        found = np.zeros(layout.size + self._priors)  # priors hold from the beginning
        for i, experiment in enumerate(self._problem.experiments):
            rows = np.flatnonzero(layout.experiment == i)
            begin, end = float(experiment.times[0]), float(experiment.times[-1])
            found[rows] = (layout.time[rows] - begin) / max(end - begin, np.finfo(np.float64).tiny)
        return found

    @cached_property
    def scaled_measurements(self) -> F64:
        """What was measured, whitened, shape (m,)."""
        measured = [s.measured * s.scale for s in self._series]
        return np.concatenate([np.empty(0), *measured, np.zeros(self._priors)])

    @cached_property
    def _priors(self) -> int:
        """Number of the residuals behind those of the samples."""
        return Priors.of(self._problem).count

    @cached_property
    def _series(self) -> tuple[_Series, ...]:
        found, begin = [], 0
        for signal in measured_signals(self._problem):
            there = signal.rows
            rows = slice(begin, begin + there.size)
            found.append(
                _Series(rows, signal.times[there], signal.measured[there], signal.scale[there])
            )
            begin += there.size
        return tuple(found)

    @cached_property
    def _given(self) -> tuple[frozenset[int], ...]:
        """Breaks that the inputs have themselves, per series, as indices of its samples."""
        return self._per_series(_changes)

    @cached_property
    def _turns(self) -> tuple[frozenset[int], ...]:
        """Changes of sign of the inputs, where friction may bend an output, in the same way."""
        return self._per_series(lambda times, values: _sign_changes(values))

    def _per_series(
        self, changes: Callable[[F64, F64], npt.NDArray[np.intp]]
    ) -> tuple[frozenset[int], ...]:
        """Return where any input of its experiment changes, per series, and one sample around."""
        found: list[frozenset[int]] = []
        for experiment in self._problem.experiments:
            times = experiment.times
            at = [times[changes(times, x)] for x in experiment.inputs.values()]
            instants = np.unique(np.concatenate([np.empty(0), *at]))
            for _ in experiment.measurements:
                series = self._series[len(found)]
                k = np.searchsorted(series.times, instants, side="right") - 1
                around = np.unique(np.concatenate([k - 1, k, k + 1]))
                found.append(frozenset(around.tolist()))
        return tuple(found)

    def breaks(self, residuals: F64, *, faint: bool = False) -> tuple[npt.NDArray[np.intp], ...]:
        """Return where the simulated outputs break and no input does, per series, as indices.

        Parameters
        ----------
        residuals
            Whitened, finite, shape (m,).
        faint
            See `find_breaks`.
        """
        found = []
        for series, given in zip(self._series, self._given, strict=True):
            k = find_breaks(series.times, series.predicted(residuals), faint=faint)
            found.append(np.array([i for i in k if int(i) not in given], dtype=np.intp))
        return tuple(found)

    def may_move(self, residuals: F64) -> bool:
        """Return whether outputs break other than where an input breaks or changes its sign.

        Parameters
        ----------
        residuals
            Whitened, finite, shape (m,).
        """
        return any(
            int(k) not in turns
            for own, turns in zip(self.breaks(residuals), self._turns, strict=True)
            for k in own
        )

    def moving(self, evaluator: Evaluator, p: F64) -> tuple[npt.NDArray[np.intp], ...]:
        """Return the breaks of the simulated outputs at `p` if they move with the parameters.

        Costs nothing where no output breaks by itself, else two simulations: breaks that stay
        where they are do not make the cost jump, whatever becomes of their size. All
        parameters are changed at once, each by another part of its size.

        Returns
        -------
        tuple
            Per measured output of each experiment the indices of its samples before a break; all
            empty where there are none, or none that moves.
        """
        if not self.usable:
            return ()
        base = evaluator.residuals(p)
        if not bool(np.isfinite(base).all()):
            return ()
        there = self.breaks(base)
        nothing = tuple(np.empty(0, dtype=np.intp) for _ in there)
        if not self.may_move(base):
            return nothing
        z = evaluator.space.from_physical(p)
        order = np.arange(z.size)
        parts = 1.0 + _SPREAD * (2.0 * ((order * _GOLDEN) % 1.0) - 1.0)
        size = np.where(evaluator.space.log | (z == 0.0), 1.0, np.abs(z))
        offsets = _MOVE * np.where(order % 2, -1.0, 1.0) * parts * size
        points = np.clip([z + offsets, z - offsets], evaluator.space.lower, evaluator.space.upper)
        physical = evaluator.space.to_physical(points)
        for row in evaluator.probe(np.clip(physical, self._problem.lower, self._problem.upper)):
            if bool(np.isfinite(row).all()) and self._moved(base, row):
                return there
        return nothing

    def _moved(self, first: F64, second: F64) -> bool:
        """Return whether an output has a break in one simulation and another in the other one.

        The size of a break changes with the parameters. So one that is seen in one simulation is
        missing in the other one only if nothing is left of it there; and it has moved only if
        there is one elsewhere instead.
        """
        seen = (self.breaks(first), self.breaks(second))
        faint = (self.breaks(first, faint=True), self.breaks(second, faint=True))
        return any(
            not np.isin(before, faint_after).all() and not np.isin(after, faint_before).all()
            for before, after, faint_before, faint_after in zip(*seen, *faint, strict=True)
        )

    def where(self, breaks: Sequence[npt.NDArray[np.intp]]) -> list[str]:
        """Return outputs, times and experiments of breaks in words, the earliest first."""
        found = []
        signals = measured_signals(self._problem)
        for signal, series, own in zip(signals, self._series, breaks, strict=True):
            found += [(float(series.times[k]), signal) for k in own]
        found.sort(key=lambda item: item[0])
        return [f"'{x.output}' after {t:.6g} s in experiment '{x.experiment}'" for t, x in found]

    def explained(self, residuals: F64) -> bool:
        """Return whether nothing but noise seems to be left in the residuals."""
        if self._problem.sigma_known:
            return float(np.mean(residuals[: residuals.size - self._priors] ** 2)) < _NOISE
        measured = self.scaled_measurements
        for series in self._series:
            own = residuals[series.rows]
            size = float(np.std(measured[series.rows]))
            power = float(own @ own)
            if power <= own.size * (_NEGLIGIBLE * size) ** 2:
                continue
            coloured = own.size > 1 and float(own[1:] @ own[:-1]) > _COLOURED * power
            if coloured or power > own.size * (_MOSTLY * size) ** 2:
                return False
        return True

    def exact(self, residuals: F64, tolerance: float | None) -> bool:
        """Return whether what is left in the residuals is no more than the integrator's error.

        Then no other point can be better. Without a tolerance it is no more than rounding.
        """
        if not self.usable or self._priors:
            return False
        measured = self.scaled_measurements
        return all(
            float(np.sqrt(np.mean(residuals[series.rows] ** 2)))
            <= (_ROUNDING if tolerance is None else tolerance)
            * float(np.std(measured[series.rows]))
            for series in self._series
        )

    def blur(self, residuals: F64, window: float, part: npt.NDArray[np.bool_]) -> F64:
        """Return the residuals of a part of the samples, blurred in time.

        A pulse that comes too early or too late leaves a residual of full height however late it
        is. Blurred, the residual is in proportion to the delay, up to the width of the window.

        Parameters
        ----------
        residuals
            Whitened, shape (m,).
        window
            Width on either side, as part of the length of the experiment.
        part
            Which samples are looked at, boolean, shape (m,).
        """
        found = []
        for series in self._series:
            own = residuals[series.rows][part[series.rows]]
            half = max(round(window * series.times.size), 1)
            for _ in range(2):
                own = _blurred(own, half)
            found.append(own)
        samples = residuals.size - self._priors
        return np.concatenate([np.empty(0), *found, residuals[samples:][part[samples:]]])

    def match(self, residuals: F64, window: float) -> Matched:
        """Return the residuals in which samples near events have chosen their branch.

        Parameters
        ----------
        residuals
            Whitened, finite, shape (m,).
        window
            How far from an event, as part of the length of the experiment.
        """
        matched = residuals.copy()
        other = np.zeros(residuals.size, dtype=np.bool_)
        if window <= 0.0:
            return Matched(matched, other)
        for series, breaks in zip(self._series, self.breaks(residuals), strict=True):
            if breaks.size == 0:
                continue
            span = window * float(series.times[-1] - series.times[0])
            values = series.predicted(residuals)
            for rows, continued in _continued(series.times, values, breaks, span):
                found = (series.measured[rows] - continued) * series.scale[rows]
                place = rows + series.rows.start
                better = np.abs(found) < np.abs(matched[place])
                matched[place[better]] = found[better]
                other[place[better]] = True
        return Matched(matched, other)


def _blurred(residuals: F64, half: int) -> F64:
    """Return sums over neighbours up to `half` away, divided so that white noise keeps its size."""
    sums = np.concatenate([[0.0], np.cumsum(residuals)])
    places = np.arange(residuals.size)
    low = np.maximum(places - half, 0)
    high = np.minimum(places + half + 1, residuals.size)
    found: F64 = (sums[high] - sums[low]) / np.sqrt(2 * half + 1)
    return found


def _changes(times: F64, values: F64) -> npt.NDArray[np.intp]:
    """Return after which samples an input breaks, or changes if it is mostly held."""
    steps = np.flatnonzero(np.diff(values) != 0.0)
    held = steps.size < _HELD * values.size
    found = find_breaks(times, values)
    return np.union1d(found, steps).astype(np.intp) if held else found


def _sign_changes(values: F64) -> npt.NDArray[np.intp]:
    """Return after which samples an input changes its sign, unless it does so all the time."""
    steps = np.flatnonzero(np.diff(np.sign(values)) != 0.0)
    return steps if steps.size < _HELD * values.size else np.empty(0, dtype=np.intp)


def _continued(
    times: F64, values: F64, breaks: npt.NDArray[np.intp], span: float
) -> list[tuple[npt.NDArray[np.intp], F64]]:
    """Return rows around each break, and the value there of the branch on the other side."""
    edges = [-1, *breaks.tolist(), times.size - 1]
    found = []
    for before, at, after in zip(edges[:-2], edges[1:-1], edges[2:], strict=True):
        own = np.arange(before + 1, at + 1)
        beyond = np.arange(at + 1, after + 1)
        late = beyond[times[beyond] - times[at] <= span]
        early = own[times[at + 1] - times[own] <= span]
        if late.size:
            found.append((late, _continue(times[own], values[own], times[late])))
        if early.size:
            t, y = times[beyond][::-1], values[beyond][::-1]
            found.append((early, _continue(-t, y, -times[early])))
    return found


def _continue(times: F64, values: F64, at: F64) -> F64:
    """Continue a branch beyond its last sample by parabolas through three of its samples.

    The further it goes, the further the three are apart, so that errors of the samples do not
    grow.
    """
    last = times.size - 1
    if last == 0:
        return np.full(at.size, values[0])
    ahead = at - times[last]
    mean = (times[last] - times[0]) / last
    stride = np.clip(np.round(_STRIDE * ahead / mean).astype(np.intp), 1, max(last // 2, 1))
    middle = last - stride
    t2, y2 = times[last], values[last]
    t1, y1 = times[middle], values[middle]
    straight = y2 + (y2 - y1) / (t2 - t1) * ahead
    first = last - 2 * stride
    if last < 2:
        return np.asarray(straight, dtype=np.float64)
    t0, y0 = times[first], values[first]
    bend = ((y2 - y1) / (t2 - t1) - (y1 - y0) / (t1 - t0)) / (t2 - t0)
    found: F64 = straight + bend * ahead * (at - t1)
    return found


def find_breaks(times: F64, values: F64, *, faint: bool = False) -> npt.NDArray[np.intp]:
    """Return the indices k for which a signal breaks between the samples k and k + 1.

    Parameters
    ----------
    times
        Shape (n,), increasing.
    values
        A signal without noise, shape (n,).
    faint
        Find also those that would not be seen for certain: to tell whether a break that is seen
        in one simulation is missing in another one.

    Returns
    -------
    numpy.ndarray
        Increasing, shape (b,). Breaks with fewer than four samples between them are not found.
    """
    n = times.size
    none = np.empty(0, dtype=np.intp)
    if n < FEWEST:
        return none
    visible, stands_out = _VISIBLE, _STANDS_OUT
    if faint:
        visible, stands_out = _FAINT_VISIBLE, _FAINT_STANDS_OUT
    floor = visible * float(np.ptp(values))
    if not floor > 0.0:
        return none
    left = np.full(n, np.inf)  # left[k]: at k + 1, from k - 2, k - 1, k
    right = np.full(n, np.inf)  # right[k]: at k, from k + 1, k + 2, k + 3
    left[2 : n - 1] = _defects(times, values)
    right[: n - 3] = _defects(-times[::-1], values[::-1])[::-1]
    both = np.minimum(left, right)
    both[~np.isfinite(both)] = 0.0
    k = np.flatnonzero(both > floor)
    k = k[(k > 2) & (k < n - 4)]  # a neighbour on either side
    left[:2] = right[n - 3 :] = 0.0
    before = np.max([left[k - i] for i in range(1, 1 + _CALM)], axis=0)
    after = np.max([right[k + i] for i in range(1, 1 + _CALM)], axis=0)
    # Where the defects after a sample are not numbers, those before it decide.
    calm = np.where(after > before, after, before)
    found: npt.NDArray[np.intp] = k[both[k] > stands_out * calm]
    return found


def _defects(times: F64, values: F64) -> F64:
    """Return by how much the parabola through three samples misses the next, (n,) -> (n-3,)."""
    t0, t1, t2, t3 = times[:-3], times[1:-2], times[2:-1], times[3:]
    foretold = (
        values[:-3] * (t3 - t1) * (t3 - t2) / ((t0 - t1) * (t0 - t2))
        + values[1:-2] * (t3 - t0) * (t3 - t2) / ((t1 - t0) * (t1 - t2))
        + values[2:-1] * (t3 - t0) * (t3 - t1) / ((t2 - t0) * (t2 - t1))
    )
    found: F64 = np.abs(values[3:] - foretold)
    return found
