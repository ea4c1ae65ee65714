"""Co-Simulation against Model Exchange of the same FMU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu

from fmident.arrays import F64
from fmident.catalog import read_catalog
from fmident.catalog.file import Entry
from fmident.fmu import SimulationSetup
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench
from fmident.validation.checks.model_exchange import (
    check_model_exchange,
    exchange,
    exchange_limits,
    supports_model_exchange,
)
from fmident.validation.children import checks_of

from ..fmu.build import Fixture, build, real
from ..fmu.exchange import build_twin

ROOT = Path(__file__).resolve().parents[2]
QUICK = (
    "Mechanisms.FMUs.PositioningAxisClosedLoop",
    "Mechanisms.FMUs.SlideWithLuGreFriction",
    "Mechanisms.FMUs.MassSpringDamper",
)


def test_the_equations_are_integrated(tmp_path: Path) -> None:
    twin = build_twin(tmp_path)
    assert supports_model_exchange(twin)
    assert "model exchange" in checks_of(plan_fmu(twin))
    t = np.linspace(0.0, 1.0, 11)
    found = exchange(twin, SimulationSetup(t, ("u",), np.ones((11, 1)), ("y",)))
    np.testing.assert_allclose(found[:, 0], 1.0 - np.exp(-2.0 * t), atol=1e-6)


@pytest.mark.parametrize(
    ("step", "stated", "tube", "outcome"),
    [
        (1e-5, None, None, "ok"),
        (1e-2, None, None, "finding"),
        (1e-2, 1e-6, None, "failed"),
        (1e-2, None, 1e-6, "failed"),
        (1e-2, 1e-6, 0.5, "ok"),
    ],
)
def test_parts_that_differ_are_told(
    tmp_path: Path, step: float, stated: float | None, tube: float | None, outcome: str
) -> None:
    """The Co-Simulation part takes one Euler step per communication step."""
    plan = replace(plan_fmu(build_twin(tmp_path)), exchange_tube=tube)
    with Bench(plan) as bench:
        times = np.arange(0.0, 0.1 + 0.5 * step, step)
        setup = SimulationSetup(times, ("u",), np.ones((times.size, 1)), ("y",))
        bench.main = replace(bench.main, setup=setup)
        bench.description = replace(bench.description, default_tolerance=stated)
        check = check_model_exchange(bench)
    assert check.outcome == outcome, check.detail
    assert "largest deviation" in check.detail


def test_equations_that_fail_are_told(tmp_path: Path) -> None:
    with Bench(plan_fmu(build_twin(tmp_path, "FAIL"))) as bench:
        check = check_model_exchange(bench)
    assert not check.passed
    assert "as Model Exchange it fails" in check.detail
    assert "fmi2GetDerivatives returned Error" in check.detail


def integrated_by_fmpy(fmu: Path, setup: SimulationSetup, tolerance: float) -> F64:
    """Simulate as Model Exchange with inputs that FMPy holds, as it does within its steps."""
    times = setup.times
    assert setup.inputs is not None
    table = np.zeros(times.size, [("time", float), *((n, float) for n in setup.input_names)])
    table["time"] = times
    for name, values in zip(setup.input_names, setup.inputs.T, strict=True):
        table[name] = values
    found = simulate_fmu(
        str(fmu),
        fmi_type="ModelExchange",
        start_time=times[0],
        stop_time=times[-1],
        output_interval=times[1] - times[0],
        relative_tolerance=tolerance,
        start_values=dict(setup.start_values),
        input=table if setup.input_names else None,
        output=list(setup.output_names),
        record_events=False,
    )
    return np.column_stack([found[name].astype(float) for name in setup.output_names])


HELD_UNTIL = {"Mechanisms.FMUs.DeltaForward": 0.4}
"""Seconds after which inputs that stay as they are move a model to where it cannot go."""


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(e, id=e.class_name, marks=() if e.class_name in QUICK else pytest.mark.nightly)
        for e in read_catalog(ROOT / "fmus" / "catalog.toml").entries
        if "embedded" in e.compilers
    ],
)
def test_the_catalogue(build_fmu: Callable[[str], Path], entry: Entry) -> None:
    """Both interfaces agree, and so do two importers of Model Exchange.

    FMPy, whose steps are longer, integrates at a hundredth of the tolerance that the limit is for.
    """
    fmu = build_fmu(entry.class_name)
    assert validate_fmu(str(fmu)) == []
    with Bench(plan_fmu(fmu, entry)) as bench:
        check = check_model_exchange(bench)
        experiment = bench.main
    assert check.passed, check.detail
    setup = experiment.setup
    assert setup.inputs is not None
    times = setup.times[setup.times <= HELD_UNTIL.get(entry.class_name, np.inf)]
    held = replace(
        setup,
        times=times,
        inputs=np.tile(setup.inputs[setup.times.size // 3], (times.size, 1)),
        start_values={**setup.start_values, **experiment.values},
    )
    expected = exchange(fmu, held)
    allowed = exchange_limits(fmu, held, expected, 1e-8)
    _, gap, limit = allowed.worst(integrated_by_fmpy(fmu, held, 1e-10), expected)
    assert gap <= limit


def test_fmus_without_that_part_are_left_alone(tmp_path: Path) -> None:
    fixture = Fixture("feedthrough.c", real("u", 0, "input", start=0) + real("y", 3, "output"))
    fmu = build(fixture, tmp_path)
    assert not supports_model_exchange(fmu)
    assert "model exchange" not in checks_of(plan_fmu(fmu))
    assert not supports_model_exchange(fmu.with_name("missing.fmu"))
