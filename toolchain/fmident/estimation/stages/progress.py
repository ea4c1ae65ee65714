"""Iterations of a stage as part of those of the whole run."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Iteration
from fmident.estimation.monitor import ActivityObserver, Observer, RunPlan, Watcher

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem


class Translator:
    """Forwards reports of a stage to observers as part of the whole run."""

    def __init__(
        self,
        observers: Sequence[Observer],
        names: Sequence[str],
        stage: str,
        staged: Problem,
        values: Mapping[str, float],
        done: Sequence[EstimationResult],
        began: float,
        place: tuple[int, int],
    ) -> None:
        self._observers = tuple(observers)
        self._watchers = [o for o in self._observers if isinstance(o, Watcher)]
        self._names, self._stage, self._place = tuple(names), stage, place
        self._widen = widening(names, staged, values)
        self._translate = translation(names, stage, staged, values, done)
        self._began = began

    def iteration(self, state: Iteration) -> None:
        """Forward an iteration."""
        translated = dataclasses.replace(
            self._translate(state), seconds=time.perf_counter() - self._began
        )
        for observer in self._observers:
            observer.iteration(translated)

    def planned(self, plan: RunPlan) -> None:
        """Forward the plan of the stage."""
        number, stages = self._place
        whole = dataclasses.replace(
            plan,
            parameters=self._names,
            initial=self._widen(plan.initial),
            stage=self._stage,
            number=number,
            stages=stages,
        )
        for watcher in self._watchers:
            watcher.planned(whole)

    def search_ended(self, cost: float) -> None:
        """Forward the end of one of several searches."""
        for watcher in self._watchers:
            watcher.search_ended(cost)

    def generation(self, size: int, near: int) -> None:
        """Forward a generation."""
        for watcher in self._watchers:
            watcher.generation(size, near)

    def activity(self, text: str, done: int, expected: int) -> None:
        """Forward the progress of a series of simulations."""
        for observer in self._observers:
            if isinstance(observer, ActivityObserver):
                observer.activity(text, done, expected)


def translation(
    names: Sequence[str],
    stage: str,
    staged: Problem,
    values: Mapping[str, float],
    done: Sequence[EstimationResult],
) -> Callable[[Iteration], Iteration]:
    """Return a function that converts an iteration of a stage to one of the whole run."""
    iterations = sum(len(d.history) for d in done)
    simulations = sum(d.simulations for d in done)
    jacobians = sum(d.jacobians for d in done)
    seconds = sum(d.seconds for d in done)
    widen = widening(names, staged, values)

    def translate(state: Iteration) -> Iteration:
        return dataclasses.replace(
            state,
            number=iterations + state.number,
            parameters=widen(state.parameters),
            simulations=simulations + state.simulations,
            jacobians=jacobians + state.jacobians,
            seconds=seconds + state.seconds,
            stage=stage,
        )

    return translate


def widening(
    names: Sequence[str], staged: Problem, values: Mapping[str, float]
) -> Callable[[F64], F64]:
    """Return a function that inserts a stage's parameters, (..., n), into those of all stages."""
    start = np.array([values[name] for name in names])
    own = [q.name for q in staged.free]
    pairs = [(names.index(name), k) for k, name in enumerate(own) if name in names]

    def widen(points: F64) -> F64:
        full: F64 = np.broadcast_to(start, (*points.shape[:-1], start.size)).copy()
        for place, column in pairs:
            full[..., place] = points[..., column]
        return full

    return widen
