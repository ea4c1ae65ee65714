"""A new analysis says what it computes; journal, lock, resume and result folder are there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import fmident
from fmident.api.problems import loaded
from fmident.api.run import Analysis, JournalledRun, RunContext, perform
from fmident.cli import main
from fmident.cli.commands import COMMANDS
from fmident.cli.usage import Option, analysis
from fmident.errors import Code, Diagnostic, EstimationError
from fmident.evaluation import Evaluator
from fmident.evaluation.executors.inline import InProcessExecutor
from fmident.problem.model import Problem

from ..refused import refused
from ..study import Study

Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Scan(Analysis[list[float]]):
    """The cost at some values of the first parameter: all that a new analysis has to say."""

    marker: ClassVar[str] = "scan.json"

    def run(self, problem: Problem, context: RunContext) -> list[float]:
        with Evaluator(problem, context.executors()(problem)) as evaluator:
            start = np.array([q.initial for q in problem.free])
            return [evaluator.cost(start * [factor, 1.0, 1.0]) for factor in np.linspace(1, 2, 9)]

    def write(
        self, result: list[float], problem: Problem, folder: Path, context: RunContext
    ) -> tuple[()]:
        (folder / self.marker).write_text(json.dumps({"status": "converged", "costs": result}))
        return ()

    def summary(self, result: list[float], width: int) -> str:
        return f"costs: {result}"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``fmident scan``."""
    scan = analysis(
        "after",
        "run:Scan",
        "scan a parameter",
        "  fmident scan problem.toml",
        (Option("problem", "problem file", type=Path),),
        suffix="-scan",
    )
    monkeypatch.setitem(COMMANDS, "scan", scan)
    monkeypatch.setattr(sys.modules["fmident.api.run"], "Scan", Scan, raising=False)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Return what counts simulations, and presses Ctrl-C after some."""
    real = InProcessExecutor._run_one

    def watch(last: int) -> list[int]:
        count = [0]

        def counted(self: Any, *arguments: Any) -> Any:
            if count[0] == last:
                raise KeyboardInterrupt
            count[0] += 1
            return real(self, *arguments)

        monkeypatch.setattr(InProcessExecutor, "_run_one", counted)
        return count

    return watch


@pytest.mark.usefixtures("command")
def test_a_new_kind_of_run_is_interrupted_and_resumed(
    study: Study, simulated: Callable[[int], list[int]], capsys: Capture
) -> None:
    words = ["scan", "problem.toml", "--set", "evaluation.executor=inline"]
    assert simulated(99) == [0]
    assert main([*words, "-o", "whole"]) == 0
    assert "costs: [" in capsys.readouterr().out
    simulated(5)
    assert main([*words, "-o", "out", "--force", "--no-plugin", "openmodelica"]) == 130
    told = capsys.readouterr().err
    assert (
        "to resume: fmident scan problem.toml --set evaluation.executor=inline -o out "
        "--no-plugin openmodelica --resume\n"
    ) in told
    assert (study.folder / ".out.run").exists()
    assert not (study.folder / "out").exists()
    count = simulated(99)
    assert main([*words, "-o", "out", "--resume"]) == 0
    assert "resuming: 5 simulations in the journal" in capsys.readouterr().err
    assert count == [4]
    whole, resumed = (study.folder / name / "scan.json" for name in ("whole", "out"))
    assert resumed.read_bytes() == whole.read_bytes()
    assert (study.folder / "out" / "problem.toml").exists()
    assert [p.name for p in study.folder.iterdir() if p.name.startswith(".")] == []


@pytest.mark.usefixtures("command")
def test_what_is_there_is_kept_or_refused(study: Study, capsys: Capture) -> None:
    for _ in range(2):
        assert main(["scan", "problem.toml", "-o", "out", "-q"]) == 0
    assert "the earlier result is kept as 'out.1'" in capsys.readouterr().err
    (study.folder / "mine").mkdir()
    (study.folder / "mine" / "notes.txt").touch()
    assert main(["scan", "problem.toml", "-o", "mine"]) == 2
    assert main(["scan", "problem.toml", "-o", "new", "--resume"]) == 2
    assert "there is no unfinished run of 'new' to resume" in capsys.readouterr().err


@pytest.fixture
def elsewhere(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fill the disk of the study from the start, and return the folder for temporary files."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    real = shutil.disk_usage

    def usage(path: Path) -> Any:
        free = real(path).free if place in (path, *path.parents) else 1000
        return SimpleNamespace(free=free)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(place))
    return place


@pytest.mark.usefixtures("command")
def test_a_disk_that_is_full_from_the_start_is_told_and_the_run_goes_elsewhere(
    study: Study, elsewhere: Path, simulated: Callable[[int], list[int]], capsys: Capture
) -> None:
    simulated(5)
    assert main(["scan", "problem.toml", "-o", "out", "-q"]) == 130
    (journal,) = elsewhere.glob("*/.out.run")
    told = capsys.readouterr().err
    assert told.startswith("warning: there is no room for the result in 'out'")
    assert f"problem.toml -o out -o {journal.parent / 'out'} --resume" in told
    count = simulated(99)
    assert main(["scan", "problem.toml", "-o", str(journal.parent / "out"), "--resume"]) == 0
    assert count == [4]
    assert main(["scan", "problem.toml", "-o", "out"]) == 2
    found = [p.parent for p in elsewhere.glob("*/out/scan.json")]
    assert len(found) == 2
    assert f"the result is not in 'out': it is in '{found[0].parent.parent}" in (
        capsys.readouterr().err
    )
    assert not list(study.folder.glob("*out*"))


def test_in_python_a_result_that_can_be_written_nowhere_is_returned(
    study: Study, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> tuple[()]:
        raise OSError(28, os.strerror(28))

    said: list[Diagnostic] = []
    monkeypatch.setattr(Scan, "write", full)
    problem = fmident.load_problem(study.problem, overrides={"evaluation.executor": "inline"})
    run = JournalledRun(
        Scan(), study.folder / "out", RunContext(loaded(None, said.extend), said.extend)
    )
    assert len(run.execute(problem)) == 9
    assert said[-1].severity == "error"
    assert "No space left" in said[-1].message


def test_in_python(study: Study, simulated: Callable[[int], list[int]]) -> None:
    problem = fmident.load_problem(study.problem, overrides={"evaluation.executor": "inline"})

    def scan(resume: bool = False) -> list[float]:
        return perform(Scan(), problem, folder=study.folder / "out", resume=resume)

    simulated(3)
    with pytest.raises(KeyboardInterrupt):
        scan()
    count = simulated(99)
    assert len(scan(resume=True)) == 9
    assert count == [6]
    with refused(Code.NOTHING_TO_RESUME, EstimationError):
        scan(resume=True)
