"""What to simulate: instants, inputs at these instants, outputs wanted.

**Straight lines between communication points**, for FMUs whose integrator only holds inputs. Some
exporters (OpenModelica 1.26) accept input derivatives and ignore them. An FMU that was built around
its class with inputs ``u + slope*(time - reference time)`` follows straight lines all the same; its
vendor annotation names the extra inputs, which the engine feeds and the user does not see.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError, unknown_name
from fmident.fmu.model_description.variables import Value

Interpolation = Literal["auto", "hold", "linear", "mean"]
INTERPOLATIONS = ("auto", "hold", "linear", "mean")


@dataclass(frozen=True, eq=False)
class SimulationSetup:
    """One experiment as the FMU sees it. Immutable; the arrays are copied and read-only.

    Two setups are equal only if they are the same object, so that a simulator can reuse
    what it has prepared for a setup: make a setup only once.

    Parameters
    ----------
    times
        Communication points, s, shape (n,), strictly increasing, any spacing. The
        simulation starts at the first and ends at the last.
    input_names
        Variables driven by the columns of `inputs`.
    inputs
        Values at `times`, shape (n, number of inputs). ``None`` when there are none.
    output_names
        Variables to record; any variable of the FMU but strings.
    start_values
        Values set before initialisation in every run: parameters, start values of states,
        inputs without a column. Values given to a run override them.
    tolerance
        Relative tolerance for the FMU's solver; ``None`` takes the FMU's default.
    interpolation
        Inputs between the instants. ``"hold"``: constant from t_i to t_(i+1). ``"linear"``:
        linear interpolation, by fmi2SetRealInputDerivatives; only if the FMU supports it.
        ``"auto"``: linear if the FMU supports it, else hold. ``"mean"``: held at the mean
        of both ends, the end value set before the outputs are read; half of the effect of
        linear, for FMUs that announce interpolation but do not perform it.
    input_interpolation
        Interpolation of single inputs, by name; the others use `interpolation`. Inputs that
        are elements of one array must agree.
    substeps
        Number of equal steps of a Co-Simulation between two instants; at least 1. Inputs
        that are interpolated, or held at means, are so between these.
    sensitivities
        k parameters and start values with respect to which the outputs are differentiated;
        see :func:`fmident.fmu.sensitivities.differentiable`. The outputs are followed by
        their derivatives with respect to the first, then those with respect to the second,
        ...

    Raises
    ------
    FmuError
        Shapes that do not fit, times that do not increase, values that are not finite.
    """

    times: F64
    input_names: tuple[str, ...] = ()
    inputs: F64 | None = None
    output_names: tuple[str, ...] = ()
    start_values: Mapping[str, Value] = field(default_factory=dict)
    tolerance: float | None = None
    interpolation: Interpolation = "auto"
    input_interpolation: Mapping[str, Interpolation] = field(default_factory=dict)
    substeps: int = 1
    sensitivities: tuple[str, ...] = ()

    def interpolation_of(self, name: str) -> Interpolation:
        """Return the interpolation of an input."""
        return self.input_interpolation.get(name, self.interpolation)

    def shortened(self, count: int) -> SimulationSetup:
        """Return a setup that ends after its first `count` instants."""
        assert self.inputs is not None
        if self.times.size <= count:
            return self
        return replace(self, times=self.times[:count], inputs=self.inputs[:count])

    def with_substeps(self, moving: Collection[str]) -> SimulationSetup:
        """Return a setup in which substeps are instants; inputs not in `moving` are held."""
        count, inputs = self.substeps, self.inputs
        assert inputs is not None
        columns = [
            between(column, count)
            if name in moving
            else np.repeat(column, count)[: 1 - count or None]
            for name, column in zip(self.input_names, inputs.T, strict=True)
        ]
        times = between(self.times, count)
        refined = np.column_stack(columns) if columns else np.empty((times.size, 0))
        return replace(self, times=times, inputs=refined, substeps=1)

    @property
    def columns(self) -> int:
        """Number of columns of a simulation result."""
        return len(self.output_names) * (1 + len(self.sensitivities))

    def __post_init__(self) -> None:
        times = _locked(self.times)
        if times.ndim != 1 or times.size == 0:
            raise FmuError(f"times must be a vector with at least one value, not {times.shape}")
        names = tuple(self.input_names)
        inputs = np.empty((times.size, 0)) if self.inputs is None else self.inputs
        inputs = _locked(inputs)
        if inputs.shape != (times.size, len(names)):
            raise FmuError(
                f"inputs have shape {inputs.shape}, but {times.size} instants and"
                f" {len(names)} input names ask for {(times.size, len(names))}",
                hint="one row per instant, one column per input name",
            )
        _refuse_not_finite(times, inputs, names)
        if times.size > 1 and not bool(np.all(np.diff(times) > 0.0)):
            row = int(np.argmin(np.diff(times) > 0.0))
            raise FmuError(
                f"times must increase, but after {float(times[row])!r} s (row {row}) comes"
                f" {float(times[row + 1])!r} s",
                hint="sort the rows and remove duplicates",
            )
        for kind, given in (
            ("input", names),
            ("output", tuple(self.output_names)),
            ("sensitivity", tuple(self.sensitivities)),
        ):
            if len(set(given)) != len(given):
                twice = next(n for n in given if given.count(n) > 1)
                raise FmuError(f"{kind} '{twice}' is named twice")
        if unknown := [n for n in self.input_interpolation if n not in names]:
            raise FmuError(
                f"interpolation is given for '{unknown[0]}', which is not among the inputs",
                **unknown_name(unknown[0], names, "input"),
            )
        for interpolation in (self.interpolation, *self.input_interpolation.values()):
            if interpolation not in INTERPOLATIONS:
                raise FmuError(
                    f"interpolation '{interpolation}' is not known",
                    hint="use one of " + ", ".join(f"'{i}'" for i in INTERPOLATIONS),
                )
        if self.substeps < 1:
            raise FmuError(f"there must be at least 1 substep, not {self.substeps}")
        if self.tolerance is not None and not 0.0 < self.tolerance < 1.0:
            raise FmuError(f"the tolerance must lie between 0 and 1, not {self.tolerance}")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "input_names", names)
        object.__setattr__(self, "output_names", tuple(self.output_names))
        object.__setattr__(self, "sensitivities", tuple(self.sensitivities))
        object.__setattr__(self, "start_values", dict(self.start_values))
        object.__setattr__(self, "input_interpolation", dict(self.input_interpolation))


def between(values: F64, count: int) -> F64:
    """Return values with `count` equal steps from each to the next."""
    steps = np.diff(values)[:, np.newaxis] * (np.arange(count) / count)
    return np.append((values[:-1, np.newaxis] + steps).ravel(), values[-1])


def resampled(setup: SimulationSetup, times: F64) -> SimulationSetup:
    """Return a setup at other instants; its inputs are held if it says so, else straight lines."""
    assert setup.inputs is not None  # set by SimulationSetup itself
    if setup.interpolation == "hold":
        inputs = setup.inputs[np.searchsorted(setup.times, times, side="right") - 1]
    else:
        columns = [np.interp(times, setup.times, values) for values in setup.inputs.T]
        inputs = np.column_stack(columns) if columns else np.empty((times.size, 0))
    return replace(setup, times=times, inputs=inputs)


def _locked(values: F64) -> F64:
    array: F64 = np.array(values, dtype=np.float64, order="C", copy=True)
    array.flags.writeable = False
    return array


def _refuse_not_finite(times: F64, inputs: F64, names: tuple[str, ...]) -> None:
    if not np.isfinite(times).all():
        raise FmuError(f"times: row {int(np.argmin(np.isfinite(times)))} is not finite")
    if not np.isfinite(inputs).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(inputs))[0])
        raise FmuError(
            f"input '{names[column]}' is {inputs[row, column]} at {times[row]} s (row {row})",
            hint="inputs need a value at every instant: fill gaps before simulating",
        )


@dataclass(frozen=True)
class InputRamps:
    """Inputs of an FMU that define linear ramps.

    `reference_time` is the input for the time of the values, s; `slopes` maps inputs to the
    inputs for their slopes, in the input's unit per second.
    """

    reference_time: str
    slopes: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """The extra inputs, which are set by the engine."""
        return frozenset({self.reference_time, *self.slopes.values()})

    def driven(self, setup: SimulationSetup) -> Sequence[str]:
        """Return the inputs of a setup that are interpolated in this way."""
        asked = (n for n in setup.input_names if n in self.slopes)
        return [n for n in asked if setup.interpolation_of(n) in ("auto", "linear")]


def with_ramps(setup: SimulationSetup, ramps: InputRamps) -> SimulationSetup:
    """Return a setup that interpolates the driven inputs linearly; others have no ramps.

    Row i + 1, set before the step from t_i to t_(i+1), defines the line ``u_(i+1) +
    (u_(i+1) - u_i)/(t_(i+1) - t_i)*(t - t_(i+1))``. Outputs at t_(i+1) correspond to
    u_(i+1), whether or not the FMU recomputes them when inputs are set.
    """
    assert setup.inputs is not None  # set by SimulationSetup itself
    driven = ramps.driven(setup)
    averaged = [n for n in setup.input_names if setup.interpolation_of(n) == "mean"]
    held = replace(setup, interpolation="hold", input_interpolation=dict.fromkeys(averaged, "mean"))
    if not driven or setup.times.size < 2:
        return held
    places = [setup.input_names.index(n) for n in driven]
    slopes = np.zeros((setup.times.size, len(driven)))
    slopes[1:] = np.diff(setup.inputs[:, places], axis=0) / np.diff(setup.times)[:, np.newaxis]
    return replace(
        held,
        input_names=(
            *setup.input_names,
            *(ramps.slopes[n] for n in driven),
            ramps.reference_time,
        ),
        inputs=np.column_stack([setup.inputs, slopes, setup.times]),
    )
