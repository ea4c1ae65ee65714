"""Parameters: which are identified, between what bounds, and what the data will tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nicegui import ui

from fmident.fmu import Variable
from fmident.problem import search_range, searchable
from fmident.words import duration, listed, percent, plain
from fmident_app.curves import Chart, show_fit
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card, with_value
from fmident_app.simulations import Latest, SimulationFailedError
from fmident_app.sliders import Slider
from fmident_app.stages.data import name_of
from fmident_app.variable_tree import VariableTree

_PAUSE = 1.0
"""Seconds after the last change before a check begins."""

_LISTED = 30
"""Parameters of an FMU that are listed with what can be set; more are chosen in a tree."""

_TEXTS = {
    "unit": "unit, where not the variable's",
    "variable_unit": "unit of a variable that has none",
}
_SIZES = {"scale": "typical size", "step": "step of finite differences"}

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
        self._shown: list[Variable] = []
        self._tree: VariableTree | None = None

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
        with ui.row().classes("w-full columns items-start gap-4"):
            with ui.column().classes("gap-3").style("width: min(36rem, 48vw); flex: none"):
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
            if self._shown != self._candidates():
                self._table.refresh()
            else:
                self._rows.refresh()
                if self._tree is not None:
                    self._tree.tick(self._variables())
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
        self._shown = self._candidates()
        self._tree = None
        if not self._shown:
            ui.label("Choose a model first.").classes("muted")
            return
        self._rows()
        if len(self._shown) > _LISTED:
            ui.label("Tick what is to be identified.").classes("muted")
            group = {"Parameters of the model": self._shown}
            self._tree = VariableTree(group, self._tick, expanded=group)
            self._tree.tick(self._variables())
        self._new_parameter()

    def _variables(self) -> set[str]:
        """Return the variables of the FMU that parameters set, and names of other parameters."""
        return {variable_of(name, table) for name, table in self.bench.parameters.items()}

    def _tick(self, ticked: set[str]) -> None:
        """Add the parameters that are newly ticked in the tree, and remove those that are not."""
        draft, identified = self.bench.draft, self._variables()
        with draft.one_change():
            for variable in self._shown:
                if variable.name in ticked - identified:
                    name, addition = self._addition(variable)
                    draft.change("parameters", name, value=addition)
            unticked = {v.name for v in self._shown} - ticked
            for name, table in self.bench.parameters.items():
                if variable_of(name, table) in unticked:
                    draft.change("parameters", name, value=None)
        self._tell()

    def _tell(self) -> None:
        """Show a change of which parameters there are."""
        self.bench.tell(self.page.origin, structure=False)
        self._rows.refresh()
        self._sliders.refresh()

    def _addition(self, variable: Variable) -> tuple[str, dict[str, Any]]:
        """Return name and table of a new parameter for a variable."""
        table: dict[str, Any] = {"initial": _number(variable.start)}
        if bounds := search_range(variable):
            table["bounds"] = list(bounds)
        name, number = variable.name, 1
        while name in self.bench.parameters:  # it sets another variable
            number += 1
            name, table["variable"] = f"{variable.name}_{number}", variable.name
        return name, table

    @ui.refreshable_method
    def _rows(self) -> None:
        """List the parameters of the file, and those of the FMU if they are few."""
        parameters, identified = self.bench.parameters, self._variables()
        with_tick = set()
        for variable in self._shown:
            table = parameters.get(variable.name)
            own = table is not None and variable_of(variable.name, table) == variable.name
            if table is not None and own and "expression" not in table:
                self._row(variable, table)
                with_tick.add(variable.name)
            elif len(self._shown) <= _LISTED and variable.name not in identified:
                self._row(variable, None)
        by_name = {v.name: v for v in self._shown}
        for name, table in parameters.items():
            if name not in with_tick:
                self._named_row(name, table, by_name.get(variable_of(name, table)))

    def _row(self, variable: Variable, given: dict[str, Any] | None) -> None:
        """Make the row of a variable, which alone is made anew when it is ticked."""
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
            if ticked and name in self.bench.parameters:
                with settings:
                    self._settings(name, self.bench.parameters[name])

        def change(ticked: bool) -> None:
            key, table = self._addition(variable) if ticked else (name, None)
            self.page.change("parameters", key, value=table)
            show(ticked)
            if key != name:
                self._rows.refresh()
            if self._tree is not None:
                self._tree.tick(self._variables())
            self._sliders.refresh()

        tick.on_value_change(lambda e: change(e.value))
        show(given is not None)

    def _named_row(self, name: str, given: dict[str, Any], variable: Variable | None) -> None:
        """Make the row of a parameter with a name of its own, or with an expression."""
        if variable is None:
            what = "of expressions and measurements only"
        else:
            what = f"sets {variable.name}"
        if experiments := given.get("experiments"):
            what += f" in {listed(experiments)}"
        with ui.column().classes("w-full gap-0"):
            with ui.row().classes("w-full items-center no-wrap gap-2"):
                ui.label(name).classes("text-weight-medium")
                unit = given.get("unit") or (variable.unit if variable else None)
                ui.label(unit or "").classes("mono muted")
                ui.label(what).classes("muted ellipsis col").tooltip(what)
                remove = ui.button(icon="delete", on_click=lambda: self._remove(name))
                named(remove, f"remove {name}").props("flat dense round")
            if "expression" not in given:
                self._settings(name, given)
                return
            expression = ui.input("expression", value=str(given["expression"]))
            named(expression, f"expression of {name}").props("dense").classes("w-full q-pl-lg")
            expression.on(
                "change",
                lambda: self.page.change("parameters", name, "expression", value=expression.value),
            )

    def _remove(self, name: str) -> None:
        self.page.change("parameters", name, value=None)
        self._rows.refresh()
        if self._tree is not None:
            self._tree.tick(self._variables())
        self._sliders.refresh()

    def _new_parameter(self) -> None:
        """Make fields for a parameter that is not a variable of the FMU, or has another name."""
        with ui.expansion("Parameter with a name of its own").classes("w-full").props("dense"):
            with ui.row().classes("w-full no-wrap gap-2"):
                name = ui.input("name").props("dense").classes("col")
                variables = [v.name for v in self._shown]
                variable = ui.select(variables, label="variable", with_input=True, clearable=True)
                variable.props("dense").classes("col")
            expression = ui.input("expression of other parameters, such as 2 * k")
            expression.props("dense").classes("w-full")

            def add() -> None:
                key = (name.value or "").strip()
                if not key or key in self.bench.parameters:
                    self.page.tell("a new parameter needs a name that no other one has")
                    return
                by_name = {v.name: v for v in self._shown}
                sets = by_name.get(variable.value or key)
                table: dict[str, Any] = {"initial": 1.0}
                if expression.value:
                    table = {"expression": expression.value}
                elif sets is not None:
                    table = self._addition(sets)[1]
                if sets is not None and sets.name != key:
                    table["variable"] = sets.name
                self.page.change("parameters", key, value=table, structure=True)

            ui.button("Add", icon="add", on_click=add).props("no-caps dense outline")

    def _settings(self, name: str, given: dict[str, Any]) -> None:
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
            more = ui.button(icon="more_vert").props("flat dense round")
        with self.page.folded(more, f"more of {name}"):
            self._more(name, given, put)

    def _begin_at(self, name: str, value: float | None) -> None:
        self.page.change("parameters", name, "initial", value=value)
        self._moved.pop(name, None)
        self._sliders.refresh()

    def _fix(self, name: str, fixed: bool) -> None:
        self.page.change("parameters", name, "fixed", value=fixed or None)
        self._sliders.refresh()

    def _more(self, name: str, given: dict[str, Any], put: Callable[[str, object], None]) -> None:
        """Make fields for units, sizes and prior knowledge, and for the experiments it acts on."""
        for key, meaning in _TEXTS.items():
            text = ui.input(meaning, value=given.get(key, "")).classes("w-64")
            text.on("change", lambda f=text, k=key: put(k, f.value.strip() or None))
        for key, meaning in _SIZES.items():
            size = given.get(key)
            number = ui.number(meaning, value=size if isinstance(size, int | float) else None)
            number.classes("w-64").on("change", lambda f=number, k=key: put(k, f.value))
        self._prior(given.get("prior", {}), put)
        experiments = [name_of(e) for e in self.bench.experiments]
        if len(experiments) < 2:
            return
        acts = ui.select(
            experiments,
            label="acts on (all if none is chosen)",
            multiple=True,
            value=[e for e in given.get("experiments", []) if e in experiments],
        ).classes("w-64")
        acts.on_value_change(lambda e: put("experiments", e.value or None))
        ui.button("A value for each experiment", on_click=lambda: self._divide(name)).props(
            "no-caps dense outline"
        )

    def _prior(self, given: Mapping[str, Any], put: Callable[[str, object], None]) -> None:
        kinds = {None: "none"} | {k: k for k in ("normal", "lognormal", "uniform")}
        kind = ui.select(
            with_value(kinds, given.get("distribution")),
            value=given.get("distribution"),
            label="prior knowledge",
        ).classes("w-64")
        fields = {
            key: ui.number(title, value=given.get(key)).classes("w-64")
            for key, title in {"mean": "mean", "sd": "standard deviation",
                               "min": "least", "max": "largest"}.items()
        }  # fmt: skip
        for key, field in fields.items():
            shown_for = ("uniform",) if key in ("min", "max") else ("normal", "lognormal")
            field.bind_visibility_from(kind, "value", shown_for.__contains__)

        def change() -> None:
            keys = ("min", "max") if kind.value == "uniform" else ("mean", "sd")
            moments = {key: fields[key].value for key in keys}
            if kind.value is None:
                put("prior", None)
            elif None not in moments.values():
                put("prior", {"distribution": kind.value, **moments})

        kind.on_value_change(change)
        for field in fields.values():
            field.on("change", change)

    def _divide(self, name: str) -> None:
        """Replace a parameter by one for each experiment that it acts on."""
        draft, given = self.bench.draft, self.bench.parameters[name]
        identified = [e for e in self.bench.experiments if e.get("role") != "validation"]
        experiments = given.get("experiments") or [name_of(e) for e in identified]
        with draft.one_change():
            draft.change("parameters", name, value=None)
            for experiment in experiments:
                own = {"variable": variable_of(name, given), "experiments": [experiment]}
                key = f"{name}_" + re.sub(r"\W", "_", experiment)
                while key in self.bench.parameters:
                    key += "_"
                draft.change("parameters", key, value={**given, **own})
        self.bench.tell()

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
                known = by_name.get(variable_of(name, table))
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
        if (effort := check.get("effort")) and effort["seconds"] is not None:
            ui.label(f"An estimate should take about {duration(effort['seconds'])}.").classes(
                "muted"
            )


def variable_of(name: str, table: Mapping[str, Any]) -> str:
    """Return the variable that a parameter sets: its key, else the parameter's name."""
    return str(table.get("variable", name))


def _initial(table: dict[str, Any], variable: Variable) -> float:
    """Return where a search begins: given, the centre of the prior, or the model's value."""
    given = table.get("initial", table.get("prior", {}).get("mean"))
    return _number(variable.start if given is None else given)


def _number(start: object) -> float:
    return float(start) if isinstance(start, int | float) else 0.0
