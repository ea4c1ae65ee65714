"""The plugin's own test: what every estimator must do."""

from __future__ import annotations

import pytest
from fmident_random_search import RandomSearch

from fmident.testing import Check, estimator_checks


@pytest.mark.parametrize("check", estimator_checks(RandomSearch, trials=[{"samples": 60}]), ids=str)
def test_conformance(check: Check) -> None:
    """Bounds, Ctrl-C, failed simulations, seeds, resume, and what else the host relies upon."""
    check()
