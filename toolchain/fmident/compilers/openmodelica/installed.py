"""Libraries as OpenModelica keeps them: folders called ``Lib 1.2.3`` or ``Lib 1.2.3+build``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

HOME_LIBRARIES = Path("~/.openmodelica/libraries")
"""Where OpenModelica's package manager installs."""


def find_omc() -> str | None:
    """Return the path of omc: in ``$OPENMODELICAHOME/bin``, or on the path."""
    home = os.environ.get("OPENMODELICAHOME")
    if home:
        found = shutil.which("omc", path=str(Path(home) / "bin"))
        if found:
            return found
    return shutil.which("omc")


def omc_folders(environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return the folders in which ``loadModel`` of omc looks, those that exist.

    ``OPENMODELICALIBRARY`` replaces the usual ones: ``lib/omlibrary`` of the installation and
    ``~/.openmodelica/libraries``. omc does not read ``MODELICAPATH``.

    Parameters
    ----------
    environment
        Variables; those of the process by default.
    """
    variables = os.environ if environment is None else environment
    given = variables.get("OPENMODELICALIBRARY", "")
    if given:
        candidates = [Path(part).expanduser() for part in given.split(os.pathsep) if part]
    else:
        candidates = [HOME_LIBRARIES.expanduser()]
        omc = find_omc()
        if omc is not None:
            candidates.insert(0, Path(omc).resolve().parents[1] / "lib" / "omlibrary")
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))


def name_of(place: Path) -> str:
    """Return the library's name: ``"Modelica"`` of the folder ``Modelica 4.0.0+maint.om``."""
    return (place.stem if place.suffix == ".mo" else place.name).partition(" ")[0]


def version_of(place: Path) -> str:
    """Return the version in a library's name without build metadata, ``""`` without any."""
    return plain_version(place.name.removesuffix(".mo").partition(" ")[2])


def plain_version(version: str) -> str:
    """Return a version without build metadata: ``"4.0.0"`` of ``"4.0.0+maint.om"``.

    Metadata plays no part in whether one version is another (Semantic Versioning 2.0.0,
    item 10).
    """
    return version.partition("+")[0].strip()


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to be compared."""
    return tuple(int(part) for part in re.findall(r"\d+", plain_version(version)))
