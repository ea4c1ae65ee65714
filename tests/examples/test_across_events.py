"""The study of machines with events: parameters are found, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fmident
from fmident.compilers.base import Compiler

from ..kept import library_fmu

FOLDER = Path(__file__).parents[2] / "examples" / "across-events"
NAMES = ("drive", "tank", "oven")


@pytest.fixture
def study(load_script: Callable[[Path], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return load_script(FOLDER / "coverage.py")


@pytest.fixture
def fmu_of(study: ModuleType, embedded_compiler: Compiler) -> Callable[[str], Path]:
    def build(name: str) -> Path:
        machine = study.generate.MACHINES[name]
        return library_fmu(
            embedded_compiler, f"AcrossEvents.{machine.model}", (study.generate.SOURCE,)
        )

    return build


@pytest.mark.each_time("tank")
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_found_with_the_standard_errors_of_the_exact_jacobian(
    study: ModuleType, fmu_of: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    """That by differences of simulations with a tolerance of 1e-11."""
    machine, fmu = study.generate.MACHINES[name], fmu_of(name)
    result = fmident.estimate(study.load(name, tmp_path, fmu))
    assert result.converged()
    assert result.derivatives_by == "exact sensitivities of the FMU"
    for parameter, truth in machine.truth.items():
        found = result.parameters.loc[parameter]
        assert abs(found["value"] - truth) < 3.5 * found["standard_error"]
        assert found["standard_error"] < 0.03 * truth
    sigma = np.array([sigma for _, sigma in machine.outputs.values()])
    values = result.parameters["value"].to_dict()
    columns = []
    for parameter, value in values.items():
        low, high = (
            study.generate.simulated(machine, fmu, {**values, parameter: value * factor})
            for factor in (1 - 1e-6, 1 + 1e-6)
        )
        columns.append(((high - low) / (2e-6 * value) / sigma).ravel())
    jacobian = np.column_stack(columns)
    errors = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    np.testing.assert_allclose(result.parameters["standard_error"], errors, rtol=0.05)


def test_draws_are_counted(study: ModuleType, fmu_of: Callable[[str], Path]) -> None:
    found = study.count("tank", 3, fmu_of("tank"))
    assert (found.failed, found.inexact) == (0, 0)
    assert set(found.inside) == {"A", "outlet", "limit"}
    assert all(0 <= number <= 3 for number in found.inside.values())
    assert all(values.shape == (3,) for values in found.errors.values())
