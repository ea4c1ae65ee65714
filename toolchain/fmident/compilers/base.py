"""What every Modelica compiler is to the host: one class to FMU, with diagnostics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fmident.errors import Diagnostic


@dataclass(frozen=True)
class BuildRequest:
    """One class to be compiled.

    Parameters
    ----------
    class_name
        Full Modelica name, such as ``Mechanisms.Robots.DeltaInverse``.
    sources
        Where the Modelica source is: files, or folders with ``package.mo``. The first
        one that holds the class's top-level package is used.
    output
        The FMU to write. Written atomically; an existing file is replaced only by a good one.
        Where it has no record of what it was made from (``resources/fmident.json``), the host
        adds one; an FMU whose record is up to date is not built again.
    tolerance
        Default relative tolerance of the integrator; ``None`` takes the ``experiment``
        annotation, else 1e-6.
    options
        Options of the compiler, by name.
    platforms
        What the FMU is to hold binaries for, by the names of
        :mod:`fmident.compilers.platforms`; none for this machine's.
    progress
        Is told in a line what is being done, where it may take long.
    """

    class_name: str
    sources: tuple[Path, ...]
    output: Path
    tolerance: float | None = None
    options: dict[str, object] = field(default_factory=dict)
    platforms: tuple[str, ...] = ()
    progress: Callable[[str], None] = field(default=lambda _: None, compare=False)


@dataclass(frozen=True)
class BuildResult:
    """What a compiler hands back.

    Parameters
    ----------
    fmu
        The file written.
    compiler
        Name and version, such as ``"fmident embedded 0.1.0"``.
    diagnostics
        Warnings and notes; errors raise :class:`~fmident.errors.CompilationError`.
    seconds
        Wall time of the build.
    """

    fmu: Path
    compiler: str
    diagnostics: tuple[Diagnostic, ...]
    seconds: float


class Compiler(ABC):
    """A Modelica compiler; its class is called without arguments."""

    name: str = ""

    @abstractmethod
    def unavailable(self) -> str | None:
        """Return why this compiler cannot run here and what to do, or ``None``."""

    @abstractmethod
    def version(self) -> str:
        """Return name and version; part of the hash that finds stale FMUs."""

    def tools(self) -> dict[str, str]:
        """Return what it works with here, name to what was found, for ``fmident doctor``."""
        return {}

    @abstractmethod
    def build(self, request: BuildRequest) -> BuildResult:
        """Compile one class.

        Raises
        ------
        fmident.errors.CompilationError
            With diagnostics that carry file, line and construct.
        """
