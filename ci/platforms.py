# ruff: noqa: T201  # a program: it prints a table
"""Build the FMUs of the catalogue for other platforms, run them there, and compare with this one.

Windows' libraries run under Wine, those for aarch64 under QEMU, with the driver ``ci/run_fmu.c``,
which is compiled for each. The same driver with this machine's library gives what they must equal.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmident.api.builds import with_libraries
from fmident.arrays import F64
from fmident.catalog import Entry, read_catalog
from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded.backend.compiling import (
    CCompiler,
    compiler_for,
    find_fmi_headers,
)
from fmident.compilers.embedded.compiler import EmbeddedCompiler
from fmident.compilers.libraries import expand
from fmident.compilers.platforms import Platform, read_platforms, this_platform
from fmident.errors import CompilationError, FmidentError
from fmident.fmu import ModelDescription, read_description

ROOT = Path(__file__).resolve().parents[1]
MOST = 1e-12
"""Largest difference that is right, over the range of the output."""

SAMPLES = 501
TIME_LIMIT_S = 600.0


@dataclass(frozen=True)
class Emulator:
    """What runs the programs of another platform here.

    Parameters
    ----------
    command
        In front of the program.
    package
        Of Debian, which has it.
    environment
        Variables for it.
    """

    command: tuple[str, ...]
    package: str
    environment: Mapping[str, str]


WINE = next((p for p in ("/usr/lib/wine/wine64", "/usr/bin/wine64") if Path(p).exists()), "wine64")
EMULATORS = {
    "win64": Emulator((WINE,), "wine64", {"WINEDEBUG": "-all"}),
    "linux-aarch64": Emulator(
        ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"),
        "qemu-user-static and libc6-arm64-cross",
        {},
    ),
}


@dataclass(frozen=True)
class Place:
    """A platform on which FMUs can be run from here.

    Parameters
    ----------
    platform
        The platform.
    driver
        The program.
    emulator
        ``None`` on this machine's own.
    """

    platform: Platform
    driver: Path
    emulator: Emulator | None

    def run(self, library: Path, guid: str, text: str, scratch: Path) -> F64:
        """Return the outputs of a run, shape (steps, outputs)."""
        emulator = self.emulator
        command = [*(emulator.command if emulator else ()), str(self.driver), str(library), guid]
        environment = {**os.environ, "WINEPREFIX": str(scratch / "wine")}
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIME_LIMIT_S,
            env=environment | dict(emulator.environment if emulator else {}),
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "it failed")
        rows = [[_value(bits) for bits in line.split()] for line in done.stdout.splitlines()]
        return np.array(rows, dtype=float)


def _value(bits: str) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    return float(value)


def make_place(platform: Platform, scratch: Path) -> Place:
    """Return where libraries of a platform can be run.

    Raises
    ------
    LookupError
        Its emulator is not installed.
    """
    own = platform == this_platform()
    emulator = None if own else EMULATORS.get(platform.name)
    if not own and (emulator is None or shutil.which(emulator.command[0]) is None):
        what = f"apt-get install {emulator.package}" if emulator else "there is no emulator for it"
        raise LookupError(f"{platform.name} cannot be run here: {what}")
    compiler = compiler_for(platform, scratch)
    driver = scratch / f"run-{platform.name}{'.exe' if platform.system == 'windows' else ''}"
    headers = find_fmi_headers()
    _compile(compiler, [f"-I{headers}", str(ROOT / "ci" / "run_fmu.c"), "-o", str(driver)])
    return Place(platform, driver, emulator)


def _compile(compiler: CCompiler, arguments: Sequence[str]) -> None:
    libraries = [] if compiler.platform.system == "windows" else ["-ldl"]
    subprocess.run(
        [*compiler.command, "-O1", "-w", *arguments, *libraries],
        check=True,
        env={**os.environ, **compiler.environment},
    )


def run_text(entry: Entry, description: ModelDescription) -> str:
    """Return what the driver is to do: the smoke experiment of the catalogue."""
    smoke = entry.smoke
    start = smoke.start if smoke.start is not None else description.default_start or 0.0
    stop = smoke.stop if smoke.stop is not None else description.default_stop or 1.0
    times = np.linspace(start, stop, SAMPLES)
    by_name = {v.name: v for v in description.variables}
    inputs = [v for v in by_name.values() if v.causality == "input" and v.type == "Real"]
    outputs = [v for v in by_name.values() if v.causality == "output" and v.type == "Real"]
    signals = [
        smoke.inputs[v.name].values(times)
        if v.name in smoke.inputs
        else np.full(SAMPLES, float(v.start or 0.0))
        for v in inputs
    ]
    rest = [v for v in inputs if v.name not in smoke.inputs]
    lines = [f"{start!r} {stop!r} {smoke.tolerance or description.default_tolerance or 1e-6!r}"]
    starts = {by_name[name].value_reference: value for name, value in smoke.start_values.items()}
    starts |= {v.value_reference: float(v.start or 0.0) for v in rest}
    lines.append(" ".join([str(len(starts)), *(f"{r} {v!r}" for r, v in starts.items())]))
    for group in (inputs, outputs):
        lines.append(" ".join(str(n) for n in (len(group), *(v.value_reference for v in group))))
    lines.append(str(SAMPLES - 1))
    for k in range(SAMPLES - 1):
        step = [times[k], times[k + 1] - times[k], *(signal[k] for signal in signals)]
        lines.append(" ".join(repr(float(x)) for x in step))
    return "\n".join(lines) + "\n"


def compare(entry: Entry, places: Sequence[Place], scratch: Path) -> Iterator[tuple[str, float]]:
    """Yield for each other platform the largest difference, over the range of the output."""
    fmu = scratch / entry.file
    names = tuple(place.platform.name for place in places)
    sources = with_libraries(expand(entry.sources))
    EmbeddedCompiler().build(BuildRequest(entry.class_name, sources, fmu, platforms=names))
    folder = scratch / fmu.stem
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(folder)
    description = read_description(fmu)
    text = run_text(entry, description)
    expected = None
    for place in places:
        (library,) = (folder / "binaries" / place.platform.folder).iterdir()
        found = place.run(library, description.guid, text, scratch)
        if expected is None:
            expected = found
            scale = np.maximum(np.ptp(found, axis=0), 1e-300 + 1e-6 * np.abs(found).max(axis=0))
        elif found.shape != expected.shape:
            yield place.platform.name, float("inf")
        else:
            yield place.platform.name, float(np.max(np.abs(found - expected) / scale, initial=0.0))
    shutil.rmtree(folder)


def main() -> int:
    """Run the program; 1 if a platform differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", type=Path, default=ROOT / "fmus" / "catalog.toml")
    parser.add_argument("--only", default="", help="classes whose name contains this")
    parser.add_argument("--platforms", default=",".join(EMULATORS), help="names with commas")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        places = [make_place(this_platform(), scratch)]
        try:
            for platform in read_platforms(arguments.platforms.split(",")):
                if platform != this_platform():
                    places.append(make_place(platform, scratch))
        except (LookupError, FmidentError) as error:
            print(error, file=sys.stderr)
            return 2
        print("class".ljust(58), *(p.platform.name.rjust(14) for p in places[1:]))
        for entry in read_catalog(arguments.catalog).built:
            if arguments.only not in entry.class_name:
                continue
            try:
                found = dict(compare(entry, places, scratch))
            except CompilationError as error:
                if "embedded" in entry.compilers:
                    raise
                print(entry.class_name.ljust(58), f"left out: {error.message}"[:100], flush=True)
                continue
            except (FmidentError, RuntimeError, subprocess.SubprocessError) as error:
                first = str(error).splitlines()[0]
                print(entry.class_name.ljust(58), f"failed: {first}")
                wrong += 1
                continue
            wrong += any(not difference <= MOST for difference in found.values())
            print(entry.class_name.ljust(58), *(f"{d:14.1e}" for d in found.values()), flush=True)
    print(f"{wrong} different" if wrong else f"all within {MOST:g} of the range")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
