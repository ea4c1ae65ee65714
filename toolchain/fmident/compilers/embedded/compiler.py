"""The embedded compiler as a plugin."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from fmident._version import __version__
from fmident.compilers.base import BuildRequest, BuildResult, Compiler, read_options
from fmident.compilers.embedded import standard_library
from fmident.compilers.embedded.backend import sundials
from fmident.compilers.embedded.backend.compiling import missing_tools, tools
from fmident.compilers.embedded.model import INTEGRATORS, VERSIONS, OdeModel, Version
from fmident.compilers.platforms import RECORD_NAME, encode_record, make_record, read_platforms
from fmident.errors import CompilationError, Diagnostic, unknown_name
from fmident.options import Advice, Options, Range

GENERATION_TOOL = f"fmident {__version__} (embedded compiler)"

_PYTHON_PACKAGES = ("rumoca", "casadi")
_GIVE_VERSION = "give the version of FMI: " + " or ".join(f'"{v}"' for v in VERSIONS)


@dataclass(frozen=True)
class EmbeddedOptions(Options):
    """Options of a build with the embedded compiler.

    Parameters
    ----------
    optimization
        Optimisation level of the C compiler.
    integrator
        ``"explicit"`` (Dormand-Prince 5(4)), ``"rosenbrock"`` (Rodas5P), ``"cvode"`` (BDF), or
        ``"auto"``.
    fmi
        Version of FMI, which command lines may give as a number; ``"3.0"`` keeps arrays.
    sources
        Whether the FMU includes its C sources, so that anyone can compile it.
    """

    optimization: Annotated[int, Range(least=0, most=3)] = 2
    integrator: str = "auto"
    fmi: Annotated[str | float, Advice(_GIVE_VERSION)] = "2.0"
    sources: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.integrator not in INTEGRATORS:
            raise CompilationError(
                f"option 'integrator' is {self.integrator!r}",
                **unknown_name(self.integrator, INTEGRATORS, "integrator"),
            )

    @property
    def version(self) -> Version:
        """Version of FMI."""
        for version in VERSIONS:
            if self.fmi in (version, float(version)):
                return version
        raise CompilationError(f"option 'fmi' is {self.fmi!r}", hint=_GIVE_VERSION)


class EmbeddedCompiler(Compiler):
    """Compiler to FMI 2.0 or 3.0 (Co-Simulation, Model Exchange), with exact sensitivities.

    See :class:`EmbeddedOptions` for the options.
    """

    name = "embedded"

    def unavailable(self) -> str | None:
        """Return what is missing here and the command that installs it, or ``None``."""
        for package in _PYTHON_PACKAGES:
            if importlib.util.find_spec(package) is None:
                return (
                    f"the Python package '{package}' is missing. To get it: pip install {package}"
                )
        return missing_tools()

    def tools(self) -> dict[str, str]:
        """Return the C compilers and the locations of SUNDIALS and the standard library."""
        return {
            **tools(),
            "SUNDIALS (over 100 states)": sundials.whereabouts(),
            standard_library.NAME_OF_STANDARD_LIBRARY: standard_library.whereabouts(),
        }

    def version(self) -> str:
        """Return name and version, with a hash of all code that affects the result."""
        return f"fmident embedded {__version__}+{_code_hash()}"

    def build(self, request: BuildRequest) -> BuildResult:
        """Compile one class; see :class:`~fmident.compilers.base.Compiler`."""
        begin = time.perf_counter()
        options = read_options(EmbeddedOptions, request.options, self.name)
        if request.tolerance is not None and not 1e-14 <= request.tolerance < 1.0:
            raise CompilationError(
                f"the tolerance {request.tolerance!r} is not usable", hint="give 1e-14 to 1"
            )
        version = options.version
        platforms = read_platforms(request.platforms)
        # CasADi takes a second to load, and listing compilers must be quick.
        from fmident.compilers.embedded.backend.fmu import build_fmu
        from fmident.compilers.embedded.frontend import load_model

        try:
            name, progress = request.class_name, request.progress
            model, diagnostics = load_model(name, request.sources, progress)
            progress(f"{name}: compiling its code in C")
            build_fmu(
                model,
                request.output,
                generation_tool=GENERATION_TOOL,
                tolerance=request.tolerance,
                optimization=options.optimization,
                integrator=options.integrator,
                version=version,
                platforms=platforms,
                with_sources=options.sources,
                progress=progress,
                resources={RECORD_NAME: encode_record(make_record(request, self))},
            )
        except (RecursionError, MemoryError) as error:
            deep = isinstance(error, RecursionError)
            raise CompilationError(
                f"{request.class_name} cannot be compiled: "
                + ("its expressions are nested too deeply" if deep else "the memory is used up"),
                hint="split long expressions into several equations" if deep else "make it smaller",
            ) from None
        return BuildResult(
            fmu=request.output,
            compiler=self.version(),
            diagnostics=(*diagnostics, *_left_out(model)),
            seconds=time.perf_counter() - begin,
        )


def _left_out(model: OdeModel) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each feature that the FMU does not offer, with the reason."""
    if model.constraints.equations:
        yield Diagnostic(
            "note",
            f"the FMU of '{model.name}' is for Co-Simulation only: after each step its states"
            f" are projected onto '{model.constraints.equations[0]}', which an integrator outside"
            " the FMU does not do",
            rule="no-model-exchange",
        )


@cache
def _code_hash() -> str:
    """Return a hash of this package's code and of the libraries that affect the result."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parent
    shared = [package.with_name("scanner.py"), package.with_name("sources.py")]
    for file in (*shared, *sorted(package.rglob("*"))):
        if file.suffix in (".py", ".c", ".h", ".mo") and file.is_file():
            digest.update(file.relative_to(package.parent).as_posix().encode() + b"\0")
            digest.update(file.read_bytes() + b"\0")
    for name in _PYTHON_PACKAGES:
        digest.update(f"{name} {importlib.metadata.version(name)}\0".encode())
    return digest.hexdigest()[:12]
