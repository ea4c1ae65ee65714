"""Executors of simulations: this process, worker processes, other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.evaluation.executors.auto import AutoExecutor
    from fmident.evaluation.executors.base import Done, Executor, ExecutorReport, SubsetExecutor
    from fmident.evaluation.executors.inline import InProcessExecutor
    from fmident.evaluation.executors.kind import (
        ExecutorKind,
        Warn,
        make_executor,
        runs_in_this_process,
    )
    from fmident.evaluation.executors.processes.executor import ProcessExecutor

__all__ = [
    "AutoExecutor",
    "Done",
    "Executor",
    "ExecutorKind",
    "ExecutorReport",
    "InProcessExecutor",
    "ProcessExecutor",
    "SubsetExecutor",
    "Warn",
    "make_executor",
    "runs_in_this_process",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "AutoExecutor": "auto",
        "Done": "base",
        "Executor": "base",
        "ExecutorKind": "kind",
        "ExecutorReport": "base",
        "InProcessExecutor": "inline",
        "ProcessExecutor": "processes.executor",
        "SubsetExecutor": "base",
        "Warn": "kind",
        "make_executor": "kind",
        "runs_in_this_process": "kind",
    },
)
