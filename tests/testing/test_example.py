"""The example plugin under the suite: by its own test, and found through its entry point."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "plugins" / "example"

pytestmark = pytest.mark.slow


def run_pytest(*arguments: str, path: Path, folder: Path) -> str:
    """Return the last line, such as ``25 passed in 3.1s``."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout.strip().splitlines()[-1]


def test_the_example_passes_its_own_tests(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert re.match(r"\d+ passed in", run_pytest(".", path=folder, folder=folder))


def test_an_installed_estimator_is_checked_by_the_suite_of_the_repository(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "fmident_random_search.py", tmp_path)
    described = tmp_path / "fmident_random_search-0.1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: fmident-random-search\nVersion: 0.1.0\n"
    )
    (described / "entry_points.txt").write_text("[fmident]\nrandom-search=fmident_random_search\n")
    suite = ROOT / "tests" / "estimators" / "test_conformance.py"
    told = run_pytest(str(suite), "-k", "random-search", path=tmp_path, folder=ROOT)
    assert re.match(r"\d\d passed, \d+ deselected", told), told
