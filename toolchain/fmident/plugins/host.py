"""Finding, loading and calling plugins.

Nothing here happens at import: :func:`load_plugins` finds and loads on request and
returns a :class:`Host`, which the composition root hands to whoever needs it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from fmident.errors import (
    Code,
    Diagnostic,
    FmidentError,
    Location,
    PluginError,
    did_you_mean,
    nearest,
    shown,
)
from fmident.plugin_code import PLUGIN_BUG, defined_at, passed_through, plugin_failed, raised_in
from fmident.plugins import hookspecs
from fmident.plugins.registration import check_item
from fmident.plugins.registry import Origin, Registry

if TYPE_CHECKING:
    import pandas as pd

    from fmident.compilers.base import Compiler
    from fmident.estimation.contract import Estimator
    from fmident.estimation.result import EstimationResult
    from fmident.evaluation import ExecutorKind
    from fmident.problem.cost import Cost
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter
    from fmident.report.sections.content import Section

BUILT_IN = {
    "embedded": "fmident.plugins.builtin.embedded",
    "openmodelica": "fmident.compilers.openmodelica.plugin",
    "reporters": "fmident.plugins.builtin.reporters",
    "executors": "fmident.plugins.builtin.executors",
}
"""Plugins that are part of the host; they go through the same door as all others."""


@dataclass(frozen=True)
class LoadedPlugin:
    """One plugin as it was found.

    Parameters
    ----------
    origin
        Its name and distribution.
    hooks
        Names of the hooks it implements.
    problem
        Why it was left out; ``None`` when it works.
    """

    origin: Origin
    hooks: tuple[str, ...]
    problem: Diagnostic | None = None


class Host:
    """Everything that plugins brought along.

    Attributes
    ----------
    estimators, costs, executors, compilers, reporters
        What plugins registered.
    registries
        All of these.
    """

    def __init__(self) -> None:
        self._manager, self._one_alone = _new_manager(), _new_manager()
        self._plugins: list[LoadedPlugin] = []
        self._origins: dict[int, Origin] = {}
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
    def plugins(self) -> tuple[LoadedPlugin, ...]:
        """All plugins found, the broken ones included, in the order of loading."""
        return tuple(self._plugins)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """One for each plugin that was left out."""
        return tuple(p.problem for p in self._plugins if p.problem is not None)

    def add(self, origin: Origin, load: Callable[[], object]) -> None:
        """Load one plugin; when that fails, leave it out and remember why.

        Parameters
        ----------
        origin
            Its name and distribution.
        load
            Returns the module or object that carries the hook implementations.
        """
        hooks: tuple[str, ...] = ()
        # A plugin is a stranger's code, which may raise anything at all; whatever it is,
        # it must not take the host down with it.
        try:
            plugin = load()
            with self._alone(origin, plugin) as manager:
                hooks = _validated_hooks(manager, plugin)
                self._register(origin, plugin, manager)
        except (Exception, SystemExit) as error:
            self._plugins.append(LoadedPlugin(origin, hooks, _left_out(origin, error)))
        else:
            self._plugins.append(LoadedPlugin(origin, hooks))

    def compiler(self, name: str) -> Compiler:
        """Return a compiler; what one of a plugin raises or returns is checked.

        Raises
        ------
        fmident.errors.PluginError
            There is none of this name, or it cannot be made without arguments.
        """
        found = self.compilers.registration(name)
        kind, origin = found.item, found.origin
        if origin.is_built_in:
            return kind()
        from fmident.compilers.checked import CheckedCompiler

        return CheckedCompiler(kind, f"the compiler '{name}' of plugin {origin}")

    def read_data(self, path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
        """Ask the plugins to read a data file.

        Returns
        -------
        pandas.DataFrame or None
            ``None`` when no plugin knows the format.

        Raises
        ------
        fmident.errors.PluginError
            A plugin failed on the file.
        """
        hook = "fmident_read_data"
        for origin, call in self.callers(hook):
            table = _guarded(origin, hook, call, f"'{path}'", path=path, spec=spec)
            if table is None:
                continue
            import pandas as pd

            if not isinstance(table, pd.DataFrame):
                raise _wrong_answer(
                    origin, hook, call, table, "a DataFrame", "return a pandas.DataFrame or None"
                )
            return table
        return None

    def check_problem(self, problem: Problem) -> list[Diagnostic]:
        """Collect what the plugins have to say about a problem.

        Raises
        ------
        fmident.errors.PluginError
            A plugin's check failed itself.
        """
        found: list[Diagnostic] = []
        hook = "fmident_check_problem"
        for origin, call in self.callers(hook):
            for answer in _guarded(origin, hook, call, problem=problem):
                for diagnostic in answer if isinstance(answer, list | tuple) else [answer]:
                    if not isinstance(diagnostic, Diagnostic):
                        hint = "return a list of fmident.errors.Diagnostic"
                        raise _wrong_answer(origin, hook, call, diagnostic, "a Diagnostic", hint)
                    found.append(diagnostic)
        return found

    def report_sections(
        self, result: EstimationResult, problem: Problem
    ) -> tuple[list[Section], list[Diagnostic]]:
        """Collect what the plugins add to a report.

        A result is never lost because of a plugin: one that fails is reported and left out.

        Returns
        -------
        sections : list of Section
        failed : list of Diagnostic
            One for each plugin that failed.
        """
        from fmident.report.sections import Section

        sections: list[Section] = []
        failed: list[Diagnostic] = []
        hook = "fmident_report_sections"
        for origin, call in self.callers(hook):
            try:
                found: list[Section] = []
                for answer in _guarded(origin, hook, call, result=result, problem=problem):
                    for section in answer if isinstance(answer, list | tuple) else [answer]:
                        if not isinstance(section, Section):
                            hint = "return a list of fmident.report.sections.Section"
                            raise _wrong_answer(origin, hook, call, section, "a Section", hint)
                        section.html()  # what cannot be shown is found here, not by the reporter
                        found.append(section)
            except Exception as error:
                own = error if isinstance(error, FmidentError) else None
                failed.append(
                    Diagnostic(
                        "warning",
                        f"the report sections of plugin {origin} are missing: "
                        + (own.message if own else repr(error)),
                        own.location if own else raised_in(error, origin.package),
                        rule="failed-section",
                    )
                )
            else:
                sections += found
        return sections, failed

    def callers(self, hook: str) -> list[tuple[Origin, Callable[..., Any]]]:
        """Return one caller per plugin that implements `hook`, in order of registration.

        Calling plugins one at a time shows which of them failed.
        """
        everyone = [p for p in self._manager.get_plugins() if id(p) in self._origins]
        everyone.sort(key=lambda p: list(self._origins).index(id(p)))
        result: list[tuple[Origin, Callable[..., Any]]] = []
        for plugin in everyone:
            others = [p for p in everyone if p is not plugin]
            caller = self._manager.subset_hook_caller(hook, others)
            if caller.get_hookimpls() and any(i.plugin is plugin for i in caller.get_hookimpls()):
                result.append((self._origins[id(plugin)], caller))
        return result

    @contextmanager
    def _alone(self, origin: Origin, plugin: object) -> Iterator[pluggy.PluginManager]:
        """Provide a manager that knows no other plugin.

        It is the same for one after the other: to read the specifications of the hooks for each
        plugin would take longer than all the rest.

        Raises
        ------
        pluggy.PluginValidationError
            A hook asks for an argument that does not exist.
        """
        manager = self._one_alone
        try:
            manager.register(plugin, origin.plugin)
            yield manager
        finally:
            if manager.get_name(plugin) is not None:  # also if only some of its hooks are
                manager.unregister(plugin)

    def _register(self, origin: Origin, plugin: object, alone: pluggy.PluginManager) -> None:
        """Call the registration hooks of `plugin`, then keep everything or nothing."""
        pairs = [(registry, Registry[Any](registry.kind, origin)) for registry in self.registries]
        for registry, brought in pairs:
            getattr(alone.hook, f"fmident_register_{registry.kind}s")(registry=brought)
            for found in brought.imported:
                check_item(registry.kind, found.name, found.item)
            registry.check(brought)
        self._manager.register(plugin, _unique_name(self._manager, origin.plugin))
        self._origins[id(plugin)] = origin
        for registry, brought in pairs:
            registry.merge(brought)


def load_plugins(*, without: Iterable[str] = (), found: Sequence[EntryPoint] | None = None) -> Host:
    """Find and load all plugins.

    Plugins of the distribution fmident come first, the others in the order of their
    distributions' names, so that the outcome does not depend on the order of
    installation.

    Parameters
    ----------
    without
        Names of plugins to leave out.
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
    points = list(entry_points(group=hookspecs.PROJECT)) if found is None else list(found)
    origins = {_origin(point): point for point in points}
    unwanted = set(without)
    names = {*BUILT_IN, *(origin.plugin for origin in origins)}
    for name in sorted(unwanted - names):
        raise PluginError(
            f"there is no plugin '{name}' to leave out",
            hint=did_you_mean(name, names),
            code=Code.UNKNOWN_NAME,
        )
    host = Host()
    for name, module in BUILT_IN.items():
        if name not in unwanted:
            origin = Origin(name, module, hookspecs.PROJECT, _own_version())
            host.add(origin, functools.partial(importlib.import_module, module))
    for origin in sorted(origins, key=_loading_order):
        if origin.plugin not in unwanted:
            host.add(origin, origins[origin].load)
    return host


