"""What all windows of the page share."""

from __future__ import annotations

import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fmident.errors import FmidentError
from fmident_app.workbench import Workbench

from ..fmu.build import Fixture, description, real


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    variables = [
        real("F", 1, "input", start=0.0),
        real("x", 2, "output"),
        real("m", 3, "parameter", variability="fixed", start=2.0),
    ]
    with zipfile.ZipFile(tmp_path / "slide.fmu", "w") as archive:
        text = description(Fixture("", "\n".join(variables)), "slide")
        archive.writestr("modelDescription.xml", text)
    (tmp_path / "run.csv").write_text("time,f,x\n0,0,0\n1,1,0.5\n", encoding="utf-8")
    one = Workbench(tmp_path / "problem.toml")
    yield one
    one.close()


def test_columns_are_assigned_when_both_model_and_data_are_there(bench: Workbench) -> None:
    bench.add_experiment("run.csv")
    assert bench.experiments == [{"data": "run.csv"}]
    bench.take_fmu("slide.fmu")
    assert bench.experiments == [{"data": "run.csv", "inputs": {"F": "f"}, "outputs": {"x": "x"}}]


def test_what_the_user_assigned_stays(bench: Workbench) -> None:
    bench.add_experiment("run.csv")
    bench.change("experiments", 0, "outputs", value={"x": "f"})
    bench.take_fmu("slide.fmu")
    assert bench.experiments[0] == {"data": "run.csv", "outputs": {"x": "f"}}


def test_what_is_missing_is_said_in_the_order_of_the_stages(bench: Workbench) -> None:
    assert bench.missing == "choose a model"
    bench.take_fmu("slide.fmu")
    assert bench.missing == "assign a column of the data to an output"
    bench.add_experiment("run.csv")
    assert bench.missing == "tick a parameter to be identified"
    bench.change("parameters", "m", value={"initial": 1.0})
    assert bench.missing == ""
    bench.change("parameters", "m", "fixed", value=True)
    assert bench.missing == "tick a parameter to be identified"


def test_a_broken_file_changes_nothing(bench: Workbench) -> None:
    (bench.folder / "broken.fmu").write_bytes(b"no archive")
    (bench.folder / "empty.csv").write_bytes(b"")
    with pytest.raises(FmidentError, match=r"broken\.fmu"):
        bench.take_fmu("broken.fmu")
    with pytest.raises(FmidentError, match=r"empty\.csv"):
        bench.add_experiment("empty.csv")
    assert not bench.draft.path.exists()


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/passwd", "a/../../b.csv"])
def test_files_outside_of_the_folder_are_refused(bench: Workbench, name: str) -> None:
    with pytest.raises(FmidentError, match="is outside of"):
        bench.files.inside(name)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("new.csv", "new.csv"),
        ("../../evil.csv", "evil.csv"),
        ("C:\\data\\run two.csv", "run two.csv"),
        (".hidden.csv", "hidden.csv"),
        ("a<b>.csv", "a_b_.csv"),
    ],
)
def test_dropped_files_go_into_the_folder(
    bench: Workbench, tmp_path_factory: pytest.TempPathFactory, name: str, stored: str
) -> None:
    dropped = tmp_path_factory.mktemp("dropped") / "file"
    for move in (False, True):
        dropped.write_bytes(b"1")
        assert bench.files.store(name, dropped, move=move) == stored
        assert (bench.folder / stored).read_bytes() == b"1"


def test_a_dropped_file_never_replaces_another(
    bench: Workbench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dropped = tmp_path_factory.mktemp("dropped") / "a.csv"
    names = []
    for content in (b"1", b"2", b"1", b"33"):
        dropped.write_bytes(content)
        names.append(bench.files.store("a.csv", dropped))
    assert names == ["a.csv", "a-2.csv", "a.csv", "a-3.csv"]
    assert (bench.folder / "a.csv").read_bytes() == b"1"


def test_only_the_last_data_files_stay_in_memory(bench: Workbench) -> None:
    tables = [{"data": f"{k}.csv"} for k in range(8)]
    for table in tables:
        (bench.folder / table["data"]).write_text("time,x\n0,1\n1,2\n", encoding="utf-8")
        bench.table(table)
    assert [bench.is_read(t) for t in tables] == [False, False, *[True] * 6]
    bench.table(tables[0])
    assert bench.is_read(tables[0])


def test_a_run_takes_the_problem_as_it_is_now(bench: Workbench) -> None:
    bench.take_fmu("slide.fmu")
    bench.add_experiment("run.csv")
    bench.change("parameters", "m", value={"initial": 1.0, "bounds": [0.5, 4.0]})
    file = bench.folder / bench.snapshot("run-1")
    bench.change("parameters", "m", "initial", value=3.0)
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    assert content["parameters"]["m"]["initial"] == 1.0
    assert Path(content["experiments"][0]["data"]).is_absolute()


def test_pages_hear_of_each_change(bench: Workbench) -> None:
    heard: list[tuple[str, bool]] = []
    bench.changed.subscribe(lambda origin, structure: heard.append((origin, structure)))
    bench.change("parameters", "m", value={"initial": 1.0}, origin="one", structure=True)
    bench.undo()
    assert heard == [("one", True), ("", True)]
    assert bench.parameters == {}


def test_files_that_can_be_chosen(bench: Workbench) -> None:
    for name in ("data/b.csv", ".hidden/c.csv", "results/run-1/fit.csv", "a/b/c/d/e.csv"):
        path = bench.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    assert bench.files.with_suffix((".csv",)) == ["data/b.csv", "run.csv"]
    assert bench.files.with_suffix((".fmu",)) == ["slide.fmu"]


def test_a_model_and_its_columns_are_one_change(bench: Workbench) -> None:
    bench.add_experiment("run.csv")
    before = bench.draft.text
    bench.take_fmu("slide.fmu")
    assert bench.experiments[0]["outputs"] == {"x": "x"}
    bench.undo()
    assert bench.draft.text == before


def test_pages_hear_what_an_editor_changed(bench: Workbench) -> None:
    bench.take_fmu("slide.fmu")
    heard: list[tuple[str, bool]] = []
    bench.changed.subscribe(lambda origin, structure: heard.append((origin, structure)))
    bench.read_changes()
    assert heard == []
    with bench.draft.path.open("a", encoding="utf-8") as file:
        file.write("[parameters.m]\ninitial = 1.5\n")
    bench.read_changes()
    assert heard == [("", True)]
    assert bench.parameters == {"m": {"initial": 1.5}}
