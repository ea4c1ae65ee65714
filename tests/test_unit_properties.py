"""Units: what is printed is read again, and conversions lead back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fmident.errors import Code, UnitError
from fmident.units import BASE_SYMBOLS, Unit, compatible, convert, in_si, parse_unit, si_symbols

from .properties import examples
from .refused import refused

SYMBOLS = ["m", "s", "kg", "g", "N", "Nm", "rad", "deg", "rpm", "A", "V", "Ohm", "K", "W", "Hz"]
PREFIXES = ["", "m", "k", "u", "M", "G", "Y", "y"]


@st.composite
def products(draw: st.DrawFn, depth: int = 2) -> str:
    """Return a text that is mostly a unit."""
    parts = []
    for k in range(draw(st.integers(1, 3))):
        symbol = draw(st.sampled_from(PREFIXES)) + draw(st.sampled_from(SYMBOLS))
        if depth and draw(st.booleans()):
            symbol = f"({draw(products(depth - 1))})"
        power = draw(st.sampled_from(["", "2", "-1", "^3", "9"]))
        parts.append((draw(st.sampled_from("./*")) if k else "") + symbol + power)
    return "".join(parts)


def read(text: str) -> Unit:
    """Return the unit; a text that is none is not an example."""
    try:
        return parse_unit(text)
    except UnitError:
        assume(False)
        raise


@given(products())
@examples(50)
def test_base_units_that_are_printed_are_read_again(text: str) -> None:
    unit = read(text)
    again = parse_unit(unit.si)
    assert again.exponents == unit.exponents
    assert again.si == unit.si
    assert in_si(again)


@given(products())
@examples(40)
def test_the_si_unit_of_a_unit_has_its_dimension(text: str) -> None:
    unit = read(text)
    found = parse_unit(si_symbols(unit))
    assert found.exponents == unit.exponents
    assert in_si(found)


@given(st.text("mskgNrad./()^-0123456789 °µ", max_size=14) | products())
@examples(80)
def test_a_text_is_a_unit_or_is_refused(text: str) -> None:
    try:
        unit = parse_unit(text)
    except UnitError:
        return
    assert np.isfinite(unit.factor)
    assert unit.factor > 0.0
    assert len(unit.exponents) == len(BASE_SYMBOLS)


@given(
    st.sampled_from([("rpm", "rad/s"), ("mm", "m"), ("degC", "K"), ("kJ/mol", "J/mol"),
                     ("deg", "rad"), ("bar", "Pa"), ("km/h", "m/s"), ("l/min", "m3/s")]),
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5),
)  # fmt: skip
@examples(25)
def test_conversions_lead_back(pair: tuple[str, str], values: list[float]) -> None:
    a, b = map(parse_unit, pair)
    assert compatible(a, b)
    given_values = np.array(values)
    back = convert(convert(given_values, a, b), b, a)
    # An offset such as that of degC costs the digits below it.
    np.testing.assert_allclose(back, given_values, rtol=1e-13, atol=1e-12 * (1.0 + abs(a.offset)))


@given(products(), products())
@examples(25)
def test_dimensions_multiply_and_divide(one: str, other: str) -> None:
    a, b = read(one), read(other)
    assert (a * b / b).exponents == a.exponents
    assert (a**2).exponents == (a * a).exponents


@pytest.mark.parametrize("text", ["1/((ym9)9)", "(Ym9)9", "((ym9)9)-1"])
def test_a_size_beyond_all_numbers_is_refused_in_parentheses_too(text: str) -> None:
    with refused(Code.UNREADABLE_UNIT, UnitError, match="out of range"):
        parse_unit(text)
