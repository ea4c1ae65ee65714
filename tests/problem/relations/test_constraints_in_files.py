"""``[constraints]`` in the problem file: what is read, and where each mistake is reported."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.errors import FmidentError
from fmident.problem import Constraints, problem_from_file
from fmident.problem.constraints import simplified
from fmident.toml_file.overrides import apply_overrides

from ..conftest import Case

END = 'x = { column = "position", sigma = 0.01 }'
PHI = "\n\n[parameters.phi0]\ninitial = 0.1\nbounds = [-1, 1]"


def table(*lines: str) -> str:
    return f"{END}\n\n[constraints]\n" + "\n".join(lines)


def test_constraints_are_read(case: Case) -> None:
    problem = case.load(END, table('stiff = "k >= 50 [N/(m.kg)]*m"', 'fine = "1 kg <= m <= 3 kg"'))
    assert [(c.name, c.text, c.relation) for c in problem.constraints] == [
        ("stiff", "k >= 50 [N/(m.kg)]*m", ">="),
        ("fine", "1 kg <= m", "<="),
        ("fine", "m <= 3 kg", "<="),
    ]
    found = Constraints.of(problem)
    np.testing.assert_allclose(found.values(np.array([2.0, 150.0])), [50.0, 1.0, 1.0])
    np.testing.assert_allclose(
        found.at(np.array([2.0, 150.0])).jacobian, [[-50.0, 1.0], [1.0, 0.0], [-1.0, 0.0]]
    )
    assert found.affine.all()


def test_the_initial_values_that_keep_none_are_named(case: Case) -> None:
    problem = case.load(END, table('stiff = "k = 100 [N/(m.kg)]*m"'))
    (note,) = [n for n in problem.notes if n.rule == "constraint-violated-at-start"]
    assert "'stiff' (k = 100 [N/(m.kg)]*m)" in note.message
    assert "begins at the nearest values that keep all: " in note.message
    assert note.location is not None
    assert note.location.line == 23


def test_constraints_that_no_values_keep_are_a_warning(case: Case) -> None:
    lines = table('one = "m*k >= 2000 kg.N/m"', 'other = "m*k <= 1500 kg.N/m"')
    found = [n for n in case.load(END, lines).notes if n.rule == "constraint-violated-at-start"]
    assert [n.severity for n in found] == ["warning"]
    assert "no values were found that keep all constraints" in found[0].message


MISTAKES: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("unknown name", ('a = "k >= 10 N/m * mm"',),
     ("problem.toml:23:20", "there is no parameter 'mm'", "'m'")),
    ("a variable that is not declared", ('a = "phi0 >= 0"',),
     ("problem.toml:23:6", "there is no parameter 'phi0'", "[parameters.NAME]")),
    ("dimensions", ('a = "k >= m"',), ("problem.toml:23:11", "kg cannot be compared with", "N/m")),
    ("a number without a unit", ('a = "m <= 3"',),
     ("problem.toml:23:11", "the number 3 has no unit", "'3 kg'")),
    ("strict", ('a = "m < 3 kg"',), ("problem.toml:23:8", "'<='")),
    ("not a comparison", ('a = "m + 3 kg"',), ("problem.toml:23:14", "is not a constraint")),
    ("a unit that begins with a number", ('a = "m/k >= 0.3 1/s"',),
     ("problem.toml:23:17", "unexpected '1'", "brackets, as in '0.3 [1/s]'")),
    ("not text", ("a = 3",), ("problem.toml:23", "must be a text")),
    ("constant and wrong", ('a = "3 kg <= 2 kg"',),
     ("problem.toml:23", "'a' (3 kg <= 2 kg) does not hold", "depends on no searched parameter")),
    ("outside the bounds", ('a = "m >= 11 kg"',),
     ("problem.toml:23", "'a' (m >= 11 kg) cannot hold inside the bounds of 'm'")),
    ("contradiction", ('a = "m >= 4 kg"', 'b = "k >= 1 N/m"', 'c = "m <= 3 kg"'),
     ("problem.toml:25", "'a' (m >= 4 kg) and 'c' (m <= 3 kg) contradict each other")),
    ("contradicting equalities", ('a = "m + 0.01 [kg.m/N]*k = 5 kg"',
                                  'b = "2*m + 0.02 [kg.m/N]*k = 11 kg"'),
     ("problem.toml:24", "'b'", "contradicts 'a'")),
    ("nothing left", ('a = "m = 3 kg"', 'b = "k = 200 [N/m]"'),
     ("problem.toml:24", "2 equality constraints for 2 searched parameters")),
    ("ambiguous unit", ('a = "k >= 10 N/m"', 'b = "k >= 10 kg/m"'),
     ("problem.toml:24:11", "'m' in '10 kg/m' is read as a unit")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "words"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_mistakes(
    error: Callable[..., FmidentError], lines: tuple[str, ...], words: tuple[str, ...]
) -> None:
    said = str(error(END, table(*lines)))
    for word in words:
        assert word in said


def test_what_says_nothing_is_named_and_left_out(case: Case) -> None:
    problem = case.load(
        END,
        table(
            'a = "m + 0.01 [kg.m/N]*k = 5 kg"',
            'b = "2*m + 0.02 [kg.m/N]*k = 10 kg"',
            'c = "1 kg <= 2 kg"',
            'd = "m - m = 0"',
        ),
    )
    assert [c.name for c in problem.constraints] == ["a"]
    notes = [n.message for n in problem.notes if n.rule == "constraint-without-effect"]
    assert "'b' (2*m + 0.02 [kg.m/N]*k = 10 kg) follows from 'a'" in notes[2]
    assert "'c' (1 kg <= 2 kg) holds always" in notes[0]
    assert "'d' (m - m = 0) holds always" in notes[1]


def test_set_on_the_command_line(case: Case) -> None:
    case.load(END, table('a = "m <= 3 kg"'))
    path = case.folder / "problem.toml"
    text = apply_overrides(path.read_text(), {"constraints.a": "m <= 4 kg"}, str(path))
    assert [c.text for c in problem_from_file(path, text=text).constraints] == ["m <= 4 kg"]


def test_a_linear_equality_lets_a_parameter_follow(case: Case) -> None:
    problem = simplified(case.load(END, table('a = "k + 100 [N/(m.kg)]*m = 550 N/m"')))
    assert problem.constraints == ()
    assert [q.name for q in problem.free] == ["m"]
    k = problem.parameters[1]
    assert k.expression is not None
    assert k.expression.text == "k + 100 [N/(m.kg)]*m = 550 N/m"
    assert k.initial == 300.0
    assert (problem.free[0].lower, problem.free[0].upper) == (0.5, 10.0)


def test_its_bounds_narrow_those_of_the_other(case: Case) -> None:
    problem = case.load("initial = 300.0", "initial = 300.0\nbounds = [100, 400]")
    path = case.folder / "problem.toml"
    path.write_text(path.read_text() + '\n[constraints]\na = "k + 100 [N/(m.kg)]*m = 550 N/m"')
    problem = simplified(problem_from_file(path))
    (m,) = problem.free
    assert (m.lower, m.upper) == pytest.approx((1.5, 4.5))


def test_an_inequality_in_one_parameter_is_a_bound(case: Case) -> None:
    problem = simplified(case.load(END, table('a = "2*m <= 8 kg"', 'b = "m >= 0.2 kg"')))
    assert problem.constraints == ()
    assert (problem.free[0].lower, problem.free[0].upper) == (0.5, 4.0)
    said = [n.message for n in problem.notes if n.rule == "constraint-eliminated"]
    assert said == [
        "the constraint 'a' (2*m <= 8 kg) is a bound of 'm'",
        "the bounds keep the constraint 'b' (m >= 0.2 kg) anyway",
    ]


def test_other_constraints_stay(case: Case) -> None:
    problem = simplified(case.load(END, table('a = "k >= 50 [N/(m.kg)]*m"', 'b = "m^2 <= 9 kg2"')))
    assert [c.name for c in problem.constraints] == ["a", "b"]


def test_expressions_with_dependent_parameters(case: Case) -> None:
    old = "[parameters.k]\ninitial = 300.0"
    new = '[parameters.k]\nexpression = "100 [N/(m.kg)]*m"'
    case.load(old, new)
    path = case.folder / "problem.toml"
    path.write_text(path.read_text() + '\n[constraints]\na = "k <= 400 [N/m]"')
    problem = problem_from_file(path)
    found = Constraints.of(problem)
    assert found.affine.all()
    np.testing.assert_allclose(found.at(np.array([2.0])).jacobian, [[-100.0]])
    assert simplified(problem).free[0].upper == 4.0
