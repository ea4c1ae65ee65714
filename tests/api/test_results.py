"""A result that is read back is the one that was written."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fmident
from fmident.errors import Code, FmidentError
from fmident.estimation.comparisons import Influence, ResidualCheck, Validation
from fmident.estimation.contract import Generation
from fmident.estimation.result import EstimationResult
from fmident.findings import finding
from fmident.problem.model import Problem
from fmident.report.estimate import CsvReporter, JsonReporter
from fmident.report.profiles import PROFILES

from ..refused import refused
from ..report import conftest
from ..report.test_profiles import NONE, bound, profile, reached
from ..report.test_profiles import result as profile_result

MakeResult = Callable[..., EstimationResult]

make_result, problem = conftest.make_result, conftest.problem


def same(one: Any, other: Any, place: str = "") -> None:
    """Compare to nine digits, dataclass by dataclass; NaN is NaN."""
    if dataclasses.is_dataclass(one):
        assert type(one) is type(other), place
        for field in dataclasses.fields(one):
            name = f"{place}.{field.name}"
            same(getattr(one, field.name), getattr(other, field.name), name)
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other), place
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{place}[{number}]")
    elif isinstance(one, (float, np.ndarray)):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8, err_msg=place)
    else:
        assert one == other, place


def written(result: EstimationResult, problem: Problem, folder: Path) -> Path:
    folder.mkdir()
    for reporter in (JsonReporter(), CsvReporter()):
        reporter.write(result, problem, folder)
    return folder


def test_an_estimation_comes_back(
    make_result: MakeResult,
    problem: Problem,
    tmp_path: Path,
) -> None:
    result = make_result()
    result = dataclasses.replace(
        result,
        # Names that a reader of tables takes for gaps and numbers.
        fits=(
            dataclasses.replace(result.fits[0], experiment="NA", name="1"),
            dataclasses.replace(result.fits[1], experiment="NA", name="nan"),
        ),
        history=tuple(
            dataclasses.replace(i, details={"radius": 1.0 + i.number}, stage="all")
            for i in result.history
        ),
        validation=Validation((dataclasses.replace(result.fits[0], experiment="1e3"),)),
        generations=(
            Generation.of(np.ones((1, 3)), np.array([2.0]), "all"),
            Generation.of(np.full((2, 3), 3.0), np.array([math.inf, 1.5]), "all"),
        ),
    )
    result = conftest.with_everything(result)
    invisible = dataclasses.replace(
        result.sensitivities[0],
        influences=dict(
            zip(
                result.sensitivities[0].parameters,
                map(Influence, (0.0, 0.4, 0.5), (math.inf, math.nan, 0.5)),
                strict=True,
            )
        ),
        stage="all",
    )
    result = dataclasses.replace(result, sensitivities=(invisible, *result.sensitivities[1:]))
    folder = written(result, problem, tmp_path / "result")
    for place in (folder, str(folder), folder / "result.json"):
        found = fmident.load_result(place)
        same(dataclasses.replace(result, fmu_path=None), found)


def test_a_result_without_tables_has_no_samples(
    make_result: MakeResult,
    problem: Problem,
    tmp_path: Path,
) -> None:
    folder = written(make_result(), problem, tmp_path / "result")
    for name in ("fit.csv", "history.csv"):
        (folder / name).unlink()
    found = fmident.load_result(folder)
    assert isinstance(found, EstimationResult)
    assert found.values == make_result().values
    with pytest.raises(FmidentError, match="no samples"):
        found.plot_fit()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("fit.csv", "experiment,output\ncycle,tau[1]\n"),
        ("fit.csv", ""),
        ("history.csv", "iteration,cost,simulations,jacobians,seconds\n0,1,1,1,1\n"),
        ("history.csv", "iteration,cost\n0,much\n"),
        ("history.csv", "\x00\xff"),
    ],
)
def test_a_table_that_somebody_changed_is_named(
    make_result: MakeResult,
    problem: Problem,
    tmp_path: Path,
    name: str,
    content: str,
) -> None:
    folder = written(make_result(), problem, tmp_path / "result")
    (folder / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(FmidentError, match="is not a table of fmident") as caught:
        fmident.load_result(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    "one",
    [
        profile(reached(1.0), reached(3.5)),
        profile(bound(0.0, 1.0, -1), reached(3.0), NONE, log=True),
        dataclasses.replace(
            profile(reached(1.0), reached(3.0)), bounds=(2.0, 9.0), linearised=(math.nan, math.nan)
        ),
    ],
    ids=["closed", "open", "at a bound"],
)
def test_profiles_come_back(tmp_path: Path, one: Any) -> None:
    result = profile_result(
        one, settings={"level": 0.95}, findings=(finding("profile-not-minimal", "a note"),)
    )
    file = tmp_path / "profiles.json"
    file.write_text(json.dumps(PROFILES.content(result, "1")))
    for place in (tmp_path, file):
        same(result, fmident.load_result(place))


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"status": "complete"}'])
def test_a_broken_file_of_profiles_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "profiles.json").write_bytes(content)
    with refused(
        Code.UNUSABLE_FILE, FmidentError, match=r"is not (JSON|a result of 'fmident profile')"
    ):
        fmident.load_result(tmp_path)


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    with refused(
        Code.UNKNOWN_NAME,
        FmidentError,
        match=r"holds no result: none of result\.json, profiles\.json",
    ):
        fmident.load_result(tmp_path)
    with refused(Code.UNKNOWN_NAME, FmidentError, match=r"there is no .*absent"):
        fmident.load_result(tmp_path / "absent")


def test_results_are_compared_in_memory_and_from_folders(
    make_result: MakeResult, problem: Problem, tmp_path: Path
) -> None:
    result = make_result()
    first = result.estimates[0]
    other = dataclasses.replace(
        result,
        estimates=(dataclasses.replace(first, value=96.0), *result.estimates[1:]),
        cost_final=9400.0,
        residuals=ResidualCheck(1.0, 0.0),
    )
    result = dataclasses.replace(result, residuals=ResidualCheck(1.0, 0.0))
    folder = written(result, problem, tmp_path / "linear")
    stored = fmident.compare(folder, other)
    assert repr(stored) == "<Comparison of linear, result 2>"
    figures = fmident.compare(result, other, names=["a", "b"]).figures
    assert list(figures.index) == ["a", "b"]
    assert figures.loc["b", "cost"] == 9400.0
    # The samples are the same ones, whether they were rounded in a file or not.
    np.testing.assert_allclose(
        stored.figures[["aic", "bic"]].to_numpy(), figures[["aic", "bic"]].to_numpy(), rtol=1e-6
    )
    r = np.concatenate([(f.measured - f.fitted)[np.isfinite(f.measured)] for f in result.fits])
    aic = np.sum(np.log(2 * np.pi * 0.2**2) + (r / 0.2) ** 2) + 2 * 3
    assert figures.loc["a", "aic"] == pytest.approx(aic)
    values = stored.parameters["value"]
    assert (values["mass", "linear"], values["mass", "result 2"]) == (first.value, 96.0)
    assert "95.11" in str(stored)
    assert "<td>mass</td>" in stored._repr_html_()
    assert stored.to_dict()["results"][1]["cost"] == 9400.0


@pytest.mark.parametrize("names", [None, ["a", "a"], ["a"]])
def test_one_result_or_one_name_cannot_be_compared(
    make_result: MakeResult, names: list[str] | None
) -> None:
    results = [make_result()] * (1 if names is None else 2)
    with refused(
        Code.ESTIMATION_FAILED, FmidentError, match="give two or more, each with a name of its own"
    ):
        fmident.compare(*results, names=names)
