"""Conditions on signals: what they mean, and what they are told where they cannot be read."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmident.problem.expressions import ExpressionError
from fmident.problem.reading.exclusions import Signals, judged

NAN = float("nan")
COLUMNS: dict[str, tuple[list[float], str | None]] = {
    "v": ([-0.5, -0.005, 0.0, 0.02, 3.0], "m/s"),
    "x": ([0.0, 1.0, NAN, 3.0, 4.0], "m"),
    "T": ([280.0, 290.0, 300.0, 310.0, 320.0], "K"),
    "time": ([0.0, 1.0, 2.0, 3.0, 4.0], "s"),
    "axis.q[1]": ([1.0, 2.0, 3.0, 4.0, 5.0], "rad"),
    "motor state": ([0.0, 0.0, 1.0, 1.0, 2.0], None),
}
SIGNALS = Signals(list(COLUMNS), lambda n: (np.array(COLUMNS[n][0]), COLUMNS[n][1]), 5)


def chosen(text: str) -> list[int]:
    return np.flatnonzero(judged(text, SIGNALS)[0]).tolist()


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("abs(v) < 0.01", [1, 2]),
        ("abs(v)<0.01and time>1", [2]),
        ("abs(v) < 0.01 and time > 1", [2]),
        ("time < 1 or time >= 4", [0, 4]),
        ("not time < 1", [1, 2, 3, 4]),
        ("not (time < 1 or time > 3)", [1, 2, 3]),
        ("time < 1 or time > 1 and v > 1", [0, 4]),
        ("(time < 1 or time > 1) and v > 1", [4]),
        ("not time < 1 and time < 3", [1, 2]),
        ("1 <= time < 3", [1, 2]),
        ("3 > time >= 1", [1, 2]),
        ("(time + 1) * 2 > 6", [3, 4]),
        ("((time)) == 2", [2]),
        ("((time == 2))", [2]),
        ("time = 2", [2]),
        ("time != 2", [0, 1, 3, 4]),
        ("-time^2 < -8", [3, 4]),
        ("axis.q[1] > 4", [4]),
        ("'motor state' == 1", [2, 3]),
        ("sin(pi*time/2) > 0.5", [1]),
        ("abs(v) < 10 mm/s", [1, 2]),
        ("v > -6 mm/s and v < 1e-2 m/s", [1, 2]),
        ("axis.q[1] < 120 [deg]", [0, 1]),
        ("abs(v - 2 cm/s) < 1 mm/s", [3]),
        ("abs(v - 0.02) < 1 mm/s", [3]),
        ("2 m/s - v < 0", [4]),
        ("1000*v > axis.q[1]", [3, 4]),
        ("v*x > 5", [4]),
        ("'motor state' > v", [0, 1, 2, 3]),
        ("log(time) < 0", [0]),
    ],
)
def test_what_it_means(text: str, samples: list[int]) -> None:
    assert chosen(text) == samples


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("x > 2", [3, 4]),
        ("not x > 2", [0, 1]),  # at sample 2 neither is known
        ("x != 3", [0, 1, 4]),
        ("x > 2 or time == 2", [2, 3, 4]),  # what is missing does not decide
        ("x > 2 and time == 2", []),
        ("not (x > 2 and time == 2)", [0, 1, 3, 4]),
        ("not (x > 2 and time > 2)", [0, 1, 2]),
    ],
)
def test_a_missing_sample_is_not_known_to_meet_a_condition(text: str, samples: list[int]) -> None:
    assert chosen(text) == samples


@pytest.mark.parametrize(
    ("text", "position", "words", "remedy"),
    [
        ("abs(w) < 1", 4, "no signal 'w'", "known"),
        ("axis.q[2] < 1", 0, "no signal 'axis.q[2]'", "axis.q[1]"),
        ("v", 1, "neither true nor false", "compare"),
        ("v < 1 and time", 14, "neither true nor false", "compare"),
        ("abs(v < 1)", 6, "')' is missing", ""),
        ("(v < 1) + 2", 8, "unexpected '+'", "and"),
        ("v < 1 & x > 2", 6, "unexpected '&'", "'and'"),
        ("v < 1 || x > 2", 6, "unexpected '|'", "'or'"),
        ("v < 1 x > 2", 11, "one direction", "'and'"),
        ("v < 1 and", 9, "missing at its end", ""),
        ("and v < 1", 0, "unexpected 'and'", "comparison"),
        ("1 < v > 2", 9, "one direction", "and"),
        ("1 < v < 2 < 3", 13, "one direction", "and"),
        ("1 < 2", 0, "nothing but numbers", "'motor state'"),
        ("open('f') < 1", 0, "no function 'open'", ""),
        ("__import__('os').system('x') < 1", 16, "unexpected '.'", "names of signals"),
        ("v.__class__ == 1", 0, "no signal", ""),
        ("v < 10 kg", 4, "in 'm/s'", "write the number in 'm/s'"),
        ("T > 20 degC", 4, "in 'K'", "write the number in 'K'"),
        ("v*x > 2 m2/s", 6, "unknown unit", "leave out the unit"),
        ("v*(2 s) > 1", 3, "unknown unit", "leave out the unit"),
        ("v > x", 4, "'v' is in 'm/s', and 'x' in 'm'", "factor"),
        ("abs(v - x) > 1", 8, "'v' is in 'm/s', and 'x' in 'm'", "factor"),
        ("'motor state' + v < 1 m/s", 20, "unknown unit", "leave out the unit"),
        ("v < 1 furlong", 4, "furlong", ""),
        ("'motor state' < 1 m", 16, "unknown unit", "leave out the unit"),
        ("v < 0,01", 5, "unexpected ','", "point"),
        ("lambda: 0", 6, "", ""),
        ("(" * 80 + "v < 1" + ")" * 80, 51, "nested", ""),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    text: str, position: int, words: str, remedy: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        judged(text, SIGNALS)[0]
    assert words in caught.value.message
    assert caught.value.position == position
    assert remedy in (caught.value.hint or "")


@given(st.text(alphabet="vxT time()<>=!andort0.5+-*/^,'[] &|~", max_size=30))
def test_any_text_is_a_condition_or_an_error_of_its_own(text: str) -> None:
    with suppress(ExpressionError):
        found = judged(text, SIGNALS)[0]
        assert found.shape == (5,)
        assert found.dtype == np.bool_


@given(
    st.lists(st.floats(-2.0, 2.0) | st.just(NAN), min_size=4, max_size=4),
    st.lists(st.floats(-2.0, 2.0) | st.just(NAN), min_size=4, max_size=4),
)
def test_de_morgan_holds_with_missing_samples(a: list[float], b: list[float]) -> None:
    pair = {"a": np.array(a), "b": np.array(b)}
    signals = Signals(["a", "b"], lambda n: (pair[n], None), 4)
    left = judged("not (a < 0 and b < 0)", signals)[0]
    assert np.array_equal(left, judged("not a < 0 or not b < 0", signals)[0])
    assert np.array_equal(
        judged("a < 0 or b < 0", signals)[0], judged("not (not a < 0 and not b < 0)", signals)[0]
    )
