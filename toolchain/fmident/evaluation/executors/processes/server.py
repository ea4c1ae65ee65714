"""What a worker process does: simulations with one instance of the FMU."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fmident.errors import FmuError, SimulationError
from fmident.fmu.fmu import open_fmu
from fmident.fmu.life_cycle.probe import ResetVerdict, try_reset
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.processes.child import Parent
from fmident.operating_system import PrivateMemory

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.fmu import SimulationSetup, Simulator
    from fmident.fmu.model_description.description import InterfaceChoice

_MOST_MESSAGES = 100
"""Messages kept of the log of a failed run, the last ones."""


def serve(parent: Parent, fmu: str, interface: InterfaceChoice, time_limit: float) -> None:
    """Load the FMU, then execute one command after the other.

    A command is the name of a method of :class:`Server` with its arguments. All are answered but
    those that return nothing: by the private memory in bytes, and what the method returns or the
    `FmuError` that it raises. The first answer says that the FMU is loaded.
    """
    os.chdir(parent.folder)
    memory = PrivateMemory()
    with open_fmu(fmu) as opened:
        simulator = opened.simulator(
            capture_output=False,
            log_buffer=LogBuffer(parent.trace.memory),
            interface=interface,
            loop_state=parent.trace.marks["loop"],
        )
        server = Server(parent, simulator, time_limit)
        parent.answer((memory(), True))
        for command, *arguments in parent.messages():
            try:
                answer = getattr(server, command)(*arguments)
            except FmuError as error:
                answer = error
            if answer is not None:
                parent.answer((memory(), answer))


class Server:
    """The commands of a worker."""

    def __init__(self, parent: Parent, simulator: Simulator, time_limit: float) -> None:
        self._marks = parent.trace.marks
        self._simulator = simulator
        self._time_limit = time_limit
        self._setups: dict[int, tuple[SimulationSetup, dict[str, float]]] = {}

    def learn(
        self, number: int, setup: SimulationSetup, values: dict[str, float], trusted: bool
    ) -> bool:
        """Receive a setup and determine how the FMU takes its inputs.

        `trusted` says that the trial has found a reset to be sufficient.
        """
        self._simulator.prepare(setup, values)
        if trusted:
            self._simulator.trust_reset(setup)
        self._setups[number] = setup, values
        return True

    def forget(self, number: int) -> None:
        """Drop a setup."""
        self._setups.pop(number, None)

    def run(self, number: int, values: dict[str, Any]) -> F64 | SimulationError:
        """Run one simulation."""
        self._marks["runs"] += 1
        setup, _ = self._setups[number]
        try:
            return self._simulator.simulate(setup, values, time_limit=self._time_limit)
        except SimulationError as error:
            error.log, error.outputs = error.log[-_MOST_MESSAGES:], None
            return error

    def try_reset(
        self, setups: Sequence[tuple[int, SimulationSetup, dict[str, float]]]
    ) -> ResetVerdict:
        """Learn setups, and test with them whether the FMU can be reset."""
        for number, setup, values in setups:
            self.learn(number, setup, values, trusted=False)

        def at_run(begins: bool) -> None:
            self._marks["trial"] = time.monotonic() if begins else 0.0

        trials = [self._setups[number] for number, *_ in setups]
        return try_reset(self._simulator, trials, time_limit=self._time_limit, at_run=at_run)

    def never_reset(self) -> None:
        """Use a new instance for each run from now on."""
        self._simulator.instantiate_for_each_run()
