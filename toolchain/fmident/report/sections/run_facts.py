"""How the run went, and what it was set to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.report.numbers import duration, jacobians, plain
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


_MOST_FILES = 6


@dataclass(frozen=True)
class Line:
    """One line of an entry; code is set in a typewriter face."""

    text: str
    code: bool = False


@dataclass(frozen=True)
class Entry:
    """Lines of text, or a table when there are rows."""

    heading: str
    lines: Sequence[Line]
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, heading: str, *lines: str) -> Entry:
        """Return an entry of plain lines."""
        return cls(heading, [Line(text) for text in lines])


def origin_of(result: Path) -> str:
    """Return the date of a result file and the data files of the problem beside it, as one line."""
    try:
        written = datetime.fromtimestamp(result.stat().st_mtime)
        problem = tomllib.loads((result.parent / "problem.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    experiments = [e for e in problem.get("experiments", ()) if isinstance(e, Mapping)]
    names = list(dict.fromkeys(Path(str(e["data"])).name for e in experiments if "data" in e))
    more = [f"{len(names) - _MOST_FILES} more"] if len(names) > _MOST_FILES else []
    files = ", ".join([*names[:_MOST_FILES], *more])
    return f"{written.day} {written:%B %Y}" + (f" · data: {files}" if files else "")


def run_section(entries: Sequence[Entry]) -> str:
    """Return a list of facts."""
    return fragment("run", entries=entries)


def estimate_facts(result: EstimationResult, version: str) -> list[Entry]:
    """Return the facts of an estimation."""
    cost = f"{plain(result.cost_initial)} → {plain(result.cost_final)} ({_cost_meaning(result)})"
    simulated = f"{result.simulations} simulations, {jacobians(result)}"
    path = str(result.fmu_path) if result.fmu_path is not None else ""
    fmu = [Line(result.fmu_name), Line(path, code=True)]
    fmu += [Line(result.fmu_tool or ""), Line(result.fmu_guid or "", code=True)]
    return [
        Entry.of("Status", f"{result.status}: {result.message}"),
        Entry.of("Estimator", result.estimator),
        *_settings(result.settings),
        Entry.of("Cost", cost),
        Entry.of("Effort", f"{simulated}, {duration(result.seconds)}"),
        Entry("FMU", [line for line in fmu if line.text]),
        Entry.of("fmident", version),
    ]


def _settings(settings: Mapping[str, object]) -> list[Entry]:
    """Return what the run was set to: mappings of mappings and lists of mappings as tables."""
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
    """Return what one stage was set to."""
    heading = f"Options of stage '{name}'"
    if not isinstance(options, Mapping) or not options:
        return Entry.of(heading, "none")
    return Entry(heading, (), (), [[str(k), _text(v)] for k, v in options.items()])


def _cost_meaning(result: EstimationResult) -> str:
    """Return what was minimised."""
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
