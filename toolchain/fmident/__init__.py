"""Identify the parameters of Modelica models from measured data.

The same in three lines as on the command line::

    problem = fmident.load_problem("problem.toml")
    result = fmident.estimate(problem)
    result.parameters
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fmident._version import __version__

if TYPE_CHECKING:
    from fmident.api import build_class, check, estimate, load_problem, profile
    from fmident.errors import FmidentError
    from fmident.estimation.result import EstimationResult
    from fmident.fmu import Fmu, SimulationSetup, Simulator, open_fmu
    from fmident.plugins import load_plugins
    from fmident.problem.model import Problem

_HOMES = {
    "EstimationResult": "fmident.estimation.result",
    "Fmu": "fmident.fmu",
    "FmidentError": "fmident.errors",
    "Problem": "fmident.problem.model",
    "SimulationSetup": "fmident.fmu",
    "Simulator": "fmident.fmu",
    "build_class": "fmident.api",
    "check": "fmident.api",
    "estimate": "fmident.api",
    "load_plugins": "fmident.plugins",
    "load_problem": "fmident.api",
    "open_fmu": "fmident.fmu",
    "profile": "fmident.api",
}
"""Where each name lives. It is imported when it is first used, so that ``import fmident``
takes milliseconds."""

__all__ = [
    "EstimationResult",
    "FmidentError",
    "Fmu",
    "Problem",
    "SimulationSetup",
    "Simulator",
    "__version__",
    "build_class",
    "check",
    "estimate",
    "load_plugins",
    "load_problem",
    "open_fmu",
    "profile",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'fmident' has no attribute '{name}'")
    item = getattr(importlib.import_module(home), name)
    globals()[name] = item
    return item


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
