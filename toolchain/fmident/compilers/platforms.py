"""Platforms that an FMU can hold binaries for: their names in FMI 2.0, in FMI 3.0 and here.

Source: FMI specification 2.0.4, section 2.3, and 3.0.1, section 2.5.1.4 ("Platform Tuple").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fmident.errors import Code, CompilationError, did_you_mean
from fmident.fmu.archive import platform_folder

ALL = "all"
"""Stands for every platform."""


@dataclass(frozen=True)
class Platform:
    """A processor with an operating system.

    Parameters
    ----------
    name
        The name in FMI 2.0, ``"linux64"``; for what has none there, one like it.
    tuple
        The name in FMI 3.0, ``"x86_64-linux"``.
    suffix
        Of a shared library's file name.
    folder
        Under ``binaries/`` of an FMU for FMI 2.0. Both processors of macOS share one, which then
        holds a universal binary.
    """

    name: str
    tuple: str
    suffix: str
    folder: str

    @property
    def system(self) -> str:
        """Return ``"linux"``, ``"windows"`` or ``"darwin"``."""
        return self.tuple.partition("-")[2]


PLATFORMS = (
    Platform("linux64", "x86_64-linux", ".so", "linux64"),
    Platform("win64", "x86_64-windows", ".dll", "win64"),
    Platform("darwin64", "x86_64-darwin", ".dylib", "darwin64"),
    Platform("linux-aarch64", "aarch64-linux", ".so", "aarch64-linux"),
    Platform("darwin-aarch64", "aarch64-darwin", ".dylib", "darwin64"),
)
"""In the order in which an FMU holds them."""


def this_platform() -> Platform:
    """Return the platform of this machine.

    Raises
    ------
    CompilationError
        It is none of :data:`PLATFORMS`.
    """
    here = platform_folder("3.0")
    for platform in PLATFORMS:
        if platform.tuple == here:
            return platform
    raise CompilationError(
        f"binaries for this machine's platform, '{here}', are not known how to make",
        hint=f"name one of these with --platforms: {', '.join(p.name for p in PLATFORMS)}",
    )


def recorded_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names under which an FMU records what it holds binaries for.

    Parameters
    ----------
    names
        Of the request, as :func:`platform_names` gives them; none for this machine's platform,
        which is then named, in FMI 3.0's way where it is none of :data:`PLATFORMS`.
    """
    given = tuple(names)
    if given:
        return given
    try:
        return (this_platform().name,)
    except CompilationError:
        return (platform_folder("3.0"),)


def platform_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of FMI 2.0 of platforms that were asked for; none for none.

    Raises
    ------
    CompilationError
        There is no such platform; the nearest name is given.
    """
    given = tuple(names)
    return tuple(p.name for p in read_platforms(given)) if given else ()


def read_platforms(names: Iterable[str]) -> tuple[Platform, ...]:
    """Return the platforms with these names, each once, in the order of :data:`PLATFORMS`.

    Parameters
    ----------
    names
        Names of FMI 2.0 or 3.0, or ``"all"``; none for this machine's platform.

    Raises
    ------
    CompilationError
        There is no such platform; the nearest name is given.
    """
    known = {name: p for p in PLATFORMS for name in (p.name, p.tuple)}
    wanted: list[Platform] = []
    for name in names:
        if name == ALL:
            wanted += PLATFORMS
        elif name in known:
            wanted.append(known[name])
        else:
            raise CompilationError(
                f"there is no platform '{name}'",
                hint=did_you_mean(name, [*known, ALL], kind="platform"),
                code=Code.UNKNOWN_NAME,
            )
    return tuple(p for p in PLATFORMS if p in wanted) or (this_platform(),)
