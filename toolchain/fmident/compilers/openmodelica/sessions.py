"""Interface to omc: expressions in, values and messages out.

omc refuses to be an interactive server for root, but runs scripts, ``omc flags... file.mos``.
Since loaded classes are lost at the end of a script, each script loads them again.

OMPython (4.1) reads and clears OpenModelica's messages inside ``sendExpression``:
errors are raised, everything else is logged without a place in the source, which is muted.
Its time-out applies to sending only: it waits for an answer forever. Therefore a :class:`Tap` wraps
its socket, records the messages with their places, and enforces the deadline.
"""

from __future__ import annotations

import contextlib
import logging
import re
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # has no types of its own

from fmident.compilers.openmodelica.messages import (
    Message,
    OmcValue,
    parse_printed,
    parse_raised,
    parse_records,
    quoted,
    scan_value,
)
from fmident.context_managers import Closes
from fmident.errors import CompilationError

_LASTING = re.compile(r"^(?:load(?:File|Files|Model|String)|setModelicaPath)\(")
_SAID = "fmident messages: "
_MARKER = re.compile(r"^fmident answer (\d+):[ ]*\n?", re.MULTILINE)


START_SECONDS = 60.0
"""Time limit for omc to start as a server, s."""

_MESSAGES = "getMessagesStringInternal()"
_LOGGER = logging.getLogger("OMPython.om_session_omc")
"""Repeats the messages of OpenModelica, without their places."""

_POLL_MS = 250

QUIT_SECONDS = 2.0
"""Time limit for omc to quit before it is ended, s."""


@dataclass(frozen=True)
class Reply:
    """Reply to one expression, with a value if any and the messages, oldest first."""

    expression: str
    value: OmcValue
    messages: tuple[Message, ...] = ()

    @property
    def errors(self) -> tuple[Message, ...]:
        """Error messages, except for a failed download of the package index."""
        return tuple(m for m in self.messages if m.level == "error" and not m.about_index)

    @property
    def succeeded(self) -> bool:
        """Whether the answer is neither ``false`` nor empty, and there is no error."""
        return self.value not in (None, False, "") and not self.errors


class OmcStoppedError(CompilationError):
    """omc was stopped or ended by itself, so that there is no answer."""


