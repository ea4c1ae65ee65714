"""The analyses that write a result folder: estimate, profile, bootstrap, predict, cross-validate.

Each is an :class:`AnalysisCommand`: a table of options, and a function from arguments to what is
run and shown. :func:`execute` is the same for all: journal, progress, result folder, exit code.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fmident.cli.console import say, tell, width
from fmident.cli.usage import (
    Option,
    override_option,
    overrides_of,
    plugins_of,
    probability,
)
from fmident.errors import EstimationError, FmidentError, ResourceError

if TYPE_CHECKING:
    from fmident.api.problems import Report
    from fmident.api.run import Analysis, JournalledRun
    from fmident.errors import Diagnostic
    from fmident.estimation.result import EstimationResult
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.plugins.registry import Registration
    from fmident.problem.model import Problem
    from fmident.report.contents import Contents
    from fmident.report.contract import Reporter

_INTERRUPTED = 130
_FROM_OUTSIDE = (KeyboardInterrupt, ResourceError, MemoryError, OSError)
"""What ends a run that another one can go on from."""

_NOT_AGAIN = ("-q", "--quiet", "--force", "--resume")
"""Options that the command does not have that goes on from an interrupted run."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Shown(Generic[Result]):
    """What a command runs, and what it shows of it.

    Parameters
    ----------
    analysis
        What is run.
    summary
        The result as text for the terminal.
    load
        Returns the problem; by default it is read from the problem file.
    announcement
        What to say before the run.
    listener
        Hears how far the analysis is, beside who shows it.
    files
        Lines that name what was written, from the result folder.
    advice
        What to do after a limit, beside going on.
    """

    analysis: Analysis[Result]
    summary: Callable[[Result], str]
    load: Callable[[], Problem] | None = None
    announcement: Callable[[Problem], str] = lambda _: ""
    listener: Callable[..., None] | None = None
    files: Callable[[Path], Sequence[str]] = lambda _: ()
    advice: Callable[[Result], str] = lambda _: ""


