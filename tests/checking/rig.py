"""A mass-spring-damper as a Python function, its input and its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from scipy import signal

from fmident.checking import CheckReport
from fmident.findings import Finding
from fmident.problem.model import Parameter

TIMES = np.arange(0.0, 10.0, 0.02)
FORCE = np.where(np.sin(1.7 * TIMES) + np.sin(4.1 * TIMES) > 0.0, 1.0, -1.0)


def oscillator(
    times: np.ndarray, inputs: Mapping[str, np.ndarray], m: float, c: float, k: float, **_: float
) -> dict[str, np.ndarray]:
    """Return position and speed of ``m x'' + c x' + k x = F`` from rest, F straight in between."""
    h, u = float(times[1] - times[0]), inputs["F"]
    root = np.emath.sqrt((c / (2.0 * m)) ** 2 - k / m + 0.0j)
    poles = (-c / (2.0 * m) + root, -c / (2.0 * m) - root)
    modes = []
    for pole in poles:
        decay = np.exp(pole * h)
        hold = (decay - 1.0) / pole
        ramp = (decay - 1.0 - pole * h) / (pole**2 * h)
        pushed = np.concatenate([[0.0], (hold - ramp) * u[:-1] + ramp * u[1:]])
        modes.append(signal.lfilter([1.0], [1.0, -decay], pushed) / (m * (poles[0] - poles[1])))
    return {
        "x": (modes[0] - modes[1]).real,
        "v": (poles[0] * modes[0] - poles[1] * modes[1]).real,
    }


def parameters(**initial: float) -> list[Parameter]:
    return [Parameter(n, x, 0.2 * x, 5.0 * x, variable=n) for n, x in initial.items()]


TRUE = {"m": 1.0, "c": 0.8, "k": 9.0}


def rules(report: CheckReport) -> set[str | None]:
    return {d.code for d in report.findings}


def only(report: CheckReport, code: str) -> Finding:
    """Return the finding of a code, of which there is one."""
    (found,) = [d for d in report.findings if d.code == code]
    return found


def figures(text: str | None) -> list[float]:
    """Return the numbers in a text."""
    found = re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text or "")
    return [float(number) for number in found]
