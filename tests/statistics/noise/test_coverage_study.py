"""The study of ``ci/coverage --noise`` runs; its figures take longer than a test may."""

from __future__ import annotations

import numpy as np
import pytest
from ci.noise_coverage import study


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["default", "ar"])
def test_hum_is_noted_and_counted(model: str) -> None:
    count = study("mass-spring-damper", "hum", 4, 1, model)
    assert count.failed == 0
    assert count.noted == 4
    assert np.all(count.held >= 3)
