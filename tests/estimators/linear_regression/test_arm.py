"""The six-axis arm: its base parameters, and the physical consistency of its links."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fmident
from fmident.report.verdict import verdict

pytestmark = pytest.mark.slow  # builds FMUs

EXAMPLE = Path(__file__).parents[3] / "examples" / "arm"
INVERSE = "Mechanisms.FMUs.ArmInverse"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("arm", EXAMPLE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def load(
    tmp_path: Path, generate: ModuleType, build_fmu: Callable[[str], Path]
) -> Callable[..., fmident.Problem]:
    """Return a function that loads the example with other noise on its torques."""
    fmu = build_fmu(INVERSE)
    (tmp_path / "data").mkdir()
    clean = generate.measured(1, fmu), generate.measured(1001, fmu)

    def loaded(seed: int, noise: float = 1.0, rows: int = 1000) -> fmident.Problem:
        generator = np.random.default_rng(seed)
        for name, rows_of in zip(("training", "validation"), clean, strict=True):
            noisy = generate.with_noise(rows_of, generator, noise)[:rows]
            noisy.to_csv(tmp_path / "data" / f"{name}.csv", index=False)
        text = (EXAMPLE / "problem.toml").read_text(encoding="utf-8")
        path = tmp_path / "problem.toml"
        path.write_text(
            text.replace(f'class = "{INVERSE}"', f'fmu = "{fmu}"'),
            encoding="utf-8",
        )
        return fmident.load_problem(path)

    return loaded


def with_options(problem: fmident.Problem, **options: object) -> fmident.Problem:
    settings = problem.estimator
    changed = dataclasses.replace(settings, options={**settings.options, **options})
    return dataclasses.replace(problem, estimator=changed)


def test_base_parameters_have_the_formulas_of_the_textbook(
    load: Callable[..., fmident.Problem],
) -> None:
    """Those of Khalil and Dombre, chapter 9, for the geometry of this arm."""
    result = fmident.estimate(load(1))
    formulas = {row.name: row.expression for row in result.base_parameters}
    assert result.identifiability is not None
    assert result.identifiability.rank == 58
    assert verdict(result).grade == "good"
    assert formulas["mx[2]_base"] == "mx[2] + 0.225*m[3] + 0.225*m[4] + 0.225*m[5] + 0.225*m[6]"
    assert formulas["my[4]_base"] == "my[4] + mz[5]"
    assert formulas["Ixx[5]_base"] == "Ixx[5] - Iyy[5] + Iyy[6]"
    assert formulas["Ixx[2]_base"] == (
        "Ixx[2] - Iyy[2] - 0.05063*m[3] - 0.05063*m[4] - 0.05063*m[5] - 0.05063*m[6]"
    )


def test_intervals_hold_the_truth(
    load: Callable[..., fmident.Problem],
    generate: ModuleType,
    build_fmu: Callable[[str], Path],
) -> None:
    """Over three draws of noise: 95 % of 174 intervals, within four standard deviations."""
    truth = generate.truth(build_fmu(INVERSE))
    inside = []
    for seed in (1, 2, 3):
        result = fmident.estimate(load(seed))
        known = {row.name: truth[row.name] for row in result.estimates}
        for row in result.base_parameters:
            ((_, members),) = row.factors
            exact = sum(factor * known[name] for name, factor in members.items())
            inside.append(row.interval_95[0] <= exact <= row.interval_95[1])
        for row in result.estimates:
            if row.name in known and not row.base and np.isfinite(row.interval_95).all():
                inside.append(row.interval_95[0] <= known[row.name] <= row.interval_95[1])
    assert len(inside) == 174
    assert 0.95 - 4.0 * np.sqrt(0.95 * 0.05 / 174) < np.mean(inside)


def test_forward_dynamics_by_least_squares(
    tmp_path: Path, generate: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    fmu = build_fmu("Mechanisms.FMUs.ArmForward")
    (tmp_path / "data").mkdir()
    generate.driven(np.random.default_rng(2), fmu).to_csv(
        tmp_path / "data" / "forward.csv", index=False
    )
    text = (EXAMPLE / "forward.toml").read_text(encoding="utf-8")
    path = tmp_path / "forward.toml"
    path.write_text(text.replace('class = "Mechanisms.FMUs.ArmForward"', f'fmu = "{fmu}"'))
    result = fmident.estimate(fmident.load_problem(path))
    for row in result.estimates:
        assert abs(row.value - generate.DRIVEN[row.name]) < 4.0 * row.standard_error
        assert row.standard_error < 2e-3 * abs(row.value)


def eigenvalues(result: fmident.EstimationResult) -> list[float]:
    return [float(x) for x in result.settings["least_eigenvalues"].values()]


def test_consistent_bodies_where_the_data_have_them(load: Callable[..., fmident.Problem]) -> None:
    """The base parameters are those of the plain regression; only members of them move."""
    problem = load(1, 0.02)
    plain = fmident.estimate(problem)
    consistent = fmident.estimate(with_options(problem, consistent=True))
    assert min(eigenvalues(consistent)) > 0.0
    for one, other in zip(consistent.base_parameters, plain.base_parameters, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-8)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-6)
    assert consistent.cost_final == pytest.approx(plain.cost_final, rel=1e-10)


def test_consistent_bodies_where_noise_hides_them(
    load: Callable[..., fmident.Problem], generate: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    """A tenth of the motion with five times the noise: the plain regression has no bodies."""
    truth = generate.truth(build_fmu(INVERSE))
    inside = []
    for seed in (1, 2):
        problem = with_options(load(seed, 5.0, rows=300), validation=())
        plain = fmident.estimate(problem)
        consistent = fmident.estimate(with_options(problem, consistent=True))
        assert "away-from-minimum" not in {f.code for f in consistent.findings}
        assert min(eigenvalues(consistent)) >= 0.0
        assert plain.cost_final < consistent.cost_final < 1.05 * plain.cost_final
        for row in consistent.base_parameters:
            ((_, members),) = row.factors
            exact = sum(factor * truth[name] for name, factor in members.items())
            inside.append(row.interval_95[0] <= exact <= row.interval_95[1])
    assert np.mean(inside) > 0.95 - 4.0 * np.sqrt(0.95 * 0.05 / len(inside))
