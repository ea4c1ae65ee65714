"""Repeated simulation of an FMU with one instance."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.context_managers import Closes, RecoverableLock
from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver, PlannedRun, Plans, UpdateChoice
from fmident.fmu.failure import (
    RunFailed,
    leading,
    not_finite,
    note,
    output_records,
    simulation_error,
)
from fmident.fmu.life_cycle.holder import InstanceHolder, Reuse, ReuseCheck
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.description import InterfaceChoice, ModelDescription
from fmident.fmu.model_description.variables import Value
from fmident.fmu.native_code.floating import standard_floating_point
from fmident.fmu.native_code.library import DISCARD
from fmident.fmu.native_code.log import Capture, LogBuffer, LogRecord, borrow_buffer, return_buffer
from fmident.fmu.native_code.program import FAILED_STEP, STATE_SIZE, WARNINGS
from fmident.fmu.plan import InputUpdate, Plan
from fmident.fmu.sensitivity_table import GET
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import I64, Assignment, Statistics

CHUNK_SECONDS = 0.05
"""The interpreter is asked for a pending Ctrl-C about this often."""

_FIRST_CHUNK = 8

Result = TypeVar("Result")


class OpenFmu(Protocol):
    """Interface of an open FMU required by a simulator, see :class:`fmident.fmu.Fmu`."""

    path: Path
    description: ModelDescription

    def driver(self, interface: InterfaceChoice, buffer: LogBuffer, update: UpdateChoice) -> Driver:
        """Return the driver of an interface, whose messages go to `buffer`."""

    def try_inputs(
        self, setup: SimulationSetup, values: Mapping[str, Value], interface: InterfaceChoice
    ) -> tuple[InputUpdate, str]:
        """Return when inputs must be set, found out in another process."""

    def register(self, simulator: Simulator) -> None:
        """Register a new simulator."""

    def forget(self, simulator: Simulator) -> None:
        """Remove a closed simulator."""


@dataclass(frozen=True)
class _Simulation:
    """What all passes of a run share.

    `time_limit` is that of each pass, s; `steps` and `warnings` are the counts before the run.
    """

    prepared: PlannedRun
    time_limit: float | None
    capture: Capture
    steps: int
    warnings: int


class Simulator(Closes):
    """Runs simulations of one FMU; made by :meth:`fmident.fmu.Fmu.simulator`.

    The instance is made once and reset before each run, if that has proven to be as good as a
    new one. After Error or Fatal it is replaced. A second thread that uses the same simulator
    waits: make one per thread.

    Parameters
    ----------
    fmu
        The open FMU.
    input_update
        When u(t_(i+1)) is set, see :class:`fmident.fmu.plan.Plan`. ``"auto"`` finds out
        whether the FMU computes its outputs anew when its inputs change. Most do.
    capture_output
        Keep what the FMU's code prints off the terminal and put it into the log. This
        concerns the whole process, see :mod:`fmident.fmu.native_code.log`.
    debug_logging
        Let the FMU log everything that it can; slow.
    progress
        Called with a word and the time reached, before each stage and step.
    single_steps
        Whether `progress` makes steps run one by one; else it hears of some.
    log_buffer
        Where the FMU's messages go; default private memory.
    loop_state
        int64, shape (4,): memory for the loop's state, from which another process can see in
        which step this one is, or ended: element 1, -1 before the first step.
    interface
        ``"co-simulation"``, ``"model-exchange"``, or ``"auto"``: Co-Simulation where the
        FMU offers it, else Model Exchange with SUNDIALS CVODE.
    reuse
        ``"checked"``: the first run of each setup on an instance that has been used is done
        again on a new one, and where the outputs differ in a bit, the FMU is instantiated for
        each run from then on. ``"never"``: it is so from the beginning. ``"trusted"``: the
        instance is reset and used, whatever comes out.

    Raises
    ------
    FmuError
        The FMU cannot be instantiated; the message holds the FMU's own.
    """

    def __init__(
        self,
        fmu: OpenFmu,
        *,
        input_update: UpdateChoice = "auto",
        capture_output: bool = True,
        debug_logging: bool = False,
        progress: Callable[[str, float], None] | None = None,
        single_steps: bool = True,
        log_buffer: LogBuffer | None = None,
        loop_state: I64 | None = None,
        interface: InterfaceChoice = "auto",
        reuse: Reuse = "checked",
    ) -> None:
        self.fmu = fmu
        self._interface: InterfaceChoice = interface
        self.description = fmu.description.with_interface(interface)
        self.input_update = input_update
        self._runs = self._failures = self._steps = 0
        self._warnings = 0
        self.log: tuple[LogRecord, ...] = ()
        self.doubt = ""  # why outputs were doubtful, of the first run for which they were
        self.captures_output = capture_output
        self._progress = progress
        self._single_steps = single_steps and progress is not None
        self._state = np.zeros(STATE_SIZE, dtype=np.int64) if loop_state is None else loop_state
        self._lock = RecoverableLock()
        self._seconds_per_step = 0.0
        self._closed = False
        self._owns_buffer = log_buffer is None
        self._buffer = borrow_buffer() if log_buffer is None else log_buffer
        self._driver = fmu.driver(interface, self._buffer, input_update)
        self._holder = InstanceHolder(
            self.description, self._driver.instantiate, debug_logging=debug_logging
        )
        self._plans = Plans(
            self._driver, self._try_inputs, lambda text: self._holder.notes.append(note(text))
        )
        self._reuse = ReuseCheck(self._holder, reuse)
        try:
            fmu.register(self)
            with standard_floating_point():
                self._holder.make_first(Capture(capture_output), self._records)
        except BaseException:
            self.close()
            raise

    def simulate(
        self,
        setup: SimulationSetup,
        values: Mapping[str, Value] | None = None,
        *,
        time_limit: float | None = None,
    ) -> F64:
        """Run one simulation.

        The output at t_i is read with the input of t_i. The simulation starts from the FMU's
        defaults, overridden by `setup.start_values` and then `values`.

        Parameters
        ----------
        setup
            Instants, inputs, outputs. Use the same object for further runs.
        values
            Parameters and start values of this run, in the FMU's units.
        time_limit
            Wall-clock limit of the run, s, checked between steps.

        Returns
        -------
        ndarray, shape (n, number of outputs)
            Outputs at `setup.times`, in the FMU's units; Booleans as 0 and 1. With
            `setup.sensitivities`, their derivatives are further columns.

        Raises
        ------
        SimulationError
            The FMU failed, gave NaN or infinity, or ran out of time; with simulation time and
            the FMU's messages.
        FmuError
            Names or values that do not fit the FMU.
        """
        with self._lock, standard_floating_point():
            if self._closed:
                raise FmuError("the simulator is closed", hint="make a new one: fmu.simulator()")
            self._buffer.clear()
            self._state[FAILED_STEP] = -1
            prepared = self._plans.prepare(setup, values or {})
            self._runs += 1
            capture = Capture(self.captures_output)
            run = _Simulation(prepared, time_limit, capture, self._steps, self._warnings)
            comparison = self._reuse.comparison(setup, prepared.values)
            outcomes: list[F64 | RunFailed] = []
            try:
                while not outcomes or (comparison and comparison.needs_another(outcomes)):
                    if outcomes:
                        self._forget(run)
                        self._holder.set_aside()
                    for plan in prepared.plan.passes:
                        failure = self._run_pass(plan, run)
                        if failure is not None:
                            break
                    outcomes.append(self._outcome(prepared.plan, plan, failure))
            finally:
                printed = output_records(capture.text)
                self.log = (*self._holder.notes, *self._records(), *printed)
                self._holder.notes.clear()
            if isinstance(outcomes[-1], RunFailed):
                self._failures += 1
                raise simulation_error(self.description.name, outcomes[-1], self.log)
            return outcomes[-1]

    def _forget(self, run: _Simulation) -> None:
        self._steps, self._warnings = run.steps, run.warnings
        self._state[FAILED_STEP] = -1
        self._buffer.clear()

    def _run_pass(self, plan: Plan, run: _Simulation) -> RunFailed | None:
        """Run a plan from start to end, again if it asks for that; return why it failed."""
        plan.renew()
        again = True
        while again:
            failure = None
            try:
                run.capture.begin()
                self._report("instantiate", plan.times[0])
                instance = self._holder.renew()
                self._report("initialise", plan.times[0])
                plan.initialise(instance, run.prepared.assignment, run.prepared.values)
                plan.read(instance, 0)
                self._refuse_not_finite(plan, 0, 1)
                self._run_steps(plan, run)
                self._terminate(ended=plan.finish())
            except CallFailed as call:
                failure = self.describe_failure(call, plan)
            except RunFailed as error:
                failure = error
            finally:  # see Capture.around
                try:
                    run.capture.end()
                except BaseException:
                    run.capture.end()
                    raise
            if failure is not None and failure.ended is not None:
                run.capture.around(lambda: self._terminate(ended=True))
            again = failure is not None and failure.again
            if again:
                self._forget(run)
                run.capture.around(self._holder.set_aside)
        self.doubt = self.doubt or plan.doubt
        notes = [note(text) for text in (*plan.remarks(), plan.doubt) if text]
        self._holder.notes.extend(n for n in notes if n not in self._holder.notes)
        return failure

    def _outcome(self, plan: Plan, last: Plan, failure: RunFailed | None) -> F64 | RunFailed:
        outputs = np.ascontiguousarray(plan.assemble()[:: plan.substeps])
        if failure is None:
            return outputs
        if last is not plan.passes[0] and not failure.timed_out:
            failure.code = failure.code or Code.NOT_DIFFERENTIABLE  # the outputs are there
        failure.outputs = leading(outputs, int(self._state[FAILED_STEP]) // plan.substeps + 1)
        return failure

    def _run_steps(self, plan: Plan, run: _Simulation) -> None:
        """Run all steps in chunks, between which the interpreter can respond."""
        time_limit = run.time_limit

        def check(reached: float) -> None:
            self._report("step", reached)
            if time_limit is not None and time.perf_counter() - started > time_limit:
                raise RunFailed(
                    f"the simulation took longer than {time_limit:g} s of wall-clock time",
                    time=reached,
                    hint="allow more time, or a larger communication step",
                    timed_out=True,
                    says_time=False,
                )

        state = self._state
        run_steps = plan.runner(state, check)
        state[:] = 0
        steps = plan.times.size - 1
        begin = 0
        started = now = time.perf_counter()
        chunk = _FIRST_CHUNK
        if self._seconds_per_step > 0.0:
            # Not all steps at once: this run may be slower than the last, and has a time limit.
            chunk = max(1, min(int(CHUNK_SECONDS / self._seconds_per_step), steps // 8))
        while begin < steps:
            if self._single_steps:
                chunk = 1
            self._report("step", plan.times[begin])
            end = min(steps, begin + chunk)
            good = run_steps(begin, end) or plan.ends_in_last_step(self.instance, state)
            done = end if good else int(state[FAILED_STEP])
            self._refuse_not_finite(plan, begin + 1, done + 1)
            before, now = now, time.perf_counter()
            if not good:
                self._count(done, int(state[WARNINGS]))
                self._raise_stopped(plan, state)
            per_step = max((now - before) / (end - begin), 1e-9)
            # A chunk may grow eightfold only: steps at the start can be quick ones.
            chunk = max(1, min(int(CHUNK_SECONDS / per_step), 8 * (end - begin)))
            begin = end
            run.capture.trim()
            if time_limit is not None and now - started > time_limit and begin < steps:
                self._count(begin, int(state[WARNINGS]))
                check(float(plan.times[begin]))
        self._seconds_per_step = (now - started) / steps if steps else 0.0
        self._count(steps, int(state[WARNINGS]))

    def _refuse_not_finite(self, plan: Plan, begin: int, end: int) -> None:
        """Check the rows `begin` to `end`; raise RunFailed if an output is not finite.

        Checks in each step would take longer than the steps of a small FMU. A value that is not
        finite takes precedence over a later failed call.
        """
        broken = plan.outputs.first_not_finite(begin, end)
        if broken is not None:
            row, name, value = broken
            if row > 0:
                self._state[FAILED_STEP] = row - 1
                self._count(row - 1, int(self._state[WARNINGS]))
            raise not_finite(name, value, float(plan.times[row]))

    def _terminate(self, *, ended: bool) -> None:
        """End the run, as FMI also requires if the FMU ended it; a refusal is only recorded."""
        try:
            self.instance.terminate()
        except CallFailed as failed:
            self._holder.notes.append(note(str(failed)))
            self._holder.drop(failed.status)
        if ended:
            self._holder.part()

    def prepare(self, setup: SimulationSetup, values: Mapping[str, Value] | None = None) -> None:
        """Determine how inputs are set in `setup`, at these values rather than at the first run's.

        Simulators of the same FMU thus agree to the last bit, whatever they run first. Raises
        `FmuError` for names or values that do not fit the FMU.
        """
        with self._lock:
            self._plans.prepare(setup, values or {})

    def renew_instance(self) -> None:
        """Free a used instance, so that the next run begins with a new one."""
        with self._lock:
            if not self._holder.is_new:
                self._aside(self._holder.drop)

    def _aside(self, work: Callable[[], Result]) -> Result:
        with standard_floating_point():
            return Capture(self.captures_output).around(work)

    def instantiate_for_each_run(self) -> None:
        """Stop resetting, for FMUs whose reset is incomplete."""
        self._holder.never_reset()

    @property
    def would_reset(self) -> bool:
        """Whether the next run begins with a reset, rather than with a new instance."""
        return self._holder.resets

    def trust_reset(self, setup: SimulationSetup | None = None, *, trusted: bool = True) -> None:
        """Stop checking resets, in one setup or in all; resume with ``trusted=False``."""
        self._reuse.trust(setup, trusted=trusted)

    def _try_inputs(
        self,
        driver: Driver,
        setup: SimulationSetup,
        plan: Plan,
        assignment: Assignment,
        values: Mapping[str, Value],
    ) -> tuple[InputUpdate, str]:
        """Return when inputs must be set, determined with separate instances."""
        trial = driver.trial(plan, assignment, values)
        if trial is None:
            return "after_step", ""
        if self.description.only_once_per_process:
            return self.fmu.try_inputs(setup, values, self._interface)
        # One instance at a time: not all FMUs keep their instances apart.
        self._aside(self._holder.set_aside)
        decision = self._aside(trial.decide)
        self._buffer.clear()
        return decision

    @property
    def instance(self) -> BaseInstance:
        """The live instance; for the modules of this package."""
        return self._holder.instance

    # ------------------------------------------------------------------ failures

    def _raise_stopped(self, plan: Plan, state: I64) -> NoReturn:
        stop = plan.stopped(state)
        failure = self.describe_failure(stop.failed, plan, stop.time)
        failure.message += stop.where
        failure.says_time = bool(stop.where)
        raise failure

    def describe_failure(
        self, failed: CallFailed, plan: Plan, reached: float | None = None
    ) -> RunFailed:
        """Return what failed at time `reached`, and free the instance if FMI demands it."""
        time = float(plan.times[0]) if reached is None else reached
        message = str(failed)
        if failed.detail:
            message += f" for {failed.detail}"
        ended = code = None
        if failed.status != DISCARD:
            self._holder.give_up(failed.status)
        elif failed.function == "fmi2DoStep":  # FMI allows asking for reasons after a step only
            explanation = self.instance.explain_discard()
            message += f" ({explanation})" if explanation else ""
            ended = self.instance.end_of_simulation(time)
        elif failed.function == GET:
            code = Code.NOT_DIFFERENTIABLE
        return RunFailed(message, time=time, ended=ended, says_time=False, code=code)

    # ------------------------------------------------------------------- the rest

    def _records(self) -> list[LogRecord]:
        return self._buffer.records(self.description.by_reference)

    def _report(self, stage: str, at: float) -> None:
        if self._progress is not None:
            self._progress(stage, float(at))

    def _count(self, steps: int, warnings: int) -> None:
        self._steps += steps
        self._warnings += warnings

    @property
    def statistics(self) -> Statistics:
        """Statistics of this simulator so far."""
        return Statistics(
            self._runs,
            self._failures,
            self._steps,
            self._holder.instantiations,
            self._warnings,
        )

    def close(self) -> None:
        """Free the instance; repeated calls have no effect."""
        if self._closed:
            return
        self._closed = True
        self._aside(self._plans.close)
        self._aside(self._holder.drop)
        self.fmu.forget(self)
        if self._owns_buffer:
            return_buffer(self._buffer)
