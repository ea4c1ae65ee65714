"""Output that nobody takes: it costs the text, never the run."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fmident.cli import main
from fmident.cli.console import put

from ..study import Study

FMIDENT = [sys.executable, "-m", "fmident"]


class Broken(io.StringIO):
    """Takes nothing, and says why."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str, /) -> int:
        raise OSError(self.number, os.strerror(self.number))

    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


def run(study: Study) -> int:
    return main([
        "estimate", str(study.problem), "-o", str(study.folder / "out"),
        "--set", "evaluation.check=false", "--set", "estimator.max_iterations=1",
    ])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC, errno.EIO])
def test_an_estimation_whose_words_nobody_takes_is_written(
    study: Study, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Broken(number))
        patch.setattr(sys, "stderr", Broken(number))
        assert run(study) == 0
    assert (study.folder / "out" / "result.json").is_file()


@pytest.mark.each_time(">&-", ">/dev/full 2>&1")
@pytest.mark.slow
@pytest.mark.parametrize("how", [">&-", "2>&-", ">&- 2>&- <&-", ">/dev/full 2>&1"])
def test_an_estimation_with_closed_descriptors_is_written(study: Study, how: str) -> None:
    words = " ".join([
        f"'{sys.executable}' -m fmident estimate problem.toml -o out",
        "--set estimator.max_iterations=1", how,
    ])  # fmt: skip
    done = subprocess.run(words, shell=True, cwd=study.folder, check=False, capture_output=True)
    assert done.returncode == 0
    assert {p.name for p in (study.folder / "out").iterdir()} >= {"result.json", "report.html"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has none")
def test_an_answer_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*FMIDENT, "plugins"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == (
        "error: standard output cannot be written (No space left on device): it is incomplete\n"
    )


def test_an_answer_without_standard_output_is_an_answer() -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m fmident plugins >&-", shell=True, check=False, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_letters_that_a_terminal_does_not_know() -> None:
    buffer = io.BytesIO()
    terminal = io.TextIOWrapper(buffer, encoding="ascii")
    put(terminal, "1 µm\n", flush=True)
    assert buffer.getvalue() == b"1 \\xb5m\n"
