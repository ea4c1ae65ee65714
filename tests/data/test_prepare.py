"""The data step: zero-phase low-pass and derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import signal

from fmident.data import Table
from fmident.data.prepare import Edges, LowPass, Preparation, prepare
from fmident.errors import Code, DataError
from fmident.options import OptionError

from ..refused import refused

STEP = 1e-3
TIMES = np.arange(0.0, 5.0, STEP)
INSIDE = slice(500, -500)


def table(**columns: np.ndarray) -> Table:
    units = {"time": "s", **dict.fromkeys(columns, "rad")}
    return Table(Path("data.csv"), {"time": TIMES, **columns}, units, np.arange(2, TIMES.size + 2))


def test_a_slow_motion_comes_through_with_its_derivatives() -> None:
    w = 2.0 * np.pi * 1.5
    q = 2.0 * TIMES + np.sin(w * TIMES)
    noisy = q + 1e-3 * np.random.default_rng(0).normal(size=q.size)
    step = Preparation(("q",), Edges(10.0, 20.0), {"qd": "q", "qdd": "qd"})
    found, notes = prepare(table(q=noisy), TIMES, step)
    assert notes == ()
    assert np.std((found.column("q") - q)[INSIDE]) < 3e-4
    assert np.std((found.column("qd") - 2.0 - w * np.cos(w * TIMES))[INSIDE]) < 0.02
    assert np.std((found.column("qdd") + w * w * np.sin(w * TIMES))[INSIDE]) < 1.0
    assert found.units["qd"] == "rad/s"
    assert found.units["qdd"] == "rad/s/s"


def test_the_table_that_was_read_is_not_changed() -> None:
    original = table(q=np.sin(TIMES))
    before = original.frame.copy()
    prepare(original, TIMES, Preparation(("q",), LowPass(5.0), {"qd": "q"}))
    pd.testing.assert_frame_equal(original.frame, before)
    assert "qd" not in original.units


def test_nothing_is_shifted_in_time() -> None:
    pulse = np.exp(-(((TIMES - 2.5) / 0.05) ** 2))
    found, _ = prepare(table(q=pulse), TIMES, Preparation(("q",), LowPass(8.0, 6)))
    filtered = found.column("q")
    assert TIMES[np.argmax(filtered)] == pytest.approx(2.5, abs=STEP)
    np.testing.assert_allclose(filtered[1:], filtered[1:][::-1], atol=1e-9)


def test_both_passes_halve_the_amplitude_at_the_cutoff() -> None:
    wave = np.sin(2.0 * np.pi * 8.0 * TIMES)
    found, _ = prepare(table(q=wave), TIMES, Preparation(("q",), LowPass(8.0)))
    ratio = np.std(found.column("q")[INSIDE]) / np.std(wave[INSIDE])
    assert ratio == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(("passband", "stopband"), [(10.0, 20.0), (50.0, 60.0), (1.0, 8.0)])
def test_edges_are_kept_by_the_least_order(passband: float, stopband: float) -> None:
    edges = Edges(passband, stopband, ripple=1.0, attenuation=40.0)
    design = edges.low_pass(STEP) if stopband != 60.0 else edges.low_pass(5e-3)
    step = STEP if stopband != 60.0 else 5e-3

    def loss(order: int, frequency: float) -> float:
        sos = signal.butter(order, design.cutoff, fs=1.0 / step, output="sos")
        _, response = signal.freqz_sos(sos, [frequency], fs=1.0 / step)
        return float(-20.0 * np.log10(abs(response[0])))

    assert loss(design.order, passband) <= 1.0 + 1e-6
    assert loss(design.order, stopband) >= 40.0 - 1e-6


def test_the_published_procedure_of_the_axis() -> None:
    """Order 4, 100 Hz, padded by 12, then differences twice: the default does the same."""
    q = np.cumsum(np.random.default_rng(3).normal(size=TIMES.size)) * 1e-4
    b, a = signal.butter(4, 100.0, fs=1.0 / STEP)
    expected = np.gradient(
        np.gradient(signal.filtfilt(b, a, q, padtype="odd", padlen=12), STEP), STEP
    )
    step = Preparation(("q",), LowPass(100.0), {"qd": "q", "qdd": "qd"})
    found, _ = prepare(table(q=q), TIMES, step)
    np.testing.assert_allclose(
        found.column("qdd"), expected, rtol=0.0, atol=1e-7 * np.abs(expected).max()
    )


def test_a_cutoff_too_high_for_the_sampling_is_warned_of() -> None:
    step = Preparation(("q",), LowPass(150.0), {"qd": "q"})
    _, (warning,) = prepare(table(q=np.sin(TIMES)), TIMES, step)
    assert warning.severity == "warning"
    assert "150 Hz" in warning.message
    quiet = Preparation(("q",), LowPass(50.0), {"qd": "q"})
    assert prepare(table(q=np.sin(TIMES)), TIMES, quiet)[1] == ()
    # The advice is right: just below the limit named there is no warning.
    limit = float(str(warning.hint).split("below ")[1].split(" Hz")[0])
    assert (
        prepare(
            table(q=np.sin(TIMES)), TIMES, Preparation(("q",), LowPass(0.95 * limit), {"v": "q"})
        )[1]
        == ()
    )


def test_differences_without_a_filter_are_noted() -> None:
    _, (note,) = prepare(table(q=np.sin(TIMES)), TIMES, Preparation((), None, {"qd": "q"}))
    assert note.severity == "note"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Preparation(("q",), LowPass(600.0)), "not possible"),
        (Preparation(("q",), Edges(10.0, 700.0)), "stop band"),
        (Preparation(("missing",), LowPass(5.0)), "missing"),
        (Preparation((), None, {"q": "q"}), "there already"),
        (Preparation((), None, {"qd": "p"}), "no column 'p'"),
    ],
)
def test_what_cannot_be_done_is_told(step: Preparation, words: str) -> None:
    with pytest.raises(DataError, match=words):
        prepare(table(q=np.sin(TIMES)), TIMES, step)


def test_gaps_and_uneven_steps_are_told() -> None:
    step = Preparation(("q",), LowPass(5.0))
    gap = np.sin(TIMES)
    gap[7] = np.nan
    with refused(Code.INVALID_DATA, DataError, match="missing"):
        prepare(table(q=gap), TIMES, step)
    with refused(Code.INVALID_DATA, DataError, match="equal steps"):
        prepare(table(q=np.sin(TIMES)), TIMES**2 + TIMES, step)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LowPass(-1.0),
        lambda: LowPass(1.0, 0),
        lambda: LowPass(1.0, 4, -1),
        lambda: Edges(20.0, 10.0),
        lambda: Edges(1.0, 2.0, 3.0, 3.0),
    ],
)
def test_values_out_of_range(make) -> None:
    with pytest.raises((DataError, OptionError)):
        make()
