from __future__ import annotations

import tomllib

import pytest

from fmident.errors import ProblemError
from fmident.overrides import apply_overrides, read_value

TEXT = """\
# comment
[model]
fmu = "a.fmu"

[parameters."arm[1].m"]
initial = 1.0    # kg
bounds = [
  0.0,
  2.0,
]
[parameters.k]
initial = 5

[[experiments]]
data = "x.csv"

[estimator]
name = "least-squares"
[evaluation]
tolerance = 1e-6
"""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("estimator.name", "random-search"),
        ("estimator.samples", 7),
        ("evaluation.tolerance", 1e-9),
        ('parameters."arm[1].m".initial', 1.5),
        ('parameters."arm[1].m".fixed', True),
        ("parameters.k.bounds", [1, 2.5]),
        ("model.start_values.g", -9.81),
        ("new", 'quote " and \\ and ü'),
        ("new.table.key", float("inf")),
    ],
)
def test_sets_one_key_and_leaves_the_rest(key: str, value: object) -> None:
    changed = apply_overrides(TEXT, {key: value}, "p.toml")
    expected = tomllib.loads(TEXT)
    place = expected
    path = key.replace('"arm[1].m"', "ARM").split(".")
    for name in path[:-1]:
        place = place.setdefault(name.replace("ARM", "arm[1].m"), {})
    place[path[-1]] = value
    assert tomllib.loads(changed) == expected
    assert changed.startswith("# comment" if key != "new" else "new = ")


def test_sets_several_keys() -> None:
    changed = apply_overrides(TEXT, {"estimator.a": 1, "estimator.b": 2, "estimator.a2": 3}, "p")
    assert tomllib.loads(changed)["estimator"] == {
        "name": "least-squares", "a": 1, "b": 2, "a2": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "fragment"),
    [
        ("experiments.data", "'experiments' is not a single table"),
        ("a b", "not a key"),
        ("model.fmu.x", "'fmu' is not a single table"),
        ('parameters."arm[1].m".bounds', "in the way the file is written"),
    ],
)
def test_refuses_what_it_cannot_do(key: str, fragment: str) -> None:
    with pytest.raises(ProblemError, match=fragment):
        apply_overrides(TEXT, {key: 1}, "p.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("1e-3", 1e-3), ("true", True), ("ceres", "ceres"), ("[1, 2]", [1, 2]),
        ("'1'", "1"), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_reads_values_as_toml_does(text: str, value: object) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


def test_text_that_is_no_toml_is_left_to_the_reader() -> None:
    assert apply_overrides("[model", {"estimator.a": 1}, "p.toml") == "[model"
