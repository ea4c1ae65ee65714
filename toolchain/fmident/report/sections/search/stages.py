"""Stages: what each has found, and what it held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.numbers import duration, plain
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, StageResult


def stages_section(result: EstimationResult) -> str:
    """Return the table of the stages; empty without any."""
    if not result.stages:
        return ""
    rows = [
        [
            s.name,
            s.estimator,
            s.cost,
            f"{plain(s.cost_initial)} → {plain(s.cost_final)}",
            s.status,
            str(s.simulations),
            duration(s.seconds),
            ", ".join(f"{n} = {plain(v)}" for n, v in s.parameters.items()),
            _held(s),
        ]
        for s in result.stages
    ]
    return fragment("stages", rows=rows)


def _held(stage: StageResult) -> str:
    """Return what of the values that a stage held its intervals count."""
    found = stage.uncertainty
    if found is None:
        return ""
    counted = f"{', '.join(found.counted)} (uncertainty counted)"
    known = f"{', '.join(found.taken_for_known)} (taken for exactly known)"
    parts = [(found.counted, counted), (found.taken_for_known, known)]
    return "; ".join(text for names, text in parts if names)
