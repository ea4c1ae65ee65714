"""Arguments, help, exit codes and the ways a command can end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fmident
from fmident.cli import main, start
from fmident.cli.arguments import assignments, scalar
from fmident.cli.commands import COMMANDS
from fmident.cli.usage import UsageError
from fmident.errors import DataError, Location

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str, capsys: Capture) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"  fmident {command}" in shown.split("example:")[1]


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_keeps_the_width_of_the_terminal_between_words(
    command: str | None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    for width in (80, 400):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main([*([command] if command else []), "--help"]) == 0
        texts.append(capsys.readouterr().out)
    assert [line for line in texts[0].splitlines() if len(line) > 80] == []
    narrow, wide = (sorted(text.replace("\\\n", " ").split()) for text in texts)
    assert narrow == wide


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
        (["simulate", "x.fmu", "--step", "abc"], ["argument --step: 'abc' is not a number"]),
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


def fail_with(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, command: str = "doctor"
) -> None:
    def run(arguments: object) -> int:
        raise error

    monkeypatch.setattr(start, f"run_{command}", run)


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
    assert capsys.readouterr().err.startswith("error: 'out.csv': Permission denied\n")


def test_too_little_memory_is_reported_before_a_library_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(sys.modules["fmident.cli.main"], "memory_limit", lambda: 5e8)
    assert main(["plugins"]) == 2
    assert "limited to 500 MB" in capsys.readouterr().err
    assert main(["--version"]) == 0


def test_a_path_that_is_too_long_is_not_echoed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(arguments: object) -> int:
        (tmp_path / ("7" * 5000)).stat()
        return 0

    monkeypatch.setattr(start, "run_plugins", fail)
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
        "heavy = {'numpy', 'pandas', 'scipy', 'numba', 'casadi', 'matplotlib', 'rich'}; "
        "heavy &= set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
    assert "holds no result" in capsys.readouterr().err
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


@pytest.mark.parametrize(
    ("command", "earlier", "name"),
    [
        ("check", ["--global=morris"], "--global-method"),
        ("profile", ["--pair", "k", "m"], "--pairs"),
        ("predict", ["--new-only"], "--no-fitted"),
    ],
)
def test_an_option_of_an_earlier_version_is_understood(
    command: str, earlier: list[str], name: str, tmp_path: Path, capsys: Capture
) -> None:
    missing = tmp_path / "missing.toml"
    assert main([command, str(missing), *earlier]) == 2
    said = capsys.readouterr().err
    assert f"is called '{name}'" in said
    assert str(missing) in said
