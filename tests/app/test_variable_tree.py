"""Variables in a tree."""

from __future__ import annotations

from fmident.fmu import Variable
from fmident_app.variable_tree import branches


def test_dots_of_names_are_branches_but_not_those_in_brackets() -> None:
    names = ["k", "arm.m", "arm.joint.d", "a[b.c].e"]
    nodes = branches(Variable(name, n) for n, name in enumerate(names))
    assert [(n["id"], n["label"]) for n in nodes] == [
        ("k", "k"), ("arm.", "arm"), ("a[b.c].", "a[b.c]"),
    ]  # fmt: skip
    arm = nodes[1]["children"]
    assert [(n["id"], n["label"]) for n in arm] == [("arm.m", "m"), ("arm.joint.", "joint")]
    assert [n["id"] for n in arm[1]["children"]] == ["arm.joint.d"]


def test_a_node_says_value_unit_and_limits() -> None:
    variable = Variable("m", 1, unit="kg", start=2.0, minimum=0.5, description="mass")
    assert branches([variable])[0] == {
        "id": "m", "label": "m", "value": "2 kg", "about": "mass in [0.5, ]",
    }  # fmt: skip
