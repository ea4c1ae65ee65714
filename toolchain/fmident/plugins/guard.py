"""Functions of a plugin as pluggy calls them: whatever they raise or answer names the plugin."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pluggy

from fmident.errors import PluginError, shown
from fmident.plugin_code import defined_at
from fmident.plugins import hookspecs
from fmident.plugins.registry import Origin, Registry

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
class Guard:
    """The functions of one plugin.

    Parameters
    ----------
    origin
        Which plugin it is.
    failed
        Takes what they raise, also where an answer is none of the hook.
    """

    origin: Origin
    failed: Failed

    def around(self, manager: pluggy.PluginManager, plugin: object) -> SimpleNamespace:
        """Return the implementations of hooks of `plugin`, guarded, for pluggy to register."""
        guarded: dict[str, Function] = {}
        for name, options in implementations(manager, plugin).items():
            hook, function = options["specname"] or name, getattr(plugin, name)
            if options["hookwrapper"]:
                function = _new_style(function)
                options = {**options, "hookwrapper": False, "wrapper": True}
            call = (self._wrapper if options["wrapper"] else self._plain)(hook, function)
            guarded[name] = hookspecs.hookimpl(**options)(call)
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
        """Call a function of the plugin; what it registers is the plugin's."""

        def own(value: object) -> object:
            return value.of(self.origin) if isinstance(value, Registry) else value

        return function(*map(own, arguments), **{n: own(v) for n, v in others.items()})

    def _check(
        self, hook: str, function: Function, arguments: tuple[object, ...], answer: object
    ) -> None:
        """Refuse what the host could not use later."""
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


def implementations(
    manager: pluggy.PluginManager, plugin: object
) -> dict[str, pluggy.HookimplOpts]:
    """Return the options of the functions of a plugin that implement hooks, by their names."""
    found = ((name, manager.parse_hookimpl_opts(plugin, name)) for name in dir(plugin))
    return {name: options for name, options in found if options is not None}


def leave_out(origin: Origin) -> str:
    """Return a hint that names the option of the command line."""
    return f"leave the plugin out with '--no-plugin {origin.plugin}'"


def _new_style(function: Function) -> Function:
    """Return a wrapper that gets outcomes as values and exceptions, for one that gets a Result."""

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
    """Go on with a wrapper; return what it returns.

    Raises
    ------
    RuntimeError
        It yields where it should return, or returns where it should yield.
    """
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
    """Yield what is in lists in lists."""
    if isinstance(answers, list | tuple):
        for answer in answers:
            yield from flat(answer)
    else:
        yield answers
