"""Reading a result folder back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from fmident._json import JsonTable
from fmident.arrays import F64
from fmident.estimation.contract import Ending, Status
from fmident.estimation.result import (
    ConstraintCheck,
    CountedNoise,
    CountedWave,
    DerivativeCheck,
    DrawnParameter,
    DrawnPosterior,
    EstimationResult,
    ExcludedSamples,
    GatheredResiduals,
    Identifiability,
    InputSignal,
    OtherCourse,
    OutputFit,
    OutputNoise,
    OutputSensitivity,
    ParameterEstimate,
    PriorCheck,
    PriorKnowledge,
    RepeatedResiduals,
    ResidualCheck,
    SharedNoise,
    StageResult,
    StageUncertainty,
    UnmodelledDelay,
    Validation,
)
from fmident.problem.derivative_origins import Origin, OriginKind
from fmident.report.page import FILE_NAME as PAGE
from fmident.report.result_json import FILE_NAME
from fmident.report.stored.json_file import matrix, read_json, word, written_by
from fmident.statistics.fixing import FixingStep
from fmident.statistics.identifiability import WeakDirection
from fmident.statistics.truncated import TruncatedParameter, Truncation


@dataclass(frozen=True)
class StoredResult:
    """A result folder.

    Parameters
    ----------
    result
        What ``result.json`` holds: no time series and no history.
    page
        Its ``report.html``, if there is one.
    version
        Of fmident that wrote it; empty where that is not known.
    samples
        How many were compared, by experiment and output; those of the validation, too.
    """

    result: EstimationResult
    page: Path | None
    version: str = ""
    samples: Mapping[tuple[str, str], int] = field(default_factory=dict)


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

    def convert(content: JsonTable) -> tuple[EstimationResult, str, dict[tuple[str, str], int]]:
        return result_of(content), content.text("fmident", ""), _samples(content)

    result, version, samples = read_json(
        file, convert, "a result of fmident", written_by("estimate")
    )
    page = file.parent / PAGE
    return StoredResult(result, page if page.is_file() else None, version, samples)


def _samples(content: JsonTable) -> dict[tuple[str, str], int]:
    found = {}
    held_out = content.maybe_table("validation")
    for part in (content, *([] if held_out is None else [held_out])):
        for name, outputs in part.each(
            "experiments", lambda e: (e.text("name"), e.table("outputs"))
        ):
            for output in outputs.keys():  # noqa: SIM118
                stored = outputs.table(output)
                if "samples" in stored.keys():  # noqa: SIM118  # results of earlier versions have none
                    found[name, output] = stored.count("samples")
    return found


def result_of(content: JsonTable) -> EstimationResult:
    """Return the result that the content of a ``result.json`` is.

    Raises
    ------
    ValueError
        Something in it is not what fmident writes.
    """
    judged, seen = content.maybe_table("identifiability"), content.maybe_table("residuals")
    verified, validated = content.maybe_table("derivatives"), content.maybe_table("validation")
    known, drawn = content.maybe_table("priors"), content.maybe_table("draws")
    parameters, cost, fmu = content.table("parameters"), content.table("cost"), content.table("fmu")
    estimates = tuple(_estimate(n, parameters.table(n)) for n in parameters.keys())  # noqa: SIM118
    free = sum(e.searched for e in estimates)
    return EstimationResult(
        status=_status(content),
        ended_by=_ending(content),
        message=content.text("message"),
        estimator=content.text("estimator"),
        estimates=estimates,
        covariance=matrix(content, "covariance", free),
        correlation=matrix(content, "correlation", free),
        identifiability=None
        if judged is None
        else Identifiability(
            np.array(judged.numbers("singular_values")),
            judged.count("rank"),
            judged.text("verdict"),
            undecided=judged.texts("undecided", []),
            jumps=judged.texts("jumps", []),
            withheld=judged.texts("withheld", []),
            rank_known=judged.flag("rank_known", True),
            weakest=tuple(judged.each("weakest", _direction, [])),
            fixing=tuple(judged.each("fixing", _fixing, [])),
            silent=judged.texts("silent", []),
            by_choice=judged.flag("by_choice", False),
        ),
        cost_initial=cost.number("initial", math.inf),
        cost_final=cost.number("final", math.inf),
        cost=cost.text("name", "time-domain"),
        cost_options=_plain(cost, "options"),
        simulations=content.count("simulations"),
        jacobians=content.count("jacobians"),
        seconds=content.number("wall_time_s"),
        history=(),
        fits=tuple(fit for fits in content.each("experiments", _fits) for fit in fits),
        notes=content.texts("notes", []),
        fmu_name=fmu.text("name"),
        fmu_guid=fmu.text("guid"),
        fmu_tool=fmu.text("generation_tool"),
        settings=_plain(content, "settings"),
        stages=tuple(content.each("stages", _stage, [])),
        constraints=tuple(content.each("constraints", _constraint, [])),
        assumed_units=content.texts("assumed_units", []),
        derivatives=None if verified is None else _derivatives(verified),
        derivative_origins=_origins(content.table("derivative_origins", {})),
        residuals=None if seen is None else _residuals(seen),
        validation=None if validated is None else _validation(validated),
        noise=_noise(content),
        inputs=tuple(content.each("inputs", _input, [])),
        sensitivities=tuple(content.each("sensitivities", _sensitivity, [])),
        priors=None if known is None else _priors(known),
        draws=None if drawn is None else _draws(drawn),
        truncation=read_truncation(content),
        base_parameters=_base_parameters(content.table("base_parameters", {})),
    )


def _noise(content: JsonTable) -> CountedNoise | None:
    """Return the noise that the standard errors count; results of earlier versions have none."""
    stored = content.maybe_table("noise")
    if stored is None:
        return None
    return CountedNoise(
        stored.flag("coloured"),
        stored.flag("unequal"),
        stored.flag("uneven"),
        tuple(stored.each("outputs", _output_noise, [])),
        stored.flag("contradicted"),
        stored.named_numbers("white_errors"),
        stored.named_numbers("factors"),
        # Infinite where the noise is known, which JSON does not have.
        {
            name: math.inf if math.isnan(value) else value
            for name, value in stored.named_numbers("degrees_of_freedom").items()
        },
        stored.flag("modelled"),
        tuple(stored.each("waves", _counted_wave, [])),
        tuple(stored.each("shared", _shared_noise, [])),
    )


def _shared_noise(stored: JsonTable) -> SharedNoise:
    return SharedNoise(stored.text("first"), stored.text("second"), stored.number("correlation"))


def _counted_wave(stored: JsonTable) -> CountedWave:
    return CountedWave(
        stored.text("output"),
        stored.text("kind"),
        stored.number("size"),
        stored.number("amplitude"),
        stored.text("unit"),
        stored.number("share"),
        stored.text("parameter"),
        stored.flag("driven"),
        stored.texts("others", []),
    )


def _output_noise(stored: JsonTable) -> OutputNoise:
    return OutputNoise(
        stored.text("name"),
        stored.count("samples"),
        stored.number("autocorrelation"),
        stored.number("p_white"),
        stored.count("order"),
        tuple(stored.numbers("coefficients")),
        stored.number("deviation"),
        stored.number("p_innovations"),
    )


def _direction(stored: JsonTable) -> WeakDirection:
    return WeakDirection(
        stored.number("singular_value"), stored.flag("determined"), stored.named_numbers("shares")
    )


def _input(stored: JsonTable) -> InputSignal:
    nothing: F64 = np.empty(0)
    return InputSignal(
        stored.text("experiment"),
        stored.text("name"),
        stored.maybe_text("unit"),
        nothing,
        nothing,
        stored.flag("held"),
        stored.flag("fitted"),
    )


def _sensitivity(stored: JsonTable) -> OutputSensitivity:
    parameters = stored.table("parameters")
    names = parameters.keys()
    each = [parameters.table(name) for name in names]
    shares = [one.number("share") for one in each]
    # JSON has one null for both: what is invisible moves without end.
    missing = [math.inf if share == 0.0 else math.nan for share in shares]
    return OutputSensitivity(
        stored.text("experiment"),
        stored.text("output"),
        tuple(names),
        np.empty(0),
        np.empty((0, len(names))),
        np.array([one.number("moved_by", m) for one, m in zip(each, missing, strict=True)]),
        np.array(shares),
        stored.text("stage"),
    )


def _residuals(stored: JsonTable) -> ResidualCheck:
    outliers = stored.table("outliers", {})
    return ResidualCheck(
        stored.number("noise_ratio"),
        stored.number("autocorrelation"),
        tuple(stored.each("delays", _delay, [])),
        stored.texts("hiding_bounds", []),
        tuple(stored.each("repeated", _repeated, [])),
        {name: outliers.count(name) for name in outliers.keys()},  # noqa: SIM118
        tuple(stored.each("courses", _course, [])),
        tuple(stored.each("gathered", _gathered, [])),
    )


def _gathered(stored: JsonTable) -> GatheredResiduals:
    output, driver = stored.text("output"), stored.text("input")
    return GatheredResiduals(output, driver, stored.text("experiment"), stored.number("ratio"))


def _course(stored: JsonTable) -> OtherCourse:
    return OtherCourse(
        stored.text("input"),
        stored.texts("experiments"),
        stored.text("interpolation"),
        stored.count("jumps"),
        stored.number("cost_ratio"),
        stored.number("evidence"),
        stored.named_numbers("moves"),
        stored.flag("proven"),
        stored.number("left"),
    )


def _repeated(stored: JsonTable) -> RepeatedResiduals:
    return RepeatedResiduals(
        stored.text("output"), stored.texts("experiments"), stored.number("correlation")
    )


def _validation(stored: JsonTable) -> Validation:
    seen, failures = stored.maybe_table("residuals"), stored.table("failures", {})
    return Validation(
        tuple(fit for fits in stored.each("experiments", _fits) for fit in fits),
        None if seen is None else _residuals(seen),
        {name: failures.text(name) for name in failures.keys()},  # noqa: SIM118
        stored.named_numbers("noise_ratios") if "noise_ratios" in stored.keys() else {},  # noqa: SIM118
    )


def _priors(stored: JsonTable) -> PriorKnowledge:
    return PriorKnowledge(
        tuple(stored.each("parameters", _prior, [])),
        stored.named_numbers("shares"),
        stored.number("distance"),
        stored.count("compared"),
        stored.number("p_value"),
        stored.texts("left_open", []),
    )


def _draws(stored: JsonTable) -> DrawnPosterior:
    parameters = stored.table("parameters")
    found = {}
    for name in parameters.keys():  # noqa: SIM118
        one = parameters.table(name)
        keys = ("median", "mean", "sd", "bulk", "tail", "r_hat")
        found[name] = DrawnParameter(*(one.number(key) for key in keys))
    return DrawnPosterior(found, stored.count("count"))


def _fixing(stored: JsonTable) -> FixingStep:
    return FixingStep(
        stored.text("name"),
        stored.number("before", math.inf),
        stored.number("after", math.inf),
        stored.named_numbers("shifts"),
    )


def _prior(stored: JsonTable) -> PriorCheck:
    return PriorCheck(
        stored.text("name"),
        stored.maybe_text("unit"),
        stored.text("prior"),
        stored.number("share"),
        stored.number("data_value"),
        stored.number("data_error"),
        stored.number("deviation"),
        stored.number("p_value"),
        stored.flag("alone"),
    )


def _constraint(stored: JsonTable) -> ConstraintCheck:
    return ConstraintCheck(
        stored.text("name"),
        stored.text("text"),
        stored.flag("equality", False),
        stored.flag("active", False),
        stored.flag("violated", False),
        stored.number("slack"),
        stored.texts("parameters", []),
    )


def _delay(stored: JsonTable) -> UnmodelledDelay:
    return UnmodelledDelay(
        stored.text("experiment"),
        stored.text("output"),
        stored.number("delay"),
        stored.number("error"),
        stored.number("step"),
        stored.number("left"),
    )


def _derivatives(stored: JsonTable) -> DerivativeCheck:
    def tolerance(key: str) -> float | None:
        return None if stored.raw(key, None) is None else stored.number(key)

    return DerivativeCheck(
        tolerance("tolerance"),
        tolerance("tightened"),
        # Its name before version 0.2 was ready.
        stored.flag("ignores_tolerance", stored.flag("heedless", False)),
        stored.named_numbers("shifts"),
        tolerance("needed"),
        stored.maybe_text("interpolation", None),
        stored.text("unknown", ""),
        stored.named_numbers("step_shifts") if stored.raw("step_shifts", None) else {},
        None if stored.raw("substeps", None) is None else int(stored.number("substeps")),
        tolerance("share") or 0.0,
        tolerance("step_share") or 0.0,
    )


def _origins(stored: JsonTable) -> dict[str, Origin]:
    found = {}
    for name in stored.keys():  # noqa: SIM118
        origin = stored.table(name)
        kind = origin.text("kind")
        if kind not in get_args(OriginKind):
            raise ValueError(f"a derivative is of the kind '{kind}'")
        found[name] = Origin(cast(OriginKind, kind), origin.text("reason", ""))
    return found


def _status(content: JsonTable) -> Status:
    return cast(Status, word(content, "status", get_args(Status)))


def _ending(content: JsonTable) -> Ending | None:
    ended_by = content.raw("ended_by", None)
    if ended_by is None:
        return None
    if ended_by not in get_args(Ending):
        raise ValueError(f"it was ended by '{ended_by}', none of {', '.join(get_args(Ending))}")
    return cast(Ending, ended_by)


def _plain(content: JsonTable, key: str) -> dict[str, Any]:
    inner = content.table(key, {})
    return {name: inner.raw(name) for name in inner.keys()}  # noqa: SIM118


def _estimate(name: str, stored: JsonTable) -> ParameterEstimate:
    open_ends = (-math.inf, math.inf)
    known = stored.flag("interval_known", True)  # before, it was not written
    lower, upper = stored.pair("bounds", open_ends) if "bounds" in stored.keys() else open_ends  # noqa: SIM118
    return ParameterEstimate(
        name=name,
        unit=stored.maybe_text("unit"),
        description=stored.text("description", ""),
        initial=stored.number("initial"),
        value=stored.number("value"),
        standard_error=stored.number("standard_error"),
        interval_95=stored.pair("interval_95", open_ends if known else (math.nan, math.nan)),
        lower=lower,
        upper=upper,
        at_bound=stored.flag("at_bound"),
        fixed=stored.flag("fixed", False),
        expression=stored.text("expression", ""),
        base=stored.texts("base", []),
        variable=stored.maybe_text("variable", name),
        experiments=None
        if stored.raw("experiments", None) is None
        else stored.texts("experiments"),
        stage=stored.text("stage", ""),
    )


def _base_parameters(stored: JsonTable) -> tuple[ParameterEstimate, ...]:
    found = []
    for name in stored.keys():  # noqa: SIM118
        one = stored.table(name)
        factors = one.each(
            "factors", lambda f: (_whole(f.number("power")), f.named_numbers("members"))
        )
        found.append(
            ParameterEstimate(
                name, one.maybe_text("unit"), "", one.number("initial"), one.number("value"),
                one.number("standard_error"), one.pair("interval_95", (math.nan, math.nan)),
                -math.inf, math.inf, at_bound=False, fixed=False, expression=one.text("formula"),
                factors=tuple(factors), stage=one.text("stage", ""),
            )
        )  # fmt: skip
    return tuple(found)


def _whole(value: float) -> int:
    if not value.is_integer():
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def _stage(stored: JsonTable) -> StageResult:
    cost, counts = stored.table("cost"), stored.maybe_table("uncertainty")
    return StageResult(
        name=stored.text("name"),
        estimator=stored.text("estimator"),
        cost=cost.text("name"),
        cost_options=_plain(cost, "options"),
        cost_initial=cost.number("initial", math.inf),
        cost_final=cost.number("final", math.inf),
        status=_status(stored),
        message=stored.text("message"),
        parameters=stored.named_numbers("parameters"),
        experiments=stored.texts("experiments"),
        simulations=stored.count("simulations"),
        jacobians=stored.count("jacobians"),
        seconds=stored.number("seconds"),
        uncertainty=None
        if counts is None
        else StageUncertainty(
            counts.texts("counted"),
            counts.texts("taken_for_known"),
            counts.texts("shared_experiments"),
            counts.texts("taken_for_independent"),
            counts.named_numbers("conditional_standard_errors"),
            counts.count("simulations"),
        ),
    )


def _fits(experiment: JsonTable) -> list[OutputFit]:
    outputs, name = experiment.table("outputs"), experiment.text("name")
    return [_fit(name, output, outputs.table(output)) for output in outputs.keys()]  # noqa: SIM118


def _fit(experiment: str, name: str, stored: JsonTable) -> OutputFit:
    nothing: F64 = np.empty(0)
    return OutputFit(
        experiment=experiment,
        name=name,
        unit=stored.maybe_text("unit"),
        times=nothing,
        measured=nothing,
        initial=nothing,
        fitted=nothing,
        sigma=nothing,
        rms_initial=stored.number("rms_initial"),
        rms=stored.number("rms"),
        relative_error=stored.number("relative_error"),
        # Results of earlier versions have neither.
        nrmse=stored.number("nrmse") if "nrmse" in stored.keys() else math.nan,  # noqa: SIM118
        vaf=stored.number("vaf") if "vaf" in stored.keys() else math.nan,  # noqa: SIM118
        excluded=tuple(stored.each("excluded", _excluded, [])),
    )


def _excluded(stored: JsonTable) -> ExcludedSamples:
    return ExcludedSamples(
        stored.text("reason"), stored.count("samples"), stored.flag("replaced", False)
    )


def read_truncation(content: JsonTable) -> Truncation | None:
    """Return what was held; ``None`` where nothing was."""
    stored = content.maybe_table("truncation")
    if stored is None:
        return None
    bias = stored.table("bias")
    return Truncation(
        stored.text("rule"),
        stored.number("limit"),
        stored.count("rank"),
        tuple(stored.numbers("singular_values")),
        tuple(stored.each("parameters", _parameter)),
        {name: bias.named_numbers(name) for name in bias.keys()},  # noqa: SIM118
        stored.count("compared"),
        stored.number("p_value"),
    )


def _parameter(stored: JsonTable) -> TruncatedParameter:
    return TruncatedParameter(
        stored.text("name"),
        stored.maybe_text("unit"),
        stored.number("start"),
        stored.number("value"),
        stored.number("scale"),
        stored.number("resolution"),
        stored.number("start_error"),
        stored.number("standard_error"),
        stored.pair("interval_95", (-math.inf, math.inf)),
        stored.flag("resolved"),
    )
