"""Simulation of an FMU in a child process, since its native code may crash, hang or exit.

The child leaves its trace in files that survive it: the stage, the time reached, the FMU's
messages. It is killed when no stage and no communication step begins for a while.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu.failure import output_records
from fmident.fmu.fmu import load_driver, open_fmu, read_description
from fmident.fmu.model_description.description import InterfaceChoice
from fmident.fmu.model_description.variables import Value
from fmident.fmu.native_code.log import BUFFER_BYTES, LogBuffer, decode
from fmident.fmu.native_code.program import FAILED_STEP, STATE_SIZE
from fmident.fmu.processes.child import (
    OUTPUT,
    START_LIMIT,
    Answer,
    Child,
    EngineSettings,
    ScratchFolder,
)
from fmident.fmu.setup import SimulationSetup
from fmident.operating_system import CRASHES, kind_of_crash, limit_memory

_STATE_AT = BUFFER_BYTES + 64
TRACE_BYTES = _STATE_AT + 8 * STATE_SIZE
"""Size of the trace: the ring of log messages, the time reached (f64), the stage (text), the state
of the simulation's loop."""

TRACE = "trace.bin"

_BEGIN = "Traceback (most recent call last):"
_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PACKAGE = Path(__file__).parents[2]

_COPY_LIMIT = 10.0
"""Wall-clock seconds for a stage in a copy of this process; what takes longer is begun again
without one."""

_POLL = 0.05

_STAGES = {
    "": "before it was loaded",
    "instantiate": "while it was being loaded and instantiated",
    "initialise": "during initialisation",
    "step": "in a communication step",
    "close": "while it was being freed",
}


@dataclass(frozen=True)
class Survival:
    """Result of a check that an FMU has passed.

    `time_reached` is simulation time, s, not `complete` if the budget ended the check.
    `wall_time` includes start-up, s.
    """

    time_reached: float
    complete: bool
    wall_time: float


def check_survives(
    path: str | os.PathLike[str],
    setup: SimulationSetup,
    values: Mapping[str, Value] | None = None,
    *,
    timeout: float = 60.0,
    budget: float = 2.0,
    memory_limit: int | None = None,
    interface: InterfaceChoice = "auto",
) -> Survival:
    """Run a setup step by step in a child process, so that a crash becomes an error.

    Parameters
    ----------
    path
        The ``.fmu`` file.
    setup, values
        As for :meth:`fmident.fmu.Simulator.simulate`.
    timeout
        Wall-clock seconds without progress after which the FMU is considered to hang and the
        child is killed; for loading, :data:`START_LIMIT` if that is longer.
    budget
        Wall-clock seconds of simulation after which the check ends successfully, even
        before the end of the setup.
    memory_limit
        Maximum address space of the child in bytes, if the platform can limit it.
    interface
        As for :class:`fmident.fmu.Simulator`.

    Returns
    -------
    Survival
        How far the simulation came.

    Raises
    ------
    SimulationError
        Native code crashed (the signal is named), hung, or ended the process; or the
        simulation failed normally.
    FmuError
        The FMU cannot be opened or does not fit the setup.
    """
    began = time.perf_counter()
    # Here rather than in the child: a copy has it then, and what must be compiled first is said.
    with contextlib.suppress(FmuError):  # the child will say what is wrong
        load_driver(read_description(path).with_interface(interface))
    settings = EngineSettings(str(Path(path).absolute()), interface, memory_limit=memory_limit)
    with ScratchFolder() as scratch:
        request = (settings, setup, dict(values or {}), budget)
        # A copy of this process is there at once. If it does not survive, that may be due to its
        # being a copy: then a process of its own decides.
        run = _run(scratch.path, request, timeout, copied=memory_limit is None)
        if run.end and run.copied:
            run = _run(scratch.path, request, timeout, copied=False)
        if run.end:
            raise _lost(path, scratch.path, run)
    wall_time = time.perf_counter() - began
    assert run.answer is not None  # else it has been lost
    return Survival(run.answer.reached, run.answer.complete, wall_time)


@dataclass(frozen=True)
class Apart:
    """Result of a simulation in a child process.

    `outputs` has shape (k, outputs), with fewer rows than instants after a `failure`.
    `remark` is a problem after the results were complete, or empty.
    """

    outputs: F64
    log: tuple[str, ...] = ()
    failure: SimulationError | None = None
    remark: str = ""


