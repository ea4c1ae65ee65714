"""How long the C compiler takes: variables of the environment that CMake and ccache read.

Most of a build is spent on some 150 files of OpenModelica's runtime and of SUNDIALS that are
the same in every FMU, compiled one after the other. omc calls CMake itself and passes no
options on, but CMake reads variables. Where it does not know them the build runs as before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from fmident.compilers.openmodelica.options import OpenModelicaOptions
from fmident.errors import CompilationError
from fmident.operating_system import processors


def build_environment(
    options: OpenModelicaOptions,
    folder: Path,
    *,
    contained: bool,
    environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the variables that a build gets.

    Parameters
    ----------
    options
        `jobs` and `object_cache` count.
    folder
        Of the build; paths below it are not part of what ccache compares.
    contained
        Whether omc runs in a container, where ccache of this machine is not.
    environment
        What is set already and stays; that of the process by default.

    Raises
    ------
    CompilationError
        ``object_cache = true``, and there is no ccache.
    """
    given = os.environ if environment is None else environment
    wanted = {"CMAKE_BUILD_PARALLEL_LEVEL": str(options.jobs or processors())}
    ccache = None if contained or options.object_cache is False else shutil.which("ccache")
    if ccache is None and options.object_cache is True:
        where = "in the container" if contained else "on the path"
        raise CompilationError(
            f"object_cache = true needs ccache, which is not {where}",
            hint='on Debian: apt-get install ccache; or object_cache = "auto"',
        )
    if ccache is not None:
        wanted |= {
            "CMAKE_C_COMPILER_LAUNCHER": ccache,
            "CCACHE_BASEDIR": str(folder),
            "CCACHE_NOHASHDIR": "true",  # the debug information may name another build's folder
        }
    explicit = {"CMAKE_BUILD_PARALLEL_LEVEL"} if options.jobs else set()
    return {n: v for n, v in wanted.items() if n in explicit or not given.get(n)}
