from __future__ import annotations

import tomllib
from typing import Any

import pytest

from fmident.api.problems import overridden
from fmident.errors import Code, Location, ProblemError
from fmident.plugins import load_plugins
from fmident.toml_file.overrides import apply_overrides, left_out, read_value, relocate
from fmident.toml_file.text import document

from ..refused import refused

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
        ('parameters."arm[1].m".bounds', [1, 2.5]),
        ("model.start_values.g", -9.81),
        ("new", 'quote " and \\ and ü'),
        ("new.table.key", float("inf")),
        ("cost.squares", {"x": 1.0, "arm[1].m": [1, 2]}),
        ("cost.maxima", {}),
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


SEVERAL = """\
[model]
fmu = "a.fmu"
[[experiments]]
data = "x.csv"
[experiments.inputs]
u = "u"
[[experiments]]
data = "y.csv"
every = 2
[experiments.inputs]
u = "v"
"""


@pytest.mark.parametrize(
    ("key", "number", "path", "value"),
    [
        ("experiments.0.data", 0, ["data"], "z.csv"),
        ("experiments.1.every", 1, ["every"], 3),
        ("experiments.0.window", 0, ["window"], [0, 1.5]),
        ("experiments.1.inputs.u", 1, ["inputs", "u"], "w"),
        ("experiments.0.start_values.x", 0, ["start_values", "x"], 1.0),
        ("experiments.1.start_values.x", 1, ["start_values", "x"], 1.0),
    ],
)
def test_sets_a_key_of_one_experiment(
    key: str, number: int, path: list[str], value: object
) -> None:
    expected = tomllib.loads(SEVERAL)
    place = expected["experiments"][number]
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    assert tomllib.loads(apply_overrides(SEVERAL, {key: value}, "p.toml")) == expected


def test_counts_the_experiments() -> None:
    for key in ("experiments.2.data", "experiments.data", "experiments.0"):
        with pytest.raises(ProblemError, match="there are 2 of them; count from 0") as caught:
            apply_overrides(SEVERAL, {key: 1}, "p.toml")
        assert str(caught.value).startswith(f"--set {key}: ")


@pytest.mark.parametrize(
    ("needle", "place"),
    [
        ("tolerence", "--set evaluation.tolerence: "),
        ("name =", "p.toml:18: "),
        ("initial = 7", '--set parameters."arm[1].m".initial: '),
        ("[parameters.k]", "p.toml:11: "),
        ("added = 1", "--set model.added: "),
        ("[brand]", "--set brand.new: "),
    ],
)
def test_errors_point_to_the_file_or_to_the_override(needle: str, place: str) -> None:
    overrides = {
        "evaluation.tolerence": 1e-3,
        "model.added": 1,
        'parameters."arm[1].m".initial': 7,
        "brand.new": 1,
    }
    changed = apply_overrides(TEXT, overrides, "p.toml")
    (line,) = [i for i, t in enumerate(changed.splitlines(), 1) if t.startswith(needle)]
    error = ProblemError("wrong", location=Location("p.toml", line))
    relocate(error, TEXT, changed, overrides, "p.toml")
    assert str(error) == f"{place}wrong"


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
    ],
)
def test_refuses_what_it_cannot_do(key: str, fragment: str) -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match=fragment):
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


INLINE = """\
[parameters]
P = { initial = 2000, bounds = [100.0, 1e4] }  # W } {
k = 3
"a[1].m" = { initial = 1.0, unit = "k}g" }
[[experiments]]
data = "x.csv"
inputs = { u = "u", v = { column = "v" } }
outputs = { T = { column = "T", sigma = 0.05 } }
[estimator]
options.inner = { deep = { a = 1, b = 2 } }
"""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parameters.P.fixed", True),
        ("parameters.P.initial", 1500.5),
        ('parameters."a[1].m".fixed', True),
        ("experiments.0.outputs.T.sigma", 0.1),
        ("experiments.0.outputs.T2", "column"),
        ("experiments.0.inputs.v.unit", "mV"),
        ("estimator.options.inner.deep.b", [1, 2]),
        ("estimator.options.inner.other.c", "x"),
    ],
)
def test_sets_keys_in_inline_tables(key: str, value: object) -> None:
    changed = apply_overrides(INLINE, {key: value}, "p.toml")
    expected = tomllib.loads(INLINE)
    place: Any = expected
    path = key.replace('"a[1].m"', "ARM").split(".")
    for name in path[:-1]:
        known = name.replace("ARM", "a[1].m")
        place = place[int(known)] if isinstance(place, list) else place.setdefault(known, {})
    place[path[-1]] = value
    assert tomllib.loads(changed) == expected
    assert len(changed.splitlines()) == len(INLINE.splitlines())
    assert "# W } {" in changed


