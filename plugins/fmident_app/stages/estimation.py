"""Estimate: the estimator and its options; runs in a queue, and how far they are."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
from nicegui import ui

from fmident.plugins import option_rows
from fmident_app.curves import Chart, Line, show_fit
from fmident_app.jobs import Job, Jobs
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card, with_value
from fmident_app.progress import progress_of, remaining
from fmident_app.simulations import Fit, Latest, SimulationFailedError

_NEWEST_FIRST = "flex-direction: column-reverse"

_TICK = 0.1
"""Seconds between two looks at a run."""

_TAIL = 4000
"""Bytes of what a command has printed that are shown."""


class EstimationStage(Stage):
    """The runs."""

    name, icon = "Estimate", "play_circle"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._latest = Latest(self.bench.simulations)
        self._watched: Job | None = None
        self._output_of: Job | None = None
        self._seen: tuple[int, str] = (-1, "")
        self._rows: dict[int, _RunRow] = {}
        self._charts: dict[tuple[str, str], list[Chart]] = {}

    def tables(self) -> tuple[str, ...]:
        """Return ``estimator``, ``cost``, ``stages`` and ``evaluation``."""
        return ("estimator", "cost", "stages", "evaluation")

    def command(self) -> str:
        """Return the estimation."""
        return f"fmident estimate {self.bench.draft.path.name} -o results/{self.bench.next_run}"

    def done(self) -> bool:
        """Whether a run has ended with a result."""
        return any(j.words[0] == "estimate" and j.state == "done" for j in self.bench.jobs.jobs)

    def build(self) -> None:
        """Make the settings on the left, and the run on the right."""
        with ui.row().classes("w-full columns items-start gap-4"):
            with ui.column().classes("gap-3").style("width: 27rem; flex: none"):
                with card("Estimator"):
                    self._estimator()
                with card("Run"):
                    self._start = ui.button("Start", icon="play_arrow", on_click=self._add)
                    self._start.props("no-caps").classes("tour-start")
                    self._locked = ui.label("").classes("muted whitespace-pre-wrap")
                    self._queue = ui.column().classes("w-full gap-1").style(_NEWEST_FIRST)
            with ui.column().classes("col gap-2"):
                self._progress = ui.label("").props("role=status").classes("tour-run")
                with ui.row().classes("w-full no-wrap"):
                    with ui.column().classes("col"):
                        self._cost = Chart("cost", height="13rem", x_name="iteration", log=True)
                    with ui.column().classes("col"):
                        self._paths = Chart(
                            "parameters over their initial values", height="13rem",
                            x_name="iteration",
                        )  # fmt: skip
                self._place = ui.column().classes("w-full gap-2")
                with ui.expansion("What the command prints").classes("w-full"):
                    self._output = ui.code("").classes("w-full")
        ui.timer(_TICK, self._watch)
        self.bench.check.changed.subscribe(self._show_lock)
        self.bench.jobs.changed.subscribe(self._show_jobs)
        self._show_runs()

    def refresh(self, structure: bool) -> None:
        """Show the settings, and whether a run can start."""
        if structure:
            self._estimator.refresh()
        self._show_lock()

    # -------------------------------------------------------------------- the estimator

    @ui.refreshable_method
    def _estimator(self) -> None:
        kinds = {r.name: r for r in self.bench.host.estimators}
        table = self.bench.draft.get("estimator", default={"name": "least-squares"})
        chosen = table.get("name", "least-squares")
        select = ui.select(
            {name: f"{name}: {r.summary}" for name, r in kinds.items()}, value=chosen
            if chosen in kinds else None, label="Estimator",
        ).classes("w-full")  # fmt: skip
        select.on_value_change(
            lambda e: self.page.change("estimator", value={"name": e.value}, structure=True)
        )
        if chosen not in kinds:
            ui.label(f"There is no estimator '{chosen}' here.").classes("text-negative")
            return
        with ui.expansion("Options").classes("w-full").props("dense"):
            for row in option_rows(kinds[chosen].item.options_type):
                value = table.get(row.name)
                field = ui.input(
                    row.name,
                    value="" if value is None else _written(value),
                    placeholder=row.default,
                ).classes("w-full")
                field.props["hint"] = row.values
                field.props("dense").tooltip(row.meaning)
                field.on("change", lambda f=field, n=row.name: self._set_option(n, f.value))
        self._evaluation()

    def _evaluation(self) -> None:
        """Make fields for how many simulations run at a time, and where."""
        table = self.bench.draft.get("evaluation", default={})

        def put(key: str, value: object) -> None:
            self.page.change("evaluation", key, value=value)

        with ui.row().classes("w-full no-wrap gap-2"):
            workers = ui.number(
                "workers", value=table.get("workers"), min=1, format="%d",
                placeholder="one for each processor",
            )  # fmt: skip
            workers.props("dense").classes("col").tooltip("simulations at a time")
            workers.on(
                "change",
                lambda: put("workers", max(int(workers.value), 1) if workers.value else None),
            )
            executor = table.get("executor")
            kinds = {None: "automatic"} | {r.name: r.name for r in self.bench.host.executors}
            where = ui.select(with_value(kinds, executor), value=executor, label="executor")
            where.props("dense").classes("col")
            where.on_value_change(lambda e: put("executor", e.value))

    def _set_option(self, name: str, text: str) -> None:
        with self.bench.draft.one_change():
            if "estimator" not in self.bench.draft.content():
                self.bench.draft.change("estimator", "name", value="least-squares")
            self.bench.draft.change("estimator", name, value=_value(text) if text.strip() else None)
        self.bench.tell(self.page.origin, structure=False)

    # -------------------------------------------------------------------------- the runs

    def _show_lock(self) -> None:
        check = self.bench.check
        self._start.set_enabled(check.passed)
        why = self.bench.missing or (
            "the check has not ended yet"
            if not check.is_current
            else check.report["verdict"]
            if check.report
            else check.error
        )
        self._locked.set_text("" if check.passed else f"Locked: {why}")

    async def _add(self) -> None:
        await self.bench.start_run()

    def _runs(self) -> list[Job]:
        return [job for job in self.bench.jobs.jobs if job.words[0] == "estimate"]

    def _show_jobs(self, ended: list[Job]) -> None:
        self._show_runs()
        if any(job.state == "done" and job.result for job in ended):
            self.page.show_states()
            self.page.results_changed()

    def _show_runs(self) -> None:
        """Show all runs; a row stays as long as its run, so that no click on it is lost."""
        runs = {job.number: job for job in self._runs()}
        for number in self._rows.keys() - runs.keys():
            self._rows.pop(number).delete()
        added = sorted(runs.keys() - self._rows.keys())
        for number in added:
            with self._queue:
                self._rows[number] = _RunRow(runs[number], self.bench.jobs, self._look_at)
        if added or self._watched not in runs.values():
            self._look_at(runs[max(runs)] if runs else None)
        for row in self._rows.values():
            row.show(self._watched)

    def _look_at(self, job: Job | None) -> None:
        self._watched, self._seen = job, (-1, "")
        self._place.clear()
        self._charts = {}
        for row in self._rows.values():
            row.show(job)

    # --------------------------------------------------------------------- a run as it goes

    async def _watch(self) -> None:
        job = self._watched
        if job is None:
            self._progress.set_text("")
            return
        events = await asyncio.to_thread(lambda: job.events)
        if (len(events), job.state) != self._seen:
            self._seen = len(events), job.state
            await self._show(job, events)
        if job.state == "running" or self._output_of is not job:
            self._output.set_content(await asyncio.to_thread(job.output, _TAIL))
            self._output_of = job if job.state != "running" else None

    async def _show(self, job: Job, events: list[dict[str, Any]]) -> None:
        progress = await asyncio.to_thread(progress_of, events)
        if job is not self._watched:  # another one was chosen meanwhile
            return
        if progress is None:
            self._progress.set_text(f"{job.title}: {job.state}")
            self._cost.show([])
            self._paths.show([])
            return
        left = remaining(progress, job.forecast) if job.state == "running" else ""
        self._progress.set_text(
            f"{job.title}: {job.state}, {progress.text}" + (f"; {left}" if left else "")
        )
        costs, paths = progress.costs, progress.paths
        self._cost.show([Line("cost", progress.numbers, np.where(costs > 0.0, costs, np.nan))])
        paths = paths / np.where(paths[0] == 0.0, 1.0, np.abs(paths[0]))
        self._paths.show(
            [Line(n, progress.numbers, paths[:, k]) for k, n in enumerate(progress.names)]
        )
        await self._show_fit(job, progress.best)

    async def _show_fit(self, job: Job, values: dict[str, float]) -> None:
        """Show the fit of the problem as it was run."""
        try:
            curves = await self._latest.run(Fit(self.bench.folder / job.words[1], 0, values))
        except SimulationFailedError:
            return
        if job is self._watched:
            show_fit(curves or [], self._charts, self._place, residuals=True)


class _RunRow:
    """The row of a run: its state, and the buttons that the state allows."""

    def __init__(self, job: Job, jobs: Jobs, look_at: Callable[[Job], None]) -> None:
        self._job = job
        with ui.row().classes("items-center no-wrap gap-1 w-full") as self._row:
            self._watch = ui.button(job.title, on_click=lambda: look_at(job))
            self._watch.props("no-caps dense")
            self._state = ui.label("").classes("muted")
            ui.space()
            self._buttons = [
                (self._button(what, icon, act), states)
                for what, icon, act, states in (
                    ("Pause", "pause", job.pause, ("running",)),
                    ("Go on", "play_arrow", job.go_on, ("paused",)),
                    ("Stop", "stop", job.stop, ("running", "paused")),
                    ("Resume", "replay", lambda: jobs.resume(job), ("interrupted", "failed")),
                    ("Remove", "delete", lambda: jobs.remove(job), ("queued",)),
                )
            ]

    def _button(self, what: str, icon: str, act: Callable[[], None]) -> ui.button:
        button = named(ui.button(icon=icon, on_click=act), f"{what} {self._job.title}")
        return button.props("flat dense round").tooltip(what)

    def show(self, watched: Job | None) -> None:
        """Show the state as it is, and whether the run is the one that is watched."""
        state = self._job.state
        self._state.set_text(state)
        self._watch.props(remove="flat") if self._job is watched else self._watch.props("flat")
        for button, states in self._buttons:
            button.set_visibility(state in states)

    def delete(self) -> None:
        """Take it off the page."""
        self._row.delete()


def _written(value: object) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(
        value, bool) else str(value)  # fmt: skip


def _value(text: str) -> object:
    """Return what a user typed as TOML; texts need no quotes."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
