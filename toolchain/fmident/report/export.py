"""Identified values for modelling tools: a Modelica modifier, a Modelica record, and SSV.

``arms[2].c[1]`` is element (2, 1) of ``arms.c``: Modelica cannot modify one element, but
takes arrays as a whole, and hands those of an array of components down to the components.

Source of SSV, a parameter set of System Structure and Parameterization: SSP 1.0, section 6 (System
Structure Parameter Values) and 4.5.3 (units).
"""

from __future__ import annotations

import contextlib
import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from fmident._version import __version__
from fmident.errors import EstimationError, UnitError
from fmident.files import save
from fmident.fmu import read_description
from fmident.report.contract import Reporter
from fmident.units import BASE_SYMBOLS, parse_unit
from fmident.words import plain

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.fmu import ModelDescription
    from fmident.problem.model import Problem
    from fmident.statistics.identifiability import Identifiability


_PART = re.compile(r"([A-Za-z_]\w*)((?:\[\d+(?:\s*,\s*\d+)*\])?)")


@dataclass(frozen=True)
class ExportedValue:
    """A value of one variable of the model.

    Parameters
    ----------
    name
        Name of the variable, such as ``"axis.mass"`` or ``"c[2]"``.
    value
        In `unit`.
    unit
        The variable's own, or ``None``.
    description
        From the model.
    standard_error, interval_95
        Not finite if there is none.
    remark
        Where the value comes from and how sure it is, in words; empty for a value of the FMU that
        completes an array.
    """

    name: str
    value: float
    unit: str | None = None
    description: str = ""
    standard_error: float = math.nan
    interval_95: tuple[float, float] = (math.nan, math.nan)
    remark: str = ""


_Index: TypeAlias = tuple[int, ...]
_Elements: TypeAlias = Mapping[tuple[str, ...], Mapping[_Index, ExportedValue]]
"""Values by the path of a variable, and by the indices of its elements."""


@dataclass(frozen=True)
class Exports:
    """Exportable values of a result.

    `model` is the full class name from the FMU. `left_out` has parameters that cannot be
    set in a model with the reason, and `source` the origin of the values for comments.
    `elements` are all parameters of the FMU, for array elements that were not searched;
    ``None`` if the FMU is not available. `base` are combinations that the data determine
    instead of their members.
    """

    model: str
    values: tuple[ExportedValue, ...]
    left_out: Mapping[str, str]
    source: str
    elements: Sequence[ExportedValue] | None
    base: tuple[ParameterEstimate, ...]


def exported_values(
    result: EstimationResult,
    description: ModelDescription | None = None,
    start_values: Mapping[str, float | int | bool | str] | None = None,
) -> Exports:
    """Return the exportable values of an estimation result.

    If single elements of arrays were identified, the FMU's `description` is needed for the
    other elements, whose values are replaced by the problem's `start_values`. Raises
    `EstimationError` if the result has no values of model parameters.
    """
    values: list[ExportedValue] = []
    left_out: dict[str, str] = {}
    for estimate in result.estimates:
        if estimate.variable is None:
            left_out[estimate.name] = (
                f"follows from others ({estimate.expression}), sets no variable of the model"
                if estimate.expression
                else "belongs to the measurement, not to the model"
            )
        elif estimate.experiments is not None:
            listed = ", ".join(estimate.experiments)
            left_out[estimate.name] = f"holds for some experiments only: {listed}"
        elif not math.isfinite(estimate.value):
            left_out[estimate.name] = "has no value, for the estimation failed"
        else:
            values.append(
                ExportedValue(
                    estimate.variable,
                    estimate.value,
                    estimate.unit,
                    estimate.description,
                    estimate.standard_error,
                    estimate.interval_95,
                    _remark(estimate, result.identifiability),
                )
            )
    if not values:
        raise EstimationError(
            "the result holds no value of a model parameter"
            + (": " + "; ".join(f"'{n}' {why}" for n, why in left_out.items()) if left_out else ""),
            hint="only parameters of the FMU can be exported",
        )
    return Exports(
        result.fmu_name,
        tuple(values),
        left_out,
        f"{result.estimator}, {result.status}"
        + ("" if result.noise is None else f"; {result.noise.summary}"),
        None if description is None else [*_elements(description, start_values or {})],
        result.base_parameters,
    )


