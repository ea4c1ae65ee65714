"""The FMU that OpenModelica wrote: checked, its description rewritten, put in its place."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fmident._whole_file import whole_file
from fmident.compilers.staleness import RECORD_PATH
from fmident.errors import Code, CompilationError, Diagnostic, FmuError
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.description_xml import parse_description

DESCRIPTION = "modelDescription.xml"


def read_tree(fmu: Path) -> Element:
    """Return the root of an FMU's description.

    Raises
    ------
    CompilationError
        No FMU, or no description in it.
    """
    try:
        return ElementTree.fromstring(_read(fmu, DESCRIPTION))
    except ElementTree.ParseError as error:
        raise CompilationError(
            f"the model description that OpenModelica wrote is broken: {error}",
            hint="if it persists, report it to OpenModelica with the model",
        ) from error


def read_model(fmu: Path) -> ModelDescription | None:
    """Return an FMU's description, ``None`` for one that fmident cannot run.

    That is one of FMI 3.0, or for Model Exchange only.
    """
    try:
        return parse_description(_read(fmu, DESCRIPTION), file=str(fmu))
    except FmuError:
        return None


def check_fmu(fmu: Path, *, solver: str, integrates: bool) -> list[Diagnostic]:
    """Look whether the FMU holds what was asked for.

    Parameters
    ----------
    fmu
        What omc wrote.
    solver
        The ``--fmiFlags`` that were given; empty for none.
    integrates
        Whether it is a Co-Simulation with states.

    Returns
    -------
    list of Diagnostic
        Warnings.

    Raises
    ------
    CompilationError
        The archive is broken or holds no binary.
    """
    names = _names(fmu)
    if not any(n.startswith("binaries/") and not n.endswith("/") for n in names):
        raise CompilationError(
            "the FMU that OpenModelica wrote holds no binary",
            hint="the C compiler failed: are CMake and a C compiler there (apt-get install"
            " cmake gcc)?",
        )
    flags = any(n.startswith("resources/") and n.endswith("_flags.json") for n in names)
    if integrates and solver and not flags:
        return [
            Diagnostic(
                "warning",
                f"the FMU does not hold the solver settings '{solver}': as Co-Simulation it does"
                " one explicit Euler step per communication step",
                None,
                "use small steps or the Model Exchange part, and compare versions of OpenModelica",
                "euler",
            )
        ]
    if integrates and not solver:
        return [
            Diagnostic(
                "warning",
                "without a solver in fmi_flags the Co-Simulation does one explicit Euler step"
                " per communication step",
                None,
                'give fmi_flags = "s:cvode"',
                "euler",
            )
        ]
    return []


def deliver(fmu: Path, output: Path, description: Element, record: bytes) -> None:
    """Write the FMU to its place in one go.

    Parameters
    ----------
    fmu
        What omc wrote.
    output
        Where it shall be; replaced only when the copy is complete.
    description
        Root of the description to put in.
    record
        What the FMU was made from, see :mod:`fmident.compilers.staleness`.

    Raises
    ------
    CompilationError
        The output cannot be written.
    """
    try:
        with whole_file(output) as stream:
            _copy(fmu, stream, description, record)
    except OSError as error:
        raise CompilationError(
            f"'{output}' cannot be written: {error.strerror or error}",
            hint="check the folder, its permissions and the free space",
            code=Code.UNUSABLE_FILE,
        ) from error


def _copy(fmu: Path, target: BinaryIO, description: Element, record: bytes) -> None:
    with (
        zipfile.ZipFile(fmu) as source,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for entry in source.infolist():
            if entry.filename == RECORD_PATH:
                continue
            content = source.read(entry)
            if entry.filename == DESCRIPTION:
                ElementTree.indent(description)
                content = ElementTree.tostring(description, encoding="UTF-8", xml_declaration=True)
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
        made_from = zipfile.ZipInfo(RECORD_PATH, (1980, 1, 1, 0, 0, 0))
        made_from.external_attr = 0o644 << 16
        archive.writestr(made_from, record, zipfile.ZIP_DEFLATED)


def _read(fmu: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(fmu) as archive:
            return archive.read(member)
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise CompilationError(
            f"OpenModelica's FMU '{fmu.name}' cannot be read: {error}",
            hint="was the disk full? build again",
        ) from error


def _names(fmu: Path) -> list[str]:
    try:
        with zipfile.ZipFile(fmu) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError) as error:
        raise CompilationError(
            f"OpenModelica's FMU '{fmu.name}' cannot be read: {error}",
            hint="was the disk full? build again",
        ) from error
