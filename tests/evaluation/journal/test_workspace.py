"""What becomes of the journal of a run that ends in an error."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import EstimationError
from fmident.evaluation.journal import Workspace
from fmident.problem.model import Problem


def fail(space: Workspace, hint: str) -> None:
    with space:
        assert space.journal is not None
        space.journal.keep(hashlib.sha256(b"a simulation").digest(), np.ones((3, 1)))
        raise EstimationError("the scheduler is gone", hint=hint)


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
