"""Telling plugins about a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fmident.errors import Diagnostic
from fmident.estimation.contract import StopEstimation
from fmident.plugin_code import raised_in

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import EstimationResult
    from fmident.plugins.host import Host
    from fmident.plugins.run import Run


class PluginObserver:
    """Passes the events of one run on to the plugins.

    A plugin that fails in one of these hooks is reported once and not called again in
    this run: a broken logger is not a reason to lose an estimation.

    Parameters
    ----------
    host
        Whose plugins.
    run
        What they learn about.
    report
        Takes the diagnostic about a plugin that failed.
    """

    def __init__(self, host: Host, run: Run, report: Callable[[Diagnostic], None]) -> None:
        self._host = host
        self._run = run
        self._report = report
        self._silenced: set[str] = set()

    def started(self) -> None:
        """Call ``fmident_run_started``."""
        self._call("fmident_run_started", run=self._run)

    def iteration(self, state: Iteration) -> None:
        """Call ``fmident_iteration``.

        Raises
        ------
        fmident.estimation.contract.StopEstimation
            When a plugin asks for the end, after all plugins have received it.
        """
        self._call("fmident_iteration", run=self._run, state=state)

    def finished(self, result: EstimationResult) -> None:
        """Call ``fmident_run_finished``."""
        self._call("fmident_run_finished", run=self._run, result=result)

    def _call(self, hook: str, **arguments: object) -> None:
        stop: StopEstimation | None = None
        for origin, call in self._host.callers(hook):
            if str(origin) in self._silenced:
                continue
            # A stranger's code may raise anything.
            try:
                call(**arguments)
            except StopEstimation as request:
                stop = stop or StopEstimation(f"plugin '{origin.plugin}': {request}")
            except (Exception, SystemExit) as error:
                self._silenced.add(str(origin))
                self._report(
                    Diagnostic(
                        "warning",
                        f"plugin {origin} failed in {hook}: {type(error).__name__}: {error}",
                        raised_in(error, origin.package),
                        hint="it is not called again in this run; please report it to its authors",
                        rule="broken-plugin",
                    )
                )
        if stop is not None:
            raise stop
