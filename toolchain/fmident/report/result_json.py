"""``result.json``: the result for programs.

JSON knows no NaN and no infinity; both are written as ``null``. A ``null`` standard
error means that there is none, a ``null`` end of an interval that it is open where
``interval_known`` is true, else that there is no interval.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.report.contract import Reporter

if TYPE_CHECKING:
    from fmident.estimation.result import (
        DrawnPosterior,
        EstimationResult,
        OutputFit,
        OutputSensitivity,
        PriorKnowledge,
        ResidualCheck,
        StageResult,
    )
    from fmident.problem.model import Problem
    from fmident.statistics.truncated import Truncation

FILE_NAME = "result.json"


class JsonReporter(Reporter):
    """Writes ``result.json``."""

    summary = "result.json: parameters, uncertainty, cost and fit for programs"

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write ``result.json`` into `folder`."""
        from fmident._version import __version__

        text = json.dumps(as_json(result, __version__), indent=2, allow_nan=False)
        (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")


def as_json(result: EstimationResult, version: str) -> dict[str, Any]:
    """Return the content of ``result.json``: dictionaries, lists, text and finite numbers.

    Parameters
    ----------
    result
        What the run found.
    version
        Of fmident.
    """
    content = {
        "status": result.status,
        "ended_by": result.ended_by,
        "message": result.message,
        "estimator": result.estimator,
        "parameters": {
            e.name: {
                "initial": e.initial,
                "value": e.value,
                "unit": e.unit,
                "standard_error": e.standard_error,
                "interval_95": list(e.interval_95),
                "interval_known": not any(math.isnan(end) for end in e.interval_95),
                "at_bound": e.at_bound,
                "fixed": e.fixed,
                "expression": e.expression,
                "base": list(e.base),
                "bounds": [e.lower, e.upper],
                "description": e.description,
                "variable": e.variable,
                "experiments": None if e.experiments is None else list(e.experiments),
                "stage": e.stage,
            }
            for e in result.estimates
        },
        "base_parameters": base_json(result),
        "cost": {
            "initial": result.cost_initial,
            "final": result.cost_final,
            "name": result.cost,
            "options": result.cost_options,
        },
        "simulations": result.simulations,
        "jacobians": result.jacobians,
        "wall_time_s": result.seconds,
        "fmident": version,
        "fmu": {
            "name": result.fmu_name,
            "guid": result.fmu_guid,
            "generation_tool": result.fmu_tool,
        },
        "experiments": _experiments(result.fits),
        "assumed_units": list(result.assumed_units),
        "identifiability": None
        if result.identifiability is None
        else {
            "verdict": result.identifiability.verdict,
            "rank": result.identifiability.rank,
            "singular_values": result.identifiability.singular_values,
            "undecided": list(result.identifiability.undecided),
            "jumps": list(result.identifiability.jumps),
            "withheld": list(result.identifiability.withheld),
            "rank_known": result.identifiability.rank_known,
            "weakest": [dataclasses.asdict(d) for d in result.identifiability.weakest],
            "fixing": [dataclasses.asdict(d) for d in result.identifiability.fixing],
            "silent": list(result.identifiability.silent),
            "by_choice": result.identifiability.by_choice,
        },
        "derivatives": None
        if result.derivatives is None
        else dataclasses.asdict(result.derivatives),
        "derivative_origins": {
            name: dataclasses.asdict(origin) for name, origin in result.derivative_origins.items()
        },
        "residuals": _residuals(result.residuals),
        "validation": None
        if result.validation is None
        else {
            "experiments": _experiments(result.validation.fits),
            "residuals": _residuals(result.validation.residuals),
            "failures": result.validation.failures,
            "noise_ratios": result.validation.noise_ratios,
        },
        "inputs": [
            {
                "experiment": u.experiment,
                "name": u.name,
                "unit": u.unit,
                "held": u.held,
                "fitted": u.fitted,
            }
            for u in result.inputs
        ],
        "sensitivities": [_sensitivity(s) for s in result.sensitivities],
        "noise": None if result.noise is None else dataclasses.asdict(result.noise),
        "constraints": [dataclasses.asdict(c) for c in result.constraints],
        "priors": _priors(result.priors),
        "draws": _draws(result.draws),
        "truncation": _truncation(result.truncation),
        "stages": [_stage(s) for s in result.stages],
        "free_parameters": [e.name for e in result.estimates if e.searched],
        "covariance": result.covariance,
        "correlation": result.correlation,
        "notes": list(result.notes),
        "settings": result.settings,
    }
    plain: dict[str, Any] = plain_json(content)
    return plain


def base_json(result: EstimationResult) -> dict[str, Any]:
    """Return the base parameters by name: value, uncertainty, formula, and its coefficients."""
    return {
        e.name: {
            "value": e.value,
            "unit": e.unit,
            "standard_error": e.standard_error,
            "interval_95": list(e.interval_95),
            "initial": e.initial,
            "formula": e.expression,
            "factors": [{"power": k, "members": dict(members)} for k, members in e.factors],
            "stage": e.stage,
        }
        for e in result.base_parameters
    }


def _residuals(check: ResidualCheck | None) -> dict[str, Any] | None:
    if check is None:
        return None
    return {
        "noise_ratio": check.noise_ratio,
        "autocorrelation": check.autocorrelation,
        "delays": [dataclasses.asdict(d) for d in check.delays],
        "hiding_bounds": list(check.hiding_bounds),
        "outliers": dict(check.outliers),
        "repeated": [dataclasses.asdict(r) for r in check.repeated],
        "courses": [dataclasses.asdict(c) for c in check.courses],
        "gathered": [dataclasses.asdict(g) for g in check.gathered],
    }


def _sensitivity(one: OutputSensitivity) -> dict[str, Any]:
    parameters = zip(one.parameters, one.shares, one.moves, strict=True)
    return {
        "experiment": one.experiment,
        "output": one.name,
        "stage": one.stage,
        "parameters": {n: {"share": share, "moved_by": move} for n, share, move in parameters},
    }


def _priors(found: PriorKnowledge | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "parameters": [dataclasses.asdict(c) for c in found.checks],
        "shares": found.shares,
        "distance": found.distance,
        "compared": found.compared,
        "p_value": found.p_value,
        "conflict": [c.name for c in found.conflict],
        "left_open": list(found.left_open),
    }


def _draws(found: DrawnPosterior | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "count": found.count,
        "parameters": {
            name: {**dataclasses.asdict(one), "error": one.error}
            for name, one in found.parameters.items()
        },
    }


def _truncation(found: Truncation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        **dataclasses.asdict(found),
        "parameters": [dataclasses.asdict(p) for p in found.parameters],
        "held": list(found.held),
        "conflict": found.conflict,
    }


def _stage(stage: StageResult) -> dict[str, Any]:
    return {
        "name": stage.name,
        "estimator": stage.estimator,
        "cost": {
            "initial": stage.cost_initial,
            "final": stage.cost_final,
            "name": stage.cost,
            "options": stage.cost_options,
        },
        "status": stage.status,
        "message": stage.message,
        "parameters": stage.parameters,
        "experiments": list(stage.experiments),
        "simulations": stage.simulations,
        "jacobians": stage.jacobians,
        "seconds": stage.seconds,
        "verdict": None if stage.identifiability is None else stage.identifiability.verdict,
        "uncertainty": None
        if (counts := stage.uncertainty) is None
        else {
            "counted": list(counts.counted),
            "taken_for_known": list(counts.taken_for_known),
            "shared_experiments": list(counts.shared_experiments),
            "taken_for_independent": list(counts.taken_for_independent),
            "conditional_standard_errors": counts.conditional_errors,
            "simulations": counts.simulations,
        },
    }


def _experiments(fits: tuple[OutputFit, ...]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for fit in fits:
        experiment = found.setdefault(fit.experiment, {"name": fit.experiment, "outputs": {}})
        experiment["outputs"][fit.name] = {
            "unit": fit.unit,
            "samples": int(np.count_nonzero(np.isfinite(fit.measured))),
            "rms_initial": fit.rms_initial,
            "rms": fit.rms,
            "relative_error": fit.relative_error,
            "nrmse": fit.nrmse,
            "vaf": fit.vaf,
            "excluded": [
                {"reason": e.reason, "samples": e.count, "replaced": e.replaced}
                for e in fit.excluded
            ],
        }
    return list(found.values())


def plain_json(value: Any) -> Any:
    """Return `value` made of JSON's own types, non-finite numbers as ``None``."""
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_json(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    if isinstance(value, np.generic):
        return plain_json(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
