"""Compile the runtime with a model's C sources to the binary of a platform.

Most of the runtime is the same for all models and is compiled once per machine: object
files are cached by a hash of the compiler, its options, the source, and all headers it
may read.

Sources of the post-processing: ``mach-o/fat.h`` (universal binaries: a big-endian table
followed by whole files); Microsoft's "PE Format", section "COFF File Header"; System V ABI,
"ELF Header".

This machine's own platform uses an installed compiler if there is one. All other cases
use the compiler of the Python package ``ziglang``, which compiles for every platform.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform as machine
import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from fmident.compilers.embedded.model import MEMORY_BYTES, Version
from fmident.compilers.platforms import Platform, this_platform
from fmident.errors import Code, CompilationError, advice_on
from fmident.files import whole_file
from fmident.operating_system import processors
from fmident.operating_system.cache import cache_folder

_MAGIC = 0xCAFEBABE
_MACH_O_64 = 0xFEEDFACF
_ELF_64 = b"\x7fELF\x02\x01"
_ELF_MACHINES = {62: "x86_64-linux", 183: "aarch64-linux"}
_PE_MACHINES = {0x8664: "x86_64-windows"}
_MACH_O_PROCESSORS = {0x01000007: "x86_64-darwin", 0x0100000C: "aarch64-darwin"}
_ALIGNMENT = 14
"""Alignment of each file, as a power of two: pages of 16 KiB."""


SIZES_FILE = "model_sizes.h"
KIND_FILE = "model_kind.h"
DATA_FILE = "model_data.c"
FUNCTIONS_FILE = "model_functions.c"
LANES_FILE = "model_lanes.h"
FMI3_FILE = "model_fmi3.c"
"""A model with this file becomes an FMU of FMI 3.0."""


GLIBC = "2.17"
"""Oldest glibc with which Linux loads the binaries."""

MACOS = "11.0"
"""Oldest macOS that loads them."""

_ZIG_TARGETS = {
    "x86_64-linux": f"x86_64-linux-gnu.{GLIBC}",
    "aarch64-linux": f"aarch64-linux-gnu.{GLIBC}",
    "x86_64-windows": "x86_64-windows-gnu",
    "x86_64-darwin": f"x86_64-macos.{MACOS}-none",
    "aarch64-darwin": f"aarch64-macos.{MACOS}-none",
}

CROSS_HINT = 'pip install "fmident[cross]"'

_CONDA = "conda install -c conda-forge c-compiler"
_INSTALL_HINTS = {
    "Linux": f"{CROSS_HINT}; or, on Debian or Ubuntu: apt-get install gcc libc6-dev",
    "Darwin": f"{CROSS_HINT}; or: xcode-select --install",
    "Windows": f"{CROSS_HINT}; or: {_CONDA}",
}


def universal_binary(libraries: Sequence[bytes]) -> bytes:
    """Combine 64-bit Mach-O libraries for different processors into one universal binary."""
    table = [struct.pack(">II", _MAGIC, len(libraries))]
    content = []
    position = 1 << _ALIGNMENT
    for library in libraries:
        magic, processor, kind = struct.unpack_from("<III", library)
        if magic != _MACH_O_64:
            raise ValueError("this is not a Mach-O file of 64 bits")
        table.append(struct.pack(">IIIII", processor, kind, position, len(library), _ALIGNMENT))
        room = -len(library) % (1 << _ALIGNMENT)
        content.append(library + bytes(room))
        position += len(library) + room
    content[-1] = libraries[-1]
    header = b"".join(table)
    return header + bytes((1 << _ALIGNMENT) - len(header)) + b"".join(content)


def without_link_time(library: bytes) -> bytes:
    """Return a Windows library with its link time removed."""
    if library[:2] != b"MZ":
        raise ValueError("this is not a library of Windows")
    (header,) = struct.unpack_from("<I", library, 0x3C)
    if library[header : header + 4] != b"PE\0\0":
        raise ValueError("this is not a library of Windows")
    return library[: header + 8] + bytes(4) + library[header + 12 :]


def platform_of(library: bytes) -> str | None:
    """Return the FMI 3.0 platform of a library, such as ``"x86_64-linux"``, if supported."""
    head = library[:64].ljust(64, b"\0")
    if head.startswith(_ELF_64):
        return _ELF_MACHINES.get(struct.unpack_from("<H", head, 18)[0])
    magic, processor = struct.unpack_from("<II", head)
    if magic == _MACH_O_64:
        return _MACH_O_PROCESSORS.get(processor)
    if head.startswith(b"MZ"):
        (at,) = struct.unpack_from("<I", head, 0x3C)
        signature, machine = library[at : at + 4], library[at + 4 : at + 6]
        if signature == b"PE\0\0" and len(machine) == 2:
            return _PE_MACHINES.get(int.from_bytes(machine, "little"))
    return None


RUNTIME = Path(__file__).resolve().parents[1] / "runtime"

TIME_LIMIT_S = 1800.0

# Results must be the same bits everywhere: no fused multiply-add, no relaxed arithmetic.
# That mathematical functions need not set errno changes no result.
_COMMON_FLAGS = ("-std=c11", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno")
_EXTENSIONS = ("fmidentSetSensitivityVariables", "fmidentGetSensitivities")

_QUIET_FLAGS = ("-w",)  # the runtime is tested with -Wall

_LONG_FILES = ("lanes.c", FMI3_FILE)
"""Files of the runtime that include the model's functions."""

