"""Child process of :mod:`fmident.validation.children`, run by :mod:`fmident._child`.

It reads a pickled request from standard input and answers with JSON lines on the
original standard output: ``{"begin": name}`` before a check and ``{"check": {...}}``
after it, then ``{"end": true}``. Output of the FMU goes to standard error.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time


def main(life: str) -> None:
    """Serve one request."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    from fmident.errors import FmidentError
    from fmident.fmu.processes.child import prepare

    prepare(life)
    plan, first = pickle.load(sys.stdin.buffer)

    def answer(**content: object) -> None:
        answers.write(json.dumps(content) + "\n")

    from fmident.validation.bench import Bench
    from fmident.validation.check import Check
    from fmident.validation.checks.by_name import FOLLOWING, SIMULATION, checks_of

    not_tried: str | None = None
    try:
        with Bench(plan) as bench:
            for name, check in list(checks_of(plan).items())[first:]:
                answer(begin=name)
                why = not_tried if name in FOLLOWING else None
                began = time.perf_counter()
                result = check(bench) if why is None else Check(name, "skipped", why)
                if name == SIMULATION and not result.passed and not plan.references:
                    not_tried = f"not tried: '{name}' failed"
                answer(
                    check={
                        "name": result.name,
                        "outcome": result.outcome,
                        "detail": result.detail,
                        "figure": result.figure,
                        "seconds": time.perf_counter() - began,
                    }
                )
            answer(begin="end")
    except FmidentError as error:
        answer(unusable=str(error))
    answer(end=True)
    answers.flush()
    os._exit(0)
