"""The files of the result folder."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fmident.errors import Code, Diagnostic, EstimationError
from fmident.estimation.result import EstimationResult, StageResult, StageUncertainty
from fmident.findings import finding
from fmident.operating_system import lock_path, unlock
from fmident.plugins import Origin, Registration
from fmident.plugins.host import load_plugins
from fmident.problem.model import Problem
from fmident.report.contract import Reporter
from fmident.report.estimate import ESTIMATE
from fmident.report.folder import check_target, place_folder, remove_left, write_reports
from fmident.report.result_json import as_json, read_result

from ..refused import refused

MakeResult = Callable[..., EstimationResult]

pytestmark = pytest.mark.usefixtures("empty_plots")


def reporters() -> list[Registration[type[Reporter]]]:
    return list(load_plugins(found=[]).reporters)


def write_folder(
    result: EstimationResult,
    problem: Problem,
    folder: Path,
    reporters: Sequence[Registration[type[Reporter]]],
    *,
    replace: bool = False,
) -> tuple[Path | None, list[Diagnostic]]:
    def fill(work: Path) -> list[Diagnostic]:
        return write_reports(result, problem, work, reporters)

    said: list[Diagnostic] = []
    placed = place_folder(folder, problem, fill, said.extend, replace=replace)
    return placed.earlier, [*said, *placed.filled]


class FailingReporter(Reporter):
    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        raise OSError("no ink")


def test_json_has_the_documented_keys(make_result: MakeResult) -> None:
    content = as_json(make_result(), "0.1.0")
    documented = {
        "status", "message", "estimator", "parameters", "cost", "simulations", "jacobians",
        "wall_time_s", "fmident", "fmu", "experiments",
    }  # fmt: skip
    assert documented <= set(content)
    mass = content["parameters"]["mass"]
    assert mass["initial"] == 1.0
    assert mass["value"] == 95.10893
    assert mass["unit"] == "kg"
    assert mass["standard_error"] == 0.10852
    assert mass["interval_95"] == pytest.approx([94.8962308, 95.3216292])
    assert mass["at_bound"] is False
    assert content["cost"] == {
        "initial": 123456.0, "final": 9375.25, "name": "time-domain", "options": {}
    }  # fmt: skip
    assert content["fmu"] == {
        "name": "Mechanisms.FMUs.DeltaInverse",
        "guid": "{1234}",
        "generation_tool": "fmident embedded 0.1.0",
    }
    (experiment,) = content["experiments"]
    assert experiment["name"] == "cycle"
    assert experiment["outputs"]["tau[1]"]["rms"] == 0.2
    assert experiment["outputs"]["tau[1]"]["samples"] == 340


def test_json_writes_what_is_not_finite_as_null(make_result: MakeResult) -> None:
    result = make_result(cost_final=np.inf, correlation=np.full((3, 3), np.nan))
    first = replace(result.estimates[0], standard_error=np.nan, interval_95=(-np.inf, np.inf))
    content = as_json(replace(result, estimates=(first,)), "0.1.0")
    json.dumps(content, allow_nan=False)
    assert content["cost"]["final"] is None
    assert content["parameters"]["mass"]["standard_error"] is None
    assert content["parameters"]["mass"]["interval_95"] == [None, None]
    assert content["correlation"][0] == [None, None, None]


def test_what_the_intervals_of_a_stage_count_is_written_read_and_shown(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    counts = StageUncertainty(("a", "b"), ("c",), ("cycle",), (), {"mass": 0.01}, 3)
    plain = StageResult(
        "static", "least-squares", "time-domain", {}, 2.0, 1.0, "converged", "", {"a": 1.0},
        ("cycle",), 10, 2, 0.1,
    )  # fmt: skip
    stages = (plain, replace(plain, name="dynamic", uncertainty=counts))
    write_folder(make_result(stages=stages), problem, tmp_path / "results", reporters())
    content = json.loads((tmp_path / "results" / "result.json").read_text())
    assert content["stages"][0]["uncertainty"] is None
    assert content["stages"][1]["uncertainty"] == {
        "counted": ["a", "b"],
        "taken_for_known": ["c"],
        "shared_experiments": ["cycle"],
        "taken_for_independent": [],
        "conditional_standard_errors": {"mass": 0.01},
        "simulations": 3,
    }
    read = read_result(tmp_path / "results").result
    assert read.stages[0].uncertainty is None
    assert read.stages[1].uncertainty == counts
    page = (tmp_path / "results" / "report.html").read_text()
    assert "a, b (uncertainty counted); c (taken for exactly known)" in page


def test_json_takes_whatever_an_estimator_puts_into_settings(make_result: MakeResult) -> None:
    settings: dict[str, Any] = {"a": np.float64(1.5), "b": np.int64(2), "c": Path("x"), "d": True}
    content = as_json(make_result(settings=settings), "0.1.0")
    assert json.loads(json.dumps(content["settings"])) == {"a": 1.5, "b": 2, "c": "x", "d": True}


def test_folder_is_complete(make_result: MakeResult, problem: Problem, tmp_path: Path) -> None:
    target = tmp_path / "some" / "results"
    kept, diagnostics = write_folder(make_result(), problem, target, reporters())
    assert (kept, diagnostics) == (None, [])
    assert {p.name for p in target.iterdir()} == {
        "result.json", "parameters.csv", "fit.csv", "history.csv", "report.html", "problem.toml",
    }  # fmt: skip
    assert [p.name for p in target.parent.iterdir()] == ["results"]
    assert (target / "problem.toml").read_text() == problem.file.text
    parameters = pd.read_csv(target / "parameters.csv", index_col="name")
    assert parameters.loc["friction", "value"] == 203.5034
    fit = pd.read_csv(target / "fit.csv")
    assert len(fit) == 800
    assert fit["measured"].isna().sum() == 120
    history = pd.read_csv(target / "history.csv")
    assert history["simulations"].tolist() == [0, 5, 10, 15, 20]
    assert history["p:offset"].tolist() == [0.0, 3.0, 6.0, 9.0, 12.0]


def test_earlier_results_are_kept_under_numbers(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    target = tmp_path / "results"
    for number in range(3):
        kept, _ = write_folder(make_result(simulations=number), problem, target, reporters())
    assert kept == tmp_path / "results.2"
    read = {p.name: json.loads((p / "result.json").read_text()) for p in tmp_path.iterdir()}
    assert {name: content["simulations"] for name, content in read.items()} == {
        "results": 2,
        "results.1": 0,
        "results.2": 1,
    }


def test_replace_leaves_only_the_new_result(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    target = tmp_path / "results"
    write_folder(make_result(), problem, target, reporters())
    kept, _ = write_folder(make_result(simulations=1), problem, target, reporters(), replace=True)
    assert kept is None
    assert [p.name for p in tmp_path.iterdir()] == ["results"]
    assert json.loads((target / "result.json").read_text())["simulations"] == 1


def test_reporter_that_fails_is_reported_and_the_rest_is_written(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    broken = Registration("ink", FailingReporter, "", Origin("stranger"))
    target = tmp_path / "results"
    _, (diagnostic,) = write_folder(make_result(), problem, target, [broken, *reporters()])
    assert "'ink' of plugin 'stranger'" in diagnostic.message
    assert "no ink" in diagnostic.message
    assert (target / "result.json").exists()


def test_a_reporter_with_sections_of_its_own_keeps_its_files(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    """The sections of plugins are given to those that take them, and set on no other."""

    @dataclass(frozen=True)
    class Own(Reporter):
        title: str = "mine"

        def sections(self) -> list[str]:
            return [self.title]

        def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
            (folder / "own.txt").write_text("\n".join(self.sections()), encoding="utf-8")

    own = Registration("own", Own, "", Origin("stranger"))
    target = tmp_path / "results"
    assert write_folder(make_result(), problem, target, [*reporters(), own])[1] == []
    assert (target / "own.txt").read_text(encoding="utf-8") == "mine"


def test_interrupted_writing_leaves_the_earlier_result(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    class Interrupted(Reporter):
        def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
            raise KeyboardInterrupt

    target = tmp_path / "results"
    write_folder(make_result(), problem, target, reporters())
    registration = Registration("x", Interrupted, "", Origin("stranger"))
    with pytest.raises(KeyboardInterrupt):
        write_folder(make_result(simulations=1), problem, target, [registration], replace=True)
    assert [p.name for p in tmp_path.iterdir()] == ["results"]
    assert json.loads((target / "result.json").read_text())["simulations"] == 29


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with refused(Code.UNUSABLE_FILE, EstimationError):
        check_target(tmp_path)
    with refused(Code.UNUSABLE_FILE, EstimationError):
        check_target(tmp_path / "notes.txt")
    with refused(Code.UNUSABLE_FILE, EstimationError):
        check_target(tmp_path / "notes.txt" / "results")
    check_target(tmp_path / "new" / "results")


def test_summary_shows_every_parameter_with_its_uncertainty(make_result: MakeResult) -> None:
    lines = ESTIMATE.text(make_result()).splitlines()
    (mass,) = [line for line in lines if line.startswith("mass")]
    assert mass.split() == ["mass", "95.11", "0.11", "[94.90,", "95.32]", "kg", "1"]
    (gravity,) = [line for line in lines if line.startswith("gravity")]
    assert gravity.split() == ["gravity", "9.81", "m/s2", "1", "fixed"]
    assert any(line.startswith("note: The noise was estimated") for line in lines)
    assert max(map(len, lines)) <= 100


def test_summary_of_a_run_without_fits(make_result: MakeResult) -> None:
    text = ESTIMATE.text(make_result(fits=(), identifiability=None, findings=()))
    assert "experiment" not in text


@pytest.mark.parametrize("width", [70, 80, 100])
def test_the_summary_keeps_within_the_terminal(make_result: MakeResult, width: int) -> None:
    result = make_result(findings=(finding("other", "A note of many words " * 12),))
    first, *rest = result.estimates
    long = replace(first, name="axis.friction.breakaway", interval_95=(-1.0, 96.0))
    stage = StageResult(
        "static", "least-squares", "time-domain", {}, 2.0, 1.0, "converged", "",
        {f"axis.parameter{k}": 1.0 for k in range(6)}, ("cycle",), 1, 1, 0.1,
    )  # fmt: skip
    text = ESTIMATE.text(replace(result, estimates=(long, *rest), stages=(stage,)), width)
    assert max(map(len, text.splitlines())) <= width
    assert all(word in text for word in ("interval", "passes", "bound"))  # wrapped, not lost
    assert all(f"axis.parameter{k}" in text for k in range(6))
    assert ("initial" in text) == (width == 100)


def test_what_killed_runs_left_goes_and_what_is_written_stays(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    left, left_old, living, other = (
        tmp_path / name
        for name in (
            ".results.new-abcdefgh",
            ".results.new-abcdefgh-old",
            ".results.new-12345678",
            ".results.new-mine",
        )
    )
    for folder in (left, left_old, living, other):
        folder.mkdir()
        (folder / "result.json").write_text("{}")
    held = lock_path(living)
    write_folder(make_result(), problem, tmp_path / "results", reporters())
    unlock(held)
    assert set(tmp_path.iterdir()) == {living, other, tmp_path / "results"}
    remove_left(tmp_path / "results")
    assert set(tmp_path.iterdir()) == {other, tmp_path / "results"}


@pytest.mark.parametrize("replace", [False, True])
def test_a_result_that_cannot_be_moved_to_its_place_leaves_the_earlier_one(
    make_result: MakeResult,
    problem: Problem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    replace: bool,
) -> None:
    target = tmp_path / "results"
    write_folder(make_result(), problem, target, reporters())
    rename = Path.rename

    def refuse(path: Path, to: Path) -> Path:
        if ".new-" in path.name and to == target and not path.name.endswith("-old"):
            raise OSError(30, os.strerror(30))
        return rename(path, to)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(elsewhere))
    monkeypatch.setattr(Path, "rename", refuse)
    _, (said,) = write_folder(
        make_result(simulations=1), problem, target, reporters(), replace=replace
    )
    assert {p.name for p in tmp_path.iterdir()} == {"results", "elsewhere"}
    assert json.loads((target / "result.json").read_text())["simulations"] == 29
    (found,) = elsewhere.glob("*/results")
    assert json.loads((found / "result.json").read_text())["simulations"] == 1
    assert said.severity == "error"
    assert str(found) in said.message
