"""Simulations, failures and Jacobians of an evaluator, in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fmident.evaluation.tasks import SimulationFailure


@dataclass
class Counts:
    """Simulations and Jacobians so far, also counted in `whole` for a branch."""

    whole: Counts | None = None
    simulations: int = 0
    failures: int = 0
    last_failure: SimulationFailure | None = None
    jacobians: int = 0
    _paused: bool = False

    def add(self, *, simulations: int = 0, failures: int = 0, jacobians: int = 0) -> None:
        """Increase the counts."""
        if self._paused:
            return
        self.simulations += simulations
        self.failures += failures
        self.jacobians += jacobians
        if self.whole is not None:
            self.whole.add(simulations=simulations, failures=failures, jacobians=jacobians)

    def failed(self, failure: SimulationFailure | None, count: int = 1) -> None:
        """Count failures, of which `failure` is the last, if known."""
        if self._paused:
            return
        self.add(failures=count)
        level: Counts | None = self
        while level is not None:
            level.last_failure = failure or level.last_failure
            level = level.whole

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend counting, for what has been counted before."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before
