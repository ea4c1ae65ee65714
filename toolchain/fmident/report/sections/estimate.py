"""Sections on the run: verdict, parameters, search, stages, settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.report.figures import search
from fmident.report.figures.uncertainty import forest_chart
from fmident.report.sections.html import fragment
from fmident.report.terminal import base_rows, held_of, jacobians, remark, unit_text, white_error
from fmident.words import duration, interval, plain, with_error

if TYPE_CHECKING:
    from markupsafe import Markup

    from fmident.estimation.result import EstimationResult, ParameterEstimate, StageResult
    from fmident.report.verdict import Verdict


_MOST_FILES = 6
_MOST_PARAMETERS = 24
"""So many parameters are drawn."""


@dataclass(frozen=True)
class Line:
    """One line of an entry; code is set in a monospaced font."""

    text: str
    code: bool = False


@dataclass(frozen=True)
class Entry:
    """Lines of text, or a table if there are rows."""

    heading: str
    lines: Sequence[Line]
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, heading: str, *lines: str) -> Entry:
        """Return an entry of plain lines."""
        return cls(heading, [Line(text) for text in lines])


def origin_of(result: Path) -> str:
    """Return the date of a result and the data files of the problem beside it, as one line.

    The date is that of the file, or today where the file is still to be written.
    """
    try:
        written = (
            datetime.fromtimestamp(result.stat().st_mtime) if result.exists() else datetime.now()
        )
        problem = tomllib.loads((result.parent / "problem.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    experiments = [e for e in problem.get("experiments", ()) if isinstance(e, Mapping)]
    names = list(dict.fromkeys(Path(str(e["data"])).name for e in experiments if "data" in e))
    more = [f"{len(names) - _MOST_FILES} more"] if len(names) > _MOST_FILES else []
    files = ", ".join([*names[:_MOST_FILES], *more])
    return f"{written.day} {written:%B %Y}" + (f" · data: {files}" if files else "")


def run_section(entries: Sequence[Entry]) -> str:
    """Return a list of entries."""
    return fragment("run", entries=entries)


def estimate_facts(result: EstimationResult, version: str) -> list[Entry]:
    """Return the information on an estimation."""
    cost = f"{plain(result.cost_initial)} → {plain(result.cost_final)} ({_cost_meaning(result)})"
    simulated = f"{result.simulations} simulations, {jacobians(result)}"
    path = str(result.fmu_path) if result.fmu_path is not None else ""
    fmu = [Line(result.fmu_name), Line(path, code=True)]
    fmu += [Line(result.fmu_tool or ""), Line(result.fmu_guid or "", code=True)]
    data = [f.note for f in result.findings if f.code == "reading"]
    return [
        Entry.of("Status", f"{result.status}: {result.message}"),
        *([Entry.of("Data", *data)] if data else []),
        Entry.of("Estimator", result.estimator),
        *_settings(result.settings),
        Entry.of("Cost", cost),
        Entry.of("Effort", f"{simulated}, {duration(result.seconds)}"),
        Entry("FMU", [line for line in fmu if line.text]),
        Entry.of("fmident", version),
    ]


def _settings(settings: Mapping[str, object]) -> list[Entry]:
    """Return the settings of the run; nested mappings and lists of mappings become tables."""
    groups: list[Entry] = []
    for key, value in settings.items():
        heading = key.replace("_", " ").capitalize()
        if key == "options" and "stages" in settings:
            continue  # those of the last stage, shown with the others
        if isinstance(value, Mapping) and value:
            if key == "stages":  # each has options of its own: one table would be very wide
                groups += [_stage_options(str(k), v) for k, v in value.items()]
            elif all(isinstance(item, Mapping) for item in value.values()):
                groups.append(_table(heading, {str(k): v for k, v in value.items()}))
            else:
                rows = [[str(k), _text(v)] for k, v in value.items()]
                groups.append(Entry(heading, (), (), rows))
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            groups.append(_table(heading, {str(k): v for k, v in enumerate(value, 1)}))
        elif not isinstance(value, Mapping):
            groups.append(Entry.of(heading, _text(value)))
    return groups


def _stage_options(name: str, options: object) -> Entry:
    """Return the settings of one stage."""
    heading = f"Options of stage '{name}'"
    if not isinstance(options, Mapping) or not options:
        return Entry.of(heading, "none")
    return Entry(heading, (), (), [[str(k), _text(v)] for k, v in options.items()])


def _cost_meaning(result: EstimationResult) -> str:
    """Return a description of the minimised cost."""
    chosen = {k: v for k, v in result.cost_options.items() if v is not None}
    if result.cost == "time-domain" and chosen.get("normalisation", "none") == "none":
        return "half the sum of the squared whitened residuals"
    return f"{result.cost}: {_text(chosen)}" if chosen else result.cost


def _table(heading: str, content: Mapping[str, Any]) -> Entry:
    columns = list(dict.fromkeys(str(key) for item in content.values() for key in item))
    rows = [[name, *(_text(item.get(c, "")) for c in columns)] for name, item in content.items()]
    return Entry(heading, (), ["", *map(_words, columns)], rows)


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(k)} {_text(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value)
    return "default" if value is None else str(value)


def verdict_section(
    grade: str,
    headline: str,
    reasons: Sequence[str],
    notes: Sequence[str],
    more: Sequence[str] = (),
) -> str:
    """Return headline, reasons and notes; `more` is folded until a reader asks for it."""
    return fragment(
        "verdict", grade=grade, headline=headline, reasons=reasons, notes=notes, more=more
    )


def result_verdict(judged: Verdict, result: EstimationResult) -> str:
    """Return the verdict on an estimate, with what does not fit into its lines folded."""
    notes = [f.note for f in result.findings if f.code != "reading"]
    more = [*judged.more, *notes]
    return verdict_section(judged.grade, judged.headline, judged.reasons, [], more)


@dataclass(frozen=True)
class _Row:
    name: str
    description: str
    value: str
    error: str
    white: str
    interval: str
    unit: str
    initial: str
    bounds: str
    remark: str


def parameters_section(result: EstimationResult, *, picture: bool = True) -> str:
    """Return the table of all parameters, fixed ones included, and a chart of their intervals.

    The chart needs the report's script, so it is omitted elsewhere with ``picture=False``.
    """
    forest = forest_chart(result) if picture else None
    rows = [_row(e, result) for e in result.estimates]
    noise = "" if result.noise is None else result.noise.summary
    both = any(row.white for row in rows)
    return fragment(
        "parameters",
        rows=rows,
        forest=forest and forest.html(),
        noise=noise,
        both=both,
        base=base_rows(result),
    )


def _row(e: ParameterEstimate, result: EstimationResult) -> _Row:
    value, error = with_error(e.value, e.standard_error)
    return _Row(
        name=e.name,
        description=e.description,
        value=plain(e.value) if e.fixed or e.base else value,
        error="" if e.fixed or e.base else error,
        white=white_error(e, result),
        interval="" if e.fixed or e.base else interval(e.interval_95, e.standard_error),
        unit=unit_text(e.unit),
        initial=plain(e.initial),
        bounds=_bounds(e),
        remark=remark(e, result.identifiability, held_of(result)),
    )


def _bounds(e: ParameterEstimate) -> str:
    if not e.searched or (np.isinf(e.lower) and np.isinf(e.upper)):
        return ""
    low = "-∞" if np.isinf(e.lower) else plain(e.lower)
    high = "∞" if np.isinf(e.upper) else plain(e.upper)
    return f"{low} … {high}"


@dataclass(frozen=True)
class _Population:
    stage: str
    history: Markup | str
    pairs: Markup | str
    colors: str
    left_out: int


def population_section(result: EstimationResult) -> str:
    """Return costs over the generations and all vectors; empty without generations."""
    if not result.generations:
        return ""
    populations = []
    for stage, generations, searched in search.by_stage(result):
        history = search.generations_chart(generations)
        pairs = search.population_chart(generations, searched)
        left_out = max(0, len(searched) - search.MOST_PARAMETERS)
        if history or pairs:
            populations.append(
                _Population(
                    stage,
                    history.html() if history else "",
                    pairs[0].html() if pairs else "",
                    pairs[1] if pairs else "",
                    left_out,
                )
            )
    return fragment("population", populations=populations) if populations else ""


def iterations_section(result: EstimationResult) -> str:
    """Return the path of each parameter; empty if there is only one point."""
    path = search.path_chart(result, _MOST_PARAMETERS)
    return "" if path is None else fragment("iterations", chart=path.html(), **_counts(result))


def starts_section(result: EstimationResult) -> str:
    """Return costs and parameters at the end of each start; empty without several starts."""
    starts = search.starts_chart(result, _MOST_PARAMETERS)
    return "" if starts is None else fragment("starts", chart=starts.html(), **_counts(result))


def _counts(result: EstimationResult) -> dict[str, int]:
    return {"left_out": max(0, sum(e.searched for e in result.estimates) - _MOST_PARAMETERS)}


def stages_section(result: EstimationResult) -> str:
    """Return the table of the stages; empty without any."""
    if not result.stages:
        return ""
    rows = [
        [
            s.name,
            s.estimator,
            s.cost,
            f"{plain(s.cost_initial)} → {plain(s.cost_final)}",
            s.status,
            str(s.simulations),
            duration(s.seconds),
            ", ".join(f"{n} = {plain(v)}" for n, v in s.parameters.items()),
            _held(s),
        ]
        for s in result.stages
    ]
    return fragment("stages", rows=rows)


def _held(stage: StageResult) -> str:
    """Return which held values the intervals of a stage account for."""
    uncertainty = stage.uncertainty
    if uncertainty is None:
        return ""
    counted = f"{', '.join(uncertainty.counted)} (uncertainty counted)"
    known = f"{', '.join(uncertainty.taken_for_known)} (taken for exactly known)"
    parts = [(uncertainty.counted, counted), (uncertainty.taken_for_known, known)]
    return "; ".join(text for names, text in parts if names)
