"""Which extensions of FMI an FMU is taken to have."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from fmident.fmu.archive import check_archive
from fmident.fmu.model_description.extensions import BATCHES, SENSITIVITIES, Extension
from fmident.fmu.sensitivities import differentiable, why_not

from .conftest import Builder
from .exchange import Exchange, Signal, build_exchange, build_twin

TEXT = json.loads(SENSITIVITIES.text)


def with_file(fmu: Path, target: Path, extension: Extension, text: str) -> Path:
    path = target / "with.fmu"
    path.write_bytes(fmu.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(extension.member, text)
    return path


@pytest.mark.parametrize("extension", [SENSITIVITIES, BATCHES], ids=lambda e: e.member)
def test_the_file_names_the_functions(
    feedthrough: Builder, tmp_path: Path, extension: Extension
) -> None:
    fmu = feedthrough()
    assert not extension.offered_by(check_archive(fmu))
    found = with_file(fmu, tmp_path, extension, extension.text)
    assert extension.offered_by(check_archive(found))
    assert list(json.loads(extension.text)) == ["version", *extension.functions]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**TEXT, "version": 2}),
        json.dumps({**TEXT, "get": "otherGet"}),
        json.dumps({k: v for k, v in TEXT.items() if k != "set"}),
        "[1, 2]",
        "{",
        "",
        "\xff",
        "[" * 60000,
        json.dumps({**TEXT, "comment": "x" * 70000}),
    ],
    ids=["version", "name", "missing", "list", "broken", "empty", "letters", "deep", "large"],
)
def test_another_version_counts_as_none(feedthrough: Builder, tmp_path: Path, text: str) -> None:
    found = with_file(feedthrough(), tmp_path, SENSITIVITIES, text)
    assert not SENSITIVITIES.offered_by(check_archive(found))
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
