"""Find, load and call plugins.

Nothing is loaded at import: :func:`load_plugins` loads plugins on request and returns a
:class:`Host`, which callers pass on explicitly.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pluggy

from fmident._version import __version__
from fmident.compilers.checked import CheckedCompiler
from fmident.errors import (
    Diagnostic,
    FmidentError,
    PluginError,
    advice_on,
    nearest,
    shown,
    unknown_name,
)
from fmident.estimation.contract import StopEstimation
from fmident.plugin_code import defined_at, passed_through, plugin_failed, raised_in, reason
from fmident.plugins import hookspecs
from fmident.plugins.hookspecs import Run, hookimpl
from fmident.plugins.registry import NameTakenError, Origin, Registry

if TYPE_CHECKING:
    import pandas as pd

    from fmident.compilers.base import Compiler
    from fmident.estimation.contract import Estimator, Iteration
    from fmident.estimation.result import EstimationResult
    from fmident.evaluation import ExecutorKind
    from fmident.problem.cost import Cost
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter
    from fmident.report.sections import Section


BUILT_IN = {
    "embedded": "fmident.plugins.builtin:Embedded",
    "openmodelica": "fmident.compilers.openmodelica",
    "reporters": "fmident.plugins.builtin:Reporters",
    "executors": "fmident.plugins.builtin:Executors",
}
"""Entry points of the plugins that are part of fmident."""


Function = Callable[..., Any]

Failed = Callable[[Origin, str, BaseException], None]
"""Takes a plugin, its hook and what it raised. Where it returns, the call goes on without it."""

_ANSWERS = {
    "fmident_read_data": ("pandas", "DataFrame", "return a pandas.DataFrame or None"),
    "fmident_check_problem": (
        "fmident.errors",
        "Diagnostic",
        "return a list of fmident.errors.Diagnostic",
    ),
    "fmident_report_sections": (
        "fmident.report.sections",
        "Section",
        "return a list of fmident.report.sections.Section",
    ),
}
"""Module and class of what a hook answers, and the hint where it answers something else."""


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin that was found.

    `functions` are the pluggy options of its hook implementations by name, `problem` says why it
    was disabled (``None`` if it works), and `implementation` is the module or object with the
    hooks; ``None`` if it cannot be imported.
    """

    origin: Origin
    functions: Mapping[str, pluggy.HookimplOpts] = field(default_factory=dict)
    problem: Diagnostic | None = None
    implementation: object = None

    @property
    def hooks(self) -> tuple[str, ...]:
        """Names of the hooks that it implements, in order."""
        return tuple(sorted(o["specname"] or name for name, o in self.functions.items()))


