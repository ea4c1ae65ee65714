"""Benchmark: simulations with sensitivities against simulations without, and against differences.

Ratios are of processor times in one run. A section can be chosen by its name:

model-exchange  FMUs from C in tests/fmu/fixtures, with solutions in closed form or of 1e-12. They
                cost next to nothing themselves. The time of a simulation with p sensitivities is
                divided by that of one without; so is that of central differences, which take 2 p
                simulations, at the first tolerance and step that give an equal error (nan: none
                does). Bar: sensitivities are right to ten times the tolerance.

embedded        FMUs of the embedded compiler: machines of the library, with the first experiment
                of the catalogue and what their studies measure and estimate. The time of a
                simulation with p sensitivities is divided by that of one without. Error: largest
                of any column over its range, against a run at 1e-12. Bars: 1 + 0.25 p, 2 for
                the delta robot without states; ten times the tolerance.

large           FMUs of the embedded compiler with 200 states and 50 parameters, for 1 to 50 of
                them: a chain of masses, in which waves run, and a rod that conducts heat. Times and
                error as above, against a run at 1e-11. No bar.

    python benchmarks/sensitivities.py [SECTION ...]

Ends with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fmu import test_exchange_sensitivities as models  # noqa: E402
from tests.fmu.closed_forms import derivatives  # noqa: E402
from tests.fmu.exchange import Exchange, build_exchange  # noqa: E402

from fmident.api.builds import build_class  # noqa: E402
from fmident.arrays import F64  # noqa: E402
from fmident.catalog import find_catalog, read_catalog  # noqa: E402
from fmident.fmu import SimulationSetup, open_fmu  # noqa: E402
from fmident.fmu.simulator import Simulator  # noqa: E402
from fmident.validation import plan_fmu  # noqa: E402
from fmident.validation.bench import Bench  # noqa: E402

TOLERANCES = (1e-4, 1e-6, 1e-9)
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
FINER = 10.0 ** -np.arange(0.0, 8.0)
MOST_ERROR = 10.0  # in tolerances
REPEATS = 7


@dataclass(frozen=True)
class Case:
    """A model, how it is simulated, and the exact derivatives, shape (n, p, outputs)."""

    name: str
    fixture: Exchange
    setup: SimulationSetup
    values: dict[str, float]
    exact: F64


def cases() -> list[Case]:
    """Return the models."""
    found = []
    for name, case in models.CASES.items():
        times = models.instants(case.stop)
        exact = derivatives(case.solution, times, list(case.values.values()))[:, 1:]
        setup = SimulationSetup(times, output_names=case.outputs, sensitivities=tuple(case.values))
        found.append(Case(name, case.fixture, setup, case.values, exact))
    setup = models.swing()
    assert setup.inputs is not None
    exact = models.pendulum(setup.times, setup.inputs[:, 0], models.SWING)[:, 1:]
    fixture = replace(models.PENDULUM, flags=models.DIRECTIONAL)
    found.append(Case("pendulum", fixture, setup, models.SWING, exact))
    return found


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of a call, s."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def differences(
    simulator: Simulator, setup: SimulationSetup, values: dict[str, float], step: float
) -> F64:
    """Return central differences, shape (n, p, outputs)."""
    columns = []
    for name, value in values.items():
        away = step * (abs(value) or 1.0)
        above = simulator.simulate(setup, values | {name: value + away})
        below = simulator.simulate(setup, values | {name: value - away})
        columns.append((above - below) / (2.0 * away))
    return np.stack(columns, axis=1)


def equal_differences(simulator: Simulator, case: Case, tolerance: float, error: float) -> float:
    """Return the time of the cheapest differences with at most this error, s; NaN for none."""
    for finer in FINER * tolerance:
        if finer < 1e-13:
            break
        setup = replace(case.setup, tolerance=float(finer), sensitivities=())
        for step in STEPS:
            found = differences(simulator, setup, case.values, step)
            if models.errors(found, case.exact).max() <= error:
                return seconds(lambda: differences(simulator, setup, case.values, step))  # noqa: B023
    return float("nan")


def model_exchange() -> bool:
    """Print the table of the section; return whether all bars are held."""
    good = True
    print(
        f"{'Model Exchange':<12}{'p':>3}{'tolerance':>11}{'error/tol':>11}{'plain/ms':>10}"
        f"{'with p':>8}{'2 p differences of equal error':>34}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            path = build_exchange(case.fixture, 2, Path(folder))
            with open_fmu(path) as fmu, fmu.simulator(reuse="trusted") as simulator:
                for tolerance in TOLERANCES:
                    good &= _row(simulator, case, tolerance)
    return good


def _row(simulator: Simulator, case: Case, tolerance: float) -> bool:
    setup = replace(case.setup, tolerance=tolerance)
    plain = replace(setup, sensitivities=())
    p, outputs = len(case.values), len(setup.output_names)
    found = simulator.simulate(setup, case.values)[:, outputs:].reshape(-1, p, outputs)
    error = float(models.errors(found, case.exact).max())
    without = seconds(lambda: simulator.simulate(plain, case.values))
    ratio = seconds(lambda: simulator.simulate(setup, case.values)) / without
    other = equal_differences(simulator, case, tolerance, error) / without
    print(
        f"{case.name:<12}{p:>3}{tolerance:>11.0e}{error / tolerance:>11.2g}{1e3 * without:>10.2f}"
        f"{ratio:>8.1f}{other:>34.1f}"
    )
    return error <= MOST_ERROR * tolerance


@dataclass(frozen=True)
class Study:
    """What a study measures of a machine, and what it estimates."""

    machine: str
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def most(self) -> float:
        """Ratio of times that is the bar."""
        stateless = self.machine == "FMUs.DeltaInverse"
        return 2.0 if stateless else 1.0 + 0.25 * len(self.parameters)


STUDIES = (
    Study(
        "FMUs.SlideWithLuGreFriction",
        ("x", "frictionForce"),
        (
            *("m", "sigma0", "sigma1", "viscousFriction", "coulombForce", "staticForce"),
            "stribeckSpeed",
        ),
    ),
    Study(
        "FMUs.Tripod",
        ("driveTorque[1]", "driveTorque[2]", "driveTorque[3]"),
        (
            *("toolMass", "gearStiffness", "gearDampingRatio", "coulombTorque"),
            *("viscousFriction", "driveInertia"),
        ),
    ),
    Study(
        "FMUs.PositioningAxisClosedLoop",
        ("q", "qd", "force"),
        ("m", "viscousFriction", "coulombForce", "offset", "positionGain", "speedGain"),
    ),
    Study(
        "FMUs.DeltaInverse",
        ("tau[1]", "tau[2]", "tau[3]"),
        (
            *("lowerArmMass", "upperArmMass", "platformMass", "motorInertia", "gearEfficiency"),
            *("coulombTorque", "viscousFriction"),
        ),
    ),
)


def embedded() -> bool:
    """Print the table of the section; return whether all bars are held."""
    good = True
    print(
        f"{'embedded':<40}{'p':>3}{'tolerance':>11}{'error/tol':>11}{'plain/ms':>10}{'with p':>8}"
        f"{'bar':>6}"
    )
    entries = {e.class_name: e for e in read_catalog(find_catalog(ROOT)).entries}
    with tempfile.TemporaryDirectory() as folder:
        for study in STUDIES:
            name = f"Mechanisms.{study.machine}"
            fmu = build_class(
                name, sources=[ROOT / "modelica" / "Mechanisms"], output=Path(folder) / "model.fmu",
                compiler="embedded", force=True,
            )  # fmt: skip
            with Bench(plan_fmu(fmu, entries[name])) as bench:
                good &= _study(study, bench)
    return good


def _study(study: Study, bench: Bench) -> bool:
    good = True
    values, p, outputs = bench.main.values, len(study.parameters), len(study.outputs)
    setup = replace(bench.main.setup, output_names=study.outputs, sensitivities=study.parameters)
    with open_fmu(bench.fmu.path) as fmu, fmu.simulator(reuse="trusted") as simulator:
        exact = simulator.simulate(replace(setup, tolerance=1e-12), values)[:, outputs:]
        scale = np.abs(exact).max(axis=0)
        for tolerance in TOLERANCES:
            with_p = replace(setup, tolerance=tolerance)
            plain = replace(with_p, sensitivities=())
            found = simulator.simulate(with_p, values)[:, outputs:]
            errors = np.abs(found - exact) / np.where(scale > 0.0, scale, 1.0)
            error = float(errors.max()) / tolerance
            without = seconds(lambda: simulator.simulate(plain, values))  # noqa: B023
            ratio = seconds(lambda: simulator.simulate(with_p, values)) / without  # noqa: B023
            print(
                f"{study.machine:<40}{p:>3}{tolerance:>11.0e}{error:>11.2g}{1e3 * without:>10.2f}"
                f"{ratio:>8.1f}{study.most:>6.2f}"
            )
            good &= ratio <= study.most and error <= MOST_ERROR
    return good


LARGE = {"Chain": ("f", 400.0), "Rod": ("q", 100.0)}
"""Models of sensitivities/Large.mo: their input, and its amplitude."""


def large() -> bool:
    """Print the table of the section, which has no bar."""
    print(f"{'large':<20}{'p':>5}{'tolerance':>11}{'error/tol':>11}{'plain/ms':>10}{'with p':>8}")
    times = np.linspace(0.0, 4.0, 1001)
    with tempfile.TemporaryDirectory() as folder:
        for name, (driven, amplitude) in LARGE.items():
            path = build_class(
                f"Large.{name}", sources=[ROOT / "benchmarks" / "sensitivities" / "Large.mo"],
                output=Path(folder) / f"{name}.fmu", compiler="embedded",
            )  # fmt: skip
            signal = amplitude * np.sin(2.0 * np.pi * times)[:, None]
            setup = SimulationSetup(times, (driven,), signal, ("first", "middle", "last"))
            with open_fmu(path) as fmu, fmu.simulator(reuse="trusted") as simulator:
                _large(name, simulator, setup)
    return True


def _large(name: str, simulator: Simulator, setup: SimulationSetup) -> None:
    outputs = len(setup.output_names)
    known = tuple(f"k[{i + 1}]" for i in range(50))
    exact = simulator.simulate(replace(setup, tolerance=1e-11, sensitivities=known))[:, outputs:]
    for tolerance in TOLERANCES[:2]:
        plain = replace(setup, tolerance=tolerance)
        without = seconds(lambda: simulator.simulate(plain))  # noqa: B023
        for p in (1, 7, 25, 50):
            with_p = replace(plain, sensitivities=known[:p])
            began = time.process_time()
            found = simulator.simulate(with_p)[:, outputs:]
            ratio = (time.process_time() - began) / without
            wanted = exact[:, : p * outputs]
            scale = np.abs(wanted).max(axis=0)
            error = float((np.abs(found - wanted) / np.where(scale > 0.0, scale, 1.0)).max())
            print(
                f"{name:<20}{p:>5}{tolerance:>11.0e}{error / tolerance:>11.2g}"
                f"{1e3 * without:>10.2f}{ratio:>8.1f}"
            )


SECTIONS: dict[str, Callable[[], bool]] = {
    "model-exchange": model_exchange,
    "embedded": embedded,
    "large": large,
}


def main() -> int:
    """Run the sections."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []], default=[])
    chosen = parser.parse_args().section or list(SECTIONS)
    held = [SECTIONS[name]() for name in chosen]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
