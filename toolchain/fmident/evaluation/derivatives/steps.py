"""Finite-difference steps from the measured noise of the simulation.

The error of a forward difference is minimal for ``h = 8^(1/4) * sqrt(eps_f / |f''|)``
with the noise level ``eps_f`` (More and Wild, Estimating derivatives of noisy
simulations, ACM TOMS 38, 2012, theorem 3.2); for residual vectors both are root mean
squares over the components. A fixed step of 1e-8, the default of general optimisers, is
far below the tolerance of a variable-step solver and gives a Jacobian of noise.
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
    """Steps in the search space and their origin; arrays have shape (n,).

    Parameters
    ----------
    noise
        Root mean square of the simulation's noise per whitened residual; NaN if not
        measured.
    curvature
        Root mean square of the second derivative per residual; NaN if not measured; an
        upper limit if it could not be distinguished from noise.
    errors
        Expected root mean square error per entry of a column of the Jacobian.
    influence
        Whether any residual changed with the parameter by more than rounding; ``None`` if
        not measured.
    central
        Steps of central differences; ``None`` to use `steps` for both.
    rounding
        Used as noise if that was not measured.
    events
        Whether the parameter seems to move events across samples; ``None`` if not checked.
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
        """Return the steps of these parameters only."""
        chosen = list(columns)

        def of(values: NDArray[Any] | None) -> Any:
            return None if values is None else values[chosen]

        return dataclasses.replace(
            self,
            **{name: of(getattr(self, name)) for name in _BY_PARAMETER},
            reasons=tuple(self.reasons[j] for j in chosen),
        )

    def among(self, columns: Sequence[int], reasons: Sequence[str]) -> StepSizes:
        """Return a copy extended by parameters without steps: NaN, with influence.

        `columns` are the positions of the present parameters, which keep their reasons.
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
        """Noise per residual, measured or assumed as rounding."""
        return self.noise if np.isfinite(self.noise) else self.rounding

    def error(self, column: int, scheme: Scheme, step: float) -> float:
        """Return the expected root mean square error per entry of a column.

        `scheme` is ``"one-sided"``: one step; ``"central"``: one to each side; ``"aside"``: one
        and two steps to the same side, of second order.
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
        """Return a copy with steps chosen by the user, shape (n,); NaN keeps the present ones."""
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

    It is at least a fraction of the initial size, or the scale if that is zero.
    """
    first = np.abs(initial)
    floor = np.where(first > 0.0, _SMALLEST_SIZE * first, 1.0)
    size = np.where(space.log, 1.0, np.maximum(np.abs(z), floor))
    limited: F64 = np.minimum(size, space.upper - space.lower)
    return limited


def fixed_steps(relative: float, size: F64, magnitude: float, difference: Difference) -> StepSizes:
    """Return steps chosen by the user, `relative` to `size`, with rounding as noise."""
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

    Costs 6 simulations for the noise and usually 2 per parameter for the curvature.
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
    sizes = StepSizes(
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
    errors = np.array([sizes.error(j, scheme, float(h)) for j, h in enumerate(steps)])
    return dataclasses.replace(sizes, errors=errors)
