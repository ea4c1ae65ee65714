"""Find a C compiler, SUNDIALS and the FMI headers; compile and link the binary."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from fmident.compilers.embedded.backend.codegen import (
    DATA_FILE,
    FMI3_FILE,
    FUNCTIONS_FILE,
    SIZES_FILE,
)
from fmident.compilers.embedded.backend.objects import Unit, make_objects
from fmident.compilers.embedded.model import Version
from fmident.errors import CompilationError

RUNTIME = Path(__file__).resolve().parent.parent / "runtime"

_SUNDIALS_LIBRARIES = (
    "sundials_cvode",
    "sundials_nvecserial",
    "sundials_sunlinsoldense",
    "sundials_sunmatrixdense",
)
_SUNDIALS_7_LIBRARIES = ("sundials_core",)

# Results must be the same bits everywhere: no fused multiply-add, no relaxed arithmetic.
# That mathematical functions need not set errno changes no result.
MEMORY_BYTES = 4 * 10**9
"""What a process of the C compiler may take."""

TIME_LIMIT_S = 1800.0

_COMMON_FLAGS = ("-std=c11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno")
_EXTENSIONS = (
    "fmidentSetSensitivityVariables",
    "fmidentGetSensitivities",
    "fmidentStartBatch",
    "fmidentAdvanceBatch",
    "fmidentEndBatch",
)


def exported(version: Version) -> tuple[str, ...]:
    """Return the functions of the library that can be called, as patterns."""
    return (f"fmi{version[0]}*", *_EXTENSIONS)


def runtime_files(version: Version) -> list[Path]:
    """Return the files of the runtime: those for FMI 3.0 are a layer over the others."""
    files = sorted(RUNTIME.glob("*.[ch]"))
    return [f for f in files if version == "3.0" or not f.name.startswith("fmi3")]


_QUIET_FLAGS = ("-w",)  # the runtime is tested with -Wall

_LONG_FILES = ("batch.c", "lanes.c", FMI3_FILE)
"""Files of the runtime that the model's functions are in."""

_OF_ONE_MODEL = {
    *(DATA_FILE, FUNCTIONS_FILE, *_LONG_FILES),
    *("constraints.c", "evaluate.c", "explicit.c", "integrator.c", "loops.c", "rosenbrock.c"),
}
"""Files that are compiled for each model: its own, and those whose loops over states are worth it.

The others are compiled once on a machine."""

_OF_LONG = ("-O1", "-fexpensive-optimizations")
"""What these are compiled with in place of -O2, which takes half as much longer and is not faster.

Without the second option, gcc leaves wide registers in a state in which scalar code is slow."""

_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "SDKROOT")
"""Variables that decide what a C compiler does."""

_CONDA = "conda install -c conda-forge c-compiler sundials-static"
INSTALL_HINTS = {
    "Linux": f"on Debian or Ubuntu: apt-get install gcc libc6-dev libsundials-dev; or: {_CONDA}",
    "Darwin": f"xcode-select --install && brew install sundials; or: {_CONDA}",
    "Windows": _CONDA,
}


@dataclass(frozen=True)
class Sundials:
    """Where SUNDIALS is installed.

    Parameters
    ----------
    include
        Folder that holds ``cvode/cvode.h``.
    libraries
        Static libraries in link order.
    licences
        Licence texts of the installation; an FMU that contains SUNDIALS must carry them.
    """

    include: Path
    libraries: tuple[Path, ...]
    licences: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Toolchain:
    """What is needed to make a binary.

    Parameters
    ----------
    compiler
        Command of the C compiler.
    sundials
        ``None`` where it is not installed; models without states do not need it.
    fmi_headers
        Folder that holds ``fmi2Functions.h``.
    """

    compiler: tuple[str, ...]
    sundials: Sundials | None
    fmi_headers: Path


def install_hint() -> str:
    """Return the command that installs what is missing on this system."""
    return INSTALL_HINTS.get(platform.system(), INSTALL_HINTS["Linux"])


