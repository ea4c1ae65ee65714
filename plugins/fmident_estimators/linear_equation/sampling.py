"""Equidistant samples, and what breaks them."""

from __future__ import annotations

import numpy as np

from fmident.data.experiment import Experiment, Measurement
from fmident.errors import DataError

_JITTER = 0.02
"""Largest deviation from the sampling interval, relative to it."""


def sampling_interval(experiment: Experiment) -> float:
    """Return the interval of an equidistant experiment, s.

    Raises
    ------
    fmident.errors.DataError
        Its samples are not equidistant.
    """
    steps = np.diff(experiment.times)
    if steps.size == 0:
        raise DataError(f"experiment '{experiment.name}' has one sample only")
    step = float(np.median(steps))
    if float(np.max(np.abs(steps - step))) > _JITTER * step:
        k = int(np.argmax(np.abs(steps - step)))
        raise DataError(
            f"the samples of '{experiment.name}' are not equidistant: {steps[k]:.6g} s after "
            f"t = {experiment.times[k]:.6g} s, but {step:.6g} s elsewhere",
            hint="resample the data, or use an estimator that simulates, such as least-squares",
        )
    return float((experiment.times[-1] - experiment.times[0]) / steps.size)


def is_gap(before: float, now: float, step: float) -> bool:
    """Return whether a sample does not follow the one before at the sampling interval."""
    return abs(now - before - step) > _JITTER * step


def noise_of(measurement: Measurement) -> float | None:
    """Return the standard deviation of the noise as one number (root mean square)."""
    if measurement.sigma is None:
        return None
    return float(np.sqrt(np.mean(np.square(measurement.sigma))))
