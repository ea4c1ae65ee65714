"""A tour through the five stages, on the delta robot or on the work that is open.

Where it is follows from the problem file and the runs: it goes on when a step is done, and it can
be left and taken up at any time.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import run, ui

from fmident.errors import Code, FmidentError
from fmident_app.files import TOUR
from fmident_app.naming import named
from fmident_app.workbench import Workbench

if TYPE_CHECKING:
    from fmident_app.page import Page

EXAMPLE = f"/{TOUR}/"
"""Where the page of the delta robot is."""

_DATA = "handling.csv"
_SEARCHED = ("platformMass", "coulombTorque", "viscousFriction")

_LOOK = 0.3
"""Seconds between two looks at how far the work is."""

_POINTED = "outline: 2px solid #d97706; box-shadow: 0 0 0 3px #d97706 !important;"

_SHOW = """(() => {
  const target = [...document.querySelectorAll(%r)].find(e => e.offsetParent);
  const inside = 'input, button, [role=combobox], [tabindex="0"]';
  target?.scrollIntoView({block: 'center'});
  (target?.matches(inside) ? target : target?.querySelector(inside) ?? target)?.focus();
})()"""


@dataclass(frozen=True)
class Step:
    """What to do next.

    Parameters
    ----------
    stage
        Where.
    target
        A CSS selector of the element.
    own, example
        What the user sees and does, with a model of one's own and with the delta robot.
    reached
        How the user knows that it worked; shown with the step that follows.
    done
        Whether it is.
    example_target
        Of the delta robot, where it is another one.
    """

    stage: str
    target: str
    own: str
    example: str
    reached: str
    done: Callable[[Workbench], bool]
    example_target: str = ""


def _ticked(bench: Workbench) -> bool:
    free = {name for name, table in bench.parameters.items() if not table.get("fixed")}
    return free >= {*_SEARCHED} if _is_example(bench) else bool(free)


def _is_example(bench: Workbench) -> bool:
    return bench.folder.name == TOUR


def _begun(bench: Workbench, words: str, *states: str) -> bool:
    return any(j.words[0] == words and j.state in states for j in bench.jobs.jobs)


def _started(bench: Workbench) -> bool:
    return _begun(bench, "estimate", "queued", "running", "paused", "done")


STEPS = (
    Step(
        "Model",
        ".tour-model",
        "Drop an FMU or a Modelica file on the area, or choose one of this folder. A Modelica "
        "class is compiled in seconds; errors are shown at their lines.",
        "This model of a robot computes the torques of three motors from the motion of the arms. "
        "Press 'Build': fmident compiles it, which takes some seconds.",
        "The tab 'Model' has a tick: the model is there. Its sliders move its curves.",
        lambda bench: bench.description is not None and not _begun(bench, "build", "running"),
        ".tour-build",
    ),
    Step(
        "Data",
        ".tour-data",
        "Drop a measured file, such as CSV, on the area. Under 'Columns as signals', give each "
        "input and each measured output its column. Some may have one already.",
        "A robot was measured that carries a new gripper, and whose gears are worn. Choose "
        f"'{_DATA}' under 'Add a file of this folder'.",
        "The tab 'Data' has a tick: the curves on the right are what will be fitted.",
        lambda bench: any(e.get("outputs") for e in bench.experiments),
        ".tour-add",
    ),
    Step(
        "Parameters",
        ".tour-parameters",
        "Tick what you do not know. Begin with two or three parameters; their bounds are "
        "proposals.",
        f"Tick what may have changed: {', '.join(_SEARCHED)}.",
        "The parameters are ticked. The curves on the right compare model and measurement; better "
        "values on the sliders give the search a better start.",
        _ticked,
    ),
    Step(
        "Parameters",
        ".tour-check",
        "Wait for the check: whether the data determine the parameters, and how exactly. If it "
        "finds an error, its hint says what to do.",
        "Wait for the check: whether the data determine the parameters, and how exactly.",
        "The check has passed: the problem can be estimated.",
        lambda bench: bench.check.passed or _started(bench),
    ),
    Step(
        "Estimate",
        ".tour-start",
        "Press 'Start'.",
        "Press 'Start'.",
        "The run is in the list. It goes on if you close the page.",
        _started,
    ),
    Step(
        "Estimate",
        ".tour-run",
        "Watch the cost fall until the run is done. 'Stop' ends it with the best values so far.",
        "Watch the cost fall until the run is done, after a second or two.",
        "The run is done: simulated and measured curves lie on each other as well as they can.",
        lambda bench: _begun(bench, "estimate", "done"),
    ),
    Step(
        "Results",
        ".tour-values",
        "The report has the values with their 95 % intervals, and what to be careful about. Press "
        "'Modelica modifier' to take the values to your model.",
        "The report has the values with their 95 % intervals; they should contain 1.35 kg, 0.13 "
        "N.m and 0.0018 N.m.s/rad. Press 'Modelica modifier' to take the values to a model.",
        "The values are in a file of the result folder; the arrow in the list loads it.",
        lambda bench: _begun(bench, "export", "done"),
    ),
)

_END = "That is the whole way. The problem file and the results are in the folder: "


def example(folder: Path) -> Workbench:
    """Return the work on the delta robot in a folder below, which is made if there is none.

    Raises
    ------
    fmident.errors.FmidentError
        It cannot be made.
    """
    place = folder / TOUR
    problem = place / "tour.toml"
    if not problem.exists():
        words = [sys.executable, "-m", "fmident", "init", "--example", "delta", TOUR]
        made = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode:
            raise FmidentError(
                f"the example cannot be written to '{place}': {made.stderr.strip()}",
                hint="move the folder away and start the tour again",
                code=Code.UNUSABLE_FILE,
            )
    bench = Workbench(problem)
    if not problem.exists():
        bench.change("model", "class", value="Mechanisms.FMUs.DeltaInverse")
    return bench


class Tour:
    """What one window shows of the tour: an offer, a step, the end, or nothing.

    Parameters
    ----------
    page
        Whose stages it leads through.
    running
        Whether it has been started.
    """

    def __init__(self, page: Page, running: bool) -> None:
        self._page, self._bench = page, page.bench
        self._running = running
        self._offered = not running and not page.bench.draft.text.strip()
        self._shown: tuple[int, bool] | None = None

    def build(self) -> None:
        """Make the panel, and the style that points at elements."""
        self._style = ui.html("", sanitize=False)
        panel = ui.card().classes("tour w-full q-pa-sm").props("flat bordered role=region")
        self._panel = named(panel, "Tour")
        panel.on("keydown.escape", self._leave)
        with panel:
            self._content()
        self._timer = ui.timer(_LOOK, self._look, active=self._running)
        self._set(self._running)

    def start(self) -> None:
        """Go on where the work is, or offer the choice where there is no work yet."""
        self._offered = not self._bench.draft.text.strip() and not self._running
        self._set(not self._offered)
        self._keep()
        self._focus()

    # -------------------------------------------------------------------- its position

    def _position(self) -> int:
        """Return the number of the first step that is not done."""
        left = (n for n, step in enumerate(STEPS) if not step.done(self._bench))
        return next(left, len(STEPS))

    def _look(self) -> None:
        position = self._position()
        here = position == len(STEPS) or self._page.tabs.value == STEPS[position].stage
        if (position, here) != self._shown:
            self._shown = position, here
            self._point()
            self._content.refresh()

    @property
    def _target(self) -> str:
        """Selector of what to use next: the tab, where another stage is open."""
        position, here = self._shown or (0, True)
        if position == len(STEPS):
            return ""
        step = STEPS[position]
        if not here:
            return f".tour-tab-{step.stage.lower()}"
        return (_is_example(self._bench) and step.example_target) or step.target

    def _point(self) -> None:
        shown = self._running and self._target
        self._style.set_content(f"<style>{self._target} {{ {_POINTED} }}</style>" if shown else "")
        if shown:
            reached = f"document.querySelector({self._target!r})"
            ui.run_javascript(f"{reached}?.scrollIntoView({{block: 'nearest'}})")

    # -------------------------------------------------------------------------- its panel

    @ui.refreshable_method
    def _content(self) -> None:
        position, _ = self._shown or (0, True)
        with ui.row().classes("w-full items-center gap-2"):
            if self._offered:
                ui.label("New here? From nothing to an estimate in three minutes.").classes("col")
                self._button("Tour on a delta robot", self._to_example)
                self._button("Tour with my model and data", self._begin)
            elif position < len(STEPS):
                self._step(position)
                self._button("Show me", self._show)
            else:
                text = _END + str(self._bench.folder)
                with ui.column().classes("col gap-0").props("role=status"):
                    ui.label(f"✓ {STEPS[-1].reached}").classes("muted")
                    ui.label(text)
                if _is_example(self._bench):
                    self._button("Go on with my work", lambda: ui.navigate.to("/"))
            self._button("Not now" if self._offered else "Leave the tour", self._leave)

    def _step(self, position: int) -> None:
        step = STEPS[position]
        text = step.example if _is_example(self._bench) else step.own
        with ui.column().classes("col gap-0").props("role=status"):
            if position:
                ui.label(f"✓ {STEPS[position - 1].reached}").classes("muted")
            ui.label(f"{position + 1} of {len(STEPS)}, {step.stage}: {text}")

    def _button(self, text: str, act: Callable[[], object]) -> None:
        ui.button(text, on_click=act).props("no-caps dense outline").classes("q-px-sm")

    def _show(self) -> None:
        """Open the stage, and move the focus to the element."""
        position, _ = self._shown or (0, True)
        self._page.tabs.set_value(STEPS[position].stage)
        self._look()
        ui.timer(_LOOK, lambda: ui.run_javascript(_SHOW % self._target), once=True)

    async def _to_example(self) -> None:
        """Write the example, and open its page."""
        try:
            bench = await run.io_bound(example, self._bench.folder)
        except (FmidentError, OSError) as error:
            self._page.tell(error)
            return
        if bench is not None:  # it is where the server ends
            bench.close()
            ui.navigate.to(EXAMPLE)

    def _begin(self) -> None:
        self._offered = False
        self._set(True)
        self._keep()
        self._focus()

    def _leave(self) -> None:
        self._offered = False
        self._set(False)
        self._keep()

    def _set(self, running: bool) -> None:
        self._running = running
        self._shown = None
        self._panel.set_visibility(running or self._offered)
        if running:
            self._timer.activate()
            self._look()
        else:
            self._timer.deactivate()
            self._point()
            self._content.refresh()

    def _keep(self) -> None:
        """Let the address say whether the tour is open, so that it is after a reload."""
        if not _is_example(self._bench):
            ui.navigate.history.replace("/?tour=own" if self._running else "/")

    def _focus(self) -> None:
        ui.run_javascript("document.querySelector('.tour button')?.focus()")
