"""Co-Simulation against Model Exchange; FMPy's integration is replaced by a formula."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fmident.fmu import SimulationSetup
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench
from fmident.validation.checks import checks_of
from fmident.validation.model_exchange import check_model_exchange, supports_model_exchange

AXIS = "Mechanisms.DriveTrains.PositioningAxisClosedLoop"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What FMPy was asked; it answers with what the test puts in as ``answer``."""
    found: dict[str, object] = {}

    def simulate_fmu(file: str, **given: object) -> np.ndarray:
        found.update(given)
        times, outputs = found["answer"]  # type: ignore[misc]
        table = np.zeros(len(times), dtype=[("time", float), *((n, float) for n in outputs)])
        table["time"] = times
        for name, values in outputs.items():
            table[name] = values
        return table

    monkeypatch.setattr("fmpy.simulate_fmu", simulate_fmu)
    return found


@pytest.mark.parametrize(("error", "passes"), [(0.0, True), (5e-5, True), (5e-3, False)])
def test_parts_that_differ_are_told(
    build_fmu: Callable[[str], Path], asked: dict[str, object], error: float, passes: bool
) -> None:
    with Bench(plan_fmu(build_fmu(AXIS))) as bench:
        setup: SimulationSetup = bench.main.setup
        own = bench.simulate(setup, bench.main.values)
        moved = own + error * np.ptp(own, axis=0)
        columns = dict(zip(setup.output_names, moved.T, strict=True))
        asked["answer"] = (setup.times, columns)
        check = check_model_exchange(bench)
    assert check.passed is passes
    assert "largest deviation" in check.detail
    assert asked["fmi_type"] == "ModelExchange"
    assert asked["solver"] == "CVode"


def test_fmus_without_that_part_are_left_alone(build_fmu: Callable[[str], Path]) -> None:
    fmu = build_fmu(AXIS)
    assert not supports_model_exchange(fmu)
    assert "model exchange" not in checks_of(plan_fmu(fmu))
    assert not supports_model_exchange(fmu.with_name("missing.fmu"))
