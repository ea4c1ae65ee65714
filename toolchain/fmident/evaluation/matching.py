"""Residuals near events, compared with the branch on which a sample was measured.

Before the parameters are right, a simulated event occurs earlier or later than the
measured one, and samples in between are compared with the wrong branch. They tell
little about the parameters, but the cost jumps whenever the simulated event passes a
sample. Each branch of the simulation is smooth and can be extrapolated. A sample near
an event is therefore compared both with its own branch and with the extrapolated
neighbour, and the closer one is used: when the event passes a sample, the two exchange
their roles. Where measured and simulated events agree, the cost does not change.

A break is an instant between two samples at which a signal jumps or bends. A parabola
through three samples predicts the next one, except across a break.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from zipfile import is_zipfile

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.evaluation import Evaluator
from fmident.fmu.fmu import read_description
from fmident.problem.model import Problem
from fmident.problem.priors import Priors
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

_CALM = 3
"""Neighbouring defects on a side that are looked at."""

_FEWEST = 8
"""Samples of a signal in which a break can be found: two parabolas, and one more on either side."""


@dataclass(frozen=True, eq=False)
class _Series:
    """Residuals of one measured output of one experiment."""

    rows: slice
    times: F64
    measured: F64
    scale: F64

    def predicted(self, residuals: F64) -> F64:
        return self.measured - residuals[self.rows] / self.scale


class EventMatching:
    """Compares measured and simulated outputs, if `usable`, taking account of events."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @property
    def usable(self) -> bool:
        """Whether residuals are the whitened differences, sample by sample."""
        cost = self._problem.cost
        return cost.by_sample and cost.gives_intervals

    @cached_property
    def kind(self) -> str:
        """Cause of breaks: events, or jumps if the FMU is known to have no state events."""
        if not is_zipfile(self._problem.fmu):
            return "Events"
        about = read_description(self._problem.fmu)
        named = any(i.kind == "model-exchange" for i in about.interfaces)
        return "Jumps of the outputs" if named and about.indicator_count == 0 else "Events"

    @cached_property
    def progress(self) -> F64:
        """Time of each sample, scaled to 0 ... 1 in its experiment, shape (m,)."""
        layout = residual_layout(self._problem)
        fractions = np.zeros(layout.size + self._priors)  # priors hold from the beginning
        for i, experiment in enumerate(self._problem.experiments):
            rows = np.flatnonzero(layout.experiment == i)
            begin, end = float(experiment.times[0]), float(experiment.times[-1])
            fractions[rows] = (layout.time[rows] - begin) / max(
                end - begin, np.finfo(np.float64).tiny
            )
        return fractions

    @cached_property
    def scaled_measurements(self) -> F64:
        """Whitened measurements, shape (m,)."""
        measured = [s.measured * s.scale for s in self._series]
        return np.concatenate([np.empty(0), *measured, np.zeros(self._priors)])

    @cached_property
    def _priors(self) -> int:
        """Number of residuals after those of the samples."""
        return Priors.of(self._problem).count

    @cached_property
    def _series(self) -> tuple[_Series, ...]:
        series, begin = [], 0
        for signal in measured_signals(self._problem):
            there = signal.rows
            rows = slice(begin, begin + there.size)
            series.append(
                _Series(rows, signal.times[there], signal.measured[there], signal.scale[there])
            )
            begin += there.size
        return tuple(series)

    @cached_property
    def _given(self) -> tuple[frozenset[int], ...]:
        """Breaks of the inputs, per series, as indices of its samples."""
        return self._per_series(_changes)

    @cached_property
    def _turns(self) -> tuple[frozenset[int], ...]:
        """Sign changes of the inputs, where friction may bend an output, as for breaks."""
        return self._per_series(lambda times, values: _sign_changes(values))

    def _per_series(
        self, changes: Callable[[F64, F64], npt.NDArray[np.intp]]
    ) -> tuple[frozenset[int], ...]:
        """Return where an input of the experiment changes, and adjacent samples, per series."""
        indices: list[frozenset[int]] = []
        for experiment in self._problem.experiments:
            times = experiment.times
            at = [times[changes(times, x)] for x in experiment.inputs.values()]
            instants = np.unique(np.concatenate([np.empty(0), *at]))
            for _ in experiment.measurements:
                series = self._series[len(indices)]
                k = np.searchsorted(series.times, instants, side="right") - 1
                around = np.unique(np.concatenate([k - 1, k, k + 1]))
                indices.append(frozenset(around.tolist()))
        return tuple(indices)

    def breaks(self, residuals: F64, *, faint: bool = False) -> tuple[npt.NDArray[np.intp], ...]:
        """Return where simulated outputs break but no input does, per series, as indices."""
        breaks = []
        for series, given in zip(self._series, self._given, strict=True):
            k = find_breaks(series.times, series.predicted(residuals), faint=faint)
            breaks.append(np.array([i for i in k if int(i) not in given], dtype=np.intp))
        return tuple(breaks)

    def may_move(self, evaluator: Evaluator, p: F64) -> bool:
        """Return whether outputs at `p` break other than where an input breaks or changes sign."""
        if not self.usable:
            return False
        residuals = evaluator.residuals(p)
        return bool(np.isfinite(residuals).all()) and any(
            int(k) not in turns
            for own, turns in zip(self.breaks(residuals), self._turns, strict=True)
            for k in own
        )

    def moving(self, evaluator: Evaluator, p: F64) -> tuple[npt.NDArray[np.intp], ...]:
        """Return the breaks of the simulated outputs at `p` if they move with the parameters.

        Costs two simulations, unless no output breaks by itself. All parameters are changed at
        once, each by a different fraction of its size. Per measured output of each experiment
        the indices of the samples before a break; empty if none moves.
        """
        if not self.may_move(evaluator, p):
            return ()
        base = evaluator.residuals(p)
        z = evaluator.space.from_physical(p)
        order = np.arange(z.size)
        parts = 1.0 + _SPREAD * (2.0 * ((order * _GOLDEN) % 1.0) - 1.0)
        size = np.where(evaluator.space.log | (z == 0.0), 1.0, np.abs(z))
        offsets = _MOVE * np.where(order % 2, -1.0, 1.0) * parts * size
        points = np.clip([z + offsets, z - offsets], evaluator.space.lower, evaluator.space.upper)
        physical = evaluator.space.to_physical(points)
        for row in evaluator.probe(np.clip(physical, self._problem.lower, self._problem.upper)):
            if bool(np.isfinite(row).all()) and self._moved(base, row):
                return self.breaks(base)
        return ()

    def _moved(self, first: F64, second: F64) -> bool:
        """Return whether an output has different breaks in two simulations.

        A break has moved only if nothing is left of it and there is one elsewhere instead.
        """
        seen = (self.breaks(first), self.breaks(second))
        faint = (self.breaks(first, faint=True), self.breaks(second, faint=True))
        return any(
            not np.isin(before, faint_after).all() and not np.isin(after, faint_before).all()
            for before, after, faint_before, faint_after in zip(*seen, *faint, strict=True)
        )

    def where(self, breaks: Sequence[npt.NDArray[np.intp]]) -> list[str]:
        """Return outputs, times and experiments of breaks as text, earliest first."""
        instants = []
        signals = measured_signals(self._problem)
        for signal, series, own in zip(signals, self._series, breaks, strict=True):
            instants += [(float(series.times[k]), signal) for k in own]
        instants.sort(key=lambda item: item[0])
        return [f"'{x.output}' after {t:.6g} s in experiment '{x.experiment}'" for t, x in instants]

    def explained(self, residuals: F64) -> bool:
        """Return whether the residuals seem to be only noise."""
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
        """Return whether residuals do not exceed the integrator's error, so that none is better."""
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
        """Return the residuals of the samples `part`, blurred in time.

        The residual of a pulse at the wrong time thus becomes proportional to the delay, up to
        `window`, the width on either side as a fraction of the experiment's duration.
        """
        parts = []
        for series in self._series:
            own = residuals[series.rows][part[series.rows]]
            half = max(round(window * series.times.size), 1)
            for _ in range(2):
                own = _blurred(own, half)
            parts.append(own)
        samples = residuals.size - self._priors
        return np.concatenate([np.empty(0), *parts, residuals[samples:][part[samples:]]])

    def match(self, residuals: F64, window: float) -> F64:
        """Return the residuals in which samples near events have chosen their branch.

        `window` is the maximum distance from an event as a fraction of the duration.
        """
        matched = residuals.copy()
        if window <= 0.0:
            return matched
        for series, breaks in zip(self._series, self.breaks(residuals), strict=True):
            span = window * float(series.times[-1] - series.times[0])
            values = series.predicted(residuals)
            for rows, continued in _continued(series.times, values, breaks, span):
                alternative = (series.measured[rows] - continued) * series.scale[rows]
                place = rows + series.rows.start
                better = np.abs(alternative) < np.abs(matched[place])
                matched[place[better]] = alternative[better]
        return matched


