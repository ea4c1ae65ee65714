"""Observer that displays a run and never ends it."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TextIO

from fmident.progress.block import Letters, block, closing_line
from fmident.progress.lines import Lines
from fmident.progress.state import RunState
from fmident.progress.stream import is_terminal, write

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.monitor import RunPlan
    from fmident.profiles import ProfileProgress

_PATIENCE = 3.0
"""A run that is shorter shows no block: importing what draws it would be more than 1 % of it, s."""

_SHARE = 300.0
"""Times what drawing a block took pass before the next is drawn, if that is longer."""

P = ParamSpec("P")


class Screen(Protocol):
    """A display whose content can be replaced."""

    @property
    def pause(self) -> float:
        """Minimum time between two replacements, s."""

    def show(self, draw: Callable[[int, int, Letters], list[str]]) -> None:
        """Replace the content by what `draw` returns for a width and a height."""

    def close(self, text: str = "") -> None:
        """Remove the content and leave a text instead."""


def _harmless(
    method: Callable[Concatenate[Watch, P], None],
) -> Callable[Concatenate[Watch, P], None]:
    """Return a method whose exceptions do not reach the run."""

    @functools.wraps(method)
    def guarded(self: Watch, /, *arguments: P.args, **named: P.kwargs) -> None:
        if self.broken or self._finished:
            return
        try:
            method(self, *arguments, **named)
        except Exception:  # a run is worth more than its display
            self.give_up()

    return guarded


class Watch:
    """Observer that displays a run on standard error, in a terminal, notebook or file.

    If displaying fails for any reason, it stops (`broken`) and the run continues. With
    `notebook`, the cell output is used in a notebook; with `only_blocks`, nothing is
    displayed where the output cannot be replaced. `clock` returns seconds from any origin.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        notebook: bool = False,
        only_blocks: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.broken = self._finished = False
        self.state = RunState(clock)
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._clock = clock
        self._lines: Lines | None = None
        self._open: Callable[[], Screen] | None = None
        self._screen: Screen | None = None
        self._next = clock() + _PATIENCE
        if notebook and _is_notebook():
            self._open = _notebook
        elif is_terminal(self._stream) and os.environ.get("TERM") != "dumb":
            self._open = self._terminal
        elif not only_blocks:
            self._lines = Lines(self._stream, clock)

    @_harmless
    def planned(self, plan: RunPlan) -> None:
        """Display the start of a search."""
        if self._lines is None and plan.number > 1:
            self._close()
        self.state.planned(plan)

    @_harmless
    def iteration(self, state: Iteration) -> None:
        """Display an iteration."""
        self.state.iteration(state)
        if self._lines is not None:
            self._lines.iteration(state)
        self._draw()

    @_harmless
    def activity(self, text: str, done: int, expected: int) -> None:
        """Display the progress of a generation, a Jacobian or another series of simulations."""
        self.state.activity(text, done, expected)
        if self._lines is not None:
            self._lines.activity(text, done, expected)
        self._draw()

    @_harmless
    def search_ended(self, cost: float) -> None:
        """Display the end of one of several searches."""
        self.state.search_ended(cost)
        self._draw()

    @_harmless
    def generation(self, size: int, near: int) -> None:
        """Display a generation, and how many of its vectors are near the best."""
        self.state.generation = (size, near) if size > 1 else None
        self._draw()

    @_harmless
    def profiles(self, state: ProfileProgress) -> None:
        """Display the progress of profiles."""
        if self._lines is None and self.state.profiles is None:
            self._close()
        self.state.profiles = state
        if self._lines is not None:
            self._lines.profiles(self.state)
        self._draw()

    @_harmless
    def work(self, text: str, done: int, expected: int) -> None:
        """Display the progress of work other than simulations, such as building FMUs."""
        self.state.work = (text, done, expected)
        self._draw()

    @_harmless
    def finish(self) -> None:
        """Remove the block and leave a line that summarises the run."""
        if self._lines is not None:
            self._lines.finish()
        else:
            self._close()
        self._finished = True

    def give_up(self) -> None:
        """Stop displaying, and restore the terminal if possible."""
        self.broken = True
        screen, self._screen = self._screen, None
        if screen is not None:
            with contextlib.suppress(Exception):
                screen.close()

    def _draw(self) -> None:
        """Draw the block, unless it was drawn a moment ago."""
        if self._open is None or self._clock() < self._next:
            return
        took = 0.0  # the first includes imports
        if self._screen is None:
            self._screen = self._open()
            self._screen.show(functools.partial(block, self.state))
        else:
            began = self._clock()
            self._screen.show(functools.partial(block, self.state))
            took = self._clock() - began
        self._next = self._clock() + max(self._screen.pause, _SHARE * took)

    def _close(self) -> None:
        """Remove the block and write the final line."""
        screen, line = self._screen, closing_line(self.state)
        if screen is not None:
            screen.close(line)
        elif line and self._open == self._terminal:
            write(self._stream, line + "\n", flush=True)
        self._screen = None

    def _terminal(self) -> Screen:
        from fmident.progress.terminal import Terminal

        assert self._stream is not None
        return Terminal(self._stream)


@contextlib.contextmanager
def watching(*, notebook: bool = True, only_blocks: bool = False) -> Iterator[Watch]:
    """Display the progress of the code inside; the parameters are those of :class:`Watch`."""
    watch = Watch(notebook=notebook, only_blocks=only_blocks)
    try:
        yield watch
    finally:
        watch.finish()


def _is_notebook() -> bool:
    from fmident.progress.notebook import in_notebook

    try:
        return in_notebook()
    except Exception:
        return False


def _notebook() -> Screen:
    from fmident.progress.notebook import Notebook

    return Notebook()
