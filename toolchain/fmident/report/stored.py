"""Reading a result folder back."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fmident._types import F64
from fmident.errors import EstimationError
from fmident.estimation.result import (
    EstimationResult,
    Identifiability,
    OutputFit,
    ParameterEstimate,
    ResidualCheck,
    StageResult,
    StageUncertainty,
)
from fmident.report.page import FILE_NAME as PAGE
from fmident.report.result_json import FILE_NAME


@dataclass(frozen=True)
class StoredResult:
    """A result folder.

    Parameters
    ----------
    result
        What ``result.json`` holds: no time series and no history.
    page
        Its ``report.html``, if there is one.
    """

    result: EstimationResult
    page: Path | None


def read_result(path: Path) -> StoredResult:
    """Read a result folder.

    Parameters
    ----------
    path
        The folder or its ``result.json``.

    Raises
    ------
    fmident.errors.EstimationError
        There is no ``result.json``, or it was not written by fmident.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EstimationError(
            f"there is no '{file}'", hint="give the folder that 'fmident estimate' wrote"
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise EstimationError(f"'{file}' is not JSON: {error}") from None
    try:
        result = _result(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EstimationError(
            f"'{file}' is not a result of fmident: {type(error).__name__} {error}",
            hint="give the folder that 'fmident estimate' wrote",
        ) from None
    page = file.parent / PAGE
    return StoredResult(result, page if page.is_file() else None)


def _result(content: dict[str, Any]) -> EstimationResult:
    judged = content.get("identifiability")
    return EstimationResult(
        status=content["status"],
        message=content["message"],
        estimator=content["estimator"],
        estimates=tuple(_estimate(n, e) for n, e in content["parameters"].items()),
        covariance=_matrix(content.get("covariance", [])),
        correlation=_matrix(content.get("correlation", [])),
        identifiability=None
        if judged is None
        else Identifiability(
            np.array([_number(v) for v in judged["singular_values"]]),
            judged["rank"],
            judged["verdict"],
            undecided=tuple(judged.get("undecided", ())),
        ),
        cost_initial=_number(content["cost"]["initial"], math.inf),
        cost_final=_number(content["cost"]["final"], math.inf),
        cost=content["cost"].get("name", "time-domain"),
        cost_options=content["cost"].get("options", {}),
        simulations=content["simulations"],
        jacobians=content["jacobians"],
        seconds=_number(content["wall_time_s"]),
        history=(),
        fits=tuple(
            _fit(experiment["name"], name, fit)
            for experiment in content["experiments"]
            for name, fit in experiment["outputs"].items()
        ),
        notes=tuple(content.get("notes", ())),
        fmu_name=content["fmu"]["name"],
        fmu_guid=content["fmu"]["guid"],
        fmu_tool=content["fmu"]["generation_tool"],
        settings=content.get("settings", {}),
        stages=tuple(_stage(s) for s in content.get("stages", ())),
        residuals=None
        if (seen := content.get("residuals")) is None
        else ResidualCheck(_number(seen["noise_ratio"]), _number(seen["autocorrelation"])),
    )


def _estimate(name: str, stored: dict[str, Any]) -> ParameterEstimate:
    low, high = stored["interval_95"]
    lower, upper = stored.get("bounds", (None, None))
    return ParameterEstimate(
        name=name,
        unit=stored["unit"],
        description=stored.get("description", ""),
        initial=_number(stored["initial"]),
        value=_number(stored["value"]),
        standard_error=_number(stored["standard_error"]),
        interval_95=(_number(low, -math.inf), _number(high, math.inf)),
        lower=_number(lower, -math.inf),
        upper=_number(upper, math.inf),
        at_bound=stored["at_bound"],
        fixed=stored.get("fixed", False),
        variable=stored.get("variable", name),
        experiments=None if (acts := stored.get("experiments")) is None else tuple(acts),
        stage=stored.get("stage", ""),
    )


def _stage(stored: dict[str, Any]) -> StageResult:
    return StageResult(
        name=stored["name"],
        estimator=stored["estimator"],
        cost=stored["cost"]["name"],
        cost_options=stored["cost"]["options"],
        cost_initial=_number(stored["cost"]["initial"], math.inf),
        cost_final=_number(stored["cost"]["final"], math.inf),
        status=stored["status"],
        message=stored["message"],
        parameters={n: _number(v) for n, v in stored["parameters"].items()},
        experiments=tuple(stored["experiments"]),
        simulations=stored["simulations"],
        jacobians=stored["jacobians"],
        seconds=_number(stored["seconds"]),
        uncertainty=None
        if (counts := stored.get("uncertainty")) is None
        else StageUncertainty(
            tuple(counts["counted"]),
            tuple(counts["taken_for_known"]),
            tuple(counts["shared_experiments"]),
            tuple(counts["taken_for_independent"]),
            {n: _number(v) for n, v in counts["conditional_standard_errors"].items()},
            counts["simulations"],
        ),
    )


def _fit(experiment: str, name: str, stored: dict[str, Any]) -> OutputFit:
    nothing: F64 = np.empty(0)
    return OutputFit(
        experiment=experiment,
        name=name,
        unit=stored["unit"],
        times=nothing,
        measured=nothing,
        initial=nothing,
        fitted=nothing,
        sigma=nothing,
        rms_initial=_number(stored["rms_initial"]),
        rms=_number(stored["rms"]),
        relative_error=_number(stored["relative_error"]),
    )


def _number(value: float | None, missing: float = math.nan) -> float:
    return missing if value is None else float(value)


def _matrix(rows: list[list[float | None]]) -> F64:
    return np.array([[_number(v) for v in row] for row in rows], dtype=np.float64)
