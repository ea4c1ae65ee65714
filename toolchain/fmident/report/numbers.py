"""Numbers as engineers write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

_SIGNIFICANT_OF_ERROR = 2
_SIGNIFICANT = 6
_MOST_SIGNIFICANT = 12
_FAR_BELOW = 0.05
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-3, 1e6


def plain(value: float, digits: int = _SIGNIFICANT) -> str:
    """Return `value` with `digits` significant digits.

    >>> plain(95.10893), plain(1.2345678e-7), plain(float("inf")), plain(float("nan"))
    ('95.1089', '1.23457e-07', 'infinite', 'n/a')

    Below a million the digits before the point are all kept.

    >>> plain(123456.0, 4)
    '123456'
    """
    if math.isnan(value):
        return "n/a"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if 10.0**digits <= abs(value) < _LARGEST_PLAIN:
        return f"{value:.0f}"
    return f"{value + 0.0:.{digits}g}"  # + 0.0 makes -0.0 a plain zero


def with_error(value: float, error: float) -> tuple[str, str]:
    """Return `value` and its standard error, both to two significant digits of the error.

    >>> with_error(95.10893, 0.10852), with_error(203.5034, 1.146)
    (('95.11', '0.11'), ('203.5', '1.1'))

    A value far below its error keeps two digits of its own.

    >>> with_error(0.12931, 13.2)
    ('0.13', '13')

    An error below the twelfth digit of the value, as without noise, has digits of its own.

    >>> with_error(0.4, 1.5e-16)
    ('0.4', '1.5e-16')

    Without a usable error the value keeps six significant digits; so does one that is exact.

    >>> with_error(11.55, 0.0)
    ('11.55', '0')
    """
    if error == 0.0:
        return plain(value), "0"
    if not math.isfinite(error) or error <= 0.0 or not math.isfinite(value):
        return plain(value), "infinite" if math.isinf(error) else "n/a"
    if 0.0 < abs(value) < _FAR_BELOW * error:
        return plain(value, _SIGNIFICANT_OF_ERROR), with_error(error, error)[1]
    if error < 10.0**-_MOST_SIGNIFICANT * abs(value):
        return f"{value:.{_MOST_SIGNIFICANT}g}", plain(error, _SIGNIFICANT_OF_ERROR)
    decimals = _SIGNIFICANT_OF_ERROR - 1 - math.floor(math.log10(error))
    if round(error, decimals) >= 10.0 ** (_SIGNIFICANT_OF_ERROR - decimals):
        decimals -= 1
    size = max(abs(value), error)
    if not _SMALLEST_PLAIN <= size < _LARGEST_PLAIN:
        exponent = math.floor(math.log10(size))
        shown = max(decimals + exponent, 0)
        factor = 10.0**-exponent
        tail = f"e{exponent:+03d}"
        return f"{value * factor:.{shown}f}{tail}", f"{error * factor:.{shown}f}{tail}"
    decimals = max(decimals, 0)
    return f"{value:.{decimals}f}", f"{error:.{decimals}f}"


def interval(ends: tuple[float, float], error: float) -> str:
    """Return an interval, its ends rounded as :func:`with_error` rounds the value.

    >>> interval((94.8961, 95.3217), 0.10852)
    '[94.90, 95.32]'
    """
    low, high = ends
    if math.isnan(low) or math.isnan(high):
        return "n/a"
    if math.isinf(low) and math.isinf(high):
        return "unbounded"
    return f"[{with_error(low, error)[0]}, {with_error(high, error)[0]}]"


def percent(fraction: float) -> str:
    """Return a fraction as per cent.

    >>> percent(0.040831)
    '4.08 %'
    """
    return "n/a" if not math.isfinite(fraction) else f"{100 * fraction:.3g} %"


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it.

    >>> duration(0.0123), duration(4.56), duration(205.0), duration(7500.0), duration(1.2e6)
    ('12.3 ms', '4.56 s', '3 min 25 s', '2 h 5 min', '13 d 21 h')
    """
    if not math.isfinite(seconds):
        return "n/a"
    if seconds < 1.0:
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 120.0:
        return f"{seconds:.3g} s"
    if round(seconds) < 120 * 60:
        return _in_two(seconds, 60, "min", 1, "s")
    if round(seconds / 60) < 48 * 60:
        return _in_two(seconds, 3600, "h", 60, "min")
    return _in_two(seconds, 86400, "d", 3600, "h")


def _in_two(seconds: float, size: int, large: str, part: int, small: str) -> str:
    whole, rest = divmod(round(seconds / part), size // part)
    return f"{whole} {large}" + (f" {rest} {small}" if rest else "")


def jacobians(result: EstimationResult) -> str:
    """Return how many Jacobians a run took, and where they come from."""
    origin = f" ({result.derivatives_by})" if result.derivatives_by else ""
    return f"{result.jacobians} Jacobian{'s' * (result.jacobians != 1)}{origin}"


_LEAST = 1e-16


def probability(value: float) -> str:
    """Return a probability of a test; nothing where there is none.

    >>> probability(0.0286), probability(1e-88), probability(float("nan"))
    ('0.029', '< 1e-16', '')
    """
    if math.isnan(value):
        return ""
    return f"{value:.2g}" if value >= _LEAST else f"< {_LEAST:g}"
