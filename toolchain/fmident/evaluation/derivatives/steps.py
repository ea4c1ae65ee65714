"""Steps of finite differences from the measured noise of the simulation.

The error of a forward difference is least for ``h = 8^(1/4) * sqrt(eps_f / |f''|)`` with the
noise level ``eps_f`` (More and Wild, Estimating derivatives of noisy simulations, ACM TOMS 38,
2012, theorem 3.2); for residual vectors both are root mean squares over the components. A
fixed step of 1e-8, the default of general optimisers, lies far below the tolerance of a
variable-step solver and gives a Jacobian of noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fmident.arrays import F64
from fmident.evaluation.derivatives.curvature import longest_step, measure_curvature
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood
from fmident.evaluation.derivatives.noise import Flags, measure_noise
from fmident.problem.search_space import SearchSpace

Difference = Literal["forward", "central", "auto"]
Scheme = Literal["one-sided", "central", "aside"]

_SMALLEST_SIZE = 0.1
"""Smallest size of a parameter in relation to its initial value."""

_BY_PARAMETER = ("steps", "curvature", "errors", "influence", "central", "size", "events")
"""Fields of :class:`StepSizes` with an item for each parameter."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class StepSizes:
    """Steps in the search space and where they come from.

    Parameters
    ----------
    steps
        Shape (n,), positive.
    noise
        Root mean square of the simulation's noise per whitened residual; NaN if not measured.
    curvature
        Root mean square of the second derivative per residual, shape (n,); NaN if not
        measured; an upper limit where it could not be told from noise.
    errors
        Expected root mean square error per entry of a column of the Jacobian with respect
        to the search space, shape (n,).
    reasons
        In words, one per parameter.
    influence
        Whether any residual changed with the parameter by more than rounding, shape (n,); ``None``
        if not measured.
    central
        Steps of central differences, shape (n,); ``None``: `steps` serve both.
    size
        Size of the parameters, shape (n,); ``None`` if unknown.
    rounding
        What is taken for noise where it was not measured.
    events
        Whether the parameter seems to move events across samples, shape (n,); ``None`` if not
        looked at.
    """

    steps: F64
    noise: float
    curvature: F64
    errors: F64
    reasons: tuple[str, ...]
    influence: Flags | None = None
    central: F64 | None = None
    size: F64 | None = None
    rounding: float = 0.0
    events: Flags | None = None

    def only(self, columns: Sequence[int]) -> StepSizes:
        """Return the steps of these parameters alone."""
        chosen = list(columns)

        def of(values: NDArray[Any] | None) -> Any:
            return None if values is None else values[chosen]

        return dataclasses.replace(
            self,
            **{name: of(getattr(self, name)) for name in _BY_PARAMETER},
            reasons=tuple(self.reasons[j] for j in chosen),
        )

    def among(self, columns: Sequence[int], reasons: Sequence[str]) -> StepSizes:
        """Return the same among parameters without steps: NaN, and that these act.

        Parameters
        ----------
        columns
            Places of these parameters.
        reasons
            For all parameters; those of these are kept.
        """
        chosen = list(columns)

        def of(values: NDArray[Any] | None) -> Any:
            if values is None:
                return None
            flags = values.dtype == np.bool_
            whole = np.full(len(reasons), False if flags else np.nan, dtype=values.dtype)
            whole[chosen] = values
            return whole

        texts = list(reasons)
        for j, text in zip(chosen, self.reasons, strict=True):
            texts[j] = text
        return dataclasses.replace(
            self,
            **{name: of(getattr(self, name)) for name in _BY_PARAMETER},
            reasons=tuple(texts),
        )

    @property
    def noise_or_rounding(self) -> float:
        """Noise per residual, measured or not."""
        return self.noise if np.isfinite(self.noise) else self.rounding

    def error(self, column: int, scheme: Scheme, step: float) -> float:
        """Return the expected root mean square error per entry of a column.

        Parameters
        ----------
        column
            Parameter.
        scheme
            ``"one-sided"``: one step; ``"central"``: one to each side; ``"aside"``: one and two
            steps to the same side, to second order.
        step
            Positive.
        """
        noise = self.noise_or_rounding / step
        second = float(np.nan_to_num(self.curvature[column]))
        if scheme == "one-sided":
            return float(np.hypot(np.sqrt(2.0) * noise, 0.5 * step * second))
        # The third derivative is taken for curvature / size.
        third = second / float(self.size[column]) if self.size is not None else 0.0
        if scheme == "central":
            return float(np.hypot(np.sqrt(0.5) * noise, step**2 * third / 6.0))
        return float(np.hypot(np.sqrt(6.5) * noise, step**2 * third / 3.0))

    def with_own_steps(self, own: F64, scheme: Scheme) -> StepSizes:
        """Return the same with steps that the user chose, shape (n,); NaN leaves them."""
        chosen = np.isfinite(own)
        if not bool(chosen.any()):
            return self
        steps = np.where(chosen, own, self.steps)
        errors = np.array([self.error(j, scheme, float(h)) for j, h in enumerate(steps)])
        return dataclasses.replace(
            self,
            steps=steps,
            errors=np.where(chosen, errors, self.errors),
            central=None if self.central is None else np.where(chosen, own, self.central),
            reasons=tuple(
                "step of the problem" if mine else reason
                for mine, reason in zip(chosen, self.reasons, strict=True)
            ),
        )


