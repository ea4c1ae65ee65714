"""Co-Simulation against Model Exchange of the same FMU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.fmu import SimulationSetup
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench
from fmident.validation.checks.by_name import checks_of
from fmident.validation.checks.model_exchange import (
    check_model_exchange,
    exchange,
    supports_model_exchange,
)

from ..fmu.build import Fixture, build, real
from ..fmu.exchange import build_twin

AXIS = "Mechanisms.DriveTrains.PositioningAxisClosedLoop"


def test_the_equations_are_integrated(tmp_path: Path) -> None:
    twin = build_twin(tmp_path)
    assert supports_model_exchange(twin)
    assert "model exchange" in checks_of(plan_fmu(twin))
    t = np.linspace(0.0, 1.0, 11)
    found = exchange(twin, SimulationSetup(t, ("u",), np.ones((11, 1)), ("y",)))
    np.testing.assert_allclose(found[:, 0], 1.0 - np.exp(-2.0 * t), atol=1e-6)


@pytest.mark.parametrize(("step", "passes"), [(1e-5, True), (1e-2, False)])
def test_parts_that_differ_are_told(tmp_path: Path, step: float, passes: bool) -> None:
    """The Co-Simulation part takes one Euler step per communication step."""
    with Bench(plan_fmu(build_twin(tmp_path))) as bench:
        times = np.arange(0.0, 0.1 + 0.5 * step, step)
        setup = SimulationSetup(times, ("u",), np.ones((times.size, 1)), ("y",))
        bench.main = replace(bench.main, setup=setup)
        check = check_model_exchange(bench)
    assert check.passed is passes, check.detail
    assert "largest deviation" in check.detail


def test_equations_that_fail_are_told(tmp_path: Path) -> None:
    with Bench(plan_fmu(build_twin(tmp_path, "FAIL"))) as bench:
        check = check_model_exchange(bench)
    assert not check.passed
    assert "as Model Exchange it fails" in check.detail
    assert "fmi2GetDerivatives returned Error" in check.detail


def test_own_fmus_agree(build_fmu: Callable[[str], Path]) -> None:
    with Bench(plan_fmu(build_fmu(AXIS))) as bench:
        check = check_model_exchange(bench)
    assert check.passed, check.detail
    assert "largest deviation" in check.detail


def test_fmus_without_that_part_are_left_alone(tmp_path: Path) -> None:
    fixture = Fixture("feedthrough.c", real("u", 0, "input", start=0) + real("y", 3, "output"))
    fmu = build(fixture, tmp_path)
    assert not supports_model_exchange(fmu)
    assert "model exchange" not in checks_of(plan_fmu(fmu))
    assert not supports_model_exchange(fmu.with_name("missing.fmu"))
