"""``fmident estimate --resume``.

More than 500 lines: all of it interrupts the same command through the one script below.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main
from fmident.errors import Code, EstimationError
from fmident.estimation import Estimate
from fmident.evaluation.journal.journal import SIMULATIONS, Writer
from fmident_estimators.least_squares.estimator import LeastSquares

from ..study import Study

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]

SLOWED = """\
import os, sys, time
from fmident.evaluation.executors import inline
from fmident.evaluation.executors.processes import executor as processes
from fmident.evaluation.journal.journal import Writer
from fmident.fmu.processes import guard

# The test's own process has tried the FMU.
guard.check_survives = lambda *_, **__: guard.Survival(2.0, True, 0.1)
# Each simulation takes a while and leaves a mark when it is done: that is what may not be lost.
seconds, marks = float(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
# The run waits for its end in the simulation after so many: it must not be over before that.
last = int(sys.argv[3])
writers, put = set(), Writer.put

def noted(self, *arguments):
    writers.add(self)
    put(self, *arguments)

Writer.put = noted

def slowed(real):
    def run(self, *arguments):
        global last
        time.sleep(seconds)
        # It takes longer than writing what was before, whatever the machine is busy with.
        late = time.monotonic() + 60.0
        while any(w.pending for w in writers) and time.monotonic() < late:
            time.sleep(0.001)
        if last == 0:
            last -= 1  # Ctrl-C may be what it waits for
            time.sleep(600.0)
        found = real(self, *arguments)
        os.write(marks, b".")
        last -= 1
        return found
    return run

inline.InProcessExecutor._run_one = slowed(inline.InProcessExecutor._run_one)
processes.ProcessExecutor._outcome = slowed(processes.ProcessExecutor._outcome)

from fmident.cli import main
sys.exit(main(sys.argv[4:]))
"""

DIFFERENCES = """\
[evaluation]
difference = "forward"

[estimator]
"""
"""Differences take so many simulations that a run can be interrupted amid its search."""

SETTINGS = {
    "inline": ["--set", "evaluation.executor=inline"],
    "processes": ["--set", "evaluation.executor=processes", "--set", "evaluation.workers=2"],
    "starts": [
        "--set", "evaluation.executor=inline",
        "--set", "estimator.starts=4", "--set", "estimator.max_iterations=9",
    ],
    "starts of workers": [
        "--set", "evaluation.executor=processes", "--set", "evaluation.workers=2",
        "--set", "estimator.starts=4", "--set", "estimator.max_iterations=9",
    ],
    "sensitivities of workers": [
        "--set", "evaluation.difference=sensitivities",
        "--set", "evaluation.executor=processes", "--set", "evaluation.workers=2",
        "--set", "estimator.starts=4", "--set", "estimator.max_iterations=9",
    ],
}  # fmt: skip


@pytest.fixture
def study(study: Study) -> Study:
    """Return the study with differences, though its FMU gives sensitivities."""
    study.change("[estimator]\n", DIFFERENCES)
    return study


def start(study: Study, *more: str, seconds: float, last: int) -> subprocess.Popen[str]:
    """Start a run that does not go on after so many simulations."""
    return subprocess.Popen(
        [sys.executable, "-c", SLOWED, str(seconds), "marks", str(last), "estimate",
         "problem.toml", "-o", "out", *more],
        cwd=study.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def numbers(folder: Path) -> dict[str, Any]:
    """Return the result without what differs from run to run."""
    content: dict[str, Any] = json.loads((folder / "result.json").read_text())
    del content["wall_time_s"]
    served = content["settings"].pop("evaluation")
    content["served"] = {k: served[k] for k in ("simulated", "restored", "cached")}
    return content


def history(folder: Path) -> list[dict[str, str]]:
    """Return the rows of the history without what differs from run to run."""
    with (folder / "history.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        for name in ("seconds", "restored"):
            row.pop(name, None)
    return rows


def journalled(study: Study) -> int:
    """Count what a killed process left."""
    path = study.folder / ".out.run" / SIMULATIONS
    with contextlib.closing(sqlite3.connect(path)) as connection:
        count: int = connection.execute("SELECT count(*) FROM records").fetchone()[0]
    return count


def marks(study: Study) -> int:
    path = study.folder / "marks"
    return path.stat().st_size if path.exists() else 0


def wait_for(study: Study, count: int, process: subprocess.Popen[str]) -> None:
    while marks(study) < count and process.poll() is None:
        time.sleep(0.001)


def interrupted(study: Study, count: int = 12, *more: str) -> None:
    """Leave an unfinished run behind, as a killed process does."""
    with start(study, *SETTINGS["inline"], *more, seconds=0.01, last=count + 2) as process:
        wait_for(study, count, process)
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", SETTINGS)
def test_killed_at_random_moments(study: Study, kind: str, seed: int) -> None:
    """What is lost is at most what was running; the result is the same to the last bit."""
    settings = SETTINGS[kind]
    assert main(["estimate", "problem.toml", "-o", "whole", "-q", *settings]) == 0
    expected = numbers(study.folder / "whole")
    total = expected["served"]["simulated"]
    draw = random.Random(seed)
    running = 2 if "evaluation.workers=2" in settings else 1
    resume: list[str] = []
    done = 0
    for _ in range(2):
        moment = draw.randrange(1, total // 3)
        with start(study, *settings, *resume, seconds=0.01, last=moment + 4) as process:
            wait_for(study, moment, process)
            time.sleep(draw.uniform(0.0, 0.02))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        kept = journalled(study)
        # The last one may just be on its way into the file.
        assert done + marks(study) - kept <= running, f"{marks(study)} done, {kept} kept"
        done, _ = kept, (study.folder / "marks").unlink()
        resume = ["--resume"]
    assert main(["estimate", "problem.toml", "-o", "out", "-q", *settings, *resume]) == 0
    found = numbers(study.folder / "out")
    assert found["served"]["restored"] == done
    assert found["served"]["simulated"] == total - done
    del found["served"], expected["served"]
    assert found == expected
    assert history(study.folder / "out") == history(study.folder / "whole")
    assert not [p.name for p in study.folder.iterdir() if p.name.startswith(".")]


def test_goes_on_and_says_so(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "whole", "-q"]) == 0
    interrupted(study)
    kept = journalled(study)
    assert kept >= 11
    assert not (study.folder / "out").exists()
    capsys.readouterr()
    assert main(["estimate", "problem.toml", "-o", "out", "--resume"]) == 0
    shown = capsys.readouterr().err
    assert f"resuming: {kept} simulations in the journal" in shown
    assert f"{kept} simulations restored" in shown
    found, expected = (numbers(study.folder / name) for name in ("out", "whole"))
    assert found.pop("served")["restored"] == kept
    expected.pop("served")
    assert found == expected
    history = (study.folder / "out" / "history.csv").read_text()
    assert "restored" in history.splitlines()[0]
    assert main(["estimate", "problem.toml", "-o", "out", "--resume"]) == 2
    assert "no unfinished run of 'out' to resume" in capsys.readouterr().err


@pytest.mark.slow
def test_begins_anew_without_resume_but_destroys_nothing(study: Study, capsys: Capture) -> None:
    interrupted(study)
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    shown = capsys.readouterr().err
    assert "was not finished; this one begins anew" in shown
    assert "--resume" in shown
    (study.folder / ".out.run.1").rename(study.folder / ".out.run")
    assert main(["estimate", "problem.toml", "-o", "out", "--resume"]) == 0
    assert numbers(study.folder / "out")["served"]["restored"] >= 11


@pytest.mark.slow
def test_force_replaces_an_unfinished_run(study: Study) -> None:
    interrupted(study)
    assert main(["estimate", "problem.toml", "-o", "out", "--force"]) == 0
    assert not [p.name for p in study.folder.iterdir() if p.name.startswith(".")]


@pytest.mark.slow
def test_another_problem_is_refused_and_the_same_is_not(study: Study, capsys: Capture) -> None:
    interrupted(study)
    before, data, fmu = journalled(study), study.data.read_text(), study.fmu.read_bytes()

    def resume(*more: str) -> tuple[int, str]:
        code = main(["estimate", "problem.toml", "-o", "out", "--resume", "-q", *more])
        return code, capsys.readouterr().err

    def refused(told: str, *more: str) -> None:
        code, shown = resume(*more)
        assert code == 2
        assert told in shown
        assert "of another problem" in shown
        assert "hint" in shown
        assert journalled(study) == before

    for setting, told in (
        ("parameters.m.initial=2.6", "parameters.m.initial was '2.5' and is '2.6'"),
        ("estimator.method=trf", "estimator.method is new"),
        ("evaluation.tolerance=1e-7", "evaluation.tolerance was None and is '1e-07'"),
    ):
        refused(told, "--set", setting)
    text = data.splitlines()
    columns = text[5].split(",")
    columns[-1] = repr(float(np.nextafter(float(columns[-1]), 1.0)))
    study.data.write_text("\n".join([*text[:5], ",".join(columns), *text[6:]]) + "\n")
    refused("the numbers of experiments.push.measurements.x.values differ")
    study.data.write_text(data)
    study.fmu.write_bytes(fmu + b"\0")
    refused("the FMU is another one")
    study.fmu.write_bytes(fmu)

    left = study.folder / "left"
    (study.folder / ".out.run").rename(left)
    for setting in (
        "estimator.max_iterations=50",
        "evaluation.timeout=30",
        "evaluation.executor=processes",
    ):
        shutil.copytree(left, study.folder / ".out.run")
        code, shown = resume("--set", setting)
        assert code == 0, shown
        assert numbers(study.folder / "out")["served"]["restored"] >= 11


def test_nothing_to_resume(study: Study, capsys: Capture) -> None:
    before = sorted(study.folder.iterdir())
    assert main(["estimate", "problem.toml", "-o", "deep/out", "--resume"]) == 2
    shown = capsys.readouterr().err
    assert "no unfinished run of 'deep/out' to resume" in shown
    assert "leave --resume out" in shown
    assert sorted(study.folder.iterdir()) == before
    assert main(["follow", "problem.toml", "-", "--resume"]) == 2
    assert "no option '--resume'" in capsys.readouterr().err


@pytest.mark.slow
def test_two_runs_on_one_result_folder(study: Study, capsys: Capture) -> None:
    with start(study, *SETTINGS["inline"], seconds=0.0, last=2) as first:
        wait_for(study, 1, first)
        assert main(["estimate", "problem.toml", "-o", "out"]) == 2
        shown = capsys.readouterr().err
        assert f"another run is at work on the result folder 'out': process {first.pid}" in shown
        assert main(["estimate", "problem.toml", "-o", "out", "--resume"]) == 2
        first.kill()
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--resume"]) == 0


@pytest.mark.each_time("1")
@pytest.mark.parametrize("starts", [1, 6])
def test_after_control_c_the_result_is_there_and_the_run_can_go_on(
    study: Study, capsys: Capture, starts: int, measure: Callable[[int], pd.DataFrame]
) -> None:
    measure(401).to_csv(study.data, index=False)  # twelve iterations suffice from the best start
    settings = [*SETTINGS["inline"], "--set", f"estimator.starts={starts}"]
    settings += ["--set", "estimator.max_iterations=12"]
    # By then the search goes on, or those from all starts have begun.
    count = 25 if starts == 1 else 60
    with start(study, *settings, seconds=0.0, last=count) as process:
        wait_for(study, count, process)
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate()
    assert process.returncode == 130
    assert f"fmident estimate problem.toml -o out {' '.join(settings)} --resume" in shown
    interrupted = numbers(study.folder / "out")
    assert interrupted["status"] == "interrupted"
    assert journalled(study) >= interrupted["served"]["simulated"] > 0
    resume = ["estimate", "problem.toml", "-q", *settings]
    assert main([*resume, "-o", "out", "--resume"]) == 0
    found = numbers(study.folder / "out")
    assert found["status"] == "converged"
    assert main([*resume, "-o", "whole"]) == 0
    whole = numbers(study.folder / "whole")
    # Nothing is simulated again that the journal holds.
    served = found.pop("served")
    assert served["restored"] >= interrupted["served"]["simulated"]
    assert served["simulated"] + served["restored"] == whole.pop("served")["simulated"]
    assert found == whole
    assert history(study.folder / "out") == history(study.folder / "whole")
    # The result of the part is not an earlier result that is worth keeping.
    assert not (study.folder / "out.1").exists()


def test_control_c_while_the_result_is_written(
    study: Study, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fmident.report.folder.place_folder", pressed)
        assert main(["estimate", "problem.toml", "-o", "out", "-q"]) == 130
    assert "to resume: fmident estimate problem.toml -o out" in capsys.readouterr().err
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--resume"]) == 0
    served = numbers(study.folder / "out")["served"]
    assert served["simulated"] == 0


def test_a_run_that_a_limit_ended_goes_on_with_a_higher_one(study: Study) -> None:
    limit = ["--set", "estimator.max_iterations=1"]
    assert main(["estimate", "problem.toml", "-o", "out", "-q", *limit]) == 0
    assert numbers(study.folder / "out")["status"] == "limit"
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--resume"]) == 0
    found = numbers(study.folder / "out")
    assert found["status"] == "converged"
    assert found["served"]["restored"] > 0


@pytest.mark.parametrize(
    ("ended_by", "advice", "higher"),
    [
        ("limit", "with a higher limit", True),
        ("plateau", "other initial values", False),
        ("jump", "several starts", False),
        ("stuck", "why it stopped", False),
    ],
)
def test_a_higher_limit_is_advised_where_a_limit_ended_the_run(
    ended_by: Any,
    advice: str,
    higher: bool,
    study: Study,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    end = Estimate(np.array([3.0, 40.0, 400.0]), "limit", "there", ended_by=ended_by)
    monkeypatch.setattr(LeastSquares, "estimate", lambda *_: end)
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    said = capsys.readouterr().err
    assert advice in said
    assert ("to resume" in said) == higher
    assert numbers(study.folder / "out")["ended_by"] == ended_by


def test_a_search_goes_on_with_more_generations(study: Study) -> None:
    def command(folder: str, generations: int) -> list[str]:
        chosen = ["--set", "estimator.name=cma-es", "--set", f"estimator.generations={generations}"]
        return ["estimate", "problem.toml", "-o", folder, "-q", *chosen]

    assert main(command("out", 2)) == 0
    assert main([*command("out", 5), "--resume"]) == 0
    assert main(command("whole", 5)) == 0
    resumed, whole = numbers(study.folder / "out"), numbers(study.folder / "whole")
    assert resumed.pop("served")["restored"] > whole.pop("served")["restored"] == 0
    assert resumed == whole


@pytest.mark.slow
def test_a_run_that_a_limit_ended_is_not_in_the_way(study: Study, capsys: Capture) -> None:
    limit = ["--set", "estimator.max_iterations=1"]
    assert main(["estimate", "problem.toml", "-o", "out", "-q", *limit]) == 0
    assert main(["estimate", "problem.toml", "-o", "out", "-q"]) == 0
    assert "was not finished" not in capsys.readouterr().err
    assert not list(study.folder.glob(".out*"))


def test_disk_full_while_journalling(study: Study) -> None:
    """The file size limit of the system stands for the disk: it is as hard an error."""
    script = """\
import resource, sys
from fmident.evaluation.executors import inline

real = inline.InProcessExecutor._run_one

def limited(self, *arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    return real(self, *arguments)

inline.InProcessExecutor._run_one = limited
from fmident.cli import main
sys.exit(main(sys.argv[1:]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, "estimate", "problem.toml", "-o", "out", "--set",
         "evaluation.executor=inline", "--set", "evaluation.check=false"],
        cwd=study.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    assert done.stdout.count("he journal cannot be written") == 1
    # Parameters are told; the result does not fit, either, and that is said.
    assert "The estimation converged" in done.stdout
    assert done.returncode == 2
    assert "the result cannot be written to 'out'" in done.stderr
    assert not (study.folder / "out").exists()
    assert "--resume" in done.stderr
    assert main(["estimate", "problem.toml", "-o", "out", "--resume", "-q"]) == 0
    assert numbers(study.folder / "out")["served"]["restored"] > 3


def test_no_room_for_the_journal_but_for_the_result(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    class Full:
        """A connection to a full disk."""

        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    real = Writer.__init__

    def full(self: Writer, _: sqlite3.Connection, *others: Any) -> None:
        real(self, Full(), *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "__init__", full)
    assert main(["estimate", "problem.toml", "-o", "out"]) == 0
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count(
        "he journal cannot be written (database or disk is full)"
    ) == 1
    assert numbers(study.folder / "out")["status"] == "converged"


def test_a_folder_that_cannot_be_made_is_refused_before_the_run(
    study: Study, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr("fmident.evaluation.journal.workspace.os.open", denied)
    with contextlib.suppress(AttributeError):
        assert main(["estimate", "problem.toml", "-o", "out"]) == 2
    shown = capsys.readouterr().err
    assert "'out' cannot be made: Permission denied" in shown
    assert "iteration" not in shown


@pytest.mark.slow
def test_stages_go_on(study: Study) -> None:
    stages = '\n[[stages]]\nname = "first"\nfree = ["k", "d"]\n\n[[stages]]\nname = "all"\n'
    study.problem.write_text(study.problem.read_text() + stages)
    assert main(["estimate", "problem.toml", "-o", "whole", "-q"]) == 0
    interrupted(study, 35)
    assert main(["estimate", "problem.toml", "-o", "out", "-q", "--resume"]) == 0
    found, expected = (numbers(study.folder / name) for name in ("out", "whole"))
    assert found.pop("served")["restored"] >= 34
    expected.pop("served")
    for content in (found, expected):
        for stage in content["stages"]:
            del stage["seconds"]
    assert found == expected


def test_in_python(study: Study) -> None:
    interrupted(study)
    problem = fmident.load_problem("problem.toml", overrides={"evaluation.executor": "inline"})
    result = fmident.estimate(problem, folder="out", resume=True)
    assert result.converged()
    found = numbers(study.folder / "out")
    assert found["served"]["restored"] >= 11
    assert found["parameters"]["m"]["value"] == result.values["m"]
    with pytest.raises(EstimationError, check=lambda e: e.code == Code.NOTHING_TO_RESUME):
        fmident.estimate(problem, folder="out", resume=True)
    with pytest.raises(ValueError, match="folder"):
        fmident.estimate(problem, resume=True)
