"""Find out by trial what an FMU does, where its description cannot be relied on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError, SimulationError
from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import InputUpdate
from fmident.fmu.failure import RunFailed
from fmident.fmu.instance import CallFailed, Instance
from fmident.fmu.instances import TrialInstances, directly
from fmident.fmu.plan import Plan
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import Assignment
from fmident.fmu.variables import Value

if TYPE_CHECKING:
    from fmident.fmu.simulator import Simulator

_SHORT_STEP = 1e-3  # of the communication step
_FEEDTHROUGH_SHARE = 0.1

UNKNOWN = "could not find out whether outputs follow inputs at once"


@dataclass(frozen=True)
class Influence:
    """What changing one parameter does to the outputs.

    Parameters
    ----------
    name
        The parameter.
    changed
        Whether any output changed in any bit.
    largest
        Per output, the largest absolute change over time, in the output's unit.
    step
        The change of the parameter, in its unit.
    failure
        Message of the simulation with the changed parameter, if it failed.
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
    """Set a parameter to another value, simulate, and look whether the outputs change.

    Parameters
    ----------
    simulator, setup
        What to simulate; `setup` names the outputs.
    name
        A settable Real, Integer or Boolean variable.
    values
        Values of the other parameters, and of this one if it is not at its start value.
    step
        Change of the parameter; default 1 % of its value, or of its nominal value when it
        is zero; 1 for an Integer. A Boolean is inverted.
    reference
        Outputs without the change, if they are known already: saves a simulation.

    Returns
    -------
    Influence
        A failed simulation counts as a change: the FMU made use of the value.

    Raises
    ------
    FmuError
        The variable cannot be set, or has no value to start from.
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
    """Whether input derivatives change anything, as ``canInterpolateInputs`` promises.

    OpenModelica's FMUs announce it and hold the inputs all the same; with these,
    ``interpolation="mean"`` comes nearer to straight lines.

    Parameters
    ----------
    simulator, setup, values
        What to simulate: Real inputs that vary, and at least one output that they act on.

    Returns
    -------
    bool
        Whether the outputs differ in any bit between linear and held inputs. False where
        the FMU offers no interpolation, and where it makes no difference, as in a model
        without states, whose outputs are read at the instants only.

    Raises
    ------
    SimulationError
        The simulation failed.
    """
    if not simulator.description.can_interpolate_inputs:
        return False
    held = simulator.simulate(replace(setup, interpolation="hold"), values)
    linear = simulator.simulate(replace(setup, interpolation="linear"), values)
    return not _same(held, linear)


def trial_of(
    plan: Plan,
    description: ModelDescription,
    assignment: Assignment,
    values: Mapping[str, Value],
    instances: TrialInstances,
) -> Trial | None:
    """Return what finds out when inputs are to be set; ``None`` where it makes no difference.

    FMI wants outputs to be computed anew when they are read after inputs were set. Some
    FMUs compute them in ``fmi2DoStep`` only; read the usual way, their outputs lag one
    sample behind the inputs where there is direct feedthrough.

    Parameters
    ----------
    plan
        Laid out for ``"after_step"``.
    description
        The FMU.
    assignment, values
        What is set before initialisation.
    instances
        Those that are tried.
    """
    if not _may_feed_through(plan, description):
        return None
    return _Trial2(plan, description, assignment, values, instances)


def farthest(inputs: F64) -> int:
    """Return the instant whose inputs differ most from those at the start."""
    span = np.ptp(inputs, axis=0)
    span[span == 0.0] = 1.0
    return int(np.argmax(np.abs((inputs - inputs[0]) / span).sum(axis=1)))


def _may_feed_through(plan: Plan, description: ModelDescription) -> bool:
    """Whether any recorded output can depend directly on an input that varies."""
    if plan.times.size < 2 or not plan.real_output_references.size:
        return False
    reals = plan.real_inputs
    if reals.size == 0 or bool(np.all(reals == reals[0])):
        return False
    outputs = (column.name for column in plan.output_columns)
    return may_depend(description, outputs, plan.setup.input_names)


def may_depend(
    description: ModelDescription, outputs: Iterable[str], inputs: Iterable[str]
) -> bool:
    """Whether an output can depend directly on an input, by what the FMU declares."""
    declared, driving = description.output_dependencies, set(inputs)
    return any(
        (depends := declared.get(name)) is None or bool(depends & driving) for name in outputs
    )


class Trial:
    """Single steps with one input or another, each time from a new instance.

    Parameters
    ----------
    function
        The FMU's function that takes a step, for messages.
    step
        Size of a communication step, s.
    far
        The instant whose inputs differ most from those at the start.
    instances
        Those that are tried.
    variable_step
        Whether the FMU can take a shorter step.
    """

    def __init__(
        self,
        function: str,
        step: float,
        far: int,
        instances: TrialInstances,
        *,
        variable_step: bool,
    ) -> None:
        self.function = function
        self.h = step
        self.far = far
        self.instances = instances
        self.variable_step = variable_step
        self._apart: Callable[[Callable[[], Any]], Any] = directly

    def begin(self) -> None:
        """Bring a new instance to the first instant, with its inputs."""
        raise NotImplementedError

    def set_inputs(self, row: int) -> None:
        """Set the Real inputs to their values at an instant."""
        raise NotImplementedError

    def step(self, size: float) -> None:
        """Take a step from the first instant."""
        raise NotImplementedError

    def outputs(self) -> F64:
        """Return the Real outputs."""
        raise NotImplementedError

    def asks_for_lines(self) -> bool:
        """Whether inputs on straight lines are asked for."""
        return False

    def after_line(self) -> F64:
        """Return the outputs after one step with an input on a straight line."""
        raise NotImplementedError

    def decide(
        self, apart: Callable[[Callable[[], Any]], Any] = directly
    ) -> tuple[InputUpdate, str]:
        """Decide when u(t_(i+1)) must be set so that y(t_(i+1)) belongs to it.

        Parameters
        ----------
        apart
            Runs a part of the trial that needs an instance, as :func:`directly` or
            :func:`fmident.fmu.instances.forked` does.

        Returns
        -------
        tuple
            ``"after_step"`` or ``"before_step"``, and a remark for the log, possibly empty.
        """
        self._apart = apart
        try:
            answer = self._decide()
        except CallFailed as failed:
            # The run itself will tell if the FMU fails; a strange input may fail only here.
            self.instances.free(failed.status)
            return "after_step", UNKNOWN
        except RunFailed:
            answer = "after_step", UNKNOWN
        self.instances.free()
        return answer

    def _decide(self) -> tuple[InputUpdate, str]:
        if self.follows_at_once():
            return "after_step", ""
        feeds = self.feeds_through_in_step()
        if feeds is None:
            return (
                "after_step",
                "outputs do not change when inputs are set; whether the FMU has direct"
                " feedthrough cannot be detected: if it has, use input_update='before_step'",
            )
        if not feeds or self.interpolates():
            return "after_step", ""
        return (
            "before_step",
            f"the FMU computes its outputs in {self.function} only: inputs of the end of a step"
            " are set before it, so that outputs belong to the inputs of the same instant",
        )

    def interpolates(self) -> bool:
        """Whether inputs on straight lines are asked for and have an effect."""
        if not self.asks_for_lines():
            return False
        return not _same(self._apart(self.after_line), self.after_step_of(self.h, 0))

    def follows_at_once(self) -> bool:
        """Whether outputs change when inputs are set between two steps."""

        def look() -> bool:
            self.begin()
            self.step(self.h)
            before = self.outputs()
            for row in (1, self.far):
                self.set_inputs(row)
                if not _same(self.outputs(), before):
                    return True
            return False

        return bool(self._apart(look))

    def after_step_of(self, size: float, row: int) -> F64:
        """Return the outputs after one step with the inputs of instant `row`."""

        def look() -> F64:
            self.begin()
            self.set_inputs(row)
            self.step(size)
            return self.outputs()

        found: F64 = self._apart(look)
        return found

    def feeds_through_in_step(self) -> bool | None:
        """Whether an input acts on the outputs of a step at once, not through states.

        The effect through states vanishes with the size of the step, direct feedthrough
        does not. ``None``: cannot be told.
        """
        full = np.abs(self.after_step_of(self.h, self.far) - self.after_step_of(self.h, 0))
        if not np.any(full > 0.0):
            return False
        if not self.variable_step:
            return None
        short = self.h * _SHORT_STEP
        brief = np.abs(self.after_step_of(short, self.far) - self.after_step_of(short, 0))
        return bool(np.any(brief > _FEEDTHROUGH_SHARE * full))


class _Trial2(Trial):
    """Steps of FMI 2.0."""

    def __init__(
        self,
        plan: Plan,
        description: ModelDescription,
        assignment: Assignment,
        values: Mapping[str, Value],
        instances: TrialInstances,
    ) -> None:
        self.plan = plan
        self.assignment = assignment
        self.values = values
        super().__init__(
            "fmi2DoStep",
            float(plan.times[1] - plan.times[0]),
            farthest(plan.real_inputs),
            instances,
            variable_step=description.can_handle_variable_step,
        )

    @property
    def instance(self) -> Instance:
        return cast(Instance, self.instances.instance)

    def outputs(self) -> F64:
        return self.instance.get_reals(self.plan.real_output_references)

    def begin(self) -> None:
        self.plan.initialise(cast(Instance, self.instances.renew()), self.assignment, self.values)

    def set_inputs(self, row: int) -> None:
        references = self.plan.real_input_references
        self.instance.set_reals(references, self.plan.real_inputs[row])

    def step(self, size: float) -> None:
        self.instance.do_step(float(self.plan.times[0]), size)

    def asks_for_lines(self) -> bool:
        return self.plan.interpolation == "linear"

    def after_line(self) -> F64:
        self.begin()
        reals = self.plan.real_inputs
        slopes = np.ascontiguousarray((reals[self.far] - reals[0]) / self.h)
        self.instance.set_derivatives(self.plan.real_input_references, self.plan.orders, slopes)
        self.step(self.h)
        return self.outputs()


def _same(first: F64, second: F64) -> bool:
    return bool(np.array_equal(first, second, equal_nan=True))
