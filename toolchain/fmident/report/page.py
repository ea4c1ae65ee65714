"""``report.html``: the result as a self-contained page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.errors import FmidentError
from fmident.plugin_code import raised_in
from fmident.report.contract import Reporter, TakesSections
from fmident.report.result_json import FILE_NAME as RESULT
from fmident.report.sections.estimate import (
    estimate_facts,
    iterations_section,
    origin_of,
    parameters_section,
    population_section,
    result_verdict,
    run_section,
    stages_section,
    starts_section,
)
from fmident.report.sections.html import Section, Text, document
from fmident.report.sections.signals import (
    diagnostics_section,
    fits_section,
    inputs_section,
    residuals_section,
    samples_of_page,
    series_section,
    validation_section,
)
from fmident.report.sections.uncertainty import (
    correlation_section,
    draws_section,
    identifiability_section,
    priors_section,
    sensitivities_section,
    truncation_section,
)
from fmident.report.verdict import verdict
from fmident.words import duration

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
        """Receive the sections, which precede the run information."""
        self._sections = sections

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write ``report.html`` into `folder`.

        Raises `FmidentError` if a section failed; the page is still written, with a note in its
        place.
        """
        from fmident._version import __version__

        title = result.fmu_name or problem.fmu.name
        source = str(problem.source) if problem.source is not None else ""
        failed: dict[str, Exception] = {}
        page = render(
            result,
            title=title,
            source=source,
            version=__version__,
            origin=origin_of(folder / RESULT),
            sections=self._sections,
            failed=failed,
        )
        (folder / FILE_NAME).write_text(page, encoding="utf-8")
        for name, error in failed.items():
            raise FmidentError(
                f"the section '{name}' of {FILE_NAME} could not be made: "
                f"{type(error).__name__}: {error}",
                location=raised_in(error, "fmident.report"),
            ) from error


def render(
    result: EstimationResult,
    *,
    title: str,
    version: str,
    source: str = "",
    origin: str = "",
    sections: Sequence[Section] = (),
    failed: dict[str, Exception] | None = None,
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
    origin
        When the result was made, and of which data.
    sections
        Those of plugins, before the facts of the run.
    failed
        Takes the exception of each section that could not be made, by its name; the page then
        says so in its place. Without it, the first exception is raised.
    """
    assessment, most = verdict(result), samples_of_page(result)
    facts = [result.estimator, f"{result.simulations} simulations", duration(result.seconds)]
    parts: list[tuple[str, Callable[[], str]]] = [
        (
            "verdict",
            lambda: result_verdict(assessment, result),
        ),
        ("parameters", lambda: parameters_section(result)),
        ("fits", lambda: fits_section(result, most)),
        ("validation", lambda: validation_section(result, most)),
        ("priors", lambda: priors_section(result)),
        ("draws", lambda: draws_section(result)),
        ("truncation", lambda: truncation_section(result)),
        ("stages", lambda: stages_section(result)),
        ("correlation", lambda: correlation_section(result)),
        ("series", lambda: series_section(result, most)),
        ("population", lambda: population_section(result)),
        ("inputs", lambda: inputs_section(result, most)),
        ("residuals", lambda: residuals_section(result)),
        ("residuals of each output", lambda: diagnostics_section(result)),
        ("sensitivities", lambda: sensitivities_section(result, most)),
        ("identifiability", lambda: identifiability_section(result)),
        ("iterations", lambda: iterations_section(result)),
        ("starts", lambda: starts_section(result)),
        *((section.title, section.html) for section in sections),
        ("run", lambda: run_section(estimate_facts(result, version))),
    ]
    return document(
        kicker="Parameter estimation",
        title=title,
        headline=assessment.headline,
        subtitle=" · ".join([source, *facts] if source else facts),
        origin=origin,
        sections=[_made(name, make, failed) for name, make in parts],
    )


def _made(name: str, make: Callable[[], str], failed: dict[str, Exception] | None) -> str:
    """Return a section, or a note if it failed, so that the others are not lost."""
    try:
        return make()
    except Exception as error:
        if failed is None:
            raise
        failed[name] = error
        text = f"This section could not be made: {type(error).__name__}: {error}"
        return Section(name.capitalize(), [Text(text)]).html()
