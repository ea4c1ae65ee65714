"""The attribute ``generationDateAndTime``: of no clock, so that equal sources give equal bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from fmident.errors import CompilationError

VARIABLE = "SOURCE_DATE_EPOCH"
"""Source: reproducible-builds.org, specification of SOURCE_DATE_EPOCH 1.1."""

LATEST = 253402300799
"""The last second of the year 9999."""


def generation_date(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the date that the environment sets, in UTC; ``None`` when it sets none.

    Raises
    ------
    CompilationError
        If the variable is not a whole number of seconds since 1970.
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LATEST):
        raise CompilationError(
            f"{VARIABLE} is {text[:40]!r}, which is not a number of seconds since 1970",
            hint=f"set it to a whole number from 0 to {LATEST}, or unset it",
        )
    return datetime.fromtimestamp(int(text), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
