"""``fixed=true`` on what is not a state: an initial equation."""

from __future__ import annotations

import pytest

from fmident.errors import CompilationError

from ..conftest import Compile

OSCILLATOR = """
model M
  parameter Real p = 4;
  Real x({x});
  Real v({v});
  Real y({y});
  Real z({z});
equation
  der(x) = v;
  der(v) = -x;
  y = 2*v + x;
  z = -v;
end M;
"""


def start(compile_text: Compile, **attributes: str) -> dict[str, float]:
    """Return the values at the start; of what is not named the attributes are empty."""
    filled = {name: attributes.get(name, "") for name in "xvyz"}
    compiled = compile_text(OSCILLATOR.format(**filled).replace("()", ""), "M")
    model = compiled.model
    p = [parameter.start for parameter in model.parameters]
    x = model.initial_states(0, [], p, model.calculated_parameters(p))
    names = [state.name for state in model.states]
    states = dict(zip(names, (float(value) for value in x.full().ravel()), strict=True))
    return states | compiled.at(states).locals


def test_it_determines_a_state_that_is_free(compile_text: Compile) -> None:
    """y = 2 v + x = 3 with x = 1 leaves v = 1."""
    found = start(compile_text, x="start=1, fixed=true", y="start=3, fixed=true")
    assert found["y"] == pytest.approx(3.0, abs=1e-14)
    assert found["z"] == pytest.approx(-1.0, abs=1e-14)


def test_it_may_be_an_alias_of_a_state(compile_text: Compile) -> None:
    found = start(compile_text, x="start=1, fixed=true", z="start=p, fixed=true")
    assert (found["x"], found["z"]) == (1.0, 4.0)


def test_what_holds_anyway_is_no_contradiction(compile_text: Compile) -> None:
    """0.1 + 2*0.1 is 0.3 but for the last digit."""
    fixed = "start=0.1, fixed=true"
    found = start(compile_text, x=fixed, v=fixed, y="start=0.3, fixed=true")
    assert (found["x"], found["y"]) == pytest.approx((0.1, 0.3))


@pytest.mark.parametrize("other", ["3.001", "p"])
def test_a_contradiction_is_refused(compile_text: Compile, other: str) -> None:
    fixed = "start=1, fixed=true"
    with pytest.raises(CompilationError) as caught:
        start(compile_text, x=fixed, v=fixed, y=f"start={other}, fixed=true")
    (found,) = caught.value.diagnostics
    assert found.rule == "fixed-algebraic"
    assert "'y'" in found.message
    assert found.location is not None
    assert found.location.line == 6


def test_a_choice_between_states_is_refused(compile_text: Compile) -> None:
    with pytest.raises(CompilationError) as caught:
        start(compile_text, y="start=3, fixed=true")
    (found,) = caught.value.diagnostics
    assert found.rule == "initial-equation"
    assert "'x'" in found.message
