"""What an estimate held at the start, from its ``result.json``."""

from __future__ import annotations

import math

from fmident._json import JsonTable
from fmident.statistics.truncated import TruncatedParameter, Truncation


def read_truncation(content: JsonTable) -> Truncation | None:
    """Return what was held; ``None`` where nothing was."""
    stored = content.maybe_table("truncation")
    if stored is None:
        return None
    bias = stored.table("bias")
    return Truncation(
        stored.text("rule"),
        stored.number("limit"),
        stored.count("rank"),
        tuple(stored.numbers("singular_values")),
        tuple(stored.each("parameters", _parameter)),
        {name: bias.named_numbers(name) for name in bias.keys()},  # noqa: SIM118
        stored.count("compared"),
        stored.number("p_value"),
    )


def _parameter(stored: JsonTable) -> TruncatedParameter:
    return TruncatedParameter(
        stored.text("name"),
        stored.maybe_text("unit"),
        stored.number("start"),
        stored.number("value"),
        stored.number("scale"),
        stored.number("resolution"),
        stored.number("start_error"),
        stored.number("standard_error"),
        stored.pair("interval_95", (-math.inf, math.inf)),
        stored.flag("resolved"),
    )
