"""Trials of an FMU's behaviour, where its description is unreliable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError, SimulationError
from fmident.fmu.model_description.variables import Value
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator

LONGEST = 1000
"""Instants that a trial has at most, so that it costs little."""


Trial = tuple[SimulationSetup, Mapping[str, Value]]
"""What is simulated, and with what values."""

_ASIDE = 1.01
"""Factor on the parameters in a run between two equal ones."""


@dataclass(frozen=True)
class Influence:
    """Effect of a change of one parameter by `step` on the outputs.

    `changed` is whether any output changed in any bit; `largest` is the largest absolute
    change over time of each output. `failure` is the message if the simulation failed.
    """

    name: str
    changed: bool
    largest: dict[str, float]
    step: float
    failure: str | None = None


def influence(
    simulator: Simulator,
    setup: SimulationSetup,
    name: str,
    *,
    values: Mapping[str, Value] | None = None,
    step: float | None = None,
    reference: F64 | None = None,
) -> Influence:
    """Change a parameter, simulate, and check whether the outputs change.

    Parameters
    ----------
    simulator, setup
        The simulation; `setup` names the outputs.
    name
        A settable Real, Integer or Boolean variable.
    values
        Values of the other parameters, and of this one if it is not at its start value.
    step
        Change of the parameter; by default 1 % of its value, or of its nominal value when
        it is zero; 1 for an Integer. A Boolean is inverted.
    reference
        Outputs without the change, if known: saves a simulation.

    Returns
    -------
    Influence
        A failed simulation counts as a change, since the FMU used the value.

    Raises
    ------
    FmuError
        The variable cannot be set, or has no initial value.
    SimulationError
        The simulation without the change failed.
    """
    variable = simulator.description.variable(name)
    base = dict(values or {})
    current = base.get(name, setup.start_values.get(name, variable.start))
    if current is None or isinstance(current, str):
        raise FmuError(
            f"variable '{name}' has no start value to change",
            hint="give its value: influence(..., values={name: value})",
        )
    if variable.type == "Boolean":
        changed: Value = not current
    elif variable.type == "Real":
        scale = abs(float(current)) or abs(variable.nominal or 0.0) or 1.0
        changed = float(current) + (0.01 * scale if step is None else step)
        if step is None and variable.maximum is not None and changed > variable.maximum:
            changed = float(current) - 0.01 * scale
    else:
        changed = int(current) + (1 if step is None else round(step))
    difference = float(changed) - float(current)
    before = simulator.simulate(setup, base) if reference is None else reference
    try:
        after = simulator.simulate(setup, {**base, name: changed})
    except SimulationError as error:
        return Influence(name, True, {}, difference, error.message)
    largest = np.max(np.abs(after - before), axis=0, initial=0.0)
    by_output = dict(zip(setup.output_names, (float(x) for x in largest), strict=True))
    return Influence(name, bool(np.any(after != before)), by_output, difference)


def interpolates_inputs(
    simulator: Simulator, setup: SimulationSetup, *, values: Mapping[str, Value] | None = None
) -> bool:
    """Return whether input derivatives have an effect, as ``canInterpolateInputs`` promises.

    OpenModelica's FMUs declare it but hold the inputs; for these, ``interpolation="mean"``
    is closer to linear interpolation. True if any bit of the outputs differs between linear
    and held inputs; `setup` needs varying Real inputs and outputs that they affect through
    states. Raises `SimulationError` if the simulation fails.
    """
    if not simulator.description.can_interpolate_inputs:
        return False
    held = simulator.simulate(replace(setup, interpolation="hold"), values)
    linear = simulator.simulate(replace(setup, interpolation="linear"), values)
    return not np.array_equal(held, linear, equal_nan=True)


@dataclass(frozen=True)
class ResetVerdict:
    """Result of the reset test.

    With `reinstantiate`, the FMU must be instantiated for each run; with `new_process`,
    each run even needs its own process. `note` is for the user, or empty; `doubt` says why
    the outputs of a run are doubtful.
    """

    reinstantiate: bool = False
    note: str = ""
    new_process: bool = False
    doubt: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The note, as those of an executor, unless outcomes are doubtful."""
        return (self.note,) if self.note and not self.new_process else ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """The note, as one of an executor with doubtful outcomes, and why runs are."""
        unclean = self.note if self.new_process else ""
        return tuple(text for text in (unclean, self.doubt) if text)


