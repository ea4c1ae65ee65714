"""Simulations on a Dask cluster, or on Dask workers of this machine.

Nothing here imports ``distributed`` before a :class:`DaskExecutor` is made. Reading order:
``shipments`` (what travels), ``executor`` (this side), ``batch`` (one batch on its way),
``worker`` (the other side); ``connection`` and ``local`` find or start a cluster.
"""

from fmident.evaluation.executors.dask.executor import DaskExecutor

__all__ = ["DaskExecutor"]