def _new_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def _validated_hooks(manager: pluggy.PluginManager, plugin: object) -> tuple[str, ...]:
    """Return the names of the hooks that `plugin` implements.

    Parameters
    ----------
    manager
        It is registered there.
    plugin
        The module or object.

    Raises
    ------
    fmident.errors.PluginError
        It implements none, or one that does not exist.
    """
    known = {name for name in vars(hookspecs) if name.startswith(f"{hookspecs.PROJECT}_")}
    callers = manager.get_hookcallers(plugin) or []
    for caller in callers:
        optional = all(impl.optionalhook for impl in caller.get_hookimpls())
        if not caller.has_spec() and not optional:
            raise PluginError(
                f"it implements the hook '{caller.name}', which does not exist",
                hint=did_you_mean(caller.name, known, kind="hook"),
                code=Code.UNKNOWN_NAME,
            )
    if not callers:
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
    return tuple(sorted(caller.name for caller in callers))


def _left_out(origin: Origin, error: BaseException) -> Diagnostic:
    hint: str | None = "uninstall it or report it to its authors; other plugins are not affected"
    if isinstance(error, FmidentError):
        reason = error.message
        hint = error.hint or hint
    elif isinstance(error, pluggy.PluginValidationError):
        reason = " ".join(str(error).split())
    else:
        message = error.msg if isinstance(error, SyntaxError) else error
        reason = f"{type(error).__name__}: {message}"
    return Diagnostic(
        "warning",
        f"plugin {origin} cannot be used and is left out: {reason}",
        _where_it_broke(origin, error),
        hint=hint,
        rule="broken-plugin",
    )


