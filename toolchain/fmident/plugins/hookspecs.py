"""The catalogue of everything a plugin can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import pandas as pd

    from fmident.compilers.base import Compiler
    from fmident.errors import Diagnostic
    from fmident.estimation.contract import Estimator, Iteration
    from fmident.estimation.result import EstimationResult
    from fmident.plugins.registry import Registry
    from fmident.problem.model import Problem

PROJECT = "fmident"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def fmident_register_estimators(registry: Registry[Estimator[Any]]) -> None:
    """Register estimators: ``registry.add(name, Estimator class)``."""


@hookspec
def fmident_register_costs(registry: Registry[Any]) -> None:
    """Register cost functions that optimisers can minimise: ``registry.add(name, Cost class)``."""


@hookspec
def fmident_register_compilers(registry: Registry[Compiler]) -> None:
    """Register Modelica compilers: ``registry.add(name, Compiler class)``."""


@hookspec
def fmident_register_reporters(registry: Registry[Any]) -> None:
    """Register reporters, which write a result in a form of their own into the result folder."""


@hookspec(firstresult=True)
def fmident_read_data(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
    """Read a data file; the first plugin that knows the format answers, others return None."""


@hookspec
def fmident_check_problem(problem: Problem) -> list[Diagnostic]:
    """Look at a problem before the run; an error-level diagnostic refuses it."""


@hookspec
def fmident_run_started(run: Any) -> None:
    """Take note that a run has started."""


@hookspec
def fmident_iteration(run: Any, state: Iteration) -> None:
    """Take note of an iteration; raise ``StopEstimation`` to end the run."""


@hookspec
def fmident_run_finished(run: Any, result: EstimationResult) -> None:
    """Take note that a run has finished, with its result."""
