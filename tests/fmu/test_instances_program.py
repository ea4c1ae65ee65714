"""The C program of docs/explanation/openmodelica.md: it compiles, and shows what it is to show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fmident.fmu.archive import library_suffix

from .build import HEADERS, compile_library, compiler

SOURCE = Path(__file__).parents[2] / "docs" / "explanation" / "openmodelica" / "instances.c"

pytestmark = [
    pytest.mark.slow,  # compiles
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cc = compiler()
    if cc is None:
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("program") / "instances"
    command = [cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", str(HEADERS), str(SOURCE)]
    subprocess.run([*command, "-o", str(made), "-ldl"], check=True)
    return made


def run(program: Path, folder: Path, *defines: str) -> tuple[int, str]:
    library = folder / f"shared_pool{library_suffix()}"
    compile_library("shared_pool.c", defines, library)
    words = [str(program), str(library), "{guid}", "file:///nowhere"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def growth(said: str) -> float:
    """Return what the program printed of the memory, kB per reset."""
    found = re.search(r"F4: ([\d.]+) kB per reset", said)
    assert found is not None
    return float(found[1])


def test_an_fmu_that_behaves_like_openmodelicas(program: Path, tmp_path: Path) -> None:
    code, said = run(program, tmp_path)
    assert code == 1
    assert "F3: crashed with signal 11" in said
    assert growth(said) == pytest.approx(5000 / 1024, abs=0.3)


def test_an_fmu_with_independent_instances(program: Path, tmp_path: Path) -> None:
    code, said = run(program, tmp_path, "GOOD")
    assert code == 0
    assert "F3: no crash" in said
    assert growth(said) < 0.5
