"""Kinds of executors, as plugins register them: factory, options, capabilities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from fmident.errors import Diagnostic, EstimationError, PluginError, unknown_name
from fmident.evaluation.executors.auto import AutoExecutor
from fmident.evaluation.executors.base import Executor
from fmident.evaluation.executors.checked import module_of, open_checked
from fmident.evaluation.executors.inline import InProcessExecutor
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.fmu.fmu import read_description
from fmident.plugin_code import code_of_plugin
from fmident.problem.model import EVALUATION_KEYS, NoOptions

if TYPE_CHECKING:
    from fmident.problem.model import Problem


Warn: TypeAlias = Callable[[Diagnostic], None]
"""Takes a warning that comes up on the way, such as that a cluster has no workers just now."""


@dataclass(frozen=True)
class ExecutorKind:
    """A kind of executor: its factory and its capabilities.

    Parameters
    ----------
    make
        Called with the problem, the options (an instance of `options_type`) and a function
        for warnings. It should import packages that are slow or may be missing.
    summary
        One line for ``fmident plugins``.
    isolated
        Whether this process survives a crash of native code from the first simulation on;
        may depend on the problem. If not, fmident first tries the FMU in a child process.
    limits_memory
        Whether ``memory_limit_mb`` is respected.
    renews
        Whether ``renew_after`` is respected: workers or instances are replaced.
    several_machines
        Whether simulations may run on other machines.
    options_type
        A frozen dataclass. Its fields are keys of ``[evaluation]`` specific to this
        executor.

    Raises
    ------
    fmident.errors.PluginError
        The options are not a dataclass, or one of them has the name of a key that all
        executors share.
    """

    make: Callable[[Problem, Any, Warn], Executor]
    summary: str
    isolated: bool | Callable[[Problem], bool] = False
    limits_memory: bool = False
    renews: bool = False
    several_machines: bool = False
    options_type: type[Any] = NoOptions

    def __post_init__(self) -> None:
        if not isinstance(self.options_type, type) or not is_dataclass(self.options_type):
            raise PluginError(
                f"the options_type of an executor is {self.options_type!r}",
                hint="make it a frozen dataclass: its fields are keys of [evaluation]",
            )
        for name in sorted(EVALUATION_KEYS & set(self.options)):
            raise PluginError(
                f"an executor has an option '{name}', which is a key of all executors",
                hint="give it another name, or use problem.evaluation",
            )

    @property
    def options(self) -> tuple[str, ...]:
        """Keys of ``[evaluation]`` specific to this executor."""
        return tuple(f.name for f in fields(self.options_type) if f.init)

    def isolates(self, problem: Problem) -> bool:
        """Return whether native code runs outside this process from the start."""
        if not callable(self.isolated):
            return self.isolated
        module = module_of(self.isolated)
        if module.partition(".")[0] == "fmident":
            return self.isolated(problem)
        what = f"'isolated' of the executor '{problem.evaluation.executor}'"
        with code_of_plugin(what, module, self.isolated):
            return bool(self.isolated(problem))

    def without_effect(self, problem: Problem) -> tuple[str, ...]:
        """Return the keys of ``[evaluation]`` that the problem sets and this executor ignores."""
        given = problem.evaluation
        ignored = {
            "memory_limit_mb": given.memory_limit is not None and not self.limits_memory,
            "renew_after": given.renew_after is not None and not self.renews,
        }
        return tuple(key for key, holds in ignored.items() if holds)

    def open(self, problem: Problem, warn: Warn) -> Executor:
        """Return the executor of a problem.

        Raises
        ------
        fmident.errors.EstimationError
            It is not available here, or the problem has options of another executor.
        fmident.errors.FmuError
            The FMU cannot be read or loaded, or does not fit the experiments.
        fmident.errors.PluginError
            The plugin's code fails, or does not return an executor.
        """
        options = problem.evaluation.executor_options
        if options is None:
            options = self.options_type()
        if not isinstance(options, self.options_type):
            raise EstimationError(
                f"executor '{problem.evaluation.executor}' has the options {options!r}",
                hint=f"give it a {self.options_type.__name__}, or None for its defaults",
            )
        if module_of(self.make).partition(".")[0] == "fmident":
            return self.make(problem, options, warn)
        return open_checked(lambda: self.make(problem, options, warn), self.make, problem)


def make_executor(
    problem: Problem,
    kinds: Mapping[str, ExecutorKind] | None = None,
    *,
    warn: Warn | None = None,
) -> Executor:
    """Return the executor selected by ``[evaluation] executor`` of the problem.

    Parameters
    ----------
    problem
        Its FMU, experiments and evaluation settings.
    kinds
        Executors by name, such as ``load_plugins().executors.by_name``; by default those
        that need no plugin.
    warn
        Called with warnings, for example that a cluster has no workers at present; by
        default they become Python warnings.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read or loaded, or does not fit the experiments.
    fmident.errors.EstimationError
        There is no such executor, or it is not available here.
    """
    kind, warn = _kind(problem, kinds), warn or _warn
    for key in kind.without_effect(problem):
        name = problem.evaluation.executor
        warn(
            Diagnostic(
                "warning",
                f"[evaluation]: '{key}' has no effect with executor = \"{name}\"",
                hint=f"remove it, or use executor = \"processes\", where '{key}' holds",
                rule="setting-without-effect",
            )
        )
    return kind.open(problem, warn)


def runs_in_this_process(problem: Problem, kinds: Mapping[str, ExecutorKind] | None = None) -> bool:
    """Return whether the executor of a problem at first runs native code in this process.

    The FMU should then be tried in a child process first, because of crashes. Raises
    `FmuError` if the FMU cannot be read, and `EstimationError` for an unknown executor.
    """
    return not _kind(problem, kinds).isolates(problem)


def _auto_isolates(problem: Problem) -> bool:
    return not read_description(problem.fmu).is_own


def _auto(problem: Problem, _options: object, _warn: object) -> Executor:
    # The code of the embedded compiler is known to be free of global state and to end. Any other
    # FMU is native code from somewhere else.
    return ProcessExecutor(problem) if _auto_isolates(problem) else AutoExecutor(problem)


AUTO = ExecutorKind(
    _auto,
    "worker processes; this process first, for FMUs of the embedded compiler",
    isolated=_auto_isolates,
    limits_memory=True,
    renews=True,
)
INLINE = ExecutorKind(
    lambda problem, _options, _warn: InProcessExecutor(problem),
    "one simulation after the other in this process",
    renews=True,
)
PROCESSES = ExecutorKind(
    lambda problem, _options, _warn: ProcessExecutor(problem),
    "worker processes on this machine",
    isolated=True,
    limits_memory=True,
    renews=True,
)

BUILT_IN: Mapping[str, ExecutorKind] = {"auto": AUTO, "inline": INLINE, "processes": PROCESSES}
"""The executors that come with fmident; a built-in plugin registers them."""


def _kind(problem: Problem, kinds: Mapping[str, ExecutorKind] | None) -> ExecutorKind:
    name, known = problem.evaluation.executor, BUILT_IN if kinds is None else kinds
    if name not in known:
        raise EstimationError(
            f"there is no executor '{name}'", **unknown_name(name, known, "executor")
        )
    return known[name]


def _warn(diagnostic: Diagnostic) -> None:
    warnings.warn(str(diagnostic), stacklevel=3)
