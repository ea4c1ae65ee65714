"""An estimate: what its page, a notebook and a terminal show, and the reporters of its folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.errors import FmidentError
from fmident.plugin_code import raised_in
from fmident.report.contents import Contents
from fmident.report.contract import Reporter, TakesSections
from fmident.report.figures import search
from fmident.report.figures.draws import MOST_PARAMETERS, pairs_chart, trace_chart
from fmident.report.figures.fits import fit_chart, inputs_chart, series_chart
from fmident.report.figures.residuals import diagnostics_chart, histogram_chart
from fmident.report.figures.uncertainty import (
    forest_chart,
    identifiability_chart,
    sensitivity_chart,
)
from fmident.report.result_json import CODEC, FILE_NAME, PAGE, read_result, result_of
from fmident.report.sections import (
    Block,
    Cell,
    Entry,
    Page,
    Part,
    Plot,
    Section,
    Summary,
    Table,
    Text,
)
from fmident.report.tables import tables_of, with_signals
from fmident.report.verdict import STRONG_CORRELATION, correlated_pairs, verdict
from fmident.statistics.identifiability import collinearity_text
from fmident.words import (
    duration,
    interval,
    listed,
    percent,
    plain,
    probability,
    sentence,
    unit_text,
    with_error,
)

if TYPE_CHECKING:
    from fmident.data import Experiment
    from fmident.estimation.comparisons import InputSignal, OutputFit, PriorKnowledge
    from fmident.estimation.result import EstimationResult, ParameterEstimate, StageResult
    from fmident.problem.model import Parameter, Problem
    from fmident.statistics.identifiability import FixingStep, Identifiability

_MOST_BASE = 2
_MOST_FITS = 24
"""Rows of outputs: a hundred experiments must not push the parameters off the screen."""

_MOST_INPUTS = 6
"""Inputs that the residuals of an output are compared with."""

_MOST_INPUTS_DRAWN = 16
"""Inputs of an experiment that are drawn."""

_MOST_SHIFTS, _LEAST_SHIFT = 4, 1e-3
_LEAST_SHARE = 0.001
_MOST_EXPERIMENTS = 30
_BLUE, _ORANGE = "11,92,173", "200,80,30"


# ------------------------------------------------------------------------------ parameters


def remark(estimate: ParameterEstimate, judged: Identifiability | None = None) -> str:
    """Return a remark on what is special about a parameter, or an empty string.

    Without an identifiability result, for instance next to a jump of the cost, a missing
    interval does not mean that the parameter cannot be identified.
    """
    if estimate.fixed:
        return "fixed"
    if estimate.expression:
        return estimate.follows
    if estimate.base:
        return merged_into(estimate.base)
    if estimate.at_bound:
        near_lower = abs(estimate.value - estimate.lower) <= abs(estimate.value - estimate.upper)
        return "at lower bound" if near_lower else "at upper bound"
    if estimate.is_open:
        unjudged = (*judged.jumps, *judged.undecided, *judged.withheld) if judged else ()
        if judged and estimate.name in judged.silent:
            return "no influence"
        return "no interval" if estimate.name in unjudged else "not identifiable"
    low, high = estimate.interval_95
    if low < estimate.lower or high > estimate.upper:
        return "interval passes a bound"
    return "by profile" if estimate.interval_kind == "profile" else ""


def merged_into(base: Sequence[str]) -> str:
    """Return a remark on the base parameters that contain a parameter."""
    few = len(base) <= _MOST_BASE
    return f"in {' and '.join(base)}" if few else f"in {len(base)} base parameters"


def uncertain(e: ParameterEstimate) -> list[str]:
    """Return value, standard error and interval of a parameter as text."""
    if e.fixed or e.base:
        return [plain(e.value), "", ""]
    return [*with_error(e.value, e.standard_error), interval(e.interval_95, e.standard_error)]


def _parameters(result: EstimationResult) -> list[Block]:
    white = {} if result.noise is None else result.noise.white_errors
    rows = []
    for e in result.estimates:
        value, *rest = uncertain(e)
        comment = remark(e, result.identifiability)
        quiet = comment == "fixed" or comment.startswith("in ")
        rows.append(
            [
                Cell(e.name, "code", e.description),
                Cell(value, "value"),
                *rest,
                *([plain(white[e.name], 2) if e.name in white else ""] if white else []),
                unit_text(e.unit),
                plain(e.initial),
                bounds_text(e),
                Cell(comment, "quiet" if quiet else "tag"),
            ]
        )
    more = ["if white"] if white else []
    blocks: list[Block] = [
        Table(
            ["parameter", "value", "+-", "95 % interval", *more, "unit", "initial", "bounds", ""],
            rows,
            "<>>>" + ">" * len(more) + "<>><",
            ["initial", *more, "+-"],
            ["bounds"],
        )
    ]
    base = [
        [Cell(e.name, "code"), *uncertain(e), unit_text(e.unit), Cell(e.expression, "code")]
        for e in result.base_parameters
    ]
    if base:
        header = ["base parameter", "value", "+-", "95 % interval", "unit", "formula"]
        blocks += [
            Text("The data determine these combinations, but not the parameters in them.", True),
            Table(header, base, "<>>><<", ["+-", "unit"]),
        ]
    if result.noise is not None:
        blocks.append(Text(sentence(result.noise.summary), about=True))
    return [*blocks, Plot(partial(forest_chart, result), file="intervals")]


def bounds_text(e: ParameterEstimate | Parameter) -> str:
    """Return the bounds of a searched parameter as text; empty if there is none."""
    if not e.searched or (np.isinf(e.lower) and np.isinf(e.upper)):
        return ""
    low = "-∞" if np.isinf(e.lower) else plain(e.lower)
    high = "∞" if np.isinf(e.upper) else plain(e.upper)
    return f"{low} … {high}"


# ------------------------------------------------------------------- signals and residuals


def _fits(result: EstimationResult) -> list[Block]:
    if not result.fits:
        return [Text("The run ended before a fit could be computed.", about=True)]
    rows = [
        [
            f.experiment,
            Cell(f.name, "code"),
            plain(f.rms_initial, 4),
            plain(f.rms, 4),
            unit_text(f.unit),
            percent(f.relative_error),
        ]
        for f in result.fits[:_MOST_FITS]
    ]
    header = ["experiment", "output", "rms before", "rms after", "unit", "relative error"]
    known = any(np.isfinite(f.sigma).all() for f in result.fits)
    dashed = (
        "Dashed in the residual plots: ±1.96 standard deviations of the noise. If the model is"
        " right, 95 % of the residuals lie between them."
    )
    return [
        Table(header, rows, "<<>><>", ["rms before"]),
        *_left_out(len(result.fits) - len(rows)),
        *(Text(text) for text in result.assumed_units),
        *([Text(dashed, about=True)] if known else []),
        *_fit_plots(result.fits, "fit"),
    ]


def _left_out(count: int) -> list[Block]:
    return [Text(f"... and {count} more in result.json")] if count > 0 else []


def _fit_plots(fits: Sequence[OutputFit], word: str) -> list[Block]:
    return [
        Plot(
            partial(fit_chart, fit),
            fit.name,
            fit.experiment,
            f"{word}-{number}-{fit.experiment}-{fit.name}",
            f"Samples: {', '.join(map(str, fit.excluded))}." if fit.excluded else "",
        )
        for number, fit in enumerate(fits, 1)
    ]


def _validation(result: EstimationResult) -> list[Block]:
    held_out = result.validation
    if held_out is None:
        return []
    rows = [
        [
            kind,
            f.experiment,
            Cell(f.name, "code"),
            plain(f.rms, 4),
            unit_text(f.unit),
            percent(f.relative_error),
            plain(f.nrmse, 3),
            percent(1.0 - f.vaf),
        ]
        for kind, fits in (("fitted", result.fits), ("validation", held_out.fits))
        for f in fits[:_MOST_FITS]
    ]
    header = ["data", "experiment", "output", "rms", "unit", "relative error", "NRMSE",
              "unexplained"]  # fmt: skip
    left = sum(max(len(fits) - _MOST_FITS, 0) for fits in (result.fits, held_out.fits))
    return [
        Text("Experiments that were not fitted, simulated with the estimated values.", about=True),
        Table(header, rows, "<<<><>>>", ["relative error", "unit", "rms"]),
        *_left_out(left),
        *(Text(fact) for fact in residual_facts(result)),
        Text(
            "NRMSE: root mean square of the residual over the standard deviation of the measured"
            " values. Unexplained: variance of the residual over that of the measured values.",
            about=True,
        ),
        *(Text(f"{n} could not be simulated: {why}") for n, why in held_out.failures.items()),
        *_fit_plots(held_out.fits, "validation"),
    ]


def residual_facts(result: EstimationResult) -> list[str]:
    """Return what the residuals of fitted and validation experiments say, as sentences."""
    checks = [("fitted", result.residuals)]
    if result.validation is not None:
        checks.append(("validation", result.validation.residuals))
    facts = []
    for kind, check in checks:
        if check is not None:
            known = not math.isnan(check.noise_ratio)
            size = f"{plain(check.noise_ratio, 3)} times the noise, " if known else ""
            correlated = check.autocorrelation > 0.0
            color = f"neighbours correlated by {check.autocorrelation:.2f}"
            facts.append(
                f"Residuals of {kind} experiments: {size}{color if correlated else 'white'}."
            )
    return facts


def _residuals(result: EstimationResult) -> list[Block]:
    return [
        Plot(
            partial(histogram_chart, result.fits), "Residuals", "of all outputs", "residuals",
            half=True,
        ),
        Plot(
            partial(search.cost_chart, result.history), "Cost", "over the iterations", "cost",
            half=True,
        ),
    ]  # fmt: skip


def _diagnostics(result: EstimationResult) -> list[Block]:
    held_out = () if result.validation is None else result.validation.fits
    fits = [
        *((fit, "", "residuals") for fit in result.fits),
        *((fit, ", not fitted", "residuals") for fit in held_out),
        *((fit, ", whitened by the model of the noise", "") for fit in result.whitened),
    ]
    plots = [
        Plot(
            partial(_diagnosed, fit, result),
            fit.name,
            fit.experiment + of,
            word and f"{word}-{number}-{fit.experiment}-{fit.name}",
            folded=number > 1,
        )
        for number, (fit, of, word) in enumerate(fits, 1)
    ]
    about = (
        "Residuals are divided by their standard deviation. If the model explains the data, about"
        " 5 in 100 bars lie outside the dashed lines. Autocorrelation means that the model lacks"
        " something, or that the noise is not white. Correlation with an earlier input means that a"
        " part of its effect is missing; correlation with a later input means that the input"
        f" depends on the output, as in a closed loop. At most {_MOST_INPUTS} inputs are shown,"
        " those with the greatest correlation."
    )
    return [*plots, Text(about, about=True)] if any(p.chart for p in plots) else []


def _diagnosed(fit: OutputFit, result: EstimationResult) -> Any:
    inputs = {
        signal.name: np.interp(fit.times, signal.times, signal.values)
        for signal in result.inputs
        if signal.experiment == fit.experiment and signal.times.size and fit.times.size
    }
    return diagnostics_chart(fit, inputs, _MOST_INPUTS)


def _inputs(result: EstimationResult) -> list[Block]:
    signals: dict[str, list[InputSignal]] = {}
    for signal in result.inputs:
        if signal.times.size > 1:
            signals.setdefault(signal.experiment, []).append(signal)
    blocks: list[Block] = []
    for number, (name, own) in enumerate(signals.items(), 1):
        more = len(own) - _MOST_INPUTS_DRAWN
        about = ("" if own[0].fitted else "not fitted") + (
            f" ({more} more inputs are in inputs.csv)" if more > 0 else ""
        )
        draw = partial(inputs_chart, own[:_MOST_INPUTS_DRAWN])
        blocks.append(Plot(draw, name, about, f"inputs-{number}-{name}", folded=number > 1))
    return blocks


def _series(result: EstimationResult) -> list[Block]:
    final = np.array([e.value for e in result.estimates if e.searched])
    about = "Dashed: the estimate of the whole run. Shaded: 95 % interval of the online estimator."
    plots = [
        Plot(partial(series_chart, s, final), "", s.experiment, f"series-{number}-{s.experiment}")
        for number, s in enumerate(result.series, 1)
    ]
    return [*plots, Text(about, about=True)] if plots else []


# ------------------------------------------------------------------------------ uncertainty


def _priors(result: EstimationResult) -> list[Block]:
    if result.priors is None:
        return []
    rows = [
        [
            Cell(c.name, "code"),
            f"{c.prior} {unit_text(c.unit)}".rstrip(),
            "" if math.isnan(c.data_value) else " +- ".join(with_error(c.data_value, c.data_error)),
            "" if math.isnan(c.share) else percent(float(f"{c.share:.2g}")),
            "" if math.isnan(c.deviation) else f"{c.deviation:+.2g}",
            probability(c.p_value),
        ]
        for c in result.priors.checks
    ]
    about = (
        "What was known before the data, what the data alone say (to first order at the estimate),"
        " and the share of the priors in the variance of the estimate. Apart: from the prior to"
        " what data and other priors say, in standard deviations of the difference; p: how"
        " probable a larger one is."
    )
    header = ["parameter", "prior", "by the data alone", "of the priors", "apart", "p"]
    return [
        Table(header, rows, "<<>>>>", ["p", "apart"]),
        Text(about, about=True),
        *(Text(fact, about=True) for fact in _prior_facts(result.priors)),
    ]


def _prior_facts(priors: PriorKnowledge) -> list[str]:
    facts = []
    if priors.compared:
        p = probability(priors.p_value)
        agrees = "contradict" if priors.conflict else "do not contradict"
        facts.append(
            f"Priors and data {agrees} each other: squared distance {plain(priors.distance, 3)},"
            f" {priors.compared} degree{'s' * (priors.compared > 1)} of freedom,"
            f" p {'' if p.startswith('<') else '= '}{p}."
        )
    own = {c.name for c in priors.checks}
    others = {n: s for n, s in priors.shares.items() if n not in own and s > 0.01}
    if others:
        shares = ", ".join(f"{n} {percent(float(f'{s:.2g}'))}" for n, s in others.items())
        facts.append(f"Priors of others also tell what these are, by shares of: {shares}.")
    return facts


def _draws(result: EstimationResult) -> list[Block]:
    if result.draws is None:
        return []
    rows = [
        [
            Cell(name, "code"),
            with_error(one.median, one.sd)[0],
            with_error(one.mean, one.sd)[0],
            plain(one.sd, 3),
            f"{one.bulk:.0f}",
            f"{one.tail:.0f}",
            f"{one.r_hat:.3f}",
        ]
        for name, one in result.draws.parameters.items()
    ]
    about = (
        f"{result.draws.count} draws from the posterior distribution of the parameters. Effective:"
        " the number of independent draws that would tell as much about the middle and about the"
        " tails. R-hat is 1 if all chains agree."
    )
    header = ["parameter", "median", "mean", "sd", "effective", "in tails", "R-hat"]
    more = len(rows) - MOST_PARAMETERS
    return [
        Table(header, rows, "<>>>>>>", ["mean", "in tails"]),
        Text(about, about=True),
        Plot(partial(pairs_chart, result), file="draws-pairs"),
        *([Text(f"{more} more parameters are not drawn over pairs.", True)] if more > 0 else []),
        Plot(
            partial(trace_chart, result), "Chains", "those that agree cover the same range from the"
            " first draw to the last; all draws are in draws.csv", "draws",
        ),
    ]  # fmt: skip


def _correlation(result: EstimationResult) -> list[Block]:
    names = [e.name for e in result.estimates if e.searched]
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if matrix.shape != (len(names), len(names)):
        return []
    known = [k for k in range(len(names)) if np.isfinite(matrix[k]).any()]
    if len(known) < 2:
        return []
    rows = [[names[i], *(_correlated(matrix[i, j], i - j) for j in known)] for i in known]
    strong = (
        f"Framed: at least {STRONG_CORRELATION:.2f} in magnitude. The data hardly tell such"
        " parameters apart."
    )
    table = Table(["", *(names[k] for k in known)], rows, matrix=True)
    return [table, *([Text(strong, about=True)] if correlated_pairs(result) else [])]


def _correlated(value: float, below: int) -> Cell:
    if below <= 0 or not np.isfinite(value):
        text = "" if below < 0 else "1" if below == 0 else "n/a"
        return Cell(text, "" if text else "empty", color="var(--faint)" if text else "")
    depth = 0.55 * min(abs(value), 1.0) ** 1.5
    strong = "strong" if abs(value) >= STRONG_CORRELATION else ""
    tint = _BLUE if value > 0 else _ORANGE
    return Cell(f"{value:+.2f}", strong, color=f"rgba({tint},{depth:.2f})")


def _sensitivities(result: EstimationResult) -> list[Block]:
    every = result.sensitivities
    if not every:
        reason = "the result does not hold them"
        if result.identifiability is None:
            reason = "the run computed no derivatives of the samples at its end"
        return [Text(f"None: {reason}.", about=True)] if result.fits else []
    where = [", ".join(filter(None, (s.experiment, s.stage))) for s in every]
    blocks: list[Block] = [
        Text(
            "Change of an output, in units of its noise σ, when a parameter changes by the standard"
            " error that it would have if all others were known. Where a curve is far from zero,"
            " the samples carry information about the parameter; where two curves have the same"
            " shape in all outputs, the data cannot tell these parameters apart. The squares of a"
            " curve over all samples of all outputs add up to 1.",
            about=True,
        )
    ]
    if len(every) > 1:
        shares = [dict(zip(s.parameters, s.shares.tolist(), strict=True)) for s in every]
        names = dict.fromkeys(name for s in every for name in s.parameters)
        header = ["", *(Cell(s.name, about=of) for s, of in zip(every, where, strict=True))]
        rows = [[name, *(_shared(one.get(name)) for one in shares)] for name in names]
        about = "Which share of the information about a parameter comes from each output:"
        blocks += [Text(about, about=True), Table(header, rows, matrix=True)]
    for number, (s, of) in enumerate(zip(every, where, strict=True), 1):
        stage = f"{s.stage}-" if s.stage else ""
        file = f"sensitivities-{number}-{stage}{s.experiment}-{s.name}"
        blocks.append(Plot(partial(sensitivity_chart, s), s.name, of, file))
    return blocks


def _shared(share: float | None) -> Cell:
    if share is None:
        return Cell("", "empty")
    return Cell(share_text(share), color=f"rgba({_BLUE},{0.55 * min(share, 1.0):.2f})")


def share_text(share: float) -> str:
    """Return a fraction as a percentage with one decimal."""
    if 0.0 < share < _LEAST_SHARE:
        return f"< {100.0 * _LEAST_SHARE:g} %"
    return f"{100.0 * share:.1f} %"


def _identifiability(result: EstimationResult) -> list[Block]:
    judged = result.identifiability
    plot = Plot(partial(identifiability_chart, judged), file="identifiability")
    if judged is None or plot.chart is None:
        return []
    stage = f" Of the last stage, {result.stages[-1].name}." if result.stages else ""
    bars = (
        " The bars show the combinations that the data determine least: parameters that change"
        " together in these proportions hardly change the outputs, or not visibly if the"
        " combination is not determined."
    )
    blocks: list[Block] = [
        Text(sentence(judged.verdict) + stage),
        plot,
        Text(
            "Each parameter is in units of the standard error that it would have if all others were"
            " known. A combination with a singular value of 0.1 is known 10 times worse than each"
            " parameter would be alone; one with 1 or more is known no worse."
            + (bars if judged.weakest else ""),
            about=True,
        ),
    ]
    if judged.fixing:
        rows = [_fixing(number, step) for number, step in enumerate(judged.fixing, 1)]
        header = ["", "fix", "collinearity before", "after", "a value that is 10 % too large moves"]
        about = (
            "Which to fix first, where its value is known from elsewhere: without it the others can"
            " be told apart best. The collinearity index is 1 over the smallest singular value; up"
            " to 10 the parameters can be told apart."
        )
        blocks += [Text(about), Table(header, rows, "><>><")]
    return blocks


def _fixing(number: int, step: FixingStep) -> list[str]:
    shifts = sorted(step.shifts.items(), key=lambda one: -abs(one[1]))
    texts = [f"{name} {10.0 * x:+.2g} %" for name, x in shifts if abs(x) >= _LEAST_SHIFT]
    moved = listed(texts, _MOST_SHIFTS)
    before, after = collinearity_text(step.before), collinearity_text(step.after)
    return [str(number), step.name, before, after, moved]


# ------------------------------------------------------------------------------- the search


def _stages(result: EstimationResult) -> list[Block]:
    rows = [
        [
            s.name,
            s.estimator,
            s.cost,
            plain(s.cost_initial, 4),
            plain(s.cost_final, 4),
            s.status,
            str(s.simulations),
            duration(s.seconds),
            ", ".join(f"{n} = {plain(v)}" for n, v in s.parameters.items()),
            _held(s),
            ", ".join(s.parameters),
        ]
        for s in result.stages
    ]
    header = ["stage", "estimator", "cost", "before", "after", "status", "simulations", "time",
              "found", "held as found before", "searched"]  # fmt: skip
    spare, on_page = ["simulations", "before"], ["time", "found", "held as found before"]
    return [Table(header, rows, "<<<>><>><<<", spare, on_page)] if rows else []


def _held(stage: StageResult) -> str:
    """Return which held values the intervals of a stage account for."""
    uncertainty = stage.uncertainty
    if uncertainty is None:
        return ""
    counted = f"{', '.join(uncertainty.counted)} (uncertainty counted)"
    known = f"{', '.join(uncertainty.taken_for_known)} (taken for exactly known)"
    parts = [(uncertainty.counted, counted), (uncertainty.taken_for_known, known)]
    return "; ".join(text for names, text in parts if names)


def _population(result: EstimationResult) -> list[Block]:
    blocks: list[Block] = []
    for stage, generations, searched in search.by_stage(result) if result.generations else ():
        ending = f"-{stage}" if stage else ""
        name = f"Stage {stage}" if stage else ""
        population = search.population_chart(generations, searched)
        chart, colors = population or (None, "")
        history = partial(search.generations_chart, generations)
        more = len(searched) - search.MOST_PARAMETERS
        left = f" {more} more parameters are not drawn." if more > 0 else ""
        blocks += [
            Plot(history, name, file=f"generations{ending}"),
            Plot(lambda chart=chart: chart, file=f"population{ending}", note=colors + left),  # type: ignore[misc]
        ]
    about = (
        "Every vector that was simulated, coloured by its cost; grey crosses are simulations that"
        " failed. All of them are in population.csv."
    )
    return [*blocks, Text(about, about=True)] if blocks else []


def _starts(result: EstimationResult) -> list[Block]:
    about = (
        "The starts, ordered by the cost that they reached. Each step in the cost is a minimum."
        " Starts on one step with equal parameters found the same minimum; if their parameters"
        " differ, the data cannot tell these parameters apart."
    )
    plot = Plot(partial(search.starts_chart, result), file="starts")
    return [plot, Text(about, about=True)] if plot.chart else []


# ---------------------------------------------------------------------------------- the run


def jacobians(result: EstimationResult) -> str:
    """Return the number of Jacobians of a run, and their origin."""
    origin = f" ({result.derivatives_by})" if result.derivatives_by else ""
    return f"{result.jacobians} Jacobian{'s' * (result.jacobians != 1)}{origin}"


def _entries(result: EstimationResult) -> list[Entry]:
    cost = f"{plain(result.cost_initial)} → {plain(result.cost_final)} ({_cost_meaning(result)})"
    fmu = [result.fmu_name, str(result.fmu_path or ""), result.fmu_tool, result.fmu_guid]
    return [
        Entry("Status", [result.status]),
        Entry("Estimator", [result.estimator]),
        *_settings(result.settings),
        Entry("Cost", [cost]),
        Entry("FMU", [line for line in fmu if line]),
    ]


def _settings(settings: Mapping[str, object]) -> list[Entry]:
    entries: list[Entry] = []
    for key, value in settings.items():
        heading = key.replace("_", " ").capitalize()
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            value = dict(enumerate(value, 1))
        if key == "options" and "stages" in settings:
            continue  # those of the last stage, shown with the others
        if not isinstance(value, Mapping):
            entries.append(Entry(heading, [_text(value)]))
        elif key == "stages":  # each has options of its own: one table would be very wide
            for name, options in value.items():
                own = options if isinstance(options, Mapping) else {}
                rows = [[str(k), _text(v)] for k, v in own.items()]
                entries.append(Entry(f"Options of stage '{name}'", ["none"], (), rows))
        elif value and all(isinstance(item, Mapping) for item in value.values()):
            columns = list(dict.fromkeys(str(k) for item in value.values() for k in item))
            rows = [[str(n), *(_text(v.get(c, "")) for c in columns)] for n, v in value.items()]
            entries.append(Entry(heading, (), ["", *map(_words, columns)], rows))
        elif value:
            entries.append(Entry(heading, (), (), [[str(k), _text(v)] for k, v in value.items()]))
    return entries


def _cost_meaning(result: EstimationResult) -> str:
    chosen = {k: v for k, v in result.cost_options.items() if v is not None}
    if result.cost == "time-domain" and chosen.get("normalisation", "none") == "none":
        return "half the sum of the squared whitened residuals"
    return f"{result.cost}: {_text(chosen)}" if chosen else result.cost


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(k)} {_text(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value)
    return "default" if value is None else str(value)


def _summary(result: EstimationResult) -> Summary:
    judged = verdict(result)
    notes = [f.note for f in result.findings if f.code != "reading"]
    effort = (
        f"{result.estimator}: {result.message.rstrip('.')}; {result.simulations} simulations,"
        f" {jacobians(result)}, {duration(result.seconds)}"
    )
    return Summary(judged.headline, judged.grade, judged.reasons, notes, judged.more, effort)


ESTIMATE: Contents[EstimationResult] = Contents(
    kicker="Parameter estimation",
    command="estimate",
    marker=FILE_NAME,
    page=PAGE,
    codec=CODEC,
    load=lambda content, folder: with_signals(result_of(content), folder),
    summary=_summary,
    parts=[
        Part("Parameters", _parameters, brief=True),
        Part("Measured against simulated", _fits, brief=True, rest="fit.csv has them"),
        Part("Validation", _validation, brief=True, rest="validation.csv has them"),
        Part("Priors", _priors, brief=True),
        Part("Posterior", _draws, brief=True),
        Part("Stages", _stages, brief=True),
        Part("Correlation of the estimates", _correlation),
        Part("Estimates over time", _series, rest="series.csv has them"),
        Part("Population", _population),
        Part("Inputs", _inputs, rest="inputs.csv has them"),
        Part("Residuals and cost", _residuals),
        Part("Residuals of each output", _diagnostics, rest="they follow from fit.csv"),
        Part("Sensitivities over time", _sensitivities, rest="sensitivities.csv has them"),
        Part("Identifiability", _identifiability),
        Part(
            "Parameters over the iterations",
            lambda r: [Plot(partial(search.path_chart, r), file="parameters")],
        ),
        Part("Starts", _starts),
        Part(
            "How the data were read",
            lambda r: [Text(f.note) for f in r.findings if f.code == "reading"],
            brief=True,
        ),
    ],
    facts=lambda r: [r.estimator, f"{r.simulations} simulations", duration(r.seconds)],
    entries=_entries,
    tables=tables_of,
    title=lambda result: result.fmu_name,
    keeps_model=False,
    read_brief=lambda folder: read_result(folder).result,
)


class JsonReporter(Reporter):
    """Writes ``result.json``."""

    summary = "result.json: parameters, uncertainty, cost and fit for programs"

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write ``result.json`` into `folder`."""
        ESTIMATE.write_json(result, problem, folder)


