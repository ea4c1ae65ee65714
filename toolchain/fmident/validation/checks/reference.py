"""Whether the FMU follows a recorded trajectory."""

from __future__ import annotations

from fmident.errors import FmidentError
from fmident.validation.bench import Bench
from fmident.validation.check import Check
from fmident.validation.checks.tube import Excess, largest_excess
from fmident.validation.fmu_plan import Reference


def check_reference(bench: Bench, reference: Reference, name: str) -> Check:
    """Repeat the trajectory; every signal must stay in the tube around it."""
    asked, trajectory = reference.experiment, reference.trajectory
    try:
        experiment = bench.reference(reference)
        found = bench.simulate(experiment.setup, experiment.values)[:: experiment.stride]
    except FmidentError as error:
        return Check(name, "failed", error.message)
    assert experiment.expected is not None  # an experiment of a reference has it
    excesses: list[tuple[float, str, Excess]] = []
    for column, signal in enumerate(experiment.setup.output_names):
        excess = largest_excess(
            trajectory.times,
            experiment.expected[:, column],
            trajectory.times,
            found[:, column],
            asked.tube_time,
        )
        excesses.append((excess.deviation / asked.tubes.get(signal, asked.tube), signal, excess))
    share, signal, worst = max(excesses, key=lambda item: item[0])
    figure = max(excess.deviation for _, _, excess in excesses)
    allowed = asked.tubes.get(signal, asked.tube)
    detail = (
        f"'{signal}' deviates most: {worst.deviation:.1e} of its range at t = {worst.time:g} s, "
        f"allowed {allowed:.0e}; {len(excesses)} signals, {trajectory.times.size} instants"
    )
    passed = share <= 1.0
    if not passed:
        others = [s for other, s, _ in excesses if other > 1.0 and s != signal]
        detail += f"; there it is {worst.value:.9g}, the reference {_interval(worst)}"
        detail += f"; outside too: {', '.join(others)}" if others else ""
    given = {*experiment.setup.input_names, *experiment.values}
    kept = [v.name for v in bench.description.inputs if v.name not in given]
    if kept:
        detail += f"; without a column, inputs keep their start values: {', '.join(kept)}"
    if experiment.left_out and not reference.strict:
        detail += f"; not in the FMU: {', '.join(experiment.left_out)}"
    return Check(name, "ok" if passed else "failed", detail, figure)


def _interval(excess: Excess) -> str:
    if excess.low == excess.high:
        return f"{excess.low:.9g}"
    return f"{excess.low:.9g} to {excess.high:.9g}"
