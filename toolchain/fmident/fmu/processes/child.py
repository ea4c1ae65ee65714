"""Run a module of this package in a child process, in which an FMU may do what it likes."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import subprocess
import time
from pathlib import Path
from typing import Any

from fmident._child import command
from fmident._closing import Closes
from fmident.operating_system import (
    ChildProcess,
    adopt_orphans,
    end_child,
    end_family,
    hide_core_files,
    passed_on,
    start_child,
    start_copy,
    tie_to_parent,
)

OUTPUT = "output.txt"
"""What the child, and the FMU in it, print."""

REQUEST, RESULT = "request.pickle", "result.json"
"""What the child is asked, and what it answers."""

MOST_OUTPUT = 16_000_000
"""Bytes of output from which on it is thrown away: an FMU that prints for ever must not fill the
disk."""

LOOK = 0.1
"""Seconds after which the output of a child that runs is looked at."""

START_LIMIT = 60.0
"""Wall-clock seconds that the child may take at least to load Python and the FMU."""


class Child(Closes):
    """A module that runs in a process of its own; to be closed.

    Parameters
    ----------
    module
        Its name. Its ``main`` gets the folder's name and the number of a pipe's end, to
        be tied to by :func:`prepare`.
    folder
        A private folder of the child: what it unpacks goes with it, however the child ends.
    request
        What it is asked; it is pickled.
    copied
        Whether it may be a copy of this process, where there can be one: it need not load Python
        and what it uses.

    Attributes
    ----------
    copied
        Whether it is one.
    """

    def __init__(self, module: str, folder: Path, request: object, *, copied: bool = False) -> None:
        self._folder = folder
        (folder / REQUEST).write_bytes(pickle.dumps(request))
        life, self._life = os.pipe()
        self.copied = copied
        try:
            self._process = self._started(module, life)
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(life)

    def _started(self, module: str, life: int) -> ChildProcess:
        folder = str(self._folder)
        own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
        if self.copied:

            def work() -> None:
                importlib.import_module(module).main(folder, str(life))

            copy = start_copy(work, life, self._folder / OUTPUT, own)
            if copy is not None:
                return copy
            self.copied = False
        with (self._folder / OUTPUT).open("ab") as output:  # see keep_short
            return start_child(
                command(module, folder),
                (life,),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **own},
            )

    @property
    def returncode(self) -> int:
        """How it ended, as :mod:`subprocess` has it."""
        code = self._process.returncode
        assert code is not None, "the child has not ended"
        return code

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            try:
                self._process.wait(max(min(left, LOOK), 0.0))
            except subprocess.TimeoutExpired:
                keep_short(self._folder / OUTPUT)
                if left <= LOOK:
                    return False
            else:
                return True

    @property
    def result(self) -> Any:
        """What it has answered, from JSON; ``None`` when it has not."""
        try:
            return json.loads((self._folder / RESULT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Kill it if it lives, and what it has started."""
        end_child(self._process)
        self._process.wait()
        end_family(self._process, self._folder)
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


def keep_short(output: Path) -> None:
    """Throw away what a file holds that has become too long.

    Parameters
    ----------
    output
        To which a process appends: it goes on at the new end.
    """
    with contextlib.suppress(OSError):
        if output.stat().st_size > MOST_OUTPUT:
            os.truncate(output, 0)


def prepare(life: str) -> None:
    """Begin as a child: end with the parent, adopt orphans, write no core file.

    Parameters
    ----------
    life
        The argument that stands for the end of a pipe whose other end the parent holds.
    """
    tie_to_parent(passed_on(life))
    adopt_orphans()
    hide_core_files()
