"""What tests with Hypothesis share: few examples, the same in every run, nothing on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings, strategies
from hypothesis.configuration import set_hypothesis_home_dir

set_hypothesis_home_dir(tempfile.mkdtemp(prefix="fmident-hypothesis-"))


def examples(count: int) -> Callable[[Any], Any]:
    """Return a decorator for a test of a property that is tried with this many examples."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
        ],
    )


texts = strategies.text(
    strategies.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
"""Texts of any characters, also of those that end lines elsewhere."""

numbers = strategies.floats(allow_nan=False, allow_infinity=False)

keys = strategies.one_of(
    strategies.sampled_from(["a", "b", "c", "m", "arm[1].m", "é", "x y", 'say "so"']), texts
)
