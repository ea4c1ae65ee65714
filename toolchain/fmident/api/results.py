"""Load results from their folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fmident.api.problems import Report, load_problem, warn
from fmident.cross_validation import CrossValidation
from fmident.errors import Diagnostic, FmidentError
from fmident.estimation.result import EstimationResult
from fmident.plugins import Host
from fmident.prediction import Prediction
from fmident.profiles import ProfileResult
from fmident.report.comparison import Comparison, compare_any
from fmident.report.estimate import ESTIMATE
from fmident.report.pages import stored_folder
from fmident.report.result_json import read_result
from fmident.report.sections import Section
from fmident.report.tables import other_samples, with_signals
from fmident.resampling import BootstrapResult


def compare(
    *results: EstimationResult | str | os.PathLike[str], names: Sequence[str] | None = None
) -> Comparison:
    """Compare results: parameters, fit, validation, model selection.

    Parameters
    ----------
    results
        Two or more, each as returned or as its result folder.
    names
        Their names; by default the ends of their paths, or ``"result 1"`` and so on.

    Returns
    -------
    fmident.report.comparison.Comparison
        With tables, among them ``figures`` (AIC, AICc, BIC, weights) and ``tests``
        (likelihood ratios of nested problems); as text it is the output of ``fmident
        compare``.

    Raises
    ------
    fmident.errors.EstimationError
        Fewer than two, two of the same name, or a folder without a result.
    """
    return compare_any([r if isinstance(r, EstimationResult) else Path(r) for r in results], names)


def load_result(
    path: str | os.PathLike[str],
) -> EstimationResult | ProfileResult | BootstrapResult | Prediction | CrossValidation:
    """Read a result from its folder.

    Parameters
    ----------
    path
        The folder of an estimation, profiles, a bootstrap, a prediction or a
        cross-validation, or the JSON file in it, such as ``result.json``.

    Returns
    -------
    EstimationResult, ProfileResult, BootstrapResult, Prediction or CrossValidation
        The object returned by the Python call, with numbers of tables to nine digits. An
        estimation has samples, iterations, vectors and estimates over time if their tables
        exist; the estimates from all samples of a cross-validation have none of these.

    Raises
    ------
    fmident.errors.EstimationError
        There is no result, or a file of it is missing or was modified.
    """
    stored = stored_folder(Path(path))
    if stored.analysis is not ESTIMATE:
        analysis_result: ProfileResult | BootstrapResult | Prediction | CrossValidation
        analysis_result = stored.analysis.read(stored.folder)
        return analysis_result
    read = read_result(stored.folder)
    whole = with_signals(read.result, stored.folder, required=False)
    warn(other_samples(read, whole))
    return whole


def stored_sections(
    result: EstimationResult, folder: Path, host: Host, report: Report = warn
) -> list[Section]:
    """Return the plugins' report sections for a result read from its folder.

    `result` has its samples, and `folder` the problem file as run, which is read only if a
    plugin adds sections. `report` takes what failed, and why.
    """
    if not host.implements("fmident_report_sections"):
        return []
    try:
        problem = load_problem(folder / "problem.toml", host=host, report=lambda _: None)
    except FmidentError as error:
        report(
            [
                Diagnostic(
                    "warning",
                    f"the sections of plugins are left out: {error.message}",
                    error.location,
                    hint="they need the problem as it was run, with its FMU and its data",
                    rule="failed-section",
                )
            ]
        )
        return []
    sections, failed = host.report_sections(result, problem)
    report(failed)
    return sections
