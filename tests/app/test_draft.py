"""The problem file as the page edits it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fmident.errors import ProblemError
from fmident_app.draft import Draft

TEXT = """\
# what was measured
[model]
fmu = "pump.fmu"  # from the supplier

[[experiments]]
data = "a.csv"
[experiments.outputs]
p = "pressure"
"""


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    path = tmp_path / "problem.toml"
    path.write_text(TEXT, encoding="utf-8")
    return Draft(path)


def on_disk(draft: Draft) -> dict[str, object]:
    return tomllib.loads(draft.path.read_text(encoding="utf-8"))


def test_comments_stay(draft: Draft) -> None:
    draft.change("parameters", "k", value={"initial": 2.0, "bounds": [1.0, 4.0]})
    text = draft.path.read_text(encoding="utf-8")
    assert text.startswith(TEXT)
    assert on_disk(draft)["parameters"] == {"k": {"initial": 2.0, "bounds": [1.0, 4.0]}}


def test_a_value_without_is_removed(draft: Draft) -> None:
    draft.change("experiments", 0, "outputs", "p", value=None)
    assert draft.get("experiments", 0) == {"data": "a.csv", "outputs": {}}
    draft.change("cost", "name", value=None)
    assert "cost" not in on_disk(draft)


def test_a_column_becomes_a_table_with_its_settings(draft: Draft) -> None:
    draft.change("experiments", 0, "outputs", "p", "sigma", value=0.1)
    assert draft.get("experiments", 0, "outputs", "p") == {"column": "pressure", "sigma": 0.1}
    assert on_disk(draft) == draft.content()


def test_experiments_are_added_and_removed(draft: Draft) -> None:
    assert draft.add_experiment({"data": "b.csv", "outputs": {"p": "q"}}) == 1
    draft.remove_experiment(0)
    assert on_disk(draft)["experiments"] == [{"data": "b.csv", "outputs": {"p": "q"}}]
    draft.remove_experiment(0)
    assert "experiments" not in on_disk(draft)


def test_changes_are_taken_back_one_by_one(draft: Draft) -> None:
    draft.change("estimator", "name", value="cma-es")
    draft.change("estimator", "name", value="least-squares")
    draft.undo()
    assert on_disk(draft)["estimator"] == {"name": "cma-es"}
    draft.undo()
    assert draft.path.read_text(encoding="utf-8") == TEXT
    assert not draft.can_undo


def test_the_same_value_is_no_change(draft: Draft) -> None:
    draft.change("model", "fmu", value="pump.fmu")
    assert not draft.can_undo


def test_a_new_file_is_made_by_the_first_change(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "new.toml")
    assert not draft.path.exists()
    draft.change("model", value={"fmu": "a.fmu"})
    draft.add_experiment({"data": "a.csv"})
    assert on_disk(draft) == {"model": {"fmu": "a.fmu"}, "experiments": [{"data": "a.csv"}]}


def test_a_part_of_the_file(draft: Draft) -> None:
    assert draft.part(["model"]).splitlines()[0] == "[model]"
    assert tomllib.loads(draft.part(["experiments"])) == {
        "experiments": on_disk(draft)["experiments"]
    }
    assert draft.part(["cost"]) == ""


def test_no_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text("[model]\nfmu = \n", encoding="utf-8")
    with pytest.raises(ProblemError) as raised:
        Draft(path)
    assert raised.value.location is not None
    assert raised.value.location.line == 2


def test_the_changes_of_one_action_are_taken_back_together(draft: Draft) -> None:
    with draft.one_change():
        draft.change("parameters", "k", value={"initial": 2.0})
        with draft.one_change():
            draft.change("estimator", "name", value="cma-es")
        draft.add_experiment({"data": "b.csv"})
    assert len(draft.get("experiments")) == 2
    draft.undo()
    assert draft.path.read_text(encoding="utf-8") == TEXT
    assert not draft.can_undo


def test_an_action_that_fails_changes_nothing(draft: Draft) -> None:
    def act() -> None:
        with draft.one_change():
            draft.change("estimator", "name", value="cma-es")
            draft.remove_experiment(7)

    with pytest.raises(IndexError):
        act()
    assert draft.text == draft.path.read_text(encoding="utf-8") == TEXT
    assert not draft.can_undo


def test_a_file_that_cannot_be_written_is_no_change(
    draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError):  # noqa: PT011
        draft.change("estimator", "name", value="cma-es")
    assert draft.text == TEXT
    assert not draft.can_undo


def test_what_an_editor_changed_is_taken_over_before_a_change(draft: Draft) -> None:
    edited = TEXT.replace("a.csv", "b.csv")
    draft.path.write_text(edited, encoding="utf-8")
    draft.change("estimator", "name", value="cma-es")
    text = draft.path.read_text(encoding="utf-8")
    assert text.startswith(edited)
    assert on_disk(draft)["estimator"] == {"name": "cma-es"}
    draft.undo()
    assert draft.path.read_text(encoding="utf-8") == edited
    draft.undo()  # that of the editor
    assert draft.path.read_text(encoding="utf-8") == TEXT


def test_undo_takes_no_change_of_an_editor_back_that_is_not_shown(draft: Draft) -> None:
    draft.change("estimator", "name", value="cma-es")
    edited = draft.text.replace("a.csv", "b.csv")
    draft.path.write_text(edited, encoding="utf-8")
    draft.undo()
    assert draft.path.read_text(encoding="utf-8") == draft.text == edited


def test_a_file_that_is_broken_now_is_not_overwritten(draft: Draft) -> None:
    broken = TEXT + "[estimator\n"
    draft.path.write_text(broken, encoding="utf-8")
    for act in (draft.undo, draft.read_changes, lambda: draft.remove_experiment(0)):
        with pytest.raises(ProblemError, match="is not TOML"):
            act()
    assert draft.path.read_text(encoding="utf-8") == broken
    assert draft.text == TEXT
    draft.path.write_text(TEXT + "[estimator]\n", encoding="utf-8")
    assert draft.read_changes()
    assert draft.content()["estimator"] == {}


def test_a_file_that_is_replaced_just_now_is_not_missed(draft: Draft) -> None:
    draft.path.unlink()
    assert not draft.read_changes()
    draft.change("estimator", "name", value="cma-es")
    assert draft.path.read_text(encoding="utf-8").startswith(TEXT)