class Deadline:
    """Deadline of a build, in seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begin = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begin

    @property
    def remaining(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.seconds - self.elapsed)

    def exceeded(self, what: str, since: float) -> OmcStoppedError:
        """Return the error that names what took too long, started at `since` of :attr:`elapsed`."""
        ran = self.elapsed - since
        return OmcStoppedError(
            f"OpenModelica was stopped: the build took longer than {self.seconds:g} s;"
            f" '{what}' had been running for {ran:.1f} s",
            hint="large multibody models need a minute or more: raise the option 'timeout'",
        )


class Session(Closes, ABC):
    """A session with omc, which keeps classes loaded; a context manager."""

    @abstractmethod
    def run(self, *expressions: str) -> tuple[Reply, ...]:
        """Evaluate expressions in order; return one reply for each, errors included."""

    @abstractmethod
    def close(self) -> None:
        """End omc and all its child processes."""

    def send(self, expression: str) -> Reply:
        """Evaluate one expression."""
        return self.run(expression)[0]


def end_process(pid: int, patience: float = 3.0) -> None:
    """End a process and its children (make, the C compiler); kill it after `patience` s."""
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    alive = family
    for signal in ("terminate", "kill"):
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended by itself
                getattr(process, signal)()
        _, alive = psutil.wait_procs(alive, timeout=patience)


class ScriptSession(Session):
    """Session that runs omc, by `command`, once per request; files are written to `folder`."""

    def __init__(
        self, command: Sequence[str], flags: Sequence[str], folder: Path, deadline: Deadline
    ) -> None:
        self._command = (*command, *flags)
        self._folder = folder
        self._deadline = deadline
        self._lasting: list[str] = []
        self._count = 0

    def run(self, *expressions: str) -> tuple[Reply, ...]:
        """Write a script, run it, and read its output."""
        before = len(self._lasting)
        asked = [*self._lasting, *expressions]
        self._count += 1
        script = self._folder / f"fmident-{self._count}.mos"
        script.write_text(make_script(asked), encoding="utf-8")
        replies = read_answers(self._call(script.name, asked), asked)
        self._lasting += [e for e in expressions if _LASTING.match(e)]
        return replies[before:]

    def close(self) -> None:
        """Do nothing: no process runs between two scripts."""

    def _call(self, script: str, asked: Sequence[str]) -> str:
        since = self._deadline.elapsed
        try:
            process = subprocess.Popen(
                [*self._command, script],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise CompilationError(
                f"'{self._command[0]}' cannot be started: {error.strerror or error}",
                hint="is OpenModelica installed completely? 'omc --version' must answer",
            ) from error
        try:
            output, errors = process.communicate(timeout=self._deadline.remaining)
        except subprocess.TimeoutExpired:
            end_process(process.pid)
            output, _ = process.communicate()
            reached = max(0, len(_MARKER.findall(output)) - 1)
            running = asked[min(reached, len(asked) - 1)]
            raise self._deadline.exceeded(running, since) from None
        finally:
            if process.poll() is None:  # Ctrl-C
                end_process(process.pid)
                process.wait()
        return f"{output}\n{errors}"  # behind the last answer, for the message if it is missing


def make_script(expressions: Sequence[str]) -> str:
    """Return a script that evaluates expressions and marks each answer."""
    # Inside print(...), getErrorString() of omc 1.26 is empty after a failed buildModelFMU.
    lines = [
        f'print("fmident answer {number}: "); {expression}; print("{_SAID}"); getErrorString();'
        for number, expression in enumerate(expressions)
    ]
    lines.append(f'print("fmident answer {len(expressions)}: ");')
    return "\n".join(lines) + "\n"


def read_answers(output: str, expressions: Sequence[str]) -> tuple[Reply, ...]:
    """Read the output of a script of :func:`make_script`."""
    markers = list(_MARKER.finditer(output))
    if [int(m[1]) for m in markers] != list(range(len(expressions) + 1)):
        reached = max(0, len(markers) - 1)
        where = f" at '{expressions[reached]}'" if reached < len(expressions) else ""
        tail = "\n".join(output.strip().splitlines()[-12:])
        raise OmcStoppedError(
            f"OpenModelica ended before it had answered{where}. It said:\n{tail or '(nothing)'}",
            hint="try 'omc --version'; a crash of omc is worth a report to OpenModelica",
        )
    return tuple(
        read_answer(expression, output[this.end() : following.start()])
        for expression, this, following in zip(expressions, markers, markers[1:], strict=False)
    )


def read_answer(expression: str, text: str) -> Reply:
    """Read the answer to one expression: a value, then messages, printed or as a text."""
    answer, _, messages = text.partition(_SAID)
    value, printed = _value(answer)
    quoted, more = _value(messages)
    listed = quoted if isinstance(quoted, str) else ""
    return Reply(expression, value, parse_printed("\n".join((printed, listed, more))))


def _value(text: str) -> tuple[OmcValue, str]:
    """Return the value at the beginning of a text, and the rest of the text."""
    try:
        value, end = scan_value(text)
    except ValueError:
        return None, text
    if isinstance(value, str) and not text.lstrip().startswith('"') and parse_printed(text):
        return None, text  # a bare word where only messages were printed, such as "Error: ..."
    return value, text[end:]


class Tap:
    """Wrapper of OMPython's socket that records messages and enforces the deadline."""

    def __init__(self, socket: Any, died: Callable[[], str | None], deadline: Deadline) -> None:
        self._socket = socket
        self._died = died
        self._deadline = deadline
        self._asked = ""
        self._since = 0.0
        self._waiting_for_messages = False
        self._busy = False
        self._records: list[str] = []

    def send_string(self, text: str, flags: int = 0) -> None:
        """Send like ``zmq.Socket``."""
        if text != _MESSAGES:
            self._asked, self._since = text, self._deadline.elapsed
        self._waiting_for_messages = text == _MESSAGES
        self._busy = True
        self._socket.send_string(text, flags=flags)

    def recv_string(self) -> str:
        """Receive like ``zmq.Socket``, with a deadline."""
        while not self._socket.poll(_POLL_MS):
            if not self._deadline.remaining:
                raise self._deadline.exceeded(self._asked, self._since)
            last_words = self._died()
            if last_words is not None:
                raise OmcStoppedError(
                    f"OpenModelica ended while it evaluated '{self._asked}'."
                    f" It said:\n{last_words or '(nothing)'}",
                    hint="a crash of omc is worth a report to OpenModelica; was memory enough?",
                )
        text: str = self._socket.recv_string()
        self._busy = False
        if self._waiting_for_messages:
            self._records.append(text)
        return text

    def leave(self) -> bool:
        """Close the socket; return whether omc, if idle, was asked to quit."""
        if not self._busy:
            self._socket.send_string("quit()")
        self._socket.close(linger=1000)
        return not self._busy

    def take(self) -> tuple[Message, ...]:
        """Return the messages since the last call."""
        messages = tuple(m for text in self._records for m in parse_records(text))
        self._records.clear()
        return messages