def _remark(estimate: ParameterEstimate, judged: Identifiability | None) -> str:
    silent = judged is not None and estimate.name in judged.silent
    known = _uncertainty(estimate)
    if estimate.expression:
        parts = [estimate.follows]
    elif silent:
        parts = ["no influence on the outputs"]
    else:
        parts = ["fixed, not identified"] if estimate.fixed else []
    if known:
        parts.append(known)
    if not all(map(math.isfinite, estimate.interval_95)):
        if estimate.base:
            parts.append(f"in {', '.join(estimate.base)}")
        elif estimate.expression or not (silent or estimate.fixed):
            parts.append("without an interval")
    return ", ".join(parts)


def _uncertainty(e: ParameterEstimate) -> str:
    parts = []
    if math.isfinite(e.standard_error):
        parts.append(f"standard error {plain(e.standard_error, 3)}")
    low, high = e.interval_95
    if math.isfinite(low) and math.isfinite(high):
        parts.append(f"95 % interval {plain(low, 6)} to {plain(high, 6)}")
    return ", ".join(parts)


def _elements(
    description: ModelDescription, start_values: Mapping[str, float | int | bool | str]
) -> Iterator[ExportedValue]:
    for variable in description.parameters:
        value = start_values.get(variable.name, variable.start)
        if variable.type == "Real" and isinstance(value, int | float):
            yield ExportedValue(variable.name, float(value), variable.unit, variable.description)


@dataclass(frozen=True)
class Leaf:
    """A scalar, or a whole array with its elements in row-major order, as in Modelica.

    `shape` is ``()`` for a scalar.
    """

    name: str
    shape: tuple[int, ...]
    elements: tuple[ExportedValue, ...]

    def literal(self) -> str:
        """Return the value or values as Modelica text with full precision."""
        values = np.array([real(e.value) for e in self.elements], dtype=object)
        return _braced(values.reshape(self.shape).tolist())

    def indexed(self) -> Iterator[tuple[_Index, ExportedValue]]:
        """Yield each element with its indices."""
        return zip(_indices(self.shape), self.elements, strict=True)

    def remark(self) -> str:
        """Return unit, standard error and interval in one line."""
        if not self.shape:
            one = self.elements[0]
            unit = one.unit if one.unit != "1" else None
            return ", ".join(filter(None, [unit, one.remark]))
        units = sorted({e.unit for e in self.elements if e.unit})
        texts = (f"[{_listed(index)}] {e.remark}" for index, e in self.indexed() if e.remark)
        return "; ".join([*units, *texts])


Branch: TypeAlias = "dict[str, Leaf | Branch]"
"""A component: its leaves and subcomponents, in order."""


def _indices(shape: tuple[int, ...]) -> Iterator[_Index]:
    return product(*(range(1, n + 1) for n in shape))


def _listed(index: _Index) -> str:
    return ",".join(map(str, index))


def _braced(values: Any) -> str:
    return values if isinstance(values, str) else "{" + ", ".join(map(_braced, values)) + "}"


def build_tree(exports: Exports) -> Branch:
    """Arrange values in components and arrays.

    Raises `EstimationError` for an invalid Modelica name or unknown elements of an array.
    """
    given = _by_path([(split_name(value.name), value) for value in exports.values])
    known: _Elements | None = None
    if exports.elements is not None:
        pairs = []
        for value in exports.elements:
            with contextlib.suppress(EstimationError):  # a name of another tool
                pairs.append((split_name(value.name), value))
        known = _by_path(pairs)
    root: Branch = {}
    for path, elements in given.items():
        leaf = _leaf(path, elements, None if known is None else known.get(path, {}))
        branch = root
        for part in path[:-1]:
            child = branch.setdefault(part, {})
            if isinstance(child, Leaf):
                raise EstimationError(f"'{part}' is a component and a parameter at once")
            branch = child
        branch[path[-1]] = leaf
    return root


def _by_path(
    values: Iterable[tuple[tuple[tuple[str, ...], _Index], ExportedValue]],
) -> _Elements:
    by_path: dict[tuple[str, ...], dict[_Index, ExportedValue]] = {}
    for (path, index), value in values:
        by_path.setdefault(path, {})[index] = value
    return by_path


