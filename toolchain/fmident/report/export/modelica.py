"""Modelica text with identified values: a declaration with a modifier, and a record."""

from __future__ import annotations

import html
import math
import re

from fmident.errors import EstimationError
from fmident.report.export.values import (
    Branch,
    Exports,
    Leaf,
    build_tree,
    header,
    indices,
    real,
    remark,
)

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
    children = list(branch.children.items())
    for number, (name, child) in enumerate(children):
        comma = "," if number < len(children) - 1 else ""
        if isinstance(child, Leaf):
            comment = remark(child)
            lines.append(
                f"{pad}{name} = {child.literal()}{comma}"
                + (f" // {_line(comment)}" if comment else "")
            )
        else:
            lines += [f"{pad}{name}(", *_arguments(child, depth + 1), f"{pad}){comma}"]
    return lines


def _line(text: str) -> str:
    return " ".join(text.split())


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
    for name, child in branch.children.items():
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
    texts = [t for t in (" ".join(first.description.split()), remark(leaf)) if t]
    text = f" {string('; '.join(texts))}" if texts else ""
    return f"parameter Real {leaf.name}{size}{unit} = {leaf.literal()}{text}{_annotation(leaf)};"


def _annotation(leaf: Leaf) -> str:
    """Return the uncertainty as a vendor annotation for programs."""
    parts = []
    for index, element in zip(indices(leaf), leaf.elements, strict=True):
        if math.isfinite(element.standard_error):
            low, high = element.interval_95
            fields = [f"standardError={real(element.standard_error)}"]
            if math.isfinite(low) and math.isfinite(high):
                fields.append(f"interval95={{{real(low)}, {real(high)}}}")
            if index:
                fields.insert(0, f"element={{{', '.join(map(str, index))}}}")
            parts.append(f"__fmident({', '.join(fields)})")
    # An annotation may hold a name once: only scalars say it to programs.
    return f" annotation ({parts[0]})" if len(parts) == 1 and not leaf.shape else ""


def _documentation(exports: Exports, model: str, own: str, tree: Branch) -> str:
    use = f"{own} {_DATA}; {model} {instance_name(model)}({_use(tree, _DATA)});"
    paragraphs = "".join(f"<p>{html.escape(line)}.</p>" for line in header(exports))
    return f"<html>{paragraphs}<p>Use:</p><pre>{html.escape(use, quote=False)}</pre></html>"


def _use(branch: Branch, place: str) -> str:
    return ", ".join(
        f"{name} = {place}.{name}"
        if isinstance(child, Leaf)
        else f"{name}({_use(child, f'{place}.{name}')})"
        for name, child in branch.children.items()
    )
