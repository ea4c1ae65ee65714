"""Where derivatives come from, for results and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

OriginKind = Literal["sensitivities", "measurement-model", "differences"]

_WORDS: Mapping[OriginKind, str] = {
    "sensitivities": "exact sensitivities of the FMU",
    "measurement-model": "exact derivatives of the measurement model",
    "differences": "finite differences",
}


@dataclass(frozen=True)
class Origin:
    """Where the derivative with respect to a parameter comes from.

    Parameters
    ----------
    kind
        ``"sensitivities"`` of the FMU; the ``"measurement-model"``, for a parameter that it alone
        has; ``"differences"`` of simulations.
    reason
        Why it is differences, in words.
    """

    kind: OriginKind
    reason: str = ""

    def __str__(self) -> str:
        return _WORDS[self.kind] + (f": {self.reason}" if self.reason else "")


def summary_of(origins: Mapping[str, Origin]) -> str:
    """Return in words where a Jacobian comes from; empty where that is not known.

    Parameters
    ----------
    origins
        By parameter.
    """
    groups: dict[OriginKind, list[str]] = {}
    for name, origin in origins.items():
        groups.setdefault(origin.kind, []).append(name)
    if len(groups) > 1:
        # These are exact in any case.
        groups.pop("measurement-model", None)
    reasons = {o.reason for o in origins.values() if o.kind == "differences"}
    why = f": {reasons.pop()}" if len(reasons) == 1 else ""
    if len(groups) < 2:
        return "".join(_WORDS[kind] + (why if kind == "differences" else "") for kind in groups)
    return "; ".join(
        f"{_WORDS[kind]} for {', '.join(names)}" + (why if kind == "differences" else "")
        for kind, names in groups.items()
    )