def _where_it_broke(origin: Origin, error: BaseException) -> Location | None:
    """Return the line of a plugin that could not be loaded; ``None`` if none of its lines ran."""
    if isinstance(error, FmidentError) and error.location is not None:
        return error.location
    own = passed_through(error, origin.package)
    if own is None and not origin.is_built_in:
        own = passed_through(error, origin.package.partition(".")[0])  # a package around it
    return own


def _guarded(
    origin: Origin, hook: str, call: Callable[..., Any], on: str = "", **arguments: object
) -> Any:
    """Call a hook of one plugin; `on` says on which file.

    Raises
    ------
    fmident.errors.PluginError
        It failed; with plugin, hook, file and line.
    """
    try:
        return call(**arguments)
    except FmidentError:
        raise
    except (Exception, SystemExit) as error:
        what = f"plugin {origin}: '{hook}'"
        failed = plugin_failed(f"{what} on {on}" if on else what, origin.package, error)
        raise PluginError(
            failed.message, location=failed.location, hint=f"{PLUGIN_BUG}, or {_leave_out(origin)}"
        ) from error


def _wrong_answer(
    origin: Origin, hook: str, call: Callable[..., Any], answer: object, wanted: str, hint: str
) -> PluginError:
    """Return the error of a hook that answers something else than its contract says."""
    (implementation,) = call.get_hookimpls()  # type: ignore[attr-defined]
    return PluginError(
        f"plugin {origin} answered {shown(repr(answer))} to {hook}, which is not {wanted}",
        location=defined_at(implementation.function),
        hint=f"{hint}, or {_leave_out(origin)}",
    )


def _leave_out(origin: Origin) -> str:
    return f"leave the plugin out with '--no-plugin {origin.plugin}'"


def _origin(point: EntryPoint) -> Origin:
    distribution = point.dist
    if distribution is None:
        return Origin(point.name, point.value)
    return Origin(point.name, point.value, *_name_and_version(distribution))


@functools.lru_cache(maxsize=8)
def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    """Read the metadata of a distribution, which many entry points of it share."""
    return distribution.name, distribution.version


def _loading_order(origin: Origin) -> tuple[bool, str, str]:
    return (origin.distribution != hookspecs.PROJECT, origin.distribution, origin.plugin)


def _own_version() -> str:
    from fmident._version import __version__

    return __version__


def _unique_name(manager: pluggy.PluginManager, name: str) -> str:
    """Return `name`, numbered when another distribution's plugin has the same one."""
    candidate, number = name, 1
    while manager.has_plugin(candidate):
        number += 1
        candidate = f"{name}-{number}"
    return candidate
