"""Measured data as used in the rest of the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.prepare import Decimation, kept_samples, low_pass_for
from fmident.errors import Diagnostic
from fmident.fmu.setup import Interpolation

__all__ = ["Decimation", "Exclusion", "Experiment", "Measurement", "NumberOrParameter"]

NumberOrParameter: TypeAlias = float | str
"""A fixed number, or the name of a parameter of the problem that takes its place."""


Criterion = Literal["aicc", "bic"]

LARGEST_ORDER = 40


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Samples of an output that are excluded for one reason.

    `samples` are increasing indices into the instants of the experiment, shape (k,), and
    `values` are as measured, in the unit of the output, shape (k,). If they were `replaced`
    by a filter, the new values are used.
    """

    reason: str
    samples: npt.NDArray[np.intp]
    values: F64
    replaced: bool = False


@dataclass(frozen=True, eq=False)
class Measurement:
    """One measured output and its relation to the FMU's output.

    The predicted column is ``gain * y(t - delay) + offset``.

    Parameters
    ----------
    name
        Unique within the experiment; the FMU variable unless the problem sets another name.
    variable
        Output variable of the FMU.
    column
        Column of the data it was read from.
    values
        Shape (n,), in `unit`, as measured; NaN marks a missing sample.
    sigma
        Standard deviation of the noise in `unit`, shape () or (n,), of the samples as
        compared (after decimation); ``None`` if unknown.
    weight
        Factor on the whitened residuals. If `sigma` is unknown, these are
        ``weight * (measured - predicted)``.
    weight_given
        Whether the user set the weight; it then applies as it is, in the unit of the
        output.
    gain, offset, delay
        Number, or name of a parameter of the problem (delay in s).
    decimation
        Filter applied to measured and simulated signal alike, or ``None``.
    unit
        Unit of the values: the FMU's unit of the variable, unless the gain converts it to
        another one; ``None`` if unknown.
    unit_given
        Whether the data or the problem give the unit of the column; otherwise the FMU's
        unit is assumed.
    exclusions
        Samples that were measured, but are missing in `values` or replaced there.
    left_out
        Mask of samples that are not compared but needed by the filter, shape (n,); ``None``
        for none. Without decimation, such samples are NaN in `values`.
    noise
        Noise model to be estimated with the parameters; ``None``: none.
    """

    name: str
    variable: str
    column: str
    values: F64
    sigma: F64 | None = None
    weight: float = 1.0
    weight_given: bool = False
    gain: NumberOrParameter = 1.0
    offset: NumberOrParameter = 0.0
    delay: NumberOrParameter = 0.0
    decimation: Decimation | None = None
    unit: str | None = None
    unit_given: bool = True
    exclusions: tuple[Exclusion, ...] = ()
    left_out: npt.NDArray[np.bool_] | None = None
    noise: NoiseChoice | None = None

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the problem's parameters used by the measurement model."""
        return tuple(x for x in (self.gain, self.offset, self.delay) if isinstance(x, str))

    @cached_property
    def compared(self) -> F64:
        """The measured values that are compared, shape (n,): filtered, and NaN where dropped.

        Raises `DataError` if there are too few samples for the decimation, or a gap among them.
        """
        signal = self.as_compared(self.values)
        return signal if self.left_out is None else np.where(self.left_out, np.nan, signal)

    @cached_property
    def rows(self) -> npt.NDArray[np.intp]:
        """Indices of the compared samples, shape (k,)."""
        return np.flatnonzero(np.isfinite(self.compared))

    @cached_property
    def whitening(self) -> F64:
        """Factor from difference to residual at `rows`, ``weight / sigma``, shape (k,)."""
        sigma = np.array(1.0) if self.sigma is None else np.asarray(self.sigma, dtype=np.float64)
        return self.weight / np.broadcast_to(sigma, self.values.shape)[self.rows]

    def as_compared(self, signal: F64) -> F64:
        """Return a signal, shape (n,), after decimation, with NaN for dropped samples."""
        if self.decimation is None:
            return signal
        indices = kept_samples(signal.size, self.decimation.factor)
        thinned = np.full(signal.shape, np.nan)
        thinned[indices] = low_pass_for(signal, self.decimation)[indices]
        return thinned


@dataclass(frozen=True, eq=False)
class Experiment:
    """One experiment: applied inputs and measured outputs.

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
        Values of FMU variables for this experiment only.
    source
        Data file, for messages.
    notes
        Notes from reading the data.
    time_column
        Column that the times were read from; empty if they are not from a file.
    time_unit
        Its unit in the header; ``None`` if there is none and s was assumed.
    assumed_units
        Columns of the file without a unit, in order, with the assumed unit.
    interpolation
        Interpolation of inputs, as in :class:`fmident.fmu.SimulationSetup`; inputs not
        named here use the problem's setting.
    """

    name: str
    times: F64
    inputs: Mapping[str, F64]
    measurements: tuple[Measurement, ...]
    start_values: Mapping[str, float | int | bool | str] = field(default_factory=dict)
    source: str = ""
    notes: tuple[Diagnostic, ...] = ()
    time_column: str = ""
    time_unit: str | None = None
    assumed_units: Mapping[str, str] = field(default_factory=dict)
    interpolation: Mapping[str, Interpolation] = field(default_factory=dict)

    @cached_property
    def samples(self) -> int:
        """Number of instants at which an output was measured."""
        there = [np.isfinite(m.values) for m in self.measurements]
        return int(np.count_nonzero(np.any(there, axis=0))) if there else 0

    @cached_property
    def output_variables(self) -> tuple[str, ...]:
        """FMU variables used by the measurements, without duplicates, in order."""
        return tuple(dict.fromkeys(m.variable for m in self.measurements))


@dataclass(frozen=True)
class NoiseChoice:
    """A noise model of one output, estimated together with the parameters.

    The model is autoregressive, ``"ar"``, or ``"white"`` noise of unknown variance. If the
    `order` is ``None``, it is selected by the criterion: ``"aicc"``, Akaike's corrected
    one, or ``"bic"``, Schwarz's.
    """

    model: Literal["ar", "white"] = "ar"
    order: int | None = None
    criterion: Criterion = "aicc"
