"""What tests of cross-validation share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _tried_once(tried_once: None) -> None:
    """Try each FMU in a child process once."""
