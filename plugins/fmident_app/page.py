"""The page: five stages side by side, each with what it writes into the file and its command."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from nicegui import ui
from nicegui.elements.upload_files import FileUpload
from nicegui.events import UploadEventArguments

from fmident import FmidentError, model_classes
from fmident_app.files import DATA, MODELS
from fmident_app.guard import LARGEST_FILE
from fmident_app.naming import named
from fmident_app.tour import Tour
from fmident_app.workbench import Workbench

_STYLE = """
<style>
:root { color-scheme: light dark; }
.q-tab { text-transform: none; }
.nicegui-content { padding: 0; gap: 0; }
.muted { opacity: .72; }
.q-uploader__subtitle { display: none; }
.q-uploader__list { min-height: 2.5rem; padding: 4px; }
.mono { font-family: ui-monospace, monospace; font-size: .85rem; }
.drop { outline: 2px dashed transparent; outline-offset: -2px; }
.tour { position: sticky; top: 4rem; z-index: 10; border-left: 6px solid #d97706; }
.columns { flex-wrap: nowrap; }
@media (max-width: 56rem) {
  .columns { flex-wrap: wrap; }
  .columns > * { width: 100% !important; flex: 1 1 100% !important; }
}
@media (max-height: 30rem) { .tour { position: static; } }
.drop.over { outline-color: #3b82f6; }
:focus-visible { outline: 2px solid #3b82f6 !important; outline-offset: 2px; }
</style>
"""

_LOOK = 1.0
"""Seconds between two looks at whether an editor has changed the problem file."""

_REPEAT = 10.0
"""Seconds for which the same exception is not shown again."""

_THEMES = {"auto": None, "light": False, "dark": True}
"""Names of themes, and whether each is dark; that of the browser by default."""


class Stage(ABC):
    """One stage of the work.

    Attributes
    ----------
    name, icon
        Of its tab.
    """

    name: ClassVar[str]
    icon: ClassVar[str]

    def __init__(self, page: Page) -> None:
        self.page = page
        self.bench = page.bench

    @abstractmethod
    def build(self) -> None:
        """Make its elements; called once for each page."""

    @abstractmethod
    def refresh(self, structure: bool) -> None:
        """Show the problem file as it is; `structure` if more than a value has changed."""

    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is missing here."""

    def tables(self) -> tuple[str, ...]:
        """Return the tables of the problem file that it edits."""
        return ()

    def command(self) -> str:
        """Return the command that does the same in a terminal."""
        return ""


class Page:
    """What one browser window shows.

    Parameters
    ----------
    bench
        Shared by all windows.
    stages
        Their classes, in order.
    touring
        Whether the tour is open.
    """

    def __init__(
        self, bench: Workbench, stages: tuple[type[Stage], ...], *, touring: bool = False
    ) -> None:
        self.bench = bench
        self.stages = [kind(self) for kind in stages]
        self.origin = ui.context.client.id
        self._file_error = ""
        self._unfolded: set[str] = set()
        self._unexpected_shown: dict[str, float] = {}
        self._tour = Tour(self, touring)
        self._codes: dict[str, tuple[ui.code, ui.code]] = {}

    def build(self) -> None:
        """Make the page."""
        ui.add_head_html(_STYLE)
        ui.page_title(f"fmident: {self.bench.draft.path.name}")
        dark = ui.dark_mode(None)
        with ui.header().classes("items-center q-py-xs bg-primary"):
            ui.label("fmident").classes("text-lg font-bold")
            ui.label(str(self.bench.draft.path)).classes("mono ellipsis")
            ui.space()
            self._undo = ui.button("Undo", icon="undo", on_click=self._take_back)
            self._undo.props("flat color=white dense no-caps")
            tour = ui.button("Tour", icon="tour", on_click=self._tour.start)
            tour.props("flat color=white dense no-caps")
            theme = ui.toggle(list(_THEMES), value="auto")
            theme.props(
                "dense no-caps unelevated color=primary text-color=white"
                " toggle-color=white toggle-text-color=primary"
            )
            theme.props('aria-label="colours"')
            theme.on_value_change(lambda e: dark.set_value(_THEMES[e.value]))
        with ui.tabs().classes("w-full").props("align=left no-caps inline-label") as self.tabs:
            self._tabs = {s.name: self._tab(s) for s in self.stages}
        self._tour.build()
        with ui.tab_panels(self.tabs, value=self._first()).classes("w-full") as panels:
            panels.props("keep-alive")
            for stage in self.stages:
                with ui.tab_panel(stage.name).classes("q-pa-md"):
                    stage.build()
                    self._file_and_command(stage)
        self.bench.changed.subscribe(self._on_change)
        ui.timer(_LOOK, self._read_changes)
        ui.on_exception(self._unexpected)
        self.refresh(structure=True)

    def _tab(self, stage: Stage) -> ui.tab:
        return ui.tab(stage.name, icon=stage.icon).classes(f"tour-tab-{stage.name.lower()}")

    def _first(self) -> str:
        return next((s.name for s in self.stages if not s.done()), self.stages[-1].name)

    def _on_change(self, origin: str, structure: bool) -> None:
        self.refresh(structure or origin != self.origin)

    def refresh(self, structure: bool) -> None:
        """Show the problem file as it is in all stages."""
        for stage in self.stages:
            stage.refresh(structure)
        self.show_states()

    def show_states(self) -> None:
        """Show which stages are done, and what they write and run."""
        self._undo.set_enabled(self.bench.draft.can_undo)
        for stage in self.stages:
            done = stage.done()
            self._tabs[stage.name].props(f"icon={'check_circle' if done else stage.icon}")
            self._show_file(stage)

    def results_changed(self) -> None:
        """Show a new result."""
        self.stages[-1].refresh(structure=True)

    def _take_back(self) -> None:
        try:
            self.bench.undo()
        except (FmidentError, OSError) as error:
            self.tell(error)

    def _file_and_command(self, stage: Stage) -> None:
        with ui.expansion("File and command", icon="code").classes("w-full q-mt-md"):
            code = ui.code("", language="toml").classes("w-full")
            command = ui.code("", language="bash").classes("w-full")
        self._codes[stage.name] = code, command

    def _show_file(self, stage: Stage) -> None:
        code, command = self._codes[stage.name]
        code.set_content(self.bench.draft.part(stage.tables()) or "# nothing yet")
        command.set_content(stage.command())
        command.set_visibility(bool(stage.command()))

    # ------------------------------------------------------------------- for stages

    def change(self, *keys: str | int, value: object, structure: bool = False) -> None:
        """Change a key of the problem file."""
        try:
            self.bench.change(*keys, value=value, origin=self.origin, structure=structure)
        except (FmidentError, OSError) as error:
            self.refresh(structure=True)  # what the file still says
            self.tell(error)

    def _read_changes(self) -> None:
        """Show what an editor has changed in the file, or once what is wrong with it now."""
        try:
            self.bench.read_changes()
            self._file_error = ""
        except (FmidentError, OSError) as error:
            if str(error) != self._file_error:
                self._file_error = str(error)
                self.tell(error)

    def tell(self, error: Exception | str) -> None:
        """Show an error until it is closed."""
        text = str(error)
        ui.notify(text, type="negative", multi_line=True, timeout=0, close_button="Close",
                  classes="mono", position="top")  # fmt: skip

    def _unexpected(self, error: Exception) -> None:
        """Show an exception of a handler; one that a timer repeats is shown once in a while."""
        text = str(error)
        if not isinstance(error, FmidentError | OSError):
            text = (
                f"{type(error).__name__}: {error}\n"
                "  this is a defect of the app; the problem file and the runs are not affected\n"
                "  reload the page; if it comes again, report it with what the terminal printed"
            )
        now = time.monotonic()
        if now - self._unexpected_shown.get(text, -math.inf) > _REPEAT:
            self._unexpected_shown[text] = now
            self.tell(text)

    def folded(self, button: ui.button, name: str) -> ui.row:
        """Make an area that the button shows and hides; it stays open when a stage is refreshed."""
        named(button, name)
        area = ui.row().classes("w-full q-pl-lg q-pb-md gap-x-4 gap-y-0")

        def show() -> None:
            area.set_visibility(name in self._unfolded)
            button.props["aria-expanded"] = "true" if name in self._unfolded else "false"

        def toggle() -> None:
            self._unfolded ^= {name}
            show()
            button.update()

        show()
        button.on_click(toggle)
        return area

    def upload(self, what: str) -> None:
        """Make an area that takes files."""
        area = ui.upload(
            label=what,
            multiple=True,
            auto_upload=True,
            max_file_size=LARGEST_FILE,
            on_upload=self._take,
            on_rejected=lambda: self.tell(f"a file may have {LARGEST_FILE / 1e6:.0f} MB at most"),
        )
        named(area, what).classes("w-full").props("flat bordered")

    async def _take(self, event: UploadEventArguments) -> None:
        file: FileUpload = event.file
        suffix = "." + file.name.rpartition(".")[2].lower()
        if suffix not in (*MODELS, *DATA):
            self.tell(
                f"'{file.name}' is neither a model nor data\n"
                f"  models: {', '.join(MODELS)}; data: {', '.join(DATA)}"
            )
            return
        waiting = ui.notification(f"{file.name} ...", spinner=True, timeout=None)
        try:
            place = self.bench.folder / ".fmident-app" / f"upload-{secrets.token_hex(8)}"
            place.parent.mkdir(exist_ok=True)
            try:
                await file.save(place)
                name = await asyncio.to_thread(self.bench.files.store, file.name, place, move=True)
            finally:
                place.unlink(missing_ok=True)
            if suffix == ".fmu":
                self.bench.take_fmu(name)
            elif suffix == ".mo":
                classes = model_classes(self.bench.files.inside(name))
                if len(classes) == 1:
                    self.bench.take_class(name, classes[0])
                    self.bench.build()
                else:
                    self.bench.tell()
                    ui.notify(f"{name} has {len(classes)} models: choose one")
            else:
                await asyncio.to_thread(self.bench.table, {"data": name})
                self.bench.add_experiment(name)
        except (FmidentError, OSError) as error:
            self.tell(error)
        finally:
            waiting.dismiss()


def card(title: str) -> ui.card:
    """Return a card with a heading, to be used in a ``with`` statement."""
    box = ui.card().classes("w-full q-pa-sm").props("flat bordered")
    with box:
        ui.label(title).classes("text-subtitle1").props("role=heading aria-level=2")
    return box


def with_value(options: Mapping[Any, str], value: Any) -> dict[Any, str]:
    """Return the options of a menu, and the file's own value where it is another one."""
    return {**options, **({} if value in options else {value: str(value)})}
