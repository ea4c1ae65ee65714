"""The parameters: estimates, standard errors, intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.figures.uncertainty import forest_chart
from fmident.report.numbers import interval, plain, with_error
from fmident.report.sections.html import fragment
from fmident.report.terminal import base_rows, held_of, remark, unit_text, white_error

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate


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
    """Return the table of all parameters, fixed ones included, and their intervals as a picture.

    Parameters
    ----------
    result
        What the run found.
    picture
        Whether to show the picture; only a page with the report's script can draw it.
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
