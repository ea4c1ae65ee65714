"""Registration of the reporters that write the result folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.plugins.registry import Registry
    from fmident.report.contract import Reporter


@hookimpl
def fmident_register_reporters(registry: Registry[type[Reporter]]) -> None:
    """Register ``json``, ``csv`` and ``html``."""
    registry.add_when_used("json", "fmident.report.result_json:JsonReporter")
    registry.add_when_used("csv", "fmident.report.tables:CsvReporter")
    registry.add_when_used("html", "fmident.report.page:HtmlReporter")
