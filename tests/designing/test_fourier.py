"""Fourier motions and their limits."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.designing import Axis, FourierMotion
from fmident.designing.excitation import largest_inside
from fmident.errors import Code, ProblemError
from fmident.options import OptionError

from ..refused import refused

MOTION = FourierMotion(4.0, 0.3, 2.0, np.array([0.5, -0.2, 0.1]), np.array([0.1, 0.4, -0.3]))
TIMES = np.linspace(0.0, 4.0, 8001)


@pytest.mark.parametrize("order", [0, 1])
def test_derivatives_are_exact(order: int) -> None:
    numeric = np.gradient(MOTION(TIMES, order), TIMES)
    exact = MOTION(TIMES, order + 1)
    assert np.max(np.abs(numeric - exact)[1:-1]) < 1e-5 * np.max(np.abs(exact))


def test_it_is_periodic_but_for_the_turns() -> None:
    ends = np.array([0.0, 4.0])
    position, speed, acceleration = (MOTION(ends, order) for order in range(3))
    assert position[1] - position[0] == pytest.approx(4.0 * np.pi)
    assert speed[1] == pytest.approx(speed[0])
    assert acceleration[1] == pytest.approx(acceleration[0])


@pytest.mark.parametrize(
    ("axis", "order", "limit"),
    [
        (Axis("q", position_limits=(-0.7, 1.1)), 0, None),
        (Axis("q", speed_limit=3.0), 1, 3.0),
        (Axis("q", acceleration_limit=5.0), 2, 5.0),
        (Axis("q", turns=1.0, speed_limit=3.0), 1, 3.0),
    ],
)
def test_the_largest_motion_touches_a_limit(axis: Axis, order: int, limit: float | None) -> None:
    shape = FourierMotion(4.0, 0.1, axis.turns, MOTION.sine, MOTION.cosine)
    factor = largest_inside(axis, shape, TIMES)
    largest = FourierMotion(4.0, 0.1, axis.turns, factor * MOTION.sine, factor * MOTION.cosine)
    values = largest(TIMES, order)
    if limit is None:
        low, high = axis.position_limits
        assert values.min() >= low - 1e-12
        assert values.max() <= high + 1e-12
        assert min(values.min() - low, high - values.max()) == pytest.approx(0.0, abs=1e-12)
    else:
        assert np.abs(values).max() == pytest.approx(limit)


def test_turns_that_are_too_fast_are_told() -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match="speed limit"):
        largest_inside(Axis("q", turns=2.0, speed_limit=3.0), MOTION, TIMES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Axis(None, speed_limit=1.0),
        lambda: Axis("q"),
        lambda: Axis("q", position_limits=(1.0, -1.0)),
        lambda: Axis("q", turns=1.0, position_limits=(-1.0, 1.0)),
        lambda: Axis("q", speed_limit=-1.0),
    ],
)
def test_axes_that_make_no_sense(make) -> None:
    with pytest.raises((ProblemError, OptionError)):
        make()
