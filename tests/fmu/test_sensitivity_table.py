"""Which FMUs are taken to have the extension for sensitivities."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from fmident.fmu.archive import check_archive
from fmident.fmu.sensitivities import differentiable, why_not
from fmident.fmu.sensitivity_table import EXTENSION_FILE, EXTENSION_TEXT, GET, SET, offered_by

from .conftest import Builder
from .exchange import Exchange, Signal, build_exchange, build_twin

CONTENT = json.loads(EXTENSION_TEXT)


def with_file(fmu: Path, target: Path, text: str) -> Path:
    path = target / "with.fmu"
    path.write_bytes(fmu.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(EXTENSION_FILE, text)
    return path


def test_the_file_names_the_functions(feedthrough: Builder, tmp_path: Path) -> None:
    fmu = feedthrough()
    assert not offered_by(check_archive(fmu))
    assert offered_by(check_archive(with_file(fmu, tmp_path, EXTENSION_TEXT)))
    assert CONTENT == {"version": 1, "set": SET, "get": GET}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**CONTENT, "version": 2}),
        json.dumps({**CONTENT, "get": "otherGet"}),
        json.dumps({k: v for k, v in CONTENT.items() if k != "set"}),
        "[1, 2]",
        "{",
        "",
        "\xff",
        "[" * 60000,
        json.dumps({**CONTENT, "comment": "x" * 70000}),
    ],
    ids=["version", "name", "missing", "list", "broken", "empty", "letters", "deep", "large"],
)
def test_another_version_counts_as_none(feedthrough: Builder, tmp_path: Path, text: str) -> None:
    found = with_file(feedthrough(), tmp_path, text)
    assert not offered_by(check_archive(found))
    assert differentiable(found) == frozenset()
    assert why_not(found) == "the FMU offers no sensitivities"


def test_the_reason_says_what_would_help(tmp_path: Path) -> None:
    twin = build_twin(tmp_path)
    assert "Co-Simulation" in why_not(twin)
    assert 'evaluation.interface = "model-exchange"' in why_not(twin)
    assert why_not(twin, "model-exchange") == ""
    assert "k" in differentiable(twin, "model-exchange")
    relay = Exchange(
        "relay.c",
        (
            Signal("x", 0, "output", 0.0),
            Signal("der(x)", 1, derivative="x"),
            Signal("level", 2, "parameter", 0.5),
        ),
    )
    once = replace(relay, flags={"canBeInstantiatedOnlyOncePerProcess": "true"})
    for version in (2, 3):
        assert differentiable(build_exchange(relay, version, tmp_path)) == {"x", "level"}
        path = build_exchange(once, version, tmp_path)
        assert "one instance per process" in why_not(path)
        assert differentiable(path) == frozenset()
