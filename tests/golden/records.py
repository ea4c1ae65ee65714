"""Golden records: what is kept of a result, and how two records differ."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "records"
REWRITE = "FMIDENT_GOLDEN"
"""Environment variable: ``rewrite`` writes the records anew instead of comparing."""

LONGEST = 9
"""Numbers that an array has at most to be kept one by one."""

VOLATILE = {
    "wall_time_s",
    "seconds",
    "fmident",
    "generation_tool",
    "guid",
    "started",
    "ended_at",
    "seconds_per_simulation",
}
"""Keys whose values differ between runs, machines or versions."""


ENDS_OF_SEARCHES = {"courses": 1e-6}
"""Keys whose numbers are where an inner search of SciPy ended, and how far its versions differ."""


def figures(value: Any) -> Any:
    """Return numbers and codes of a JSON value, without its words.

    A text with a space is words; a long array becomes its length, sum and norm,
    and the sum weighted by position.
    """
    if isinstance(value, dict):
        kept = {k: figures(v) for k, v in value.items() if k not in VOLATILE}
        return {k: v for k, v in kept.items() if v not in (None, "", [], {})}
    if isinstance(value, list):
        if len(value) > LONGEST and all(isinstance(v, int | float) for v in value):
            squares = math.sqrt(math.fsum(v * v for v in value))
            order = math.fsum(k * v for k, v in enumerate(value))
            return {"length": len(value), "sum": math.fsum(value), "norm": squares, "order": order}
        return [figures(v) for v in value]
    if isinstance(value, str):
        return "" if " " in value or Path(value).is_absolute() else value
    return value


def differences(expected: Any, actual: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield where two records differ: numbers by more than a tolerance, all else at all."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            here = f"{place}.{key}".lstrip(".")
            if key not in actual or key not in expected:
                yield f"{here}: {'missing' if key in expected else 'new'}"
            else:
                own = max(tolerance, ENDS_OF_SEARCHES.get(key, 0.0))
                yield from differences(expected[key], actual[key], own, here)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(one, other, tolerance, f"{place}[{number}]")
    elif isinstance(expected, float) and isinstance(actual, float):
        if not math.isclose(expected, actual, rel_tol=tolerance, abs_tol=1e-300):
            yield f"{place}: {actual!r}, expected {expected!r}"
    elif expected != actual or type(expected) is not type(actual):
        yield f"{place}: {actual!r}, expected {expected!r}"


def check(name: str, record: dict[str, Any], tolerance: float, *, shared: bool = False) -> None:
    """Compare with the golden record of this name, or write it anew.

    Parameters
    ----------
    shared
        Whether the file has records of other tests, too, under other keys.
    """
    file = FOLDER / f"{name}.json"
    record = json.loads(json.dumps(record))
    rewrite = os.environ.get(REWRITE) == "rewrite"
    golden = (
        {} if rewrite and not (shared and file.exists()) else json.loads(file.read_text("utf-8"))
    )
    if rewrite:
        file.parent.mkdir(exist_ok=True)
        file.write_text(_text(golden | record) + "\n", encoding="utf-8")
        return
    expected = {key: golden.get(key) for key in record} if shared else golden
    lines = list(differences(expected, record, tolerance))
    assert not lines, f"{file.name}, {len(lines)} differences:\n" + "\n".join(lines[:30])


def _text(value: Any, indent: str = "") -> str:
    """Return JSON in which a table or list of a line's length stands on one line."""
    line = json.dumps(value)
    if len(line) + len(indent) <= 110 or not isinstance(value, dict | list):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        pieces = [f"{inner}{json.dumps(k)}: {_text(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(pieces) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _text(v, inner) for v in value) + f"\n{indent}]"
