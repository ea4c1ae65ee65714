"""Names of variables as FMI wants them (FMI 2.0.4, section 2.2.9; FMI 3.0.1, section 2.4.7.5.1)."""

from __future__ import annotations

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
