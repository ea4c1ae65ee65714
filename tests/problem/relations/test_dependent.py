"""Parameters that follow from others: values, derivatives, units, mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.errors import Code, ProblemError
from fmident.evaluation.python_model import python_problem
from fmident.problem import (
    Expression,
    Parameter,
    Problem,
    measurement_derivatives,
    parameter_derivatives_for,
    parameter_values,
    parameter_values_for,
)
from fmident.problem.dependent import check_dependent

from ...refused import refused


def problem(*parameters: Parameter) -> Problem:
    return python_problem({"y": np.zeros(3)}, np.arange(3.0), parameters)


def follows(name: str, text: str, **more: object) -> Parameter:
    return Parameter(name, 0.0, variable=name, expression=Expression(text), **more)  # type: ignore[arg-type]


def test_values_follow_in_any_order() -> None:
    found = problem(
        follows("c", "a*b"),
        follows("b", "3 kg - a", unit="kg"),
        Parameter("a", 1.0, variable="a", unit="kg"),
        Parameter("held", 4.0, fixed=True),
    )
    assert [q.name for q in found.free] == ["a"]
    values = parameter_values(found, np.array([1.25]))
    assert values == {"c": 1.25 * 1.75, "b": 1.75, "a": 1.25, "held": 4.0}


def test_derivatives_follow_the_chain_rule() -> None:
    found = problem(
        Parameter("a", 2.0, variable="va"),
        Parameter("b", 3.0, variable="vb"),
        Parameter("h", 5.0, variable="vh", fixed=True),
        follows("c", "a*b^2 + h"),
        follows("d", "sqrt(c)"),
    )
    p = np.array([2.0, 3.0])
    rows = parameter_derivatives_for(found, found.experiments[0], p)
    assert list(rows) == list(parameter_values_for(found, found.experiments[0], p))
    np.testing.assert_allclose(rows["va"], [1.0, 0.0])
    np.testing.assert_allclose(rows["vh"], [0.0, 0.0])
    np.testing.assert_allclose(rows["c"], [9.0, 12.0])
    np.testing.assert_allclose(rows["d"], np.array([9.0, 12.0]) / (2.0 * np.sqrt(23.0)))
    assert measurement_derivatives(found, p) == {}


def test_units_are_converted_both_ways() -> None:
    found = problem(
        Parameter("l", 300.0, unit="mm"),
        Parameter("n", 60.0, unit="rpm"),
        follows("v", "l*n", unit="m/s"),
        follows("mm", "l + 1 m", unit="mm"),
        follows("t", "300 K + 0 K", unit="degC"),
    )
    p = np.array([300.0, 60.0])
    values = parameter_values(found, p)
    assert values["v"] == pytest.approx(0.3 * 2.0 * np.pi)
    assert values["mm"] == pytest.approx(1300.0)
    assert values["t"] == pytest.approx(26.85)
    rows = parameter_derivatives_for(found, found.experiments[0], p)
    np.testing.assert_allclose(rows["v"], [1e-3 * 2.0 * np.pi, 0.3 * 2.0 * np.pi / 60.0])
    np.testing.assert_allclose(rows["mm"], [1.0, 0.0])
    check_dependent(found.parameters)


def test_a_local_parameter_sets_its_experiment_only() -> None:
    found = problem(Parameter("a", 2.0, variable="va"), follows("b", "2*a", experiments=("other",)))
    p = np.array([2.0])
    assert list(parameter_derivatives_for(found, found.experiments[0], p)) == ["va"]


MISTAKES = [
    ("unknown name", "3*aa", "there is no parameter 'aa'", 2, Code.UNKNOWN_NAME, "'a'"),
    ("itself", "2*x", "'x' follows from itself", None, None, ""),
    ("dimension of the result", "a*a", "'x' is in 'kg'", 0, Code.UNITS_DIFFER, ""),
    ("dimension of a sum", "a + l", "quantity in m cannot be added to one in kg", 2,
     Code.UNITS_DIFFER, ""),
    ("number without a unit", "3 - a", "the number 3 has no unit", 0, Code.UNITS_DIFFER, "'3 kg'"),
    ("unknown unit", "a + 3 kgg", "no unit 'kgg'", 4, None, "kg"),
    ("unit or parameter", "2 kg/s", "whether 's' in '2 kg/s'", 0, None, "blanks"),
    ("unit in place of a parameter", "2 kg/l", "gives kg/m3", 0, Code.UNITS_DIFFER,
     "'l' in '2 kg/l' is read as a unit"),
    ("argument", "exp(a)", "'exp' needs a number", 0, Code.UNITS_DIFFER, ""),
    ("exponent", "2^a", "an exponent cannot be a quantity in kg", 1, Code.UNITS_DIFFER, ""),
    ("variable exponent", "a^(l/(1 m))", "needs a number for its exponent", 1,
     Code.UNITS_DIFFER, ""),
    ("temperature", "a*(3 degC)", "could be a temperature or a difference", 3, None, "276.15 K"),
    ("not finite", "a*log(0)", "not a finite number", None, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words", "position", "code", "hint"),
    [m[1:] for m in MISTAKES],
    ids=[m[0] for m in MISTAKES],
)
def test_mistakes(text: str, words: str, position: int | None, code: str, hint: str) -> None:
    parameters = [
        Parameter("a", 2.0, unit="kg"),
        Parameter("l", 1.0, unit="m"),
        Parameter("s", 1.0),
        follows("x", text, unit="kg"),
    ]
    with pytest.raises(ProblemError) as caught:
        check_dependent(parameters)
    assert words in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.key == "x"
    assert getattr(caught.value, "position", None) == position
    if code is not None:
        assert caught.value.code == code


def test_a_circle_is_named() -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match="'x' -> 'y' -> 'x'"):
        check_dependent([follows("x", "y + 1"), follows("y", "2*x"), Parameter("a", 1.0)])


def test_a_parameter_without_unit_fits_everything() -> None:
    check_dependent(
        [Parameter("a", 1.0), Parameter("m", 1.0, unit="kg"), follows("x", "a + m", unit="kg")]
    )


def test_a_power_has_its_dimension() -> None:
    a = Parameter("a", 1.0, unit="m2")
    check_dependent([a, follows("x", "a^0.5 + 1 m", unit="m"), follows("y", "a^(3/2)", unit="m3")])
