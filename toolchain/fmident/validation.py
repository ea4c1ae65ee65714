"""Checks of an FMU before anyone relies on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmident.errors import SimulationError
from fmident.fmu import Fmu, ModelDescription, SimulationSetup, open_fmu
from fmident.fmu.guard import check_survives

_STEPS = 100
_DEFAULT_SPAN = 1.0


@dataclass(frozen=True)
class Check:
    """One check and how it ended.

    Parameters
    ----------
    name
        What was checked.
    passed
        Whether it is as it should be.
    detail
        What was found.
    """

    name: str
    passed: bool
    detail: str


def validate_fmu(path: Path, *, timeout: float = 60.0) -> tuple[Check, ...]:
    """Check the description, then simulate the FMU in a child process and here.

    Parameters
    ----------
    path
        The file.
    timeout
        Limit of the simulation in the child process, s.

    Returns
    -------
    tuple of Check
        A check that makes the later ones pointless is the last one.

    Raises
    ------
    fmident.errors.FmuError
        The file is no FMU that this machine could run at all.
    """
    with open_fmu(path) as fmu:
        checks = [_identity(fmu.description), _contents(fmu.description), _description(path)]
        setup = _short_setup(fmu.description)
        survived = _survives(path, setup, timeout)
        checks.append(survived)
        if survived.passed:
            checks.append(_repeats(fmu, setup))
    return tuple(checks)


def _identity(description: ModelDescription) -> Check:
    tool = f", made by {description.generation_tool}" if description.generation_tool else ""
    version = description.fmi_version
    return Check("identity", True, f"{description.name}, FMI {version} Co-Simulation{tool}")


def _contents(description: ModelDescription) -> Check:
    settable = len(description.settable_parameters)
    detail = (
        f"{_count(len(description.inputs), 'input')}, "
        f"{_count(len(description.outputs), 'output')}, "
        f"{_count(settable, 'parameter')} that can be set, "
        f"{_count(len(description.variables), 'variable')}"
    )
    return Check("contents", bool(description.outputs), detail)


def _description(path: Path) -> Check:
    from fmpy.validation import validate_fmu as problems_of

    problems: list[str] = problems_of(str(path))
    if not problems:
        return Check("model description", True, "no problem found by FMPy")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Check("model description", False, " ".join(problems[0].split()) + more)


def _survives(path: Path, setup: SimulationSetup, timeout: float) -> Check:
    try:
        survival = check_survives(path, setup, timeout=timeout)
    except SimulationError as error:
        return Check("simulation", False, error.message)
    return Check(
        "simulation", True, f"with its own start values to t = {survival.time_reached:g} s"
    )


def _repeats(fmu: Fmu, setup: SimulationSetup) -> Check:
    name = "repeatability"
    with fmu.simulator() as simulator:
        try:
            first = simulator.simulate(setup)
            second = simulator.simulate(setup)
        except SimulationError as error:
            return Check(name, False, error.message)
    if np.array_equal(first, second):
        return Check(name, True, "equal to the last bit after reset")
    difference = np.max(np.abs(second - first), axis=0)
    worst = int(np.argmax(difference))
    return Check(
        name,
        False,
        f"'{setup.output_names[worst]}' differs by {difference[worst]:.3g} after reset",
    )


def _short_setup(description: ModelDescription) -> SimulationSetup:
    """Return the default experiment of the FMU, with inputs at their start values."""
    start = description.default_start or 0.0
    stop = description.default_stop
    if stop is None or not stop > start:
        stop = start + _DEFAULT_SPAN
    return SimulationSetup(
        times=np.linspace(start, stop, _STEPS + 1),
        output_names=tuple(v.name for v in description.outputs if v.type != "String"),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