def simulate_apart(
    path: str | os.PathLike[str],
    setup: SimulationSetup,
    values: Mapping[str, Value] | None = None,
    *,
    patience: float = 60.0,
    interface: InterfaceChoice = "auto",
) -> Apart:
    """Simulate once in a child process, with an instance used for nothing else.

    The parameters are those of :func:`check_survives`, `patience` is its `timeout`. Returns all
    rows, or those before the failure. Raises `SimulationError` if native code crashed, hung, or
    ended the process, and `FmuError` if the FMU cannot be opened or does not fit the setup.
    """
    settings = EngineSettings(str(Path(path).absolute()), interface)
    with ScratchFolder() as scratch:
        place = scratch.path
        try:
            run = _run(place, (settings, setup, dict(values or {}), None), patience)
        except SimulationError as failure:
            failure.log = (*failure.log, *_printed(place))
            none = np.empty((0, 0))
            return Apart(none if failure.outputs is None else failure.outputs, failure.log, failure)
        if run.answer is None:
            raise _lost(path, place, run)
        remark = f"the native code of the FMU {run.end}, while it was being freed"
        log = (*run.answer.log, *_printed(place))
        return Apart(run.answer.outputs, log, remark=remark if run.end else "")


@dataclass(frozen=True)
class _Answer:
    """What a child has simulated."""

    reached: float
    complete: bool
    outputs: F64
    log: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    """End of a child: its answer, exit code, and the seconds for which it made no progress.

    `released` says whether the FMU has been freed.
    """

    answer: _Answer | None
    released: bool
    code: int
    stood_still: float | None
    copied: bool

    @property
    def end(self) -> str:
        """How it ended, if not as it should."""
        if self.stood_still is not None:
            return f"did not answer within {self.stood_still:g} s"
        return end_of_process(self.code) if self.code != 0 or not self.released else ""


def _run(
    place: Path, request: tuple[object, ...], patience: float, *, copied: bool = False
) -> _Run:
    """Let a child serve the request; raise the error with which its simulation failed."""
    with (place / TRACE).open("wb") as file:
        file.truncate(TRACE_BYTES)
    with Child(_simulate, place, request, copied=copied) as child:
        stood_still = _stood_still(child, Trace(place / TRACE), patience)
    answers = child.answers()
    answer, released = answers[0] if answers else None, len(answers) > 1
    return _Run(answer, released, child.returncode, stood_still, child.copied)


def _stood_still(child: Child, trace: Trace, patience: float) -> float | None:
    """Wait for the child; return the time without progress, or ``None`` when it ended."""
    seen, since = trace.progress, time.monotonic()
    while not child.wait(_POLL):
        now = trace.progress
        if now != seen:
            seen, since = now, time.monotonic()
        limit = max(patience, START_LIMIT) if seen[0] in ("", "instantiate") else patience
        if child.copied:
            limit = min(patience, _COPY_LIMIT)
        if time.monotonic() - since > limit:
            return limit
    return None


class _Enough(Exception):  # noqa: N818 - not an error
    """The budget is used up."""


def _simulate(
    place: Path,
    answer: Answer,
    settings: EngineSettings,
    setup: SimulationSetup,
    values: Mapping[str, Value],
    budget: float | None,
) -> None:
    """Simulate in this child process, step by step and within `budget`, if there is one."""
    if settings.memory_limit is not None:
        limit_memory(settings.memory_limit)
    trace = Trace(place / TRACE)
    deadline: float | None = None
    reached = float(setup.times[0])

    def progress(stage: str, at: float) -> None:
        nonlocal reached, deadline
        trace.report(stage, at)
        reached = at
        if stage != "step" or budget is None:
            return
        if deadline is None:  # loading the compiled loop of some interfaces takes its time
            deadline = time.monotonic() + budget
        elif time.monotonic() > deadline:
            raise _Enough

    fmu = open_fmu(settings.fmu)
    trace.report("instantiate", reached)
    simulator = fmu.simulator(
        capture_output=False,
        progress=progress,
        single_steps=budget is not None,
        log_buffer=LogBuffer(trace.memory),
        loop_state=trace.loop_state,
        interface=settings.interface,
        reuse="never",
    )
    complete, outputs = True, np.empty((0, 0))
    try:
        outputs = simulator.simulate(setup, values)
        reached = float(setup.times[-1])
    except _Enough:
        complete = False
    answer(_Answer(reached, complete, outputs, tuple(map(str, simulator.log))))
    trace.report("close", reached)
    fmu.close()
    answer("released")


