"""Lists the outputs by their errors, largest first: the smallest section of a report."""

from __future__ import annotations

from fmident.estimation.result import EstimationResult
from fmident.plugins import hookimpl
from fmident.problem import Problem
from fmident.report.sections import Section, Table, Text


@hookimpl
def fmident_report_sections(result: EstimationResult, problem: Problem) -> list[Section]:
    """Return a table of the relative errors; nothing if there are no outputs to compare."""
    if len(result.fits) < 2:
        return []
    ranked = sorted(result.fits, key=lambda fit: fit.relative_error, reverse=True)
    rows: list[list[str | float]] = [
        [fit.experiment, fit.name, 100.0 * fit.relative_error] for fit in ranked
    ]
    about = Text("Length of the error, relative to that of the measured signal; largest first.")
    return [Section("Errors", [about, Table(["experiment", "output", "error, %"], rows)])]
