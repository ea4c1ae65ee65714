"""``report.html``: the result on one page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.report.contract import Reporter, TakesSections
from fmident.report.numbers import duration
from fmident.report.sections.content import Section
from fmident.report.sections.correlation import correlation_section
from fmident.report.sections.fits import fits_section
from fmident.report.sections.html import document
from fmident.report.sections.parameters import parameters_section
from fmident.report.sections.population import population_section
from fmident.report.sections.residuals import residuals_section
from fmident.report.sections.run_facts import estimate_facts, run_section
from fmident.report.sections.series import series_section
from fmident.report.sections.stages import stages_section
from fmident.report.sections.verdict import verdict_section
from fmident.report.verdict import verdict

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem

FILE_NAME = "report.html"


class HtmlReporter(Reporter, TakesSections):
    """Writes ``report.html``."""

    summary = "report.html: verdict, parameters, plots of measured against simulated"

    def __init__(self) -> None:
        self._sections: Sequence[Section] = ()

    def take_sections(self, sections: Sequence[Section]) -> None:
        """Show them before the facts of the run."""
        self._sections = sections

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write ``report.html`` into `folder`."""
        from fmident._version import __version__

        title = result.fmu_name or problem.fmu.name
        source = str(problem.source) if problem.source is not None else ""
        page = render(
            result, title=title, source=source, version=__version__, sections=self._sections
        )
        (folder / FILE_NAME).write_text(page, encoding="utf-8")


def render(
    result: EstimationResult,
    *,
    title: str,
    version: str,
    source: str = "",
    sections: Sequence[Section] = (),
) -> str:
    """Return the page.

    Parameters
    ----------
    result
        What the run found.
    title
        What was estimated.
    version
        Of fmident.
    source
        The problem file, if there is one.
    sections
        Those of plugins, before the facts of the run.
    """
    judged = verdict(result)
    facts = [result.estimator, f"{result.simulations} simulations", duration(result.seconds)]
    return document(
        kicker="Parameter estimation",
        title=title,
        headline=judged.headline,
        subtitle=" · ".join([source, *facts] if source else facts),
        sections=[
            verdict_section(judged.grade, judged.headline, judged.reasons, result.notes),
            parameters_section(result),
            stages_section(result),
            correlation_section(result),
            series_section(result),
            population_section(result),
            fits_section(result),
            residuals_section(result),
            *(section.html() for section in sections),
            run_section(estimate_facts(result, version)),
        ],
    )
