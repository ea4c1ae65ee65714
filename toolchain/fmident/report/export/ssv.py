"""Export as a parameter set of System Structure and Parameterization (SSP).

Source: SSP 1.0, section 6 (System Structure Parameter Values) and 4.5.3 (units).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from fmident.errors import UnitError
from fmident.fmu import read_description
from fmident.report.contract import Reporter
from fmident.report.export.modelica import modifier, record, record_name
from fmident.report.export.values import (
    ExportedValue,
    Exports,
    base_lines,
    exported_values,
    of_value,
)
from fmident.units import BASE_SYMBOLS, parse_unit

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem

SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"


def write_ssv(exports: Exports, path: Path, *, name: str | None = None) -> None:
    """Write an SSV file with the FMU's variable names.

    The parameter set is named after the model unless `name` is given.
    """
    from fmident._version import __version__

    ElementTree.register_namespace("ssv", SSV)
    ElementTree.register_namespace("ssc", SSC)
    root = Element(
        f"{{{SSV}}}ParameterSet",
        {
            "version": "1.0",
            "name": name or exports.model,
            "description": "; ".join(
                [
                    f"Identified parameters of {exports.model} ({exports.source})",
                    *base_lines(exports),
                ]
            ),
            "generationTool": f"fmident {__version__}",
        },
    )
    parameters = SubElement(root, f"{{{SSV}}}Parameters")
    for value in exports.values:
        attributes = {"name": value.name}
        if description := _text(value):
            attributes["description"] = description
        parameter = SubElement(parameters, f"{{{SSV}}}Parameter", attributes)
        real = SubElement(parameter, f"{{{SSV}}}Real", {"value": repr(float(value.value))})
        if value.unit:
            real.set("unit", value.unit)
    _units(root, exports)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _text(value: ExportedValue) -> str:
    parts = [" ".join(value.description.split()), of_value(value, unit=False)]
    return "; ".join(part for part in parts if part)


def _units(root: Element, exports: Exports) -> None:
    """Define every unit in use, as the standard requires."""
    used = sorted({value.unit for value in exports.values if value.unit})
    if not used:
        return
    units = SubElement(root, f"{{{SSV}}}Units")
    for name in used:
        unit = SubElement(units, f"{{{SSC}}}Unit", {"name": name})
        try:
            meaning = parse_unit(name)
        except UnitError:
            SubElement(unit, f"{{{SSC}}}BaseUnit")
            continue
        base = {
            symbol: str(int(exponent))
            for symbol, exponent in zip(BASE_SYMBOLS, meaning.exponents, strict=True)
            if exponent and exponent.denominator == 1
        }
        if meaning.factor != 1.0:
            base["factor"] = repr(meaning.factor)
        if meaning.offset != 0.0:
            base["offset"] = repr(meaning.offset)
        SubElement(unit, f"{{{SSC}}}BaseUnit", base)


def _write_modifier(exports: Exports, folder: Path) -> None:
    (folder / "modifier.txt").write_text(modifier(exports), encoding="utf-8")


def _write_record(exports: Exports, folder: Path) -> None:
    text = record(exports)
    (folder / f"{record_name(exports.model)}.mo").write_text(text, encoding="utf-8")


def _write_ssv(exports: Exports, folder: Path) -> None:
    write_ssv(exports, folder / "parameters.ssv")


FORMS: dict[str, Callable[[Exports, Path], None]] = {
    "modifier": _write_modifier,
    "record": _write_record,
    "ssv": _write_ssv,
}
"""Name of a form to what writes it into a result folder."""


def export_reporters(forms: Iterable[str]) -> list[tuple[str, type[Reporter]]]:
    """Return a named reporter for each requested format, one of :data:`FORMS`."""
    return [(f"export-{form}", _reporter(FORMS[form], form)) for form in dict.fromkeys(forms)]


def _reporter(write: Callable[[Exports, Path], None], form: str) -> type[Reporter]:
    class ExportReporter(Reporter):
        summary = f"identified values as {form}"

        def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
            exports = exported_values(result, read_description(problem.fmu), problem.start_values)
            write(exports, folder)

    return ExportReporter
