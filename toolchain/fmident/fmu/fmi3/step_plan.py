"""A setup, resolved against one FMU of FMI 3.0 for Co-Simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fmident.fmu.fmi3 import loop
from fmident.fmu.life_cycle.instance import BaseInstance
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Variable
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import Library
from fmident.fmu.plan import EventPlan, InputUpdate, Runner, Stop
from fmident.fmu.sensitivity_table import Sensitivities
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import I64


class StepPlan3(EventPlan):
    """A plan whose loop handles early returns, and events in event mode.

    Parameters
    ----------
    setup, description, library, update
        As for :class:`fmident.fmu.plan.Plan`.
    table
        The shared table, which the FMU's calls back use, too.

    Raises
    ------
    FmuError
        Names or values that do not fit the FMU; linear interpolation asked of an FMU
        without intermediate update.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        table: I64,
        update: InputUpdate = "after_step",
    ) -> None:
        super().__init__(setup, description, library, update, loop=loop, table=table)
        self.capable = description.capabilities
        self._lay_out()

    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return why a continuous input cannot follow straight lines; empty where it can."""
        if description.capabilities.provides_intermediate_update and variable.intermediate:
            return ""
        return (
            "does not take inputs within a step"
            " (providesIntermediateUpdate, intermediateUpdate of the inputs)"
        )

    def differentiated(
        self, setup: SimulationSetup, description: ModelDescription
    ) -> Sensitivities | None:
        """Return what is recorded beside the outputs; ``None`` where nothing is asked for."""
        names, known = setup.output_names, setup.sensitivities
        rows = setup.times.size
        return Sensitivities(description, self.library, names, known, rows) if known else None

    def _lay_out(self) -> None:
        self._record = self.outputs.program
        if self.sensitivities is not None:
            self._record = np.concatenate([self.sensitivities.program, self.outputs.program])
            self.sensitivities.program = self._record[:1]
            self.outputs.program = self._record[1:]
        mover, groups = self.inputs.mover, self.inputs.groups
        self._jumps: npt.NDArray[np.bool_] = np.zeros(self.times.size, dtype=np.bool_)
        self._jump = mover.program(())
        if self.update == "before_step":
            discrete = self.inputs.discrete
            self._before = mover.program([g for g in groups if g not in discrete])
            self._after = mover.program(discrete)
            return
        self._before = mover.program(self.means, 0)
        if self.capable.has_event_mode:
            # What jumps is set in event mode: FMI demands it, also of continuous inputs.
            self._after = mover.program(self.inputs.lines)
            self._jump = mover.program([*self.inputs.held, *self.inputs.averaged])
        else:
            self._after = mover.program(groups)

    def claim(self, instance: BaseInstance) -> None:
        """Write to the shared table, which other plans of the simulator use, too."""
        if self.capable.has_event_mode:
            self._jumps = self.inputs.jumps(self.means)
        table, find = self._table, self.library.address
        table[:] = 0
        table[program.VERSION] = 3
        table[program.COMPONENT] = instance.component or 0
        table[loop.DO_STEP] = find("fmi3DoStep")
        table[program.ENTER_EVENT] = find("fmi3EnterEventMode")
        table[program.UPDATE] = find("fmi3UpdateDiscreteStates")
        table[loop.ENTER_STEP] = find("fmi3EnterStepMode")
        table[loop.EVENT_MODE] = self.capable.has_event_mode
        table[loop.VARIABLE_STEP] = self.capable.can_handle_variable_step
        table[program.INFO] = self._info.ctypes.data
        table[program.TIMES] = self.times.ctypes.data
        self._reals[:] = (self.times[0], np.inf, 0.0)

    def settle(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events, where there is event mode; from then on inputs move."""
        if self.capable.has_event_mode:
            self.settle_events(begin)
        self.claim_lines()

    def runner(
        self,
        instance: BaseInstance,
        *,
        pause: Callable[[float], None],
    ) -> Runner:
        """Return what runs the steps."""

        def run(begin: int, end: int, state: I64) -> bool:
            return bool(
                loop.run_steps(
                    self._table, self._reals, self.times, self._before, self._jump,
                    self._after, self._record, self._jumps, begin, end, state,
                )
            )  # fmt: skip

        return run

    def stopped(self, state: I64) -> Stop:
        """Say why the loop stopped; see :class:`fmident.fmu.plan.Plan`."""
        stop = super().stopped(state)
        if stop.failed.function != "fmi3DoStep":
            return stop
        size = float(self.times[int(state[program.FAILED_STEP]) + 1]) - stop.time
        return Stop(stop.failed, stop.time, f"{stop.where} (step of {size:g} s)")

    def explain_more(self, outcome: int, time: float) -> tuple[str, str]:
        """Return message and hint of an outcome that this loop alone has."""
        table, at = self._table, f" at t = {time!r} s"
        return {
            program.ZENO: (
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {int(table[program.INTERVAL_EVENTS])} events within one communication step,"
                f" {int(table[loop.STALLED])} of them without progress",
                "let the model come to rest below a small velocity, or give its switch a"
                " hysteresis",
            ),
            loop.WRONG_TIME: (
                f"fmi3DoStep returned early{at} and claims to have reached"
                f" {float(self._reals[loop.RETURNED])!r} s, which is outside the step",
                "this is an error in the FMU",
            ),
            loop.FIXED_STEP: (
                f"fmi3DoStep returned early{at}, but the FMU cannot take a step of another size"
                " for the rest (canHandleVariableCommunicationStepSize is false)",
                "export the FMU with variable communication steps",
            ),
            loop.UNASKED: (
                f"the FMU wants an event to be handled{at}, which its description does not"
                " offer (hasEventMode is false)",
                "this is an error in the FMU: description and library do not agree",
            ),
        }[outcome]
