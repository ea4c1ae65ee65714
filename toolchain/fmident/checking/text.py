"""The report of a check as text for a terminal, verdict first."""

from __future__ import annotations

import math
import textwrap

from fmident.checking.report import CheckReport, ParameterCheck
from fmident.errors import Diagnostic
from fmident.report.terminal import Alignment, merged_into, narrow_table, table, unit_text
from fmident.statistics.fixing import fixing_sentence
from fmident.words import duration, percent, plain

_MOST_OUTPUTS = 12
_MOST_EXPERIMENTS = 8
_MOST_PROMISES = 8
_NAMES = {"error": "ERROR", "warning": "warning", "note": "note"}


def check_page(report: CheckReport, width: int = 92) -> str:
    """Return verdict, findings and tables for `width` columns; no trailing newline."""
    width = min(max(width, 60), 110)
    if report.stages:
        pages = [f"Stage '{r.stage}'\n{check_page(r, width)}" for r in report.stages]
        return "\n\n".join([_wrap(report.headline, width), *pages])
    blocks = [
        _wrap(report.headline, width),
        "\n".join(_finding(d, width) for d in report.findings),
        _parameters(report, width),
        _outputs(report),
        _experiments(report),
        _globally(report),
        _closing(report, width),
    ]
    return "\n\n".join(block for block in blocks if block)


def check_view(report: CheckReport) -> str:
    """Return verdict, findings and parameters as HTML for a notebook."""
    from fmident.report.sections.html import embedded  # here, since templates are slow to import

    return embedded(f"Check: {report.problem}", _view_sections(report))


def check_html(report: CheckReport) -> str:
    """Return verdict, findings, tables and charts as a self-contained page."""
    from fmident.report.sections.html import document

    facts = [report.fmu, f"{report.simulations} simulations", duration(report.seconds)]
    return document(
        kicker="Check before the run",
        title=report.problem,
        headline=report.headline,
        subtitle=" · ".join(facts),
        sections=_view_sections(report, charts=True),
    )


def _view_sections(report: CheckReport, *, charts: bool = False) -> list[str]:
    from fmident.checking.global_sensitivity.page import global_section
    from fmident.report.sections.estimate import verdict_section
    from fmident.report.sections.html import Section, Table

    if report.stages:
        inner = [
            html
            for one in report.stages
            for html in (
                Section(f"Stage '{one.stage}'", []).html(),
                *_view_sections(one, charts=charts),
            )
        ]
        return [verdict_section(_grade(report), report.headline, [], []), *inner]
    sentences = [
        f"{d.severity}: {d.message}" + (f" → {d.hint}" if d.hint else "") for d in report.findings
    ]
    promise = [f"Predicted: {report.promise}."] if report.promise else []
    header, rows = _parameter_table(report)
    table = Section("Parameters", [Table(header, rows)]).html() if rows else ""
    return [
        verdict_section(_grade(report), report.headline, [*promise, *sentences], []),
        table,
        global_section(report.global_sensitivity, charts=charts),
    ]


def _grade(report: CheckReport) -> str:
    return "bad" if report.of("error") else "doubtful" if report.of("warning") else "good"


def _finding(d: Diagnostic, width: int) -> str:
    """Return severity, message, location and hint, indented."""
    label = f"{_NAMES[d.severity]:<8} "
    indent = " " * len(label)
    head, *log = d.message.splitlines()
    lines = [_wrap(head, width, label, indent)]
    lines += [_wrap(line.strip(), width, indent, indent + "  ") for line in log]
    if d.hint:
        lines.append(_wrap(f"-> {d.hint}", width, indent, indent + "   "))
    if d.location is not None:
        lines.append(f"{indent}{d.location}" + (f" [{d.rule}]" if d.rule else ""))
    return "\n".join(lines)


def _parameters(report: CheckReport, width: int) -> str:
    header, rows = _parameter_table(report)
    align: list[Alignment] = ["<", ">", "<", "<", ">", ">", "<"]
    return narrow_table(header, rows, align[: len(header)], width) if rows else ""


def _parameter_table(report: CheckReport) -> tuple[list[str], list[list[str]]]:
    rows = []
    for p in report.parameters:
        rows.append(
            [
                p.name,
                plain(p.initial),
                unit_text(p.unit),
                _acts(p),
                _error(p.predicted_error),
                percent(float(f"{p.relative_error:.2g}"))
                if math.isfinite(p.relative_error)
                else "",
                f"= {p.formula}" if p.formula else merged_into(p.base) if p.base else "",
            ]
        )
    header = ["parameter", "initial", "unit", "acts", "predicted +-", "relative", ""]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return header, rows


def _acts(p: ParameterCheck) -> str:
    return {
        "yes": "yes",
        "none": "NO",
        "elsewhere": "not here",
        "fixed": "fixed",
        "fixed, none": "fixed, no",
        "dependent": "follows",
        "base": "yes",
        "unknown": "?",
    }[p.influence]


def _error(value: float) -> str:
    if math.isnan(value):
        return ""
    return "unbounded" if math.isinf(value) else plain(value, 2)


