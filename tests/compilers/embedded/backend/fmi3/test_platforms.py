"""FMUs of FMI 3.0 for other platforms, and from their own sources."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fmident.compilers.embedded.backend.compiling import find_compiler, find_zig
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.platforms import PLATFORMS, Platform, this_platform

from .conftest import rows

pytestmark = pytest.mark.slow  # builds for all platforms


def unpacked(folder: Path, *platforms: Platform) -> Path:
    """Return the folder of an FMU for these platforms."""
    fmu = folder / "rows.fmu"
    build_fmu(rows(), fmu, generation_tool="test", version="3.0", platforms=platforms)
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(folder / "fmu")
    return folder / "fmu"


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("everywhere"), *PLATFORMS)


@pytest.mark.nightly
@pytest.mark.skipif(find_zig() is None, reason='pip install "fmident[cross]"')
@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_windows_sees_the_functions_of_fmi_3_only(everywhere: Path) -> None:
    (library,) = (everywhere / "binaries" / "x86_64-windows").iterdir()
    said = subprocess.run(
        ["objdump", "-p", str(library)], capture_output=True, text=True, check=True
    ).stdout
    _, _, exported = said.partition("[Ordinal/Name Pointer] Table")
    names = re.findall(r"^\t\[ *\d+\] (\S+)$", exported, re.MULTILINE)
    extensions = {n for n in names if n.startswith("fmident")}
    assert len(extensions) == 2
    others = set(names) - extensions
    assert len(others) == 75
    assert all(n.startswith("fmi3") for n in others)


@pytest.mark.nightly
@pytest.mark.skipif(find_zig() is None, reason='pip install "fmident[cross]"')
@pytest.mark.skipif(shutil.which("llvm-nm") is None, reason="llvm-nm is not installed")
@pytest.mark.parametrize("processor", ["x86_64", "arm64"])
def test_macos_sees_the_functions_of_fmi_3_only(everywhere: Path, processor: str) -> None:
    folder = {"x86_64": "x86_64-darwin", "arm64": "aarch64-darwin"}[processor]
    (library,) = (everywhere / "binaries" / folder).iterdir()
    command = ["llvm-nm", f"--arch={processor}", "-gj", "--defined-only", str(library)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {n for n in said.split() if n.startswith("_f")}
    assert len({n for n in names if n.startswith("_fmi3")}) == 75
    assert all(n.startswith(("_fmi3", "_fmident")) for n in names)


@pytest.mark.nightly
def test_the_sources_inside_make_the_same_library(tmp_path: Path) -> None:
    command = find_compiler()
    if command is None:
        pytest.skip("no C compiler")
    folder = unpacked(tmp_path, this_platform())
    root = ElementTree.parse(folder / "sources" / "buildDescription.xml").getroot()
    (own,) = (
        c for c in root.iterfind("BuildConfiguration") if c.get("platform") == this_platform().tuple
    )
    files = [f.get("name", "") for f in own.iterfind("SourceFileSet/SourceFile")]
    assert {"fmi3.c", "model_fmi3.c"} <= set(files)
    options = [s.get("compilerOptions", "") for s in own.iterfind("SourceFileSet")]
    assert options == ["-ffp-contract=off"]  # as fmident's own binaries are compiled
    library = tmp_path / "model.so"
    subprocess.run(
        [*command, "-shared", "-fPIC", "-O1", *options, "-I.", *files, "-o", str(library), "-lm"],
        cwd=folder / "sources",
        check=True,
    )
    assert b"fmi3GetAdjointDerivative" in library.read_bytes()
