"""``fmident report`` of everything that commands write."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fmident.api.results import stored_sections
from fmident.cli.main import main
from fmident.errors import Diagnostic, EstimationError
from fmident.estimation.comparisons import Validation
from fmident.estimation.result import EstimationResult
from fmident.report.estimate import CsvReporter, HtmlReporter, JsonReporter
from fmident.report.pages import make_page, stored_folder
from fmident.report.profiles import PROFILES
from fmident.report.sections import Section, Text

from .conftest import with_everything
from .test_profiles import profile, reached
from .test_profiles import result as profile_result

MakeResult = Callable[..., EstimationResult]


@pytest.fixture
def folder(make_result: MakeResult, tmp_path: Path) -> Path:
    """Write a result folder with its page."""
    place = tmp_path / "result"
    place.mkdir()
    result = make_result()
    held_out = Validation((replace(result.fits[1], experiment="later"),), None)
    result = with_everything(replace(result, validation=held_out, fmu_path=None))
    problem: Any = SimpleNamespace(source=None, fmu=Path("delta.fmu"))
    for reporter in (JsonReporter(), CsvReporter(), HtmlReporter()):
        reporter.write(result, problem, place)
    return place


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    place = tmp_path / "problem-profiles"
    place.mkdir()
    found = profile_result(profile(reached(1.0), reached(3.5)))
    content = json.dumps(PROFILES.content(found, "1.2.3", "Delta"))
    (place / "profiles.json").write_text(content, encoding="utf-8")
    return place


def without_numbers(page: str) -> str:
    """Return the text of a page: what is read back is rounded to nine digits."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_a_page_made_again_shows_what_the_first_one_did(folder: Path) -> None:
    first = (folder / "report.html").read_text("utf-8")
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    again = (folder / "report.html").read_text("utf-8")
    # The policy names the scripts by their hashes.
    assert without_numbers(again) == without_numbers(first)
    assert len(re.findall("<figure", again)) == len(re.findall("<figure", first))
    assert "<h2>Sensitivities over time</h2>" in again
    assert "<h2>Inputs</h2>" in again


def test_a_page_is_made_again_when_asked_for(folder: Path) -> None:
    page = folder / "report.html"
    page.write_text("old")
    assert main(["report", str(folder)]) == 0
    assert page.read_text() == "old"
    assert main(["report", str(folder / "result.json"), "--again"]) == 0
    assert "<h2>Parameters</h2>" in page.read_text("utf-8")


def test_a_table_that_is_not_whole_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), "--again"]) == 0
    assert "samples of" not in capsys.readouterr().err
    lines = (folder / "fit.csv").read_text().splitlines()
    (folder / "fit.csv").write_text("\n".join(lines[:-2]) + "\n")
    assert main(["report", str(folder), "--again"]) == 0
    assert "samples of 'tau[2]'" in capsys.readouterr().err


def test_a_result_alone_is_shown_without_a_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(folder / "result.json", alone)
    assert main(["report", str(alone)]) == 0
    assert "no plots: there is no" in capsys.readouterr().out
    assert main(["report", str(alone), "--again"]) == 2
    assert "history.csv" in capsys.readouterr().err
    assert not (alone / "report.html").exists()


def test_profiles_are_shown_and_made_again(
    profiles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(profiles)]) == 0
    shown = capsys.readouterr().out
    assert f"plots: {profiles / 'profiles.html'}" in shown
    page = (profiles / "profiles.html").read_text("utf-8")
    assert "<h1>Delta</h1>" in page
    assert "<dd>1.2.3</dd>" in page
    assert "<h2>Profiles</h2>" in page
    assert main(["report", str(profiles / "profiles.json"), "--again"]) == 0


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.parametrize("form", ["svg", "pdf"])
def test_profiles_have_pictures(profiles: Path, form: str) -> None:
    assert main(["report", str(profiles), "--static", "--format", form]) == 0
    (picture,) = (profiles / "figures").iterdir()
    assert picture.suffix == f".{form}"
    assert picture.stat().st_size > 1000


def test_profiles_of_earlier_versions_are_named_by_their_folder(profiles: Path) -> None:
    file = profiles / "profiles.json"
    content = json.loads(file.read_text())
    del content["model"]
    file.write_text(json.dumps(content))
    page = make_page(stored_folder(profiles)).read_text("utf-8")
    assert "<h1>problem-profiles</h1>" in page


@pytest.mark.parametrize(
    ("name", "content", "message", "hint"),
    [
        ("comparison.json", '{"results": []}', "is a comparison by 'fmident compare'", "compare"),
        ("check.json", '{"can_be_estimated": true}', "is a check by 'fmident check'", "check"),
        ("other.json", "[1]", "is not a result of fmident", "fmident profile"),
        ("broken.json", "{", "is not a result of fmident", "fmident profile"),
        ("excitation.csv", "time [s]", "is a table", "fmident data"),
        ("cost.png", "", "is a picture", "open it"),
        ("notes.txt", "", "is not a result of fmident", "fmident estimate"),
    ],
)
def test_what_has_no_page_says_what_shows_it(
    tmp_path: Path, name: str, content: str, message: str, hint: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(EstimationError, match=message) as caught:
        stored_folder(path)
    assert hint in (caught.value.hint or "")


def test_a_file_of_a_result_names_its_folder(folder: Path) -> None:
    with pytest.raises(EstimationError, match="is one file of a result") as caught:
        stored_folder(folder / "fit.csv")
    assert str(folder) in (caught.value.hint or "")


def test_a_folder_of_results_names_them(folder: Path, profiles: Path, tmp_path: Path) -> None:
    with pytest.raises(EstimationError, match="holds no result") as caught:
        stored_folder(tmp_path)
    assert str(folder) in (caught.value.hint or "")
    assert str(profiles) in (caught.value.hint or "")
    with pytest.raises(EstimationError, match="there is no"):
        stored_folder(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EstimationError, match="holds no result") as caught:
        stored_folder(tmp_path / "empty")
    assert "fmident profile" in (caught.value.hint or "")


class _Host:
    """Has one plugin, which shows the number of experiments."""

    def implements(self, hook: str) -> bool:
        return True

    def report_sections(
        self, result: EstimationResult, problem: Any
    ) -> tuple[list[Any], list[Any]]:
        return [Section("Wear", [Text(f"{len(problem.experiments)} experiments")])], []


def test_sections_of_plugins_are_made_again_from_the_problem(
    folder: Path, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def load(path: Path, **_: Any) -> Any:
        read.append(path)
        return SimpleNamespace(experiments=[1, 2])

    monkeypatch.setattr("fmident.api.results.load_problem", load)
    host: Any = _Host()
    sections = stored_sections(make_result(), folder, host)
    page = make_page(stored_folder(folder), sections).read_text("utf-8")
    assert read == [folder / "problem.toml"]
    assert "<h2>Wear</h2>" in page
    assert "2 experiments" in page


def test_sections_of_plugins_are_left_out_with_a_word_where_the_problem_is_gone(
    folder: Path, make_result: MakeResult
) -> None:
    said: list[Diagnostic] = []
    host: Any = _Host()
    assert stored_sections(make_result(), folder, host, said.extend) == []
    (warning,) = said
    assert warning.message.startswith("the sections of plugins are left out: ")
    nobody: Any = SimpleNamespace(implements=lambda hook: False)
    assert stored_sections(make_result(), folder, nobody, said.extend) == []
    assert len(said) == 1
