"""Interface of all Modelica compilers: one class to one FMU, with diagnostics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from fmident.errors import Code, CompilationError, Diagnostic, ProblemError
from fmident.options import Options
from fmident.toml_file.section import build_dataclass

Kind = TypeVar("Kind", bound=Options)

_CODES = (Code.UNKNOWN_KEY, Code.UNKNOWN_NAME)
"""Codes of errors that a build keeps; all others become a failed compilation."""


@dataclass(frozen=True)
class BuildRequest:
    """Request to compile one class.

    Parameters
    ----------
    class_name
        Full Modelica name, such as ``Mechanisms.FMUs.DeltaInverse``.
    sources
        Modelica files, or folders with ``package.mo``. The first one that contains the
        class's top-level package is used.
    output
        The FMU to write, atomically: an existing file is replaced only on success. If the
        FMU has no build record (``resources/fmident.json``), the host adds one; an FMU
        whose record is up to date is not built again.
    tolerance
        Default relative tolerance of the integrator; ``None`` takes that of the
        ``experiment`` annotation, or else 1e-6.
    options
        Options of the compiler, by name.
    platforms
        Platforms to include binaries for, named as in :mod:`fmident.compilers.platforms`;
        empty for this machine's platform.
    progress
        Called with one line of text before each step that may take long.
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
    """Result of a compilation.

    `compiler` is name and version, such as ``"fmident embedded 0.1.0"``; `seconds` is the
    wall time. `diagnostics` has warnings and notes only: errors raise
    :class:`~fmident.errors.CompilationError`.
    """

    fmu: Path
    compiler: str
    diagnostics: tuple[Diagnostic, ...]
    seconds: float


class Compiler(ABC):
    """A Modelica compiler; the host instantiates the class without arguments."""

    name: str = ""

    @abstractmethod
    def unavailable(self) -> str | None:
        """Return why this compiler cannot run here and how to fix it, or ``None``."""

    @abstractmethod
    def version(self) -> str:
        """Return name and version; they enter the hash that detects outdated FMUs."""

    def tools(self) -> dict[str, str]:
        """Return the tools that it uses, name to what was found, for ``fmident doctor``."""
        return {}

    @abstractmethod
    def build(self, request: BuildRequest) -> BuildResult:
        """Compile one class; raise `CompilationError` with diagnostics that carry file and line."""


def read_options(kind: type[Kind], given: Mapping[str, object], compiler: str) -> Kind:
    """Return the options of a request, checked; raise `CompilationError` if one is wrong."""
    try:
        return build_dataclass(kind, given, table="the options of the build", name=compiler)
    except ProblemError as error:
        hint = error.hint or f"docs/reference/compilers.md lists the options of '{compiler}'"
        code = error.code if error.code in _CODES else None
        raise CompilationError(error.message, hint=hint, code=code) from None
