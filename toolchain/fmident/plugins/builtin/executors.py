"""Registration of the executors for the local machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.evaluation.executors.kind import BUILT_IN
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.evaluation import ExecutorKind
    from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_executors(registry: Registry[ExecutorKind]) -> None:
    """Register ``auto``, ``inline`` and ``processes``."""
    for name, kind in BUILT_IN.items():
        registry.add(name, kind)
