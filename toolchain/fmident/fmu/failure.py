"""Messages of failed runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, SimulationError
from fmident.fmu.native_code.log import LogRecord


@dataclass(eq=False)
class RunFailed(Exception):  # noqa: N818 - internal, becomes a SimulationError
    """Reason why a run ended early.

    `ended` is the time at which the FMU itself requested termination, s, if it did.
    `says_time` is whether the message includes `time`. `again` means that the run has
    determined how it must be done, and has to be repeated. `outputs` are those computed
    before, shape (k, outputs), or ``None``.
    """

    message: str
    _: KW_ONLY
    time: float
    hint: str | None = None
    ended: float | None = None
    timed_out: bool = False
    says_time: bool = True
    code: str | None = None
    again: bool = False
    outputs: F64 | None = field(default=None, init=False)


def not_finite(name: str, value: float, time: float) -> RunFailed:
    """Return the failure of a run with a NaN or infinite output."""
    return RunFailed(
        f"output '{name}' is {value} at t = {time!r} s",
        time=time,
        hint="the parameters or inputs may be outside what the model can compute",
        code=Code.NOT_FINITE,
    )


def leading(outputs: F64, rows: int) -> F64:
    """Return a copy of the first rows, up to the first value that is not finite."""
    finite = np.isfinite(outputs[: max(rows, 0)]).all(axis=1)
    count = finite.size if finite.all() else int(np.argmin(finite))
    return outputs[:count].copy()


def note(text: str) -> LogRecord:
    """Return a remark of the engine as a log record."""
    return LogRecord("note", "fmident", text)


def output_records(text: str) -> list[LogRecord]:
    """Return printed output of an FMU as log records, one per line."""
    return [LogRecord("output", "", line) for line in text.splitlines() if line.strip()]


def own_words(records: Sequence[LogRecord]) -> str:
    """Return the FMU's messages that explain a failure best, at most three."""
    worst = [r.message for r in records if r.status in ("error", "fatal", "discard")]
    chosen = worst[-3:] or [r.message for r in records][-3:]
    return "; ".join(dict.fromkeys(chosen))


def simulation_error(
    name: str, failure: RunFailed, records: Sequence[LogRecord]
) -> SimulationError:
    """Return the error of a failed run, including the FMU's messages."""
    own_message = own_words([r for r in records if r.status != "note"])
    message = f"simulation of '{name}' failed: {failure.message}"
    if own_message:
        message += f"; the FMU says: {own_message}"
    hint = failure.hint
    if hint is None and not own_message:
        hint = "the FMU gave no message; fmu.simulator(debug_logging=True) makes it say more"
    return SimulationError(
        message,
        time=failure.time,
        log=[str(record) for record in records],
        hint=hint,
        ended=failure.ended,
        outputs=failure.outputs,
        timed_out=failure.timed_out,
        says_time=failure.says_time,
        code=failure.code,
    )
