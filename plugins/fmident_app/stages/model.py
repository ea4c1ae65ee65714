"""Model: an FMU or a Modelica class; its variables; outputs that follow sliders."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from nicegui import ui

from fmident import FmidentError, model_classes
from fmident.fmu import Variable
from fmident_app.curves import Chart, Line
from fmident_app.jobs import Job
from fmident_app.page import Page, Stage, card
from fmident_app.simulations import FreeRun, Latest, SimulationFailedError
from fmident_app.sliders import Slider
from fmident_app.variable_tree import VariableTree

_FINDING = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<text>\w+: .*)$")

_SHOWN = 3
"""Inputs, parameters and outputs that are ticked at first."""


class ModelStage(Stage):
    """The model."""

    name, icon = "Model", "memory"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._latest = Latest(self.bench.simulations)
        self._values: dict[str, float] = {}
        self._ticked: set[str] = set()
        self._charts: dict[str, Chart] = {}

    def tables(self) -> tuple[str, ...]:
        """Return ``model``."""
        return ("model",)

    def command(self) -> str:
        """Return how the class is built."""
        return shlex.join(["fmident", *words]) if (words := self.bench.build_words) else ""

    def done(self) -> bool:
        """Whether there is an FMU."""
        return self.bench.description is not None

    def build(self) -> None:
        """Make the choice on the left, and what the model does on the right."""
        with ui.row().classes("w-full columns items-start gap-4"):
            with ui.column().classes("gap-3").style("width: 27rem; flex: none"):
                with card("Model").classes("tour-model"):
                    self._choice()
                    self.page.upload("Drop an FMU or a Modelica file here")
                    self._build_state()
                with card("Variables"):
                    self._variables()
            with ui.column().classes("col gap-3"):
                self._behaviour()
        ui.timer(0.5, self._watch_build)
        self.bench.jobs.changed.subscribe(lambda: self._build_state.refresh())

    def refresh(self, structure: bool) -> None:
        """Show the model that is chosen."""
        if structure:
            self._choice.refresh()
            self._build_state.refresh()
            self._variables.refresh()
            self._behaviour.refresh()

    # ---------------------------------------------------------------------- the choice

    @ui.refreshable_method
    def _choice(self) -> None:
        fmus, sources = (
            self.bench.files.with_suffix((".fmu",)),
            self.bench.files.with_suffix((".mo",)),
        )
        model = self.bench.draft.get("model", default={})
        given = str(model.get("fmu", "")) or None
        if given is not None and given not in fmus:
            fmus.append(given)
        select = ui.select(fmus, value=given, label="FMU in this folder", clearable=True)
        select.classes("w-full").on_value_change(lambda e: self._choose_fmu(e.value))
        if sources:
            classes: dict[str, str] = {}
            for source in sources:
                try:
                    names = model_classes(self.bench.folder / source)
                except FmidentError:
                    names = (Path(source).stem,)
                classes |= {f"{source}|{name}": f"{name} ({source})" for name in names}
            chosen = f"{''.join(self.bench.sources)}|{model.get('class')}"
            select = ui.select(
                classes, value=chosen if chosen in classes else None, label="Modelica class"
            )
            select.classes("w-full").on_value_change(lambda e: self._choose_class(e.value))
        if "class" in model:
            build = ui.button("Build", icon="build", on_click=self.bench.build)
            build.props("no-caps").classes("tour-build")
        if (description := self.bench.description) is not None:
            kinds = ", ".join(i.kind for i in description.interfaces)
            ui.label(
                f"{description.name}: FMI {description.fmi_version}, {kinds}, by "
                f"{description.generation_tool or 'an unknown tool'}"
            ).classes("muted")

    def _choose_fmu(self, name: str | None) -> None:
        if name is None or name == self.bench.draft.get("model", "fmu"):
            return
        try:
            self.bench.take_fmu(name)
        except FmidentError as error:
            self.page.tell(error)
            self._choice.refresh()

    def _choose_class(self, value: str) -> None:
        source, _, name = value.partition("|")
        if self.bench.take_class(source, name):
            self.bench.build()

    @property
    def _build_job(self) -> Job | None:
        """The last build of this class."""
        words = tuple(self.bench.build_words)
        return next((j for j in reversed(self.bench.jobs.jobs) if j.words == words), None)

    def _watch_build(self) -> None:
        """Show what a build prints while it runs."""
        if (job := self._build_job) is not None and job.state == "running":
            self._build_state.refresh()

    @ui.refreshable_method
    def _build_state(self) -> None:
        job = self._build_job
        if job is None:
            return
        lines = job.output().strip().splitlines()
        if job.state in ("queued", "running"):
            with ui.row().classes("items-center no-wrap"):
                ui.spinner()
                ui.label(lines[-1] if lines else "waiting").classes("muted").props("role=status")
        elif job.state == "failed":
            self._findings(lines)
        else:
            ui.label(lines[-1] if lines else job.state).classes("muted").props("role=status")

    def _findings(self, lines: list[str]) -> None:
        """Show what the compiler says at the lines of the source."""
        for number, line in enumerate(lines):
            match = _FINDING.match(line)
            if match is None:
                if not line.startswith(" "):
                    ui.label(line).classes("text-negative").props("role=alert")
                continue
            hints = []
            for more in lines[number + 1 :]:
                if not more.startswith(" "):
                    break
                hints.append(more.strip())
            with ui.card().props("flat bordered").classes("w-full q-pa-sm"):
                ui.label(match["text"]).classes("text-negative").props("role=alert")
                ui.label(" ".join(hints)).classes("muted")
                ui.code(self._excerpt(match["file"], int(match["line"]))).classes("w-full")

    def _excerpt(self, file: str, line: int) -> str:
        try:
            path = self.bench.files.inside(file)
            text = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except (OSError, FmidentError):
            return f"{file}:{line}"
        first = max(line - 2, 1)
        shown = [f"{n:5d}  {text[n - 1]}" for n in range(first, min(line + 1, len(text)) + 1)]
        return "\n".join([f"{Path(file).name}", *shown])

    # ------------------------------------------------------------ variables and outputs

    @ui.refreshable_method
    def _variables(self) -> None:
        description = self.bench.description
        if description is None:
            ui.label("No model yet.").classes("muted")
            return
        ui.label("Tick parameters and inputs for sliders, outputs for curves.").classes("muted")
        self._ticked &= {*description.by_name}
        if not self._ticked:
            some = (description.inputs, description.settable_parameters, description.recorded)
            self._ticked = {v.name for variables in some for v in variables[:_SHOWN]}
        groups = {
            "Parameters": description.settable_parameters,
            "Inputs": description.inputs,
            "Outputs": description.outputs,
            "Local variables": [v for v in description.variables if v.causality == "local"],
        }
        tree = VariableTree(groups, self._tick, expanded=("Inputs", "Outputs", "Parameters"))
        tree.tick(self._ticked)

    def _tick(self, names: set[str]) -> None:
        self._ticked = names
        self._behaviour.refresh()

    @ui.refreshable_method
    def _behaviour(self) -> None:
        description, fmu = self.bench.description, self.bench.fmu
        if description is None or fmu is None:
            return
        ticked = [v for v in description.variables if v.name in self._ticked]
        moved = [v for v in ticked if v.causality in ("parameter", "input")]
        outputs = [v for v in ticked if v not in moved]
        self._values = {v.name: self._values.get(v.name, _start(v)) for v in moved}
        stop = description.default_stop or 1.0
        if moved:
            with card("Sliders"):
                for variable in moved:
                    Slider(variable, self._values[variable.name], self._move)
        self._charts = {}
        for variable in outputs:
            title = f"{variable.name} [{variable.unit}]" if variable.unit else variable.name
            self._charts[variable.name] = Chart(title, height="13rem")
        self._request = FreeRun(fmu, {}, tuple(self._charts), stop)
        self._inputs = {v.name for v in description.inputs}
        if self._charts:
            ui.timer(0.0, self._simulate, once=True)

    async def _move(self, name: str, value: float) -> None:
        self._values[name] = value
        await self._simulate()

    async def _simulate(self) -> None:
        request = self._request
        values = {k: v for k, v in self._values.items() if k not in self._inputs}
        inputs = {k: v for k, v in self._values.items() if k in self._inputs}
        try:
            curves = await self._latest.run(
                FreeRun(request.fmu, values, request.outputs, request.stop, inputs)
            )
        except SimulationFailedError as error:
            self.page.tell(error)
            return
        for curve in curves or ():
            if curve.name in self._charts:
                self._charts[curve.name].show([Line(curve.name, curve.times, curve.simulated)])


def _start(variable: Variable) -> float:
    return float(variable.start) if isinstance(variable.start, int | float) else 0.0
