"""What the functions of FMI 3.0 allocate is freed, and nothing else is read or written."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fmident.compilers.embedded.backend.compiling import find_compiler, find_fmi_headers

from ..test_binary import linux_only
from .conftest import Builder3


@linux_only
@pytest.mark.slow
def test_valgrind_finds_no_error_and_no_leak(fmus3: Builder3, tmp_path: Path) -> None:
    compiler, headers = find_compiler(), find_fmi_headers()
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    assert compiler is not None
    driver = tmp_path / "driver"
    source = Path(__file__).with_name("driver3.c")
    subprocess.run(
        [*compiler, "-g", f"-I{headers}", str(source), "-o", str(driver), "-ldl"], check=True
    )
    folder = fmus3.extracted("rows")
    (library,) = folder.glob("binaries/*/*.so")
    root = ElementTree.parse(folder / "modelDescription.xml").getroot()
    checks = ["--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all"]
    run = subprocess.run(
        ["valgrind", *checks, "--error-exitcode=9", str(driver), str(library),
             root.get("instantiationToken", "")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
