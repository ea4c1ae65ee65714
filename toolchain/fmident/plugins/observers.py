"""Notify plugins of the events of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fmident.errors import Diagnostic, advice_on
from fmident.estimation.contract import StopEstimation
from fmident.plugin_code import raised_in, reason
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import EstimationResult
    from fmident.plugins.hookspecs import Run
    from fmident.plugins.host import Host
    from fmident.plugins.registry import Origin


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
