"""FMUs that are compiled once, for all processes of a test run and for later runs.

They lie in a folder under names made from everything that they are built from. The folder is
that of pytest's cache; without a cache, one for this run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.platforms import make_record

VARIABLE = "FMIDENT_TEST_FMUS"
"""Names the folder to worker processes of a run."""


def kept(name: str, suffix: str, key: bytes, make: Callable[[Path], None]) -> Path:
    """Return a file that `make` writes unless one with this key is there."""
    folder = Path(os.environ[VARIABLE])
    file = folder / f"{name}-{hashlib.sha256(key).hexdigest()[:16]}{suffix}"
    if not file.exists():
        # Another process may make the same: each moves a finished file into place.
        with tempfile.TemporaryDirectory(dir=folder, prefix="unfinished-") as own:
            made = Path(own) / file.name
            make(made)
            made.replace(file)
    return file


def library_fmu(
    compiler: Compiler, class_name: str, sources: tuple[Path, ...], **options: object
) -> Path:
    """Return the FMU of a class, built with options of the compiler; not to be changed."""

    def make(output: Path) -> None:
        compiler.build(BuildRequest(class_name, sources, output, options=options))

    record = make_record(BuildRequest(class_name, sources, Path(), options=options), compiler)
    return kept(class_name, ".fmu", repr(sorted(record.items())).encode(), make)


def keep_copy(
    name: str, suffix: str, key: bytes, target: Path, make: Callable[[Path], None]
) -> None:
    """Write a file by `make`, or copy it from where one with this key is kept."""
    if VARIABLE not in os.environ:  # no test run: a benchmark
        make(target)
        return
    shutil.copyfile(kept(name, suffix, key, make), target)
