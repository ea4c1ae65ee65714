"""Parameters: which are identified, between what bounds, and what the data will tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nicegui import ui

from fmident.fmu import Variable
from fmident.problem import search_range, searchable
from fmident.words import duration, percent, plain
from fmident_app.curves import Chart, show_fit
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card, with_value
from fmident_app.simulations import Latest, SimulationFailedError
from fmident_app.sliders import Slider
from fmident_app.stages.data import name_of

_PAUSE = 1.0
"""Seconds after the last change before a check begins."""

_MOST = 30
"""Parameters that are listed without a search."""

_ICONS = {
    "error": ("error", "negative"),
    "warning": ("warning", "warning"),
    "note": ("info", "info"),
}


class ParameterStage(Stage):
    """The parameters."""

    name, icon = "Parameters", "tune"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._latest = Latest(self.bench.simulations)
        self._moved: dict[str, float] = {}
        self._charts: dict[tuple[str, str], list[Chart]] = {}
        self._searched = ""

    def tables(self) -> tuple[str, ...]:
        """Return ``parameters`` and ``constraints``."""
        return ("parameters", "constraints")

    def command(self) -> str:
        """Return the check."""
        return f"fmident check {self.bench.draft.path.name}"

    def done(self) -> bool:
        """Whether the check has passed."""
        return self.bench.check.passed

    def build(self) -> None:
        """Make the table on the left, and sliders with curves on the right."""
        with ui.row().classes("w-full no-wrap items-start gap-4"):
            with ui.column().classes("gap-3").style("width: 36rem; flex: none"):
                with card("Parameters to be identified").classes("tour-parameters"):
                    self._table()
                with card("Check").classes("tour-check"):
                    self._check()
            with ui.column().classes("col gap-3"):
                self._sliders()
        self.bench.check.changed.subscribe(self._show_check)

    def refresh(self, structure: bool) -> None:
        """Show the parameters, and check them."""
        if structure:
            self._moved = {}
            self._table.refresh()
            self._sliders.refresh()
        self._check.refresh()
        self.bench.request_check(_PAUSE)

    def _show_check(self) -> None:
        self._check.refresh()
        self.page.show_states()

    # ------------------------------------------------------------------------ the table

    def _candidates(self) -> list[Variable]:
        description = self.bench.description
        return [] if description is None else searchable(description)

    @ui.refreshable_method
    def _table(self) -> None:
        candidates = self._candidates()
        if not candidates:
            ui.label("Choose a model first.").classes("muted")
            return
        parameters = self.bench.parameters
        if len(candidates) > _MOST:
            search = ui.input("Search names and descriptions", value=self._searched)
            search.props("dense clearable debounce=300").classes("w-full")
            search.on_value_change(lambda e: self._search(e.value or ""))
        for variable in candidates:
            if variable.name in parameters:
                self._row(variable, parameters[variable.name])
        self._offered()

    def _search(self, text: str) -> None:
        self._searched = text
        self._offered.refresh()

    @ui.refreshable_method
    def _offered(self) -> None:
        """List the parameters that are not ticked, as far as they are searched for."""
        left = [
            v
            for v in self._candidates()
            if v.name not in self.bench.parameters
            and self._searched.lower() in f"{v.name} {v.description}".lower()
        ]
        for variable in left[:_MOST]:
            self._row(variable, None)
        if len(left) > _MOST:
            ui.label(f"{len(left) - _MOST} more: search for them").classes("muted")

    def _row(self, variable: Variable, given: dict[str, Any] | None) -> None:
        """Make the row of a parameter, which alone is made anew when it is ticked."""
        name = variable.name
        with ui.column().classes("w-full gap-0"):
            with ui.row().classes("w-full items-center no-wrap gap-2"):
                tick = ui.checkbox(value=given is not None)
                named(tick, f"identify {name}").props("dense")
                ui.label(name).classes("text-weight-medium")
                ui.label(variable.unit or "").classes("mono muted")
                ui.label(variable.description).classes("muted ellipsis col")
                start = ui.label(plain(_number(variable.start))).classes("mono")
                start.bind_visibility_from(tick, "value", value=False)
            settings = ui.row().classes("w-full")

        def show(ticked: bool) -> None:
            settings.clear()
            if ticked:
                with settings:
                    self._settings(variable, self.bench.parameters[name])

        def change(ticked: bool) -> None:
            table: dict[str, Any] | None = None
            if ticked:
                table = {"initial": _number(variable.start)}
                if bounds := search_range(variable):
                    table["bounds"] = list(bounds)
            self.page.change("parameters", name, value=table)
            show(ticked)
            self._sliders.refresh()

        tick.on_value_change(lambda e: change(e.value))
        show(given is not None)

    def _settings(self, variable: Variable, given: dict[str, Any]) -> None:
        name = variable.name

        def put(key: str, value: object) -> None:
            self.page.change("parameters", name, key, value=value)

        bounds = list(given.get("bounds", (None, None)))
        with ui.row().classes("w-full items-center no-wrap gap-2 q-pl-lg"):
            initial = ui.number("initial", value=given.get("initial"), format="%.6g")
            low = ui.number("least", value=bounds[0], format="%.6g")
            high = ui.number("largest", value=bounds[1], format="%.6g")
            for field, what in ((initial, "initial value"), (low, "least"), (high, "largest")):
                named(field, f"{what} of {name}").props("dense").classes("col")
            initial.on("change", lambda: self._begin_at(name, initial.value))

            def limit() -> None:
                if low.value is not None and high.value is not None:
                    put("bounds", [low.value, high.value])

            low.on("change", limit)
            high.on("change", limit)
            log = ui.checkbox("log", value=given.get("scaling") == "log").props("dense")
            log.on_value_change(lambda e: put("scaling", "log" if e.value else None))
            fixed = ui.checkbox("fixed", value=bool(given.get("fixed"))).props("dense")
            fixed.on_value_change(lambda e: self._fix(name, e.value))
            with (
                named(ui.button(icon="more_vert"), f"more of {name}").props("flat dense round"),
                ui.menu().props("persistent"),
                ui.column().classes("q-pa-md"),
            ):
                self._more(name, given, put)

    def _begin_at(self, name: str, value: float | None) -> None:
        self.page.change("parameters", name, "initial", value=value)
        self._moved.pop(name, None)
        self._sliders.refresh()

    def _fix(self, name: str, fixed: bool) -> None:
        self.page.change("parameters", name, "fixed", value=fixed or None)
        self._sliders.refresh()

    def _more(self, name: str, given: dict[str, Any], put: Any) -> None:
        """Make fields for prior knowledge, and for the experiments that it acts on."""
        prior = given.get("prior", {})
        kind = ui.select(
            with_value(
                {None: "none", "normal": "normal", "lognormal": "lognormal"},
                prior.get("distribution"),
            ),
            value=prior.get("distribution"),
            label="prior knowledge",
        ).classes("w-48")
        mean = ui.number("mean", value=prior.get("mean"))
        sd = ui.number("standard deviation", value=prior.get("sd"))

        def know() -> None:
            if kind.value is None:
                put("prior", None)
            elif kind.value != "uniform" and mean.value is not None and sd.value:
                put("prior", {"distribution": kind.value, "mean": mean.value, "sd": sd.value})

        for field in (kind, mean, sd):
            field.on("change" if field is not kind else "update:model-value", know)
        experiments = [name_of(e) for e in self.bench.experiments]
        if len(experiments) > 1:
            acts = ui.select(
                experiments,
                label="acts on (all)",
                multiple=True,
                value=[e for e in given.get("experiments", []) if e in experiments],
            ).classes("w-48")
            acts.on_value_change(lambda e: put("experiments", e.value or None))

    # ----------------------------------------------------------------- sliders and fit

    @ui.refreshable_method
    def _sliders(self) -> None:
        self._charts = {}
        by_name = {v.name: v for v in self._candidates()}
        free = {
            name: table
            for name, table in self.bench.parameters.items()
            if not table.get("fixed") and "expression" not in table
        }
        if not free or self.bench.missing:
            ui.label(self.bench.missing).classes("muted")
            return
        with card("Move to a good start"):
            for name, table in free.items():
                known = by_name.get(str(table.get("variable", name)))
                variable = Variable(name, 0) if known is None else replace(known, name=name)
                bounds = table.get("bounds")
                if "unit" in table:
                    ui.label(f"{name}: in {table['unit']}, set in the table").classes("muted")
                    continue
                Slider(
                    variable,
                    self._moved.get(name, _initial(table, variable)),
                    self._move,
                    bounds=None if bounds is None else (bounds[0], bounds[1]),
                    log=table.get("scaling") == "log",
                )
            start = ui.button("Start from here", icon="flag", on_click=self._start_here)
            start.props("no-caps")
        self._place = ui.column().classes("w-full gap-2")
        ui.timer(0.0, self._simulate, once=True)

    async def _move(self, name: str, value: float) -> None:
        self._moved[name] = value
        await self._simulate()

    def _start_here(self) -> None:
        with self.bench.draft.one_change():
            for name, value in self._moved.items():
                self.bench.draft.change("parameters", name, "initial", value=value)
        self.bench.tell()

    async def _simulate(self) -> None:
        try:
            curves = await self._latest.run(self.bench.fit(dict(self._moved)))
        except SimulationFailedError as error:
            self._place.clear()
            with self._place:
                ui.label(str(error)).classes("text-negative mono whitespace-pre-wrap")
            return
        if curves:
            show_fit(curves, self._charts, self._place)

    # ------------------------------------------------------------------------ the check

    @ui.refreshable_method
    def _check(self) -> None:
        bench = self.bench
        if bench.missing:
            ui.label(f"Before a check: {bench.missing}.").classes("muted")
            return
        if not bench.check.is_current:
            with ui.row().classes("items-center"):
                ui.spinner()
                ui.label("checking").props("role=status")
            return
        if bench.check.report is None:
            ui.label(bench.check.error).classes("text-negative mono whitespace-pre-wrap")
            return
        check = bench.check.report
        ui.label(check["verdict"]).classes("text-weight-medium").props("role=status")
        sensitivities = check.get("sensitivities")
        if sensitivities:
            ui.label(sensitivities["verdict"])
        for finding in check["findings"]:
            icon, color = _ICONS[finding["severity"]]
            with ui.row().classes("no-wrap items-start gap-2"):
                named(ui.icon(icon, color=color), finding["severity"]).props("role=img")
                with ui.column().classes("gap-0"):
                    ui.label(finding["message"])
                    if finding.get("hint"):
                        ui.label(finding["hint"]).classes("muted")
        rows = [
            {
                "parameter": p["name"],
                "initial": plain(p["initial"]),
                "unit": p["unit"] or "",
                "acts": p["influence"],
                "expected error": ""
                if p["predicted_error"] is None
                else percent(p["predicted_error"] / abs(p["initial"]))
                if p["initial"]
                else plain(p["predicted_error"]),
            }
            for p in check["parameters"]
        ]
        if rows:
            ui.table(rows=rows, row_key="parameter").classes("w-full").props("dense flat")
        outputs = [
            {
                "experiment": o["experiment"],
                "output": o["name"],
                "tells": "" if o["share"] is None else percent(o["share"]),
            }
            for o in check["outputs"]
        ]
        if outputs:
            ui.table(rows=outputs).classes("w-full").props("dense flat")
        if effort := check.get("effort"):
            ui.label(f"An estimate should take about {duration(effort['seconds'])}.").classes(
                "muted"
            )


def _initial(table: dict[str, Any], variable: Variable) -> float:
    """Return where a search begins: given, the centre of the prior, or the model's value."""
    given = table.get("initial", table.get("prior", {}).get("mean"))
    return _number(variable.start if given is None else given)


def _number(start: object) -> float:
    return float(start) if isinstance(start, int | float) else 0.0
