"""Derivatives where a finite-difference step moves an event across a sample.

Contact, stick-slip and switches make outputs jump, or bend, at instants that depend on
the parameters. For a sample that the event crosses, the difference quotient is the jump
over the step, not a derivative (for that see Galan, Feehery and Barton, Parametric
sensitivity functions for hybrid discrete/continuous systems, Appl. Num. Math. 31,
1999). An event crosses a sample on one side only, so the one-sided differences disagree
by far more than noise and curvature explain. With a smaller step, a derivative does not
change, while the quotient of a jump grows or vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood, Sample
from fmident.evaluation.derivatives.noise import Flags, standing_out

_SCREEN = 10.0
"""Factor for changes on one side, which only decides whether the other side is looked at."""

_FAMILIAR = 4.0
"""Times the largest derivative of a group that is known, up to which none is that of a jump: the
quotient of a jump is larger by about the width of a smooth peak over the step."""

_DEVIATIONS = 6.0
"""Noise levels that are taken for noise."""

SMALLER = 0.125
"""The smaller step in relation to the step."""

_EVEN = 0.35
"""Relative size of what is not curvature where one-sided differences change with the step."""

_AGREE = 0.05
"""Relative difference of two one-sided differences of the same derivative."""


@dataclass(frozen=True)
class Crossing:
    """Rows of a column, shape (k,), that an event crosses because of a step.

    Where not `resolved`, neither side gives a derivative, and the smaller one was used.
    """

    column: int
    rows: npt.NDArray[np.intp]
    step: float
    resolved: Flags


def jumping(sample: Sample, noise: float, groups: Sequence[slice]) -> Flags:
    """Return the rows that change far more than most others of their group, on one side."""
    return standing_out(sample.change, _DEVIATIONS * noise, _SCREEN, groups)


def disagreeing(up: Sample, down: Sample, noise: float, groups: Sequence[slice]) -> Flags:
    """Return the rows whose one-sided differences differ by more than noise and curvature.

    `up` and `down` are samples on either side, or two on the same side.
    """
    width = min(abs(up.offset), abs(down.offset))
    gap = width * (up.slope - down.slope)
    return standing_out(gap, _DEVIATIONS * np.sqrt(6.0) * noise, groups=groups)


def exceeding(slopes: F64, known: F64 | None, groups: Sequence[slice]) -> Flags:
    """Return the rows far beyond all derivatives of their group `known` at another point.

    A narrow peak of a smooth model is thus examined in the first Jacobian only.
    """
    flags = np.ones(slopes.shape, dtype=np.bool_)
    if known is not None:
        for rows in groups:
            largest = float(np.max(np.abs(known[rows]), initial=0.0))
            flags[rows] = slopes[rows] > _FAMILIAR * largest
    return flags


def resolve(
    around: Neighbourhood,
    columns: Sequence[tuple[int, F64, Sequence[Sample], Flags]],
    noise: float,
) -> list[Crossing]:
    """Correct suspicious rows in place using a smaller step; return the crossed ones.

    `columns` has parameter index, column of the Jacobian, its samples, and rows to examine.
    """
    probes: list[tuple[int, float]] = []
    owners: list[tuple[int, int]] = []
    for number, (j, _, samples, _) in enumerate(columns):
        for side, sample in enumerate(samples):
            probes.append((j, SMALLER * sample.offset))
            owners.append((number, side))
    near_samples = dict(zip(owners, around.samples(probes), strict=True))
    crossings = []
    for number, (j, column, samples, flagged) in enumerate(columns):
        pairs = [(s, near_samples[number, side]) for side, s in enumerate(samples)]
        usable_pairs = [(far, near) for far, near in pairs if near is not None]
        rows = np.flatnonzero(flagged)
        if not usable_pairs or rows.size == 0:
            continue
        crossing = _correct(j, column, rows, usable_pairs, noise)
        if crossing is not None:
            crossings.append(crossing)
    return crossings


def _correct(
    j: int,
    column: F64,
    rows: npt.NDArray[np.intp],
    pairs: Sequence[tuple[Sample, Sample]],
    noise: float,
) -> Crossing | None:
    """Choose per row among the differences of each side, with the step and a smaller one."""
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
    step = max(abs(s.offset) for s, _ in pairs)
    return Crossing(j, rows[crossed], step, resolved[crossed])


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
        & (still_apart >= 0.25 * SMALLER * apart - slack)
    )
    return curved
