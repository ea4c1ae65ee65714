"""Exports as part of a result folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.fmu import read_description
from fmident.report.contract import Reporter
from fmident.report.export.modifier import modifier
from fmident.report.export.record import record, record_name
from fmident.report.export.ssv import write_ssv
from fmident.report.export.values import Exports, exported_values

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem


def _write_modifier(exports: Exports, folder: Path) -> None:
    (folder / "modifier.txt").write_text(modifier(exports), encoding="utf-8")


def _write_record(exports: Exports, folder: Path) -> None:
    text = record(exports)
    (folder / f"{record_name(exports.model)}.mo").write_text(text, encoding="utf-8")


def _write_ssv(exports: Exports, folder: Path) -> None:
    write_ssv(exports, folder / "parameters.ssv")


FORMS: dict[str, Callable[[Exports, Path], None]] = {
    "modifier": _write_modifier,
    "record": _write_record,
    "ssv": _write_ssv,
}
"""Name of a form to what writes it into a result folder."""


def export_reporters(forms: Iterable[str]) -> list[tuple[str, type[Reporter]]]:
    """Return a reporter for each form that is asked for, with its name.

    Parameters
    ----------
    forms
        Names from :data:`FORMS`.
    """
    return [(f"export-{form}", _reporter(FORMS[form], form)) for form in dict.fromkeys(forms)]


def _reporter(write: Callable[[Exports, Path], None], form: str) -> type[Reporter]:
    class ExportReporter(Reporter):
        summary = f"identified values as {form}"

        def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
            exports = exported_values(result, read_description(problem.fmu), problem.start_values)
            write(exports, folder)

    return ExportReporter
