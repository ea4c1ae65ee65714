"""Main program of a worker process; called with its file descriptors."""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import pickle
import signal
import struct
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.errors import FmuError, SimulationError
from fmident.evaluation.executors.processes.protocol import (
    HEADER,
    STATE_AT,
    TRACE_BYTES,
    TRIAL_AT,
    Command,
    Reply,
    Slots,
    frame,
)
from fmident.fmu.fmu import open_fmu
from fmident.fmu.life_cycle.probe import try_reset
from fmident.fmu.native_code.log import BUFFER_BYTES, LogBuffer
from fmident.fmu.native_code.program import STATE_SIZE
from fmident.operating_system import (
    PrivateMemory,
    adopt_orphans,
    flush_c_streams,
    hide_core_files,
    offer_to_be_ended_first,
    passed_on,
    tie_to_parent,
)

if TYPE_CHECKING:
    from fmident.fmu import Fmu, Simulator
    from fmident.fmu.processes.child import EngineSettings

_MOST_MESSAGES = 100
"""Messages kept of the log of a failed run, the last ones."""


def main(*descriptors: str) -> None:
    """Serve commands until the other end of the pipe is closed."""
    commands, replies, life, slots, log = map(passed_on, descriptors)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tie_to_parent(life)
    adopt_orphans()
    hide_core_files()
    offer_to_be_ended_first()
    server = _Server(replies, slots, log)
    try:
        server.serve(commands)
    finally:
        server.close()
    os._exit(0)


class _Server:
    def __init__(self, replies: int, slots: int, log: int) -> None:
        self.replies = replies
        self.slots_file, self.log_file = slots, log
        self.slots: Slots | None = None
        self.fmu: Fmu | None = None
        self.simulator: Simulator | None = None
        self.setups: dict[int, tuple[Any, dict[str, float]]] = {}
        self.names: dict[int, list[str]] = {}
        self.time_limit: float | None = None
        self.trace: mmap.mmap | None = None
        self.begun = 0
        self.memory = PrivateMemory()

    def serve(self, commands: int) -> None:
        """Execute one command after the other."""
        act = {
            Command.OPEN: self.open,
            Command.SETUP: self.setup,
            Command.FORGET: self.forget,
            Command.NAMES: self.take_names,
            Command.MAP: self.map,
            Command.RUN: self.run,
            Command.TRY_RESET: self.try_reset,
            Command.NEVER_RESET: self.never_reset,
        }
        with os.fdopen(commands, "rb") as stream:
            while len(head := stream.read(HEADER.size)) == HEADER.size:
                kind, slot, number, length = HEADER.unpack(head)
                body = stream.read(length)
                try:
                    act[Command(kind)](slot, number, body)
                except FmuError as error:
                    self.reply(Reply.REFUSED, slot, pickle.dumps(error))

    def reply(self, kind: int, slot: int = 0, body: bytes = b"") -> None:
        """Reply after flushing everything that the FMU printed."""
        flush_c_streams()
        data = memoryview(frame(kind, slot, self.memory(), body))
        while data:
            data = data[os.write(self.replies, data) :]

    def open(self, _slot: int, _number: int, body: bytes) -> None:
        """Load and instantiate the FMU; import what simulations need."""
        settings: EngineSettings = pickle.loads(body)
        self.time_limit = settings.time_limit
        if settings.folder is not None:
            os.chdir(settings.folder)
        self.fmu = open_fmu(settings.fmu)
        self.trace = mmap.mmap(self.log_file, TRACE_BYTES)
        log = LogBuffer(self.trace)
        self.simulator = self.fmu.simulator(
            capture_output=False,
            log_buffer=log,
            interface=settings.interface,
            loop_state=np.frombuffer(self.trace, np.int64, STATE_SIZE, STATE_AT),
        )
        self.reply(Reply.READY)

    def setup(self, _slot: int, number: int, body: bytes) -> None:
        """Receive a setup and determine how the FMU takes its inputs."""
        assert self.simulator is not None
        setup, values, trusted = pickle.loads(body)
        self.simulator.prepare(setup, values)
        if trusted:
            self.simulator.trust_reset(setup)
        self.setups[number] = setup, values
        self.reply(Reply.DONE)

    def forget(self, _slot: int, number: int, _body: bytes) -> None:
        """Drop a setup."""
        self.setups.pop(number, None)

    def take_names(self, _slot: int, number: int, body: bytes) -> None:
        """Receive the names of values in later tasks."""
        self.names[number] = json.loads(body)

    def map(self, _slot: int, number: int, _body: bytes) -> None:
        """Map the shared memory again after it has grown."""
        self.slots = Slots(self.slots_file, number)

    def run(self, slot: int, number: int, body: bytes) -> None:
        """Run one simulation."""
        assert self.simulator is not None
        assert self.slots is not None
        assert self.trace is not None
        setup, _ = self.setups[number >> 32]
        names = self.names[number & 0xFFFFFFFF]
        numbers = self.slots.values(slot, len(names))
        values: dict[str, Any] = dict(zip(names, numbers.tolist(), strict=True))
        if body:
            values.update(pickle.loads(body))
        failure = b""
        self.begun += 1
        struct.pack_into("<q", self.trace, BUFFER_BYTES, self.begun)
        try:
            outputs = self.simulator.simulate(setup, values, time_limit=self.time_limit)
            self.slots.outputs(slot, outputs.shape, len(names))[:] = outputs
        except SimulationError as error:
            error.log, error.outputs = error.log[-_MOST_MESSAGES:], None
            failure = pickle.dumps(error)
        self.reply(Reply.OUTCOME, slot, failure)

    def try_reset(self, _slot: int, _number: int, body: bytes) -> None:
        """Test whether the FMU can be reset."""
        assert self.simulator is not None
        trace, trials = self.trace, [self.setups[number] for number in json.loads(body)]
        assert trace is not None

        def at_run(begins: bool) -> None:
            struct.pack_into("<d", trace, TRIAL_AT, time.monotonic() if begins else 0.0)

        verdict = try_reset(self.simulator, trials, time_limit=self.time_limit, at_run=at_run)
        self.reply(Reply.DONE, 0, json.dumps(dataclasses.asdict(verdict)).encode())

    def never_reset(self, _slot: int, _number: int, _body: bytes) -> None:
        """Use a new instance for each run from now on."""
        assert self.simulator is not None
        self.simulator.instantiate_for_each_run()

    def close(self) -> None:
        """Free the FMU and its unpacked files."""
        if self.fmu is not None:
            self.fmu.close()
