"""Registers the compiler with the host, as any plugin does."""

from __future__ import annotations

from typing import Any

import pluggy

from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler

hookimpl = pluggy.HookimplMarker("fmident")


@hookimpl
def fmident_register_compilers(registry: Any) -> None:
    """Register the ``openmodelica`` compiler."""
    registry.add("openmodelica", OpenModelicaCompiler)
