"""Failed simulations, as worker processes and their traces report them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fmident.errors import Code
from fmident.evaluation.setups import Prepared
from fmident.evaluation.tasks import SimulationFailure
from fmident.fmu.failure import output_records, own_words
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.native_code.log import decode
from fmident.fmu.processes.exchange import ErrorFacts
from fmident.fmu.processes.guard import end_of_process
from fmident.operating_system import was_killed

_CRASH_HINT = (
    "this is an error in the FMU: try other parameter values, narrower bounds, or export it"
    " again with another tool or version"
)


_CODES = {
    "crash": Code.PROCESS_CRASHED,
    "killed": Code.PROCESS_KILLED,
    "timeout": Code.TIMED_OUT,
    "memory": Code.OUT_OF_MEMORY,
}

_HINTS = {
    "timeout": "allow more time with [evaluation] timeout, or narrow the bounds",
    "memory": "raise [evaluation] memory_limit_mb, or look for what makes the FMU grow",
}


@dataclass(frozen=True)
class End:
    """How a worker ended.

    Parameters
    ----------
    text
        What happened, to follow the name of the FMU.
    cause
        ``"killed"`` is from outside; ``"timeout"`` and ``"memory"`` are limits of the executor.
    """

    text: str
    cause: Literal["crash", "killed", "timeout", "memory"] = "crash"

    @classmethod
    def of(cls, code: int) -> End:
        """Return the end of a process with an exit code, negative for a signal."""
        return cls(end_of_process(code), "killed" if was_killed(code) else "crash")


@dataclass(frozen=True)
class Crash:
    """The end of a worker that was at work.

    Parameters
    ----------
    message
        How it ended, with the FMU's last words.
    log
        The FMU's messages.
    hint
        What to do next.
    final
        Whether the same simulation would crash again, as far as one can tell.
    timed_out
        Whether it was ended for the time that it took.
    code
        What kind of failure it is.
    """

    message: str
    log: tuple[str, ...]
    hint: str
    final: bool = True
    timed_out: bool = False
    code: str = Code.PROCESS_CRASHED

    def failure(
        self, values: Mapping[str, float], prepared: Prepared, step: int = -1
    ) -> SimulationFailure:
        """Return the failure of the simulation that it was busy with, in a communication step."""
        time = float(prepared.setup.times[step]) if step >= 0 else None
        return SimulationFailure(
            self.message,
            time,
            dict(values),
            self.log,
            prepared.experiment,
            self.hint,
            self.final,
            self.timed_out,
            code=self.code,
        )


def crash(end: End, log: bytes, printed: bytes, description: ModelDescription) -> Crash:
    """Say how a worker ended, from the trace that it left."""
    records = decode(log, description.by_reference)
    records += output_records(printed.decode("utf-8", "replace"))
    said = own_words(records)
    return Crash(
        f"the native code of the FMU '{description.name}' {end.text}"
        + (f"; its last words: {said}" if said else ""),
        tuple(str(record) for record in records),
        _HINTS.get(end.cause, _CRASH_HINT),
        final=end.cause == "crash",
        timed_out=end.cause == "timeout",
        code=_CODES[end.cause],
    )


def failure_of(
    facts: ErrorFacts, printed: bytes, values: Mapping[str, float], prepared: Prepared
) -> SimulationFailure:
    """Return a failure that the FMU engine reported, with what the FMU printed."""
    records = output_records(printed.decode("utf-8", "replace"))
    message = facts.message
    if records and not facts.log:
        message += f"; the FMU says: {own_words(records)}"
    return SimulationFailure(
        message,
        facts.time,
        dict(values),
        (*facts.log, *(str(record) for record in records)),
        prepared.experiment,
        facts.hint,
        final=not facts.timed_out,
        timed_out=facts.timed_out,
        says_time=facts.says_time,
        code=facts.code or Code.SIMULATION_FAILED,
    )
