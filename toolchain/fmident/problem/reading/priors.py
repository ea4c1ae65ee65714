"""Read the key ``prior`` of a parameter."""

from __future__ import annotations

import math
from collections.abc import Callable

from fmident.errors import Code, FmidentError
from fmident.problem.priors.distribution import PRIOR_NAMES, Prior, PriorName
from fmident.toml_file import Section

_LIMITS = ("min", "max")
_MOMENTS = ("mean", "sd")

Convert = Callable[[float, str], float]
"""A value in the unit of the table, and what it is, to the value in the parameter's unit."""


def read_prior(section: Section, name: str, converted: Convert) -> Prior | None:
    """Read ``prior = { distribution = ..., mean = ..., sd = ... }``; ``None`` without it.

    Parameters
    ----------
    section
        The table of the parameter.
    name
        Of the parameter.
    converted
        To the parameter's unit.
    """
    if not section.has("prior"):
        return None
    table = section.table("prior")
    kind: PriorName = table.choice("distribution", PRIOR_NAMES)
    wanted, others = (_LIMITS, _MOMENTS) if kind == "uniform" else (_MOMENTS, _LIMITS)
    for key in others:
        if table.has(key):
            raise table.error(
                f"the prior of '{name}' is {kind}, so it takes no '{key}'",
                key,
                hint=f"write {wanted[0]} = ... and {wanted[1]} = ...",
                code=Code.UNKNOWN_KEY,
            )
    first, second = (table.number(key) for key in wanted)
    table.finish()
    if kind == "uniform":
        lower, upper = (converted(x, "a limit of the prior") for x in (first, second))
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise table.error(
                f"the prior of '{name}' lies between {first:g} and {second:g}:"
                " 'min' must be below 'max'",
                "min",
            )
        return Prior("uniform", lower=lower, upper=upper)
    zero = converted(0.0, "the prior")
    mean = converted(first, "the mean of the prior")
    sd = converted(second, "the standard deviation of the prior") - zero
    if not (math.isfinite(sd) and sd > 0.0):
        raise table.error(f"the prior of '{name}' needs an sd above 0, not {second:g}", "sd")
    if not math.isfinite(mean):
        raise table.error(f"the mean of the prior of '{name}' is not finite", "mean")
    if kind == "lognormal":
        _check_positive(table, name, first, zero)
    return Prior(kind, mean, sd)


def _check_positive(table: Section, name: str, mean: float, zero: float) -> None:
    """Refuse a lognormal prior of what is not positive by nature."""
    if zero != 0.0:
        raise table.error(
            f"the prior of '{name}' is lognormal, but its unit has a zero that is not nothing",
            "distribution",
            hint='write the parameter in an absolute unit such as K, or use "normal"',
        )
    if not mean > 0.0:
        raise table.error(
            f"the prior of '{name}' is lognormal, so its mean must be positive, not {mean:g}",
            "mean",
            hint='use "normal"',
        )


def within_prior(
    section: Section,
    name: str,
    prior: Prior,
    bounds: tuple[float, float],
    *,
    given: bool,
) -> tuple[float, float]:
    """Return the bounds of a parameter with its prior: they must fit each other.

    Parameters
    ----------
    section
        The table of the parameter.
    name, prior
        Of the parameter.
    bounds
        In its unit; those of the FMU where it has none itself.
    given
        Whether the table has bounds of its own.

    Raises
    ------
    fmident.errors.FmidentError
        They contradict each other.
    """
    lower, upper = bounds
    low, high = prior.lower, prior.upper
    if prior.distribution == "lognormal":
        low = 0.0
    if given and (lower < low or upper > high):
        raise _beyond(section, name, prior, lower, upper)
    lower, upper = max(lower, low), min(upper, high)
    if not lower < upper:
        raise _beyond(section, name, prior, *bounds)
    if prior.counts and not lower <= prior.center <= upper:
        raise section.error(
            f"the prior of '{name}' ({prior}) has its centre outside of the bounds"
            f" [{lower:g}, {upper:g}]",
            "prior",
            hint="widen the bounds, or correct the prior",
        )
    return lower, upper


def _beyond(section: Section, name: str, prior: Prior, lower: float, upper: float) -> FmidentError:
    what = "positive" if prior.distribution == "lognormal" else str(prior)
    return section.error(
        f"the bounds [{lower:g}, {upper:g}] of '{name}' go beyond its prior, which is {what}",
        *(["bounds"] if section.has("bounds") else ["prior"]),
        hint="narrow the bounds, or leave them out: those of the prior hold then",
    )