def find_compiler(environment: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """Return the command of a C compiler: ``CC``, ``cc``, ``gcc``, ``clang``, or ziglang's."""
    chosen = environment.get("CC", "").strip()
    if chosen:
        command = tuple(shlex.split(chosen))
        return command if shutil.which(command[0], path=environment.get("PATH", "")) else None
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name, path=environment.get("PATH", "")):
            return (name,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    return None


def _prefixes(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where to look for SUNDIALS, best first."""
    for name in ("FMIDENT_SUNDIALS", "SUNDIALS_DIR", "SUNDIALS_ROOT", "CONDA_PREFIX"):
        if environment.get(name):
            prefix = Path(environment[name])
            yield prefix
            yield prefix / "Library"  # conda on Windows
            if name == "FMIDENT_SUNDIALS":
                return  # who names a place means that place
    for text in ("/usr", "/usr/local", "/opt/homebrew", "/opt/homebrew/opt/sundials"):
        yield Path(text)
    for folder in environment.get("CMAKE_PREFIX_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder)


def _find_library(prefix: Path, name: str) -> Path | None:
    folders = [prefix / "lib", prefix / "lib64", *sorted((prefix / "lib").glob("*-linux-gnu*"))]
    for folder in folders:
        for pattern in (f"lib{name}.a", f"{name}_static.lib", f"{name}.lib"):
            if (folder / pattern).is_file():
                return folder / pattern
    return None


def find_sundials(environment: Mapping[str, str] = os.environ) -> Sundials | None:
    """Return the first complete installation of SUNDIALS with static libraries."""
    for prefix in _prefixes(environment):
        if not (prefix / "include" / "cvode" / "cvode.h").is_file():
            continue
        found = [_find_library(prefix, name) for name in _SUNDIALS_LIBRARIES]
        libraries = tuple(library for library in found if library is not None)
        if len(libraries) == len(_SUNDIALS_LIBRARIES):
            extra = (_find_library(prefix, name) for name in _SUNDIALS_7_LIBRARIES)
            return Sundials(
                prefix / "include",
                (*libraries, *(e for e in extra if e is not None)),
                _find_licences(prefix),
            )
    return None


def _find_licences(prefix: Path) -> tuple[Path, ...]:
    places = (
        prefix / "include" / "sundials" / "LICENSE",
        prefix / "include" / "sundials" / "NOTICE",
        prefix / "share" / "doc" / "libsundials-dev" / "copyright",  # Debian
    )
    return tuple(place for place in places if place.is_file())


def find_fmi_headers() -> Path | None:
    """Return the folder of FMI's C headers that FMPy brings along."""
    spec = importlib.util.find_spec("fmpy")
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / "c-code"
        if (folder / "fmi2Functions.h").is_file():
            return folder
    return None


def missing_tools(
    environment: Mapping[str, str] = os.environ, *, states: bool = True
) -> str | None:
    """Return what is missing here and how to get it, or ``None`` when all is there.

    Parameters
    ----------
    environment
        Environment variables.
    states
        Whether an integrator is needed.
    """
    missing = []
    if find_compiler(environment) is None:
        chosen = environment.get("CC", "").strip()
        missing.append(
            f"the C compiler '{chosen}' named by CC is not on the path"
            if chosen
            else "no C compiler (cc, gcc or clang) is on the path"
        )
    if states and find_sundials(environment) is None:
        place = environment.get("FMIDENT_SUNDIALS")
        missing.append(
            f"FMIDENT_SUNDIALS={place} holds no static SUNDIALS (include/cvode/cvode.h and "
            "lib/libsundials_cvode.a)"
            if place
            else "SUNDIALS with static libraries is not installed"
        )
    if find_fmi_headers() is None:
        missing.append("the FMI headers of the Python package 'fmpy' are missing")
    if not missing:
        return None
    return f"{'; '.join(missing)}. To get it: {install_hint()}"


def find_toolchain(*, states: bool = True) -> Toolchain:
    """Return what is needed to make a binary.

    Parameters
    ----------
    states
        Whether an integrator is needed.

    Raises
    ------
    CompilationError
        If something is missing; the hint is the command that installs it.
    """
    compiler, headers = find_compiler(), find_fmi_headers()
    problem = missing_tools(states=states)
    if problem is not None or compiler is None or headers is None:
        raise CompilationError(
            f"the embedded compiler cannot build here: {problem}",
            hint="or set CC to a C compiler and FMIDENT_SUNDIALS to the folder of SUNDIALS",
        )
    return Toolchain(compiler, find_sundials(), headers)


def platform_folder() -> tuple[str, str]:
    """Return the FMU's folder for binaries of this machine, and the suffix of a library."""
    bits = "64" if sys.maxsize > 2**32 else "32"
    system = platform.system()
    if system == "Darwin":
        return f"darwin{bits}", ".dylib"
    if system == "Windows":
        return f"win{bits}", ".dll"
    return f"linux{bits}", ".so"


_ARCHITECTURES = {
    "AMD64": "x86_64",
    "ARM64": "aarch64",
    "arm64": "aarch64",
    "i386": "x86",
    "i686": "x86",
}


def platform_tuple() -> str:
    """Return FMI 3.0's name of the folder for binaries of this machine."""
    machine = platform.machine()
    return f"{_ARCHITECTURES.get(machine, machine)}-{platform.system().lower()}"


def _link_flags(exports: Path, names: Sequence[str]) -> list[str]:
    system = platform.system()
    if system == "Darwin":
        return [
            "-dynamiclib",
            *(f"-Wl,-exported_symbol,_{name}" for name in names),
            "-Wl,-x",
        ]
    if system == "Windows":
        return ["-shared", "-s"]
    exports.write_text("{ global: " + " ".join(f"{name};" for name in names) + " local: *; };\n")
    return [
        "-shared",
        "-s",
        "-Wl,--build-id=none",
        "-Wl,-z,defs",
        "-Wl,--gc-sections",
        f"-Wl,--version-script={exports.name}",
    ]


def _limited(command: Sequence[str]) -> list[str]:
    """Return the command with a limit on the memory of each of its processes, on POSIX."""
    shell = shutil.which("sh")
    if platform.system() == "Windows" or shell is None:
        return [*command]
    limit = f'ulimit -v {MEMORY_BYTES // 1024} 2>/dev/null; exec "$@"'
    return [shell, "-c", limit, "sh", *command]


def compile_binary(
    toolchain: Toolchain,
    folder: Path,
    sources: Mapping[str, str],
    *,
    optimization: int = 2,
    warnings: Sequence[str] = _QUIET_FLAGS,
) -> bytes:
    """Compile the runtime with a model's sources and return the shared library.

    Parameters
    ----------
    toolchain
        See :func:`find_toolchain`.
    folder
        Temporary folder to work in; sources are left there.
    sources
        The model's C files, name to text; with that for FMI 3.0 among them, the library is of this
        version.
    optimization
        0 to 3, as ``-O``.
    warnings
        Warning options of the C compiler.

    Raises
    ------
    CompilationError
        With the first lines of the compiler's message.
    """
    version: Version = "3.0" if FMI3_FILE in sources else "2.0"
    sources = {**{f.name: f.read_text() for f in runtime_files(version)}, **sources}
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    library = f"model{platform_folder()[1]}"
    sundials = toolchain.sundials
    # Relative names only: no path of this machine gets into the binary.
    options = [
        *_COMMON_FLAGS,
        *warnings,
        "-I.",
        f"-I{toolchain.fmi_headers}",
        *([f"-I{sundials.include}"] if sundials else []),
    ]
    units = _units(sources, optimization)
    run = partial(_run, folder)
    compiler = [*toolchain.compiler, *options]
    make_objects(units, folder, _identity(toolchain, options), lambda more: run([*compiler, *more]))
    run(
        [
            *toolchain.compiler,
            *(unit.object for unit in units),
            "-o",
            library,
            *_link_flags(folder / "exports.map", exported(version)),
            *([str(path) for path in sundials.libraries] if sundials else []),
            "-lm",
        ]
    )
    return (folder / library).read_bytes()


def _units(sources: Mapping[str, str], optimization: int) -> list[Unit]:
    """Return what to compile; long functions without loops are hardly better for more than -O1."""
    long = {FUNCTIONS_FILE, *_LONG_FILES}
    units = []
    for name in sorted(sources):
        if not name.endswith(".c"):
            continue
        options = _OF_LONG if name in long and optimization == 2 else (f"-O{optimization}",)
        if name in _OF_ONE_MODEL:
            units.append(Unit(name, options, kept=name not in long and name != DATA_FILE))
        else:
            units.append(Unit(name, (*options, "-DFMIDENT_ANY_MODEL"), not_read=(SIZES_FILE,)))
    return units


@cache
def _version(compiler: tuple[str, ...]) -> bytes:
    """Return what a compiler says of itself and of the machine that it compiles for."""
    said = [
        subprocess.run([*compiler, question], capture_output=True, check=False, timeout=60).stdout
        for question in ("--version", "-dumpmachine")
    ]
    return b"\0".join(said)


def _identity(toolchain: Toolchain, options: Sequence[str]) -> bytes:
    """Return what all objects depend on besides their own sources."""
    headers = sorted(toolchain.fmi_headers.glob("fmi[23]*.h"))
    if toolchain.sundials:
        headers += sorted((toolchain.sundials.include / "sundials").glob("sundials_config.h"))
    texts = (header.read_bytes() for header in headers)
    command = "\0".join([*toolchain.compiler, *options]).encode()
    variables = "\0".join(os.environ.get(name, "") for name in _VARIABLES).encode()
    return b"\0".join([command, _version(toolchain.compiler), variables, *texts])


def _run(folder: Path, command: Sequence[str]) -> None:
    try:
        run = subprocess.run(
            _limited(command),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIME_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise CompilationError(
            f"the C compiler did not finish within {TIME_LIMIT_S:g} s",
            hint="make the model smaller, or compile it with --option optimization=0; the C source "
            f"is kept in {folder}",
        ) from None
    if run.returncode != 0:
        lines = (run.stderr or run.stdout).strip().splitlines()
        raise CompilationError(
            "the C compiler failed:\n" + "\n".join(lines[:12]),
            hint=f"it may take {MEMORY_BYTES / 1e9:g} GB of memory; the C source is kept in "
            f"{folder}",
        )
