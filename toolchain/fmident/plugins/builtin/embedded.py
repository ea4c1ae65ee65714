"""Registers the embedded compiler."""

from __future__ import annotations

from fmident.compilers.base import Compiler
from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_compilers(registry: Registry[type[Compiler]]) -> None:
    """Register ``embedded``."""
    from fmident.compilers.embedded import EmbeddedCompiler

    registry.add(
        "embedded",
        EmbeddedCompiler,
        summary="continuous Modelica to FMI 2.0 Co-Simulation, without OpenModelica",
    )
