"""omc without a session: each request is a script, ``omc flags... file.mos``.

omc refuses to be an interactive server for root, but runs scripts. Since loaded classes
are lost at the end of a script, each script loads them again.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fmident.compilers.openmodelica.sessions.messages import OmcValue, parse_printed, scan_value
from fmident.compilers.openmodelica.sessions.session import (
    Deadline,
    OmcStoppedError,
    Reply,
    Session,
    end_process,
)
from fmident.errors import CompilationError

_LASTING = re.compile(r"^(?:load(?:File|Files|Model|String)|setModelicaPath)\(")
_SAID = "fmident messages: "
_MARKER = re.compile(r"^fmident answer (\d+):[ ]*\n?", re.MULTILINE)


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
