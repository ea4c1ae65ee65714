"""ci/setup installs again whenever what is installed is not what pyproject.toml says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[1] / "ci" / "setup"

PYTHON = """\
#!/bin/sh
case "$*" in *"pip install"*" -e "*) cp pyproject.toml .venv/installed ;; esac
case "$*" in *"pip install"*" -e "*) echo x >>.venv/installations ;; esac
"""
"""In place of the environment's Python: copies what it was asked to install."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with the script, and an environment in which pip only takes notes."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler; the script would install one")
    for folder in ("ci", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SETUP, tmp_path / "ci")
    shutil.copy(SETUP.with_name("sundials"), tmp_path / "ci")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def installations(project: Path, content: str) -> int:
    """Set up with this pyproject.toml; return how often something was installed so far."""
    (project / "pyproject.toml").write_text(content)
    settings = {"PYTHON": str(project / ".venv" / "bin" / "python")}
    command = ["bash", "ci/setup"]
    done = subprocess.run(
        command, cwd=project, env=os.environ | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (project / ".venv" / "installed").read_text() == content
    return len((project / ".venv" / "installations").read_text().split())


def test_an_earlier_pyproject_is_installed_again(project: Path) -> None:
    assert installations(project, "one") == 1
    assert installations(project, "one") == 1
    assert installations(project, "two") == 2
    assert installations(project, "one") == 3
