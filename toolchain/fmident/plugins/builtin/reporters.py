"""Registers the reporters that write the result folder."""

from __future__ import annotations

from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry
from fmident.report.contract import Reporter


@hookimpl
def fmident_register_reporters(registry: Registry[type[Reporter]]) -> None:
    """Register ``json``, ``csv`` and ``html``."""
    from fmident.report.page import HtmlReporter
    from fmident.report.result_json import JsonReporter
    from fmident.report.tables import CsvReporter

    registry.add("json", JsonReporter)
    registry.add("csv", CsvReporter)
    registry.add("html", HtmlReporter)
