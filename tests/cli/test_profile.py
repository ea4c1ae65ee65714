"""``fmident profile`` and ``fmident.profile`` on an FMU of the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import signal

import fmident
from fmident.cli import main
from fmident.errors import Code, ProblemError
from fmident.evaluation.executors.inline import InProcessExecutor

from ..refused import refused
from ..study import Study
from . import analyses
from .analyses import analysed

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]
profiled = partial(analysed, "profile")


def content(study: Study, name: str = "out") -> dict[str, Any]:
    return analyses.content(study, "profiles.json", name)


@pytest.mark.draws
def test_from_a_result(study: Study, estimated: Path, capsys: Capture, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()
    assert profiled(study, "--result", str(estimated)) == 0
    said = capsys.readouterr()
    assert "All 3 profiles agree with the linearised intervals." in said.out
    assert max(map(len, said.out.split("\n\nresult:")[0].splitlines())) <= 80
    assert "profiles: 6 of 6 ends found" in said.err
    folder = study.folder / "out"
    names = {p.name for p in folder.iterdir()}
    assert names == {"profiles.json", "profiles.csv", "profiles.html", "problem.toml", "tau.png",
                     "cost.png"}  # fmt: skip
    before = json.loads((estimated / "result.json").read_text())["parameters"]
    found = content(study)
    assert found["status"] == "complete"
    for name, profile in found["profiles"].items():
        np.testing.assert_allclose(
            profile["interval"],
            before[name]["interval_95"],
            atol=0.1 * before[name]["standard_error"],
        )
        assert profile["verdict"] == "agrees"
    points = pd.read_csv(folder / "profiles.csv")
    assert list(points.columns[-3:]) == ["m", "d", "k"]
    assert set(points["profile"]) == {"m", "d", "k"}
    page = (folder / "profiles.html").read_text()
    assert page.count('<figure class="chart"') == 3
    assert 'src="http' not in page
    assert (folder / "tau.png").read_bytes().startswith(b"\x89PNG")
    # The journal of a run that has ended is gone.
    assert not (study.folder / ".out.run").exists()


def test_an_interval_of_the_result_that_does_not_hold_is_reported(
    study: Study, estimated: Path, capsys: Capture
) -> None:
    """As version 0.1 gave it for a fermentation: 14 times too narrow."""
    path = estimated / "result.json"
    found = json.loads(path.read_text())
    found["parameters"]["k"]["standard_error"] /= 14.0
    path.write_text(json.dumps(found))
    capsys.readouterr()
    assert profiled(study, "--result", str(estimated)) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the interval of the result does not hold. Estimate again." in said
    assert "All 3 profiles agree" not in said
    found = content(study)["profiles"]
    assert {name: p["verdict"] for name, p in found.items()} == {
        "m": "agrees",
        "d": "agrees",
        "k": "differs",
    }


def test_without_a_result_the_problem_is_estimated_first(study: Study, capsys: Capture) -> None:
    assert profiled(study, "--parameters", "k", "--level", "68.27%") == 0
    said = capsys.readouterr()
    assert "estimated first" in said.err
    assert "The profile agrees" in said.out
    found = content(study)
    assert list(found["profiles"]) == ["k"]
    k = found["profiles"]["k"]
    half = 0.5 * (k["interval"][1] - k["interval"][0])
    assert half == pytest.approx(k["standard_error"], rel=0.02)


def test_a_second_run_keeps_the_first(study: Study, estimated: Path, capsys: Capture) -> None:
    for _ in range(2):
        assert profiled(study, "--result", str(estimated), "--parameters", "d", "-q") == 0
    assert "the earlier result is kept as" in capsys.readouterr().err
    assert (study.folder / "out.1" / "profiles.json").exists()


@pytest.mark.slow
def test_executors_give_the_same_to_the_last_bit(study: Study, estimated: Path) -> None:
    assert profiled(study, "--result", str(estimated), "-q") == 0
    others = ["--set", "evaluation.executor=processes", "--set", "evaluation.workers=2"]
    words = ["profile", str(study.problem), "-o", str(study.folder / "two"), *others]
    assert main([*words, "--result", str(estimated), "-q"]) == 0
    assert content(study) == content(study, "two")


def test_an_interrupted_run_is_resumed(
    study: Study, estimated: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Differences take enough simulations to be interrupted between the points.
    words = ["--result", str(estimated), "--set", "evaluation.difference=forward"]
    assert profiled(study, *words, "-q", out="whole") == 0
    whole = content(study, "whole")
    real, left = InProcessExecutor._run_one, [whole["simulations"] - 25]

    def pressed(self: Any, *arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(self, *arguments)

    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(InProcessExecutor, "_run_one", pressed)
        assert profiled(study, *words) == 130
    said = capsys.readouterr()
    assert "to resume: fmident profile" in said.err
    assert "--resume" in said.err
    half = content(study)
    assert half["status"] == "interrupted"
    assert sum(len(p["points"]) for p in half["profiles"].values()) > 3
    assert profiled(study, *words, "--resume") == 0
    assert "simulations in the journal" in capsys.readouterr().err
    assert content(study) == whole
    served = json.loads((study.folder / "out" / "profiles.json").read_text())
    assert served["settings"]["evaluation"]["restored"] > whole["simulations"] / 2
    assert not (study.folder / "out.1").exists()


def test_an_interrupt_while_the_result_is_written(
    study: Study, estimated: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--result", str(estimated), "--parameters", "k", "-q"]
    assert profiled(study, *words) == 0
    first = (study.folder / "out" / "profiles.json").read_bytes()

    def pressed(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fmident.report.contents.Contents.render", pressed)
        assert profiled(study, *words) == 130
    assert "to resume: fmident profile" in capsys.readouterr().err
    assert (study.folder / "out" / "profiles.json").read_bytes() == first
    # What stands there is complete, so it is kept.
    assert profiled(study, *words, "--resume") == 0
    assert (study.folder / "out.1" / "profiles.json").read_bytes() == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parameters", "mass"], "no free parameter 'mass'"),
        (["--parameters", "k", "k"], "given twice"),
        (["--level", "95"], "not a probability"),
        (["--result", "nowhere"], "there is no"),
        (["--stage", "first"], "has no stages"),
        (["--resume"], "no unfinished run"),
        (["--set", "cost.name=smoothed-spectrum"], "is not a likelihood"),
    ],
)
def test_what_is_wrong_is_told(
    study: Study, words: list[str], message: str, capsys: Capture
) -> None:
    assert profiled(study, *words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not (study.folder / "out").exists()


def test_a_folder_with_something_else_is_left_alone(study: Study, estimated: Path) -> None:
    words = ["profile", str(study.problem), "--result", str(estimated), "-o", str(estimated)]
    assert main(words) == 2
    assert (estimated / "result.json").exists()


def test_a_result_of_another_problem_is_refused(study: Study) -> None:
    problem = fmident.load_problem(study.problem)
    result = fmident.estimate(problem)
    study.change("[parameters.k]\ninitial = 300.0\nbounds = [50.0, 1000.0]",
                 "[parameters.k]\ninitial = 60.0\nbounds = [50.0, 100.0]")  # fmt: skip
    with refused(Code.INVALID_PROBLEM, ProblemError, match="outside of the bounds"):
        fmident.profile(fmident.load_problem(study.problem), result)


def test_changed_data_are_told_of(study: Study) -> None:
    result = fmident.estimate(fmident.load_problem(study.problem))
    study.change("sigma = 2e-5", "sigma = 3e-5")
    found = fmident.profile(fmident.load_problem(study.problem), result, parameters=["k"])
    assert "result-outdated" in {f.code for f in found.findings}


def test_a_delay_of_the_measurement_has_a_profile(study: Study) -> None:
    study.change("sigma = 2e-5 }", 'sigma = 2e-5, delay = "lag" }')
    study.change(
        "[[experiments]]", '[parameters.lag]\ninitial = 0.001\nunit = "s"\n\n[[experiments]]'
    )
    result = fmident.profile(fmident.load_problem(study.problem), parameters=["lag", "d"])
    lag = next(p for p in result.profiles if p.name == "lag")
    assert lag.verdict.kind == "agrees"
    assert lag.interval[0] < 0.0 < lag.interval[1]


STAGES = """
[[stages]]
name = "rough"
free = ["k"]

