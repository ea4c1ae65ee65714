"""Benchmark: one gradient against AMICI on the same equations, both compiled.

Forward sensitivities of all states with respect to all parameters at 1001 instants, which is what a
least-squares Jacobian or a gradient is made of. For each tool the fastest tolerance counts with
which the largest error of any column is below `TARGET` of its range, against a run at 1e-12;
processor time of one call, median of several in one run; of AMICI what it says its solver has
taken, without the call from Python. Bar: not slower.

    python benchmarks/against_amici.py [--packages FOLDER]

AMICI (https://pypi.org/project/amici/) is none of fmident's dependencies. It builds from source
with a C++ compiler, CMake, SWIG and a BLAS: install it beside fmident, or into an environment of
its own whose `site-packages` is the FOLDER. Ends with 1 when the bar is missed, with 2 without it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fmident.api.builds import build_class
from fmident.arrays import F64
from fmident.fmu import SimulationSetup, open_fmu

TARGET = 1e-6
TOLERANCES = tuple(10.0**-k for k in np.arange(3.0, 12.5, 0.5))
REFERENCE = 1e-12
REPEATS = 15


@dataclass(frozen=True)
class System:
    """Ordinary differential equations, the same text for both tools.

    Parameters
    ----------
    name
        Of the model.
    parameters, states
        Name to value, or start value.
    rates
        Derivative of each state, in symbols that Modelica and SBML share.
    end
        Last instant, s.
    """

    name: str
    parameters: Mapping[str, float]
    states: Mapping[str, float]
    rates: Mapping[str, str]
    end: float

    @property
    def times(self) -> F64:
        """Instants, shape (1001,)."""
        return np.linspace(0.0, self.end, 1001)


SYSTEMS = (
    System(
        "Oscillator",
        {"mass": 1.0, "damping": 0.4, "stiffness": 25.0, "force": 3.0},
        {"place": 0.0, "speed": 0.0},
        {"place": "speed", "speed": "(force - damping*speed - stiffness*place)/mass"},
        10.0,
    ),
    System(
        "Pursuit",
        {"a": 1.1, "b": 0.4, "c": 0.1, "e": 0.4},
        {"prey": 10.0, "hunters": 5.0},
        {"prey": "a*prey - b*prey*hunters", "hunters": "c*prey*hunters - e*hunters"},
        40.0,
    ),
    System(
        "Kinetics",
        {"k1": 0.04, "k2": 3e7, "k3": 1e4},
        {"y1": 1.0, "y2": 0.0, "y3": 0.0},
        {"y1": "-k1*y1 + k3*y2*y3", "y2": "k1*y1 - k3*y2*y3 - k2*y2*y2", "y3": "k2*y2*y2"},
        40.0,
    ),
)
"""A linear oscillator, a nonlinear one and Robertson's stiff reaction."""

Gradient = Callable[[float], tuple[F64, float]]
"""Tolerance to sensitivities, shape (instants, states * parameters), and seconds."""


def by_fmident(system: System, folder: Path) -> tuple[Gradient, Callable[[], None]]:
    """Return the sensitivities of an FMU of the embedded compiler, and what closes it."""
    lines = [f"model {system.name}"]
    lines += [f"  parameter Real {n} = {v!r};" for n, v in system.parameters.items()]
    lines += [f"  output Real {n}(start = {v!r}, fixed = true);" for n, v in system.states.items()]
    lines += ["equation", *(f"  der({n}) = {e};" for n, e in system.rates.items())]
    source = folder / f"{system.name}.mo"
    source.write_text("\n".join([*lines, f"end {system.name};"]) + "\n", encoding="utf-8")
    built = build_class(system.name, sources=[source], output=folder / f"{system.name}.fmu")
    fmu = open_fmu(built)
    simulator = fmu.simulator()
    width = len(system.states)

    def gradient(tolerance: float) -> tuple[F64, float]:
        setup = SimulationSetup(
            system.times,
            output_names=tuple(system.states),
            sensitivities=tuple(system.parameters),
            tolerance=tolerance,
        )
        begin = time.process_time()
        table = simulator.simulate(setup, system.parameters)
        return table[:, width:], time.process_time() - begin

    def close() -> None:
        simulator.close()
        fmu.close()

    return gradient, close


