"""Which samples the residuals of several stages have in common.

The noise of a sample that two stages use enters both of their estimates. Samples are the same
where they come from the same column of the same file at the same time and have the same value:
a signal that was filtered otherwise has another noise.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_Key = tuple[str, str]


@dataclass(frozen=True, eq=False)
class CommonSamples:
    """Numbers of the samples of one stage.

    Parameters
    ----------
    numbers
        One per residual, equal for equal samples of all stages, shape (m,); ``None`` where no
        other stage uses any of them, or residuals belong to no sample.
    experiments
        Experiments of the stage of which an earlier stage uses samples.
    altered
        Those of which an earlier stage uses data in another form.
    """

    numbers: npt.NDArray[np.int64] | None = None
    experiments: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Signal:
    """The samples of one measurement that a stage compares."""

    experiment: str
    key: _Key
    samples: npt.NDArray[np.float64]
    """Time and value, shape (k, 2)."""


def common_samples(problems: Mapping[int, Problem]) -> dict[int, CommonSamples]:
    """Return what stages have in common, by their number.

    Parameters
    ----------
    problems
        Those of the stages whose estimates depend on each other, by number.
    """
    signals = {k: _signals(problem) for k, problem in problems.items()}
    numbers = _numbers(s for several in signals.values() for s in several)
    found: dict[int, CommonSamples] = {}
    for k, problem in problems.items():
        before = [s for other in problems if other < k for s in signals[other]]
        others = [s for other in problems if other != k for s in signals[other]]
        exact = problem.cost.by_sample
        mine = [numbers[id(s)] for s in signals[k]]
        same = np.unique(np.concatenate([[-1], *(numbers[id(s)] for s in others)]))
        used = exact and any(bool(np.isin(n, same).any()) for n in mine)
        shared, altered = [], []
        for signal, own in zip(signals[k], mine, strict=True):
            equal, touching = _compare(signal, own, before, numbers)
            if equal and exact:
                shared.append(signal.experiment)
            if touching or (equal and not exact):
                altered.append(signal.experiment)
        found[k] = CommonSamples(
            np.concatenate(mine) if used else None,
            tuple(dict.fromkeys(shared)),
            tuple(dict.fromkeys(altered)),
        )
    return found


def _signals(problem: Problem) -> list[_Signal]:
    found = []
    for e in problem.experiments:
        for m in e.measurements:
            samples = np.column_stack([e.times[m.rows], m.compared[m.rows]])
            # Stages with a problem file of their own may name the same file by another path.
            # Built in Python, data have no file: the experiment's name stands for it.
            origin = os.path.realpath(e.source) if e.source else e.name
            found.append(_Signal(e.name, (origin, m.column), samples))
    return found


def _numbers(signals: Iterable[_Signal]) -> dict[int, npt.NDArray[np.int64]]:
    """Return a number for each sample, by the identity of the signal."""
    by_key: dict[_Key, list[_Signal]] = {}
    for signal in signals:
        by_key.setdefault(signal.key, []).append(signal)
    found: dict[int, npt.NDArray[np.int64]] = {}
    start = 0
    for several in by_key.values():
        if len(several) == 1:
            found[id(several[0])] = start + np.arange(len(several[0].samples), dtype=np.int64)
            start += len(several[0].samples)
            continue
        whole = np.concatenate([s.samples for s in several])
        distinct, inverse = np.unique(whole, axis=0, return_inverse=True)
        places = np.cumsum([0, *(len(s.samples) for s in several)])
        for signal, first, last in zip(several, places[:-1], places[1:], strict=True):
            found[id(signal)] = start + inverse.reshape(-1)[first:last].astype(np.int64)
        start += len(distinct)
    return found


def _compare(
    signal: _Signal,
    own: npt.NDArray[np.int64],
    before: Sequence[_Signal],
    numbers: Mapping[int, npt.NDArray[np.int64]],
) -> tuple[bool, bool]:
    """Return whether earlier signals have equal samples, and whether some differ at equal times."""
    equal = differing = False
    for other in before:
        if other.key != signal.key:
            continue
        same = np.intersect1d(own, numbers[id(other)]).size
        at_once = np.intersect1d(signal.samples[:, 0], other.samples[:, 0]).size
        equal = equal or same > 0
        differing = differing or at_once > same
    return equal, differing
