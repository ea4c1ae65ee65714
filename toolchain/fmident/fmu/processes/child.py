"""Run a module of this package in a child process, in which an FMU may do what it likes."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
from pathlib import Path
from typing import Any

from fmident._child import command
from fmident._closing import Closes
from fmident.fmu.processes.family import end_family

OUTPUT = "output.txt"
"""What the child, and the FMU in it, print."""

REQUEST, RESULT = "request.pickle", "result.json"
"""What the child is asked, and what it answers."""

START_LIMIT = 60.0
"""Wall-clock seconds that the child may take at least to load Python and the FMU."""


class Child(Closes):
    """A module that runs in a process of its own; to be closed.

    Parameters
    ----------
    module
        Its name. Its ``main`` gets the folder's name and the number of a pipe's end, to
        be tied to by :func:`fmident.fmu.processes.lifeline.tie`.
    folder
        A private folder of the child: what it unpacks goes with it, however the child ends.
    request
        What it is asked; it is pickled.
    """

    def __init__(self, module: str, folder: Path, request: object) -> None:
        self._folder = folder
        (folder / REQUEST).write_bytes(pickle.dumps(request))
        life, self._life = os.pipe()
        try:
            with (folder / OUTPUT).open("wb") as output:
                self._process = subprocess.Popen(
                    command(module, str(folder), str(life)),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(life,),
                    # Ctrl-C is for the parent, which then ends the child and what that started.
                    start_new_session=True,
                    env={
                        **os.environ,
                        "TMPDIR": str(folder),
                        "TEMP": str(folder),
                        "TMP": str(folder),
                    },
                )
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(life)

    @property
    def returncode(self) -> int:
        """How it ended, as :mod:`subprocess` has it."""
        code = self._process.returncode
        assert code is not None, "the child has not ended"
        return code

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
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
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
        self._process.wait()
        end_family(self._process.pid, self._folder)
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


def prepare(life: int) -> None:
    """Begin as a child: end with the parent, adopt orphans, write no core file."""
    from fmident.fmu.processes import family, lifeline

    lifeline.tie(life)
    family.adopt()
    try:
        import resource
    except ImportError:  # not on this platform
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
