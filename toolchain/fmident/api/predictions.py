"""Predictions of a result: problem, new data and executors.

:func:`predict` is ``fmident.predict``; the command line calls it too.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from fmident.api.given_estimates import OfEstimate, estimated, start_of
from fmident.api.problems import PROBLEM, Report, load_problem
from fmident.api.results import load_result
from fmident.api.run import FolderArguments, RunContext, perform, with_arguments
from fmident.arrays import F64
from fmident.data import CsvOptions, csv_of, read_table
from fmident.data.experiment import Experiment
from fmident.errors import Code, EstimationError, ProblemError, unknown_name
from fmident.estimation.result import EstimationResult
from fmident.plugins import Host
from fmident.prediction import Prediction, Uncertainty, chosen_draws, covariance_of
from fmident.prediction import predict as predict_experiments
from fmident.problem import Problem, read_problem_file
from fmident.progress.watch import Watch
from fmident.report.bootstrap import BOOTSTRAP
from fmident.report.prediction import PREDICTION
from fmident.toml_file import Section, Source, encoded, parse_toml

_LEFT_OUT = ("name", "data", "window", "role")
"""Keys of an experiment that new data do not take over."""


@dataclass(frozen=True)
class Predicting(OfEstimate[Prediction]):
    """A prediction from an estimate; options as of :func:`predict`."""

    problem: Problem | str | Path | None = None
    data: str | Path | Sequence[str | Path] = ()
    like: str | None = None
    bootstrap: str | Path | None = None
    linearised: bool = False
    level: float = 0.95
    fitted: bool = True
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    contents = PREDICTION
    marker: ClassVar[str] = PREDICTION.marker
    journalled: ClassVar[bool] = False

    def prepared(
        self, subject: Any, context: RunContext, overrides: Mapping[str, object] | None = None
    ) -> tuple[Self, Problem]:
        """Take the estimate, and the problem with the new data."""
        problem, data = self.problem, self.data
        files = [Path(f) for f in ([data] if isinstance(data, str | Path) else data)]
        settings: dict[str, Any] = {"data": [str(f) for f in files]}
        if isinstance(subject, str | Path):
            place, estimate = estimate_in(subject)
            problem = place / PROBLEM if problem is None else problem
            settings = {"result": str(place), **settings}
        elif isinstance(subject, EstimationResult):
            estimate = subject
            if problem is None:
                raise EstimationError(
                    "a result in memory does not say what was estimated",
                    hint="predict(result, problem=problem)",
                )
        else:
            problem = subject if problem is None else problem
            estimate = estimated(subject, None, context, what="the prediction")
        whole = problem_with(problem, files, self.like, overrides, context.host, context.report)
        return dataclasses.replace(self, result=estimate, settings=settings), whole

    def announcement(self, problem: Problem) -> str:
        """Return nothing."""
        return ""

    def run(self, problem: Problem, context: RunContext) -> Prediction:
        """Predict the experiments for validation, and those that were fitted."""
        estimate = estimated(problem, self.result, context, what="the prediction")
        place = problem.where()
        if not 0.0 < self.level < 1.0:
            raise ProblemError(f"a confidence level lies between 0 and 1, not {self.level:g}")
        if any(stage.separate for stage in problem.stages):
            raise ProblemError(
                "stages with a problem file of their own cannot be predicted together",
                location=place,
                hint="predict from a result of one problem file",
                code=Code.NOT_SUPPORTED,
            )
        if not problem.validation and not self.fitted:
            raise ProblemError(
                "there is no new experiment to predict",
                location=place,
                hint='give a file with --data, or an experiment of the problem role = "validation"',
            )
        start = start_of(problem, estimate)
        uncertainty = _uncertainty(problem, estimate, self.bootstrap, linearised=self.linearised)
        context.try_out(dataclasses.replace(problem, constraints=(), stages=()))
        prediction = predict_experiments(
            problem,
            problem.validation,
            start,
            uncertainty,
            context.executors(),
            level=self.level,
            fitted=self.fitted,
            listener=context.tell,
        )
        return dataclasses.replace(prediction, settings=self.settings)

    def show(self, watch: Watch, *state: Any) -> None:
        """Show how many experiments are done."""
        watch.work("experiments", *state)


@with_arguments(FolderArguments, listener="how many experiments are done, and of how many")
def predict(
    result: EstimationResult | Problem | str | Path,
    *,
    problem: Problem | str | Path | None = None,
    data: str | Path | Sequence[str | Path] = (),
    like: str | None = None,
    bootstrap: str | Path | None = None,
    linearised: bool = False,
    level: float = 0.95,
    fitted: bool = True,
    overrides: Mapping[str, object] | None = None,
    **run: Unpack[FolderArguments],
) -> Prediction:
    """Predict experiments with the parameters of a result, with bands of mean and new samples.

    The experiments for validation of the problem are predicted, those of `data`, and those that
    were fitted. Where new samples were measured, those inside of the band are counted.

    Parameters
    ----------
    result
        Folder that ``fmident estimate`` wrote, what :func:`fmident.estimate` returned, or a
        problem, which is estimated first.
    problem
        What was estimated, where `result` is not a folder.
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
    **run
        Arguments of every analysis, such as `progress` and `folder`.

    Returns
    -------
    fmident.prediction.Prediction
        With a band for each output.

    Raises
    ------
    fmident.errors.FmidentError
        There is no result, it is of another problem, or a file does not have the columns.
    """
    analysis = Predicting(None, problem, data, like, bootstrap, linearised, level, fitted)
    return perform(analysis, result, overrides=overrides, **run)


def estimate_in(path: str | Path) -> tuple[Path, EstimationResult]:
    """Return the folder of an estimate, and the estimate.

    Raises
    ------
    fmident.errors.EstimationError
        There is none.
    """
    place = Path(path).parent if Path(path).is_file() else Path(path)
    hint = "give the folder that 'fmident estimate' wrote"
    if not place.is_dir():
        raise EstimationError(f"there is no '{place}'", hint=hint, code=Code.UNKNOWN_NAME)
    result = load_result(place)
    if not isinstance(result, EstimationResult):
        raise EstimationError(f"'{place}' holds no estimate", hint=hint, code=Code.UNUSABLE_FILE)
    return place, result


def _uncertainty(
    problem: Problem,
    result: EstimationResult,
    bootstrap: str | Path | None,
    *,
    linearised: bool,
) -> Uncertainty:
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
    """Return the replicates of a bootstrap, shape (k, n)."""
    bootstrap_result = BOOTSTRAP.read(folder)
    stored = {p.name: p for p in bootstrap_result.estimates}
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
    return bootstrap_result.replicates[:, [bootstrap_result.names.index(n) for n in names]]


def problem_with(
    problem: Problem | str | Path,
    files: Sequence[Path],
    like: str | None,
    overrides: Mapping[str, object] | None,
    host: Host,
    report: Report,
) -> Problem:
    """Return a problem with an experiment for validation for each file.

    Parameters
    ----------
    problem
        The problem, or its file.
    files
        Data with the columns of an experiment of the problem; outputs that have no column were not
        measured.
    like
        Name of that experiment; the first one by default.
    overrides, host, report
        As of :func:`fmident.load_problem`.

    Raises
    ------
    fmident.errors.ProblemError
        There is no such experiment, a file cannot be read or lacks an input, or the problem has
        no file.
    """
    if like is not None and not files:
        raise ProblemError("--like says which experiment new data are like: give them with --data")
    if isinstance(problem, Problem) and not files and not overrides:
        return problem
    path, text = _file_of(problem)
    if not files:
        return load_problem(path, host=host, overrides=overrides, report=report, text=text)
    before = text
    tables = [dict(t) for t in parse_toml(text, path)["experiments"]]
    names = [str(t.get("name", Path(str(t.get("data", ""))).stem)) for t in tables]
    if like is not None and like not in names:
        raise ProblemError(
            f"there is no experiment '{like}'", **unknown_name(like, names, "experiment")
        )
    model = tables[0 if like is None else names.index(like)]
    missing: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, file in enumerate(files):
            name = _unused(file.stem, names)
            names.append(name)
            table, missing[name] = _table(model, file, name, Path(scratch) / f"{number}.csv", host)
            lines = "\n".join(f"{encoded(k)} = {encoded(v)}" for k, v in table.items())
            text = f"{text.rstrip()}\n\n[[experiments]]\n{lines}\n"
        whole = load_problem(path, host=host, overrides=overrides, report=report, text=text)
    if not any(missing.values()):
        return whole
    # The text names files that are gone.
    return dataclasses.replace(
        whole,
        file=dataclasses.replace(whole.file, text=before),
        validation=tuple(_not_measured(e, missing.get(e.name, set())) for e in whole.validation),
    )


def _file_of(problem: Problem | str | Path) -> tuple[Path, str]:
    """Return the file of a problem, and its text; raises `FmidentError` if there is none."""
    if isinstance(problem, Problem):
        if problem.source is None:
            raise ProblemError(
                "new data are read as the problem file says, and this problem has none",
                hint="write it with problem.to_toml, and predict from that file",
                code=Code.NOT_SUPPORTED,
            )
        return problem.source, problem.file.text
    path = Path(problem)
    if not path.is_file():
        raise EstimationError(
            f"'{path.parent}' has no {PROBLEM}, which says what was estimated",
            hint="predict from a folder that 'fmident estimate' wrote for a problem file",
            code=Code.UNKNOWN_NAME,
        )
    return path, read_problem_file(path)


def _unused(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "'"
    return name


def _table(
    model: Mapping[str, Any], file: Path, name: str, scratch: Path, host: Host
) -> tuple[dict[str, Any], set[str]]:
    """Return the experiment table of a data file, and the columns of unmeasured outputs.

    If there are any, the data of the table are in `scratch`, with zeros for them.
    """
    wanted = _output_columns(model)
    table = {k: v for k, v in model.items() if k not in _LEFT_OUT}
    table = {"name": name, "data": str(file.resolve()), "role": "validation", **table}
    layout = Section(Source(file, ""), (), model).read(CsvOptions, besides=model)
    data = read_table(file, dict(model), reader=host.read_data, layout=layout)
    measured = {n for n, v in data.columns.items() if bool(np.isfinite(v).any())}
    missing = {c for c in wanted if c not in measured and c not in data.errors}
    if not missing:
        return table, missing
    columns = {n: v for n, v in data.columns.items() if n not in missing}
    columns |= {c: np.zeros(data.rows) for c in sorted(missing)}
    units = {**data.units, **{c: None for c in missing if c not in data.units}}
    scratch.write_bytes(csv_of(dataclasses.replace(data, columns=columns, units=units)))
    table = {k: v for k, v in table.items() if k not in layout.given}
    return {**table, "data": str(scratch)}, missing


def _output_columns(model: Mapping[str, Any]) -> set[str]:
    columns, outputs = set(), model.get("outputs", {})
    for output, given in outputs.items() if isinstance(outputs, Mapping) else ():
        if isinstance(given, Mapping) and "data" in given:
            raise ProblemError(
                f"the output '{output}' has a data file of its own, so that one new file does not"
                " say what it was",
                hint='write the new experiment into the problem file, with role = "validation"',
                code=Code.NOT_SUPPORTED,
            )
        columns.add(str(given["column"]) if isinstance(given, Mapping) else str(given))
    return columns


def _not_measured(experiment: Experiment, columns: set[str]) -> Experiment:
    measurements = tuple(
        dataclasses.replace(m, values=np.full(m.values.shape, np.nan), exclusions=())
        if m.column in columns
        else m
        for m in experiment.measurements
    )
    return dataclasses.replace(experiment, measurements=measurements)
