"""Units: what is read, what it means in SI, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fmident.errors import Code, UnitError
from fmident.units import BASE_SYMBOLS, compatible, convert, in_si, parse_unit, si_symbols

from .refused import refused


def exponents(text: str) -> dict[str, int]:
    unit = parse_unit(text)
    return {s: int(e) for s, e in zip(BASE_SYMBOLS, unit.exponents, strict=True) if e}


@pytest.mark.parametrize(
    ("text", "powers", "factor"),
    [
        ("1", {}, 1.0),
        ("m", {"m": 1}, 1.0),
        ("kg", {"kg": 1}, 1.0),
        ("g", {"kg": 1}, 1e-3),
        ("mm", {"m": 1}, 1e-3),
        ("ms", {"s": 1}, 1e-3),
        ("m.s", {"m": 1, "s": 1}, 1.0),
        ("min", {"s": 1}, 60.0),
        ("dam", {"m": 1}, 10.0),
        ("um", {"m": 1}, 1e-6),
        ("m/s2", {"m": 1, "s": -2}, 1.0),
        ("m.s-2", {"m": 1, "s": -2}, 1.0),
        ("kg.m2", {"kg": 1, "m": 2}, 1.0),
        ("N.m", {"kg": 1, "m": 2, "s": -2}, 1.0),
        ("kN", {"kg": 1, "m": 1, "s": -2}, 1e3),
        ("N.m.s/rad", {"kg": 1, "m": 2, "s": -1, "rad": -1}, 1.0),
        ("kg.m2/(rad.s)", {"kg": 1, "m": 2, "rad": -1, "s": -1}, 1.0),
        ("J/(kg.K)", {"m": 2, "s": -2, "K": -1}, 1.0),
        ("1/s", {"s": -1}, 1.0),
        ("Hz", {"s": -1}, 1.0),
        ("V.s/m", {"kg": 1, "m": 1, "s": -2, "A": -1}, 1.0),
        ("Ohm", {"kg": 1, "m": 2, "s": -3, "A": -2}, 1.0),
        ("deg", {"rad": 1}, math.pi / 180.0),
        ("rev/min", {"rad": 1, "s": -1}, 2.0 * math.pi / 60.0),
        ("rpm", {"rad": 1, "s": -1}, 2.0 * math.pi / 60.0),
        ("km/h", {"m": 1, "s": -1}, 1.0 / 3.6),
        ("bar", {"kg": 1, "m": -1, "s": -2}, 1e5),
        ("%", {}, 1e-2),
        # What people write in headers.
        ("m/s^2", {"m": 1, "s": -2}, 1.0),
        ("N*m", {"kg": 1, "m": 2, "s": -2}, 1.0),
        ("m/s²", {"m": 1, "s": -2}, 1.0),
        ("°", {"rad": 1}, math.pi / 180.0),
        ("µm", {"m": 1}, 1e-6),
    ],
)
def test_meaning(text: str, powers: dict[str, int], factor: float) -> None:
    assert exponents(text) == powers
    assert parse_unit(text).factor == pytest.approx(factor, rel=1e-15)
    assert parse_unit(text).text == text


def test_a_bare_prefix_is_not_taken_for_a_unit() -> None:
    # 'm' is the metre, 'min' the minute, 'T' the tesla; none of them a prefix.
    assert exponents("T") == {"kg": 1, "s": -2, "A": -1}
    with pytest.raises(UnitError):
        parse_unit("k")


@pytest.mark.parametrize(
    ("values", "source", "target", "expected"),
    [
        (180.0, "deg", "rad", math.pi),
        (60.0, "rev/min", "rad/s", 2.0 * math.pi),
        (36.0, "km/h", "m/s", 10.0),
        (20.0, "degC", "K", 293.15),
        (293.15, "K", "degC", 20.0),
        (1.5, "kN", "N", 1500.0),
        (2.0, "N.m", "kg.m2/s2", 2.0),
        (50.0, "%", "1", 0.5),
        (3.0, "N.m/rad", "N.m", 3.0),
        (250.0, "mm/s2", "m/s2", 0.25),
        (1.0, "h", "min", 60.0),
    ],
)
def test_conversion(values: float, source: str, target: str, expected: float) -> None:
    found = convert(np.array([values, np.nan]), parse_unit(source), parse_unit(target))
    assert found[0] == pytest.approx(expected, rel=1e-14)
    assert np.isnan(found[1])


def test_equal_units_change_no_bit() -> None:
    values = np.array([0.1, 1.0 / 3.0, 1e-300])
    found = convert(values, parse_unit("N.m"), parse_unit("J"))
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("a", "b", "fit"),
    [
        ("rad/s", "1/s", True),
        ("deg", "1", True),
        ("N.m", "J", True),
        ("N.m", "N", False),
        ("m/s", "m/s2", False),
        ("kg", "1", False),
        ("degC", "K", True),
    ],
)
def test_compatibility(a: str, b: str, fit: bool) -> None:
    assert compatible(parse_unit(a), parse_unit(b)) is fit
    assert compatible(parse_unit(b), parse_unit(a)) is fit


def test_no_conversion_between_dimensions() -> None:
    with refused(Code.UNITS_DIFFER, UnitError, match=r"'N' \(kg.m/s2\) .* 'm' \(m\)"):
        convert(np.ones(2), parse_unit("N"), parse_unit("m"))


def test_arithmetic() -> None:
    force, length, second = parse_unit("kN"), parse_unit("mm"), parse_unit("s")
    power = force * length / second
    assert compatible(power, parse_unit("W"))
    assert power.factor == pytest.approx(1.0)
    assert compatible((length**2) * force, parse_unit("N.m2"))
    root = parse_unit("m2") ** Fraction(1, 2)
    assert root.exponents == parse_unit("m").exponents
    assert (parse_unit("rad") / second).exponents == parse_unit("rad/s").exponents
    assert not (parse_unit("rad") / second).dimensionless
    assert parse_unit("N.m.s/rad").si == "kg.m2/(s.rad)"


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("Nm", ("'Nm'", "N.m")),
        ("newton", ("newton",)),
        ("m/", ("at the end",)),
        ("m//s", ("'/'", "position 3")),
        ("kg.(m.s", ("')'", "at the end")),
        ("m)", ("')'", "position 2")),
        ("m^", ("exponent", "at the end")),
        ("m$s", ("'$'", "position 2")),
        ("2.m", ("'2'", "position 1")),
        ("m99", ("exponent 99", "position 2")),
        ("m1234567890", ("exponent 1234567890",)),
        ("Ym12.Ym12", ("out of range",)),
        ("degc", ("'degc'", "'degC'")),
        ("milimeter", ("'milimeter'", "did you mean 'mm'?")),
        ("Newtons", ("did you mean 'N'?",)),
        ("N.degrees", ("did you mean 'deg'?",)),
        ("furlong", ("as in Modelica",)),
    ],
)
def test_refused(text: str, fragments: tuple[str, ...]) -> None:
    with pytest.raises(UnitError) as caught:
        parse_unit(text)
    for fragment in (f"'{text}'", *fragments):
        assert fragment in str(caught.value)


def test_a_text_too_long_for_a_unit() -> None:
    with refused(Code.UNREADABLE_UNIT, UnitError, match="4000 characters"):
        parse_unit("(" * 4000)


@pytest.mark.parametrize(
    ("text", "si"),
    [
        ("rpm", "rad/s"), ("kJ/mol", "J/mol"), ("mm2", "m2"), ("deg/s", "rad/s"), ("min", "s"),
        ("l/min", "m3/s"), ("g/(cm3)", "kg/(m3)"), ("bar", "Pa"), ("%", "1"), ("mT", "T"),
        ("degC", "K"), ("1/h", "1/s"), ("l2", "m6"), ("N.mm/deg", "N.m/rad"),
    ],
)  # fmt: skip
def test_the_si_unit_that_a_unit_is_converted_to(text: str, si: str) -> None:
    unit = parse_unit(text)
    assert not in_si(unit)
    assert si_symbols(unit) == si
    assert in_si(parse_unit(si))
    assert parse_unit(si).dimension == unit.dimension


@pytest.mark.parametrize("text", ["kg", "N.m/rad", "1", "V", "rad/s", "kN", "g/s"])
def test_si_units(text: str) -> None:
    assert in_si(parse_unit(text)) == (text not in ("kN", "g/s"))
