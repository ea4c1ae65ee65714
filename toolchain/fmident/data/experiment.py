"""Measured data as the rest of the host sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fmident._types import F64

NumberOrParameter: TypeAlias = float | str
"""A fixed number, or the name of a parameter of the problem that takes its place."""


@dataclass(frozen=True)
class Decimation:
    """Zero-phase low-pass and decimation of measured and simulated signal alike.

    Chebyshev I, applied forwards and backwards, then every `factor`-th sample is kept.

    Parameters
    ----------
    factor
        Keep one sample of this many.
    order
        Order of the filter.
    ripple
        Pass-band ripple, dB.
    cutoff
        Pass-band edge as a fraction of the new Nyquist frequency.
    """

    factor: int
    order: int = 8
    ripple: float = 0.05
    cutoff: float = 0.8


@dataclass(frozen=True)
class Measurement:
    """One measured output and how it comes about from the FMU's output.

    The predicted column is ``gain * y(t - delay) + offset``.

    Parameters
    ----------
    name
        Unique within the experiment; the FMU variable unless the problem says otherwise.
    variable
        Output variable of the FMU.
    column
        Column of the data it was read from.
    values
        Shape (n,), in the FMU's unit; NaN marks a missing sample.
    sigma
        Standard deviation of the noise in the FMU's unit, shape () or (n,);
        ``None`` when unknown.
    weight
        Factor on the whitened residuals.
    gain, offset, delay
        Number, or name of a parameter of the problem (delay in s).
    decimation
        Filter on measured and simulated signal alike, or ``None``.
    unit
        The FMU's unit of the variable, or ``None``.
    """

    name: str
    variable: str
    column: str
    values: F64
    sigma: F64 | None = None
    weight: float = 1.0
    gain: NumberOrParameter = 1.0
    offset: NumberOrParameter = 0.0
    delay: NumberOrParameter = 0.0
    decimation: Decimation | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Experiment:
    """One experiment: inputs that were applied and outputs that were measured.

    Parameters
    ----------
    name
        Unique within the problem.
    times
        Shape (n,), s, strictly increasing.
    inputs
        FMU variable to values of shape (n,), no gaps, in the FMU's unit.
    measurements
        Measured outputs.
    start_values
        Values of FMU variables that hold for this experiment only.
    source
        File the data came from, for messages.
    """

    name: str
    times: F64
    inputs: Mapping[str, F64]
    measurements: tuple[Measurement, ...]
    start_values: Mapping[str, float | int | bool | str] = field(default_factory=dict)
    source: str = ""
