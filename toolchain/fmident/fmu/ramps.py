"""Straight lines between communication points, for FMUs whose integrator only holds inputs.

Some exporters (OpenModelica 1.26) accept input derivatives and ignore them. An FMU that
was built around its class with inputs ``u + slope*(time - reference time)`` follows straight
lines all the same; its vendor annotation names the extra inputs, which the engine feeds
and the user does not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fmident.fmu.setup import SimulationSetup


@dataclass(frozen=True)
class InputRamps:
    """How inputs of an FMU follow straight lines.

    Parameters
    ----------
    reference_time
        Input that takes the time at which the values hold, s.
    slopes
        Input to the input that takes its slope, in the input's unit per second.
    """

    reference_time: str
    slopes: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """The extra inputs, which belong to the engine."""
        return frozenset({self.reference_time, *self.slopes.values()})

    def driven(self, setup: SimulationSetup) -> Sequence[str]:
        """Return the inputs of a setup that follow lines in this way."""
        asked = (n for n in setup.input_names if n in self.slopes)
        return [n for n in asked if setup.interpolation_of(n) in ("auto", "linear")]


def with_ramps(setup: SimulationSetup, ramps: InputRamps) -> SimulationSetup:
    """Return a setup that makes the driven inputs follow straight lines; others are not ramped.

    Row i + 1 must be set before the step from t_i to t_(i+1): it gives the line through
    both points, ``u_(i+1) + (u_(i+1) - u_i)/(t_(i+1) - t_i)*(t - t_(i+1))``. So outputs at
    t_(i+1) belong to u_(i+1), whether or not the FMU computes them anew when inputs are set.

    Parameters
    ----------
    setup
        What to simulate.
    ramps
        Of the FMU.
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
