"""What the tests of the two kinds of design file share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fmident.designing import load_design
from fmident.errors import ProblemError

from ..edits import replace_once

EXAMPLES = Path(__file__).parents[2] / "examples"


def copied(study: str, folder: Path, *changes: tuple[str, str]) -> Path:
    """Return a changed copy of the design file of an example."""
    path = Path(shutil.copy(EXAMPLES / study / "design.toml", folder))
    for old, new in changes:
        replace_once(path, old, new)
    return path


def assert_refused(file: Path, old: str, new: str, words: str) -> None:
    """Assert that the file is refused with a change, in these `words` and with the line."""
    replace_once(file, old, new)
    with pytest.raises(ProblemError, match=words) as caught:
        load_design(file)
    assert caught.value.location is not None
    assert caught.value.location.line
