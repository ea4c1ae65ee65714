"""The shared library: what it needs, what it exports, threads and memory."""

from __future__ import annotations

import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fmident.compilers.embedded.backend.codegen import generate
from fmident.compilers.embedded.backend.compiling import (
    all_sources,
    compile_binary,
    compiler_for,
    find_compiler,
    find_fmi_headers,
)
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.platforms import this_platform

from .conftest import MODELS, Builder

linux_only = pytest.mark.skipif(platform.system() != "Linux", reason="reads ELF binaries")


def library(fmus: Builder, name: str) -> Path:
    (found,) = fmus.extracted(name).glob("binaries/*/*.so")
    return found


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.each_time("oscillator", "integrator", "algebraic", "pendulum")
@linux_only
@pytest.mark.parametrize("name", MODELS)
def test_needs_the_c_library_only(fmus: Builder, name: str) -> None:
    lines = output_of("ldd", str(library(fmus, name))).splitlines()
    needed = {Path(line.split()[0]).name.split(".")[0] for line in lines}
    assert needed <= {"linux-vdso", "libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}


@linux_only
@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_exports_nothing_but_fmi_and_its_extension(fmus: Builder) -> None:
    lines = output_of("nm", "-D", "--defined-only", str(library(fmus, "oscillator"))).split("\n")
    names = {line.split()[-1] for line in lines if line}
    assert names
    extension = {"fmidentSetSensitivityVariables", "fmidentGetSensitivities"}
    assert {n for n in names if not n.startswith("fmi2")} == extension


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("name", ["oscillator", "algebraic"])
def test_runtime_compiles_without_warnings(tmp_path: Path, name: str) -> None:
    model = MODELS[name]()
    code = generate(model, make_layout(model), guid="{0}", tolerance=1e-6)
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wno-type-limits", "-Wno-unused-parameter"]
    compiler = compiler_for(this_platform(), tmp_path)
    compile_binary(compiler, tmp_path, all_sources("2.0", code), warnings=[*warnings, "-Werror"])


def trajectory(fmus: Builder, name: str, factor: float) -> list[list[float]]:
    reads = {"oscillator": ("f", ["s", "v", "acceleration"]), "pendulum": ("tau", ["phi", "w"])}
    control, names = reads[name]
    rows = []
    with fmus.open(name) as fmu:
        fmu.initialize(1e-8)
        for i in range(300):
            fmu.set(**{control: factor * ((i * 37) % 11)})
            fmu.step(i * 0.01, 0.01)
            rows.append(fmu.get(*names))
    return rows


@pytest.mark.parametrize("name", ["oscillator", "pendulum"])
def test_threads_give_the_same_bits(fmus: Builder, name: str) -> None:
    fmus.extracted(name)
    factors = [0.1, 0.2, 0.1, 0.2]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda f: trajectory(fmus, name, f), factors))
    assert together == [trajectory(fmus, name, f) for f in factors]


def resident_kilobytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4


@linux_only
@pytest.mark.slow
def test_ten_thousand_resets_leak_nothing(fmus: Builder) -> None:
    with fmus.open("oscillator") as fmu:

        def cycle() -> None:
            fmu.initialize(1e-6)
            for i in range(3):
                fmu.step(i * 0.1, 0.1)
            fmu.slave.reset()

        def growth(cycles: int) -> int:
            before = resident_kilobytes()
            for _ in range(cycles):
                cycle()
            return resident_kilobytes() - before

        growth(1000)
        # A leak makes every series grow; what else this process does, one at most.
        assert min(growth(5000), growth(5000)) < 128


@linux_only
@pytest.mark.slow
def test_valgrind_finds_no_error_and_no_leak(fmus: Builder, tmp_path: Path) -> None:
    compiler, headers = find_compiler(), find_fmi_headers()
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    assert compiler is not None
    driver = tmp_path / "driver"
    source = Path(__file__).with_name("leak_driver.c")
    subprocess.run(
        [*compiler, "-g", f"-I{headers}", str(source), "-o", str(driver), "-ldl"], check=True
    )
    guid = (fmus.extracted("pendulum") / "modelDescription.xml").read_text().split('guid="')[1]
    run = subprocess.run(
        ["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all",
             "--error-exitcode=9",
         str(driver), str(library(fmus, "pendulum")), guid.split('"')[0]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
