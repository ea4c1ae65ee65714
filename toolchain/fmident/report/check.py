"""The report of a check as text for a terminal, verdict first, and as a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fmident.findings import Finding
from fmident.report.estimate import merged_into
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Chart, Dots, Line, Mark, Panel, Segments
from fmident.report.figures.style import padded
from fmident.report.sections import Block, Page, Plot, Section, Summary, Table, Text
from fmident.report.terminal import sections_text
from fmident.statistics.identifiability import fixing_sentence
from fmident.words import duration, percent, plain, unit_text, wrap

if TYPE_CHECKING:
    from fmident.checking.result import CheckReport, EffortCheck, GlobalSensitivity, OutputIndices

_MOST_OUTPUTS = 12
_MOST_EXPERIMENTS = 8
_MOST_PROMISES = 8
_MOST_LINES = 8
_ROW, _REST, _TIME_HEIGHT = 26, 84, 220
_ACTS = {
    "yes": "yes",
    "none": "NO",
    "elsewhere": "not here",
    "fixed": "fixed",
    "fixed, none": "fixed, no",
    "dependent": "follows",
    "base": "yes",
    "unknown": "?",
}
_ABOUT = {
    "sobol": "S1 is the part of the output's variance, summed over time, that goes if only this "
    "parameter were known; ST the part that stays if only this one were not known. ST beyond S1 "
    "comes from acting together with others. All parameters are spread evenly over their bounds.",
    "morris": "mu* is the mean size of the change of the output when the parameter moves through "
    "its whole range, in units of the output's own spread; sigma says by how much that change "
    "depends on where it and the others are. All parameters are spread evenly over their bounds.",
}


def check_page(report: CheckReport, width: int = 92) -> str:
    """Return verdict, findings and tables for `width` columns; no trailing newline."""
    width = min(max(width, 60), 110)
    if report.stages:
        pages = [f"Stage '{r.stage}'\n{check_page(r, width)}" for r in report.stages]
        return "\n\n".join([wrap(report.headline, width), *pages])
    blocks = [
        wrap(report.headline, width),
        "\n".join(_finding(f, width) for f in report.findings),
        sections_text([*_sections(report, most=_MOST_OUTPUTS)], width),
    ]
    return "\n\n".join(block for block in blocks if block)


def check_view(report: CheckReport) -> str:
    """Return verdict, findings and tables as HTML for a notebook."""
    return _page(report, "Check").embedded()


def check_html(report: CheckReport) -> str:
    """Return verdict, findings, tables and charts as a self-contained page."""
    facts = [report.fmu, f"{report.simulations} simulations", duration(report.seconds)]
    return replace(_page(report, "Check before the run"), facts=facts).html()


def _page(report: CheckReport, kicker: str) -> Page:
    grade = "bad" if report.of("error") else "doubtful" if report.of("warning") else "good"
    summary = Summary(report.headline, grade, _sentences(report))
    sections: list[Section] = []
    for one in report.stages:
        texts = [Text(text) for text in (one.headline, *_sentences(one))]
        sections += [Section(f"Stage '{one.stage}'", texts), *_sections(one)]
    return Page(kicker, report.problem, summary, [*sections, *_sections(report)])


def _sentences(report: CheckReport) -> list[str]:
    promise = [f"Predicted: {report.promise}."] if report.promise and not report.stages else []
    return promise + [
        f"{f.severity}: {f.text}" + (f" → {f.hint}" if f.hint else "") for f in report.findings
    ]


def _sections(report: CheckReport, most: int | None = None) -> Iterator[Section]:
    if report.stages:
        return
    tables = {
        "Parameters": (_parameters(report), len(report.parameters)),
        "Outputs": (_outputs(report), _MOST_OUTPUTS),
        "Experiments": (_experiments(report), _MOST_EXPERIMENTS),
    }
    for title, (table, rows) in tables.items():
        if table.rows:
            left = len(table.rows) - rows
            more = [Text(f"... and {left} more (--json FILE has all)")] if left > 0 else []
            yield Section(title, [replace(table, rows=table.rows[:rows]), *more])
    if report.global_sensitivity is not None:
        yield from _global_sections(report.global_sensitivity, most)
    yield Section("What is to be expected", [Text(line) for line in _closing(report)])


def _finding(f: Finding, width: int) -> str:
    label = f"{'ERROR' if f.severity == 'error' else f.severity:<8} "
    indent = " " * len(label)
    head, *log = f.text.splitlines()
    lines = [wrap(head, width, label)]
    lines += [wrap(line.strip(), width, indent, len(indent) + 2) for line in log]
    if f.hint:
        lines.append(wrap(f.hint, width, f"{indent}-> "))
    if f.where is not None:
        lines.append(f"{indent}{f.where} [{f.code}]")
    return "\n".join(lines)


def _parameters(report: CheckReport) -> Table:
    rows = [
        [
            p.name,
            plain(p.initial),
            unit_text(p.unit),
            _ACTS[p.influence],
            "unbounded" if math.isinf(p.predicted_error) else _number(p.predicted_error, 2),
            percent(float(f"{p.relative_error:.2g}")) if math.isfinite(p.relative_error) else "",
            f"= {p.formula}" if p.formula else merged_into(p.base) if p.base else "",
        ]
        for p in report.parameters
    ]
    header = ["parameter", "initial", "unit", "acts", "predicted +-", "relative", ""]
    columns = 7 if any(row[-1] for row in rows) else 6
    return Table(header[:columns], [row[:columns] for row in rows], "<><<>><"[:columns])


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else plain(value, digits)


def _outputs(report: CheckReport) -> Table:
    rows = [
        [
            o.experiment,
            o.name,
            plain(o.measured, 4),
            _number(o.residual, 4),
            unit_text(o.unit),
            "" if math.isnan(o.share) else percent(o.share),
        ]
        for o in report.outputs
    ]
    header = ["experiment", "output", "rms", "rms misfit", "unit", "information"]
    return Table(header, rows, "<<>><>")


def _experiments(report: CheckReport) -> Table:
    rows = [
        [
            e.name,
            str(e.samples),
            duration(e.duration),
            duration(e.step) + ("" if e.regular else " (varies)"),
            "" if math.isnan(e.bandwidth) else f"{e.bandwidth:.3g} Hz",
        ]
        for e in report.experiments
    ]
    return Table(["experiment", "samples", "length", "step", "bandwidth"], rows, "<>>>>")


def _closing(report: CheckReport) -> Iterator[str]:
    known = report.sensitivities
    if known is not None:
        yield known.verdict
        if known.rank and len(known.names) <= _MOST_PROMISES:
            yield f"Predicted: {report.promise}."
        values = ", ".join(f"{s:.3g}" for s in known.scaled_singular_values)
        yield f"Singular values of the scaled sensitivities: {values}."
        if known.fixing:
            yield fixing_sentence(known.fixing)
        if known.rank == len(known.names) > 1:
            yield f"Collinearity index {known.collinearity:.3g} (critical from 15 on)."
        if report.priors:
            text = ", ".join(
                f"{name} ({prior}" + ("" if math.isnan(part) else f", {percent(part)}") + ")"
                for name, (prior, part) in report.priors.items()
            )
            yield f"The prediction counts priors, with their share in the variance: {text}."
        if not report.intervals:
            yield (
                "All this holds for plain squares in the time domain, such as those of a last"
                f" stage: the cost of this problem ('{report.cost}') gives no standard errors."
            )
        if not known.sigma_known:
            yield (
                "Sigma is not given: the predicted errors take the misfit at the initial values"
                " for noise and are too large while these are far off."
            )
    if report.derivatives:
        yield f"Derivatives: {report.derivatives}."
    if math.isfinite(report.simulation_noise):
        unit = "sigma" if known is None or known.sigma_known else "the unit of the residuals"
        yield f"Noise of the simulation: {report.simulation_noise:.2g} times {unit}."
    if report.bounds is not None:
        b = report.bounds
        yield f"{b.points - b.failed} of {b.points} simulations inside the bounds work."
    if report.effort is not None:
        yield _effort(report.effort, report.estimator)
    yield (
        f"This check: {report.simulations} simulations, {duration(report.seconds)}"
        + (", quick." if report.quick else ".")
    )


def _effort(e: EffortCheck, estimator: str) -> str:
    text = f"One point takes {duration(e.seconds_per_simulation)}, "
    text += (
        f"a Jacobian {duration(e.seconds_per_jacobian)}"
        if e.seconds_per_jacobian > 0.0
        else "its Jacobian comes with it"
    )
    if e.workers > 1:
        text += f" with {e.workers} workers"
    if e.simulations is None or e.seconds is None:
        return f"{text}; '{estimator}' does not say how many it needs."
    shortest = duration(float(f"{e.seconds:.2g}"))
    if e.most is not None and e.most > e.simulations:
        longest = duration(float(f"{e.seconds * e.most / e.simulations:.2g}"))
        return (
            f"{text}; '{estimator}' should need {e.simulations} to {e.most} simulations,"
            f" {shortest} to {longest}."
        )
    how = "at least" if e.descends else "about"
    text += f"; '{estimator}' should need {how} {e.simulations} simulations, {shortest}"
    if e.events:
        text += (
            ", and many times more if instants at which outputs jump or bend move with the"
            " parameters"
        )
    return f"{text}."


def _global_sections(sensitivity: GlobalSensitivity, most: int | None) -> Iterator[Section]:
    method = sensitivity.method.name
    columns = {"mu*": "mu_star", "+-": "mu_star_conf", "sigma": "sigma"}
    if method == "sobol":
        columns = {"S1": "S1", "ST": "ST", "+-": "ST_conf"}
    for number, output in enumerate(sensitivity.outputs[:most]):
        rows = [
            [
                sensitivity.names[j],
                *(plain(float(output.indices[key][j]), 2) for key in columns.values()),
            ]
            for j in np.argsort(-output.indices[sensitivity.index])
        ]
        name = f"{output.experiment}: {output.output}"
        blocks: list[Block] = [
            Text(f"{output.experiment}: what moves {output.output} over the bounds ({method})"),
            Plot(partial(_global_chart, sensitivity, output), name),
            Table(["parameter", *columns], rows, "<>>>"),
        ]
        if not number:
            blocks += [Text(text, about=True) for text in (_ABOUT[method], _bounds(sensitivity))]
        yield Section(f"Global sensitivities of {output.output}", blocks)
    left = 0 if most is None else len(sensitivity.outputs) - most
    if left > 0:
        yield Section("", [Text(f"... and {left} more outputs (--json FILE has all)")])


def _bounds(g: GlobalSensitivity) -> str:
    ranges = zip(g.names, g.lower, g.upper, strict=True)
    text = ", ".join(f"{name} from {plain(a, 4)} to {plain(b, 4)}" for name, a, b in ranges)
    return f"Bounds: {text}. {g.used} samples, {g.points} simulations of each experiment."


def _global_chart(sensitivity: GlobalSensitivity, output: OutputIndices) -> Chart:
    key = sensitivity.index
    order = np.argsort(-output.indices[key])
    names = [sensitivity.names[j] for j in order]
    rows = np.arange(float(len(names)), 0.0, -1.0)
    main, width = output.indices[key][order], output.indices[f"{key}_conf"][order]
    is_sobol = sensitivity.method.name == "sobol"
    title, second = ("ST", "S1") if is_sobol else ("mu*", "sigma")
    other = output.indices[second][order]
    words = {"parameter": names}
    marks: list[Mark] = [
        Segments(
            np.zeros(len(names)), rows, main, rows, style.FITTED, title, 12.0,
            hover=[("parameter", "parameter"), (title, "x1")], extra=words,
        ),
        Segments(np.maximum(main - width, 0.0), rows, main + width, rows, style.END, "95 %", 2.0),
        Dots(
            other, rows, style.INITIAL, second, 8.0, "diamond",
            hover=[("parameter", "parameter"), (second, "x")], extra=words,
        ),
    ]  # fmt: skip
    far = max(float(np.max([main + width, other])), 1.0 if is_sobol else 0.0)
    ranking = Panel(
        Axis(
            0.0,
            1.05 * far,
            "part of the variance" if is_sobol else "effect / spread of the output",
        ),
        Axis(0.4, len(names) + 0.6, ticks=[*zip(rows.tolist(), names, strict=True)], fixed=True),
        marks,
        max(_ROW * len(names) + _REST, 150),
        f"{output.experiment}: {output.output}",
    )
    lines = [
        Line(
            output.times,
            np.ascontiguousarray(output.over_time[:, j]),
            style.SERIES[j % len(style.SERIES)],
            sensitivity.names[j],
            hidden=k >= _MOST_LINES,
        )
        for k, j in enumerate(order)
    ]
    top = float(np.max(output.over_time, initial=0.0)) or 1.0
    over_time = Panel(
        Axis.of_time(output.experiment, output.times),
        Axis(*padded(0.0, top, 0.05), "ST x variance / mean" if is_sobol else "mu*"),
        lines,
        _TIME_HEIGHT,
        "over time",
    )
    title = f"Global sensitivities of {output.output}"
    return Chart([ranking, over_time], title, side_by_side=True)
