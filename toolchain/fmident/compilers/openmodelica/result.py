"""The FMU written by OpenModelica: check, rewrite of its description, delivery."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fmident.compilers.platforms import RECORD_PATH
from fmident.errors import Code, CompilationError, Diagnostic, FmuError
from fmident.files import whole_file
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.description_xml import parse_description
from fmident.fmu.model_description.variables import Variable

DESCRIPTION = "modelDescription.xml"


Sources = Mapping[str, tuple[str, ...]]
"""Calculated parameter -> the parameters that it is calculated from."""

_LITERAL = (
    "declare it in the exported class itself with a literal default, not final, not protected,"
    " without Evaluate=true"
)


def read_root(fmu: Path) -> Element:
    """Return the root element of an FMU's description."""
    try:
        return ElementTree.fromstring(_read(fmu, DESCRIPTION))
    except ElementTree.ParseError as error:
        raise CompilationError(
            f"the model description that OpenModelica wrote is broken: {error}",
            hint="if it persists, report it to OpenModelica with the model",
        ) from error


def read_model(fmu: Path) -> ModelDescription | None:
    """Return an FMU's description; ``None`` for FMI 3.0 or Model Exchange only."""
    try:
        return parse_description(_read(fmu, DESCRIPTION), file=str(fmu))
    except FmuError:
        return None


def check_fmu(fmu: Path, *, solver: str, integrates: bool) -> list[Diagnostic]:
    """Check the contents of the FMU and return warnings; `solver` are its ``--fmiFlags``."""
    with _archive(fmu) as archive:
        names = archive.namelist()
    if not any(n.startswith("binaries/") and not n.endswith("/") for n in names):
        raise CompilationError(
            "the FMU that OpenModelica wrote holds no binary",
            hint="the C compiler failed: are CMake and a C compiler there (apt-get install"
            " cmake gcc)?",
        )
    flags = any(n.startswith("resources/") and n.endswith("_flags.json") for n in names)
    if not integrates or (solver and flags):
        return []
    message = "without a solver in fmi_flags the Co-Simulation does"
    hint = 'give fmi_flags = "s:cvode"'
    if solver:
        message = f"the FMU does not hold the solver settings '{solver}': as Co-Simulation it does"
        hint = "use small steps or the Model Exchange part, and compare versions of OpenModelica"
    message += " one explicit Euler step per communication step"
    return [Diagnostic("warning", message, None, hint, "euler")]


def deliver(fmu: Path, output: Path, description: Element, record: bytes) -> None:
    """Write the FMU to its place in one go.

    Parameters
    ----------
    fmu
        What omc wrote.
    output
        Path of the FMU; replaced only when the copy is complete.
    description
        Root of the description to put in.
    record
        What the FMU was made from, see :mod:`fmident.compilers.platforms`.

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


@contextmanager
def _archive(fmu: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(fmu) as archive:
            yield archive
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise CompilationError(
            f"OpenModelica's FMU '{fmu.name}' cannot be read: {error}",
            hint="was the disk full? build again",
        ) from error


def _read(fmu: Path, member: str) -> bytes:
    with _archive(fmu) as archive:
        return archive.read(member)


def calculated_from(description: Element) -> dict[str, tuple[str, ...]]:
    """Return what calculated parameters depend on, by the description's initial unknowns."""
    variables = list(description.iter("ScalarVariable"))
    dependencies: dict[str, tuple[str, ...]] = {}
    for unknown in description.iterfind("ModelStructure/InitialUnknowns/Unknown"):
        variable = variables[int(unknown.get("index", "0")) - 1]
        if variable.get("causality") != "calculatedParameter":
            continue
        if "dependencies" in unknown.attrib:
            indices = unknown.attrib["dependencies"].split()
            dependencies[variable.get("name", "")] = tuple(
                variables[int(i) - 1].get("name", "") for i in indices
            )
    return dependencies


def reason(variable: Variable, sources: Sources | None = None) -> str | None:
    """Return why a variable cannot be set, or ``None`` if it can."""
    if variable.causality == "calculatedParameter" and sources is not None:
        origin = sources.get(variable.name)
        if origin:
            names = ", ".join(f"'{n}'" for n in origin)
            how = "a modifier of the component" if "." in variable.name else "its declaration"
            return f"calculated from {names} by {how}"
        if origin == ():
            return "evaluated when the FMU was built (final, Evaluate=true, or structural)"
    return variable.why_not_settable


def frozen_parameters(
    description: ModelDescription, sources: Sources | None = None
) -> dict[str, str]:
    """Return the parameters that cannot be set, with the reason as text."""
    frozen = {}
    for variable in description.parameters:
        why = reason(variable, sources)
        if why is not None:
            frozen[variable.name] = why
    return frozen


def frozen_note(description: ModelDescription, sources: Sources | None = None) -> Diagnostic | None:
    """Return a note on the frozen parameters at the top level, or ``None``."""
    frozen = {n: w for n, w in frozen_parameters(description, sources).items() if "." not in n}
    if not frozen:
        return None
    listed = "; ".join(f"'{name}': {why}" for name, why in sorted(frozen.items()))
    return Diagnostic(
        "note", f"parameters that cannot be set: {listed}", None, _LITERAL, "frozen-parameter"
    )


def integration_notes(description: ModelDescription) -> tuple[Diagnostic, ...]:
    """Return notes on how an FMU will be integrated, and what is fixed in it."""
    if description.sees_events_late and description.capabilities.kind == "model-exchange":
        return (
            Diagnostic(
                "note",
                f"the model has {description.indicator_count} event indicator(s): it is simulated"
                " as Model Exchange, because OpenModelica's Co-Simulation sees events at"
                " communication points only",
                None,
                'interface = "co-simulation" in [evaluation] simulates as Co-Simulation',
                "late-events",
            ),
        )
    tolerance = description.fixed_tolerance
    if tolerance is None:
        return ()
    return (
        Diagnostic(
            "note",
            f"the FMU integrates at the relative tolerance {tolerance:g}, whatever a simulation"
            " asks for: OpenModelica fixes it at the export",
            None,
            "--tolerance builds it with another one; 'fmident check' measures whether this one"
            " is enough for a problem",
            "fixed-tolerance",
        ),
    )
