"""Whether a problem can be estimated, before it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from fmident.api.wiring import Report, keeping_constraints, loaded, warn
from fmident.errors import Diagnostic, EstimationError, FmuError

if TYPE_CHECKING:
    from fmident.checking import CheckReport, GlobalMethod
    from fmident.evaluation import ExecutorKind
    from fmident.evaluation.activity import Listener
    from fmident.plugins import Host
    from fmident.problem.model import Problem


def check(
    problem: Problem,
    *,
    host: Host | None = None,
    quick: bool = False,
    global_method: GlobalMethod | Literal["sobol", "morris"] | None = None,
    report: Report = warn,
    progress: bool = False,
    listener: Listener | None = None,
) -> CheckReport:
    """Look at a problem before it is estimated: whether it can be, how well, in which time.

    Parameters
    ----------
    problem
        From :func:`load_problem`, or built in Python.
    host
        Plugins; loaded when not given.
    quick
        Look at the initial point only.
    global_method
        Also move all parameters through their bounds, to see which of them matter there: a
        :class:`fmident.checking.GlobalMethod`, or its name.
    report
        Takes warnings of plugins that cannot be loaded; Python warnings by default.
    progress
        Show what is being done, on standard error or in the output of a notebook's cell.
    listener
        In its place: hears what is being done, how many of its simulations are done, and how
        many it takes as a rule.

    Returns
    -------
    fmident.checking.CheckReport
        With everything that was found; what plugins say of the problem among it.

    Raises
    ------
    fmident.errors.FmidentError
        The FMU cannot be used at all; an unknown estimator or wrong options; global
        sensitivities of parameters that constraints tie, or without the package SALib.
    """
    from fmident.checking import GlobalMethod, in_stages

    if isinstance(global_method, str):
        global_method = GlobalMethod(global_method)
    if progress:
        from fmident.progress import watching

        with watching() as watch:
            return check(
                problem,
                host=host,
                quick=quick,
                global_method=global_method,
                report=report,
                listener=watch.activity,
            )
    host = loaded(host, report)
    found = host.check_problem(problem)
    if not problem.stages:
        return _check_one(
            problem,
            host,
            found,
            ("estimator",),
            quick=quick,
            global_method=global_method,
            report=report,
            listener=listener,
        )
    reports = [
        _check_one(
            s.problem,
            host,
            [] if number else found,
            ("stages", number, "estimator"),
            quick=quick,
            global_method=global_method,
            report=report,
            whole=problem,
            listener=listener,
        )
        for number, s in enumerate(problem.stages)
    ]
    return in_stages([s.name for s in problem.stages], reports)


def _check_one(
    problem: Problem,
    host: Host,
    found: Sequence[Diagnostic],
    table: tuple[str | int, ...],
    *,
    quick: bool,
    global_method: GlobalMethod | None,
    report: Report,
    whole: Problem | None = None,
    listener: Listener | None = None,
) -> CheckReport:
    """Check a problem, or a stage of one whose estimator is in `table`."""
    from fmident.checking import check_problem
    from fmident.estimation.choices import estimator_options, suited
    from fmident.evaluation import make_executor
    from fmident.fmu import read_description

    estimator = host.estimators.get(problem.estimator.name)()
    problem = suited(problem, estimator, keeping_constraints(host))
    kinds = host.executors.by_name
    crash = _crash(problem, kinds)
    with make_executor(problem, kinds, warn=lambda diagnostic: report([diagnostic])) as executor:
        return check_problem(
            problem,
            executor,
            description=read_description(problem.fmu),
            estimator=estimator,
            options=estimator_options(problem, estimator, table),
            found=found if crash is None else [*found, crash],
            simulate=crash is None,
            quick=quick,
            global_method=global_method,
            whole=whole,
            listener=listener,
        )


def _crash(problem: Problem, kinds: Mapping[str, ExecutorKind]) -> Diagnostic | None:
    """Return that the FMU's code takes the process with it, if it does."""
    from fmident.estimation.checks import check_survives
    from fmident.evaluation import runs_in_this_process

    if not runs_in_this_process(problem, kinds):
        return None
    try:
        check_survives(problem)
    except EstimationError:
        return None  # an ordinary failure, which the check meets again and describes
    except FmuError as error:
        return Diagnostic("error", error.message, error.location, error.hint, "simulation-crashes")
    return None