def _outputs(report: CheckReport) -> str:
    rows = [
        [
            o.experiment,
            o.name,
            plain(o.measured, 4),
            "" if math.isnan(o.residual) else plain(o.residual, 4),
            unit_text(o.unit),
            "" if math.isnan(o.share) else percent(o.share),
        ]
        for o in report.outputs[:_MOST_OUTPUTS]
    ]
    if not rows:
        return ""
    header = ["experiment", "output", "rms", "rms misfit", "unit", "information"]
    text = table(header, rows, ["<", "<", ">", ">", "<", ">"])
    left = len(report.outputs) - len(rows)
    return f"{text}\n... and {left} more (--json FILE has all)" if left else text


def _experiments(report: CheckReport) -> str:
    rows = []
    for e in report.experiments[:_MOST_EXPERIMENTS]:
        slow, fast = e.slowest, e.fastest
        rows.append(
            [
                e.name,
                str(e.samples),
                duration(e.duration),
                duration(e.step) + ("" if e.regular else " (varies)"),
                "" if math.isnan(e.bandwidth) else f"{e.bandwidth:.3g} Hz",
                "" if math.isnan(fast) else _range(fast, slow),
            ]
        )
    header = ["experiment", "samples", "length", "step", "bandwidth", "time constants"]
    text = table(header, rows, ["<", ">", ">", ">", ">", "<"])
    left = len(report.experiments) - len(rows)
    return f"{text}\n... and {left} more (--json FILE has all)" if left else text


def _globally(report: CheckReport) -> str:
    from fmident.checking.global_sensitivity.page import tables

    sensitivity = report.global_sensitivity
    if sensitivity is None or not sensitivity.outputs:
        return ""
    parts = [
        f"{o.experiment}: what moves {o.output} over the bounds ({sensitivity.method.name})\n\n"
        + table(header, rows, ["<", ">", ">", ">"])
        for o, header, rows in tables(sensitivity)
    ]
    left = len(parts) - _MOST_OUTPUTS
    more = [f"... and {left} more outputs (--json FILE has all)"] if left > 0 else []
    return "\n\n".join([*parts[:_MOST_OUTPUTS], *more])


def _range(fast: float, slow: float) -> str:
    if slow < 1.2 * fast:
        return duration(float(f"{slow:.2g}"))
    return f"{duration(float(f'{fast:.2g}'))} to {duration(float(f'{slow:.2g}'))}"


def _closing(report: CheckReport, width: int) -> str:
    lines = []
    known = report.sensitivities
    if known is not None:
        lines.append(known.verdict)
        if known.rank and len(known.names) <= _MOST_PROMISES:
            lines.append(f"Predicted: {report.promise}.")
        values = ", ".join(f"{s:.3g}" for s in known.scaled_singular_values)
        lines.append(f"Singular values of the scaled sensitivities: {values}.")
        if known.fixing:
            lines.append(fixing_sentence(known.fixing))
        if known.rank == len(known.names) > 1:
            lines.append(f"Collinearity index {known.collinearity:.3g} (critical from 15 on).")
        if report.priors:
            parts = [
                f"{name} ({prior}" + ("" if math.isnan(part) else f", {percent(part)}") + ")"
                for name, (prior, part) in report.priors.items()
            ]
            text = ", ".join(parts)
            lines.append(f"The prediction counts priors, with their share in the variance: {text}.")
        if not report.intervals:
            lines.append(
                "All this holds for plain squares in the time domain, such as those of a last"
                f" stage: the cost of this problem ('{report.cost}') gives no standard errors."
            )
        if not known.sigma_known:
            lines.append(
                "Sigma is not given: the predicted errors take the misfit at the initial values"
                " for noise and are too large while these are far off."
            )
    if report.derivatives:
        lines.append(f"Derivatives: {report.derivatives}.")
    if math.isfinite(report.simulation_noise):
        unit = "sigma" if known is None or known.sigma_known else "the unit of the residuals"
        lines.append(f"Noise of the simulation: {report.simulation_noise:.2g} times {unit}.")
    if report.bounds is not None:
        b = report.bounds
        lines.append(f"{b.points - b.failed} of {b.points} simulations inside the bounds work.")
    if report.effort is not None:
        lines.append(_effort(report))
    lines.append(
        f"This check: {report.simulations} simulations, {duration(report.seconds)}"
        + (", quick." if report.quick else ".")
    )
    return "\n".join(_wrap(line, width) for line in lines)


def _effort(report: CheckReport) -> str:
    e = report.effort
    assert e is not None
    text = f"One point takes {duration(e.seconds_per_simulation)}, "
    text += (
        f"a Jacobian {duration(e.seconds_per_jacobian)}"
        if e.seconds_per_jacobian > 0.0
        else "its Jacobian comes with it"
    )
    if e.workers > 1:
        text += f" with {e.workers} workers"
    if e.simulations is None or e.seconds is None:
        return f"{text}; '{report.estimator}' does not say how many it needs."
    shortest = duration(float(f"{e.seconds:.2g}"))
    if e.most is not None and e.most > e.simulations:
        longest = duration(float(f"{e.seconds * e.most / e.simulations:.2g}"))
        return (
            f"{text}; '{report.estimator}' should need {e.simulations} to {e.most} simulations,"
            f" {shortest} to {longest}."
        )
    how = "at least" if e.descends else "about"
    text += f"; '{report.estimator}' should need {how} {e.simulations} simulations, {shortest}"
    if e.events:
        return (
            f"{text}, and many times more if instants at which outputs jump or bend move with the"
            " parameters."
        )
    return f"{text}."


def _wrap(text: str, width: int, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
