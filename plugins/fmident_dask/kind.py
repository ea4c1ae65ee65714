"""Description of the executor, available without creating one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident.evaluation.executors.kind import ExecutorKind
from fmident_dask.options import DaskOptions

if TYPE_CHECKING:
    from fmident.evaluation import Warn
    from fmident.problem.model import Problem
    from fmident_dask.executor import DaskExecutor


def _made(problem: Problem, _options: Any, warn: Warn) -> DaskExecutor:
    from fmident_dask.executor import DaskExecutor  # here: few runs need it

    return DaskExecutor(problem, warn=warn)


DASK = ExecutorKind(
    _made,
    "a Dask cluster, or Dask workers of this machine",
    isolated=True,
    limits_memory=True,
    renews=True,
    several_machines=True,
    options_type=DaskOptions,
)
