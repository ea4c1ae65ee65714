"""What every call of the front door needs: who takes warnings, and the plugins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fmident.errors import Diagnostic, Location, ProblemError

if TYPE_CHECKING:
    from fmident.plugins import Host
    from fmident.problem.model import Problem

Report = Callable[[Iterable[Diagnostic]], None]
"""Takes warnings and notes that come up on the way."""


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Report diagnostics as Python warnings, but for mere notes."""
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            warnings.warn(str(diagnostic), stacklevel=3)


def loaded(host: Host | None, report: Report) -> Host:
    """Return the plugins that were given, or those that are installed."""
    if host is not None:
        return host
    from fmident.plugins import load_plugins

    loaded = load_plugins()
    report(loaded.diagnostics)
    return loaded


def ask_plugins(problem: Problem, host: Host, report: Report) -> None:
    """Let the plugins look at the problem.

    Raises
    ------
    fmident.errors.ProblemError
        One of them refuses it.
    """
    found = host.check_problem(problem)
    errors = [d for d in found if d.severity == "error"]
    report([d for d in found if d.severity != "error"])
    if errors:
        first = errors[0]
        source = Location(str(problem.source)) if problem.source is not None else None
        raise ProblemError(
            "; ".join(d.message for d in errors),
            location=first.location or source,
            hint=first.hint,
        )


def keeping_constraints(host: Host) -> Callable[[], tuple[str, ...]]:
    """Return what finds the names of the estimators that keep constraints; it imports all."""
    return lambda: tuple(n for n, kind in host.estimators.by_name.items() if kind.keeps_constraints)
