"""Results of examples and analyses, and errors of bad input, against records made before.

A difference is either a fault or wanted: then the change that causes it says so, and writes the
records anew with ``FMIDENT_GOLDEN=rewrite python -m pytest tests/golden``. Words are not compared.
Bits are compared on the machine of the records only (``records/machine.json``): before a change
that must keep them, write the records anew on your own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fmident
from fmident.cli.main import main
from fmident.errors import FmidentError

from ..study import Study
from .records import check, figures

ROOT = Path(__file__).parents[2]
EMPS = Path(
    os.environ.get("FMIDENT_EMPS_DATA")
    or ROOT.parent / "shared" / "data" / "emps" / "identification.csv"
)
TOLERANCE = 1e-12
"""Largest relative difference between two runs of the same arithmetic."""


@dataclass(frozen=True)
class Example:
    """An estimation of an example, made small.

    Attributes
    ----------
    problem
        Problem file, from the folder of examples.
    settings
        What ``--set`` makes small.
    data
        Words of the example's program that makes its data.
    """

    problem: str
    settings: tuple[str, ...] = ()
    data: tuple[str, ...] = ("generate.py",)


EXAMPLES = (
    Example("across-events/drive.toml"),
    Example("across-events/oven.toml"),
    Example("across-events/tank.toml"),
    Example("delta/problem.toml"),
    Example("friction/coulomb.toml", data=("prepare.py", "--synthetic")),
    Example("friction/stribeck.toml", data=("prepare.py", "--synthetic")),
    Example("lugre/two-step.toml"),
    Example("lugre/stribeck-genetic.toml", ("estimator.generations=5",)),
    Example("lugre/published-one-step.toml", ("estimator.generations=2",)),
    Example("msd-online/problem.toml"),
    Example("msd-online/kalman-bucy.toml"),
    Example("msd-online/extended-kalman.toml"),
    Example("oscillator/problem.toml", data=()),
    Example("positioning-axis/regression.toml", data=("prepare.py", str(EMPS))),
    Example("pt2/problem.toml", ("estimator.generations=3",)),
    Example("slider-crank/problem.toml"),
    Example("slider-crank/cut-joint.toml"),
    Example("tripod/problem.toml", ("stages.0.estimator.generations=2",)),
)

ANALYSES = {
    "check": "check problem.toml --json out.json",
    "profile": "profile problem.toml --result result -o out",
    "bootstrap": "bootstrap problem.toml --result result -n 20 --seed 1 -o out",
    "predict": "predict result --data data.csv --like push -o out",
    "cross-validate": "cross-validate problem.toml --by blocks --folds 3 --gap 0.1 -o out",
    "compare": "compare result result --json out.json",
}

RESULT = {
    "profile": "profiles.json",
    "bootstrap": "bootstrap.json",
    "predict": "prediction.json",
    "cross-validate": "cross-validation.json",
}

BAD_INPUT = {
    "not-toml": ("[model]", "[model"),
    "unknown-table": ("[model]", "[modle]"),
    "unknown-key": ("initial = 2.5", "intial = 2.5"),
    "missing-key": ('data = "data.csv"\n', ""),
    "wrong-type": ("initial = 2.5", 'initial = "2.5"'),
    "not-finite": ("initial = 2.5", "initial = nan"),
    "reversed-bounds": ("[0.5, 10.0]", "[10.0, 0.5]"),
    "start-outside-bounds": ("initial = 2.5", "initial = 25.0"),
    "unknown-parameter": ("[parameters.k]", "[parameters.kk]"),
    "unknown-input": ('F = "force"', 'G = "force"'),
    "unknown-output": ("x = { column", "xx = { column"),
    "unknown-column": ('"position"', '"positon"'),
    "negative-sigma": ("sigma = 2e-5", "sigma = -2e-5"),
    "unknown-unit": ("sigma = 2e-5", 'sigma = 2e-5, unit = "furlong"'),
    "wrong-dimension": ("sigma = 2e-5", 'sigma = 2e-5, unit = "kg"'),
    "unknown-estimator": ('"least-squares"', '"least-square"'),
    "unknown-option": ('"least-squares"', '"least-squares"\nstart = 3'),
    "option-out-of-range": ('"least-squares"', '"least-squares"\nstarts = 0'),
    "missing-data": ('"data.csv"', '"dta.csv"'),
    "missing-fmu": ('"oscillator.fmu"', '"oscilator.fmu"'),
}
"""Text of the problem file, and what stands in its place."""

BAD_DATA = {
    "not-a-number": ("0.02,", "0.02,abc"),
    "times-decrease": ("0.04,", "0.01,"),
    "empty": (None, "time,force,position\n"),
}
"""Begin of a line of the data (None: all of it), and what stands in its place."""


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, build_fmu: Callable[[str], Path]
) -> Callable[[Example], Path]:
    """Return a function to the problem file of an example, with FMU and data beside it."""
    root = tmp_path_factory.mktemp("golden")
    ignored = shutil.ignore_patterns("data", "results*", "*.fmu", "figures")
    shutil.copytree(ROOT / "examples", root / "examples", ignore=ignored)
    (root / "modelica").symlink_to(ROOT / "modelica")
    (root / "fmus").mkdir()
    made = set()

    def place(example: Example) -> Path:
        problem = root / "examples" / example.problem
        for file in problem.parent.glob("*.toml"):
            model = tomllib.loads(file.read_text(encoding="utf-8")).get("model", {})
            if "class" in model and "sources" not in model:
                shutil.copy(build_fmu(model["class"]), root / "fmus" / f"{model['class']}.fmu")
        if example.data and (program := problem.parent / example.data[0]) not in made:
            subprocess.run([sys.executable, program, *example.data[1:]], check=True)
            made.add(program)
        return problem

    return place


def record_of(folder: Path, name: str, code: int) -> dict[str, Any]:
    return {"exit_code": code, **figures(json.loads((folder / name).read_text("utf-8")))}


@pytest.mark.each_time(
    "oscillator/problem.toml",
    "across-events/tank.toml",
    "msd-online/kalman-bucy.toml",
    "pt2/problem.toml",
    "friction/coulomb.toml",
    "lugre/stribeck-genetic.toml",
    "delta/problem.toml",
    "tripod/problem.toml",
    "slider-crank/problem.toml",
)
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.problem)
def test_estimates_of_examples(
    example: Example,
    examples: Callable[[Example], Path],
    tmp_path: Path,
    empty_plots: None,
    tried_once: None,
) -> None:
    if str(EMPS) in example.data and not EMPS.exists():
        pytest.skip(f"{EMPS} is not there: measured data of EMPS, see examples/positioning-axis")
    problem = examples(example)
    settings = [word for setting in example.settings for word in ("--set", setting)]
    code = main(["estimate", str(problem), "-o", str(tmp_path / "out"), "-q", *settings])
    name = "estimate-" + example.problem.removesuffix(".toml").replace("/", "-")
    check(name, record_of(tmp_path / "out", "result.json", code), TOLERANCE)


@pytest.mark.parametrize("name", ANALYSES)
def test_analyses(name: str, study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    if name != "check":
        assert main(["estimate", "problem.toml", "-o", "result", "-q"]) == 0
    code = main(ANALYSES[name].split())
    file = study.folder / ("out/" + RESULT[name] if name in RESULT else "out.json")
    check(name, record_of(file.parent, file.name, code), TOLERANCE)


def test_prior(study: Study) -> None:
    prior = 'prior = { distribution = "normal", mean = 2.2, sd = 0.1 }'
    study.change("bounds = [0.5, 10.0]", f"bounds = [0.5, 10.0]\n{prior}")
    code = main(["estimate", "problem.toml", "-o", "result", "-q"])
    check("prior", record_of(Path("result"), "result.json", code), TOLERANCE)


def test_design(study: Study) -> None:
    text = (ROOT / "examples/msd-online/design.toml").read_text(encoding="utf-8")
    text = re.sub(r'class = "[^"]*"', 'fmu = "oscillator.fmu"', text)
    (study.folder / "design.toml").write_text(text)
    code = main(["design", "design.toml", "-o", "motion.csv"])
    columns = {k: figures(v) for k, v in pd.read_csv("motion.csv").to_dict("list").items()}
    check("design", {"exit_code": code, **columns}, TOLERANCE)


@pytest.mark.parametrize("words", ["--modelica modifier", "--modelica record", "--ssv out"])
def test_exports(words: str, study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "problem.toml", "-o", "result", "-q"]) == 0
    capsys.readouterr()
    assert main(["export", "result", *words.split()]) == 0
    text = Path("out").read_text() if "ssv" in words else capsys.readouterr().out
    numbers = [float(n) for n in re.findall(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?(?![\w.])", text)]
    check("export", {words: numbers}, TOLERANCE, shared=True)


def refusal(study: Study) -> dict[str, Any]:
    """Return exit code of an estimation, and code and place of its error."""
    code = main(["estimate", "problem.toml", "-q"])
    with pytest.raises(FmidentError) as caught:
        fmident.estimate(fmident.load_problem(study.problem))
    place = getattr(caught.value, "location", None)
    where = {} if place is None else {"file": Path(place.file).name, "line": place.line}
    return {"exit_code": code, "code": caught.value.code, **where}


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_bad_input(kind: str, study: Study) -> None:
    study.change(*BAD_INPUT[kind])
    check("bad-input", {kind: refusal(study)}, TOLERANCE, shared=True)


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data(kind: str, study: Study) -> None:
    begin, text = BAD_DATA[kind]
    lines = study.data.read_text().splitlines(keepends=True)
    if begin is None:
        lines = [text]
    else:
        number = next(i for i, line in enumerate(lines) if line.startswith(begin))
        lines[number] = text + lines[number][len(begin) :]
    study.data.write_text("".join(lines))
    check("bad-input", {f"data-{kind}": refusal(study)}, TOLERANCE, shared=True)
