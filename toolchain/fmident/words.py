"""Numbers, names and sentences as engineers write them."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable

_SIGNIFICANT_OF_ERROR = 2
_SIGNIFICANT = 6
_MOST_SIGNIFICANT = 12
_FAR_BELOW = 0.05
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-3, 1e6


def plain(value: float, digits: int = _SIGNIFICANT) -> str:
    """Return `value` with `digits` significant digits.

    >>> plain(95.10893), plain(1.2345678e-7), plain(float("inf")), plain(float("nan"))
    ('95.1089', '1.23457e-07', 'infinite', 'n/a')

    All integer digits of values below a million are kept.

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

    A value far below its error keeps two significant digits.

    >>> with_error(0.12931, 13.2)
    ('0.13', '13')

    An error below the twelfth digit of the value, as without noise, is rounded separately.

    >>> with_error(0.4, 1.5e-16)
    ('0.4', '1.5e-16')

    With a zero or unusable error the value keeps six significant digits.

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
        digits = max(decimals + exponent, 0)
        factor = 10.0**-exponent
        tail = f"e{exponent:+03d}"
        return f"{value * factor:.{digits}f}{tail}", f"{error * factor:.{digits}f}{tail}"
    decimals = max(decimals, 0)
    return f"{value:.{decimals}f}", f"{error:.{decimals}f}"


def interval(ends: tuple[float, float], error: float) -> str:
    """Return an interval, possibly open, with its ends rounded to a standard error.

    >>> interval((94.8961, 95.3217), 0.10852), interval((-math.inf, 0.35), 0.02)
    ('[94.90, 95.32]', 'below 0.350')

    An end that is not known is a question mark.

    >>> interval((math.nan, 4.4), 0.1), interval((math.nan, math.nan), 0.1)
    ('[?, 4.40]', 'n/a')
    """
    low, high = (with_error(end, error)[0] for end in ends)
    endless, unknown = tuple(map(math.isinf, ends)), tuple(map(math.isnan, ends))
    if all(endless):
        return "unbounded"
    if all(unknown) or (any(endless) and any(unknown)):
        return "n/a"
    if endless[0]:
        return f"below {high}"
    if endless[1]:
        return f"above {low}"
    return f"[{'?' if unknown[0] else low}, {'?' if unknown[1] else high}]"


def percent_text(level: float) -> str:
    """Return a confidence level, such as ``"95 %"``."""
    return f"{100.0 * level:.6g} %"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage.

    >>> percent(0.040831)
    '4.08 %'
    """
    return "n/a" if not math.isfinite(fraction) else f"{100 * fraction:.3g} %"


def duration(seconds: float) -> str:
    """Return a duration in a suitable unit.

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


_LEAST = 1e-16


def probability(value: float) -> str:
    """Return a probability of a test as text; empty for NaN.

    >>> probability(0.0286), probability(1e-88), probability(float("nan"))
    ('0.029', '< 1e-16', '')
    """
    if math.isnan(value):
        return ""
    return f"{value:.2g}" if value >= _LEAST else f"< {_LEAST:g}"


def listed(items: Iterable[str], most: int = 10, last: str = "and") -> str:
    """Return texts as an enumeration; of many the first ones, and how many others there are.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], last="or"), listed(["a"]), listed([])
    ('a, b and c', 'a or b', 'a', '')
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 others'
    """
    unique = list(items)
    if len(unique) > most + 1:
        unique[most:] = [f"{len(unique) - most} others"]
    if len(unique) < 2:
        return "".join(unique)
    return f"{', '.join(unique[:-1])} {last} {unique[-1]}"


def quoted(names: Iterable[str], most: int = 10) -> str:
    """Return names in quotes as an enumeration, as :func:`listed`."""
    return listed([f"'{name}'" for name in names], most)


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter and ends with a full stop.

    >>> sentence("the fit is good"), sentence("is it?")
    ('The fit is good.', 'Is it?')

    A name at the beginning stays as it is.

    >>> sentence("fmi2Reset fails")
    'fmi2Reset fails.'
    """
    text = text.strip()
    if re.match(r"[a-z][a-z'-]*(?![\w.(])", text):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def counted(number: int, noun: str) -> str:
    """Return a number and a noun, in the plural where it is due.

    >>> counted(1, "fold"), counted(3, "fold")
    ('1 fold', '3 folds')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def unit_text(unit: str | None) -> str:
    """Return a unit to follow a number; empty for a dimensionless number."""
    return "" if unit in (None, "1") else str(unit)


def wrap(text: str, width: int, bullet: str = "", indent: int | None = None) -> str:
    """Return a paragraph wrapped to `width` columns, with an optional bullet.

    Lines after the first have an indentation of `indent`, by default the width of the bullet.
    """
    return textwrap.fill(
        text,
        width,
        initial_indent=bullet,
        subsequent_indent=" " * (len(bullet) if indent is None else indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