def parameter_size(space: SearchSpace, initial: F64, z: F64) -> F64:
    """Return the size of the parameters in the search space, shape (n,).

    A parameter that comes near zero keeps a part of its initial size; one that starts there
    has its scale.

    Parameters
    ----------
    space
        Of the problem.
    initial, z
        Initial and present point, shape (n,).
    """
    first = np.abs(initial)
    floor = np.where(first > 0.0, _SMALLEST_SIZE * first, 1.0)
    size = np.where(space.log, 1.0, np.maximum(np.abs(z), floor))
    limited: F64 = np.minimum(size, space.upper - space.lower)
    return limited


def fixed_steps(relative: float, size: F64, magnitude: float, difference: Difference) -> StepSizes:
    """Return steps that the user chose.

    Parameters
    ----------
    relative
        Step relative to the size of the parameter in the search space.
    size
        Size of the parameters in the search space, shape (n,).
    magnitude
        Root mean square of the whitened outputs; the noise is taken for rounding.
    difference
        Scheme.
    """
    steps = relative * size
    noise = _EPS * magnitude
    factor = 1.0 / np.sqrt(2.0) if difference == "central" else np.sqrt(2.0)
    reason = f"relative step {relative:g} of the problem"
    return StepSizes(
        steps,
        float("nan"),
        np.full(size.size, np.nan),
        factor * noise / steps,
        (reason,) * size.size,
        size=size,
        rounding=noise,
    )


def choose_steps(
    around: Neighbourhood, size: F64, magnitude: float, difference: Difference
) -> StepSizes:
    """Measure noise and curvature at `z` and choose the steps.

    Costs 6 simulations for the noise and, as a rule, 2 per parameter for the curvature.

    Parameters
    ----------
    around
        The point.
    size
        Size of the parameters in the search space, shape (n,).
    magnitude
        Root mean square of the whitened outputs.
    difference
        Scheme.
    """
    noise, origin = measure_noise(around, size, magnitude)
    curvature, influence, events = measure_curvature(around, size, noise, magnitude)
    largest = longest_step(around, size)
    smallest = np.minimum(np.maximum(np.abs(around.z), size) * _EPS**0.75, largest)
    with np.errstate(divide="ignore"):
        forward = 8.0**0.25 * np.sqrt(noise / curvature)
        # The third derivative is taken for curvature / size.
        central = np.cbrt(3.0 * noise * size / curvature)
        # The longer the step, the more samples an event moves across.
        central = np.minimum(central, forward) if bool(events.any()) else central
    wanted = central if difference == "central" else forward
    steps = np.clip(wanted, smallest, largest)
    reasons = tuple(
        f"{origin}; " + ("nearly linear, largest step" if h < w else f"curvature {c:.2g}")
        for h, w, c in zip(steps, wanted, curvature, strict=True)
    )
    found = StepSizes(
        steps,
        noise,
        curvature,
        np.zeros(size.size),
        reasons,
        influence,
        np.clip(central, smallest, largest),
        size,
        _EPS * magnitude,
        events,
    )
    scheme: Scheme = "central" if difference == "central" else "one-sided"
    errors = np.array([found.error(j, scheme, float(h)) for j, h in enumerate(steps)])
    return dataclasses.replace(found, errors=errors)
