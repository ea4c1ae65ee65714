"""Compile the loops in ``c/``: for a wheel, and where no wheel has brought them.

``hatch_build.py`` runs it outside of the package: it imports nothing of fmident.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).parent / "c"
OPTIONS = (
    "-std=gnu11", "-O2", "-g0", "-ffp-contract=off", "-fvisibility=hidden", "-shared", "-Wl,-s",
)  # fmt: skip
TARGETS = {
    "x86_64-linux": "x86_64-linux-gnu.2.17",
    "aarch64-linux": "aarch64-linux-gnu.2.17",
    "x86_64-windows": "x86_64-windows-gnu",
    "x86_64-darwin": "x86_64-macos.11.0-none",
    "aarch64-darwin": "aarch64-macos.11.0-none",
}
"""Platforms of a wheel, as ziglang names them."""


def this_platform() -> str:
    """Return the name of this platform, as in an FMU of FMI 3.0."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system = {"win32": "windows"}.get(sys.platform, sys.platform)
    return f"{machine}-{system}"


def library_name(target: str) -> str:
    """Return the file name of the loops on a platform, which changes with the sources."""
    content = hashlib.sha256()
    for source in sorted(SOURCES.iterdir()):
        content.update(source.read_bytes())
    suffix = {"windows": "dll", "darwin": "dylib"}.get(target.partition("-")[2], "so")
    return f"loops-{target}-{content.hexdigest()[:12]}.{suffix}"


def compiler() -> list[str]:
    """Return the command of a C compiler for this machine; empty if there is none."""
    if chosen := os.environ.get("CC"):
        return shlex.split(chosen)
    if path := next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None):
        return [path]
    return [*ZIG] if importlib.util.find_spec("ziglang") else []


ZIG = (sys.executable, "-m", "ziglang", "cc")


def compile_loops(command: Sequence[str], library: Path) -> None:
    """Compile the loops; the file appears when it is complete.

    Raises `OSError` or `subprocess.CalledProcessError`.
    """
    windows = library.suffix == ".dll"
    sources = [str(source) for source in sorted(SOURCES.glob("*.c"))]
    library.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        own = Path(folder) / library.name
        options = [*OPTIONS, *([] if windows else ["-fPIC"])]
        arguments = [*command, *options, "-o", str(own), *sources, "-lm"]
        subprocess.run(arguments, check=True, capture_output=True, text=True)
        own.replace(library)
