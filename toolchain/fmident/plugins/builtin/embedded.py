"""Registration of the embedded compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.compilers.base import Compiler
    from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_compilers(registry: Registry[type[Compiler]]) -> None:
    """Register ``embedded``."""
    registry.add_when_used("embedded", "fmident.compilers.embedded:EmbeddedCompiler")
