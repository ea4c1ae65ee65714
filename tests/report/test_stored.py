"""Reading results that somebody has changed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fmident.errors import Code, EstimationError
from fmident.estimation.result import EstimationResult
from fmident.report.estimate import ESTIMATE
from fmident.report.result_json import as_json, read_result

from ..refused import refused

MakeResult = Callable[..., EstimationResult]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield container and key of every value."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


@pytest.mark.parametrize(
    "odd",
    [None, True, -1, 10**400, "x", [], [1], {}, {"a": 1}, [[[None]]], float("inf")],
    ids=repr,
)
def test_any_other_value_anywhere_is_read_or_refused(
    make_result: MakeResult, tmp_path: Path, odd: object
) -> None:
    file = tmp_path / "result.json"
    whole = json.dumps(as_json(make_result(), "1"))
    refused = 0
    for number in range(len(list(places(json.loads(whole))))):
        content = json.loads(whole)
        container, key = list(places(content))[number]
        container[key] = odd
        file.write_text(json.dumps(content))
        try:
            found = read_result(file).result
        except EstimationError as error:
            refused += 1
            if str(file) not in error.message:
                raise
        else:
            ESTIMATE.text(found, 92)
    assert refused > 20


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"\xff", b"{", b"[" * 100_000, b"1" * 5000, b"null", b'{"status": 1}'],
    ids=["empty", "list", "no text", "torn", "deep", "digits", "null", "other"],
)
def test_what_is_not_a_result_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "result.json").write_bytes(content)
    with refused(Code.UNUSABLE_FILE, EstimationError, match=r"result\.json"):
        read_result(tmp_path)


def test_what_ended_a_run_is_read_again(make_result: MakeResult, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    for ended_by in ("limit", "plateau", "jump", "stuck"):
        stored = as_json(make_result(status="limit", ended_by=ended_by), "1")
        file.write_text(json.dumps(stored))
        assert read_result(file).result.ended_by == ended_by
    del stored["ended_by"]  # as earlier versions wrote it
    file.write_text(json.dumps(stored))
    assert read_result(file).result.ended_by is None


def test_a_result_of_an_earlier_version_is_read(make_result: MakeResult, tmp_path: Path) -> None:
    content = as_json(make_result(), "0.1.0")
    for fit in content["experiments"][0]["outputs"].values():
        del fit["nrmse"], fit["vaf"]
    for parameter in content["parameters"].values():
        del parameter["interval_known"]
    (tmp_path / "result.json").write_text(json.dumps(content))
    found = read_result(tmp_path).result
    assert found.values == make_result().values
    assert math.isnan(found.fits[0].nrmse)


def test_whether_a_bound_holds_a_parameter_follows_from_files_of_earlier_versions(
    make_result: MakeResult, tmp_path: Path
) -> None:
    content = as_json(make_result(), "0.1.0")
    first, second, third, *_ = content["parameters"].values()
    bounds = {"bounds": [1.0, None], "at_bound": True, "standard_error": None}
    first |= {**bounds, "interval_95": [1.0, 1.5]}  # the data push it onto the bound
    second |= {**bounds, "interval_95": [1.0, None]}  # nothing is known of it
    third["at_bound"] = True
    for parameter in content["parameters"].values():
        del parameter["held"]
    (tmp_path / "result.json").write_text(json.dumps(content))
    found = read_result(tmp_path).result.estimates[:3]
    assert [(e.held, e.is_open) for e in found] == [(True, False), (False, True), (False, False)]
