"""The platforms that OpenModelica builds binaries for: this machine, or others in a container.

Source: OpenModelica's own test of cross compilation, ``testsuite/special/FmuExportCrossCompile``.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from fmident.compilers.platforms import PLATFORMS, Platform, read_platforms, this_platform
from fmident.errors import Code, CompilationError

IMAGE = "multiarch/crossbuild"
"""The container image with cross compilers that OpenModelica is tested with."""

_TRIPLES = {
    "linux64": "x86_64-linux-gnu",
    "win64": "x86_64-w64-mingw32",
    "darwin64": "x86_64-apple-darwin",
}
"""What the image has compilers for."""


def omc_platforms(names: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return the argument ``platforms`` of ``buildModelFMU``.

    Parameters
    ----------
    names
        Platforms of the request; none for this machine's.
    own
        What the compiler's option says for this machine, such as ``"static"``.

    Raises
    ------
    CompilationError
        OpenModelica cannot compile for one of them, or not here; the hint says what it can do.
    """
    if not names:
        return tuple(own)
    here = this_platform()
    found: list[str] = []
    for platform in read_platforms(names):
        found += own if platform == here else [_in_container(platform)]
    return tuple(found)


def _in_container(platform: Platform) -> str:
    triple = _TRIPLES.get(platform.name)
    if triple is None:
        can = ", ".join(p.name for p in PLATFORMS if p.name in _TRIPLES)
        raise CompilationError(
            f"OpenModelica cannot compile for '{platform.name}': its container has compilers for "
            f"{can} only",
            hint="leave it out, or take the embedded compiler: --compiler embedded",
        )
    if shutil.which("docker") is None:
        raise CompilationError(
            f"OpenModelica compiles for '{platform.name}' in a container, and there is no 'docker' "
            "on the path",
            hint=f"install Docker and get the image: docker pull {IMAGE}; or leave --platforms "
            "out; or take the embedded compiler, which needs neither: --compiler embedded",
            code=Code.NOT_INSTALLED,
        )
    return f"{triple} docker run --pull=never {IMAGE}"
