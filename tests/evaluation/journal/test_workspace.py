"""What becomes of the journal of a run that ends in an error."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, Diagnostic, EstimationError
from fmident.evaluation.journal import Workspace
from fmident.evaluation.journal.journal import SIMULATIONS, Journal
from fmident.problem.model import Problem


def fail(space: Workspace, code: str | None) -> None:
    with space:
        assert space.journal is not None
        space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
        raise EstimationError("the scheduler is gone", hint="go on with --resume", code=code)


def test_an_empty_journal_is_no_unfinished_run(problem: Problem, tmp_path: Path) -> None:
    with Workspace(tmp_path / "r", problem) as space:
        assert space.journal is not None
        space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
        assert space.resumable
        about = (space.folder / "run.json").read_bytes()
    shutil.rmtree(space.folder)
    # What a process leaves that is killed before it writes the first record.
    Journal(space.folder).close()
    (space.folder / "run.json").write_bytes(about)
    assert (space.folder / SIMULATIONS).stat().st_size > 0
    assert not space.resumable
    told: list[Diagnostic] = []
    with Workspace(tmp_path / "r", problem, report=told.extend):
        pass
    assert told == []
    assert not space.folder.exists()
    assert not space.folder.with_name(".r.run.1").exists()


@pytest.mark.parametrize(
    ("code", "kept"), [(Code.EXECUTOR_LOST, True), (None, False), (Code.UNKNOWN_NAME, False)]
)
def test_an_error_that_passes_leaves_the_journal(
    problem: Problem, tmp_path: Path, code: str | None, kept: bool
) -> None:
    space = Workspace(tmp_path / "r", problem)
    with pytest.raises(EstimationError):
        fail(space, code)
    assert space.folder.exists() is kept


@pytest.mark.parametrize(
    ("status", "moved", "ended"),
    [("converged", True, True), ("limit", True, True), ("interrupted", True, False),
     ("converged", False, False)],
)  # fmt: skip
def test_a_run_killed_after_its_result_was_placed_has_ended(
    problem: Problem, tmp_path: Path, status: str, moved: bool, ended: bool
) -> None:
    space = Workspace(tmp_path / "r", problem)
    assert space.journal is not None
    space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
    work = tmp_path / "new"
    work.mkdir()
    space.placing(work, status)
    # Killed before or after the folder is moved; at its place there may be an earlier result.
    if moved:
        work.rename(tmp_path / "r")
    else:
        (tmp_path / "r").mkdir()
    space.close()
    told: list[Diagnostic] = []
    with Workspace(tmp_path / "r", problem, report=told.extend) as again:
        aside = again.folder.with_name(".r.run.1")
        assert aside.exists() is not ended
        assert bool(told) is not ended
    assert not again.folder.exists()


def test_a_journal_half_discarded_is_not_an_unfinished_run(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Workspace(tmp_path / "r", problem)
    assert space.journal is not None
    space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)  # killed before
        space.finish("converged")
        space.close()
    assert space.folder.exists()
    told: list[Diagnostic] = []
    with Workspace(tmp_path / "r", problem, report=told.extend) as again:
        assert not again.folder.with_name(".r.run.1").exists()
    assert told == []


def test_a_journal_of_an_earlier_version_is_refused_and_not_lost(
    problem: Problem, tmp_path: Path
) -> None:
    with Workspace(tmp_path / "r", problem) as space:
        assert space.journal is not None
        space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
    (space.folder / SIMULATIONS).rename(space.folder / "simulations.journal")
    with pytest.raises(EstimationError, match="another version") as refusal:
        Workspace(tmp_path / "r", problem, resume=True)
    assert refusal.value.code == Code.NOTHING_TO_RESUME
    assert "--resume" in str(refusal.value.hint)
    told: list[Diagnostic] = []
    with Workspace(tmp_path / "r", problem, report=told.extend):
        pass
    assert len(told) == 1
    assert (space.folder.with_name(".r.run.1") / "simulations.journal").exists()
