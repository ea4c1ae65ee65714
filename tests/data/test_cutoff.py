"""The cut-off from the signal itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.data import Table
from fmident.data.prepare import Automatic, Preparation, choose_cutoff, prepare
from fmident.errors import Code, DataError

from ..refused import refused

STEP = 1e-3
TIMES = np.arange(0.0, 8.0, STEP)


def motion(highest: float) -> np.ndarray:
    frequencies = np.linspace(0.2, highest, 6)
    return sum(np.sin(2.0 * np.pi * f * TIMES + f) / f for f in frequencies)


@pytest.mark.each_time("1.5-0.001-0", "5.0-0.01-1", "12.0-0.001-2")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("highest", "noise"), [(1.5, 1e-3), (5.0, 1e-2), (12.0, 1e-3)])
def test_above_the_motion_and_not_far_above(highest: float, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = choose_cutoff(motion(highest) + noise * rng.normal(size=TIMES.size), STEP, 4, 80.0)
    assert chosen.settled
    assert highest < chosen.cutoff < 6.0 * highest
    assert chosen.noise == pytest.approx(noise, rel=0.05)


def test_less_noise_asks_for_a_higher_cutoff() -> None:
    white = np.random.default_rng(0).normal(size=TIMES.size)
    chosen = [choose_cutoff(motion(2.0) + s * white, STEP, 4, 80.0).cutoff for s in (1e-2, 1e-5)]
    assert chosen[1] > chosen[0]


def test_the_derivative_is_close_to_the_best_that_any_cutoff_gives() -> None:
    clean = motion(3.0)
    noisy = clean + 1e-3 * np.random.default_rng(4).normal(size=TIMES.size)
    exact = np.gradient(np.gradient(clean, STEP), STEP)[1000:-1000]

    def error(low_pass) -> float:
        step = Preparation(("q",), low_pass, {"qd": "q", "qdd": "qd"})
        table = Table(Path("x.csv"), {"q": noisy}, {"q": None}, np.arange(TIMES.size))
        found, _ = prepare(table, TIMES, step)
        return float(np.std(found.column("qdd")[1000:-1000] - exact))

    from fmident.data.prepare import LowPass

    best = min(error(LowPass(f)) for f in np.geomspace(2.0, 50.0, 30))
    assert error(Automatic()) < 2.0 * best


def test_noise_that_is_not_white_is_told() -> None:
    wandering = np.cumsum(np.random.default_rng(1).normal(size=TIMES.size))
    assert not choose_cutoff(wandering, STEP, 4, 80.0).settled


def test_a_short_record_is_refused() -> None:
    with refused(Code.INVALID_DATA, DataError, match="too few"):
        choose_cutoff(np.zeros(40), STEP, 4, 80.0)


def test_notes_say_what_was_chosen() -> None:
    noisy = motion(1.5) + 1e-3 * np.random.default_rng(0).normal(size=TIMES.size)
    table = Table(Path("x.csv"), {"q": noisy}, {"q": None}, np.arange(TIMES.size))
    _, (note,) = prepare(table, TIMES, Preparation(("q",), Automatic(), {"qd": "q"}))
    assert note.message.startswith("'q': ")
    assert float(note.message.rsplit(" ", 1)[1]) == pytest.approx(1e-3, rel=0.1)  # the noise