@dataclass(frozen=True)
class AnalysisCommand:
    """A command that runs an analysis.

    Parameters
    ----------
    example
        Shown by ``--help``.
    options
        Those of its own.
    describe
        Makes what is run from arguments, plugins and what takes warnings and notes.
    subject
        Argument that names what is analysed, and with it the result folder.
    suffix
        Of the default result folder: ``results/NAMEsuffix`` beside ``NAME.toml``.
    setting
        A key that may be overridden, for the help.
    earlier, partial
        Beginnings of what is said of an earlier result, and of an interrupted one.
    """

    example: str
    options: Sequence[Option]
    describe: Callable[[argparse.Namespace, Host, Report], Shown[Any]]
    subject: str = "problem"
    suffix: str = ""
    setting: str = "evaluation.workers=4"
    earlier: str = "the earlier result is"
    partial: str = "the result holds what was found so far"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        for option in (*self.options, *_common(self)):
            option.add(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        """Run, write the result folder, print the summary; exit codes as of :func:`execute`."""
        return execute(self, arguments)

    def folder(self, arguments: argparse.Namespace) -> Path:
        """Return where the result goes."""
        if arguments.output is not None:
            return Path(arguments.output)
        subject: Path = getattr(arguments, self.subject)
        if self.subject == "problem":
            return subject.parent / "results" / f"{subject.stem}{self.suffix}"
        whole = (subject.parent if subject.is_file() else subject).resolve()
        return whole.parent / f"{whole.name}{self.suffix}"


def _common(command: AnalysisCommand) -> Iterator[Option]:
    """Yield the options of every command here."""
    of_problem = command.subject == "problem"
    place = f"results/NAME{command.suffix} beside the problem file NAME.toml"
    yield Option(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="result folder; by default "
        + (place if of_problem else f"RESULT{command.suffix} beside the result"),
    )
    yield override_option(command.setting)
    yield Option(
        "--force", action="store_true", help="replace an earlier result instead of keeping it"
    )
    if of_problem:
        yield Option(
            "--resume",
            action="store_true",
            help="go on from a run that was interrupted or killed: what it has simulated is not "
            "simulated again",
        )
    yield Option("-q", "--quiet", action="store_true", help="no progress, no table")


def execute(command: AnalysisCommand, arguments: argparse.Namespace) -> int:
    """Run, write the result folder, print the summary.

    Returns
    -------
    int
        0 also when a limit ended the run: the status is in the result. 1 when it failed, 130
        when it was interrupted.
    """
    from fmident.api.problems import load_problem
    from fmident.api.run import JournalledRun, Run
    from fmident.progress import Watch

    overrides, loud = overrides_of(arguments), not arguments.quiet
    host = plugins_of(arguments)
    report = tell if loud else _warnings
    output = command.describe(arguments, host, report)
    analysis, folder = output.analysis, command.folder(arguments)
    around, watch = Run(host, report), Watch()
    if loud:
        around = analysis.watched(Run(host, report, listener=output.listener), watch)
    resume = bool(getattr(arguments, "resume", False))
    run = JournalledRun(
        analysis, folder, around, resume=resume, replace=arguments.force, report=tell
    )
    problem = (
        load_problem(arguments.problem, host=host, overrides=overrides, report=report)
        if output.load is None
        else output.load()
    )
    with run.opened(problem) as workspace:
        if loud:
            if text := output.announcement(problem):
                tell(text)
            if resume and workspace is not None:
                tell(f"resuming: {counted(workspace.simulations, 'simulation')} in the journal")
        with _going_on(arguments, run, workspace, *_FROM_OUTSIDE):
            try:
                result = run.run(problem, workspace)
            finally:
                watch.finish()
        if loud:
            say(f"\n{output.summary(result)}\n")
        with _going_on(arguments, run, workspace, EstimationError, KeyboardInterrupt):
            try:
                earlier_result = run.write(result, problem, workspace)
            except EstimationError:
                if not loud:  # it is nowhere else
                    say(output.summary(result))
                raise
    if earlier_result is not None:
        tell(f"{command.earlier} kept as '{earlier_result}'")
    say("\n".join([f"result: {run.placed / analysis.marker}", *output.files(run.placed)]))
    if run.folder != folder:
        tell(f"error: the result is not in '{folder}': it is in '{run.placed}'")
    return _ended(command, arguments, run, output, result)


def _ended(
    command: AnalysisCommand,
    arguments: argparse.Namespace,
    run: JournalledRun[Result],
    shown: Shown[Result],
    result: Result,
) -> int:
    """Say how a run that did not converge goes on; return the exit code."""
    status = run.analysis.status(result)
    if status == "interrupted":
        tell(f"interrupted: {command.partial}")
        if run.resumable:
            tell(_how_to_go_on(arguments, run), whole=True)
        return _INTERRUPTED
    if status == "limit" and not arguments.quiet:
        go_on = _how_to_go_on(arguments, run)
        further = f"{go_on}, with a higher limit" if run.resumable else ""
        if advice := shown.advice(result) or further:
            tell(advice)
    if run.placed != run.asked:
        return FmidentError.exit_code
    return 1 if status == "failed" else 0


@contextlib.contextmanager
def _going_on(
    arguments: argparse.Namespace,
    run: JournalledRun[Result],
    workspace: Workspace | None,
    *kinds: type[BaseException],
) -> Iterator[None]:
    """After exceptions of these kinds, print how to resume the run, if possible."""
    try:
        yield
    except kinds:
        if workspace is not None and workspace.resumable:
            tell(_how_to_go_on(arguments, run), whole=True)
        raise


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _how_to_go_on(arguments: argparse.Namespace, run: JournalledRun[Result]) -> str:
    """Return the command that resumes the run: the one given, with ``--resume``."""
    words = [word for word in arguments.words if word not in _NOT_AGAIN]
    end = words.index("--") if "--" in words else len(words)
    more = [*(["-o", str(run.folder)] if run.folder != run.asked else []), "--resume"]
    return f"to go on from here: {shlex.join(['fmident', *words[:end], *more, *words[end:]])}"


def _warnings(diagnostics: Iterable[Diagnostic]) -> None:
    tell(d for d in diagnostics if d.severity != "note")


def _files(contents: Contents[Any], *pictures: str) -> Callable[[Path], Sequence[str]]:
    """Return what names the page of a result, and its pictures."""

    def files(folder: Path) -> list[str]:
        drawn = ", ".join(str(folder / picture) for picture in pictures)
        noun = "pictures" if len(pictures) > 1 else "picture"
        return [f"report: {folder / contents.page}", *([f"{noun}: {drawn}"] if drawn else [])]

    return files


def _estimated_first(arguments: argparse.Namespace) -> Callable[[Problem], str]:
    text = "no --result is given: the problem is estimated first"
    return lambda _: text if arguments.result is None else ""


# ---------------------------------------------------------------------- the options they share

_PROBLEM = Option("problem", type=Path, help="problem file (TOML)")

_RESULT = Option(
    "--result",
    type=Path,
    metavar="FOLDER",
    help="result of 'fmident estimate' to begin from; by default the problem is estimated",
)


def _level(of: str) -> Option:
    return Option(
        "--level",
        type=probability,
        default=0.95,
        metavar="P",
        help=f"probability of the {of}, such as 0.95 or 95%% (default 0.95)",
    )


# --------------------------------------------------------------------------------- estimate

_ADVICE = {
    "plateau": "no limit ended this run, so that --resume would lead to the same end: start from"
    " other initial values, or search the whole box with differential-evolution or cma-es",
    "jump": "no limit ended this run, so that --resume would lead to the same end: start where the"
    " note says that the cost is lower, or give several starts",
    "stuck": "no limit ended this run, so that --resume would lead to the same end: see why it"
    " stopped, and change that or the initial values",
}
"""What to do after an end that a higher limit does not change."""


def _estimate(arguments: argparse.Namespace, host: Host, report: Report) -> Shown[EstimationResult]:
    from fmident.api.estimates import Estimation
    from fmident.report.terminal import summary

    return Shown(
        Estimation(_exports(arguments.export)),
        lambda result: summary(result, width()),
        announcement=_announcement,
        files=lambda folder: [f"report: {page}" for page in folder.glob("report.html")],
        advice=lambda result: _ADVICE.get(result.ended_by or "", ""),
    )


def _exports(forms: Sequence[str]) -> list[Registration[type[Reporter]]]:
    """Return the reporters of the requested formats."""
    if not forms:
        return []
    from fmident.plugins.registry import Origin, Registration
    from fmident.report.export import export_reporters

    origin = Origin("(command line)")
    return [Registration(n, item, item.summary, origin) for n, item in export_reporters(forms)]


def _announcement(problem: Problem) -> str:
    samples = sum(e.samples for e in problem.experiments)
    outputs = len({m.name for e in problem.experiments for m in e.measurements})
    held_out = f" and {len(problem.validation)} for validation" if problem.validation else ""
    return (
        f"{problem.fmu.name}: {counted(len(problem.free), 'free parameter')}, "
        f"{counted(len(problem.experiments), 'experiment')}{held_out}, "
        f"{counted(samples, 'sample')} of "
        f"{counted(outputs, 'output')}; {_solved_by(problem)}"
    )


def _solved_by(problem: Problem) -> str:
    if problem.stages:
        return "stages " + ", ".join(
            f"{s.name} ({s.problem.estimator.name})" for s in problem.stages
        )
    return f"estimator {problem.estimator.name}"


_ESTIMATE = AnalysisCommand(
    """\
  fmident estimate problem.toml -o results
  fmident estimate problem.toml --set estimator.solver=scipy
  fmident estimate problem.toml -o results --resume

The result folder holds result.json, report.html, parameters.csv, fit.csv,
history.csv and problem.toml. It appears when it is complete. A result that is
there already is kept as NAME.1, NAME.2, ...; --force replaces it.""",
    (
        _PROBLEM,
        Option(
            "--export",
            action="append",
            default=[],
            choices=("modifier", "record", "ssv"),
            help="write the values into the result folder as Modelica or SSV, too; may be repeated",
        ),
        Option(
            "--hold-out",
            action="append",
            default=[],
            metavar="NAME",
            help="experiment that is not fitted, but predicted at the end; may be repeated",
        ),
    ),
    _estimate,
    setting="estimator.solver=scipy",
    partial="the result holds the best parameters so far",
)


# ---------------------------------------------------------------------------------- profile


def _profile(arguments: argparse.Namespace, host: Host, report: Report) -> Shown[Any]:
    from fmident.api.profiles import Profiling
    from fmident.report.profiles import COST_PICTURE, PROFILES, TAU_PICTURE

    analysis = Profiling(
        arguments.result,
        arguments.parameters,
        [tuple(pair) for pair in arguments.pair],
        arguments.level,
        arguments.accuracy,
        arguments.stage,
    )
    return Shown(
        analysis,
        lambda result: PROFILES.summary(result, width()),
        announcement=_estimated_first(arguments),
        files=_files(PROFILES, TAU_PICTURE, COST_PICTURE),
    )


_PROFILE = AnalysisCommand(
    """\
  fmident profile problem.toml
  fmident profile problem.toml --result results/problem --parameters k d
  fmident profile problem.toml --pair k d
  fmident profile problem.toml -o profiles --resume

Each parameter is moved away from the estimate, all others fitted again at each value, until
the cost has risen to the threshold of the confidence level. Without --result the problem is
estimated first. The result folder holds profiles.json, profiles.csv, profiles.html and the
pictures tau.png and cost.png.""",
    (
        _PROBLEM,
        Option(
            "--parameters",
            nargs="+",
            metavar="NAME",
            help="free parameters to profile; those of --pair by default, or all",
        ),
        Option(
            "--pair",
            nargs=2,
            action="append",
            default=[],
            metavar="NAME",
            help="two free parameters whose joint region is drawn; may be repeated",
        ),
        _RESULT,
        _level("intervals"),
        Option(
            "--accuracy",
            type=float,
            default=1e-3,
            metavar="A",
            help="of the ends, in relation to their distance from the estimate (default 0.001)",
        ),
        Option(
            "--stage",
            metavar="NAME",
            help="stage to profile, of a problem with stages; the last one",
        ),
    ),
    _profile,
    suffix="-profiles",
    earlier="earlier profiles are",
    partial="the result holds the points so far",
)


# -------------------------------------------------------------------------------- bootstrap


def _bootstrap(arguments: argparse.Namespace, host: Host, report: Report) -> Shown[Any]:
    from fmident.api.bootstraps import Bootstrapping
    from fmident.report.bootstrap import BOOTSTRAP, CORNER
    from fmident.resampling import BootstrapOptions

    options = BootstrapOptions(
        arguments.replicates,
        arguments.method,
        arguments.weights,
        arguments.block_length,
        arguments.level,
        arguments.seed,
    )
    return Shown(
        Bootstrapping(arguments.result, options),
        lambda result: BOOTSTRAP.summary(result, width()),
        announcement=_estimated_first(arguments),
        files=_files(BOOTSTRAP, CORNER),
    )


_BOOTSTRAP = AnalysisCommand(
    """\
  fmident bootstrap problem.toml --result results/problem
  fmident bootstrap problem.toml -n 2000 --method block
  fmident bootstrap problem.toml -o bootstrap --resume

Each replicate is what the estimate predicts, with resampled residuals or new noise, and is fitted
from the estimate. Without --method, tests of the residuals choose it. Without --result the problem
is estimated first. The result folder holds bootstrap.json, replicates.csv,
bands.csv, bootstrap.html and pictures.""",
    (
        _PROBLEM,
        _RESULT,
        Option(
            "-n",
            "--replicates",
            type=int,
            default=500,
            metavar="N",
            help="how many (default 500)",
        ),
        Option(
            "--method",
            choices=("residual", "wild", "block", "parametric"),
            help="where the noise comes from; by default as tests of the residuals say",
        ),
        Option(
            "--weights",
            choices=("rademacher", "mammen"),
            default="rademacher",
            help="factors of --method wild (default rademacher)",
        ),
        Option(
            "--block-length",
            type=int,
            metavar="SAMPLES",
            help="of --method block; by default chosen by the correlation of the residuals",
        ),
        _level("intervals"),
        Option(
            "--seed", type=int, default=0, metavar="N", help="of the random numbers (default 0)"
        ),
    ),
    _bootstrap,
    suffix="-bootstrap",
    earlier="the earlier bootstrap is",
    partial="the result holds the replicates so far",
)


# ---------------------------------------------------------------------------------- predict


def _predict(arguments: argparse.Namespace, host: Host, report: Report) -> Shown[Any]:
    from fmident.api.predictions import Predicting, estimate_in, problem_with
    from fmident.api.problems import PROBLEM
    from fmident.report.prediction import PREDICTION

    place, estimate = estimate_in(arguments.result)
    settings = {"result": str(place), "data": [str(f) for f in arguments.data]}
    analysis = Predicting(
        estimate,
        arguments.bootstrap,
        arguments.linearised,
        arguments.level,
        not arguments.new_only,
        settings,
    )
    return Shown(
        analysis,
        lambda result: PREDICTION.summary(result, width()),
        load=lambda: problem_with(
            place / PROBLEM, arguments.data, arguments.like, overrides_of(arguments), host, report
        ),
        files=_files(PREDICTION),
    )


_PREDICT = AnalysisCommand(
    """\
  fmident predict results/problem
  fmident predict results/problem --data new.csv
  fmident predict results/problem --data new.csv --bootstrap results/problem-bootstrap

Outputs are predicted with two bands: of the mean, from the uncertainty of the parameters, and of
new samples, with the noise. Samples that were measured are counted. The result folder holds
prediction.json, bands.csv, prediction.html and pictures.""",
    (
        Option("result", type=Path, help="result folder of 'fmident estimate'"),
        Option(
            "--data",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="data of a new experiment, with the columns of one of the problem; those of"
            " outputs may be missing; may be repeated",
        ),
        Option(
            "--like", metavar="NAME", help="experiment whose columns new data have; the first one"
        ),
        Option(
            "--bootstrap",
            type=Path,
            metavar="FOLDER",
            help="result of 'fmident bootstrap': its replicates in place of the covariance",
        ),
        Option(
            "--linearised",
            action="store_true",
            help="by the covariance, also where the result has draws from a posterior",
        ),
        Option("--new-only", action="store_true", help="not the experiments that were fitted"),
        _level("bands"),
    ),
    _predict,
    subject="result",
    suffix="-prediction",
    earlier="the earlier prediction is",
)


# --------------------------------------------------------------------------- cross-validate


def _cross_validate(arguments: argparse.Namespace, host: Host, report: Report) -> Shown[Any]:
    from fmident.api.cross_validations import CrossValidating
    from fmident.api.problems import load_problem
    from fmident.report.cross_validation import (
        CROSS_VALIDATION,
        PARAMETERS_PICTURE,
        SCORES_PICTURE,
    )

    overrides = overrides_of(arguments)
    names = _names([arguments.problem, *arguments.others])
    others = {
        name: load_problem(path, host=host, overrides=overrides, report=report)
        for name, path in zip(names[1:], arguments.others, strict=True)
    }
    return Shown(
        CrossValidating(others, names[0], arguments.by, arguments.folds, arguments.gap),
        lambda result: CROSS_VALIDATION.summary(result, width()),
        listener=lambda model, what: tell(f"{model}: {what}"),
        files=_files(CROSS_VALIDATION, SCORES_PICTURE, PARAMETERS_PICTURE),
    )


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the names of the models: file names, with folders if they are not unique."""
    stems = [p.stem for p in paths]
    if len(set(stems)) == len(stems):
        return stems
    longer = [f"{p.resolve().parent.name}/{p.stem}" for p in paths]
    if len(set(longer)) == len(longer):
        return longer
    return [f"{s} ({k})" for k, s in enumerate(stems, 1)]


_CROSS_VALIDATE = AnalysisCommand(
    """\
  fmident cross-validate problem.toml
  fmident cross-validate coulomb.toml stribeck.toml lugre.toml --by blocks --folds 8 --gap 0.2
  fmident cross-validate problem.toml -o folds --resume

Each experiment, or each block in time, is left out once, all else is fitted, and what was left out
is predicted. Several problem files are models of the same samples. The result folder holds
cross-validation.json, scores.csv, parameters.csv, predictions.csv, cross-validation.html and the
pictures scores.png and parameters.png.""",
    (
        _PROBLEM,
        Option(
            "others",
            nargs="*",
            type=Path,
            metavar="MODEL",
            help="problem files of other models of the same samples",
        ),
        Option(
            "--by",
            choices=("experiments", "blocks"),
            help="what is left out; by default experiments, where there are several",
        ),
        Option("--folds", type=int, metavar="K", help="number of blocks in time (default 5)"),
        Option(
            "--gap",
            type=float,
            default=0.0,
            metavar="S",
            help="samples nearer than this to a block are not fitted either, s (default 0)",
        ),
    ),
    _cross_validate,
    suffix="-folds",
    earlier="the earlier cross-validation is",
    partial="the result holds the folds so far",
)

COMMANDS = {
    "estimate": _ESTIMATE,
    "profile": _PROFILE,
    "bootstrap": _BOOTSTRAP,
    "predict": _PREDICT,
    "cross-validate": _CROSS_VALIDATE,
}
