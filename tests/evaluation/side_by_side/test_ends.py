"""Searches side by side: every way in which they can end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest

from fmident.errors import FmuError
from fmident.estimation import StopEstimation
from fmident.evaluation import Evaluator, JacobianError, in_callers_thread
from fmident.evaluation.side_by_side import Ended, run_side_by_side
from fmident.problem.model import Problem

from .rig import Recording, Search, at, descent


def test_a_search_without_a_jacobian_leaves_the_others_alone(evaluator: Evaluator) -> None:
    first, second, third = evaluator.side_by_side([descent(1), descent(1, 95.0), descent(2)])
    assert isinstance(second, JacobianError)
    assert "k is too large" in second.message
    assert not isinstance(first, JacobianError)
    assert not isinstance(third, JacobianError)


class Watched:
    """Searches that go on until they are ended, and say how."""

    def __init__(self) -> None:
        self.ended: list[tuple[int, str]] = []

    def endless(self, number: int) -> Search:
        def search(own: Evaluator) -> None:
            generator = np.random.default_rng(number)
            try:
                while True:
                    own.cost(generator.uniform(0.1, 9.0, 2))
            except BaseException as error:
                self.ended.append((number, type(error).__name__))
                raise

        return search

    def others_are_ended(self, *numbers: int) -> None:
        assert self.ended == [(number, "Ended") for number in numbers]


@pytest.mark.parametrize("kind", [ValueError, SystemExit, StopEstimation, KeyboardInterrupt])
def test_an_error_of_a_search_ends_all(evaluator: Evaluator, kind: type[BaseException]) -> None:
    watched = Watched()

    def wrong(own: Evaluator) -> None:
        for k in range(3):
            own.cost(at(1 + k))
        raise kind("mine")

    with pytest.raises(kind, match="mine"):
        evaluator.side_by_side([watched.endless(0), wrong, watched.endless(2)])
    watched.others_are_ended(0, 2)
    assert evaluator.best is not None
    assert evaluator.side_by_side([lambda own: own.cost(at(1))] * 2) == [evaluator.cost(at(1))] * 2


@pytest.mark.parametrize("kind", [FmuError, KeyboardInterrupt])
def test_an_error_of_the_executor_ends_all(
    evaluator: Evaluator, executor: Recording, kind: type[BaseException]
) -> None:
    watched = Watched()
    executor.error = kind("theirs")
    with pytest.raises(kind, match="theirs"):
        evaluator.side_by_side([watched.endless(k) for k in range(3)])
    watched.others_are_ended(0, 1, 2)
    executor.error = None
    assert np.isfinite(evaluator.cost(at(1)))


@pytest.mark.parametrize("kind", [StopEstimation, KeyboardInterrupt])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_an_end_that_is_asked_for_in_the_callers_thread(
    evaluator: Evaluator, kind: type[BaseException], where: int
) -> None:
    """As by a plugin that a search reports an iteration to."""
    watched, here, seen = Watched(), threading.get_ident(), []

    def stop() -> None:
        seen.append(threading.get_ident())
        raise kind("enough")

    def asking(own: Evaluator) -> None:
        own.cost(at(1))
        try:
            in_callers_thread(stop)
        except (kind, Ended):
            watched.ended.append((where, "asked"))
            raise

    searches = [asking if k == where else watched.endless(k) for k in range(3)]
    with pytest.raises(kind, match="enough"):
        evaluator.side_by_side(searches)
    assert seen == [here]
    assert sorted(watched.ended) == [(k, "asked" if k == where else "Ended") for k in range(3)]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a thread")
@pytest.mark.parametrize("where", [0, 1])
def test_ctrl_c_while_a_search_has_its_turn(evaluator: Evaluator, where: int) -> None:
    watched = Watched()

    def struck(own: Evaluator) -> None:
        try:
            own.cost(at(1))
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            while True:
                own.cost(np.random.default_rng().uniform(0.1, 9.0, 2))
        except Ended:
            watched.ended.append((where, "Ended"))
            raise

    with pytest.raises(KeyboardInterrupt):
        evaluator.side_by_side([struck if k == where else watched.endless(k) for k in range(3)])
    assert sorted(watched.ended) == [(k, "Ended") for k in range(3)]


class Struck:
    """Sends Ctrl-C to this thread at a line of the module under test.

    Parameters
    ----------
    at
        Number of the line, of those that are run; none for -1.
    """

    def __init__(self, at: int) -> None:
        self.lines = 0
        self._at = at
        self._file = sys.modules[run_side_by_side.__module__].__file__

    def run(self, evaluator: Evaluator) -> None:
        sys.settrace(self._trace)
        try:
            evaluator.side_by_side([descent(1, steps=1), descent(2, steps=1)])
        finally:
            sys.settrace(None)

    def _trace(self, frame: Any, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != self._file:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._at:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return self._trace


@pytest.mark.skipif(os.name != "posix", reason="sends signals to a thread")
def test_ctrl_c_at_any_line(problem: Problem) -> None:
    """Whatever line of this module the signal finds: it comes out, and no thread stays."""
    calm = Struck(-1)
    calm.run(Evaluator(problem, Recording(problem)))
    assert calm.lines > 100
    for line in range(1, calm.lines, 7):
        with pytest.raises(KeyboardInterrupt):
            Struck(line).run(Evaluator(problem, Recording(problem)))


@pytest.mark.skipif(os.name != "posix", reason="sends signals to a thread")
def test_ctrl_c_again_while_the_searches_are_ended(problem: Problem) -> None:
    def interrupted(struck: Struck) -> int:
        """Return the lines run until Ctrl-C of the first batch, and another, have come out."""
        executor = Recording(problem)
        executor.error = KeyboardInterrupt("first")
        with pytest.raises(KeyboardInterrupt):
            struck.run(Evaluator(problem, executor))
        for thread in threading.enumerate():
            if thread.name.startswith("search "):  # they end alone, now or soon
                thread.join(60.0)
                assert not thread.is_alive()
        return struck.lines

    for line in range(1, interrupted(Struck(-1)) + 1):
        interrupted(Struck(line))