def try_reset(
    simulator: Simulator,
    trials: Sequence[Trial],
    *,
    time_limit: float | None = None,
    at_run: Callable[[bool], None] = lambda _: None,
) -> ResetVerdict:
    """Run, reset, run again, and check whether the outputs are equal to the last bit.

    The first trial is run on a new instance, then with other parameters, followed by all
    others; then the first is repeated and compared, and the others are compared with runs
    on new instances. If outputs differ, two new instances are compared: if they agree, the
    reset is the cause, and `simulator` instantiates for each run from now on. Otherwise
    only a new process is clean.

    `simulator` must not have run anything. `trials` are the intended runs, at least one; of
    long ones the first :data:`LONGEST` instants are used. `time_limit` is per run,
    wall-clock s. `at_run` is called with ``True`` at the beginning of a run, ``False`` at
    its end. There is no finding if the first run fails.
    """
    attempt = _Attempt(simulator, trials, time_limit, at_run)
    verdict = attempt.verdict()
    for setup, _ in trials:
        simulator.trust_reset(setup, trusted=attempt.compared)
    return replace(verdict, doubt=simulator.doubt)


class _Attempt:
    def __init__(
        self,
        simulator: Simulator,
        trials: Sequence[Trial],
        time_limit: float | None,
        at_run: Callable[[bool], None],
    ) -> None:
        self._simulator = simulator
        self._trials = [(setup.shortened(LONGEST), values) for setup, values in trials]
        self._time_limit = time_limit
        self._at_run = at_run
        self.compared = False

    def outputs(
        self, setup: SimulationSetup, values: Mapping[str, Value], *, anew: bool
    ) -> F64 | None:
        """Run on a new instance or a used one; return the outputs, ``None`` if that fails."""
        simulator, outputs = self._simulator, None
        if anew:
            simulator.prepare(setup, values)
            simulator.renew_instance()
        # A run that has failed may have taken the used instance with it.
        for _ in range(1 if anew or simulator.would_reset else 2):
            simulator.trust_reset(setup)
            self._at_run(True)
            try:
                outputs = simulator.simulate(setup, values, time_limit=self._time_limit)
            except SimulationError:
                outputs = None
            finally:
                self._at_run(False)
        return outputs

    def verdict(self) -> ResetVerdict:
        for trial in self._trials:
            self._simulator.prepare(*trial)
        setup, values = self._trials[0]
        first = self.outputs(setup, values, anew=True)
        if first is not None and not self._simulator.would_reset and setup.times.size > 2:
            # The FMU itself ended the first run, at its last instant: that does without a reset.
            setup = setup.shortened(setup.times.size - 1)
            first = self.outputs(setup, values, anew=True)
        if first is None:
            return ResetVerdict()
        self.compared = True
        shifted_values = _moved(values)
        aside = [(setup, shifted_values)] if shifted_values else []
        others = []
        for other, given in (*aside, *self._trials[1:]):
            others.append((other, given, self.outputs(other, given, anew=False)))
        again = self.outputs(setup, values, anew=False)
        if again is None or not np.array_equal(first, again):
            return self._blame(setup, values, first, again)
        for other, given, outputs in others:
            fresh = self.outputs(other, given, anew=True)
            if fresh is not None and (outputs is None or not np.array_equal(fresh, outputs)):
                return self._blame(other, given, fresh, outputs)
        return ResetVerdict()

    def _blame(
        self, setup: SimulationSetup, values: Mapping[str, Value], first: F64, again: F64 | None
    ) -> ResetVerdict:
        fresh = self.outputs(setup, values, anew=True)
        prefix = "fmi3" if self._simulator.description.fmi_version.startswith("3.") else "fmi2"
        after = "the run after fails" if again is None else _largest(first, again, setup)
        if fresh is not None and np.array_equal(first, fresh):
            self._simulator.instantiate_for_each_run()
            return ResetVerdict(
                True,
                f"{prefix}Reset does not bring the FMU back to its initial state ({after}):"
                " it is instantiated anew for each simulation, which takes longer",
            )
        return ResetVerdict(
            False,
            f"the FMU does not repeat itself ({after}), not even when it is instantiated anew:"
            " results depend on what was simulated before in the same process",
            new_process=True,
        )


def _moved(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values with all floats changed; empty if there are none."""
    shifted_values = {n: _ASIDE * v for n, v in values.items() if isinstance(v, float) and v != 0.0}
    return {**values, **shifted_values} if shifted_values else {}


def _largest(first: F64, again: F64, setup: SimulationSetup) -> str:
    difference = np.abs(again - first).max(axis=0)
    size = np.abs(first).max(axis=0)
    worst = int(np.argmax(difference / np.where(size > 0.0, size, 1.0)))
    return (
        f"output '{setup.output_names[worst]}' differs by {difference[worst]:.3g} in a second run"
    )
