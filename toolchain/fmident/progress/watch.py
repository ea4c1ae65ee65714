"""Observer that displays a run and never ends it."""

from __future__ import annotations

import contextlib
import functools
import html
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TextIO

from fmident.evaluation.activity import WITHIN_ITERATIONS
from fmident.progress.block import Letters, block, closing_line, details_of, profile_text
from fmident.progress.state import RunState
from fmident.progress.stream import is_terminal, write
from fmident.words import duration

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.monitor import RunPlan
    from fmident.profiles import ProfileProgress

_PATIENCE = 3.0
"""A run that is shorter shows no block: importing what draws it would be more than 1 % of it, s."""

_SHARE = 300.0
"""Times what drawing a block took pass before the next is drawn, if that is longer."""

_HEADER = "iteration          cost   simulations       time"

_REPEAT = 5.0
"""A line that says nothing new is written this often, s."""

_LONG = 1.0
"""What comes between iterations is shown only when it takes longer, s."""

_WIDTH, _HEIGHT = 90, 40

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
        self._open: Callable[[], Screen] | None = None
        self._screen: Screen | None = None
        self._next = clock() + _PATIENCE
        if notebook and _is_notebook():
            self._open = Notebook
        elif is_terminal(self._stream) and os.environ.get("TERM") != "dumb":
            self._open = self._terminal
        lines = self._open is None and not only_blocks
        self._lines = Lines(self._stream if lines else None, clock)

    @_harmless
    def planned(self, plan: RunPlan) -> None:
        """Display the start of a search."""
        if plan.number > 1:
            self._close()
        self.state.planned(plan)

    @_harmless
    def iteration(self, state: Iteration) -> None:
        """Display an iteration."""
        self.state.iteration(state)
        self._lines.iteration(state)
        self._draw()

    @_harmless
    def activity(self, text: str, done: int, expected: int) -> None:
        """Display the progress of a generation, a Jacobian or another series of simulations."""
        self.state.activity(text, done, expected)
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
        if self.state.profiles is None:
            self._close()
        self.state.profiles = state
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
        self._lines.finish()
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
        if self._open is None or self._clock() < self._next:
            return
        first, began = self._screen is None, self._clock()
        screen = self._screen = self._screen or self._open()
        screen.show(functools.partial(block, self.state))
        took = 0.0 if first else self._clock() - began  # the first includes imports
        self._next = self._clock() + max(screen.pause, _SHARE * took)

    def _close(self) -> None:
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
    with contextlib.suppress(Exception):
        get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
        shell = None if get_shell is None else get_shell()
        return shell is not None and getattr(shell, "kernel", None) is not None
    return False


class Lines:
    """Writes a line per iteration with a new cost, and for long work in between.

    A `stream` of ``None`` discards them; `clock` returns seconds from any origin.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._last = -math.inf
        self._pending = ""
        self._begun = False
        self._shown: float | None = None
        self._stage = ""
        self._doing = ""
        self._doing_since = -math.inf

    def iteration(self, state: Iteration) -> None:
        """Write an iteration, or hold it back until something changes."""
        if not self._begun:  # after any output from before the run
            self._begun = True
            write(self._stream, _HEADER + "\n")
        if state.stage != self._stage:
            self.finish()
            self._stage, self._shown = state.stage, None
            write(self._stream, f"stage '{state.stage}'\n", flush=True)
        line = (
            f"{state.number:9d}  {state.cost:12.6g}  {state.simulations:12d}  "
            f"{duration(state.seconds):>9}{details_of(state)}"
        )
        # Searches side by side report in turns, so their numbers are not new.
        self._say(line, new=state.cost != self._shown)
        self._shown = state.cost

    def activity(self, text: str, done: int, expected: int) -> None:
        """Write the progress of a long series of simulations that is not an iteration."""
        if text in WITHIN_ITERATIONS:
            return
        now = self._clock()
        if text != self._doing or done == 0:
            self._doing, self._doing_since = text, now
            return
        if now - self._doing_since < _LONG or now - self._last < _REPEAT:
            return
        self.finish()
        self._put(f"{text}: {done}{f' of {expected}' if done <= expected else ''} simulations")

    def profiles(self, state: RunState) -> None:
        """Write the progress of profiles."""
        self._say(", ".join(profile_text(state)), new=False)

    def finish(self) -> None:
        """Write what was held back."""
        if self._pending:
            line, self._pending = self._pending, ""
            self._put(line)

    def _say(self, line: str, *, new: bool) -> None:
        if not new and self._clock() - self._last < _REPEAT:
            self._pending = line
            return
        self._pending = ""
        self._put(line)

    def _put(self, line: str) -> None:
        self._last = self._clock()
        write(self._stream, line + "\n", flush=True)


class Notebook:
    """The output of a cell."""

    pause = 0.5
    """It is replaced at most this often, s."""

    def __init__(self) -> None:
        self._handle: object = None

    def show(self, draw: Callable[[int, int, Letters], list[str]]) -> None:
        """Replace the output by what `draw` returns for a width and a height."""
        self._put("\n".join(draw(_WIDTH, _HEIGHT, Letters())))

    def close(self, text: str = "") -> None:
        """Replace the output by a text."""
        if self._handle is not None:
            self._put(text)

    def _put(self, text: str) -> None:
        from IPython.display import HTML, display

        page = HTML(f'<pre style="line-height: 1.2">{html.escape(text)}</pre>')
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)  # type: ignore[attr-defined]
