"""What makes the C compiler of a build faster, and that CMake takes it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.compilers.base import BuildResult
from fmident.compilers.openmodelica.compiler import build_environment
from fmident.compilers.openmodelica.options import OpenModelicaOptions, parse_options
from fmident.errors import Code, CompilationError
from fmident.operating_system import processors

from ...refused import refused

Build = Callable[..., BuildResult]


@pytest.fixture
def ccache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a ccache on the path that notes what it is called with and calls the compiler."""
    folder = tmp_path / "with-ccache"
    folder.mkdir()
    program = folder / "ccache"
    program.write_text(
        f'#!/bin/sh\necho "$CCACHE_BASEDIR $MAKEFLAGS" >> "{tmp_path}/called"\nexec "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "called"


def environment(folder: Path, contained: bool = False, **options: object) -> dict[str, str]:
    given = OpenModelicaOptions(**options)  # type: ignore[arg-type]  # of the tests
    return build_environment(given, folder, contained=contained, environment={})


def test_without_ccache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment(tmp_path) == {"CMAKE_BUILD_PARALLEL_LEVEL": str(processors())}
    assert environment(tmp_path, jobs=3) == {"CMAKE_BUILD_PARALLEL_LEVEL": "3"}
    with pytest.raises(CompilationError, match="needs ccache, which is not on the path"):
        environment(tmp_path, object_cache=True)


@pytest.mark.usefixtures("ccache")
def test_with_ccache(tmp_path: Path) -> None:
    found = environment(tmp_path)
    assert found["CMAKE_C_COMPILER_LAUNCHER"] == str(tmp_path / "with-ccache" / "ccache")
    assert found["CCACHE_BASEDIR"] == str(tmp_path)
    assert "CMAKE_C_COMPILER_LAUNCHER" not in environment(tmp_path, object_cache=False)
    assert "CMAKE_C_COMPILER_LAUNCHER" not in environment(tmp_path, contained=True)
    with pytest.raises(CompilationError, match="not in the container"):
        environment(tmp_path, contained=True, object_cache=True)


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    options, set_before = OpenModelicaOptions(), {"CMAKE_BUILD_PARALLEL_LEVEL": "7"}
    found = build_environment(options, tmp_path, contained=True, environment=set_before)
    assert found == {}
    asked = OpenModelicaOptions(jobs=2)
    found = build_environment(asked, tmp_path, contained=True, environment=set_before)
    assert found == {"CMAKE_BUILD_PARALLEL_LEVEL": "2"}


@pytest.mark.parametrize("options", [{"jobs": -1}, {"jobs": True}, {"object_cache": "always"}])
def test_other_values_are_refused(options: dict[str, object]) -> None:
    with refused(Code.COMPILATION_FAILED, CompilationError, match="jobs|object_cache"):
        parse_options(options)


@pytest.mark.slow
@pytest.mark.usefixtures("fake_omc", "as_root")
def test_omc_is_told_before_it_builds(build: Build, omc_log: Path) -> None:
    build("Good", ramp_inputs=False, jobs=2)
    lines = omc_log.read_text().splitlines()
    told = lines.index('setEnvironmentVar("CMAKE_BUILD_PARALLEL_LEVEL", "2")')
    built = next(k for k, line in enumerate(lines) if line.startswith("buildModelFMU"))
    assert told < built


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_cmake_takes_the_variables(tmp_path: Path, ccache: Path) -> None:
    """Called as omc calls it: configured with a build type, built without any option."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.17)\nproject(M C)\nadd_library(M SHARED a.c b.c)\n"
    )
    for name in ("a", "b"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
    work = tmp_path / "build"
    work.mkdir()
    variables = {**os.environ, **environment(tmp_path, jobs=2)}
    for command in (
        ["cmake", "-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", ".."],
        ["cmake", "--build", "."],
    ):
        subprocess.run(command, cwd=work, env=variables, check=True, capture_output=True)
    called = ccache.read_text().splitlines()
    assert len([line for line in called if line.startswith(str(tmp_path))]) >= 2
    assert "-j2" in ccache.read_text()