class Host:
    """All loaded plugins, and the registries that they filled."""

    def __init__(self) -> None:
        self.plugins: tuple[LoadedPlugin, ...] = ()
        """All plugins, including broken ones, in the order of loading."""
        self.estimators: Registry[type[Estimator[Any]]] = Registry("estimator")
        self.costs: Registry[type[Cost]] = Registry("cost")
        self.executors: Registry[ExecutorKind] = Registry("executor")
        self.compilers: Registry[type[Compiler]] = Registry("compiler")
        self.reporters: Registry[type[Reporter]] = Registry("reporter")
        self.registries: tuple[Registry[Any], ...] = (
            self.estimators,
            self.costs,
            self.executors,
            self.compilers,
            self.reporters,
        )

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """One diagnostic per disabled plugin."""
        return tuple(p.problem for p in self.plugins if p.problem is not None)

    def implements(self, hook: str) -> bool:
        """Return whether a working plugin implements a hook."""
        return any(hook in p.hooks for p in self.plugins if p.problem is None)

    def add(self, *plugins: tuple[Origin, Callable[[], object]]) -> None:
        """Load plugins and let them register; disable those that fail, recording the reason.

        Parameters
        ----------
        *plugins
            For each, its name and distribution, and a function that returns the module or
            object with the hook implementations.
        """
        manager = _new_manager()
        for origin, load in plugins:
            try:
                plugin = load()
                functions = _validated(manager, plugin)
            except (Exception, SystemExit) as error:  # a plugin may raise anything
                loaded = LoadedPlugin(origin, {}, _left_out(origin, error))
            else:
                loaded = LoadedPlugin(origin, functions, implementation=plugin)
            self.plugins += (loaded,)
        while failures := self._register():
            # Those that fail by themselves take no names from others.
            own = [f for f in failures.items() if not isinstance(f[1], NameTakenError)]
            for origin, failure in own or [*failures.items()][:1]:
                self.plugins = tuple(
                    replace(p, problem=_left_out(origin, failure)) if p.origin == origin else p
                    for p in self.plugins
                )

    def manager(self, failed: Failed) -> pluggy.PluginManager:
        """Return a plugin manager that calls the hooks of all working plugins.

        `failed` receives their exceptions; it may raise an error to end the call.
        """
        manager = _new_manager()
        for plugin in reversed(self.plugins):  # pluggy calls first what is registered last
            if plugin.problem is None:
                guarded = Guard(plugin.origin, failed).around(plugin)
                manager.register(guarded, repr(plugin.origin))
        return manager

    def compiler(self, name: str) -> Compiler:
        """Return a compiler, checking what a plugin's compiler raises and returns.

        Raises `PluginError` if there is none of this name, or it needs arguments.
        """
        registration = self.compilers.registration(name)
        kind, origin = registration.item, registration.origin
        if origin.is_built_in:
            return kind()
        return CheckedCompiler(kind, f"the compiler '{name}' of plugin {origin}")

    def read_data(self, path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
        """Return a data file read by a plugin; ``None`` if no plugin supports the format.

        Raises `PluginError` if a plugin fails on the file.
        """
        hook = self.manager(_ends_the_call(f" on '{path}'")).hook
        table: pd.DataFrame | None = hook.fmident_read_data(path=path, spec=spec)
        return table

    def check_problem(self, problem: Problem) -> list[Diagnostic]:
        """Collect the plugins' diagnostics of a problem.

        Raises `PluginError` if a plugin's check itself fails.
        """
        hook = self.manager(_ends_the_call()).hook
        return list(flat(hook.fmident_check_problem(problem=problem)))

    def report_sections(
        self, result: EstimationResult, problem: Problem
    ) -> tuple[list[Section], list[Diagnostic]]:
        """Collect the plugins' report sections, and a diagnostic per failed plugin.

        A result is never lost because of a plugin: one that fails is reported and skipped.
        """
        failed: list[Diagnostic] = []

        def missing(origin: Origin, hook: str, error: BaseException) -> None:
            failed.append(
                Diagnostic(
                    "warning",
                    f"the report sections of plugin {origin} are missing: {reason(error)}",
                    raised_in(error, origin.package),
                    rule="failed-section",
                )
            )

        hook = self.manager(missing).hook
        answers = hook.fmident_report_sections(result=result, problem=problem)
        return list(flat(answers)), failed

    def _register(self) -> dict[Origin, BaseException]:
        """Let the working plugins register again; return their exceptions by plugin."""
        failures: dict[Origin, BaseException] = {}

        def failed(origin: Origin, hook: str, error: BaseException) -> None:
            failures.setdefault(origin, error)

        hook = self.manager(failed).hook
        for registry in self.registries:
            registry.remove([p.origin for p in self.plugins])
            getattr(hook, f"fmident_register_{registry.kind}s")(registry=registry)
        return failures


class PluginObserver:
    """Passes the events of one run to the plugins.

    A plugin that fails in one of these hooks is reported once through `report` and not
    called again in this run: a broken logger should not cost an estimation.
    """

    def __init__(self, host: Host, run: Run, report: Callable[[Diagnostic], None]) -> None:
        self._run = run
        self._report = report
        self._stop: StopEstimation | None = None
        self._manager = host.manager(self._failed)
        self._manager.register(self)  # the last of all that are registered to be called last

    def started(self) -> None:
        """Call ``fmident_run_started``."""
        self._manager.hook.fmident_run_started(run=self._run)

    def iteration(self, state: Iteration) -> None:
        """Call ``fmident_iteration``.

        Raises `StopEstimation` if a plugin requests the end, after all plugins have been
        called.
        """
        self._manager.hook.fmident_iteration(run=self._run, state=state)
        self.fmident_iteration()

    def finished(self, result: EstimationResult) -> None:
        """Call ``fmident_run_finished``."""
        self._manager.hook.fmident_run_finished(run=self._run, result=result)

    @hookimpl(trylast=True)
    def fmident_iteration(self) -> None:
        """End the run if a plugin requested it, after all others, so that wrappers see it."""
        stop, self._stop = self._stop, None
        if stop is not None:
            raise stop

    def _failed(self, origin: Origin, hook: str, error: BaseException) -> None:
        if isinstance(error, StopEstimation) and hook == "fmident_iteration":
            self._stop = self._stop or StopEstimation(f"plugin '{origin.plugin}': {error}")
            return
        name = repr(origin)
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)
            self._report(
                Diagnostic(
                    "warning",
                    f"plugin {origin} failed in {hook}: {reason(error)}",
                    raised_in(error, origin.package),
                    hint="it is not called again in this run; "
                    + (advice_on(error) or "please report it to its authors"),
                    rule="broken-plugin",
                )
            )


