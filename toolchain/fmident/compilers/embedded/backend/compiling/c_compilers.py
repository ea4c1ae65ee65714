"""Choose the C compiler and its options for a platform.

This machine's own platform uses an installed compiler if there is one. All other cases
use the compiler of the Python package ``ziglang``, which compiles for every platform.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform as machine
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmident.compilers.platforms import Platform, this_platform
from fmident.errors import Code, CompilationError
from fmident.operating_system.cache import cache_folder

GLIBC = "2.17"
"""Version of glibc from which on Linux can load what is built."""

MACOS = "11.0"
"""Version of macOS from which on it can."""

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
    spec = importlib.util.find_spec("ziglang")
    for location in (spec.submodule_search_locations or []) if spec else []:
        for name in ("zig", "zig.exe"):
            if (Path(location) / name).is_file():
                return Path(location) / name
    return None


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
