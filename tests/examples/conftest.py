"""The studies as a user runs them, in a folder of their own."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def study_folder(tmp_path: Path, build_fmu: Callable[[str], Path]) -> Callable[..., Path]:
    """Return a function that copies a study and lets its problem files use a built FMU."""

    def copy(name: str, **classes: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(
            EXAMPLES / name, folder, ignore=shutil.ignore_patterns("data", "results*", "*.fmu")
        )
        for file in folder.glob("*.toml"):
            text = file.read_text(encoding="utf-8")
            lines = [
                f'fmu = "{build_fmu(line.split(chr(34))[1])}"'
                if line.startswith("class =")
                else line
                for line in text.splitlines()
            ]
            file.write_text("\n".join(lines), encoding="utf-8")
        return folder

    return copy


@pytest.fixture
def load_script() -> Callable[[Path], ModuleType]:
    """Return a function that imports a script by its path, with the scripts beside it.

    Those of other studies have the same names.
    """

    def load(path: Path) -> ModuleType:
        beside = {script.stem for script in path.parent.glob("*.py")}
        _forget(beside)
        spec = importlib.util.spec_from_file_location(f"study_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            _forget(beside)
        return module

    return load


def _forget(names: set[str]) -> None:
    for name in names:
        sys.modules.pop(name, None)
