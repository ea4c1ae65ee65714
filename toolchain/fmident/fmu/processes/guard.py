"""Trial of an FMU in a child process, since its native code may crash, hang or exit.

The child runs the intended setup step by step, and leaves its trace in files that
survive it: the stage, the time reached, the FMU's messages.
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
from typing import Any

import numpy as np

from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu.drivers import load_driver
from fmident.fmu.fmu import read_description
from fmident.fmu.model_description.description import InterfaceChoice
from fmident.fmu.model_description.variables import Value
from fmident.fmu.native_code.log import BUFFER_BYTES, LogRecord, decode
from fmident.fmu.native_code.program import FAILED_STEP, STATE_SIZE
from fmident.fmu.processes.child import (
    OUTPUT,
    START_LIMIT,
    Child,
    EngineSettings,
    ErrorFacts,
    ScratchFolder,
)
from fmident.fmu.setup import SimulationSetup
from fmident.operating_system import CRASHES, kind_of_crash

_STATE_AT = BUFFER_BYTES + 64
TRACE_BYTES = _STATE_AT + 8 * STATE_SIZE
"""Size of the trace: the ring of log messages, the time reached (f64), the stage (text), the state
of the simulation's loop."""

TRACE = "trace.bin"

_BEGIN = "Traceback (most recent call last):"
_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PACKAGE = Path(__file__).parents[2]

_COPY_LIMIT = 10.0
"""Wall-clock seconds for a copy of this process; what takes longer is begun again without one."""

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
    """Run a setup in a child process, so that a crash becomes an error.

    Parameters
    ----------
    path
        The ``.fmu`` file.
    setup, values
        As for :meth:`fmident.fmu.Simulator.simulate`.
    timeout
        Wall-clock seconds after which the FMU is considered to hang and the child is
        killed, from its instantiation on; before, :data:`.child.START_LIMIT` if that is
        longer.
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
    with ScratchFolder() as scratch:
        place = scratch.path
        file = str(Path(path).resolve())
        settings = EngineSettings(file, interface, memory_limit=memory_limit)
        request = (settings, setup, dict(values or {}), budget)
        # A copy of this process is there at once. If it does not answer, that may be due to its
        # being a copy: then a process of its own decides.
        tried = _tried(place, request, timeout, copied=memory_limit is None)
        if tried.outcome is None and tried.copied:
            tried = _tried(place, request, timeout, copied=False)
        outcome, hung = tried.outcome, tried.limit is not None
        if hung or outcome is None:
            end = f"did not answer within {tried.limit:g} s" if hung else end_of_process(tried.code)
            raise lost(path, place, end, hung=hung, code=tried.code)
    if "error" in outcome:
        raise ErrorFacts.read(outcome["error"]).error()
    wall_time = time.perf_counter() - began
    return Survival(outcome["time"], bool(outcome["complete"]), wall_time)


@dataclass(frozen=True)
class _Tried:
    """Outcome of a child: its answer, exit code, and the limit exceeded."""

    outcome: Any
    code: int
    limit: float | None
    copied: bool


def _tried(place: Path, request: object, timeout: float, *, copied: bool) -> _Tried:
    """Let a child serve the request."""
    make_trace(place)
    with Child("fmident.fmu.processes.guard_child", place, request, copied=copied) as child:
        limit = _exceeded(child, Trace(place / TRACE), timeout)
    outcome = None if limit is not None else child.result
    return _Tried(outcome, child.returncode, limit, child.copied)


def _exceeded(child: Child, trace: Trace, timeout: float) -> float | None:
    """Wait for the child; return the limit that it exceeded, or ``None`` when it ended."""
    began, loading = time.monotonic(), True
    limit = min(timeout, _COPY_LIMIT) if child.copied else max(timeout, START_LIMIT)
    while True:
        if child.wait(0.05):
            return None
        now = time.monotonic()
        if loading and not child.copied and trace.stage not in ("", "instantiate"):
            limit, began, loading = timeout, now, False
        if now - began > limit:
            return limit


def make_trace(place: Path) -> None:
    """Create the file for the child's trace."""
    with (place / TRACE).open("wb") as trace:
        trace.truncate(TRACE_BYTES)


def end_of_process(code: int) -> str:
    """Return a text on how a process without result ended."""
    name = kind_of_crash(code)
    if name is not None:
        return f"crashed with {name}" + (f" ({CRASHES[name]})" if name in CRASHES else "")
    return f"ended the whole process with exit code {code}"


def lost(
    path: str | os.PathLike[str], place: Path, end: str, *, hung: bool, code: int
) -> SimulationError:
    """Return the error of a child that has died, from the trace that it left."""
    trace = (place / TRACE).read_bytes()
    (reached,) = struct.unpack_from("<d", trace, BUFFER_BYTES)
    stage = trace[BUFFER_BYTES + 8 :].split(b"\0", 1)[0].decode()
    description = read_description(path)
    records = decode(trace[:BUFFER_BYTES], description.by_reference)
    printed = (place / OUTPUT).read_text(encoding="utf-8", errors="replace")
    records += [LogRecord("output", "", line) for line in printed.splitlines() if line.strip()]
    # 1: with a traceback, Python has ended the process; native code has left none of its own.
    own = traceback_of(printed) if code == 1 and not hung else None
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
        f"the native code of the FMU '{description.name}' {end}, {where}{when}"
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
    """The child's end of the trace file."""

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
