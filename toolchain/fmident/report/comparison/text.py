"""A comparison as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.report.terminal import narrow_table, remark, unit_text, wrap
from fmident.words import duration, interval, percent, plain, probability, with_error

if TYPE_CHECKING:
    from fmident.estimation.result import OutputFit, ParameterEstimate
    from fmident.report.comparison.choice import Choice, Compared
    from fmident.statistics.choice import Criteria

_FOREST = 25
_REASONS = 3


def comparison_text(compared: Sequence[Compared], choice: Choice, width: int) -> str:
    """Return tables for a terminal of `width` columns."""
    header = ["parameter", "result", "value", "+-", "95 % interval", "unit", "intervals"]
    rows = [row for name in parameter_names(compared) for row in _parameter_rows(compared, name)]
    blocks = [
        narrow_table(header, rows, ["<", "<", ">", ">", ">", "<", "<"], width, ["+-", "unit"]),
        _figures(compared, width),
        *_choice(compared, choice, width),
    ]
    blocks += [
        wrap(f"{c.name}: no AIC and BIC, since {c.found.criteria.missing}", width)
        for c in compared
        if c.found.criteria.missing
    ]
    return "\n\n".join(blocks)


def _choice(compared: Sequence[Compared], choice: Choice, width: int) -> list[str]:
    """Return criteria, tests of nested problems, and remarks on both."""
    known = [c for c in compared if not c.found.criteria.missing]
    if not known:
        return []
    white = [(c, c.found.criteria, c.found.weight) for c in known]
    blocks = [_criteria(white, width)]
    if choice.coloured:
        count = known[0].found.fit.count if known[0].found.fit is not None else 0
        best = next(c for c in known if c.name == choice.reference)
        with_model = best.found.fit is not None and best.found.fit.noise
        left = "innovations" if with_model else "residuals"
        blocks.append(
            wrap(
                f"These numbers take the {left} for white, which they are not: by those of"
                f" {choice.reference}, {choice.inflation:.3g} samples hold as much as one"
                f" independent sample. With {count / choice.inflation:.3g} samples in place of"
                f" {count}:",
                width,
            )
        )
        effective = [(c, c.found.effective, c.found.effective_weight) for c in known]
        blocks.append(_criteria(effective, width))
    if choice.modelled:
        have = "has" if len(choice.modelled) == 1 else "have"
        blocks.append(
            wrap(
                f"{', '.join(choice.modelled)} {have} a model of the noise, whose unknowns count as"
                " estimated; the likelihood of the others is that of white noise, of the same"
                " samples.",
                width,
            )
        )
    if choice.caution:
        blocks.append(wrap(f"Not to be taken as they are: {choice.caution}.", width))
    return [*blocks, *_tests(choice, width)]


def _criteria(rows: Sequence[tuple[Compared, Criteria, float]], width: int) -> str:
    least = min(c.aicc for _, c, _ in rows)
    cells = [
        [
            c.name,
            str(c.found.fit.parameters if c.found.fit is not None else 0),
            plain(criteria.aic, 7),
            plain(criteria.aicc, 7),
            plain(criteria.aicc - least, 4) if math.isfinite(criteria.aicc) else "n/a",
            plain(weight, 2) if weight >= 1e-4 else "< 1e-4",
            plain(criteria.bic, 7),
        ]
        for c, criteria, weight in rows
    ]
    header = ["result", "estimated", "AIC", "AICc", "above the best", "Akaike weight", "BIC"]
    align = ["<", *[">"] * 6]
    return narrow_table(header, cells, align, width, ["AIC", "estimated"])  # type: ignore[arg-type]


def _tests(choice: Choice, width: int) -> list[str]:
    """Return the table of the likelihood-ratio tests, and their validity."""
    blocks = []
    if choice.tests:
        header = ["likelihood ratio", "further", "statistic", "if the smaller is right", "p"]
        header += ["p, independent samples"] if choice.coloured else []
        rows = []
        for t in choice.tests:
            limit = "<= " if t.ratio.at_most else ""
            cells = [
                f"{t.smaller} in {t.larger}",
                ", ".join(t.extra),
                plain(t.ratio.statistic, 4),
                t.ratio.distribution,
                limit + probability(t.ratio.p_value),
            ]
            last = [limit + probability(t.effective.p_value)] if choice.coloured else []
            rows.append([*cells, *last])
        align = ["<", "<", ">", "<", ">", ">"][: len(header)]
        spare = ["if the smaller is right", "statistic"]
        blocks.append(narrow_table(header, rows, align, width, spare))  # type: ignore[arg-type]
        sentences = "\n".join(
            wrap(text, width, "  - ")
            for text in (
                "p is the probability of such a statistic if the smaller problem is right; below"
                " 0.05 the further parameters are needed",
                "valid for Gaussian noise, many samples, and further parameters that the data would"
                " determine if the smaller problem were right",
                *_bounds(choice),
                *(f"{t.smaller} in {t.larger}: {d}" for t in choice.tests for d in t.doubts),
            )
        )
        blocks.append(sentences)
    reasons = choice.untested[:_REASONS] if not choice.tests else ()
    blocks += [
        wrap(f"{one} and {other}: no likelihood-ratio test, since {reason}", width)
        for one, other, reason in reasons
    ]
    return blocks


def _bounds(choice: Choice) -> list[str]:
    return [
        f"{t.smaller} in {t.larger}: {', '.join(t.boundary)} held at a bound, where half of the"
        " estimates end by chance alone"
        + ("; with several, p is an upper limit" if t.ratio.at_most else "")
        for t in choice.tests
        if t.boundary
    ]


def parameter_names(compared: Sequence[Compared]) -> list[str]:
    """Return the names of the parameters of all results without duplicates."""
    return list(dict.fromkeys(row_key(e) for c in compared for e in c.result.rows))


def row_key(e: ParameterEstimate) -> str:
    """Return the comparison key of a parameter; base parameters are matched by formula."""
    return f"{e.name} = {e.expression}" if e.factors else e.name


def _parameter_rows(compared: Sequence[Compared], name: str) -> list[list[str]]:
    """Return a row per result that has the parameter."""
    matches = [(c, e) for c in compared for e in c.result.rows if row_key(e) == name]
    own = matches[0][1].name
    if len({row_key(e) for c in compared for e in c.result.rows if e.name == own}) == 1:
        name = own  # the formula is not needed to tell them apart
    same_unit = len({e.unit for _, e in matches}) == 1
    pictures = _forest([e for _, e in matches]) if same_unit else [""] * len(matches)
    rows = []
    for k, ((c, e), picture) in enumerate(zip(matches, pictures, strict=True)):
        value, error = with_error(e.value, e.standard_error)
        if e.fixed:
            cells = [plain(e.value), "", "fixed"]  # the column of errors is left out first
        elif e.base:
            cells = [plain(e.value), "", remark(e)]
        else:
            cells = [value, error, interval(e.interval_95, e.standard_error)]
        rows.append(["" if k else name, c.name, *cells, unit_text(e.unit), picture])
    return rows


def _forest(estimates: Sequence[ParameterEstimate]) -> list[str]:
    """Return each value and its interval on a common axis."""
    ends = [[x for x in (e.value, *e.interval_95) if math.isfinite(x)] for e in estimates]
    points = [x for own in ends for x in own]
    if not points:
        return [""] * len(estimates)
    low, span = min(points), max(points) - min(points)
    if span <= 0.0:
        return ["o".center(_FOREST).rstrip()] * len(estimates)

    def place(x: float) -> int:
        return round((x - low) / span * (_FOREST - 1))

    pictures = []
    for e, own in zip(estimates, ends, strict=True):
        cells = [" "] * _FOREST
        if own:
            begin, end = place(min(own)), place(max(own))
            cells[begin : end + 1] = "-" * (end - begin + 1)
            for bound, at in zip(e.interval_95, (begin, end), strict=True):
                if math.isfinite(bound):
                    cells[at] = "|"
        if math.isfinite(e.value):
            cells[place(e.value)] = "o"
        pictures.append("".join(cells).rstrip())
    return pictures


def _figures(compared: Sequence[Compared], width: int) -> str:
    rows = [
        [
            c.name,
            c.result.status,
            plain(c.result.cost_final, 5),
            percent(max((f.relative_error for f in c.result.fits), default=math.nan)),
            _overall(c.result.fits),
            "" if c.result.validation is None else _overall(c.result.validation.fits),
            str(c.result.simulations),
            duration(c.result.seconds),
        ]
        for c in compared
    ]
    header = ["result", "status", "cost", "relative error", "NRMSE", "validation NRMSE",
              "simulations", "time"]  # fmt: skip
    spare = ["relative error", "cost", "status"]
    return narrow_table(header, rows, ["<", "<", *[">"] * 6], width, spare)  # type: ignore[list-item]


def _overall(fits: Sequence[OutputFit]) -> str:
    return plain(mean_square(fits), 4)


def mean_square(fits: Sequence[OutputFit]) -> float:
    """Return the root mean square of the NRMSE of all outputs; NaN if none has one."""
    known = [f.nrmse for f in fits if math.isfinite(f.nrmse)]
    return math.sqrt(sum(x * x for x in known) / len(known)) if known else math.nan