def _blurred(residuals: F64, half: int) -> F64:
    """Return sums over neighbours up to `half` away, scaled to preserve white noise."""
    sums = np.concatenate([[0.0], np.cumsum(residuals)])
    places = np.arange(residuals.size)
    low = np.maximum(places - half, 0)
    high = np.minimum(places + half + 1, residuals.size)
    scaled_sums: F64 = (sums[high] - sums[low]) / np.sqrt(2 * half + 1)
    return scaled_sums


def _changes(times: F64, values: F64) -> npt.NDArray[np.intp]:
    """Return after which samples an input breaks, or changes if it is mostly constant."""
    steps = np.flatnonzero(np.diff(values) != 0.0)
    held = steps.size < _HELD * values.size
    breaks = find_breaks(times, values)
    return np.union1d(breaks, steps).astype(np.intp) if held else breaks


def _sign_changes(values: F64) -> npt.NDArray[np.intp]:
    """Return after which samples an input changes sign, unless it does so constantly."""
    steps = np.flatnonzero(np.diff(np.sign(values)) != 0.0)
    return steps if steps.size < _HELD * values.size else np.empty(0, dtype=np.intp)


def _continued(
    times: F64, values: F64, breaks: npt.NDArray[np.intp], span: float
) -> list[tuple[npt.NDArray[np.intp], F64]]:
    """Return rows around each break, and the extrapolated other branch at these."""
    edges = [-1, *breaks.tolist(), times.size - 1]
    pieces = []
    for before, at, after in zip(edges[:-2], edges[1:-1], edges[2:], strict=True):
        own = np.arange(before + 1, at + 1)
        beyond = np.arange(at + 1, after + 1)
        late = beyond[times[beyond] - times[at] <= span]
        early = own[times[at + 1] - times[own] <= span]
        if late.size:
            pieces.append((late, _continue(times[own], values[own], times[late])))
        if early.size:
            t, y = times[beyond][::-1], values[beyond][::-1]
            pieces.append((early, _continue(-t, y, -times[early])))
    return pieces


