"""A declaration with a modifier, to be put into a Modelica model."""

from __future__ import annotations

import re

from fmident.errors import EstimationError
from fmident.report.export.comments import header, remark
from fmident.report.export.tree import Branch, Leaf, build_tree
from fmident.report.export.values import Exports

_CLASS = re.compile(r"\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def modifier(
    exports: Exports, *, class_name: str | None = None, instance: str | None = None
) -> str:
    """Return ``Class instance(parameter = value, ...);`` over several lines.

    Parameters
    ----------
    exports
        From :func:`~fmident.report.export.exported_values`.
    class_name
        Full name of the class; by default what the FMU calls its model.
    instance
        Name of the component; by default made from that of the class.

    Raises
    ------
    fmident.errors.EstimationError
        A name that is not a Modelica name; elements of an array that are not known.
    """
    model = checked_class(class_name or exports.model)
    name = instance if instance is not None else instance_name(model)
    if not _IDENTIFIER.fullmatch(name):
        raise EstimationError(f"'{name}' cannot be the name of a component")
    lines = [f"// {line}" for line in header(exports)]
    lines += [f"{model} {name}(", *_arguments(build_tree(exports), 1), ");"]
    return "\n".join(lines) + "\n"


def checked_class(name: str) -> str:
    """Return a class name that Modelica can read.

    Raises
    ------
    fmident.errors.EstimationError
        It cannot.
    """
    if not _CLASS.fullmatch(name):
        raise EstimationError(
            f"the FMU's model is called '{name}', which is not a Modelica class",
            hint="name the class with --class",
        )
    return name


def instance_name(model: str) -> str:
    """Return a name for a component of a class: ``DeltaInverse`` gives ``deltaInverse``."""
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
            said = remark(child)
            lines.append(
                f"{pad}{name} = {child.literal()}{comma}" + (f" // {_line(said)}" if said else "")
            )
        else:
            lines += [f"{pad}{name}(", *_arguments(child, depth + 1), f"{pad}){comma}"]
    return lines


def _line(text: str) -> str:
    return " ".join(text.split())
