"""Measured data as the rest of the host sees it."""

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
    """Samples of an output that do not count, for one reason.

    Parameters
    ----------
    reason
        Condition or filter, in words.
    samples
        Indices into the instants of the experiment, increasing, shape (k,).
    values
        As measured, in the unit of the output, shape (k,).
    replaced
        Whether a filter has put other values in their place, which do count.
    """

    reason: str
    samples: npt.NDArray[np.intp]
    values: F64
    replaced: bool = False


@dataclass(frozen=True, eq=False)
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
        Shape (n,), in `unit`, as measured; NaN marks a missing sample.
    sigma
        Standard deviation of the noise in `unit`, shape () or (n,), of the samples as they
        are compared (after decimation); ``None`` when unknown.
    weight
        Factor on the whitened residuals. Where `sigma` is unknown, they are
        ``weight * (measured - predicted)``.
    weight_given
        Whether the user said so: it is then what it is, in the unit of the output.
    gain, offset, delay
        Number, or name of a parameter of the problem (delay in s).
    decimation
        Filter on measured and simulated signal alike, or ``None``.
    unit
        Of the values: the FMU's unit of the variable, unless the gain turns it into
        another one; ``None`` when unknown.
    unit_given
        Whether the data or the problem say in which unit the column is; without, it is taken
        in the FMU's.
    exclusions
        Samples that were measured, but are missing in `values` or replaced there.
    left_out
        Samples that are not compared though they are there for the filter, shape (n,); ``None``
        for none. Without decimation, such samples are NaN in `values`.
    noise
        Model of the noise to be estimated with the parameters; ``None``: none.
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
        """Names of the problem's parameters that take part in the measurement model."""
        return tuple(x for x in (self.gain, self.offset, self.delay) if isinstance(x, str))

    @cached_property
    def compared(self) -> F64:
        """The measured values that are compared, shape (n,): filtered and NaN where dropped.

        Raises
        ------
        fmident.errors.DataError
            The samples are too few for the decimation, or there is a gap among them.
        """
        found = self.as_compared(self.values)
        return found if self.left_out is None else np.where(self.left_out, np.nan, found)

    @cached_property
    def rows(self) -> npt.NDArray[np.intp]:
        """Indices of the samples that are compared, shape (k,)."""
        return np.flatnonzero(np.isfinite(self.compared))

    @cached_property
    def whitening(self) -> F64:
        """Factor from a difference to a residual at `rows`, ``weight / sigma``, shape (k,)."""
        sigma = np.array(1.0) if self.sigma is None else np.asarray(self.sigma, dtype=np.float64)
        return self.weight / np.broadcast_to(sigma, self.values.shape)[self.rows]

    def as_compared(self, signal: F64) -> F64:
        """Return a signal, (n,), after the decimation, NaN where a sample is dropped."""
        if self.decimation is None:
            return signal
        kept = kept_samples(signal.size, self.decimation.factor)
        thinned = np.full(signal.shape, np.nan)
        thinned[kept] = low_pass_for(signal, self.decimation)[kept]
        return thinned


@dataclass(frozen=True, eq=False)
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
    notes
        What came up when the data were read.
    time_column
        Column that the times were read from; empty where they are from no file.
    time_unit
        Its unit as the header says; ``None`` where it says none, and s was assumed.
    assumed_units
        Columns of the file without a unit, in their order, with the unit that was assumed.
    interpolation
        How inputs run between samples, as in :class:`fmident.fmu.SimulationSetup`; those that are
        not named follow the problem's settings.
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
        """FMU variables that the measurements need, each once, in their order."""
        return tuple(dict.fromkeys(m.variable for m in self.measurements))


@dataclass(frozen=True)
class NoiseChoice:
    """A model of the noise of one output, which is estimated with the parameters.

    Parameters
    ----------
    model
        ``"ar"``: an autoregression; ``"white"``: white noise of a size of its own.
    order
        Of the autoregression; ``None``: by the criterion.
    criterion
        ``"aicc"``: Akaike's, corrected; ``"bic"``: Schwarz's.
    """

    model: Literal["ar", "white"] = "ar"
    order: int | None = None
    criterion: Criterion = "aicc"
