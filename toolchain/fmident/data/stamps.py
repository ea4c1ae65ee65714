"""Time stamps: cells that hold a date, a time of day, or both."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fmident.arrays import F64

DateOrder = Literal["day-first", "month-first"]
"""Order of day and month in dates such as 01/02/2024."""

_SECOND = 1_000_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?P<seconds>:(?P<second>\d{2})(?:[.,](?P<part>\d{1,9})\d*)?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
    r"\s*(?P<zone>[Zz]|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
)
_DATES = (
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
    r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})",
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    r"(?P<day>\d{1,2})[- ](?P<name>[A-Za-z]{3})[- ](?P<year>\d{4})",
    r"(?P<one>\d{1,2})(?P<bar>[/-])(?P<two>\d{1,2})(?P=bar)(?P<year>\d{4})",
)
_BASIC = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)T(?P<hour>\d\d)(?P<minute>\d\d)"
    r"(?P<seconds>(?P<second>\d\d)(?:[.,](?P<part>\d{1,9})\d*)?)?(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)?"
)
_FORMS = tuple(re.compile(rf"{date}(?:(?:[Tt]|\s+){_CLOCK})?") for date in _DATES)
_CLOCK_ONLY = re.compile(_CLOCK)

Kind = Literal["instant", "day", "clock"]


@dataclass(frozen=True)
class TimeOrigin:
    """Time origin of a column of time stamps.

    `nanoseconds` are counted since the beginning of 1970, or of the day if there is no
    date; `kind` is the content of the cells: date and time, a date, or a time of day. If
    they are `zoned`, they name a time zone and the instant is in UTC.
    """

    nanoseconds: int
    kind: Kind = "instant"
    zoned: bool = False

    def text(self) -> str:
        """Return it in readable form."""
        seconds, part = divmod(self.nanoseconds, _SECOND)
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
        text = str(moment.time() if self.kind == "clock" else moment)
        if part:
            text += f".{part:09d}".rstrip("0")
        return text + (" UTC" if self.zoned and self.kind != "clock" else "")

    def stamps(self, seconds: F64) -> list[str]:
        """Return ISO 8601 time stamps with date and time; empty for gaps.

        `seconds` are counted from this origin, shape (n,).
        """
        gaps = np.isnan(seconds)
        nanoseconds = np.rint(np.where(gaps, 0.0, seconds) * _SECOND).astype(np.int64)
        instants = (self.nanoseconds + nanoseconds).view("datetime64[ns]")
        texts = np.datetime_as_string(instants, timezone="UTC" if self.zoned else "naive")
        return [str(np.where(gap, "", text)) for gap, text in zip(gaps, texts, strict=True)]


class StampError(Exception):
    """A cell that cannot be read consistently with the others of its column.

    `row` is its index in the column; `message` and `hint` describe the problem and its
    remedy.
    """

    def __init__(self, row: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.row = row
        self.message = message
        self.hint = hint


@dataclass(frozen=True, eq=False)
class Stamps:
    """A column of time stamps.

    `instants` are nanoseconds since the beginning of 1970, or of the day; ``None`` for
    gaps. `zoned` says whether the cells name a time zone, and `order` is the position
    assumed for the day in dates such as 01/02/2024.
    """

    instants: Sequence[int | None]
    kind: Kind
    zoned: bool
    order: DateOrder | None = None

    @property
    def origin(self) -> TimeOrigin:
        """The first available instant."""
        first = next(t for t in self.instants if t is not None)
        return TimeOrigin(first, self.kind, self.zoned)

    def seconds(self) -> F64:
        """Return seconds since :attr:`origin`, shape (n,), NaN for gaps."""
        start = self.origin.nanoseconds
        return np.array([np.nan if t is None else (t - start) / _SECOND for t in self.instants])

    def after(self, days: Stamps) -> Stamps:
        """Return times of day combined with the dates of another column."""
        both = [
            None if t is None or d is None else t + d
            for t, d in zip(self.instants, days.instants, strict=True)
        ]
        return Stamps(both, "instant", self.zoned, days.order)


def is_stamp(cell: str) -> bool:
    """Return whether a cell looks like a time stamp."""
    return _match(cell.strip()) is not None


def read_stamps(
    cells: Sequence[str],
    lines: Sequence[int],
    gaps: frozenset[str],
    order: DateOrder | None = None,
) -> Stamps | None:
    """Read a column of time stamps; ``None`` if its first cell that is not a gap is not one.

    `lines` are the line numbers of the cells, `gaps` the lower-case texts of missing
    samples, and `order` is that of dates such as 01/02/2024, if the user specified it.
    Raises `StampError` if a cell has another format than the first one or an invalid date,
    if only some cells have a time zone, or if day and month are ambiguous.
    """
    texts = [None if c.strip().lower() in gaps else c.strip() for c in cells]
    first = next((k for k, text in enumerate(texts) if text is not None), None)
    if first is None or _match(texts[first] or "") is None:
        return None
    matches: list[re.Match[str] | None] = []
    for row, text in enumerate(texts):
        match = None if text is None else _match(text)
        if text is not None and match is None:
            raise StampError(row, f"'{text}' is not a time stamp", _ISO)
        matches.append(match)
    date_order = _order(matches, texts, lines, order)
    kind, zoned = _kind(matches[first]), _zoned(matches[first])
    instants: list[int | None] = []
    for row, match in enumerate(matches):
        if match is None:
            instants.append(None)
            continue
        if _kind(match) != kind:
            raise StampError(
                row,
                f"'{texts[row]}' has another form than '{texts[first]}' in line {lines[first]}",
                "write all time stamps of a column alike",
            )
        if _zoned(match) != zoned:
            raise StampError(
                row,
                f"only one of '{texts[first]}' (line {lines[first]}) and '{texts[row]}' has a time"
                " zone",
                "write the time zone in all rows, or in none",
            )
        try:
            instants.append(_instant(match, date_order))
        except ValueError as error:
            raise StampError(row, f"'{texts[row]}' is not a time stamp: {error}", _ISO) from None
    return Stamps(instants, kind, zoned, date_order)


_ISO = "write time stamps as in ISO 8601, such as 2024-03-01T12:00:00.5+01:00, or seconds"


def _match(text: str) -> re.Match[str] | None:
    if not text[:1].isdigit():
        return None
    for form in (*_FORMS, _BASIC):
        match = form.fullmatch(text)
        if match is not None:
            return match
    return _CLOCK_ONLY.fullmatch(text)


def _part(match: re.Match[str], name: str) -> str | None:
    return match[name] if name in match.re.groupindex else None


def _kind(match: re.Match[str] | None) -> Kind:
    assert match is not None
    if _part(match, "year") is None:
        return "clock"
    return "day" if _part(match, "hour") is None else "instant"


def _zoned(match: re.Match[str] | None) -> bool:
    return match is not None and _part(match, "zone") is not None


def _order(
    matches: Sequence[re.Match[str] | None],
    texts: Sequence[str | None],
    lines: Sequence[int],
    given: DateOrder | None,
) -> DateOrder | None:
    """Return the order of day and month in dates such as 01/02/2024; ``None`` without any."""
    unclear = None
    rows_by_order: dict[DateOrder, int] = {}
    for row, match in enumerate(matches):
        if match is None or _part(match, "one") is None:
            continue
        unclear = row if unclear is None else unclear
        if int(match["one"]) > 12:
            rows_by_order.setdefault("day-first", row)
        if int(match["two"]) > 12:
            rows_by_order.setdefault("month-first", row)
    if unclear is None:
        return None
    if given is not None:
        return given
    if len(rows_by_order) == 2:
        rows = sorted(rows_by_order.values())
        raise StampError(
            rows[1],
            f"the day comes first in one of '{texts[rows[0]]}' (line {lines[rows[0]]}) and"
            f" '{texts[rows[1]]}', and second in the other",
            "write all time stamps of a column alike",
        )
    if not rows_by_order:
        raise StampError(
            unclear,
            f"'{texts[unclear]}' can be day/month or month/day, and no row of the column says"
            " which",
            'write dates = "day-first" or dates = "month-first" in [[experiments]], or the date as'
            " 2024-03-01",
        )
    return next(iter(rows_by_order))


def _instant(match: re.Match[str], order: DateOrder | None) -> int:
    """Return nanoseconds since the beginning of 1970, or of the day; raise `ValueError`."""
    part = {name: text for name, text in match.groupdict().items() if text is not None}
    day, month = part.get("day", "1"), part.get("month", "1")
    if "one" in part:
        day, month = part["one"], part["two"]
        if order != "day-first":
            day, month = month, day
    if "name" in part:
        if part["name"].lower() not in _MONTHS:
            raise ValueError(f"there is no month '{part['name']}'")
        month = str(_MONTHS.index(part["name"].lower()) + 1)
    hour, minute, second = (int(part.get(name, "0")) for name in ("hour", "minute", "second"))
    if "half" in part:
        if not 1 <= hour <= 12:
            raise ValueError("the hour must be between 1 and 12")
        hour = hour % 12 + (12 if part["half"] in "pP" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("hours end at 23, minutes and seconds at 59")
    year = int(part.get("year", "1970"))
    moment = datetime.datetime(year, int(month), int(day), hour, minute, second)
    seconds = (moment - _EPOCH) // datetime.timedelta(seconds=1)
    if (zone := part.get("zone", "Z"))[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60
        seconds += offset if zone[0] == "-" else -offset
    return seconds * _SECOND + int(part.get("part", "0").ljust(9, "0"))
