"""Description of the executor and its options, available without creating one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fmident.errors import Code, EstimationError, Location
from fmident.evaluation.executors.registry import ExecutorKind
from fmident.options import Options

if TYPE_CHECKING:
    from fmident.evaluation import Warn
    from fmident.problem.model import Problem
    from fmident_dask.executor import DaskExecutor


@dataclass(frozen=True)
class DaskOptions(Options):
    """Keys of ``[evaluation]`` that only this executor has.

    Parameters
    ----------
    scheduler
        Address of a Dask scheduler; ``None`` starts one on this machine.
    """

    scheduler: str | None = None


def place_of(problem: Problem, key: str) -> Location | None:
    """Return where the problem file sets a key of ``[evaluation]``."""
    if problem.source is None:
        return None
    try:
        as_written = problem.source.read_text(encoding="utf-8") == problem.file.text
    except OSError:
        as_written = False
    if not as_written:  # settings of the command line are not in the file
        return problem.where()
    return problem.where("evaluation", key)


def _made(problem: Problem, _options: Any, warn: Warn) -> DaskExecutor:
    try:
        from fmident_dask.executor import DaskExecutor  # here: few runs need it
    except ImportError as error:
        raise EstimationError(
            f"executor = \"dask\" needs the package 'distributed', which is missing: {error}",
            location=place_of(problem, "executor"),
            hint="pip install 'fmident[dask]', or choose executor = \"processes\"",
            code=Code.NOT_INSTALLED,
        ) from error
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