def split_name(name: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the parts of a variable's name without indices, and all indices in order.

    Raises `EstimationError` if it is not a Modelica name.
    """
    path: list[str] = []
    index: list[int] = []
    for part in re.split(r"\.(?![^\[]*\])", name):
        match = _PART.fullmatch(part)
        if match is None:
            raise EstimationError(
                f"'{name}' is not a name that Modelica knows",
                hint="export it as SSV, which takes the FMU's names as they are",
            )
        path.append(match[1])
        index += [int(n) for n in re.findall(r"\d+", match[2])]
    return tuple(path), tuple(index)


def real(value: float) -> str:
    """Return a Modelica literal with enough digits to restore the number exactly."""
    text = repr(float(value))
    return text if any(c in text for c in ".einf") else f"{text}.0"


def _leaf(
    path: tuple[str, ...],
    given: Mapping[_Index, ExportedValue],
    known: Mapping[_Index, ExportedValue] | None,
) -> Leaf:
    name = ".".join(path)
    depths = {len(index) for index in given}
    if depths == {0}:
        return Leaf(path[-1], (), (given[()],))
    if known is None:
        some = next(iter(given.values())).name
        raise EstimationError(
            f"'{some}' is an element of an array, and Modelica can set arrays as a whole only",
            hint=f"name the FMU, so that the other elements of '{name}' are known: --fmu FILE;"
            " or export as SSV, which takes single elements",
        )
    every = {**known, **given}
    if len({len(index) for index in every}) != 1:
        raise EstimationError(f"elements of '{name}' have different numbers of indices")
    shape = tuple(max(column) for column in zip(*every, strict=True))
    for index in _indices(shape):
        if index not in every:
            raise EstimationError(
                f"the FMU does not give the value of element [{_listed(index)}] of '{name}'",
                hint="it was frozen when the FMU was built; export as SSV instead",
            )
    return Leaf(path[-1], shape, tuple(every[index] for index in _indices(shape)))


def header(exports: Exports) -> list[str]:
    """Return the origin of the values, those not exported, and the base parameters."""
    lines = [f"Identified with fmident {__version__} ({exports.source})"]
    lines += [f"Left out: '{name}' {reason}" for name, reason in exports.left_out.items()]
    return lines + [f"Base parameter {text}" for text in base_lines(exports)]


def base_lines(exports: Exports) -> list[str]:
    """Return a line per base parameter with formula, value and interval."""
    lines = []
    for e in exports.base:
        line = f"{e.name} = {e.expression} = {plain(e.value, 8)} {e.unit or ''}".rstrip()
        known = all(map(math.isfinite, e.interval_95))
        lines.append(f"{line}, {_uncertainty(e)}" if known else line)
    return lines


_CLASS = re.compile(r"\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


_DATA = "data"


def modifier(
    exports: Exports, *, class_name: str | None = None, instance: str | None = None
) -> str:
    """Return ``Class instance(parameter = value, ...);`` over several lines.

    The full class name is by default the model name of the FMU, and the instance name is
    derived from it. Raises `EstimationError` for an invalid Modelica name or unknown
    elements of an array.
    """
    model = checked_class(class_name or exports.model)
    name = instance if instance is not None else instance_name(model)
    if not _IDENTIFIER.fullmatch(name):
        raise EstimationError(f"'{name}' cannot be the name of a component")
    lines = [f"// {line}" for line in header(exports)]
    lines += [f"{model} {name}(", *_arguments(build_tree(exports), 1), ");"]
    return "\n".join(lines) + "\n"


def checked_class(name: str) -> str:
    """Return a class name after checking that it is valid Modelica.

    Raises `EstimationError` if it is not.
    """
    if not _CLASS.fullmatch(name):
        raise EstimationError(
            f"the FMU's model is called '{name}', which is not a Modelica class",
            hint="name the class with --class",
        )
    return name


def instance_name(model: str) -> str:
    """Return an instance name for a class: ``DeltaInverse`` gives ``deltaInverse``."""
    last = model.rpartition(".")[2]
    return last[0].lower() + last[1:] if last[0].isupper() else f"my_{last}"


def _arguments(branch: Branch, depth: int) -> list[str]:
    """Return one line per argument; the comma is before the comment."""
    lines: list[str] = []
    pad = "  " * depth
    for number, (name, child) in enumerate(branch.items(), 1):
        comma = "," if number < len(branch) else ""
        if isinstance(child, Leaf):
            comment = " ".join(child.remark().split())
            line = f"{pad}{name} = {child.literal()}{comma}"
            lines.append(f"{line} // {comment}" if comment else line)
        else:
            lines += [f"{pad}{name}(", *_arguments(child, depth + 1), f"{pad}){comma}"]
    return lines


def record(exports: Exports, *, class_name: str | None = None, name: str | None = None) -> str:
    """Return a file with one record; components become nested records.

    `class_name` is the full name of the model class, by default that of the FMU's model;
    the record is called ``CLASSIdentified`` unless `name` is given. Raises
    `EstimationError` for an invalid Modelica name or unknown elements of an array.
    """
    model = checked_class(class_name or exports.model)
    own = record_name(model) if name is None else name
    if not _IDENTIFIER.fullmatch(own):
        raise EstimationError(f"'{own}' cannot be the name of a record")
    tree = build_tree(exports)
    lines = [
        f"record {own} {string(f'Identified parameters of {model}')}",
        *_members(tree, 1),
        f"  annotation (Documentation(info={string(_documentation(exports, model, own, tree))}));",
        f"end {own};",
    ]
    return "\n".join(lines) + "\n"


def record_name(model: str) -> str:
    """Return the default name of the record for a class."""
    return f"{model.rpartition('.')[2]}Identified"


def string(text: str) -> str:
    """Return a Modelica string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _members(branch: Branch, depth: int) -> list[str]:
    lines: list[str] = []
    pad = "  " * depth
    for name, child in branch.items():
        if isinstance(child, Leaf):
            lines.append(pad + _declaration(child))
            continue
        kind = f"{name[0].upper()}{name[1:]}Data"
        lines += [
            f"{pad}record {kind} {string(f'Parameters of {name}')}",
            *_members(child, depth + 1),
            f"{pad}end {kind};",
            f"{pad}{kind} {name} {string(f'Parameters of {name}')};",
        ]
    return lines


def _declaration(leaf: Leaf) -> str:
    first = leaf.elements[0]
    size = f"[{', '.join(map(str, leaf.shape))}]" if leaf.shape else ""
    unit = ""
    if first.unit:
        unit = f"({'each ' if leaf.shape else ''}unit={string(first.unit)})"
    texts = [t for t in (" ".join(first.description.split()), leaf.remark()) if t]
    text = f" {string('; '.join(texts))}" if texts else ""
    return f"parameter Real {leaf.name}{size}{unit} = {leaf.literal()}{text}{_annotation(leaf)};"


def _annotation(leaf: Leaf) -> str:
    """Return the uncertainty of a scalar as a vendor annotation for programs."""
    first = leaf.elements[0]
    # An annotation may hold a name once: only scalars say it to programs.
    if leaf.shape or not math.isfinite(first.standard_error):
        return ""
    fields = f"standardError={real(first.standard_error)}"
    if all(map(math.isfinite, first.interval_95)):
        fields += f", interval95={{{', '.join(map(real, first.interval_95))}}}"
    return f" annotation (__fmident({fields}))"


def _documentation(exports: Exports, model: str, own: str, tree: Branch) -> str:
    use = f"{own} {_DATA}; {model} {instance_name(model)}({_use(tree, _DATA)});"
    paragraphs = "".join(f"<p>{html.escape(line)}.</p>" for line in header(exports))
    return f"<html>{paragraphs}<p>Use:</p><pre>{html.escape(use, quote=False)}</pre></html>"


def _use(branch: Branch, place: str) -> str:
    return ", ".join(
        f"{name} = {place}.{name}"
        if isinstance(child, Leaf)
        else f"{name}({_use(child, f'{place}.{name}')})"
        for name, child in branch.items()
    )


SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"


def write_ssv(exports: Exports, path: Path, *, name: str | None = None) -> None:
    """Write an SSV file with the FMU's variable names.

    The parameter set is named after the model unless `name` is given.
    """
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
        texts = [" ".join(value.description.split()), value.remark]
        if description := "; ".join(filter(None, texts)):
            attributes["description"] = description
        parameter = SubElement(parameters, f"{{{SSV}}}Parameter", attributes)
        real = SubElement(parameter, f"{{{SSV}}}Real", {"value": repr(float(value.value))})
        if value.unit:
            real.set("unit", value.unit)
    _units(root, exports)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _units(root: Element, exports: Exports) -> None:
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


FORMS: dict[str, Callable[[Exports, Path], object]] = {
    "modifier": lambda exports, folder: save(folder / "modifier.txt", modifier(exports)),
    "record": lambda exports, folder: save(
        folder / f"{record_name(exports.model)}.mo", record(exports)
    ),
    "ssv": lambda exports, folder: write_ssv(exports, folder / "parameters.ssv"),
}
"""Name of a form to what writes it into a result folder."""


def export_reporters(forms: Iterable[str]) -> list[tuple[str, type[Reporter]]]:
    """Return a named reporter for each requested format, one of :data:`FORMS`."""
    return [(f"export-{form}", _reporter(FORMS[form], form)) for form in dict.fromkeys(forms)]


def _reporter(write: Callable[[Exports, Path], object], form: str) -> type[Reporter]:
    class ExportReporter(Reporter):
        summary = f"identified values as {form}"

        def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
            exports = exported_values(result, read_description(problem.fmu), problem.start_values)
            write(exports, folder)

    return ExportReporter
