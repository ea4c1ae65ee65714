"""What pictures need of Modelica source: expressions, subscripts, sizes of texts."""

from __future__ import annotations

import pytest
from drawing.classes import Values, evaluate, text_of
from drawing.painter import width_of
from drawing.parser import Parser
from drawing.tree import Call, Expression


def read(text: str) -> Expression:
    parser = Parser(text + ";")
    found = parser.expression()
    assert parser.word == ";"
    return found


@pytest.mark.parametrize(
    "text",
    [
        "5/(2*Modelica.Constants.pi)", "a+b*c", "(a+b)*c", "a-(b-c)", "a-b-c", "a/b/c", "2^3*4",
        "a^(-b)", "-a*b", "-(a+b)", "not a and b", "not (a and b)", "a<b or c", "1:3",
        "plug.pin[(k - 1)*m + j].x[2]",
    ],
)  # fmt: skip
def test_an_expression_is_written_as_it_is_meant(text: str) -> None:
    assert text_of(read(text)) == text


def test_operators_bind_as_in_modelica() -> None:
    assert evaluate(read("1+2*3-8/(2+2)"), Values()) == 5.0


def test_connectors_may_have_subscripts_at_every_level() -> None:
    text = "model M equation connect(plug_p.pin[k + 1], plugs[k].pin[j]); end M;"
    (it,) = Parser(text).stored_definition()[1]
    assert [c.ends for c in it.connections] == [("plug_p.pin[k + 1]", "plugs[k].pin[j]")]


def test_functions_may_be_arguments() -> None:
    found = read("integral(function Laws.f(a=1), 0, 2)")
    assert isinstance(found, Call)
    assert len(found.arguments) == 3


def test_wide_letters_take_more_room() -> None:
    assert width_of("MassSpringDamper") > width_of("illicit filament")
    assert width_of("") == 0.0
