"""A bootstrap as text for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fmident.report.numbers import duration, percent, with_error
from fmident.report.profile_text import interval_text, percent_text
from fmident.report.terminal import narrow_table, unit_text

if TYPE_CHECKING:
    from fmident.prediction import OutputBand
    from fmident.resampling import BootstrapParameter, BootstrapResult

_OTHER = 1.1
"""Ratio of two standard errors that is worth saying."""

_BIASED = 0.25
"""Part of the standard error from which on a bias is (Efron and Tibshirani 1993, section 10.3)."""

_METHODS = {
    "residual": "residuals drawn with replacement",
    "wild": "residuals with random signs",
    "block": "blocks of neighbouring residuals",
    "parametric": "new normal noise",
}


def table_text(result: BootstrapResult, width: int) -> str:
    """Return the table of the intervals, at most so many columns wide."""
    rows = []
    known = all(math.isfinite(p.result_interval[0]) for p in result.parameters)
    # The linearised one takes noise for white unless it is modelled, that of the estimate does not.
    beside, title = ("result", "of the estimate") if known else ("linearised", "linearised")
    for p in result.parameters:
        found = texts_of(p)
        rows.append([found[k] for k in ("name", "value", "error", "bca", beside, "unit")])
    header = [
        "parameter", "value", "std. error", f"{percent_text(result.level)} BCa", title, "unit",
    ]  # fmt: skip
    return narrow_table(header, rows, ["<", ">", ">", ">", ">", "<"], width, [title, "unit"])


def headline(result: BootstrapResult) -> str:
    """Return what the bootstrap says of the linearised standard errors."""
    count = len(result.numbers)
    begin = f"{count} replicates"
    if result.status == "interrupted":
        begin = f"Interrupted: {count} of {result.wanted} replicates"
    known = [r for p in result.parameters if math.isfinite(r := ratio_of(p))]
    if not known:
        return f"{begin}: no parameter has an interval."
    low, high = min(known), max(known)
    noise = "with the model of the noise" if result.modelled else "of independent noise"
    if low >= 1.0 / _OTHER and high <= _OTHER:
        said = f"the standard errors agree with the linearised ones {noise}"
    elif low == high:
        said = f"the standard error is {high:.3g} times the linearised one {noise}"
    else:
        said = f"the standard errors are {low:.3g} to {high:.3g} times the linearised ones {noise}"
    return f"{begin}: {said}."


def grade_of(result: BootstrapResult) -> str:
    """Return what the bootstrap is worth: ``"good"``, ``"doubtful"`` or ``"bad"``."""
    if any(math.isinf(p.bca[0]) for p in result.parameters):
        return "bad"
    return "doubtful" if result.failed or result.notes else "good"


def reasons(result: BootstrapResult) -> list[str]:
    """Return method, bias and what lies inside of the bands, a sentence each."""
    found = [f"{_METHODS[result.method].capitalize()} ({result.reason}){_details(result)}."]
    biased = [
        f"{p.name} by {p.bias / p.standard_error:.2g}"
        for p in result.parameters
        if abs(p.bias) > _BIASED * p.standard_error
    ]
    if biased:
        found.append(f"Biased, in standard errors: {', '.join(biased)}.")
    found += [band_text(band, result.level) for band in result.bands if band.samples]
    return found


def band_text(band: OutputBand, level: float) -> str:
    """Return how many samples lie inside of a band."""
    return (
        f"{percent(band.inside / band.samples)} of {band.samples} samples of '{band.name}' of "
        f"'{band.experiment}' are inside the {percent_text(level)} band."
    )


def _details(result: BootstrapResult) -> str:
    if result.weights:
        return f", weights of {result.weights.capitalize()}"
    if not result.block_lengths:
        return ""
    lengths = sorted(set(result.block_lengths.values()))
    span = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return f", {span} samples long"


def effort(result: BootstrapResult) -> str:
    """Return what it took."""
    failed = f", {len(result.failed)} failed" if result.failed else ""
    return (
        f"{len(result.numbers)} replicates{failed}, {result.simulations} simulations, "
        f"{result.jacobians} Jacobians, {duration(result.seconds)}; seed {result.seed}"
    )


def ratio_of(parameter: BootstrapParameter) -> float:
    """Return the standard error over the linearised one; NaN where one is missing."""
    if not parameter.linearised_error > 0.0:
        return math.nan
    return parameter.standard_error / parameter.linearised_error


def texts_of(parameter: BootstrapParameter) -> dict[str, str]:
    """Return value, error, bias, intervals, unit and ratio of a parameter as text."""
    error = parameter.standard_error
    ratio = ratio_of(parameter)
    return {
        "name": parameter.name,
        "value": with_error(parameter.value, error)[0],
        "error": with_error(parameter.value, error)[1],
        "bias": f"{parameter.bias:.2g}" if math.isfinite(parameter.bias) else "n/a",
        "bca": interval_text(parameter.bca, error),
        "percentile": interval_text(parameter.percentile, error),
        "linearised": interval_text(parameter.linearised, error),
        "result": interval_text(parameter.result_interval, error),
        "unit": unit_text(parameter.unit),
        "ratio": f"{ratio:.3g}" if math.isfinite(ratio) else "",
    }