class OMPythonSession(Session):
    """A session of OMPython, created by `start` with a time-out in s."""

    def __init__(
        self,
        start: Callable[[float], Any],
        flags: Sequence[str],
        folder: Path,
        deadline: Deadline,
    ) -> None:
        from OMPython import OMSessionException  # here: it takes a second to import

        self._failure = OMSessionException
        self._mute: Callable[[logging.LogRecord], bool] = lambda _: False
        _LOGGER.addFilter(self._mute)
        self._session: Any = None
        try:
            self._session = self._start(start, deadline)
            self._tap = Tap(self._session._omc_zmq, self._died, deadline)
            self._session._omc_zmq = self._tap
            self._must(f"cd({quoted(folder.as_posix())})")
            if flags:
                self._must(f"setCommandLineOptions({quoted(' '.join(flags))})")
        except BaseException:
            self.close()
            raise

    def run(self, *expressions: str) -> tuple[Reply, ...]:
        """Send the expressions one after the other."""
        return tuple(self._ask(expression) for expression in expressions)

    def close(self) -> None:
        """End omc and remove the temporary files of omc and OMPython."""
        session, self._session = self._session, None
        if session is not None:
            socket, session._omc_zmq = session._omc_zmq, None  # its __del__ shall not ask again
            process = session._omc_process
            asked = isinstance(socket, Tap) and socket.leave()
            if process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(QUIT_SECONDS if asked else 0)
                end_process(process.pid)
                process.wait()
            leftovers = list(session._temp_dir.glob(f"{session._omc_filebase}*"))  # log, id
            leftovers.append(session._get_portfile_path())
            session._omc_loghandle.close()
            session._omc_loghandle = None
            for leftover in leftovers:
                if leftover is not None:
                    leftover.unlink(missing_ok=True)
        _LOGGER.removeFilter(self._mute)

    def _start(self, start: Callable[[float], Any], deadline: Deadline) -> Any:
        since = deadline.elapsed
        try:
            session = start(max(1.0, min(START_SECONDS, deadline.remaining)))
        except self._failure as error:
            raise CompilationError(
                f"OpenModelica did not start as a server within"
                f" {deadline.elapsed - since:.0f} s: {error}",
                hint='the option session = "script" runs omc without a server',
            ) from error
        except (OSError, NotImplementedError) as error:
            raise CompilationError(
                f"OpenModelica cannot be started: {error}",
                hint="is it installed completely? 'omc --version' must answer",
            ) from error
        if not hasattr(session, "_omc_zmq") or not hasattr(session, "_omc_process"):
            raise CompilationError(
                "this version of OMPython is not known to fmident",
                hint="install OMPython 4.1: pip install 'OMPython>=4.1,<5'; or use the option"
                ' session = "script"',
            )
        return session

    def _died(self) -> str | None:
        process = getattr(self._session, "_omc_process", None)
        if process is None or process.poll() is None:
            return None
        log: str = self._session.get_log()
        return "\n".join(log.strip().splitlines()[-12:])

    def _ask(self, expression: str) -> Reply:
        try:
            value = self._session.sendExpression(expression)
        except self._failure as error:
            # The text of the exception holds warnings and notifications, too.
            messages = self._tap.take() or parse_raised(str(error))
            return Reply(expression, None, _with_error(messages, str(error)))
        return Reply(expression, value, self._tap.take())

    def _must(self, expression: str) -> None:
        reply = self._ask(expression)
        if not reply.succeeded:
            answer = "; ".join(m.text for m in reply.messages) or repr(reply.value)
            raise CompilationError(f"OpenModelica refuses '{expression}': {answer}")


def _with_error(messages: tuple[Message, ...], raised: str) -> tuple[Message, ...]:
    if any(m.level == "error" for m in messages):
        return messages
    return (*messages, *parse_raised(raised))


def start_local(omc: str) -> Callable[[float], Any]:
    """Return a function that starts ``OMCSessionLocal``; `omc` is the path of the program."""

    def start(timeout: float) -> Any:
        from OMPython import OMCSessionLocal

        home = Path(omc).parents[1] if len(Path(omc).parents) > 1 else None
        return OMCSessionLocal(timeout=timeout, omhome=home)

    return start


def start_docker(image: str, arguments: Sequence[str]) -> Callable[[float], Any]:
    """Return a function that starts ``OMCSessionDocker``."""

    def start(timeout: float) -> Any:
        from OMPython import OMCSessionDocker

        return OMCSessionDocker(timeout=timeout, docker=image, dockerExtraArgs=list(arguments))

    return start
