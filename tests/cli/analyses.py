"""Commands that begin from an estimate: how tests run them, and read what they wrote."""

from __future__ import annotations

import json
from typing import Any

from fmident.cli import main

from ..study import Study

INLINE = ["--set", "evaluation.executor=inline"]


def analysed(command: str, study: Study, *more: str, out: str = "out") -> int:
    """Run a command on the study's problem in this process, and return its exit code."""
    words = [command, str(study.problem), "-o", str(study.folder / out), *INLINE, *more]
    return main(words)


def content(study: Study, file: str, name: str = "out") -> dict[str, Any]:
    """Return a result without what differs from run to run."""
    found: dict[str, Any] = json.loads((study.folder / name / file).read_text())
    del found["wall_time_s"], found["settings"]
    return found