_OF_ONE_MODEL = {
    *(DATA_FILE, FUNCTIONS_FILE, *_LONG_FILES),
    *("constraints.c", "evaluate.c", "explicit.c", "integrator.c", "loops.c", "rosenbrock.c"),
}
"""Files that are compiled for each model: its own, and those with loops over the states.

The others are compiled once on a machine."""

_OF_LONG = ("-O1", "-fexpensive-optimizations")
"""Options for long files instead of -O2, which takes half as long again for no faster code.

Without the second option, gcc leaves wide registers in a state in which scalar code is slow."""

_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "SDKROOT")
"""Variables that decide what a C compiler does."""


MOST_CACHED = 400
"""Objects in the cache; older ones are removed."""

_DIGEST = hashlib.sha256().digest_size
_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def _in_package(package: str, *names: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    places = (Path(folder) / name for folder in folders for name in names)
    return next((place for place in places if place.is_file()), None)


def find_fmi_headers() -> Path | None:
    """Return the folder of FMI's C headers in the FMPy package."""
    header = _in_package("fmpy", "c-code/fmi2Functions.h")
    return header.parent if header else None


def missing_tools(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return what is missing to build for this machine and how to get it, or ``None``."""
    if find_fmi_headers() is None:
        return "the FMI headers of the Python package 'fmpy' are missing: install it again"
    return missing_compiler(environment)


def _limited(command: Sequence[str]) -> list[str]:
    """Return the command with a memory limit for each of its processes, on POSIX."""
    shell = shutil.which("sh")
    if machine.system() == "Windows" or shell is None:
        return [*command]
    limit = f'ulimit -v {MEMORY_BYTES // 1024} 2>/dev/null; exec "$@"'
    return [shell, "-c", limit, "sh", *command]


def exported(version: Version) -> tuple[str, ...]:
    """Return name patterns of the functions that the library exports."""
    return (f"fmi{version[0]}*", *_EXTENSIONS)


def all_sources(version: Version, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the C files of runtime, model and libraries (`sources`), and FMI's headers."""
    headers = find_fmi_headers()
    if headers is None:
        raise CompilationError(f"the embedded compiler cannot build here: {missing_tools()}")
    files = [*sorted(headers.glob("fmi[23]*.h")), *sorted(RUNTIME.glob("*.[ch]"))]
    read = [f for f in files if version == "3.0" or not f.name.startswith("fmi3")]
    return {**{f.name: f.read_text(encoding="utf-8") for f in read}, **sources}


def compile_binary(
    compiler: CCompiler,
    folder: Path,
    sources: Mapping[str, str],
    version: Version = "2.0",
    *,
    optimization: int = 2,
    warnings: Sequence[str] = _QUIET_FLAGS,
) -> bytes:
    """Compile `sources`, written to `folder`, and return the shared library.

    `sources` come from :func:`all_sources`; `optimization` is 0 to 3. Raises
    `CompilationError` with the compiler's first lines, or if the library is for another
    platform.
    """
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    # Relative names only: no path of this machine gets into the binary.
    options = [*_COMMON_FLAGS, *compiler.options, *warnings, "-I."]
    units = _units(sources, optimization)
    run = partial(_run, folder, compiler.environment)

    def make_object(unit: Unit) -> None:
        run([*compiler.command, *options, *unit.options, "-c", unit.source, "-o", unit.object])
        if not (folder / unit.object).is_file():
            raise _wrong_compiler(compiler, "succeeded without writing anything")

    make_objects(units, folder, _identity(compiler, options), make_object)
    library = f"model{compiler.platform.suffix}"
    linked = compiler.link_options(folder / "exports.map", exported(version))
    objects = (unit.object for unit in units)
    run([*compiler.command, *objects, "-o", library, *linked, "-lm"])
    content = _of_the_platform(compiler, folder / library)
    return without_link_time(content) if compiler.platform.system == "windows" else content


def _of_the_platform(compiler: CCompiler, library: Path) -> bytes:
    """Return a library, checking its platform, since ``CC`` may target another machine."""
    try:
        content = library.read_bytes()
    except OSError:
        content = b""
    actual, wanted = platform_of(content), compiler.platform.tuple
    if actual != wanted:
        what = f"a library for '{actual}'" if actual else "no library that can be used"
        raise _wrong_compiler(compiler, f"has made {what}; one for '{wanted}' is needed")
    return content


def _wrong_compiler(compiler: CCompiler, what: str) -> CompilationError:
    return CompilationError(
        f"the C compiler '{' '.join(compiler.command)}' {what}",
        hint="let CC name a compiler for this machine, or unset it; --platforms names others",
    )


def _units(sources: Mapping[str, str], optimization: int) -> list[Unit]:
    """Return the compilation units; long functions without loops gain little beyond -O1."""
    long = {FUNCTIONS_FILE, *_LONG_FILES}
    units = []
    for name in sorted(sources):
        if not name.endswith(".c"):
            continue
        options = _OF_LONG if name in long and optimization == 2 else (f"-O{optimization}",)
        if name in _OF_ONE_MODEL:
            units.append(Unit(name, options, cached=name not in long and name != DATA_FILE))
        else:
            units.append(Unit(name, (*options, "-DFMIDENT_ANY_MODEL"), not_read=(SIZES_FILE,)))
    return units


@cache
def _version(command: tuple[str, ...], zig: bool) -> bytes:
    asked = (
        [[command[0], "version"]] if zig else [[*command, "--version"], [*command, "-dumpmachine"]]
    )
    answers = [
        subprocess.run(question, capture_output=True, check=False, timeout=60).stdout
        for question in asked
    ]
    return b"\0".join(answers)


def _identity(compiler: CCompiler, options: Sequence[str]) -> bytes:
    """Return what all objects depend on besides the sources."""
    command = "\0".join([*compiler.command, *options]).encode()
    variables = "\0".join(os.environ.get(name, "") for name in _VARIABLES).encode()
    always_read = (RUNTIME / "baseline.h").read_bytes()
    return b"\0".join([command, _version(compiler.command, compiler.zig), variables, always_read])


def _run(folder: Path, environment: Mapping[str, str], command: Sequence[str]) -> None:
    try:
        run = subprocess.run(
            _limited(command),
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            errors="replace",
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
            hint=(
                advice_on(RuntimeError(run.stderr))
                or f"it may take {MEMORY_BYTES / 1e9:g} GB of memory"
            )
            + f"; the C source is kept in {folder}",
        )


@dataclass(frozen=True)
class Unit:
    """One call of the C compiler.

    `options` apply to this file only. `cached` says whether to cache the object, and
    `not_read` names headers whose ``#include`` is inactive with these options.
    """

    source: str
    options: tuple[str, ...]
    cached: bool = True
    not_read: tuple[str, ...] = ()

    @property
    def object(self) -> str:
        """Return the file name of the object."""
        return f"{Path(self.source).stem}.o"


def make_objects(
    units: Sequence[Unit], folder: Path, identity: bytes, make_object: Callable[[Unit], None]
) -> None:
    """Make the objects of all units in `folder`, in parallel.

    `identity` is what all objects depend on besides the files there: compiler, common
    options, external headers. `make_object` compiles one unit and raises if that gives no
    object.
    """
    cache = cache_folder("objects")
    keys = {unit: _key(unit, folder, identity) for unit in units if unit.cached}
    missing = [
        u for u in units if not (cache and u in keys and _fetch(cache, keys[u], folder / u.object))
    ]

    with ThreadPoolExecutor(max(1, min(len(missing), processors()))) as pool:
        for _ in pool.map(make_object, missing):
            pass
    if cache:
        for unit in missing:
            if unit in keys:
                _store(cache, keys[unit], (folder / unit.object).read_bytes())


def _key(unit: Unit, folder: Path, identity: bytes) -> str:
    digest = hashlib.sha256(identity)
    names = _reads(unit, folder)
    for text in (*unit.options, *names):
        digest.update(text.encode() + b"\0")
    for name in names:
        digest.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()[:40]


def _reads(unit: Unit, folder: Path) -> list[str]:
    """Return the files of the folder that a source may include, starting with itself."""
    names = [unit.source]
    for name in names:
        text = (folder / name).read_text(encoding="utf-8")
        more = (n for n in _included(text) if n not in names and n not in unit.not_read)
        names += [n for n in more if (folder / n).is_file()]
    return names


def _included(text: str) -> Iterable[str]:
    return dict.fromkeys(_INCLUDE.findall(text))


def _fetch(cache: Path, key: str, target: Path) -> bool:
    """Copy an object from the cache; a damaged one counts as missing."""
    try:
        content = (cache / key).read_bytes()
    except OSError:
        return False
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        return False
    target.write_bytes(content[_DIGEST:])
    return True


def _store(cache: Path, key: str, content: bytes) -> None:
    """Add an object to the cache, unless there is no space for it."""
    with contextlib.suppress(OSError):
        with whole_file(cache / key) as stream:
            stream.write(hashlib.sha256(content).digest() + content)
        files = sorted(cache.iterdir(), key=lambda file: file.stat().st_mtime)
        for file in files[: max(0, len(files) - MOST_CACHED)]:
            file.unlink(missing_ok=True)


@dataclass(frozen=True)
class CCompiler:
    """A C compiler for one platform, called by `command` with additional `environment`."""

    command: tuple[str, ...]
    platform: Platform
    zig: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """Return the platform's compile options, in addition to those common to all platforms."""
        position = () if self.platform.system == "windows" else ("-fPIC",)
        if self.zig:
            # Without these, it adds run-time checks and what the processor here can do.
            return (*position, "-fno-sanitize=all", "-fno-stack-protector")
        baseline = ("-include", "baseline.h") if self.platform.system == "linux" else ()
        return (*position, *baseline)

    @property
    def licences(self) -> dict[str, Path]:
        """Return the licence texts of code that it links into a binary, by file name in the FMU."""
        if not self.zig:
            return {}  # what it links is part of the system
        folder = Path(self.command[0]).parent
        paths = {"zig-LICENSE.txt": folder / "LICENSE"}
        if self.platform.system == "windows":
            paths["mingw-w64-COPYING.txt"] = folder / "lib" / "libc" / "mingw" / "COPYING"
        return {name: path for name, path in paths.items() if path.is_file()}

    def link_options(self, exports: Path, exported: Sequence[str]) -> list[str]:
        """Return the options that link a shared library exporting the name patterns `exported`.

        A linker script, if needed, is written to `exports`.
        """
        if self.platform.system == "darwin":
            if self.zig:  # its linker shows what is visible
                return ["-shared", "-s", "-Wl,-install_name,@rpath/model.dylib"]
            symbols = (f"-Wl,-exported_symbol,_{name}" for name in exported)
            return ["-dynamiclib", *symbols, "-Wl,-x"]
        if self.platform.system == "windows":
            return ["-shared", "-s"]
        exports.write_text(
            "{ global: " + " ".join(f"{name};" for name in exported) + " local: *; };\n",
            encoding="utf-8",
        )
        return [
            "-shared",
            "-s",
            "-Wl,--build-id=none",
            "-Wl,-z,defs",
            "-Wl,--gc-sections",
            f"-Wl,--version-script={exports.name}",
        ]


def find_compiler(environment: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """Return the command of an installed C compiler: ``CC``, ``cc``, ``gcc`` or ``clang``."""
    chosen = environment.get("CC", "").strip()
    if chosen:
        command = tuple(shlex.split(chosen))
        return command if shutil.which(command[0], path=environment.get("PATH", "")) else None
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name, path=environment.get("PATH", "")):
            return (name,)
    return None


def find_zig() -> Path | None:
    """Return the path of the program in the Python package ``ziglang``."""
    return _in_package("ziglang", "zig", "zig.exe")


def tools() -> dict[str, str]:
    """Return the C compilers that were found: for this platform, and for all platforms."""
    own, zig = find_compiler(), find_zig()
    cross = "none: " + CROSS_HINT if zig is None else f"ziglang, {zig}"
    system = shutil.which(own[0]) if own else None
    return {
        "C compiler": cross if system is None else " ".join([system, *(own or ())[1:]]),
        "C compiler for other platforms": cross,
    }


def is_first_time(platform: Platform) -> bool:
    """Return whether ziglang must first compile the C library of a platform."""
    mark = _mark(platform)
    return mark is not None and not mark.is_file() and platform != this_platform()


def has_compiled(platform: Platform) -> None:
    """Record that ziglang has compiled the C library of a platform."""
    mark = _mark(platform)
    if mark is not None:
        with contextlib.suppress(OSError):
            mark.touch()


def _mark(platform: Platform) -> Path | None:
    folder = cache_folder("zig")
    return None if folder is None else folder / f"fmident-{platform.name}"


def _plain(command: Sequence[str]) -> tuple[str, ...]:
    """Return options that keep zig, if ``CC`` names it, from using this CPU's extensions."""
    is_zig = "ziglang" in command or Path(command[0]).stem == "zig"
    return ("-mcpu=baseline", "-fno-sanitize=all") if is_zig else ()


def missing_compiler(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why no binary can be built for this machine and how to fix it, or ``None``."""
    chosen = environment.get("CC", "").strip()
    if find_compiler(environment) is not None or (not chosen and find_zig() is not None):
        return None
    what = (
        f"the C compiler '{chosen}' named by CC is not on the path"
        if chosen
        else "no C compiler (cc, gcc or clang) is on the path"
    )
    return f"{what}. To get it: {install_hint()}"


def install_hint() -> str:
    """Return the command that installs a C compiler on this system."""
    return _INSTALL_HINTS.get(machine.system(), _INSTALL_HINTS["Linux"])


def compiler_for(platform: Platform, scratch: Path) -> CCompiler:
    """Return the C compiler for a platform, or raise `CompilationError` with an install hint.

    `scratch` is where ziglang may write if there is no cache folder.
    """
    own = platform == this_platform()
    if own:
        missing = missing_compiler()
        if missing is not None:
            raise CompilationError(
                f"the embedded compiler cannot build here: {missing}",
                hint="or set CC to a C compiler",
                code=Code.NOT_INSTALLED,
            )
        command = find_compiler()
        if command is not None:
            return CCompiler((*command, *_plain(command)), platform)
    zig = find_zig()
    if zig is None:
        raise CompilationError(
            f"a binary for the platform '{platform.name}' needs a compiler that this Python does "
            "not have",
            hint=CROSS_HINT,
            code=Code.NOT_INSTALLED,
        )
    cache = str(cache_folder("zig") or scratch / "zig")
    return CCompiler(
        (str(zig), "cc", "-target", _ZIG_TARGETS[platform.tuple]),
        platform,
        zig=True,
        environment={"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache},
    )
