"""FMUs that are built once per test session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.fmu import Fmu, open_fmu

from .build import Fixture, build, compiler, real, scalar
from .exchange import Exchange, Opened, build_exchange

FEEDTHROUGH = "\n".join(
    [
        real("u", 0, "input", start=0),
        real("k", 1, "parameter", start=2, extra=' unit="N"'),
        real("x", 2, "local", start=0, initial="exact"),
        real("y", 3, "output"),
        real("z", 4, "output"),
        real("q", 5, "output"),
        real("stopTime", 7, "local"),
        real("tolerance", 8, "local"),
        real("unused", 9, "parameter", start=1),
    ]
)
TROUBLE = "\n".join(
    [
        real("a", 0, "parameter", start=1),
        real("x", 1, "output"),
        real("at", 2, "parameter", start=1),
        real("speed", 3, "parameter", start=0.01),
        scalar("Integer", "kind", 0, "parameter", start=0),
    ]
)
TYPES = "\n".join(
    [
        real("gain", 0, "parameter", start=1.5, variability="tunable"),
        real("out", 1, "output"),
        real("calls.set", 2),
        real("calls.get", 3),
        real("calls.step", 4),
        real("calls.derivative", 5),
        real("calls.reset", 6),
        real("uin", 7, "input", start=0),
        scalar("Integer", "count", 0, "parameter", start=2),
        scalar("Enumeration", "iin", 1, "input", start=0),
        scalar("Integer", "iout", 2, "output"),
        scalar("Boolean", "on", 0, "parameter", start="true"),
        scalar("Boolean", "bin", 1, "input", start="false"),
        scalar("Boolean", "bout", 2, "output"),
        scalar("String", "text", 0, "parameter", start="abc"),
        real("sum", 9, "calculatedParameter"),
        real("pi", 10, "local", start=3.14, variability="constant"),
    ]
)
CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")

Builder = Callable[..., Path]


@pytest.fixture(scope="session")
def fmu_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if compiler() is None:
        pytest.skip("no C compiler")
    return tmp_path_factory.mktemp("fmus")


@pytest.fixture(scope="session")
def feedthrough(fmu_folder: Path) -> Builder:
    """y = k*u + x, x' = u, z = k*u, q = x; `defines` choose how."""

    def make(*defines: str, interpolates: bool = False, **more: object) -> Path:
        flags = {"canInterpolateInputs": "true"} if interpolates else {}
        flags |= more.pop("flags", {})  # type: ignore[arg-type]
        fixture = Fixture("feedthrough.c", FEEDTHROUGH, flags, defines, **more)  # type: ignore[arg-type]
        return build(fixture, fmu_folder)

    return make


@pytest.fixture(scope="session")
def trouble(fmu_folder: Path) -> Path:
    return build(Fixture("trouble.c", TROUBLE, categories=CATEGORIES), fmu_folder)


@pytest.fixture(scope="session")
def types(fmu_folder: Path) -> Builder:
    def make(*defines: str, **flags: str) -> Path:
        return build(Fixture("types.c", TYPES, flags, defines), fmu_folder)

    return make


@pytest.fixture(params=(2, 3))
def version(request: pytest.FixtureRequest) -> int:
    """Of FMI, for Model Exchange."""
    return int(request.param)


@pytest.fixture
def opened(fmu_folder: Path, version: int, request: pytest.FixtureRequest) -> Opened:
    def open_one(fixture: Exchange) -> Fmu:
        fmu = open_fmu(build_exchange(fixture, version, fmu_folder))
        request.addfinalizer(fmu.close)
        return fmu

    return open_one
