"""``fmident`` with Ctrl-C at a certain moment: ``python interrupted.py PHASE ARGUMENTS``.

The signal goes to the whole process group, as a terminal sends it, a moment after the phase has
begun.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

DELAY = 0.15


def strike(delay: float | None) -> None:
    """Send the signal a little later, or at once.

    At once it is where packages are imported a moment later: some of them catch what they do
    not know, Ctrl-C as well, and it is lost.
    """
    if delay is None:
        os.killpg(os.getpgrp(), signal.SIGINT)
        return
    timer = threading.Timer(delay, os.killpg, (os.getpgrp(), signal.SIGINT))
    timer.daemon = True
    timer.start()


def on_call(
    owner: Any, name: str, condition: Callable[..., bool], delay: float | None = DELAY
) -> None:
    """Strike when a function is called for which the condition holds first."""
    original, struck = getattr(owner, name), [False]

    def called(*arguments: Any, **named: Any) -> Any:
        if not struck[0] and condition(*arguments, **named):
            struck[0] = True
            strike(delay)
        return original(*arguments, **named)

    setattr(owner, name, called)


def arm(phase: str) -> None:
    """Prepare the strike."""
    from fmident.estimation import assessment, checks, monitor
    from fmident.evaluation.activity import Activities
    from fmident.evaluation.executors.processes.executor import ProcessExecutor
    from fmident.evaluation.executors.processes.worker import Worker
    from fmident.report.contents import Contents

    if phase == "trial":
        on_call(checks, "check_survives", lambda *_: True)
    elif phase == "start of workers":
        on_call(Worker, "__init__", lambda *_: True, 0.0)
    elif phase == "loading":
        on_call(Worker, "__init__", lambda *_: True, 0.1)
    elif phase == "noise":
        on_call(Activities, "during", lambda _, text, *__, **___: "noise" in text)
    elif phase == "searches":
        on_call(Activities, "during", lambda _, text, *__, **___: "side by side" in text, 0.05)
    elif phase == "iterations":
        on_call(monitor.RunMonitor, "iteration", lambda *_, **__: True)
    elif phase == "intervals":
        on_call(assessment, "uncertainty", lambda *_, **__: True, None)
    elif phase == "writing":
        # The numbers are written by then, and the page is not.
        on_call(Contents, "render", lambda *_, **__: True, None)
    elif phase == "end of workers":
        on_call(ProcessExecutor, "close", lambda *_: True, 0.0)
    else:
        raise ValueError(phase)


if __name__ == "__main__":
    arm(sys.argv[1])
    from fmident.cli import main

    sys.exit(main(sys.argv[2:]))
