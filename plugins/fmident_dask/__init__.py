"""Simulations on a Dask cluster, or on Dask workers of this machine.

``distributed`` is slow to import, so no module here imports it before a
:class:`DaskExecutor` is needed, nor that class before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.evaluation import ExecutorKind
    from fmident.plugins.registry import Registry
    from fmident_dask.executor import DaskExecutor
    from fmident_dask.kind import DASK, DaskOptions

__all__ = ["DASK", "DaskExecutor", "DaskOptions", "fmident_register_executors"]

__getattr__, _ = lazy_face(
    __name__, {"DASK": "kind", "DaskExecutor": "executor", "DaskOptions": "kind"}
)


@hookimpl
def fmident_register_executors(registry: Registry[ExecutorKind]) -> None:
    """Register ``dask``."""
    registry.add_when_used("dask", "fmident_dask.kind:DASK")
