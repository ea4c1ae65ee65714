"""``expression`` in the problem file: what is read, and where each mistake is reported."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.errors import Code, FmidentError, ProblemError
from fmident.problem import parameter_values, problem_from_file
from fmident.toml_file.overrides import apply_overrides

from ...refused import refused
from ..conftest import Case

M = "[parameters.m]\ninitial = 2.5\nbounds = [0.5, 10.0]"
FOLLOWS = '[parameters.k]\nexpression = "100 N/m + 2 [N/(m.kg)]*m"'
K = "[parameters.k]\ninitial = 300.0"


def test_a_dependent_parameter_is_read(case: Case) -> None:
    problem = case.load(K, FOLLOWS)
    assert [q.name for q in problem.free] == ["m"]
    k = problem.parameters[1]
    assert (k.unit, k.variable, k.initial) == ("N/m", "k", 105.0)
    assert parameter_values(problem, np.array([3.0]))["k"] == 106.0


def test_a_parameter_may_serve_expressions_only(case: Case) -> None:
    added = '[parameters.ratio]\ninitial = 40\nunit = "N/(m.kg)"\n\n'
    added += '[parameters.k]\nexpression = "ratio*m"'
    problem = case.load(K, added)
    assert [(q.name, q.variable) for q in problem.free] == [("m", "m"), ("ratio", None)]
    assert problem.parameters[2].initial == 100.0


def test_what_sets_nothing_is_only_reported(case: Case) -> None:
    problem = case.load(K, f'{K}\n\n[parameters.omega]\nexpression = "sqrt(k/m)"\nunit = "rad/s"')
    assert not [n for n in problem.notes if n.rule == "only-reported"]
    assert problem.parameters[2].initial == pytest.approx(np.sqrt(300.0 / 2.5))


def test_what_may_be_meant_to_set_something_is_named(case: Case) -> None:
    problem = case.load(K, f'{K}\n\n[parameters.phi_0]\nexpression = "0.1 rad"')
    (note,) = [n for n in problem.notes if n.rule == "only-reported"]
    assert "'phi_0'" in note.message
    assert "'phi0'" in str(note.hint)
    assert note.location is not None
    assert note.location.line == 11


def test_a_dependent_parameter_may_be_a_gain(case: Case) -> None:
    old = 'x = { column = "position", sigma = 0.01 }'
    new = 'x = { column = "position", sigma = 0.01, gain = "g" }'
    case.load(old, new + '\n\n[parameters.g]\nexpression = "m/(2 kg)"')


MISTAKES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("unknown name", K, '[parameters.k]\nexpression = "2 N/m * mm"',
     ("problem.toml:9:23", "there is no parameter 'mm'", "'m'")),
    ("not read", K, '[parameters.k]\nexpression = "2 *"',
     ("problem.toml:9:18", "an operand is missing")),
    ("unit", K, '[parameters.k]\nexpression = "2*m"',
     ("problem.toml:9:15", "'k' is in 'N/m'", "gives kg")),
    ("unknown unit", K, '[parameters.k]\nexpression = "2 N/mx"',
     ("problem.toml:9:15", "no unit 'mx'")),
    ("initial beside it", K, '[parameters.k]\ninitial = 1\nexpression = "100 N/m"',
     ("problem.toml:9", "takes no 'initial'", "remove it")),
    ("bounds beside it", K, '[parameters.k]\nexpression = "100 N/m"\nbounds = [0, 1]',
     ("problem.toml:10", "takes no 'bounds'", "[constraints]")),
    ("circle", K, '[parameters.k]\nexpression = "2*k"',
     ("problem.toml:9", "'k' follows from itself")),
    ("number", K, '[parameters.k]\nexpression = 3', ("problem.toml:9", "must be a text")),
    ("unknown key beside it", K, '[parameters.k]\nexpression = "3 N/m"\nexpresion = 1',
     ("problem.toml:10", "'expresion'", "'expression'")),
    ("constraint as value", K, '[parameters.k]\nexpression = "m >= 1 kg"',
     ("problem.toml:9:17", "makes a constraint of it")),
    ("lmfit's word", K, '[parameters.k]\nexpr = "2*m"',
     ("problem.toml:9", "'expr'", "experiments")),
    ("variable that does not exist", K, '[parameters.k]\nexpression = "3 N/m"\nvariable = "kk"',
     ("problem.toml:10", "'kk'")),
    ("its unit", K, '[parameters.k]\nexpression = "3 N/m"\nunit = "kg"',
     ("problem.toml:8", "in 'kg'", "'N/m'")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "words"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_mistakes(
    error: Callable[..., FmidentError], old: str, new: str, words: tuple[str, ...]
) -> None:
    said = str(error(old, new))
    for word in words:
        assert word in said


def test_an_expression_can_be_set_from_the_command_line(case: Case) -> None:
    case.load()
    text = (case.folder / "problem.toml").read_text()
    changed = apply_overrides(
        text.replace(K, FOLLOWS), {"parameters.k.expression": "3 N/m"}, "problem.toml"
    )
    problem = problem_from_file(case.folder / "problem.toml", text=changed)
    assert problem.parameters[1].initial == 3.0


def test_nothing_is_left_to_search(case: Case) -> None:
    case.load()
    path = case.folder / "problem.toml"
    path.write_text(
        path.read_text().replace(M, '[parameters.m]\nexpression = "2 kg"').replace(K, FOLLOWS)
    )
    with refused(Code.INVALID_PROBLEM, ProblemError, match="no parameter is free"):
        problem_from_file(path)


def test_codes(case: Case) -> None:
    with pytest.raises(ProblemError) as caught:
        case.load(K, '[parameters.k]\nexpression = "2*kk"')
    assert caught.value.code == Code.UNKNOWN_NAME