def _continue(times: F64, values: F64, at: F64) -> F64:
    """Extrapolate a branch beyond its last sample by parabolas through three of its samples.

    Their distance increases with that of the target, so that errors are not amplified.
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
    extrapolation: F64 = straight + bend * ahead * (at - t1)
    return extrapolation


def find_breaks(times: F64, values: F64, *, faint: bool = False) -> npt.NDArray[np.intp]:
    """Return the indices k for which a signal breaks between the samples k and k + 1.

    `values` must be without noise. `faint` includes uncertain breaks. Breaks with fewer
    than four samples in between are not detected.
    """
    n = times.size
    none = np.empty(0, dtype=np.intp)
    if n < _FEWEST:
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
    indices: npt.NDArray[np.intp] = k[both[k] > stands_out * calm]
    return indices


def _defects(times: F64, values: F64) -> F64:
    """Return the error of the parabola through three samples at the next, (n,) -> (n-3,)."""
    t0, t1, t2, t3 = times[:-3], times[1:-2], times[2:-1], times[3:]
    foretold = (
        values[:-3] * (t3 - t1) * (t3 - t2) / ((t0 - t1) * (t0 - t2))
        + values[1:-2] * (t3 - t0) * (t3 - t2) / ((t1 - t0) * (t1 - t2))
        + values[2:-1] * (t3 - t0) * (t3 - t1) / ((t2 - t0) * (t2 - t1))
    )
    defects: F64 = np.abs(values[3:] - foretold)
    return defects
