"""Fixtures that several test packages need."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.builds import find_library
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.staleness import make_record

LIBRARY = Path(__file__).parents[1] / "modelica"
CACHE = Path(tempfile.gettempdir()) / f"fmident-test-fmus-{os.getuid()}"

BuildFmu = Callable[[str], Path]


@pytest.fixture(scope="session")
def embedded_compiler() -> Compiler:
    """Return the embedded compiler; skip where it cannot run."""
    from fmident.compilers.embedded import EmbeddedCompiler

    compiler = EmbeddedCompiler()
    reason = compiler.unavailable()
    if reason is not None:
        pytest.skip(f"the embedded compiler cannot run: {reason}")
    return compiler


@pytest.fixture(scope="session")
def build_fmu(embedded_compiler: Compiler) -> BuildFmu:
    """Return a function from a class of this repository's library to its FMU.

    An FMU is built once and kept under a name made from everything it is built from, so
    that worker processes and later sessions share it.
    """

    def build(class_name: str) -> Path:
        sources = find_library(class_name, [LIBRARY.parent]).sources
        request = BuildRequest(class_name, sources, Path())
        record = repr(sorted(make_record(request, embedded_compiler).items()))
        key = hashlib.sha256(record.encode()).hexdigest()[:16]
        fmu = CACHE / f"{class_name}-{key}.fmu"
        if not fmu.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            # The compiler moves the finished file into place, so two processes may race.
            embedded_compiler.build(BuildRequest(class_name, sources, fmu))
        return fmu

    return build
