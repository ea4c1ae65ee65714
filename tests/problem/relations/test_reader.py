"""Expressions between parameters: what is read, what is refused, and where."""

from __future__ import annotations

import math

import pytest

from fmident.problem.expressions import (
    Expression,
    ExpressionError,
    Number,
    nodes,
    read_expression,
    read_relation,
    value_of,
)

VALUES = {"a": 2.0, "b": 3.0, "arm.m": 5.0, "q[1]": 7.0, "pi": math.pi, "'my mass'": 11.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3", 7.0),
        ("-a^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("a**b", 8.0),
        ("8/2/2", 2.0),
        ("7 - 2 - 1", 4.0),
        ("(a + b)*2", 10.0),
        ("+a - -b", 5.0),
        ("arm.m * q[1]", 35.0),
        ("'my mass' + 1", 12.0),
        ("sqrt(a*8) + exp(0) + log(1) + abs(-b)", 8.0),
        ("sin(pi/2)", 1.0),
        ("3 g", 0.003),
        ("3 kg + 500 g", 3.5),
        ("2 N.m/rad", 2.0),
        ("90 deg", math.pi / 2),
        ("2 [mm]*3", 0.006),
        ("1e3 mm", 1.0),
        ("1.5e-3", 0.0015),
        ("3 J/(kg.K)", 3.0),
        ("(3 kg)", 3.0),
        ("6 kg / a", 3.0),
        ("6 m/2", 3.0),
        ("2 m^2", 2.0),
        ("36 km/h", 10.0),
        ("(2 m)^2", 4.0),
        ("(3 rad/s)**2*a", 18.0),
    ],
)
def test_an_expression_has_its_value_in_si_units(text: str, expected: float) -> None:
    assert value_of(read_expression(text), VALUES) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "1/0",
        "log(-1)",
        "sqrt(-a)",
        "(-8)^0.5",
        "exp(10000)",
        "log(0)",
        "0^-1",
        "asin(2)",
        "1/(1/0)",
        "tanh(1/(a - a))",
    ],
)
def test_what_is_not_defined_is_not_a_number(text: str) -> None:
    assert math.isnan(value_of(read_expression(text), VALUES))


REFUSED = [
    ("3 +", 3, "missing at its end"),
    ("(a", 2, "')' is missing"),
    ("a)", 1, "unexpected ')'"),
    ("a b", 2, "unexpected 'b'"),
    ("2,5 + a", 1, "unexpected ','"),
    ("a $ b", 2, "unexpected '$'"),
    ("a.__class__()", 0, "no function 'a.__class__'"),
    ("__import__('os')", 0, "no function '__import__'"),
    ("sqr(a)", 0, "no function 'sqr'"),
    ("sqrt(a, b)", 6, "takes one argument"),
    ("a >= b", 2, "makes a constraint of it"),
    ("2 m**2", 3, "belongs to the unit 'm'"),
    ("a + 1e400", 4, "too large"),
    ("lambda: 1", 6, "unexpected ':'"),
    ("", 0, "missing at its end"),
    ("(" * 60 + "a" + ")" * 60, 51, "nested too deeply"),
    ("-" * 100 + "a", 51, "nested too deeply"),
    ("a" + "+a" * 300, 400, "too long"),
    ("a" * 3000, 0, "too long"),
]


@pytest.mark.parametrize(("text", "position", "words"), REFUSED, ids=lambda v: str(v)[:20])
def test_what_cannot_be_read_is_refused_with_its_position(
    text: str, position: int, words: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text)
    assert words in caught.value.message
    assert caught.value.position == position


def test_the_nearest_function_is_named() -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression("sqr(a)")
    assert "'sqrt'" in str(caught.value.hint)


def test_a_relation_has_sides() -> None:
    sides, relations = read_relation("0 N <= Fs - Fc <= 5 N")
    assert relations == ("<=", "<=")
    assert [value_of(s, {"Fs": 3.0, "Fc": 1.0}) for s in sides] == [0.0, 2.0, 5.0]
    assert read_relation("m1 + m2 = 3 kg")[1] == read_relation("m1 + m2 == 3 kg")[1] == ("=",)


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("a + b", 5, "is not a constraint"),
        ("a > b", 2, "excludes the limit"),
        ("a < b", 2, "excludes the limit"),
        ("a != b", 2, "not a constraint"),
        ("a <= b >= 1", 0, "more than an expression with two limits"),
        ("a = b = 1 = 2", 0, "more than an expression with two limits"),
        ("a <=", 4, "missing at its end"),
    ],
)
def test_a_relation_that_makes_no_sense_is_refused(text: str, position: int, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        read_relation(text)
    assert words in caught.value.message
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("3 kg*m1", "kg"),
        ("3 kg * m1", "kg"),
        ("3 N/m", "N/m"),
        ("3 N / m", "N"),
        ("3 kg.m2/s2 + 1", "kg.m2/s2"),
        ("3 W/(m2.K)", "W/(m2.K)"),
        ("3 %", "%"),
        ("3 kg-m1", "kg"),
        ("3 m2", "m2"),
    ],
)
def test_a_unit_ends_where_it_cannot_go_on(text: str, unit: str) -> None:
    numbers = [n for n in nodes(read_expression(text)) if isinstance(n, Number)]
    assert numbers[0].unit == unit
