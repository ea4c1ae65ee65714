"""Build small FMUs from C for the tests of the engine."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import fmpy

from fmident.fmu.archive import library_suffix, platform_folder

from ..kept import keep_copy

FIXTURES = Path(__file__).parent / "fixtures"
HEADERS = Path(fmpy.__file__).parent / "c-code"
GUID = "{fmident-test}"


def compiler() -> str | None:
    """Return the C compiler of this machine, ``None`` when there is none."""
    return next(
        (p for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and (p := shutil.which(c))),
        None,
    )


@dataclass(frozen=True)
class Fixture:
    """What goes into the model description of a fixture."""

    source: str
    variables: str
    flags: Mapping[str, str] = field(default_factory=dict)
    defines: tuple[str, ...] = ()
    guid: str = GUID
    extra: str = ""
    structure: str = ""
    categories: tuple[str, ...] = ()
    tool: str = "fmident tests"
    experiment: str = (
        '<DefaultExperiment startTime="0" stopTime="2" tolerance="1e-6" stepSize="0.1"/>'
    )


def real(
    name: str,
    reference: int,
    causality: str = "local",
    *,
    start: float | str | None = None,
    extra: str = "",
    **attributes: str,
) -> str:
    """Return the XML of one Real variable."""
    return scalar("Real", name, reference, causality, start=start, extra=extra, **attributes)


def scalar(
    kind: str,
    name: str,
    reference: int,
    causality: str = "local",
    *,
    start: object = None,
    extra: str = "",
    **attributes: str,
) -> str:
    """Return the XML of one variable."""
    more = "".join(f' {k}="{v}"' for k, v in attributes.items())
    if causality in ("parameter", "calculatedParameter") and "variability" not in attributes:
        more += ' variability="fixed"'
    given = "" if start is None else f' start="{start}"'
    return (
        f'<ScalarVariable name="{name}" valueReference="{reference}" causality="{causality}"'
        f"{more}><{kind}{given}{extra}/></ScalarVariable>"
    )


def description(fixture: Fixture, identifier: str) -> str:
    """Return the model description."""
    flags = "".join(f' {k}="{v}"' for k, v in fixture.flags.items())
    categories = "".join(f'<Category name="{c}"/>' for c in fixture.categories)
    log = f"<LogCategories>{categories}</LogCategories>" if categories else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="2.0" modelName="{identifier}" guid="{fixture.guid}"'
        f' generationTool="{fixture.tool}">\n'
        f'<CoSimulation modelIdentifier="{identifier}"'
        f' canHandleVariableCommunicationStepSize="true"{flags}/>\n'
        f"{fixture.extra}{log}{fixture.experiment}\n"
        f"<ModelVariables>\n{fixture.variables}\n</ModelVariables>\n"
        f"<ModelStructure>{fixture.structure}</ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


def compile_library(source: str, defines: Iterable[str], target: Path) -> None:
    """Compile one source of the fixtures folder to a shared library."""
    file = FIXTURES / source
    command = [
        compiler() or "cc", "-O2", "-shared", "-fPIC", "-std=c11", "-D_GNU_SOURCE",
        f"-I{HEADERS}", f"-I{FIXTURES}", *[f"-D{d}" for d in defines],
    ]  # fmt: skip

    def make(library: Path) -> None:
        whole = [*command, "-o", str(library), str(file), "-lm"]
        done = subprocess.run(whole, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    # Sources include each other and headers.
    files = {*FIXTURES.glob("*.[ch]"), *file.parent.glob("*.[ch]")}
    texts = [p.read_bytes() for p in sorted(files)]
    key = repr((source, command, texts)).encode()
    keep_copy(file.stem, target.suffix, key, target, make)


def build(fixture: Fixture, folder: Path, name: str | None = None) -> Path:
    """Compile and zip; return the path of the FMU."""
    identifier = name or Path(fixture.source).stem
    key = hashlib.sha256(repr(fixture).encode()).hexdigest()[:12]
    path = folder / f"{identifier}-{key}.fmu"
    if path.exists():
        return path
    library = folder / f"{identifier}-{key}{library_suffix()}"
    compile_library(fixture.source, fixture.defines, library)
    member = f"binaries/{platform_folder()}/{identifier}{library_suffix()}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("modelDescription.xml", description(fixture, identifier))
        file.write(library, member)
        file.writestr("resources/note.txt", "resource")
    return path
