"""Simulation of an FMU in a child process, since its native code may crash, hang or exit.

The child leaves its trace in memory that survives it: the stage, the time reached, the FMU's
messages. It is killed when no stage and no communication step begins for a while.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu.failure import output_records, own_words
from fmident.fmu.fmu import load_driver, open_fmu, read_description
from fmident.fmu.model_description.description import InterfaceChoice, ModelDescription
from fmident.fmu.model_description.variables import Value
from fmident.fmu.native_code.log import LogBuffer, decode
from fmident.fmu.processes.child import DAMAGED, START_LIMIT, Child, End, Parent, ScratchFolder
from fmident.fmu.setup import SimulationSetup
from fmident.operating_system import limit_memory

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

_CODES = {
    "crash": Code.PROCESS_CRASHED,
    "killed": Code.PROCESS_KILLED,
    "timeout": Code.TIMED_OUT,
    "memory": Code.OUT_OF_MEMORY,
}

_CRASH_HINT = (
    "this is an error in the FMU: try other parameter values, narrower bounds, or export it"
    " again with another tool or version"
)
_HINTS = {
    "timeout": "allow more time, as with [evaluation] timeout, or narrow the bounds",
    "memory": "raise [evaluation] memory_limit_mb, or look for what makes the FMU grow",
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
    fmu = str(Path(path).absolute())
    request = fmu, interface, setup, dict(values or {}), budget, memory_limit
    with ScratchFolder() as scratch:
        # A copy of this process is there at once. If it does not survive, that may be due to its
        # being a copy: then a process of its own decides.
        copied = memory_limit is None
        with Child(_simulate, scratch.path, *request, copied=copied) as child:
            end = _watch(child, timeout)
        if end and child.copied:
            with Child(_simulate, scratch.path, *request) as child:
                end = _watch(child, timeout)
    if end:
        raise _lost(path, child)
    reached, complete, *_ = child.answers[0]
    return Survival(reached, complete, time.perf_counter() - began)


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
    request = str(Path(path).absolute()), interface, setup, dict(values or {}), None, None
    with ScratchFolder() as scratch, Child(_simulate, scratch.path, *request) as child:
        try:
            end = _watch(child, patience)
        except SimulationError as failure:
            failure.log = (*failure.log, *map(str, output_records(child.said)))
            none = np.empty((0, 0))
            return Apart(none if failure.outputs is None else failure.outputs, failure.log, failure)
    if not child.answers:
        raise _lost(path, child)
    _, _, outputs, log = child.answers[0]
    remark = f"the native code of the FMU {end}, {_STAGES['close']}" if end else ""
    return Apart(outputs, (*log, *map(str, output_records(child.said))), remark=remark)


def _watch(child: Child, patience: float) -> str:
    """Wait for the end of a child, killed if it makes no progress; return what was wrong with it.

    Raises the error with which its simulation failed.
    """
    seen, since = None, time.monotonic()
    while not child.wait(_POLL):
        now = child.trace.marks.tobytes()
        if now != seen:
            seen, since = now, time.monotonic()
        limit = patience
        if child.trace.stage in ("", "instantiate"):
            limit = max(patience, START_LIMIT)
        if child.copied:
            limit = min(patience, _COPY_LIMIT)
        if time.monotonic() - since > limit:
            child.kill(End(f"did not answer within {limit:g} s", "timeout"))
    child.close()
    released = len(child.answers) == 2
    return "" if released and child.code == 0 else child.end.text


class _Enough(Exception):  # noqa: N818 - not an error
    """The budget is used up."""


def _simulate(
    parent: Parent,
    path: str,
    interface: InterfaceChoice,
    setup: SimulationSetup,
    values: Mapping[str, Value],
    budget: float | None,
    memory_limit: int | None,
) -> None:
    """Simulate in this child process, step by step and within `budget`, if there is one.

    Answers the time reached, whether that is the end, outputs and log, then that the FMU is freed.
    """
    if memory_limit is not None:
        limit_memory(memory_limit)
    trace = parent.trace
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

    fmu = open_fmu(path)
    trace.report("instantiate", reached)
    simulator = fmu.simulator(
        capture_output=False,
        progress=progress,
        single_steps=budget is not None,
        log_buffer=LogBuffer(trace.memory),
        loop_state=trace.marks["loop"],
        interface=interface,
        reuse="never",
    )
    complete, outputs = True, np.empty((0, 0))
    try:
        outputs = simulator.simulate(setup, values)
        reached = float(setup.times[-1])
    except _Enough:
        complete = False
    parent.answer((reached, complete, outputs, tuple(map(str, simulator.log))))
    trace.report("close", reached)
    fmu.close()
    parent.answer("released")


def _lost(path: str | os.PathLike[str], child: Child) -> SimulationError:
    stage, reached = child.trace.stage, float(child.trace.marks["reached"])
    stepping = stage == "step"
    where = _STAGES.get(stage, "") + (f" at t = {reached!r} s" if stepping else "")
    error = lost(child, read_description(path), f", {where}")
    error.time, error.says_time = reached if stepping else None, True
    return error


def lost(child: Child, description: ModelDescription, where: str = "") -> SimulationError:
    """Return the error of a simulation in which a child ended, from the trace that it left."""
    records = decode(child.trace.memory, description.by_reference)
    records += output_records(child.said)
    log = [str(record) for record in records]
    if child.trace.stage == DAMAGED:
        return SimulationError(
            f"the native code of the FMU '{description.name}' closed files that it had not opened,"
            " among them the pipes of the process that simulates it",
            code=Code.PROCESS_CRASHED,
            log=log,
            hint=_CRASH_HINT,
        )
    # 1: with a traceback, Python has ended the process; native code has left none of its own.
    own = traceback_of(child.said) if child.code == 1 and not child.killed else None
    if own is not None:
        return SimulationError(
            f"the process that simulates the FMU '{description.name}' failed in fmident's own"
            f" code: {own}",
            log=log,
            hint="this is a defect of fmident, not of the FMU: please report it with this log",
        )
    end, last_words = child.end, own_words(records)
    return SimulationError(
        f"the native code of the FMU '{description.name}' {end.text}{where}"
        + (f"; its last words: {last_words}" if last_words else ""),
        timed_out=end.cause == "timeout",
        code=_CODES[end.cause],
        log=log,
        hint=_HINTS.get(end.cause, _CRASH_HINT),
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
