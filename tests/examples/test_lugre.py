"""The LuGre study: what each input identifies, and how far both ways of the paper come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.fmu import SimulationSetup

pytestmark = pytest.mark.slow  # many builds or whole runs

FOLDER = Path(__file__).parents[2] / "examples" / "lugre"
SLIDE = "Mechanisms.FMUs.SlideWithLuGreFriction"
ELEMENT = "Mechanisms.FMUs.TranslationalLuGre"
ONE_TENTH_OF_A_PERCENT = 1e-3
INLINE = {"evaluation.executor": "inline"}
"""Small problems: worker processes would take longer to start."""


@pytest.fixture
def generate(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(FOLDER / "generate.py")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the study, which imports the scripts beside it by their short names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("generate", "study"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import study

    yield study
    for name in ("generate", "study"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(
    generate: ModuleType,
    study_folder: Callable[[str], Path],
    build_fmu: Callable[[str], Path],
) -> Path:
    """Return a copy of the study with data from FMUs built for the tests."""
    found = study_folder("lugre")
    (found / "data").mkdir()
    for name in generate.RUNS:
        table = generate.run(name, build_fmu(SLIDE))
        table.to_csv(found / "data" / f"{name}.csv", index=False, float_format="%.17g")
    generate.stribeck().to_csv(found / "data" / "stribeck.csv", index=False, float_format="%.17g")
    return found


def errors(generate: ModuleType, parameters: pd.DataFrame) -> pd.Series:
    """Return the relative errors of the estimates."""
    truth = pd.Series(generate.TRUTH)
    return (parameters.loc[truth.index, "value"] / truth - 1.0).abs()


def test_steady_sliding_follows_the_stribeck_curve(
    generate: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    """The LuGre element at constant speed ends on the curve of eq. 14, speed by speed."""
    points = generate.stribeck()
    speeds = points["speed [m/s]"].to_numpy()[::8]
    forces = points["friction [N]"].to_numpy()[::8]
    with fmident.open_fmu(build_fmu(ELEMENT)) as fmu, fmu.simulator() as simulator:
        for speed, force in zip(speeds, forces, strict=True):
            # The deflection settles with the rate sigma0 |v| / level: 40 time constants.
            times = np.linspace(0.0, 40 * 1.5 / (1e5 * abs(speed)), 11)
            inputs = np.full((times.size, 1), speed)
            setup = SimulationSetup(times, ("v",), inputs, ("f",), tolerance=1e-10)
            last = float(simulator.simulate(setup, generate.TRUTH)[-1, 0])
            assert last == pytest.approx(force, rel=1e-7)


def test_two_steps_find_all_parameters(generate: ModuleType, folder: Path) -> None:
    result = fmident.estimate(fmident.load_problem(folder / "two-step.toml", overrides=INLINE))
    assert errors(generate, result.parameters).max() < ONE_TENTH_OF_A_PERCENT
    assert result.simulations < 500


def test_with_noise_the_second_step_counts_what_the_first_does_not_know(
    load_script: Callable[[Path], ModuleType], folder: Path
) -> None:
    noise = load_script(FOLDER / "noise.py")
    draw = noise.one_draw(0, folder)
    # Of 200 draws the errors of sigma0 scatter by 0.020 %, those of sigma1 by 0.8 %.
    assert draw.loc["sigma0", "standard_error"] == pytest.approx(2.0e-4, rel=0.15)
    assert draw.loc["sigma1", "standard_error"] == pytest.approx(8.2e-3, rel=0.15)
    assert draw.loc["sigma0", "conditional"] < 0.5 * draw.loc["sigma0", "standard_error"]
    assert (draw["error"].abs() < 4.0 * draw["standard_error"]).all()


def test_the_published_input_does_not_show_all_parameters(
    study: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    """With noise it says nothing of Fc, vs and sigma2; the input that breaks away shows all."""
    singular, errors = study.identifiability(build_fmu(SLIDE))
    assert (
        errors.loc["published", ["coulombForce", "stribeckSpeed", "viscousFriction"]] > 100.0
    ).all()
    assert (errors.loc["published", ["sigma0", "staticForce"]] < 1.0).all()
    assert (errors.loc["break-away"] < 1.0).all()
    assert singular.loc["published"].min() < 1e-7
    assert singular.loc["break-away"].min() > 1e-3


def test_only_the_fall_of_the_curve_at_low_speed_acts_on_the_published_run(
    study: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    """Fc and vs act through (Fs - Fc)/vs^2 alone: the direction that keeps it is not seen."""
    position = study.sensitivities("published", build_fmu(SLIDE))[:, 0]
    truth = study.generate.TRUTH
    fc, fs, vs = (
        position[:, study.NAMES.index(name)]
        for name in ("coulombForce", "staticForce", "stribeckSpeed")
    )
    # d log vs = -1/2 Fc/(Fs - Fc) d log Fc leaves the fall as it is; Fs is held. What remains
    # is the next term of the exponential function, smaller by (v/vs)^2.
    run = study.generate.run("published", build_fmu(SLIDE))
    speed = np.gradient(run["position [m]"], run["time [s]"])
    kept = fc - 0.5 * truth["coulombForce"] / (truth["staticForce"] - truth["coulombForce"]) * vs
    assert np.linalg.norm(kept) < np.max((speed / truth["stribeckSpeed"]) ** 2) * np.linalg.norm(fc)
    assert np.linalg.norm(fs) > 10 * np.linalg.norm(fc)


@pytest.mark.each_time("12")
@pytest.mark.parametrize("seed", [2, 12, 14])
def test_a_run_that_breaks_away_shows_all_parameters(
    study: ModuleType, generate: ModuleType, folder: Path, seed: int
) -> None:
    """From random starts in the bounds, a decade or a factor of two to either side.

    The first stage of 12 ends in a local minimum, which is good enough for a start; the last one of
    14 ends in another, and goes on from candidates.
    """
    problem = fmident.load_problem(folder / "break-away.toml", overrides=INLINE)
    result = fmident.estimate(study.random_start(problem, seed=seed))
    assert errors(generate, result.parameters).max() < ONE_TENTH_OF_A_PERCENT
    assert result.simulations < 200


@pytest.mark.slow
def test_profiles_of_a_run_that_breaks_away_agree_with_its_standard_errors(
    study: ModuleType,
    folder: Path,
    tmp_path: Path,
    build_fmu: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What noise leaves, by the likelihood; against sensitivities computed without the host."""
    monkeypatch.setattr(study, "HERE", folder)
    study.profile("break-away", tmp_path)
    found = pd.read_csv(tmp_path / "intervals-break-away.csv", index_col=0)
    assert set(found["verdict"]) == {"agrees"}
    _, errors = study.identifiability(build_fmu(SLIDE))
    half = 50.0 * (found["high"] - found["low"]) / found["value"] / 1.96
    np.testing.assert_allclose(half, errors.loc["break-away", half.index], rtol=0.1)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_profile_of_fc_is_flat_on_the_published_run(study: ModuleType, folder: Path) -> None:
    """From half of the true value nearly up to Fs nothing is seen; beyond, the curve rises."""
    problem = study.noisy_problem("published", folder)
    found = fmident.profile(problem, parameters=["coulombForce"], report=lambda found: None)
    profile = found.profiles[0]
    assert profile.verdict.kind == "not-identifiable"
    low = [p.tau**2 for p in profile.points if p.value < 1.42]
    assert len(low) > 4
    assert max(low) < 1e-2


@pytest.mark.nightly
def test_a_run_of_the_genetic_algorithm_says_where_it_is_after_each_generation(
    study: ModuleType, folder: Path
) -> None:
    for steps in ("one", "two"):
        key = (steps, "0.005 per bit", "maxima only", "one elite, log code", 1)
        rows = study.genetic_run(*key, generations=(2, 6), folder=folder)
        assert [row["generation"] for row in rows] == [2, 6]
        assert rows[0]["cost"] >= rows[1]["cost"] > 0.0
        assert all(set(study.NAMES) < set(row) for row in rows)


def test_no_weights_give_the_papers_values_the_papers_costs(
    study: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    """Each part of eq. 11 falls far less from 500 to 2000 generations than the printed cost."""
    after = {
        row[0]: [float(cell) for cell in row[1:]] for row in study.paper_columns(build_fmu(SLIDE))
    }
    first, last = after["500 generations"], after["2000 generations"]
    printed, *parts = (a / b for a, b in zip(first, last, strict=True))
    assert printed > 200.0
    assert max(parts) < 0.12 * printed
    assert after["1000 generations"][1] < last[1]
