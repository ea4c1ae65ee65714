"""Location of OpenModelica, and how to install it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from fmident.compilers.openmodelica.options import (
    DEFAULT_IMAGE,
    SESSION_VARIABLE,
    OpenModelicaOptions,
    default_session,
)
from fmident.compilers.openmodelica.sessions import (
    Deadline,
    OMPythonSession,
    ScriptSession,
    Session,
    start_docker,
    start_local,
)
from fmident.errors import Code, CompilationError
from fmident.operating_system import is_administrator

Way = Literal["local", "script", "docker", "docker-script"]

NO_OMC = "OpenModelica is not installed here: there is no 'omc' on the path"
HOW_TO_GET = f"""\
Debian, Ubuntu (as root; see openmodelica.org/download):
  curl -fsSL https://build.openmodelica.org/apt/openmodelica.asc | \\
    gpg --dearmor -o /usr/share/keyrings/openmodelica-keyring.gpg
  echo "deb [signed-by=/usr/share/keyrings/openmodelica-keyring.gpg] \\
    https://build.openmodelica.org/apt $(lsb_release -cs) stable" \\
    > /etc/apt/sources.list.d/openmodelica.list
  apt-get update && apt-get install omc cmake gcc
  the standard library, in omc: installPackage(Modelica, "4.0.0", exactMatch=true)
Windows: the installer of openmodelica.org/download; its bin folder must be on the PATH
macOS: there is no current package; use the container, or build it from source
container: install Docker and set {SESSION_VARIABLE}=docker (image {DEFAULT_IMAGE})
or use the embedded compiler (--compiler embedded), which needs no OpenModelica"""


HOME_LIBRARIES = Path("~/.openmodelica/libraries")
"""Folder into which OpenModelica's package manager installs."""


def choose_way(session: str) -> Way:
    """Return how to run omc here."""
    if session == "docker":
        if shutil.which("docker") is None:
            raise CompilationError(
                "session = \"docker\" needs Docker, and there is no 'docker' on the path",
                hint="install Docker, or:\n" + HOW_TO_GET,
                code=Code.NOT_INSTALLED,
            )
        return "docker-script" if is_administrator() else "docker"
    if find_omc() is None:
        raise CompilationError(NO_OMC, hint=HOW_TO_GET, code=Code.NOT_INSTALLED)
    if session == "local" and is_administrator():
        raise CompilationError(
            'session = "local" does not work for root: omc refuses to be an interactive server',
            hint='use session = "script" (or "auto"), or build as another user',
        )
    if session == "script" or is_administrator():
        return "script"
    in_bin = Path(find_omc() or "omc").parent.name == "bin"
    if session == "auto" and not in_bin:
        return "script"  # OMPython looks for <OpenModelica>/bin/omc only
    return "local"


def why_unavailable() -> str | None:
    """Return why OpenModelica cannot run here directly, or ``None``."""
    if default_session() == "docker":
        trouble = docker_trouble()
        return None if trouble is None else f"{SESSION_VARIABLE} is 'docker', and {trouble}"
    if find_omc() is not None:
        return None
    return NO_OMC


def docker_trouble() -> str | None:
    """Return why containers cannot be run here, or ``None``."""
    if shutil.which("docker") is None:
        return "there is no 'docker' on the path"
    try:
        asked = subprocess.run(
            ["docker", "info"], capture_output=True, text=True, timeout=20.0, check=False
        )
    except subprocess.TimeoutExpired:
        return "its engine does not answer"
    if asked.returncode == 0:
        return None
    lines = asked.stderr.strip().splitlines()
    return "its engine does not answer" + (f": {lines[-1]}" if lines else "")


def open_session(
    options: OpenModelicaOptions, folder: Path, sources: Iterable[Path], deadline: Deadline
) -> Session:
    """Start omc in the working directory `folder`; `sources` are the files it will read.

    Raises `CompilationError` if omc is missing, cannot run as requested, or does not start.
    """
    way = choose_way(options.session)
    if way == "script":
        return ScriptSession([find_omc() or "omc"], options.omc_flags, folder, deadline)
    if way == "local":
        start = start_local(find_omc() or "omc")
        return OMPythonSession(start, options.omc_flags, folder, deadline)
    arguments = docker_arguments(folder, sources)
    if way == "docker":
        start = start_docker(options.image, arguments)
        return OMPythonSession(start, options.omc_flags, folder, deadline)
    command = ["docker", "run", "--rm", *arguments, "-w", str(folder), options.image, "omc"]
    return ScriptSession(command, options.omc_flags, folder, deadline)


def docker_arguments(folder: Path, sources: Iterable[Path]) -> list[str]:
    """Return options that mount folders in the container under the same names.

    The working directory is its home, where omc writes files; all others are read-only.
    """
    arguments = ["-v", f"{folder}:{folder}", "-e", f"HOME={folder}"]
    named = [Path(p) for p in os.environ.get("MODELICAPATH", "").split(os.pathsep) if p]
    libraries = [p.resolve() for p in (*named, *omc_folders()) if p.is_dir()]
    libraries = list(dict.fromkeys(libraries))
    roots = {p.resolve() if p.is_dir() else p.resolve().parent for p in sources}
    for mount in sorted({*roots, *libraries}):
        if mount != folder:
            arguments += ["-v", f"{mount}:{mount}:ro"]
    if libraries:
        places = ":".join(str(p) for p in libraries)
        # omc reads the second one only; the first is for what else runs there.
        arguments += ["-e", f"MODELICAPATH={places}", "-e", f"OPENMODELICALIBRARY={places}"]
    return arguments


def find_omc() -> str | None:
    """Return the path of omc: in ``$OPENMODELICAHOME/bin``, or on the path."""
    home = os.environ.get("OPENMODELICAHOME")
    if home:
        path = shutil.which("omc", path=str(Path(home) / "bin"))
        if path:
            return path
    return shutil.which("omc")


def omc_folders(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the existing folders that omc's ``loadModel`` searches.

    ``OPENMODELICALIBRARY`` replaces the usual ones: ``lib/omlibrary`` of the installation
    and ``~/.openmodelica/libraries``. omc does not read ``MODELICAPATH``.
    """
    given = environment.get("OPENMODELICALIBRARY", "")
    if given:
        candidates = [Path(part).expanduser() for part in given.split(os.pathsep) if part]
    else:
        candidates = [HOME_LIBRARIES.expanduser()]
        omc = find_omc()
        if omc is not None:
            candidates.insert(0, Path(omc).resolve().parents[1] / "lib" / "omlibrary")
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))
