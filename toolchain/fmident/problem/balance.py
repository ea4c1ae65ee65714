"""Weights of outputs whose noise is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fmident.data import Experiment


def balanced(experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Let outputs of unknown noise count relative to the spread of their measured values.

    Without it, the unit of an output would decide how much it counts. The spread is the
    standard deviation within the experiments, taken over all of them, since noise belongs to
    the sensor. A single output keeps its weight, and so do one that never changes and one whose
    weight the user gave.

    Parameters
    ----------
    experiments
        All experiments of a problem.

    Returns
    -------
    tuple of Experiment
        With each weight divided by the spread, where sigma is ``None``.
    """
    samples: dict[str, list[np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
    for e in experiments:
        for m in e.measurements:
            if m.sigma is None:
                known = m.values[np.isfinite(m.values)]
                samples.setdefault(m.variable, []).append(known - np.mean(known))
    if len(samples) < 2:
        return tuple(experiments)
    spreads = {name: float(np.std(np.concatenate(parts))) for name, parts in samples.items()}
    return tuple(
        replace(
            e,
            measurements=tuple(
                replace(m, weight=m.weight / spreads[m.variable])
                if m.sigma is None and not m.weight_given and spreads[m.variable] > 0.0
                else m
                for m in e.measurements
            ),
        )
        for e in experiments
    )
