"""Dimensions and start values of arrays, in FMI 3.0."""

from __future__ import annotations

from collections.abc import Iterator

from fmident.validation.rules.document import Document, Element, Variable, whole
from fmident.validation.rules.registry import Finding


def check_arrays(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with arrays."""
    if document.major == 2:
        return
    for variable in document.variables:
        dimensions = variable.element.all("Dimension")
        if dimensions and variable.kind == "Clock":
            yield Finding("dimensions", f"the clock '{variable.name}' is an array", variable.line)
        if dimensions and variable.causality == "structuralParameter":
            yield Finding(
                "dimensions",
                f"the structural parameter '{variable.name}' is an array",
                variable.line,
            )
        count: int | None = 1
        for dimension in dimensions:
            size = _size(document, dimension)
            if isinstance(size, str):
                yield Finding(
                    "dimensions", f"a dimension of '{variable.name}' {size}", dimension.line
                )
            count = None if isinstance(size, str) or count is None else count * size
        yield from _starts(variable, count, len(dimensions))


def _starts(variable: Variable, count: int | None, dimensions: int) -> Iterator[Finding]:
    start = variable.start
    if start is None or count is None or len(start) == count:
        return
    if len(start) == 1 and dimensions:
        return  # of all elements
    what = f"{count} elements" if dimensions else "is not an array"
    yield Finding(
        "start count",
        f"'{variable.name}' has {len(start)} start values and {what}",
        variable.line,
    )


def _size(document: Document, dimension: Element) -> int | str:
    """Return the size at the start, or what is wrong."""
    start, reference = dimension.get("start"), dimension.get("valueReference")
    if (start is None) == (reference is None):
        which = "neither a size nor" if start is None else "both a size and"
        return f"has {which} a value reference"
    if start is not None:
        size = whole(start)
        return size if size is not None and size > 0 else f"has the size '{start[:40]}'"
    variable = document.target(whole(reference))
    if variable is None:
        return f"names the value reference '{str(reference)[:40]}', which no variable has"
    if variable.kind != "UInt64":
        return f"is given by '{variable.name}', which is of type {variable.kind}, not UInt64"
    if variable.causality != "structuralParameter" and variable.variability != "constant":
        return (
            f"is given by '{variable.name}', which is neither a structural parameter nor a constant"
        )
    given = whole(variable.start[0]) if variable.start else None
    if given is None or given <= 0:
        said = variable.start[0][:40] if variable.start else "nothing"
        return f"is given by '{variable.name}', which starts with {said}"
    return given
