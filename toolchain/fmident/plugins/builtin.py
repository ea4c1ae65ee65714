"""Plugins that are part of fmident, registered by the same hooks as all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.compilers.base import Compiler
    from fmident.evaluation import ExecutorKind
    from fmident.plugins.registry import Registry
    from fmident.report.contract import Reporter


class Embedded:
    """The embedded compiler."""

    @staticmethod
    @hookimpl
    def fmident_register_compilers(registry: Registry[type[Compiler]]) -> None:
        """Register ``embedded``."""
        registry.add_when_used("embedded", "fmident.compilers.embedded:EmbeddedCompiler")


class Executors:
    """The executors for the local machine."""

    @staticmethod
    @hookimpl
    def fmident_register_executors(registry: Registry[ExecutorKind]) -> None:
        """Register ``auto``, ``inline`` and ``processes``."""
        home = "fmident.evaluation.executors.registry"
        registry.add_when_used("auto", f"{home}:AUTO")
        registry.add_when_used("inline", f"{home}:INLINE")
        registry.add_when_used("processes", f"{home}:PROCESSES")


class Reporters:
    """The reporters that write the result folder."""

    @staticmethod
    @hookimpl
    def fmident_register_reporters(registry: Registry[type[Reporter]]) -> None:
        """Register ``json``, ``csv`` and ``html``."""
        registry.add_when_used("json", "fmident.report.estimate:JsonReporter")
        registry.add_when_used("csv", "fmident.report.estimate:CsvReporter")
        registry.add_when_used("html", "fmident.report.estimate:HtmlReporter")