def end_of_process(code: int) -> str:
    """Return a text on how a process without result ended."""
    name = kind_of_crash(code)
    if name is not None:
        return f"crashed with {name}" + (f" ({CRASHES[name]})" if name in CRASHES else "")
    return f"ended the whole process with exit code {code}"


def _printed(place: Path) -> list[str]:
    """Return what a child has printed as messages of a log."""
    text = (place / OUTPUT).read_text(encoding="utf-8", errors="replace")
    return [str(record) for record in output_records(text)]


def _lost(path: str | os.PathLike[str], place: Path, run: _Run) -> SimulationError:
    """Return the error of a child that has died, from the trace that it left."""
    trace = Trace(place / TRACE)
    stage, reached, _ = trace.progress
    description = read_description(path)
    hung = run.stood_still is not None
    records = decode(trace.memory, description.by_reference)
    printed = (place / OUTPUT).read_text(encoding="utf-8", errors="replace")
    records += output_records(printed)
    # 1: with a traceback, Python has ended the process; native code has left none of its own.
    own = traceback_of(printed) if run.code == 1 and not hung else None
    if own is not None:
        return SimulationError(
            f"the process that tried the FMU '{description.name}' failed in fmident's own code: "
            f"{own}",
            log=[str(record) for record in records],
            hint="this is a defect of fmident, not of the FMU: please report it with this log",
        )
    where = _STAGES.get(stage, "")
    when = f" at t = {reached!r} s" if stage == "step" else ""
    last_words = "; ".join(record.message for record in records[-3:])
    return SimulationError(
        f"the native code of the FMU '{description.name}' {run.end}, {where}{when}"
        + (f"; its last words: {last_words}" if last_words else ""),
        time=reached if stage == "step" else None,
        timed_out=hung,
        says_time=True,
        code=Code.TIMED_OUT if hung else Code.PROCESS_CRASHED,
        log=[str(record) for record in records],
        hint="allow more time if the model is that slow"
        if hung
        else "this is an error in the FMU: try other parameter values, a smaller step,"
        " or export it again with another tool or version",
    )


def traceback_of(printed: str) -> str | None:
    """Return exception, file and line of a traceback that ended fmident's code.

    ``None`` if `printed` ends with something else: output of native code or of Python
    inside the FMU, or a reached memory limit.
    """
    _, begin, last = printed.rpartition(_BEGIN)
    lines = last.rstrip().splitlines()
    frames = [match for match in map(_FRAME.match, lines) if match]
    ends = [line for line in lines if line and not line.startswith(" ")]
    own = [match for match in frames if Path(match["file"]).is_relative_to(_PACKAGE)]
    if not begin or not own or not ends or ends[0].startswith(MemoryError.__name__):
        return None
    return f"{own[-1]['file']}:{own[-1]['line']}: {ends[0]}"


class Trace:
    """The trace file in memory, of the child and of its parent."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), TRACE_BYTES)
        self.loop_state = np.frombuffer(self.memory, np.int64, STATE_SIZE, _STATE_AT)

    @property
    def stage(self) -> str:
        """The stage reported last."""
        text = bytes(self.memory[BUFFER_BYTES + 8 : BUFFER_BYTES + 56])
        return text.split(b"\0", 1)[0].decode()

    @property
    def progress(self) -> tuple[str, float, int]:
        """Stage, time and communication step, which change as long as the child makes progress."""
        (reached,) = struct.unpack_from("<d", self.memory, BUFFER_BYTES)
        return self.stage, reached, int(self.loop_state[FAILED_STEP])

    def report(self, stage: str, reached: float) -> None:
        """Record what is about to happen."""
        struct.pack_into("<d", self.memory, BUFFER_BYTES, reached)
        text = stage.encode()[:48].ljust(48, b"\0")
        self.memory[BUFFER_BYTES + 8 : BUFFER_BYTES + 56] = text
