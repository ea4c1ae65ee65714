"""Validity checks of a problem, whether from a file or from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fmident.arrays import F64
from fmident.data import Experiment, Measurement
from fmident.data.prepare import check_equidistant
from fmident.errors import (
    Code,
    DataError,
    Diagnostic,
    Location,
    ProblemError,
    did_you_mean,
    unknown_name,
)
from fmident.fmu import ModelDescription, Variable
from fmident.problem.dependent import named_elsewhere
from fmident.problem.model import Parameter, Problem

Where = Callable[..., Location | None]
"""Keys of the problem file to their place."""


def _nowhere(*_keys: str | int) -> Location | None:
    return None


def validate_problem(
    problem: Problem, description: ModelDescription, *, where: Where = _nowhere
) -> None:
    """Check a problem for consistency with its FMU and with itself.

    `where` gives the location of a key for the message. Raises `ProblemError` at the first
    inconsistency.
    """
    everything = (*problem.experiments, *problem.validation)
    names = [e.name for e in everything]
    order = problem.file.experiments or tuple(names)
    if not problem.parameters or not problem.free:
        raise ProblemError(
            "no parameter is free: there is nothing to estimate",
            location=where("parameters"),
            hint="remove 'fixed = true' from at least one",
        )
    for parameter in problem.parameters:
        _check_values(parameter, where)
        _check_prior(parameter, where)
        _check_experiments(parameter, names, where)
        _refuse_unfitted(problem, parameter, where)
    _refuse_twice([p.name for p in problem.parameters], "parameters")
    _refuse_twice(names, "experiments")
    _check_variables(problem, description, where)
    _check_references(problem, where)
    for experiment in everything:
        position = order.index(experiment.name)
        check_experiment(
            experiment, description, lambda *keys, i=position: where("experiments", i, *keys)
        )
    _refuse_too_few(problem, where)
    chosen = description.with_interface(problem.evaluation.interface)
    if problem.evaluation.interpolation == "linear" and not chosen.can_interpolate_inputs:
        raise ProblemError(
            "the FMU cannot interpolate its inputs linearly (canInterpolateInputs is false)",
            location=where("evaluation", "interpolation"),
            hint='use interpolation = "auto", "hold" or "mean"',
            code=Code.NOT_SUPPORTED,
        )
    if problem.evaluation.substeps > 1 and chosen.capabilities.kind != "co-simulation":
        raise ProblemError(
            "substeps are those of Co-Simulation; this FMU is simulated as Model Exchange, where"
            " fmident integrates with steps of its own",
            location=where("evaluation", "substeps"),
            hint='leave it out, or set interface = "co-simulation" if the FMU offers it',
            code=Code.NOT_SUPPORTED,
        )


def _refuse_too_few(problem: Problem, where: Where) -> None:
    """Raise if exclusions leave fewer samples than there are searched parameters."""
    measurements = [m for e in problem.experiments for m in e.measurements]
    left = sum(m.rows.size for m in measurements)
    out = sum(e.samples.size for m in measurements for e in m.exclusions if not e.replaced)
    if out and left < len(problem.free):
        raise ProblemError(
            f"{out} samples are excluded; the {left} that {'is' if left == 1 else 'are'} left"
            f" cannot determine {len(problem.free)} parameters",
            location=where("experiments"),
            hint="narrow the condition, or raise the threshold of the Hampel filter",
        )


def input_notes(problem: Problem, description: ModelDescription) -> tuple[Diagnostic, ...]:
    """Return a note on each FMU input that neither data nor a start value sets."""
    notes = []
    for e in (*problem.experiments, *problem.validation):
        given = {*e.inputs, *e.start_values, *problem.start_values}
        for v in description.inputs:
            if v.name not in given:
                notes.append(
                    Diagnostic(
                        "note",
                        f"experiment '{e.name}' has no column for the input '{v.name}'; it keeps "
                        f"its start value {v.start}",
                        location=problem.where(),
                        hint="name a column in [experiments.inputs], or set it in start_values",
                        rule="input-without-data",
                    )
                )
    return tuple(notes)


def _refuse_twice(names: Sequence[str], kind: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(
                f"two {kind} are called '{name}'", hint="give each a name of its own"
            )


def _check_values(p: Parameter, where: Where) -> None:
    place = where("parameters", p.name, "bounds")
    if not np.isfinite(p.initial):
        raise ProblemError(
            f"the initial value of '{p.name}' is not finite", location=where("parameters", p.name)
        )
    if p.scaling == "log" and not p.initial > 0.0:
        raise ProblemError(
            f"'{p.name}' has log scaling, so its initial value must be positive, not {p.initial:g}",
            location=where("parameters", p.name, "initial"),
            hint='give a positive one, or use scaling = "linear"',
        )
    if not p.lower < p.upper:
        raise ProblemError(
            f"the bounds of '{p.name}' are [{p.lower:g}, {p.upper:g}]:"
            " the lower one must be below the upper one",
            location=place,
            hint="write bounds = [lower, upper]",
        )
    if not p.lower <= p.initial <= p.upper:
        raise ProblemError(
            f"the initial value {p.initial:g} of '{p.name}' lies outside its bounds"
            f" [{p.lower:g}, {p.upper:g}]",
            location=place,
            hint="widen the bounds or move the initial value",
        )
    if not (np.isfinite(p.scale) and p.scale > 1e-300 * max(1.0, abs(p.initial))):
        raise ProblemError(
            f"the scale of '{p.name}' must be positive and near its size, not {p.scale:g}",
            location=where("parameters", p.name, "scale"),
        )
    if p.scaling == "log" and p.lower < 0.0:
        raise ProblemError(
            f"'{p.name}' has log scaling, so its bounds must be positive, not"
            f" [{p.lower:g}, {p.upper:g}]",
            location=where("parameters", p.name, "bounds"),
            hint='give positive bounds, or use scaling = "linear"',
        )


def _check_prior(p: Parameter, where: Where) -> None:
    """Check a prior given in Python as the file reader checks one from a file."""
    prior = p.prior
    if prior is None:
        return
    place = where("parameters", p.name, "prior")
    if prior.counts and not (np.isfinite(prior.mean) and np.isfinite(prior.sd) and prior.sd > 0.0):
        raise ProblemError(
            f"the prior of '{p.name}' needs a mean and an sd above 0, not {prior}", location=place
        )
    positive = prior.distribution == "lognormal"
    if positive and not prior.mean > 0.0:
        raise ProblemError(
            f"the prior of '{p.name}' is lognormal, so its mean must be positive", location=place
        )
    lower = 0.0 if positive else prior.lower
    if p.searched and not (lower <= p.lower and p.upper <= prior.upper):
        raise ProblemError(
            f"the bounds [{p.lower:g}, {p.upper:g}] of '{p.name}' go beyond its prior, which is"
            f" {'positive' if positive else prior}",
            location=place,
            hint="narrow the bounds",
        )


def _check_experiments(p: Parameter, names: list[str], where: Where) -> None:
    if p.experiments == ():
        raise ProblemError(
            f"'{p.name}' acts on no experiment",
            location=where("parameters", p.name, "experiments"),
            hint="leave 'experiments' out, and it acts on all",
        )
    for name in p.experiments or ():
        if name not in names:
            raise ProblemError(
                f"'{p.name}' names the experiment '{name}', which does not exist",
                location=where("parameters", p.name, "experiments"),
                **unknown_name(name, names, "experiment"),
            )


def _refuse_unfitted(problem: Problem, p: Parameter, where: Where) -> None:
    if p.searched and p.experiments and problem.validation:
        fitted = {e.name for e in problem.experiments}
        if not fitted.intersection(p.experiments):
            raise ProblemError(
                f"'{p.name}' acts on experiments for validation only, which are not fitted",
                location=where("parameters", p.name, "experiments"),
                hint="write fixed = true, or let it act on an experiment that is fitted",
            )


def _check_variables(problem: Problem, description: ModelDescription, where: Where) -> None:
    """Raise if two parameters set the same variable in the same experiment."""
    for experiment in (*problem.experiments, *problem.validation):
        setters: dict[str, str] = {}
        for p in problem.parameters:
            if p.variable is None or not p.acts_on(experiment.name):
                continue
            check_settable(
                description.variable(p.variable), description, where("parameters", p.name)
            )
            if p.variable in setters:
                raise ProblemError(
                    f"'{setters[p.variable]}' and '{p.name}' both set '{p.variable}'"
                    f" in experiment '{experiment.name}'",
                    location=where("parameters", p.name),
                    hint="limit them to different experiments with 'experiments = [...]'",
                )
            setters[p.variable] = p.name
            if p.variable in experiment.start_values or p.variable in problem.start_values:
                raise ProblemError(
                    f"'{p.variable}' is a parameter and a start value at once",
                    location=where("parameters", p.name),
                    hint="remove it from start_values",
                )


def check_settable(
    variable: Variable, description: ModelDescription, place: Location | None
) -> None:
    """Raise `ProblemError` if a parameter cannot set an FMU variable."""
    if not variable.settable:
        reason, advice = description.why_not_settable(variable.name) or (
            f"it is {variable.why_not_settable}",
            "",
        )
        raise not_settable(variable.name, reason, advice, description, place)
    if variable.type != "Real":
        raise ProblemError(
            f"'{variable.name}' is {variable.type}; only Real variables can be estimated",
            location=place,
            hint="set it in start_values instead",
            code=Code.NOT_SETTABLE,
        )


def not_settable(
    name: str, reason: str, advice: str, description: ModelDescription, place: Location | None
) -> ProblemError:
    """Return the error for a name that no parameter can set."""
    settable = [v.name for v in description.settable_parameters if v.type == "Real"]
    nearest = did_you_mean(name, settable, kind="parameter that can be set")
    nearest = nearest.replace("known:", "those that can be set:")
    return ProblemError(
        f"'{name}' cannot be set in the FMU: {reason}",
        location=place,
        hint=f"{advice}; {nearest}" if advice else nearest,
        code=Code.NOT_SETTABLE,
    )


def _check_references(problem: Problem, where: Where) -> None:
    """Check the names used by the measurement model, and that every parameter is used."""
    everything = {e.name: e for e in (*problem.experiments, *problem.validation)}
    ordered = [everything[n] for n in problem.file.experiments or everything]
    used = check_declared([p.name for p in problem.parameters], ordered, where)
    used |= named_elsewhere(problem)
    for p in problem.parameters:
        if p.variable is None and p.expression is None and p.name not in used:
            raise ProblemError(
                f"parameter '{p.name}' is used nowhere",
                location=where("parameters", p.name),
                hint='name the FMU variable it sets: variable = "..."',
            )


def check_declared(
    names: Sequence[str], experiments: Sequence[Experiment], where: Where
) -> set[str]:
    """Return the parameters named in measurement models.

    `names` are those declared, and `where` gives the location of a key for the message.
    Raises `ProblemError` if one is not declared.
    """
    used: set[str] = set()
    for i, experiment in enumerate(experiments):
        for m in experiment.measurements:
            for key, value in (("gain", m.gain), ("offset", m.offset), ("delay", m.delay)):
                if not isinstance(value, str):
                    continue
                used.add(value)
                if value not in names:
                    raise ProblemError(
                        f"the {key} of '{m.name}' is the parameter '{value}',"
                        " which is not declared",
                        location=where("experiments", i, "outputs", m.name),
                        hint=f"add [parameters.{value}]; "
                        + did_you_mean(value, names, kind="parameter"),
                        code=Code.UNKNOWN_NAME,
                    )
    return used


def check_experiment(experiment: Experiment, description: ModelDescription, where: Where) -> None:
    """Check an experiment for consistency with its FMU and with itself.

    `where` gives the location of a key for the message. Raises `ProblemError` at the first
    inconsistency.
    """
    times = experiment.times
    if times.ndim != 1 or times.size < 2 or not bool(np.all(np.diff(times) > 0.0)):
        raise ProblemError(
            f"experiment '{experiment.name}': the times must be two or more, strictly increasing",
            location=where(),
        )
    for name, values in experiment.inputs.items():
        _check_input(experiment, name, values, description, where("inputs", name))
    if not experiment.measurements:
        raise ProblemError(
            f"experiment '{experiment.name}' has no outputs", location=where("outputs")
        )
    names = [m.name for m in experiment.measurements]
    for measurement in experiment.measurements:
        place = where("outputs", measurement.name)
        if names.count(measurement.name) > 1:
            raise ProblemError(f"two outputs are called '{measurement.name}'", location=place)
        _check_measurement(experiment, measurement, description, place)


def _positive(values: F64) -> bool:
    return bool((np.isfinite(values) & (values > 0.0)).all())


def check_compared(
    variable: Variable, description: ModelDescription, place: Location | None
) -> None:
    """Raise `ProblemError` if an FMU variable cannot be compared with data."""
    kind = {
        "input": "an input",
        "independent": "the time",
        "parameter": "a parameter",
        "calculatedParameter": "a parameter",
    }.get(variable.causality)
    if kind is not None:
        reason = f"'{variable.name}' is {kind} of the FMU, not an output"
    elif variable.type == "String":
        reason = f"'{variable.name}' is a text and cannot be compared with data"
    else:
        return
    raise ProblemError(
        reason,
        location=place,
        hint=did_you_mean(variable.name, [v.name for v in description.outputs], kind="output"),
        code=Code.NOT_AN_OUTPUT,
    )


def _check_input(
    experiment: Experiment,
    name: str,
    values: F64,
    description: ModelDescription,
    place: Location | None,
) -> None:
    inputs = [v.name for v in description.inputs]
    if name not in inputs:
        raise ProblemError(
            f"the FMU of '{description.name}' has no input '{name}'",
            location=place,
            **unknown_name(name, inputs, "input"),
        )
    if values.shape != experiment.times.shape or not bool(np.isfinite(values).all()):
        raise ProblemError(
            f"input '{name}' of experiment '{experiment.name}' needs a finite value at each of "
            f"the {experiment.times.size} instants",
            location=place,
        )


def _check_measurement(
    experiment: Experiment, m: Measurement, description: ModelDescription, place: Location | None
) -> None:
    variable = description.by_name.get(m.variable)
    label = f"output '{m.name}' of experiment '{experiment.name}'"
    if variable is None:
        raise ProblemError(
            f"the FMU of '{description.name}' has no variable '{m.variable}'",
            location=place,
            **unknown_name(m.variable, [v.name for v in description.outputs], "output"),
        )
    check_compared(variable, description, place)
    if m.values.shape != experiment.times.shape:
        raise ProblemError(
            f"{label} has {m.values.size} values for {experiment.times.size} instants",
            location=place,
        )
    if np.isinf(m.values).any() or not np.isfinite(m.values).any():
        raise ProblemError(f"{label} has no finite values", location=place)
    for key, given in (("gain", m.gain), ("offset", m.offset), ("delay", m.delay)):
        if not isinstance(given, str) and not np.isfinite(given):
            raise ProblemError(f"{label}: the {key} must be finite, not {given}", location=place)
    if m.decimation is not None:
        try:
            check_equidistant(experiment.times, "decimation")
            _ = m.compared
        except DataError as error:
            raise ProblemError(
                f"{label}: {error.message}", location=place, hint=error.hint, code=error.code
            ) from error
    sigma = np.ones(1) if m.sigma is None else np.broadcast_to(m.sigma, m.values.shape)[m.rows]
    with np.errstate(all="ignore"):
        factors = m.whitening
    if not (_positive(sigma) and _positive(np.array(m.weight)) and _positive(factors)):
        raise ProblemError(f"{label}: sigma and weight must be positive and finite", location=place)