class CsvReporter(Reporter):
    """Writes the tables; only parameters, fit and history are written even if empty."""

    summary = (
        "parameters.csv, fit.csv, history.csv and, if any, inputs, validation, excluded,"
        " sensitivities, series, population, draws"
    )

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write the tables into `folder`."""
        ESTIMATE.write_tables(result, folder)


class HtmlReporter(Reporter, TakesSections):
    """Writes ``report.html``."""

    summary = "report.html: verdict, parameters, plots of measured against simulated"

    def __init__(self) -> None:
        self._sections: Sequence[Section] = ()

    def take_sections(self, sections: Sequence[Section]) -> None:
        """Receive the sections, which precede the run information."""
        self._sections = sections

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write ``report.html`` into `folder`.

        Raises `FmidentError` if a section failed; the page is still written, with a note in its
        place.
        """
        failed: dict[str, Exception] = {}
        ESTIMATE.write_page(result, problem, folder, self._sections, failed)
        for name, error in failed.items():
            raise FmidentError(
                f"the section '{name}' of {PAGE} could not be made: "
                f"{type(error).__name__}: {error}",
                location=raised_in(error, "fmident.report"),
            ) from error


# ------------------------------------------------------------------------------ the problem


def problem_view(problem: Problem) -> str:
    """Return parameters and experiments of a problem as HTML for a notebook."""
    facts = [f"Estimator: {problem.estimator.name}", f"Cost: {problem.cost.name}"]
    facts += [f"Stages: {', '.join(s.name for s in problem.stages)}"] if problem.stages else []
    facts += [f"Constraint: {c.text}" for c in problem.constraints]
    held_out = {e.name for e in problem.validation}
    every = [*problem.experiments, *problem.validation]
    more = len(every) - _MOST_EXPERIMENTS
    experiments = [_experiment(e, e.name in held_out) for e in every[:_MOST_EXPERIMENTS]]
    parameters = Table(
        ["Parameter", "Initial", "Bounds", "Unit", "Sets", ""],
        [
            [p.name, plain(p.initial), bounds_text(p), unit_text(p.unit),
             p.variable or "measurement", _kind(p)]
            for p in problem.parameters
        ],
    )  # fmt: skip
    blocks: list[Block] = [
        Table(["Experiment", "Samples", "Duration", "Inputs", "Outputs", ""], experiments),
        *([Text(f"... and {more} more")] if more > 0 else []),
        *map(Text, facts),
    ]
    sections = [Section("Parameters", [parameters]), Section("Experiments", blocks)]
    return Page("Problem", problem.fmu.stem, None, sections).embedded()


def _kind(p: Parameter) -> str:
    if p.expression is not None:
        text = p.expression.text
        return text if "=" in text else f"= {text}"
    return "fixed" if p.fixed else "log scaling" if p.scaling == "log" else ""


def _experiment(e: Experiment, held_out: bool) -> list[str]:
    length = float(e.times[-1] - e.times[0]) if e.times.size else math.nan
    return [
        e.name,
        str(e.samples),
        duration(length),
        ", ".join(e.inputs),
        ", ".join(m.name for m in e.measurements),
        "validation" if held_out else "",
    ]
