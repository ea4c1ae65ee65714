"""The ``openmodelica`` compiler: the reference, through OMPython or through scripts."""

from __future__ import annotations

from typing import Any

import pluggy

hookimpl = pluggy.HookimplMarker("fmident")


@hookimpl
def fmident_register_compilers(registry: Any) -> None:
    """Register the ``openmodelica`` compiler."""
    registry.add_when_used(
        "openmodelica", "fmident.compilers.openmodelica.compiler:OpenModelicaCompiler"
    )
