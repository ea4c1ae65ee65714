"""Check that the FMU provides what the catalogue specifies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fmident.errors import SimulationError, UnitError
from fmident.fmu import Variable, influence
from fmident.units import parse_unit
from fmident.validation.bench import Bench, Experiment
from fmident.validation.result import Check
from fmident.words import counted

_ROWS = 200


def check_interface(bench: Bench) -> Check:
    """Compare inputs, outputs and identifiable parameters: names, units, settability."""
    interface = bench.plan.interface
    assert interface is not None  # the check is asked for only then
    about = bench.description
    wrong = [
        *_differences("input", interface.inputs, about.inputs),
        *_differences("output", interface.outputs, about.outputs),
    ]
    for name, unit in interface.identifiable.items():
        variable = about.by_name.get(name)
        if variable is None:
            near = about.nearest_to(name, about.parameters, kind="parameter")
            wrong.append(f"there is no parameter '{name}' ({near})")
        elif variable.causality != "parameter":
            reason = variable.why_not_settable or f"it is of causality '{variable.causality}'"
            wrong.append(f"parameter '{name}' cannot be set: {reason}")
        elif not _same_unit(unit, variable.unit):
            wrong.append(_unit_differs("parameter", name, variable.unit, unit))
    if wrong:
        return Check("interface", "failed", "; ".join(wrong))
    return Check(
        "interface",
        "ok",
        f"{counted(len(interface.inputs), 'input')}, {counted(len(interface.outputs), 'output')}, "
        f"{counted(len(interface.identifiable), 'identifiable parameter')} as in the catalogue",
    )


def check_parameters(bench: Bench) -> Check:
    """Change each identifiable parameter; an output must change with it."""
    name = "parameters"
    interface = bench.plan.interface
    assert interface is not None  # the check is asked for only then
    waiting = [p for p in interface.identifiable if p in bench.description.by_name]
    weakest, weakest_name = math.inf, ""
    varies = False
    # The first reference shows most of them; the others are for what it does not move.
    for experiment in _experiments(bench):
        if not waiting:
            break
        varies = varies or _moves(experiment)
        effects = _effects(bench, _thinned(experiment), waiting)
        for parameter, effect in effects.items():
            if effect < weakest:
                weakest, weakest_name = effect, parameter
        waiting = [p for p in waiting if p not in effects]
    if waiting:
        listed = ", ".join(f"'{p}'" for p in waiting)
        if bench.description.inputs and not varies:
            why = "no input moves in any of the experiments, which may be why: give a reference"
            return Check(name, "skipped", f"no output changes with {listed}; {why}")
        return Check(name, "failed", f"no output changes with {listed}: frozen in the FMU")
    return Check(
        name,
        "ok",
        f"each of {len(interface.identifiable)} changes an output; least '{weakest_name}', "
        f"1 % of it changes an output by {weakest:.1e} of its range",
        weakest,
    )


def _experiments(bench: Bench) -> Iterator[Experiment]:
    for reference in bench.plan.references:
        # Formulas of inputs may be followed less closely here.
        own_steps = replace(reference.experiment, refine=1)
        yield bench.reference(replace(reference, experiment=own_steps))
    yield bench.smoke


def _moves(experiment: Experiment) -> bool:
    inputs = experiment.setup.inputs
    return inputs is not None and bool(np.ptp(inputs, axis=0).any())


def _thinned(experiment: Experiment) -> Experiment:
    """Return a cheaper version of an experiment: fewer instants, the FMU's own tolerance."""
    setup = experiment.setup
    assert setup.inputs is not None  # set by SimulationSetup itself
    stride = max(1, setup.times.size // _ROWS)
    coarse = replace(
        setup, times=setup.times[::stride], inputs=setup.inputs[::stride], tolerance=None
    )
    return replace(experiment, setup=coarse)


def _effects(bench: Bench, experiment: Experiment, names: Sequence[str]) -> dict[str, float]:
    """Return the parameters with an effect, and the largest change over range of any output."""
    setup = experiment.setup
    base = bench.simulator.simulate(setup, experiment.values)
    spans = {
        n: max(float(column.max() - column.min()), 1e-300)
        for n, column in zip(setup.output_names, base.T, strict=True)
    }
    effects: dict[str, float] = {}
    for name in names:
        try:
            effect = influence(
                bench.simulator, setup, name, values=experiment.values, reference=base
            )
        except SimulationError:
            continue  # the run without the change has succeeded above
        if effect.failure is not None:
            effects[name] = math.inf  # the value was used: it made the simulation fail
        elif effect.changed:
            effects[name] = max(change / spans[n] for n, change in effect.largest.items())
    return effects


def _differences(kind: str, wanted: Mapping[str, str], variables: Sequence[Variable]) -> list[str]:
    there = {v.name: v.unit for v in variables}
    missing = [f"{kind} '{n}' is missing" for n in wanted if n not in there]
    surplus = [f"{kind} '{n}' is not in the catalogue" for n in there if n not in wanted]
    units = [
        _unit_differs(kind, n, there[n], unit)
        for n, unit in wanted.items()
        if n in there and not _same_unit(unit, there[n])
    ]
    return [*missing, *surplus, *units]


def _same_unit(wanted: str, unit: str | None) -> bool:
    if wanted == (unit or ""):
        return True
    try:
        return same_meaning(wanted or "1", unit or "1")
    except UnitError:
        return False


def same_meaning(first: str, second: str) -> bool:
    """Return whether a number means the same in two units, such as N.m and J.

    Raises `UnitError` if one of them cannot be parsed.
    """
    a, b = parse_unit(first), parse_unit(second)
    return (a.dimension, a.factor, a.offset) == (b.dimension, b.factor, b.offset)


def _unit_differs(kind: str, name: str, unit: str | None, wanted: str) -> str:
    return f"{kind} '{name}' has the unit '{unit or ''}', not '{wanted}'"
