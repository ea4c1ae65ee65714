"""Arguments, help, exit codes and the ways a command can end."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fmident
from fmident.cli import doctor, main
from fmident.cli.main import COMMANDS
from fmident.cli.progress import Progress
from fmident.cli.usage import UsageError, assignments, scalar
from fmident.errors import DataError, Location
from fmident.estimation.contract import Iteration

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str, capsys: Capture) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"  fmident {command}" in shown.split("example:")[1]


def test_help_lists_all_commands(capsys: Capture) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"    {command}" in shown for command in COMMANDS)


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fmident {fmident.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["estimte", "x.toml"], ["no command 'estimte'", "'estimate'"]),
        (["estimate", "x.toml", "--outputs", "y"], ["no option '--outputs'", "'--output'"]),
        (["estimate", "x.toml", "y.toml"], ["'y.toml' is one argument too many"]),
        (["estimate"], ["required: problem", "fmident estimate --help"]),
        (["estimate", "x.toml", "--set", "solver"], ["'solver' is not of the form NAME=VALUE"]),
        (["--verbos"], ["no option '--verbos'"]),
        (["build", "A.B", "--tolerance", "-1"], ["'-1' is not a positive number"]),
        (["plugins", "--no-plugin", "least-square"], ["no plugin 'least-square' to leave out"]),
    ],
)
def test_usage_errors_are_explained(
    arguments: list[str], fragments: list[str], capsys: Capture
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert "Traceback" not in shown.err
    for fragment in fragments:
        assert fragment in shown.err


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(arguments: object) -> int:
        raise error

    monkeypatch.setattr(doctor, "run", run)


def test_errors_of_the_user_have_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    error = DataError("a gap", location=Location("a.csv", 7), hint="fill it")
    fail_with(monkeypatch, error)
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == "error: a.csv:7: a gap\n  hint: fill it\n"


@pytest.mark.parametrize("by_option", [True, False])
def test_traceback_on_request(
    by_option: bool, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    fail_with(monkeypatch, DataError("a gap"))
    if not by_option:
        monkeypatch.setenv("FMIDENT_DEBUG", "1")
    assert main(["doctor", *(["--traceback"] if by_option else [])]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_defect_of_ours_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    assert main(["doctor"]) == 70
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in shown
    assert "defect of fmident" in shown
    assert "Traceback" not in shown


def test_files_that_cannot_be_written_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    fail_with(monkeypatch, PermissionError(13, "Permission denied", "out.csv"))
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == "error: 'out.csv': Permission denied\n"


def test_a_path_that_is_too_long_is_not_echoed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(arguments: object) -> int:
        (tmp_path / ("7" * 5000)).stat()
        return 0

    monkeypatch.setattr("fmident.cli.plugins.run", fail)
    assert main(["plugins"]) == 2
    said = capsys.readouterr().err
    assert "File name too long" in said
    assert "choose a shorter name" in said
    assert len(said) < 500


def test_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    fail_with(monkeypatch, KeyboardInterrupt())
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_closed_pipe_is_silent() -> None:
    # A pipe whose reading end is closed before the first byte.
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "fmident", "plugins"], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == b""


def test_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fmident", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"fmident {fmident.__version__}\n")


def test_help_and_import_load_nothing_heavy() -> None:
    code = (
        "import sys, fmident.cli; fmident.cli.main(['--help']); "
        "heavy = {'numpy', 'pandas', 'scipy', 'numba', 'casadi', 'matplotlib'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def state(number: int) -> Iteration:
    return Iteration(number, np.zeros(1), 10.0 / (number + 1), 5 * number, number, 0.25 * number)


def test_progress_is_plain_lines_in_a_file() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    for number in range(3):
        progress.iteration(state(number))
    progress.finish()
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["iteration", "cost", "simulations", "time"]
    assert lines[3].split() == ["2", "3.33333", "10", "500", "ms"]
    assert "\r" not in stream.getvalue()


def test_progress_in_a_file_repeats_no_line_that_tells_nothing_new() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    for number in range(300):
        start = 1.0 + number % 3  # searches side by side take turns
        details = {"start": start, "starts": 3.0, "local_cost": 7.0}
        progress.iteration(Iteration(number, np.zeros(1), 1.0, number, 0, 0.0, details))
    progress.finish()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("start 1 of 3, its cost 7")
    assert lines[-1].split()[0] == "299"


def test_progress_tells_of_long_work_between_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("fmident.cli.progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    progress = Progress(stream)
    for done in range(21):
        progress.activity("measuring the noise", done, 20)
        now += 2.0
    lines = stream.getvalue().splitlines()
    assert lines[1] == "measuring the noise: 1 of 20 simulations"
    assert 5 <= len(lines) <= 10
    stream.truncate(0)
    for done in range(21):
        progress.activity("again, but quick", done, 20)
        now += 0.01
    assert stream.getvalue().strip("\0") == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_rewrites_its_line_on_a_terminal_and_ends_it() -> None:
    stream = Terminal()
    progress = Progress(stream)
    for number in range(200):
        progress.iteration(state(number))
    progress.finish()
    text = stream.getvalue()
    assert text.count("\n") == 2
    assert text.endswith("\n")
    last = text.rsplit("\r", 1)[1]
    assert last.split()[0] == "199"
    assert text.count("\r") < 50


def test_progress_of_nothing_writes_nothing() -> None:
    stream = Terminal()
    Progress(stream).finish()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("1.5", 1.5), ("1e-3", 1e-3), ("true", True), ("false", False),
        ("ceres", "ceres"), ("'1'", "1"), ("True", "True"),
    ],
)  # fmt: skip
def test_values_are_read_as_in_the_problem_file(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_assignments() -> None:
    assert assignments(["a=1", "b = x=y"], "--set") == {"a": "1", "b": "x=y"}
    with pytest.raises(UsageError, match="gives 'a' twice"):
        assignments(["a=1", "a=2"], "--set")


def test_report_of_nothing(tmp_path: Path, capsys: Capture) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "there is no" in capsys.readouterr().err
    (tmp_path / "result.json").write_text('{"status": "converged"}')
    assert main(["report", str(tmp_path)]) == 2
    assert "is not a result of fmident" in capsys.readouterr().err
    (tmp_path / "result.json").write_text("{")
    assert main(["report", str(tmp_path)]) == 2
    assert "is not JSON" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("3", "3")])
def test_a_command_computes_with_one_thread_unless_told_otherwise(
    given: str | None, used: str
) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    code = (
        "import atexit, os, sys; from fmident.cli.main import main;"
        "sys.argv = ['fmident', '--version'];"
        "seen = lambda: (os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules);"
        "atexit.register(lambda: print(*seen())); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == f"{used} False", done.stderr
