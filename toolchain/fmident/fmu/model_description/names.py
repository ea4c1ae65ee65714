"""Names of variables as FMI wants them (FMI 2.0.4, section 2.2.9; FMI 3.0.1, section 2.4.7.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

_BEGIN, _END = "der(", ")"


def structured_name(name: str) -> str:
    """Return a name as the naming convention "structured" writes derivatives.

    Parameters
    ----------
    name
        Such as ``"der(der(x))"``, which some tools write and FMI does not know.

    Returns
    -------
    str
        Such as ``"der(x,2)"``; any other name as it is.
    """
    inside, order = name, 0
    while inside.startswith(_BEGIN) and inside.endswith(_END):
        inside = inside[len(_BEGIN) : -len(_END)]
        order += 1
    return f"{_BEGIN}{inside},{order}{_END}" if order > 1 else name


def element_name(array: str, index: Sequence[int]) -> str:
    """Return the name of an array's element as Modelica writes it.

    >>> element_name("a[2].x", [1, 3])
    'a[2].x[1,3]'
    >>> element_name("der(x)", [1])
    'der(x[1])'
    """
    inside, tail = _inside(array)
    subscripts = ",".join(map(str, index))
    return f"{array.removesuffix(tail)}[{subscripts}]{tail}" if inside else f"{array}[{subscripts}]"


def array_name(element: str) -> str:
    """Return the name of the array that something is an element of, by its name; else the name.

    >>> array_name("a[2].x[1,3]")
    'a[2].x'
    >>> array_name("der(x[1])")
    'der(x)'
    """
    inside, tail = _inside(element)
    if not (inside or element).endswith("]"):
        return element
    return element[: element.rindex("[")] + tail


def _inside(name: str) -> tuple[str, str]:
    """Return what a name is the derivative of, and how that ends; empty where it is none."""
    if name.startswith(_BEGIN) and name.endswith(_END):
        return name[len(_BEGIN) : -len(_END)], _END
    return "", ""