def load_plugins(*, without: Iterable[str] = (), found: Sequence[EntryPoint] | None = None) -> Host:
    """Find and load all plugins.

    Plugins of the distribution fmident come first, the others in the order of their
    distributions' names, so that the order of installation has no effect.

    Parameters
    ----------
    without
        Names of plugins to disable.
    found
        Entry points to load instead of the installed ones of the group ``fmident``.

    Returns
    -------
    Host
        With the broken plugins in :attr:`Host.diagnostics`.

    Raises
    ------
    fmident.errors.PluginError
        `without` names a plugin that does not exist.
    """
    points = entry_points(group=hookspecs.PROJECT) if found is None else found
    own = [EntryPoint(name, value, hookspecs.PROJECT) for name, value in BUILT_IN.items()]
    loads = {Origin(p.name, p.value, hookspecs.PROJECT, __version__): p for p in own}
    others = {_origin(point): point for point in points}
    loads |= {origin: others[origin] for origin in sorted(others, key=_loading_order)}
    unwanted, names = set(without), {origin.plugin for origin in loads}
    for name in sorted(unwanted - names):
        raise PluginError(f"there is no plugin '{name}' to leave out", **unknown_name(name, names))
    host = Host()
    host.add(*((o, point.load) for o, point in loads.items() if o.plugin not in unwanted))
    return host


def _new_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def _validated(manager: pluggy.PluginManager, plugin: object) -> dict[str, pluggy.HookimplOpts]:
    """Return the pluggy options of a plugin's hook implementations by name."""
    known = {name for name in vars(hookspecs) if name.startswith(f"{hookspecs.PROJECT}_")}
    options_by_name = ((name, manager.parse_hookimpl_opts(plugin, name)) for name in dir(plugin))
    functions = {name: options for name, options in options_by_name if options is not None}
    hooks = {options["specname"] or name: options for name, options in functions.items()}
    for hook, options in hooks.items():
        if hook not in known and not options["optionalhook"]:
            raise PluginError(
                f"it implements the hook '{hook}', which does not exist",
                **unknown_name(hook, known, "hook"),
            )
    try:
        manager.register(plugin)
    finally:
        if manager.is_registered(plugin):  # also if only some of its hooks are
            manager.unregister(plugin)
    if not hooks:
        unmarked = [name for name in dir(plugin) if name in known]
        if unmarked:
            raise PluginError(
                f"'{unmarked[0]}' is not marked as a hook implementation",
                hint="put @fmident.plugins.hookimpl above it",
            )
        close = [name for own in dir(plugin) for name in nearest(own, known, 1)][:1]
        raise PluginError(
            "it implements no hook",
            hint="write a function such as "
            f"'{close[0] if close else 'fmident_register_estimators'}' "
            "and put @fmident.plugins.hookimpl above it",
        )
    return functions


def _left_out(origin: Origin, error: BaseException) -> Diagnostic:
    place = passed_through(error, origin.package)
    if place is None and not origin.is_built_in:
        place = passed_through(error, origin.package.partition(".")[0])  # a package around it
    own = error.hint if isinstance(error, FmidentError) else advice_on(error)
    return Diagnostic(
        "warning",
        f"plugin {origin} cannot be used and is left out: {reason(error)}",
        place,
        hint=own or "uninstall it or report it to its authors; other plugins are not affected",
        rule="broken-plugin",
    )


def _ends_the_call(on: str = "") -> Failed:
    """Return a handler that raises an error naming plugin, hook and the file given by `on`."""

    def failed(origin: Origin, hook: str, error: BaseException) -> None:
        if isinstance(error, FmidentError):
            raise error
        named = plugin_failed(f"plugin {origin}: '{hook}'{on}", origin.package, error)
        named.hint = f"{named.hint}, or {leave_out(origin)}"
        raise named from error

    return failed


def _origin(point: EntryPoint) -> Origin:
    distribution = point.dist
    if distribution is None:
        return Origin(point.name, point.value)
    return Origin(point.name, point.value, *_name_and_version(distribution))


@functools.lru_cache(maxsize=8)
def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    """Return name and version of a distribution, cached because entry points share it."""
    return distribution.name, distribution.version


def _loading_order(origin: Origin) -> tuple[bool, str, str]:
    return (origin.distribution != hookspecs.PROJECT, origin.distribution, origin.plugin)


