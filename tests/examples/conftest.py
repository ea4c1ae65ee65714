"""The studies as a user runs them, in a folder of their own."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from fmident.api.builds import with_libraries
from fmident.compilers.base import Compiler

from ..kept import library_fmu

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def study_folder(
    tmp_path: Path, build_fmu: Callable[[str], Path], embedded_compiler: Compiler
) -> Callable[..., Path]:
    """Return a function that copies a study and lets its problem files use a built FMU.

    Problem files with sources of their own are built from these, all others from the library.
    """

    def build(text: str, study: Path) -> Path:
        model = tomllib.loads(text)["model"]
        if "sources" not in model:
            return build_fmu(model["class"])
        sources = with_libraries([(study / source).resolve() for source in model["sources"]])
        return library_fmu(embedded_compiler, model["class"], sources)

    def copy(name: str, **classes: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(
            EXAMPLES / name, folder, ignore=shutil.ignore_patterns("data", "results*", "*.fmu")
        )
        for file in folder.glob("*.toml"):
            text = file.read_text(encoding="utf-8")
            lines = [
                f'fmu = "{build(text, EXAMPLES / name)}"' if line.startswith("class =") else line
                for line in text.splitlines()
                if not line.startswith("sources =")
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