def test_inline_tables_in_an_inline_array() -> None:
    text = 'experiments = [ { data = "a.csv" }, { data = "b.csv" } ]\n'
    changed = apply_overrides(text, {"experiments.1.window": [0, 1]}, "p.toml")
    found = tomllib.loads(changed)["experiments"]
    assert found == [{"data": "a.csv"}, {"data": "b.csv", "window": [0, 1]}]


CHOICES = """\
cost = { name = "smoothed-spectrum", smoothing = 4 }
[estimator]
name = "algebraic"  # with options
window = 1
rows = [
  3,
]
[estimator.known]
b0 = 1.0
[[stages]]
name = "first"
[stages.estimator]
starts = 10  # of least-squares, which is the default
[evaluation]
window = 2
"""


@pytest.mark.parametrize(
    ("overrides", "changed", "noted"),
    [
        ({"estimator.name": "b"}, {"estimator": {"name": "b"}}, "known, rows, window"),
        (
            {"estimator.window": 5, "estimator.name": "b"},
            {"estimator": {"name": "b", "window": 5}},
            "known, rows",
        ),
        ({"cost.name": "time-domain"}, {"cost": {"name": "time-domain"}}, "smoothing"),
        (
            {"stages.0.estimator.name": "cma-es"},
            {"stages": [{"name": "first", "estimator": {"name": "cma-es"}}]},
            "starts",
        ),
        ({"estimator.name": "algebraic"}, {}, ""),
        ({"stages.0.estimator.name": "least-squares"}, None, ""),
    ],
)
def test_another_estimator_or_cost_does_not_take_the_options_of_the_one_before(
    overrides: dict[str, object], changed: dict[str, object] | None, noted: str
) -> None:
    text = apply_overrides(CHOICES, overrides, "p.toml")
    expected = tomllib.loads(CHOICES) | (changed or {})
    if changed is None:
        expected["stages"][0]["estimator"]["name"] = "least-squares"
    assert tomllib.loads(text) == expected
    assert [n.message.partition(": ")[2] for n in left_out(CHOICES, text, overrides)] == (
        [noted] if noted else []
    )


@pytest.mark.parametrize(
    "written",
    [
        CHOICES,
        'estimator = { name = "algebraic", window = 1, rows = [3], known = { b0 = 1.0 } }\n',
    ],
    ids=["table", "inline"],
)
def test_options_that_two_estimators_share_stay(written: str) -> None:
    overrides = {"estimator.name": "kalman-bucy"}
    text = apply_overrides(written, overrides, "p.toml", lambda *_: ("order", "known"))
    assert tomllib.loads(text)["estimator"] == {"name": "kalman-bucy", "known": {"b0": 1.0}}
    (note,) = left_out(written, text, overrides)
    assert note.message == "options of 'algebraic' in the file do not count: rows, window"


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("algebraic", "kalman-bucy", {"order", "map"}),
        ("binary-genetic", "special-genetic", set()),  # generations are not the same in both
        ("least-squares", "no-such", set()),
    ],
)
def test_estimators_share_what_both_have_from_one_class(
    before: str, after: str, kept: set[str]
) -> None:
    options = {"order": 2, "map": {"k": "a0"}, "window": 0.4, "generations": 9, "starts": 3}
    text = document({"estimator": {"name": before, **options}})
    changed = overridden(text, {"estimator.name": after}, "p.toml", load_plugins())
    assert tomllib.loads(changed)["estimator"].keys() == {"name", *kept}
