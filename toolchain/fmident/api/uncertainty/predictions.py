"""Predictions of a result, everything wired together: problem, new data, executors.

:func:`predict` is what ``fmident.predict`` is, and what the command line calls.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.api.uncertainty.begin import start_of
from fmident.api.uncertainty.new_data import PROBLEM, problem_with
from fmident.api.wiring import Report, loaded, warn
from fmident.arrays import F64
from fmident.errors import Code, Diagnostic, EstimationError, Location, ProblemError
from fmident.estimation.result import EstimationResult
from fmident.prediction import Prediction, Uncertainty

if TYPE_CHECKING:
    from fmident.plugins import Host
    from fmident.problem.model import Problem


def predict(
    result: str | Path,
    *,
    data: str | Path | Sequence[str | Path] = (),
    like: str | None = None,
    bootstrap: str | Path | None = None,
    linearised: bool = False,
    level: float = 0.95,
    fitted: bool = True,
    overrides: Mapping[str, object] | None = None,
    host: Host | None = None,
    report: Report = warn,
    listener: Callable[[int, int], None] = lambda _, __: None,
    folder: str | Path | None = None,
    replace: bool = False,
) -> Prediction:
    """Predict experiments with the parameters of a result, with bands of mean and new samples.

    The experiments for validation of the problem are predicted, those of `data`, and those that
    were fitted. Where new samples were measured, those inside of the band are counted.

    Parameters
    ----------
    result
        Folder that ``fmident estimate`` wrote.
    data
        Data files of further experiments, with the columns of an experiment of the problem; those
        of outputs may be missing.
    like
        Name of that experiment; the first one by default.
    bootstrap
        Folder that ``fmident bootstrap`` wrote: its replicates say how uncertain the parameters
        are. By default draws do where the result has them, else its covariance.
    linearised
        Whether the covariance does, also where the result has draws.
    level
        Probability of the bands.
    fitted
        Whether the experiments that were fitted are predicted, too.
    overrides
        Of keys of the problem file, such as ``{"evaluation.workers": 2}``.
    host
        Plugins; loaded when not given.
    report
        Takes warnings and notes; Python warnings by default.
    listener
        Receives how many experiments are done, and how many there are.
    folder
        Where the result folder is written.
    replace
        Whether an earlier one there is deleted, not kept.

    Returns
    -------
    fmident.prediction.Prediction
        With a band for each output.

    Raises
    ------
    fmident.errors.FmidentError
        There is no result, it is of another problem, or a file does not have the columns.
    """
    from fmident.api.results import load_result
    from fmident.estimation.checks import check_survives
    from fmident.evaluation import runs_in_this_process
    from fmident.evaluation.journal import recording
    from fmident.prediction import predict as predicted
    from fmident.report.folder import check_target, lacks_room

    if not 0.0 < level < 1.0:
        raise ProblemError(f"a confidence level lies between 0 and 1, not {level:g}")
    if folder is not None:
        check_target(Path(folder), "prediction.json")
    host = loaded(host, report)
    place = Path(result).parent if Path(result).is_file() else Path(result)
    if not place.is_dir():
        raise EstimationError(
            f"there is no '{place}'",
            hint="give the folder that 'fmident estimate' wrote",
            code=Code.UNKNOWN_NAME,
        )
    found = load_result(place)
    if not isinstance(found, EstimationResult):
        raise EstimationError(
            f"'{place}' holds no estimate",
            hint="give the folder that 'fmident estimate' wrote",
            code=Code.UNUSABLE_FILE,
        )
    files = [data] if isinstance(data, str | Path) else list(data)
    problem = problem_with(place, [Path(f) for f in files], like, overrides, host, report)
    if any(stage.separate for stage in problem.stages):
        raise ProblemError(
            "stages with a problem file of their own cannot be predicted together",
            location=Location(str(place / PROBLEM)),
            hint="predict from a result of one problem file",
            code=Code.NOT_SUPPORTED,
        )
    if folder is not None and (lack := lacks_room(Path(folder), problem)):
        message = f"there is no room for the result in '{folder}': {lack}"
        report([Diagnostic("warning", message, hint="make room, or choose another folder")])
    new = problem.validation
    if not new and not fitted:
        raise ProblemError(
            "there is no new experiment to predict",
            location=Location(str(place / PROBLEM)),
            hint='give a file with --data, or an experiment of the problem role = "validation"',
        )
    start = start_of(problem, found)
    uncertainty = _uncertainty(problem, found, bootstrap, linearised=linearised)
    kinds = host.executors.by_name
    if runs_in_this_process(problem, kinds):
        check_survives(dataclasses.replace(problem, constraints=(), stages=()))
    executor_of = recording(None, kinds, warn=lambda diagnostic: report([diagnostic]))
    prediction = predicted(
        problem,
        new,
        start,
        uncertainty,
        executor_of,
        level=level,
        fitted=fitted,
        listener=listener,
    )
    settings = {"result": str(place), "data": [str(f) for f in files]}
    prediction = dataclasses.replace(prediction, settings=settings)
    if folder is not None:
        _write(prediction, problem, Path(folder), replace=replace, report=report)
    return prediction


def _write(
    prediction: Prediction, problem: Problem, folder: Path, *, replace: bool, report: Report
) -> None:
    from fmident.report.folder import place_folder
    from fmident.report.prediction.folder import PREDICTION

    def fill(work: Path) -> None:
        PREDICTION.write(prediction, problem, work)

    placed = place_folder(folder, problem, fill, report, replace=replace, marker=PREDICTION.marker)
    if placed.earlier is not None:
        report([Diagnostic("note", f"the earlier prediction is kept as '{placed.earlier}'")])


def _uncertainty(
    problem: Problem,
    result: EstimationResult,
    bootstrap: str | Path | None,
    *,
    linearised: bool,
) -> Uncertainty:
    """Return what is known of the parameters, from where it was asked for."""
    from fmident.prediction import chosen_draws, covariance_of

    count = len(problem.free)
    nothing = np.zeros((count, count))
    names = [q.name for q in problem.free]
    if bootstrap is not None:
        draws = _replicates(Path(bootstrap), problem, result)
        return Uncertainty("bootstrap", nothing, np.inf, chosen_draws(draws))
    drawn = result.draws
    if drawn is not None and drawn.values.size and not linearised:
        searched = [e.name for e in result.estimates if e.searched]
        order = [searched.index(name) for name in names]
        flat = drawn.values.reshape(-1, drawn.values.shape[-1])[:, order]
        return Uncertainty("posterior", nothing, np.inf, chosen_draws(flat))
    covariance, freedom = covariance_of(problem, result)
    return Uncertainty("linearised", covariance, freedom, np.empty((0, count)))


def _replicates(folder: Path, problem: Problem, result: EstimationResult) -> F64:
    """Return the replicates of a bootstrap, shape (k, n).

    Raises
    ------
    fmident.errors.EstimationError
        There are none, or they are those of another estimate.
    """
    from fmident.report.bootstrap.folder import BOOTSTRAP

    found = BOOTSTRAP.read(folder)
    stored = {p.name: p for p in found.parameters}
    names = [q.name for q in problem.free]
    if missing := [n for n in names if n not in stored]:
        raise EstimationError(
            f"the bootstrap in '{folder}' has no parameter {', '.join(missing)}",
            hint="give the folder that 'fmident bootstrap' wrote",
            code=Code.UNKNOWN_NAME,
        )
    for name in names:
        value, size = stored[name].value, stored[name].standard_error
        off = abs(value - result.values[name])
        if math.isnan(size):
            raise EstimationError(
                f"the bootstrap in '{folder}' does not determine {name}: its replicates do not say"
                " how uncertain a prediction is",
                hint="predict by the covariance of the result",
            )
        if off > 0.05 * size:
            raise EstimationError(
                f"the bootstrap in '{folder}' is of another estimate: {name} is"
                f" {value:.6g} there, {result.values[name]:.6g} in the result",
                hint="bootstrap this result: fmident bootstrap PROBLEM --result RESULT",
            )
    return found.replicates[:, [found.names.index(n) for n in names]]