@dataclass(frozen=True)
class Guard:
    """The functions of one plugin.

    `failed` receives their exceptions, including one for an invalid return value.
    """

    origin: Origin
    failed: Failed

    def around(self, plugin: LoadedPlugin) -> SimpleNamespace:
        """Return the guarded hook implementations of `plugin` for registration with pluggy."""
        guarded: dict[str, Function] = {}
        for name, options in plugin.functions.items():
            hook, function = options["specname"] or name, getattr(plugin.implementation, name)
            if options["hookwrapper"]:
                function = _new_style(function)
                options = {**options, "hookwrapper": False, "wrapper": True}
            call = (self._wrapper if options["wrapper"] else self._plain)(hook, function)
            guarded[name] = hookimpl(**options)(call)
        return SimpleNamespace(**guarded)

    def _plain(self, hook: str, function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: object, **others: object) -> object:
            try:
                answer = self._called(function, arguments, others)
                self._check(hook, function, (*arguments, *others.values()), answer)
            except (Exception, SystemExit) as error:  # a plugin may raise anything
                self.failed(self.origin, hook, error)
                return None
            return answer

        return call

    def _wrapper(self, hook: str, function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: object, **others: object) -> Generator[None, object, object]:
            try:
                steps = self._called(function, arguments, others)
                _resume(steps.__next__, ends=False)
            except (Exception, SystemExit) as error:
                self.failed(self.origin, hook, error)
                return (yield)
            raised: BaseException | None = None
            outcome: object = None
            try:
                outcome = yield
            except BaseException as error:
                raised = error
            try:
                if raised is None:
                    answer = _resume(functools.partial(steps.send, outcome), ends=True)
                else:
                    answer = _resume(functools.partial(steps.throw, raised), ends=True)
                # Without "return", the answers of all others are lost.
                lost = answer is None and hook != "fmident_read_data"
                given = (*arguments, *others.values())
                self._check(hook, function, given, [None] if lost else answer)
            except (Exception, SystemExit) as error:
                if error is not raised:
                    self.failed(self.origin, hook, error)
            else:
                return answer
            if raised is not None:
                raise raised
            return outcome

        return call

    def _called(
        self, function: Function, arguments: tuple[object, ...], others: Mapping[str, object]
    ) -> Any:
        def own(value: object) -> object:
            return value.of(self.origin) if isinstance(value, Registry) else value

        return function(*map(own, arguments), **{n: own(v) for n, v in others.items()})

    def _check(
        self, hook: str, function: Function, arguments: tuple[object, ...], answer: object
    ) -> None:
        """Raise if the host could not use the answer of a hook."""
        for argument in arguments:
            if isinstance(argument, Registry):
                argument.of(self.origin).check()
        if answer is None or hook not in _ANSWERS:
            return
        module, name, hint = _ANSWERS[hook]
        kind = getattr(importlib.import_module(module), name)
        for one in [answer] if hook == "fmident_read_data" else flat(answer):
            if not isinstance(one, kind):
                raise PluginError(
                    f"plugin {self.origin} answered {shown(repr(one))} to {hook}, which is not a "
                    f"{name}",
                    location=defined_at(function),
                    hint=f"{hint}, or {leave_out(self.origin)}",
                )
            if hook == "fmident_report_sections":
                one.html()  # what cannot be shown is found here, not by the reporter


def leave_out(origin: Origin) -> str:
    """Return a hint on the command-line option that disables the plugin."""
    return f"leave the plugin out with '--no-plugin {origin.plugin}'"


def _new_style(function: Function) -> Function:
    """Return an old-style wrapper, which gets a pluggy Result, as a new-style one."""

    @functools.wraps(function)
    def call(*arguments: object, **others: object) -> Generator[None, object, object]:
        steps = function(*arguments, **others)
        _resume(steps.__next__, ends=False)
        try:
            result = pluggy.Result((yield), None)
        except BaseException as error:
            result = pluggy.Result(None, error)
        _resume(functools.partial(steps.send, result), ends=True)
        return result.get_result()

    return call


def _resume(step: Callable[[], object], *, ends: bool) -> object:
    try:
        step()
    except StopIteration as end:
        if ends:
            return end.value
        raise RuntimeError("the wrapper does not yield") from None
    if ends:
        raise RuntimeError("the wrapper yields twice")
    return None


def flat(answers: object) -> Iterator[Any]:
    """Yield the items of nested lists."""
    if isinstance(answers, list | tuple):
        for answer in answers:
            yield from flat(answer)
    else:
        yield answers
