"""Estimate: the estimator and its options; runs in a queue, and how far they are."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
from nicegui import ui

from fmident.errors import FmidentError
from fmident.plugins import option_rows
from fmident.words import duration, plain
from fmident_app.curves import Chart, Line, show_fit
from fmident_app.jobs import Job, State
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card
from fmident_app.simulations import Fit, Latest, SimulationFailedError

_TICK = 0.1
"""Seconds between two looks at a run."""

_TAIL = 4000
"""Characters of what a command has printed that are shown."""


class EstimationStage(Stage):
    """The runs."""

    name, icon = "Estimate", "play_circle"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._latest = Latest(self.bench.simulations)
        self._watched: Job | None = None
        self._output_of: Job | None = None
        self._seen: tuple[int, str] = (-1, "")
        self._states: list[tuple[int, State]] = []
        self._charts: dict[tuple[str, str], list[Chart]] = {}

    def tables(self) -> tuple[str, ...]:
        """Return ``estimator``, ``cost``, ``stages`` and ``evaluation``."""
        return ("estimator", "cost", "stages", "evaluation")

    def command(self) -> str:
        """Return the estimation."""
        return f"fmident estimate {self.bench.draft.path.name} -o results/{self._next_name()}"

    def done(self) -> bool:
        """Whether a run has ended with a result."""
        return any(j.words[0] == "estimate" and j.state == "done" for j in self.bench.jobs.jobs)

    def build(self) -> None:
        """Make the settings on the left, and the run on the right."""
        with ui.row().classes("w-full no-wrap items-start gap-4"):
            with ui.column().classes("gap-3").style("width: 27rem; flex: none"):
                with card("Estimator"):
                    self._estimator()
                with card("Run"):
                    self._start()
                    self._queue()
            with ui.column().classes("col gap-2"):
                self._progress = ui.label("").props("role=status")
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
        self.bench.check.changed.subscribe(self._start.refresh)

    def refresh(self, structure: bool) -> None:
        """Show the settings, and whether a run can start."""
        if structure:
            self._estimator.refresh()
        self._start.refresh()

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

    def _set_option(self, name: str, text: str) -> None:
        with self.bench.draft.one_change():
            if "estimator" not in self.bench.draft.content():
                self.bench.draft.change("estimator", "name", value="least-squares")
            self.bench.draft.change("estimator", name, value=_value(text) if text.strip() else None)
        self.bench.tell(self.page.origin, structure=False)

    # -------------------------------------------------------------------------- the runs

    @ui.refreshable_method
    def _start(self) -> None:
        bench = self.bench
        start = ui.button("Start", icon="play_arrow", on_click=self._add).props("no-caps")
        start.set_enabled(bench.check.passed)
        if not bench.check.passed:
            why = bench.missing or (
                bench.check.report["verdict"]
                if bench.check.report and bench.check.is_current
                else bench.check.error
                if bench.check.is_current
                else "the check has not ended yet"
            )
            ui.label(f"Locked: {why}").classes("muted whitespace-pre-wrap")

    def _next_name(self) -> str:
        taken = {job.result for job in self.bench.jobs.jobs}
        number = 1
        while (
            f"results/run-{number}" in taken
            or (self.bench.folder / "results" / f"run-{number}").exists()
        ):
            number += 1
        return f"run-{number}"

    def _add(self) -> None:
        name = self._next_name()
        result = f"results/{name}"
        try:
            self.bench.jobs.add(
                ("estimate", self.bench.snapshot(name), "-o", result),
                name,
                result=result,
                resumable=True,
            )
        except (FmidentError, OSError) as error:
            self.page.tell(error)

    @ui.refreshable_method
    def _queue(self) -> None:
        for job in reversed(self._runs()):
            state = job.state
            with ui.row().classes("items-center no-wrap gap-1 w-full"):
                watch = ui.button(job.title, on_click=lambda j=job: self._look_at(j))
                watch.props("no-caps dense " + ("" if job is self._watched else "flat"))
                ui.label(state).classes("muted")
                ui.space()
                if state == "running":
                    self._act("Pause", "pause", job.pause, job)
                    self._act("Stop", "stop", job.stop, job)
                if state == "paused":
                    self._act("Go on", "play_arrow", job.go_on, job)
                    self._act("Stop", "stop", job.stop, job)
                if state in ("interrupted", "failed") and job.resumable:
                    self._act("Resume", "replay", lambda j=job: self.bench.jobs.resume(j), job)

    def _act(self, what: str, icon: str, act: Any, job: Job) -> None:
        button = named(ui.button(icon=icon, on_click=act), f"{what} {job.title}")
        button.props("flat dense round")
        button.tooltip(what)

    def _runs(self) -> list[Job]:
        return [job for job in self.bench.jobs.jobs if job.words[0] == "estimate"]

    def _look_at(self, job: Job) -> None:
        self._watched, self._seen = job, (-1, "")
        self._place.clear()
        self._charts = {}
        self._queue.refresh()

    # --------------------------------------------------------------------- a run as it goes

    async def _watch(self) -> None:
        self.bench.jobs.advance()
        runs = self._runs()
        states = [(job.number, job.state) for job in runs]
        if states != self._states:
            if len(states) > len(self._states):
                self._look_at(runs[-1])
            ended = dict(self._states)
            self._states = states
            self._queue.refresh()
            if any(s == "done" and ended.get(n) not in (None, "done") for n, s in states):
                self.page.refresh(structure=False)
                self.page.results_changed()
        job = self._watched
        if job is None:
            return
        events = job.events
        if (len(events), job.state) != self._seen:
            self._seen = len(events), job.state
            await self._show(job, events)
        if job.state == "running" or self._output_of is not job:
            self._output.set_content(job.output[-_TAIL:])
            self._output_of = job if job.state != "running" else None

    async def _show(self, job: Job, events: list[dict[str, Any]]) -> None:
        iterations = [e for e in events if e["event"] == "iteration"]
        if not iterations:
            self._progress.set_text(f"{job.title}: {job.state}")
            return
        last = iterations[-1]
        same = [e for e in iterations if e["stage"] == last["stage"]]
        start = next(e for e in events if e["event"] == "start")
        names = start["parameters"][last["stage"]]
        stage = f"stage {last['stage']}, " if last["stage"] else ""
        self._progress.set_text(
            f"{job.title}: {job.state}, {stage}iteration {last['number']}, cost "
            f"{plain(last['cost'])}, {last['simulations']} simulations in "
            f"{duration(last['seconds'])}{self._expected()}"
        )
        numbers = np.array([float(e["number"]) for e in same])
        costs = np.array([e["cost"] for e in same])
        self._cost.show([Line("cost", numbers, np.where(costs > 0.0, costs, np.nan))])
        paths = np.array([e["values"] for e in same])
        paths /= np.where(paths[0] == 0.0, 1.0, np.abs(paths[0]))
        self._paths.show([Line(n, numbers, paths[:, k]) for k, n in enumerate(names)])
        values: dict[str, float] = {}
        for event in iterations:  # those of earlier stages stay
            values |= zip(start["parameters"][event["stage"]], event["values"], strict=True)
        await self._show_fit(job, values)

    def _expected(self) -> str:
        """Return what the last check said of the effort."""
        effort = (self.bench.check.report or {}).get("effort")
        if not effort:
            return ""
        most = f" to {effort['most']}" if effort.get("most") else ""
        return (
            f"; the check expected {effort['simulations']}{most} simulations, "
            f"{duration(effort['seconds'])} with {effort['workers']} at a time"
        )

    async def _show_fit(self, job: Job, values: dict[str, float]) -> None:
        """Show the fit of the problem as it was run."""
        try:
            curves = await self._latest.run(Fit(self.bench.folder / job.words[1], 0, values))
        except SimulationFailedError:
            return
        show_fit(curves or [], self._charts, self._place, residuals=True)


def _written(value: object) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(
        value, bool) else str(value)  # fmt: skip


def _value(text: str) -> object:
    """Return what a user typed as TOML; texts need no quotes."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
