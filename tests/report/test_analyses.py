"""Folders of bootstraps, predictions and cross-validations are read back, and drawn again."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import fmident
from fmident.cli.main import main
from fmident.cross_validation import CrossValidation, Fold, FoldResult, ModelFolds
from fmident.cross_validation.result import OutputScore
from fmident.errors import Code, EstimationError
from fmident.estimation.result import EstimationResult
from fmident.findings import finding
from fmident.prediction import OutputBand, Prediction
from fmident.report.bootstrap import BOOTSTRAP
from fmident.report.contents import Contents
from fmident.report.cross_validation import CROSS_VALIDATION
from fmident.report.prediction import PREDICTION
from fmident.resampling import BootstrapParameter, BootstrapResult
from fmident.resampling.result import FailedReplicate

from ..api.test_results import same
from ..refused import refused
from .test_pages_again import without_numbers

MakeResult = Callable[..., EstimationResult]
Capture = pytest.CaptureFixture[str]
OPEN, UNKNOWN = (-math.inf, math.inf), (math.nan, math.nan)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def band(experiment: str = "push", name: str = "x", unit: str | None = "m") -> OutputBand:
    times = np.linspace(0.0, 2.0, 21)
    predicted = np.sin(3.0 * times)
    measured = predicted + 0.05 * np.cos(40.0 * times)
    measured[3] = np.nan
    mean, noise = 0.02 + 0.0 * times, np.full(times.size, 0.04)
    half = np.hypot(mean, 1.96 * noise)
    return OutputBand(
        experiment, name, unit, times, measured, predicted, predicted - mean, predicted + mean,
        predicted - half, predicted + half, noise,
    )  # fmt: skip


def bootstrap() -> BootstrapResult:
    rng = np.random.default_rng(1)
    values = rng.normal([400.0, 4.0, 2.0], [3.0, 0.2, 1e-3], (60, 3))
    known = BootstrapParameter(
        "k", "N/m", 400.0, (50.0, math.inf), 3.0, 0.1, (394.0, 406.0), (394.2, 406.3), 2.9,
        (394.1, 405.9), 0.01, 3.1, (393.9, 406.1),
    )  # fmt: skip
    beyond = replace(known, name="d", unit=None, value=4.0, bca=(math.nan, 4.4),
                     result_error=math.nan, result_interval=UNKNOWN)  # fmt: skip
    lost = replace(
        known, name="m", value=2.0, bounds=OPEN, standard_error=math.nan, bias=math.nan,
        percentile=OPEN, bca=OPEN, linearised_error=math.nan, linearised=OPEN,
        result_error=math.nan, result_interval=OPEN,
    )  # fmt: skip
    covariance = np.cov(values.T)
    covariance[2] = covariance[:, 2] = np.nan
    return BootstrapResult(
        "complete", "block", "the residuals are correlated", 0.95, 61, 3, (known, beyond, lost),
        covariance, covariance, np.delete(np.arange(61), 7), values,
        np.where(np.arange(60) == 5, np.nan, rng.uniform(1.0, 2.0, 60)),
        (FailedReplicate(7, "it did not converge"),),
        (band(), band("NA", "1", None)), None, {"push: x": 12}, 400, 60, 1.5,
        (finding("other", "a note"),), {"evaluation": {"workers": 1}},
    )  # fmt: skip


def prediction() -> Prediction:
    new = replace(band("new"), measured=np.full(21, np.nan))
    return Prediction(
        "posterior", 0.9, (new, band("later")), (band(),), 100, 2, 300, 2.5,
        (finding("other", "a note"),),
        {"result": "results", "data": []},
    )  # fmt: skip


def cross_validation(full: EstimationResult) -> CrossValidation:
    full = replace(full, history=(), fits=(), inputs=(), fmu_path=None)
    folds = tuple(Fold(f"block {k}", {"push": (k - 1.0, k - 0.05)}) for k in (1, 2, 3))
    times = np.linspace(0.0, 0.9, 10)

    def score(k: int) -> OutputScore:
        measured = np.sin(times + k)
        return OutputScore(
            "push", "x", "m", times + k, measured, measured + 0.1 * k, np.full(10, 0.2), 0.7
        )

    values = {e.name: e.value for e in full.estimates if e.searched}
    errors = dict.fromkeys(values, 0.1)
    done = [
        FoldResult(f, (score(k),), {n: v + 0.1 * k for n, v in values.items()}, errors, "converged")
        for k, f in enumerate(folds[:2], 1)
    ]
    failed = FoldResult(folds[2], (), {}, {}, "failed", "nothing moves")
    models = tuple(ModelFolds(n, full, (*done, failed)) for n in ("linear", "NA"))
    return CrossValidation(
        "complete", "blocks", 0.1, folds, models, 100, 3.0, (finding("other", "a note"),)
    )


Written = tuple[Contents[Any], Any, Path]


@pytest.fixture(scope="module", params=["bootstrap", "prediction", "cross-validation"])
def written_once(
    request: pytest.FixtureRequest,
    make_result: MakeResult,
    tmp_path_factory: pytest.TempPathFactory,
) -> Written:
    kind, result = {
        "bootstrap": lambda: (BOOTSTRAP, bootstrap()),
        "prediction": lambda: (PREDICTION, prediction()),
        "cross-validation": lambda: (CROSS_VALIDATION, cross_validation(make_result())),
    }[request.param]()
    folder = tmp_path_factory.mktemp("written") / request.param
    folder.mkdir()
    problem: Any = SimpleNamespace(source=None, fmu=Path("delta.fmu"))
    kind.write(result, problem, folder)
    return kind, result, folder


@pytest.fixture
def written(written_once: Written, tmp_path: Path) -> Written:
    """Return a copy of a folder."""
    kind, result, folder = written_once
    return kind, result, shutil.copytree(folder, tmp_path / folder.name)


def test_it_comes_back(written: Written) -> None:
    kind, result, folder = written
    for place in (folder, folder / kind.marker):
        found = fmident.load_result(place)
        same(result, found)
        assert str(found) == str(result)
        assert found._repr_html_() == result._repr_html_()
        assert "A note." in found._repr_html_()


def test_it_is_shown_and_made_again_without_a_simulation(written: Written, capsys: Capture) -> None:
    kind, _, folder = written
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    for file in before:
        if file.suffix in (".html", ".png", ".svg"):
            file.unlink()
    assert main(["report", str(folder / kind.marker), "--again"]) == 0
    said = capsys.readouterr().out
    assert f"plots: {folder / kind.page}" in said
    assert "note: A note." in said
    assert {p for p in folder.rglob("*") if p.is_file()} == before.keys()
    page = (folder / kind.page).read_text("utf-8")
    # Data of plots are rounded in tables, as are the coordinates of pictures.
    first = before[folder / kind.page].decode()
    if kind is not CROSS_VALIDATION:
        assert without_numbers(page) == without_numbers(first)
    assert page.count("<section") == first.count("<section")
    assert (folder / kind.marker).read_bytes() == before[folder / kind.marker]


@pytest.mark.each_time("bootstrap-svg", "prediction-svg", "cross-validation-pdf")
@pytest.mark.draws
@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "pdf"])
def test_it_has_pictures_for_papers(written: Written, form: str) -> None:
    kind, _, folder = written
    assert main(["report", str(folder), "--static", "--format", form]) == 0
    count = {BOOTSTRAP: 4, PREDICTION: 3, CROSS_VALIDATION: 2}[kind]
    pictures = sorted((folder / "figures").glob(f"*.{form}"))
    assert len(pictures) == count
    assert all(p.stat().st_size > 1000 for p in pictures)


def test_a_table_that_is_gone_is_named(written: Written, capsys: Capture) -> None:
    kind, _, folder = written
    for table in folder.glob("*.csv"):
        table.unlink()
    assert main(["report", str(folder), "--again"]) == 2
    said = capsys.readouterr().err
    assert "there is no" in said
    assert f"fmident {kind.command}" in said


def test_a_table_that_is_not_whole_is_refused(written: Written, capsys: Capture) -> None:
    _, _, folder = written
    for table in folder.glob("*.csv"):
        lines = table.read_text().splitlines()
        table.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    assert main(["report", str(folder)]) == 2
    assert re.search(r"\.csv' (is not a table of fmident|has)", capsys.readouterr().err)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{}", b'{"status": "complete", "parameters": 3}']
)
def test_a_broken_result_is_refused(written: Written, content: bytes, capsys: Capture) -> None:
    kind, _, folder = written
    (folder / kind.marker).write_bytes(content)
    assert main(["report", str(folder), "--again"]) == 2
    said = capsys.readouterr().err
    assert f"{kind.marker}' is not" in said
    assert "Traceback" not in said


def test_any_value_of_another_type_is_refused_without_a_traceback(written: Written) -> None:
    kind, _, folder = written
    file = folder / kind.marker
    whole = json.loads(file.read_text())
    refused = 0
    for key in whole:
        for other in (None, "x", -1.5, [1], {"a": 1}, []):
            file.write_text(json.dumps({**whole, key: other}))
            try:
                fmident.load_result(folder)
            except EstimationError:
                refused += 1
    assert refused > 2 * len(whole)


def test_a_cross_validation_of_an_earlier_version_says_what_to_do(
    make_result: MakeResult, tmp_path: Path
) -> None:
    content = CROSS_VALIDATION.content(cross_validation(make_result()), "0.2.0")
    for model in content["models"].values():
        del model["all_samples"]
    (tmp_path / "cross-validation.json").write_text(json.dumps(content))
    with refused(
        Code.UNUSABLE_FILE, EstimationError, match=r"wrote it, 0\.2\.0, did not store"
    ) as caught:
        fmident.load_result(tmp_path)
    assert "cross-validate again" in str(caught.value)


def test_replicates_are_drawn() -> None:
    result = bootstrap()
    assert result.plot_replicates().shape == (3,)
    (axes,) = result.plot_replicates("d")
    heights = [p.get_height() * p.get_width() for p in axes.patches]
    assert sum(heights) == pytest.approx(1.0)
    assert axes.get_xlabel() == "d"
    panels = result.plot_corner().reshape(3, 3)
    np.testing.assert_array_equal(
        panels[1, 0].get_lines()[0].get_data(), result.replicates[:, :2].T
    )
    assert panels[2, 0].get_xlabel() == "k (N/m)"
    with pytest.raises(EstimationError, match="has no parameter 'mass'"):
        result.plot_replicates("mass")


def test_bands_are_drawn() -> None:
    result = prediction()
    panels = result.plot_bands()
    assert panels.shape == (3,)
    assert [p.get_title(loc="left") for p in panels] == ["new", "later", "push"]
    (axes,) = result.plot_bands("x", experiment="later")
    line = next(x for x in axes.get_lines() if len(x.get_xdata()) == 21)
    np.testing.assert_array_equal(line.get_ydata(), result.new[1].predicted)
    assert {t.get_text() for t in axes.get_legend().get_texts()} >= {
        "90 % of new samples", "90 % of the mean", "predicted", "measured",
    }  # fmt: skip
    assert bootstrap().plot_bands(experiment="NA").shape == (1,)
    with pytest.raises(EstimationError, match="no experiment 'never'"):
        result.plot_bands(experiment="never")
    with pytest.raises(EstimationError, match="has no bands"):
        replace(result, new=(), fitted=()).plot_bands()


def test_folds_are_drawn(make_result: MakeResult) -> None:
    result = cross_validation(make_result())
    panels = result.plot_scores()
    assert panels.shape == (2,)
    line = panels[0].get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), [0.1 / 0.7, 0.2 / 0.7])
    names = [e.name for e in result.models[0].full.estimates if e.searched]
    assert result.plot_parameters().shape == (len(names),)
    assert [t.get_text() for t in panels[0].get_xticklabels()] == ["block 1", "block 2", "block 3"]
