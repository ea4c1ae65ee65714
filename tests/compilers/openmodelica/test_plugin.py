"""Registration with the host."""

from __future__ import annotations

from fmident.compilers import openmodelica
from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
from fmident.plugins.registry import Registry


def test_registers_under_its_name() -> None:
    registry: Registry[type] = Registry("compiler")
    openmodelica.fmident_register_compilers(registry)
    assert registry.get("openmodelica") is OpenModelicaCompiler
    assert "standard library" in registry.registrations["openmodelica"].summary


def test_the_marker_is_the_hosts() -> None:
    from fmident.plugins.hookspecs import PROJECT

    assert hasattr(openmodelica.fmident_register_compilers, f"{PROJECT}_impl")
    assert OpenModelicaCompiler.name == "openmodelica"
    assert OpenModelicaCompiler() is not None  # made without arguments, as the hook demands