def by_amici(system: System, folder: Path) -> Gradient:
    """Return the sensitivities of a model that AMICI has compiled."""
    import libsbml
    from amici import SbmlImporter, import_model_module
    from amici.sim import sundials

    document = libsbml.SBMLDocument(3, 1)
    model = document.createModel()
    model.setId(system.name)
    for name, value in (system.parameters | system.states).items():
        parameter = model.createParameter()
        parameter.setId(name)
        parameter.setValue(value)
        parameter.setConstant(name in system.parameters)
    for name, text in system.rates.items():
        rule = model.createRateRule()
        rule.setVariable(name)
        rule.setMath(libsbml.parseL3Formula(text))
    source = folder / f"{system.name}.xml"
    libsbml.writeSBMLToFile(document, str(source))
    output = folder / f"amici_{system.name}"
    SbmlImporter(source).sbml2amici(system.name, output, compute_conservation_laws=False)
    compiled: Any = import_model_module(system.name, output).get_model()
    compiled.set_timepoints(system.times)
    ids = list(compiled.get_free_parameter_ids())
    order = [ids.index(name) for name in system.parameters]
    places = [list(compiled.get_state_ids()).index(name) for name in system.states]
    solver = compiled.create_solver()
    solver.set_sensitivity_order(sundials.SensitivityOrder.first)
    solver.set_sensitivity_method(sundials.SensitivityMethod.forward)

    def gradient(tolerance: float) -> tuple[F64, float]:
        solver.set_relative_tolerance(tolerance)
        solver.set_absolute_tolerance(tolerance * 1e-3)
        data = sundials.run_simulation(compiled, solver)
        found = np.asarray(data["sx"], dtype=np.float64)[:, order][:, :, places]
        return found.reshape(system.times.size, -1), 1e-3 * float(data["cpu_time"])

    return gradient


def best(gradient: Gradient) -> tuple[float, float, float]:
    """Return tolerance, error and seconds of the fastest run that is exact enough."""
    reference, _ = gradient(REFERENCE)
    spread = np.ptp(reference, axis=0)
    found = (np.nan, np.nan, np.inf)
    for tolerance in TOLERANCES:
        error = float(np.max(np.abs(gradient(tolerance)[0] - reference) / spread))
        if not error <= TARGET:
            continue
        seconds = float(np.median([gradient(tolerance)[1] for _ in range(REPEATS)]))
        if seconds < found[2]:
            found = (tolerance, error, seconds)
    return found


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--packages", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.packages is not None:
        sys.path.append(str(given.packages))
        os.environ["PYTHONPATH"] = str(given.packages)  # AMICI compiles in another process
    try:
        import amici
    except ImportError as error:
        print(f"AMICI is not installed ({error}): see the text at the top", file=sys.stderr)
        return 2
    print(f"AMICI {amici.__version__}; error below {TARGET:g} of range")
    print(f"{'system':12}{'tool':10}{'tolerance':>10}{'error':>10}{'ms':>10}")
    slower = False
    with tempfile.TemporaryDirectory() as place:
        for system in SYSTEMS:
            ours, close = by_fmident(system, Path(place))
            theirs = by_amici(system, Path(place))
            exact, (other, _) = ours(REFERENCE)[0], theirs(REFERENCE)
            if not bool((np.abs(exact - other) <= TARGET * np.ptp(exact, axis=0)).all()):
                raise SystemExit(f"{system.name}: the tools solve different problems")
            seconds = []
            for tool, gradient in (("fmident", ours), ("AMICI", theirs)):
                tolerance, error, took = best(gradient)
                seconds.append(took)
                print(f"{system.name:12}{tool:10}{tolerance:10.0e}{error:10.1e}{1e3 * took:10.3f}")
            close()
            slower |= seconds[0] > seconds[1]
            print(f"{system.name:12}AMICI / fmident: {seconds[1] / seconds[0]:.1f}", flush=True)
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
