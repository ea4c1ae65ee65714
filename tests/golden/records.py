"""Golden records: what is kept of a result, and how two records differ."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "records"
MACHINE = FOLDER / "machine.json"
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


COUNTS = {"simulations", "jacobians", "simulated", "cached", "length"}
"""Keys of numbers that tell how a search went, which depends on rounding."""

ELSEWHERE = 1e-4
"""Largest relative difference of a parameter between two processors or versions of packages.

Their vector instructions and libraries round differently. Between two processors, values have
differed by up to 1e-6, a search in a flat valley by twice the simulations, and what is zero but for
rounding by anything.
"""


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


def machine() -> dict[str, str]:
    """Return what rounding depends on: the processor, and packages that compute."""
    described = Path("/proc/cpuinfo")
    keys = ("vendor_id", "cpu family", "model")
    lines = described.read_text().splitlines() if described.exists() else []
    facts = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    processor = " ".join(facts.get(key, "") for key in keys).strip() or platform.processor()
    packages = ("numpy", "scipy", "casadi", "numba")
    return {"processor": processor, **{name: version(name) for name in packages}}


def portable(value: Any, key: str = "") -> Any:
    """Return codes, states, names, whole numbers and the values of parameters of a record."""
    if isinstance(value, dict):
        return {k: portable(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [portable(v) for v in value]
    depends = isinstance(value, float) and key != "value"
    return "depends on rounding" if depends or key in COUNTS else value


def differences(expected: Any, actual: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield where two records differ: numbers by more than a tolerance, all else at all."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            here = f"{place}.{key}".lstrip(".")
            if key not in actual or key not in expected:
                yield f"{here}: {'missing' if key in expected else 'new'}"
            else:
                yield from differences(expected[key], actual[key], tolerance, here)
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

    On another machine than the one of the records, only what is :func:`portable` is compared.

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
        MACHINE.write_text(_text(machine()) + "\n", encoding="utf-8")
        file.write_text(_text(golden | record) + "\n", encoding="utf-8")
        return
    expected = {key: golden.get(key) for key in record} if shared else golden
    if json.loads(MACHINE.read_text("utf-8")) != machine():
        expected, record, tolerance = portable(expected), portable(record), ELSEWHERE
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
