"""What becomes of the journal of a run that ends in an error."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Diagnostic, EstimationError
from fmident.evaluation.journal import Workspace
from fmident.evaluation.journal.journal import SIMULATIONS
from fmident.problem.model import Problem


def fail(space: Workspace, hint: str) -> None:
    with space:
        assert space.journal is not None
        space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
        raise EstimationError("the scheduler is gone", hint=hint)


def test_room_set_aside_is_no_unfinished_run(problem: Problem, tmp_path: Path) -> None:
    with Workspace(tmp_path / "r", problem) as space:
        assert space.journal is not None
        space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
        space.journal.flush()
        about = (space.folder / "run.json").read_bytes()
        start = (space.folder / SIMULATIONS).read_bytes()[:16]
    shutil.rmtree(space.folder)
    # What a process leaves that is killed before it writes the first record.
    space.folder.mkdir()
    (space.folder / "run.json").write_bytes(about)
    (space.folder / SIMULATIONS).write_bytes(start + bytes(3_000_000))
    assert not space.resumable
    told: list[Diagnostic] = []
    with Workspace(tmp_path / "r", problem, report=told.extend):
        pass
    assert told == []
    assert not space.folder.exists()
    assert not space.folder.with_name(".r.run.1").exists()


@pytest.mark.parametrize(
    ("hint", "kept"), [("go on with 'fmident estimate --resume'", True), ("correct it", False)]
)
def test_an_error_that_passes_leaves_the_journal(
    problem: Problem, tmp_path: Path, hint: str, kept: bool
) -> None:
    space = Workspace(tmp_path / "r", problem)
    with pytest.raises(EstimationError):
        fail(space, hint)
    assert space.folder.exists() is kept
