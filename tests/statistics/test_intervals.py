"""What quantities change along directions that the data leave open."""

from __future__ import annotations

import numpy as np

from fmident.statistics.intervals import moved_by


def test_a_sum_whose_terms_cancel_is_not_moved() -> None:
    rows = np.array([[1.0, 0.25, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    open_directions = np.array([[1.0, 0.0], [-4.0, 0.0], [0.0, 1.0]])
    assert moved_by(rows, open_directions).tolist() == [False, True, True]


def test_rounding_of_a_direction_of_other_parameters_moves_nothing() -> None:
    """Null spaces of unscaled numbers leave 1e-21 where there is nothing; its signs are chance."""
    rows = np.array([[1.0, 0.25, 0.0], [0.0, 0.0, 1.0]])
    open_directions = np.array([[1e-5, 3e-21], [-4e-5, 5e-21], [0.0, 1.0]])
    assert moved_by(rows, open_directions).tolist() == [False, True]
