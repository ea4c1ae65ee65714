"""What fmident knows of an executor before it makes one: what plugins register."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from fmident.errors import Diagnostic, EstimationError, PluginError
from fmident.evaluation.executors.base import Executor
from fmident.evaluation.executors.checked import module_of, open_checked
from fmident.plugin_code import code_of_plugin
from fmident.problem.reading.evaluation_file import KEYS, NoOptions

if TYPE_CHECKING:
    from fmident.problem.model import Problem

Warn: TypeAlias = Callable[[Diagnostic], None]
"""Takes a warning that comes up on the way, such as that a cluster has no workers just now."""


@dataclass(frozen=True)
class ExecutorKind:
    """A kind of executor: how one is made, and what it can do.

    Parameters
    ----------
    make
        Called with the problem, the options (an instance of `options_type`) and what takes
        warnings. What takes long to import, or may be missing, is imported in there.
    summary
        One line for ``fmident plugins``.
    isolated
        Whether native code that crashes leaves this process alone from the first simulation on;
        may depend on the problem. If not, fmident tries the FMU in a child process first.
    limits_memory
        Whether ``memory_limit_mb`` holds.
    renews
        Whether ``renew_after`` holds: workers or instances are replaced after their share.
    several_machines
        Whether simulations may run on other machines than this one.
    options_type
        A frozen dataclass. Its fields are keys of ``[evaluation]`` that only this executor takes.

    Raises
    ------
    fmident.errors.PluginError
        The options are not a dataclass, or one of them is called like a key that all executors
        share.
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
        for taken in sorted(KEYS & set(self.options)):
            raise PluginError(
                f"an executor has an option '{taken}', which is a key of all executors",
                hint="give it another name, or use problem.evaluation",
            )

    @property
    def options(self) -> tuple[str, ...]:
        """Keys of ``[evaluation]`` that only this executor takes."""
        return tuple(f.name for f in fields(self.options_type) if f.init)

    def isolates(self, problem: Problem) -> bool:
        """Return whether native code runs outside this process from the start.

        Raises
        ------
        fmident.errors.PluginError
            The plugin's function fails.
        """
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
            The plugin's code fails, or does not make an executor.
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
