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

from fmident._version import __version__
from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.embedded.backend import build_fmu
from fmident.compilers.embedded.backend.compiling import sundials
from fmident.compilers.embedded.backend.compiling.c_compilers import tools
from fmident.compilers.embedded.frontend.reading.source import standard_library
from fmident.compilers.embedded.model import INTEGRATORS, VERSIONS, OdeModel, Version
from fmident.compilers.platforms import RECORD_NAME, encode_record, make_record, read_platforms
from fmident.errors import Code, CompilationError, Diagnostic, did_you_mean

GENERATION_TOOL = f"fmident {__version__} (embedded compiler)"

_PYTHON_PACKAGES = ("rumoca", "casadi")
_OPTIONS = ("optimization", "integrator", "fmi", "sources")


class EmbeddedCompiler(Compiler):
    """Compiler to FMI 2.0 or 3.0 (Co-Simulation, Model Exchange), with exact sensitivities.

    Options of a request:

    ``optimization``
        Optimisation level of the C compiler, 0 to 3; default 2.
    ``integrator``
        ``auto`` (default), ``explicit`` (Dormand-Prince 5(4)), ``rosenbrock`` (Rodas5P) or
        ``cvode`` (BDF).
    ``fmi``
        Version of FMI: ``"2.0"`` (default) or ``"3.0"``, which keeps arrays.
    ``sources``
        Whether the FMU includes its C sources, so that anyone can compile it; default true.
    """

    name = "embedded"

    def unavailable(self) -> str | None:
        """Return what is missing here and the command that installs it, or ``None``."""
        for package in _PYTHON_PACKAGES:
            if importlib.util.find_spec(package) is None:
                return (
                    f"the Python package '{package}' is missing. To get it: pip install {package}"
                )
        # Imported late: CasADi takes a second to load, and listing compilers must be quick.
        from fmident.compilers.embedded.backend.compiling.toolchain import missing_tools

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
        chosen = _options(request)
        platforms = read_platforms(request.platforms)
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
                optimization=chosen.optimization,
                integrator=chosen.integrator,
                version=chosen.version,
                platforms=platforms,
                with_sources=chosen.sources,
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
    if model.constraints is not None:
        yield Diagnostic(
            "note",
            f"the FMU of '{model.name}' is for Co-Simulation only: after each step its states"
            f" return to '{model.constraints.equations[0]}', which in Model Exchange nobody would"
            " see to",
            rule="no-model-exchange",
        )


@dataclass(frozen=True)
class _Options:
    optimization: int
    integrator: str
    version: Version
    sources: bool


def _options(request: BuildRequest) -> _Options:
    for key in request.options:
        if key not in _OPTIONS:
            raise CompilationError(
                f"the embedded compiler has no option '{key}'",
                hint=did_you_mean(key, _OPTIONS, kind="option"),
                code=Code.UNKNOWN_KEY,
            )
    level = request.options.get("optimization", 2)
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= 3:
        raise CompilationError(
            f"option 'optimization' is {level!r}", hint="give a whole number from 0 to 3"
        )
    integrator = request.options.get("integrator", "auto")
    if not isinstance(integrator, str) or integrator not in INTEGRATORS:
        raise CompilationError(
            f"option 'integrator' is {integrator!r}",
            hint=did_you_mean(str(integrator), INTEGRATORS, kind="integrator"),
            code=Code.UNKNOWN_NAME,
        )
    if request.tolerance is not None and not 1e-14 <= request.tolerance < 1.0:
        raise CompilationError(
            f"the tolerance {request.tolerance!r} is not usable", hint="give 1e-14 to 1"
        )
    with_sources = request.options.get("sources", True)
    if not isinstance(with_sources, bool):
        raise CompilationError(f"option 'sources' is {with_sources!r}", hint="give true or false")
    version = _version(request.options.get("fmi", "2.0"))
    return _Options(level, integrator, version, with_sources)


def _version(given: object) -> Version:
    """Return the FMI version; command lines may give it as a number."""
    for version in VERSIONS:
        if given == version or (type(given) in (int, float) and given == float(version)):
            return version
    raise CompilationError(
        f"option 'fmi' is {given!r}",
        hint="give the version of FMI: " + " or ".join(f'"{v}"' for v in VERSIONS),
    )


@cache
def _code_hash() -> str:
    """Return a hash of this package's code and of the libraries that affect the result."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parent
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".c", ".h", ".mo") and file.is_file():
            digest.update(file.relative_to(package).as_posix().encode() + b"\0")
            digest.update(file.read_bytes() + b"\0")
    for name in _PYTHON_PACKAGES:
        digest.update(f"{name} {importlib.metadata.version(name)}\0".encode())
    return digest.hexdigest()[:12]
