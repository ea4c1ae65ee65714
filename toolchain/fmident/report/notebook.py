"""Notebook views of problems and results: the first sections of their reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fmident.report.sections.estimate import parameters_section, result_verdict
from fmident.report.sections.html import Section, Table, Text, embedded
from fmident.report.terminal import unit_text
from fmident.report.verdict import verdict
from fmident.words import duration, plain

if TYPE_CHECKING:
    from fmident.data import Experiment
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Parameter, Problem

_MOST = 30
"""Experiments that are listed."""


def result_view(result: EstimationResult) -> str:
    """Return verdict and parameters of an estimation as HTML."""
    assessment = verdict(result)
    return embedded(
        f"Parameter estimation: {result.fmu_name}",
        [
            result_verdict(assessment, result),
            parameters_section(result, picture=False),
        ],
    )


def problem_view(problem: Problem) -> str:
    """Return parameters and experiments of a problem as HTML."""
    facts = [f"Estimator: {problem.estimator.name}", f"Cost: {problem.cost.name}"]
    facts += [f"Stages: {', '.join(s.name for s in problem.stages)}"] if problem.stages else []
    facts += [f"Constraint: {c.text}" for c in problem.constraints]
    header = ["Parameter", "Initial", "Bounds", "Unit", "Sets", ""]
    rows = [_parameter(p) for p in problem.parameters]
    titles = ["Experiment", "Samples", "Duration", "Inputs", "Outputs", ""]
    held_out = {e.name for e in problem.validation}
    every = [*problem.experiments, *problem.validation]
    listed = [_experiment(e, e.name in held_out) for e in every[:_MOST]]
    more = [Text(f"... and {len(every) - _MOST} more")] if len(every) > _MOST else []
    blocks = [Text(text) for text in facts]
    return embedded(
        f"Problem: {problem.fmu.stem}",
        [
            Section("Parameters", [Table(header, rows)]).html(),
            Section("Experiments", [Table(titles, listed), *more, *blocks]).html(),
        ],
    )


def _parameter(p: Parameter) -> list[str | float]:
    low = plain(p.lower) if math.isfinite(p.lower) else "-∞"
    high = plain(p.upper) if math.isfinite(p.upper) else "∞"
    bounds = f"{low} … {high}" if p.searched and (low, high) != ("-∞", "∞") else ""
    kind = "fixed" if p.fixed else "log scaling" if p.scaling == "log" else ""
    if p.expression is not None:
        text = p.expression.text
        kind = text if "=" in text else f"= {text}"
    return [p.name, plain(p.initial), bounds, unit_text(p.unit), p.variable or "measurement", kind]


def _experiment(e: Experiment, held_out: bool) -> list[str | float]:
    length = float(e.times[-1] - e.times[0]) if e.times.size else math.nan
    return [
        e.name,
        str(e.samples),
        duration(length),
        ", ".join(e.inputs),
        ", ".join(m.name for m in e.measurements),
        "validation" if held_out else "",
    ]
