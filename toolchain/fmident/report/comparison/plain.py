"""A comparison for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fmident.report.result_json import base_json, plain_json

if TYPE_CHECKING:
    from fmident.estimation.result import OutputFit
    from fmident.report.comparison.choice import Choice, NestedTest
    from fmident.report.comparison.compared import Compared
    from fmident.statistics.choice import Criteria


def comparison_json(compared: Sequence[Compared], choice: Choice) -> dict[str, Any]:
    """Return the comparison for programs."""
    content = {
        "results": [
            {
                "name": c.name,
                "status": c.result.status,
                "estimator": c.result.estimator,
                "cost": c.result.cost_final,
                "parameters": {
                    e.name: {
                        "value": e.value,
                        "unit": e.unit,
                        "standard_error": e.standard_error,
                        "interval_95": list(e.interval_95),
                        "fixed": e.fixed,
                    }
                    for e in c.result.estimates
                },
                "base_parameters": base_json(c.result),
                "fit": [_fit_json(f) for f in c.result.fits],
                "validation": None
                if c.result.validation is None
                else [_fit_json(f) for f in c.result.validation.fits],
                **_criteria_json(c.found.criteria),
                "akaike_weight": c.found.weight,
                "effective": {
                    **_criteria_json(c.found.effective),
                    "akaike_weight": c.found.effective_weight,
                },
                "estimated": None if c.found.fit is None else c.found.fit.parameters,
                "no_criteria_since": c.found.criteria.missing,
                "simulations": c.result.simulations,
                "jacobians": c.result.jacobians,
                "wall_time_s": c.result.seconds,
            }
            for c in compared
        ],
        "tests": [_test_json(t) for t in choice.tests],
        "not_tested": [
            {"smaller": one, "larger": other, "since": reason}
            for one, other, reason in choice.untested
        ],
        "coloured_residuals": choice.coloured,
        "samples_per_independent_sample": choice.inflation,
        "noise_modelled_in_some": list(choice.modelled),
        "caution": choice.caution,
    }
    found: dict[str, Any] = plain_json(content)
    return found


def _fit_json(fit: OutputFit) -> dict[str, Any]:
    return {
        "experiment": fit.experiment,
        "output": fit.name,
        "rms": fit.rms,
        "unit": fit.unit,
        "relative_error": fit.relative_error,
        "nrmse": fit.nrmse,
        "vaf": fit.vaf,
    }


def _criteria_json(criteria: Criteria) -> dict[str, Any]:
    return {"aic": criteria.aic, "aicc": criteria.aicc, "bic": criteria.bic}


def _test_json(test: NestedTest) -> dict[str, Any]:
    return {
        "smaller": test.smaller,
        "larger": test.larger,
        "parameters": list(test.extra),
        "held_at_a_bound": list(test.boundary),
        "statistic": test.ratio.statistic,
        "distribution": test.ratio.distribution,
        "p_value": test.ratio.p_value,
        "p_value_is_upper_limit": test.ratio.at_most,
        "effective_p_value": test.effective.p_value,
        "doubts": list(test.doubts),
    }