[[stages]]
name = "fine"
free = ["m", "d"]
"""


def test_of_stages_one_is_profiled(study: Study) -> None:
    study.problem.write_text(study.problem.read_text() + STAGES)
    problem = fmident.load_problem(study.problem)
    result = fmident.estimate(problem)
    last = fmident.profile(problem, result, pairs=[("m", "d")])
    assert [p.name for p in last.profiles] == ["m", "d"]
    assert any("stage 'fine', with k held" in note for note in last.notes)
    np.testing.assert_allclose(last.values["m"], result.values["m"], rtol=1e-5)
    # The interval is that of the result, which counts that k is uncertain, not that of k known.
    (counts,) = (s.uncertainty for s in result.stages if s.name == "fine")
    for name, found in zip(["m", "d"], last.profiles, strict=True):
        (estimate,) = (e for e in result.estimates if e.name == name)
        ratio = estimate.standard_error / counts.conditional_errors[name]
        assert found.factor == pytest.approx(ratio)
        # Tau at the ends is that of a model that is nearly linear.
        half = found.factor * last.critical_tau * counts.conditional_errors[name]
        assert found.interval[1] - found.interval[0] == pytest.approx(2.0 * half, rel=0.05)
        assert found.verdict.kind == "agrees"
        taus = [abs(q.tau) for q in found.points]
        assert max(taus) == pytest.approx(found.factor * last.critical_tau, rel=2e-3)
    # The region is that of the covariance after stages, in a model that is nearly linear.
    (joint,) = last.regions
    searched = [e.name for e in result.estimates if e.searched]
    both = [searched.index(name) for name in ("m", "d")]
    off = np.array([e.values for e in joint.ends]) - joint.estimate
    inverse = np.linalg.inv(result.covariance[np.ix_(both, both)])
    reach = np.sqrt(np.einsum("ki,ij,kj->k", off, inverse, off))
    np.testing.assert_allclose(reach, joint.critical_tau, rtol=0.06)
    assert joint.factors[0] < 0.7
    # In common data the error of k makes up for a part of that of m.
    assert min(p.factor for p in last.profiles) < 0.7
    assert any("that k is uncertain and the data are those" in note for note in last.notes)
    with refused(Code.UNKNOWN_NAME, ProblemError, match="'coarse'"):
        fmident.profile(problem, result, stage="coarse")
    with refused(
        Code.INVALID_PROBLEM, ProblemError, match="'k' is not free in the stage 'fine'"
    ) as caught:
        fmident.profile(problem, result, parameters=["k"])
    assert "--stage rough" in (caught.value.hint or "")
    first = fmident.profile(problem, result, stage="rough", level=0.6827)
    assert any("Later stages have found m, d" in note for note in first.notes)
    assert "result-outdated" not in {f.code for f in first.findings}


def test_of_stages_noise_that_is_not_white_counts(
    study: Study, measure: Callable[[int], pd.DataFrame]
) -> None:
    """As in the result, whose covariance counts both the noise and what the stage held."""
    table = measure(601)
    slow = signal.lfilter([1.0], [1.0, -0.9], np.random.default_rng(2).standard_normal(len(table)))
    table["position"] += 2e-5 * slow
    table.to_csv(study.data, index=False)
    study.change(", sigma = 2e-5", "")
    first = STAGES.replace('free = ["k"]', 'free = ["m", "d", "k"]')
    study.problem.write_text(study.problem.read_text() + first)
    problem = fmident.load_problem(study.problem)
    result = fmident.estimate(problem)
    assert result.noise is not None
    found = fmident.profile(problem, result, pairs=[("m", "d")])
    intervals = {e.name: e.interval_95 for e in result.estimates}
    for profile in found.profiles:
        assert result.noise.factors[profile.name] > 1.5
        low, high = intervals[profile.name]
        assert profile.verdict.kind == "agrees"
        np.testing.assert_allclose(profile.interval, (low, high), atol=0.05 * (high - low))
    (joint,) = found.regions
    searched = [e.name for e in result.estimates if e.searched]
    both = [searched.index(name) for name in joint.names]
    off = np.array([e.values for e in joint.ends]) - joint.estimate
    inverse = np.linalg.inv(result.covariance[np.ix_(both, both)])
    reach = np.sqrt(np.einsum("ki,ij,kj->k", off, inverse, off))
    np.testing.assert_allclose(reach, reach[0], rtol=0.06)
    assert reach[0] > joint.critical_tau  # fewer degrees of freedom than samples
    assert "interval-poor" not in {f.code for f in found.findings}
    assert not any("does not hold" in note for note in found.notes)
    assert "noise-counted" in {f.code for f in found.findings}


def test_an_estimate_that_has_not_converged_is_told_of(study: Study) -> None:
    problem = fmident.load_problem(study.problem, overrides={"estimator.max_iterations": 1})
    result = fmident.estimate(problem)
    assert result.status == "limit"
    found = fmident.profile(problem, result, parameters=["k"])
    assert "not-converged" in {f.code for f in found.findings}
    assert found.cost < result.cost_final


def test_a_folder_and_a_robust_loss(study: Study) -> None:
    folder = study.folder / "profiles"
    problem = fmident.load_problem(study.problem, overrides={"estimator.loss": "huber"})
    found = fmident.profile(problem, parameters=["k"], folder=folder)
    assert "loss-ignored" in {f.code for f in found.findings}
    assert json.loads((folder / "profiles.json").read_text())["profiles"]["k"]["points"]
    assert not (study.folder / ".profiles.run").exists()
    with pytest.raises(ValueError, match="result folder"):
        fmident.profile(problem, resume=True)
