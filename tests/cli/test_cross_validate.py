"""``fmident cross-validate`` on an FMU of the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fmident.cli import main
from fmident.evaluation.executors.inline import InProcessExecutor

from ..study import NOISE, Study

pytestmark = pytest.mark.slow  # whole runs

Capture = pytest.CaptureFixture[str]
INLINE = ["--set", "evaluation.executor=inline"]


def validated(*more: str, out: str = "out") -> int:
    return main(["cross-validate", "problem.toml", *more, "-o", out, *INLINE])


def content(name: str = "out") -> dict[str, Any]:
    """Return the result without what differs from run to run."""
    found: dict[str, Any] = json.loads(Path(name, "cross-validation.json").read_text())
    del found["wall_time_s"]
    return found


@pytest.mark.draws
def test_blocks_of_a_right_model(study: Study, capsys: Capture) -> None:
    assert validated("--folds", "4", "--gap", "0.1") == 0
    said = capsys.readouterr()
    assert "What was left out is predicted with an NRMSE of" in said.out
    assert "problem: without block 3" in said.err
    assert {p.name for p in Path("out").iterdir()} == {
        "problem.toml", "cross-validation.json", "scores.csv", "parameters.csv", "predictions.csv",
        "scores.png", "parameters.png", "cross-validation.html",
    }  # fmt: skip
    found = content()
    assert (found["status"], found["by"], found["gap_s"]) == ("complete", "blocks", 0.1)
    model = found["models"]["problem"]
    # The model is right: what is left is the noise.
    rms = [f["outputs"][0]["rms"] for f in model["folds"]]
    assert rms == pytest.approx([NOISE] * 4, rel=0.4)
    assert sum(f["samples"] for f in model["folds"]) == 101
    predictions = pd.read_csv("out/predictions.csv")
    assert predictions["time"].to_numpy() == pytest.approx(pd.read_csv("data.csv")["time"])
    table = pd.read_csv("out/parameters.csv", keep_default_na=False)
    assert len(table) == 3 * 5
    page = Path("out/cross-validation.html").read_text()
    assert "Scores fold by fold" in page


def test_models_side_by_side(study: Study, capsys: Capture) -> None:
    text = study.problem.read_text()
    wrong = text.replace("initial = 2.0\nbounds", "initial = 2.0\nfixed = true\nbounds")
    assert wrong != text
    Path("wrong.toml").write_text(wrong)
    assert validated("wrong.toml", "-q", "--folds", "4") == 0
    found = content()
    assert found["verdict"].startswith("'problem' predicts best")
    worse = found["models"]["wrong"]
    assert worse["worse_than_the_best"] > 3.0 * worse["worse_standard_error"]
    assert Path("out/problem-2.toml").exists()
    capsys.readouterr()
    Path("wrong.toml").write_text(wrong.replace("data.csv", "other.csv"))
    other = pd.read_csv("data.csv")
    other["position"] *= 1.001
    other.to_csv("other.csv", index=False)
    assert validated("wrong.toml", "-q") == 2
    assert "'wrong' cannot be compared with 'problem'" in capsys.readouterr().err


def test_experiments(study: Study, measure: Callable[[int], pd.DataFrame]) -> None:
    text = study.problem.read_text()
    table = text[text.index("[[experiments]]") : text.index("[estimator]")]
    measure(151).to_csv("second.csv", index=False)
    second = table.replace("data.csv", "second.csv").replace('"push"', '"second"')
    study.problem.write_text(text + second)
    assert validated("-q") == 0
    found = content()
    assert found["by"] == "experiments"
    folds = found["models"]["problem"]["folds"]
    assert [(f["name"], f["samples"]) for f in folds] == [("push", 101), ("second", 151)]
    # Without one experiment, it is the estimate of the other with --hold-out.
    assert main(["estimate", "problem.toml", "-o", "held", "-q", "--hold-out", "push"]) == 0
    stored = json.loads(Path("held/result.json").read_text())
    values = {n: p["value"] for n, p in stored["parameters"].items()}
    assert folds[0]["parameters"] == pytest.approx(values, rel=1e-9)
    (held,) = stored["validation"]["experiments"]
    assert folds[0]["outputs"][0]["rms"] == pytest.approx(held["outputs"]["x"]["rms"], rel=1e-9)


def test_interrupted_and_resumed(
    study: Study, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count, last = InProcessExecutor.run, 0, -1

    def run(self: InProcessExecutor, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == last:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(InProcessExecutor, "run", run)
    assert validated("-q", "--folds", "3", out="whole") == 0
    count, last = 0, 2 * count // 3  # when the model of all samples is known
    assert validated("-q", "--folds", "3") == 130
    assert "--resume" in capsys.readouterr().err
    assert content()["status"] == "interrupted"
    monkeypatch.setattr(InProcessExecutor, "run", real)
    assert validated("-q", "--folds", "3", "--resume") == 0
    whole, found = content("whole"), content()
    for model in (*whole["models"].values(), *found["models"].values()):
        del model["all_samples"]["wall_time_s"], model["all_samples"]["settings"]
    assert found["models"] == whole["models"]


def test_resumed_only_with_the_same_models_and_folds(
    study: Study, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = study.folder / "other.toml"
    text = study.problem.read_text()
    other.write_text(text.replace("initial = 2.0", "initial = 2.1"))
    real, count = InProcessExecutor.run, 0

    def run(self: InProcessExecutor, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == 10:
            raise KeyboardInterrupt
        return real(self, *arguments)

    words = ["other.toml", "-q", "--folds", "3"]
    with monkeypatch.context() as patch:
        patch.setattr(InProcessExecutor, "run", run)
        assert validated(*words) == 130
    capsys.readouterr()
    for changed, said in (
        (["-q", "--folds", "3"], "models.other is gone"),
        (["other.toml", "-q", "--folds", "4"], "folds.number was 3 and is 4"),
        ([*words, "--gap", "0.1"], "folds.gap was '0.0' and is '0.1'"),
    ):
        assert validated(*changed, "--resume") == 2, changed
        assert said in capsys.readouterr().err
    other.write_text(text.replace("initial = 2.0", "initial = 2.2"))
    assert validated(*words, "--resume") == 2
    assert "models.other.parameters.d.initial was '2.1' and is '2.2'" in capsys.readouterr().err
    other.write_text(text.replace("initial = 2.0", "initial = 2.1"))
    assert validated(*words, "--resume") == 0
    assert content()["status"] == "complete"


def test_refused(study: Study, capsys: Capture) -> None:
    for arguments, message in (
        (["--by", "experiments"], "one experiment cannot be left out"),
        (["--folds", "1"], "1 blocks cannot be made"),
        (["--gap", "-1"], "the gap must be 0 s or longer"),
        (["--gap", "10"], "nothing is left to fit"),
    ):
        assert validated(*arguments) == 2, arguments
        assert message in capsys.readouterr().err
        assert not Path("out").exists()
