"""The result as text for a terminal."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from fmident.report.verdict import Verdict, verdict
from fmident.words import duration, interval, percent, plain, probability, with_error

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.statistics import Identifiability

Alignment = Literal["<", ">"]

_WIDTH = 92
_NARROWEST, _WIDEST = 60, 110
_LEAST_WRAPPED = 9
_MOST_BASE = 2
_MOST_FITS = 24
"""A problem with a hundred experiments must not push the parameters off the screen."""


def summary(result: EstimationResult, width: int = _WIDTH) -> str:
    """Return verdict, table of parameters, table of fits and notes; no trailing newline.

    Tables wider than the terminal's `width` are wrapped, or lose redundant columns.
    """
    width = min(max(width, _NARROWEST), _WIDEST)
    judgement = verdict(result)
    blocks = [
        _verdict(judgement, width),
        _parameters(result, width),
        _base_parameters(result, width),
        _priors(result, width),
        _draws(result, width),
        _truncation(result, width),
        _stages(result, width),
        _fits(result, width),
        _validation(result, width),
        "\n".join(wrap(text, width) for text in result.assumed_units),
        "\n".join(wrap(text, width, "  - ") for text in judgement.more),
        "\n".join(wrap(f"note: {f.note}", width) for f in result.findings),
        wrap(
            f"{result.estimator}: {result.message.rstrip('.')}; "
            f"{result.simulations} simulations, {jacobians(result)}, "
            f"{duration(result.seconds)}",
            width,
        ),
    ]
    return "\n\n".join(block for block in blocks if block)


def _verdict(judgement: Verdict, width: int) -> str:
    reasons = [wrap(text, width, "  - ") for text in judgement.reasons]
    return "\n".join([wrap(judgement.headline, width), *reasons])


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[Alignment] | None = None
) -> str:
    """Return a text table with a rule below the header.

    `align` has ``"<"`` or ``">"`` per column; all are left-aligned by default.
    """
    align = align or ["<"] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (f"{c:{a}{w}}" for c, a, w in zip(cells, align, widths, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * w for w in widths]), *map(line, rows)])


def narrow_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: Sequence[Alignment],
    width: int,
    spare: Sequence[str] = (),
) -> str:
    """Return a text table that fits a width as far as possible.

    Columns with titles in `spare` are dropped one by one if wrapping the cells of the last
    column is not enough. If there are none, the cells of all left-aligned columns are
    wrapped.
    """
    excess = _widest(table(header, rows, align)) - width
    cells = [row[-1] for row in [header, *rows]]
    room = max(map(len, cells)) - excess
    least = max((len(word) for cell in cells for word in cell.split()), default=0)
    if excess > 0 and room < max(least, _LEAST_WRAPPED) and spare:
        k = list(header).index(spare[0])
        shorter = [_without(row, k) for row in rows]
        return narrow_table(_without(header, k), shorter, _without(align, k), width, spare[1:])
    if excess > 0:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        if room >= max(least, _LEAST_WRAPPED):
            widths[-1] = room
        else:
            _shrink(widths, [header, *rows], align, excess)
        rows = [line for row in rows for line in _wrapped(row, widths)]
    return table(header, rows, align)


def _shrink(
    widths: list[int], rows: Sequence[Sequence[str]], align: Sequence[Alignment], excess: int
) -> None:
    """Narrow the widest text columns as far as their words allow."""
    words = ([cell.split() or [""] for cell in column] for column in zip(*rows, strict=True))
    longest = [max(len(word) for cell in column for word in cell) for column in words]
    least = [
        max(word, _LEAST_WRAPPED) if side == "<" else width
        for word, side, width in zip(longest, align, widths, strict=True)
    ]
    for _ in range(excess):
        column = max(range(len(widths)), key=lambda i: widths[i] if widths[i] > least[i] else 0)
        if widths[column] <= least[column]:
            return
        widths[column] -= 1


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Return a row as several rows, wrapping long cells."""
    cells = [
        textwrap.wrap(cell, width, break_on_hyphens=False) or [""] if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    return [list(line) for line in itertools.zip_longest(*cells, fillvalue="")]


_Item = TypeVar("_Item")


def _without(items: Sequence[_Item], k: int) -> list[_Item]:
    return [*items[:k], *items[k + 1 :]]


def _widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def unit_text(unit: str | None) -> str:
    """Return a unit to follow a number; empty for a dimensionless number."""
    return "" if unit in (None, "1") else str(unit)


def remark(
    estimate: ParameterEstimate,
    judged: Identifiability | None = None,
    held: Mapping[str, str] | None = None,
) -> str:
    """Return a remark on what is special about a parameter, or an empty string.

    Without an identifiability result, for instance next to a jump of the cost, a missing
    interval does not mean that the parameter cannot be identified.
    """
    if estimate.fixed:
        return "fixed"
    if estimate.expression:
        return estimate.follows
    endless = all(abs(end) == float("inf") for end in estimate.interval_95)
    if (estimate.base or endless) and held is not None and estimate.name in held:
        return held[estimate.name]
    if estimate.base:
        return merged_into(estimate.base)
    if estimate.at_bound:
        near_lower = abs(estimate.value - estimate.lower) <= abs(estimate.value - estimate.upper)
        return "at lower bound" if near_lower else "at upper bound"
    if endless:
        unjudged = (*judged.jumps, *judged.undecided, *judged.withheld) if judged else ()
        if judged and estimate.name in judged.silent:
            return "no influence"
        return "no interval" if estimate.name in unjudged else "not identifiable"
    low, high = estimate.interval_95
    if low < estimate.lower or high > estimate.upper:
        return "interval passes a bound"
    return ""


def merged_into(base: Sequence[str]) -> str:
    """Return a remark on the base parameters that contain a parameter."""
    few = len(base) <= _MOST_BASE
    return f"in {' and '.join(base)}" if few else f"in {len(base)} base parameters"


def held_of(result: EstimationResult) -> dict[str, str]:
    """Return remarks on parameters that truncation held, fully or partly, at the start."""
    truncation = result.truncation
    if truncation is None:
        return {}
    still = truncation.untouched
    return {n: "at the start" if n in still else "partly from the start" for n in truncation.held}


def _parameters(result: EstimationResult, width: int) -> str:
    rows = []
    for e in result.estimates:
        value, error = with_error(e.value, e.standard_error)
        if e.fixed or e.base:
            cells = [plain(e.value), "", ""]
        else:
            cells = [value, error, interval(e.interval_95, e.standard_error)]
        comment = remark(e, result.identifiability, held_of(result))
        rows.append(
            [e.name, *cells, white_error(e, result), unit_text(e.unit), plain(e.initial), comment]
        )
    header = ["parameter", "value", "+-", "95 % interval", "if white", "unit", "initial", ""]
    align: list[Alignment] = ["<", ">", ">", ">", ">", "<", ">", "<"]
    if result.noise is None or not result.noise.white_errors:
        rows = [[*row[:4], *row[5:]] for row in rows]
        header, align = [*header[:4], *header[5:]], [*align[:4], *align[5:]]
    spare = ["initial", "if white", "+-"]
    return narrow_table(header, rows, align, width, [name for name in spare if name in header])


def base_rows(result: EstimationResult) -> list[list[str]]:
    """Return one row per base parameter: value, uncertainty and formula."""
    return [
        [
            e.name,
            *with_error(e.value, e.standard_error),
            interval(e.interval_95, e.standard_error),
            unit_text(e.unit),
            e.expression,
        ]
        for e in result.base_parameters
    ]


def _base_parameters(result: EstimationResult, width: int) -> str:
    rows = base_rows(result)
    header = ["base parameter", "value", "+-", "95 % interval", "unit", "formula"]
    align: list[Alignment] = ["<", ">", ">", ">", "<", "<"]
    return narrow_table(header, rows, align, width, ["+-", "unit"]) if rows else ""


def white_error(e: ParameterEstimate, result: EstimationResult) -> str:
    """Return the standard error for white noise; empty if it is the one shown."""
    errors = {} if result.noise is None else result.noise.white_errors
    return plain(errors[e.name], 2) if e.name in errors else ""


PRIOR_HEADER = ["parameter", "prior", "by the data alone", "of the priors", "apart", "p"]


def prior_rows(result: EstimationResult) -> list[list[str]]:
    """Return one row per prior: prior, information from the data, and their distance."""
    if result.priors is None:
        return []
    return [
        [
            c.name,
            f"{c.prior} {unit_text(c.unit)}".rstrip(),
            "" if math.isnan(c.data_value) else " +- ".join(with_error(c.data_value, c.data_error)),
            "" if math.isnan(c.share) else percent(float(f"{c.share:.2g}")),
            "" if math.isnan(c.deviation) else f"{c.deviation:+.2g}",
            probability(c.p_value),
        ]
        for c in result.priors.checks
    ]


def _priors(result: EstimationResult, width: int) -> str:
    rows = prior_rows(result)
    if not rows:
        return ""
    return narrow_table(PRIOR_HEADER, rows, ["<", "<", ">", ">", ">", ">"], width, ["p", "apart"])


DRAW_HEADER = ["parameter", "median", "mean", "sd", "effective", "in tails", "R-hat"]


def draw_rows(result: EstimationResult) -> list[list[str]]:
    """Return one row per drawn parameter: location and uncertainty."""
    if result.draws is None:
        return []
    return [
        [
            name,
            with_error(one.median, one.sd)[0],
            with_error(one.mean, one.sd)[0],
            plain(one.sd, 3),
            f"{one.bulk:.0f}",
            f"{one.tail:.0f}",
            f"{one.r_hat:.3f}",
        ]
        for name, one in result.draws.parameters.items()
    ]


def _draws(result: EstimationResult, width: int) -> str:
    rows = draw_rows(result)
    align: list[Alignment] = ["<", ">", ">", ">", ">", ">", ">"]
    return narrow_table(DRAW_HEADER, rows, align, width, ["mean", "in tails"]) if rows else ""


TRUNCATION_HEADER = [
    "parameter", "start", "value", "from data", "+- of start", "+- of noise",
    "95 % if the start holds", "unit",
]  # fmt: skip


def truncation_rows(result: EstimationResult) -> list[list[str]]:
    """Return one row per parameter: contribution of the data, possible effect of the start."""
    if result.truncation is None:
        return []
    return [
        [
            p.name,
            plain(p.start),
            with_error(p.value, p.standard_error)[0],
            f"{100.0 * p.resolution:.3g} %",
            "" if p.resolved else plain(p.start_error, 2),
            *(
                ("", "")
                if p.name in result.truncation.untouched
                else (
                    with_error(p.value, p.standard_error)[1],
                    interval(p.interval_95, p.standard_error),
                )
            ),
            unit_text(p.unit),
        ]
        for p in result.truncation.parameters
    ]


def _truncation(result: EstimationResult, width: int) -> str:
    rows = truncation_rows(result)
    align: list[Alignment] = ["<", ">", ">", ">", ">", ">", ">", "<"]
    spare = ["value", "start", "unit"]
    return narrow_table(TRUNCATION_HEADER, rows, align, width, spare) if rows else ""


def _stages(result: EstimationResult, width: int) -> str:
    rows = [
        [
            s.name,
            s.estimator,
            s.cost,
            plain(s.cost_initial, 4),
            plain(s.cost_final, 4),
            s.status,
            str(s.simulations),
            ", ".join(s.parameters),
        ]
        for s in result.stages
    ]
    if not rows:
        return ""
    header = ["stage", "estimator", "cost", "before", "after", "status", "simulations", "searched"]
    align: list[Alignment] = ["<", "<", "<", ">", ">", "<", ">", "<"]
    return narrow_table(header, rows, align, width, ["simulations", "before"])


def _fits(result: EstimationResult, width: int) -> str:
    rows = [
        [
            f.experiment,
            f.name,
            plain(f.rms_initial, 4),
            plain(f.rms, 4),
            unit_text(f.unit),
            percent(f.relative_error),
        ]
        for f in result.fits[:_MOST_FITS]
    ]
    if not rows:
        return ""
    header = ["experiment", "output", "rms before", "rms after", "unit", "relative error"]
    text = narrow_table(header, rows, ["<", "<", ">", ">", "<", ">"], width, ["rms before"])
    left = len(result.fits) - len(rows)
    return f"{text}\n... and {left} more in result.json" if left else text


VALIDATION_HEADER = [
    "data",
    "experiment",
    "output",
    "rms",
    "unit",
    "relative error",
    "NRMSE",
    "unexplained",
]


def validation_rows(result: EstimationResult) -> list[list[str]]:
    """Return one row per output of the fitted and of the validation experiments.

    There are no rows without a validation.
    """
    if result.validation is None:
        return []
    both = (("fitted", result.fits), ("validation", result.validation.fits))
    return [
        [
            kind,
            f.experiment,
            f.name,
            plain(f.rms, 4),
            unit_text(f.unit),
            percent(f.relative_error),
            plain(f.nrmse, 3),
            percent(1.0 - f.vaf),
        ]
        for kind, fits in both
        for f in fits[:_MOST_FITS]
    ]


def residual_facts(result: EstimationResult) -> list[str]:
    """Return findings from the residuals of fitted and validation experiments, as sentences."""
    checks = [("fitted", result.residuals)]
    if result.validation is not None:
        checks.append(("validation", result.validation.residuals))
    return [
        f"residuals of {kind} experiments: "
        + ("" if math.isnan(c.noise_ratio) else f"{plain(c.noise_ratio, 3)} times the noise, ")
        + (
            f"neighbours correlated by {c.autocorrelation:.2f}"
            if c.autocorrelation > 0.0
            else "white"
        )
        for kind, c in checks
        if c is not None
    ]


def _validation(result: EstimationResult, width: int) -> str:
    rows = validation_rows(result)
    if result.validation is None:
        return ""
    align: list[Alignment] = ["<", "<", "<", ">", "<", ">", ">", ">"]
    spare = ["relative error", "unit", "rms"]
    text = narrow_table(VALIDATION_HEADER, rows, align, width, spare) if rows else ""
    facts = residual_facts(result)
    left = max(len(result.fits) - _MOST_FITS, 0) + max(len(result.validation.fits) - _MOST_FITS, 0)
    more = [f"... and {left} more in result.json"] if left else []
    return "\n".join([*([text] if text else []), *more, *(wrap(f, width) for f in facts)])


def wrap(text: str, width: int, bullet: str = "") -> str:
    """Return a paragraph wrapped to `width` columns, with an optional bullet."""
    return textwrap.fill(
        text,
        width,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )


def jacobians(result: EstimationResult) -> str:
    """Return the number of Jacobians of a run, and their origin."""
    origin = f" ({result.derivatives_by})" if result.derivatives_by else ""
    return f"{result.jacobians} Jacobian{'s' * (result.jacobians != 1)}{origin}"
