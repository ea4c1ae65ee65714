"""Simulations on a Dask cluster, or on Dask workers of this machine.

Nothing here imports ``distributed`` before a :class:`DaskExecutor` is made. Reading order:
``shipments`` (what travels), ``executor`` (this side), ``batch`` (one batch on its way),
``worker`` (the other side); ``connection`` and ``local`` find or start a cluster.
"""

from __future__ import annotations

from fmident.evaluation import ExecutorKind
from fmident.plugins import Registry, hookimpl
from fmident_dask.executor import DaskExecutor
from fmident_dask.options import DaskOptions

__all__ = ["DASK", "DaskExecutor", "DaskOptions", "fmident_register_executors"]


DASK = ExecutorKind(
    lambda problem, _options, warn: DaskExecutor(problem, warn=warn),
    "a Dask cluster, or Dask workers of this machine",
    isolated=True,
    limits_memory=True,
    renews=True,
    several_machines=True,
    options_type=DaskOptions,
)


@hookimpl
def fmident_register_executors(registry: Registry[ExecutorKind]) -> None:
    """Register ``dask``."""
    registry.add("dask", DASK)
