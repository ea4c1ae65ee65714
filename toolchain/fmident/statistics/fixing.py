"""Which parameters to fix if the data do not determine all of them.

The parameter to fix is the one without which the others are best identifiable: the
smallest singular value of their Jacobian, with columns of unit length, becomes largest;
while combinations are undetermined, one without which fewer are. This is repeated until
nothing is nearly collinear (subset selection by collinearity: Brun, Reichert and
Kuensch, Water Resources Research 37, 2001). A wrong fixed value changes the others: the
resulting bias follows from the same Jacobian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fmident.arrays import F64

ENOUGH = 10.0
"""Collinearity index from which on Brun et al. call parameters poorly identifiable."""

_MOST_RANKED = 60
_NOTHING = 1e-3
"""Relative change per relative error that is not worth a word."""

_SINGULAR = 1e-9
"""Smallest singular value that is more than rounding."""


@dataclass(frozen=True)
class FixingStep:
    """One parameter to fix, after the previous ones.

    `before` and `after` are the collinearity index of the free parameters without and with
    it fixed: 1 over the smallest singular value, infinite if the data do not determine all.
    `shifts` are the relative changes of the others per relative error of the fixed value.
    """

    name: str
    before: float
    after: float
    shifts: Mapping[str, float] = field(default_factory=dict)


def ranked_for_fixing(
    names: Sequence[str], jacobian: F64, sizes: F64, enough: float = ENOUGH
) -> tuple[FixingStep, ...]:
    """Return the parameters to fix in order; empty if none, or for very many parameters.

    `jacobian` is that of the whitened residuals, `sizes` are those to which relative
    changes refer, and `enough` is the collinearity index at which no more are fixed.
    """
    norms = np.linalg.norm(jacobian, axis=0)
    # What does nothing cannot be told from anything; collinearity has nothing to do with it.
    free = [int(j) for j in np.flatnonzero(norms > 0.0)]
    if not 2 <= len(free) <= _MOST_RANKED:
        return ()
    unit: F64 = np.asarray(np.linalg.qr(jacobian[:, free] / norms[free], mode="r"))
    place = {j: k for k, j in enumerate(free)}
    steps = []
    now = _collinearity(unit)
    while len(free) > 1 and now > enough:
        trials = {j: _deficiency(unit[:, [place[k] for k in free if k != j]]) for j in free}
        best = min(trials, key=lambda j: (*trials[j], norms[j] * sizes[j]))
        free.remove(best)
        after = float("inf") if trials[best][0] else trials[best][1]
        shifts = {}
        if np.isfinite(after):
            columns = [place[k] for k in free]
            changes = -np.linalg.lstsq(unit[:, columns], unit[:, place[best]], rcond=None)[0]
            effect = changes * norms[best] * sizes[best] / (norms[free] * sizes[free])
            shifts = dict(zip((names[k] for k in free), effect.tolist(), strict=True))
        steps.append(FixingStep(names[best], now, after, shifts))
        now = after
    return tuple(steps)


def fixing_sentence(steps: Sequence[FixingStep], *, most: int = 3) -> str:
    """Return what to fix in which order, and the effect on the others; empty without steps."""
    if not steps:
        return ""
    parts = []
    for step in steps:
        largest = sorted(step.shifts.items(), key=lambda one: -abs(one[1]))[:most]
        words = ", ".join(
            f"{name} {_percent(10.0 * shift)}" for name, shift in largest if abs(shift) > _NOTHING
        )
        effect = f"; +10 % in it gives {words}" if words else ""
        change = f"collinearity {collinearity_text(step.before)} to {collinearity_text(step.after)}"
        parts.append(f"{step.name} ({change}{effect})")
    return f"Fix first what is known from elsewhere, best in this order: {', then '.join(parts)}."


def _collinearity(unit: F64) -> float:
    missing, rest = _deficiency(unit)
    return float("inf") if missing else rest


def _deficiency(unit: F64) -> tuple[int, float]:
    """Return the number of undetermined combinations, and the collinearity of the others."""
    values = np.linalg.svd(unit, compute_uv=False)
    seen = values[values > _SINGULAR]
    return unit.shape[1] - seen.size, 1.0 / float(seen[-1]) if seen.size else float("inf")


def collinearity_text(index: float) -> str:
    """Return a collinearity index as text."""
    return "unbounded" if np.isinf(index) else f"{index:.3g}"


def _percent(value: float) -> str:
    return f"{value:+.2g} %"
