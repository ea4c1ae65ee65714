"""Components that are found in the surroundings."""

from __future__ import annotations

import pytest

from ..conftest import Compile

WORLD = """
model World
  parameter Real g = 3;
  Real s;
equation
  s = g*time;
end World;
model Part
  outer World world;
  output Real y;
equation
  y = 10*world.s;
end Part;
model Own
  inner World world(g = 7);
  Part p;
end Own;
model Group
  Part p;
end Group;
model M
  inner World world(g = 4);
  Part p;
  Own own;
  Group group;
end M;
"""


def test_the_nearest_one_counts(compile_text: Compile) -> None:
    point = compile_text(WORLD).at(t=0.5)
    assert point.values["p.y"] == pytest.approx(20.0)
    assert point.values["group.p.y"] == pytest.approx(20.0)
    assert point.values["own.p.y"] == pytest.approx(35.0)


def test_its_parameters_can_be_set(compile_text: Compile) -> None:
    point = compile_text(WORLD).at(t=0.5, p={"world.g": 8.0})
    assert point.values["group.p.y"] == pytest.approx(40.0)
    assert point.values["own.p.y"] == pytest.approx(35.0)
