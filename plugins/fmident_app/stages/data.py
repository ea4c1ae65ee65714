"""Data: what the reader understood, columns as inputs and outputs, what is used of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from nicegui import ui

from fmident import FmidentError
from fmident.data import DataDescription, Table
from fmident.fmu import Variable
from fmident.problem import Match, matched_columns
from fmident.words import plain
from fmident_app.curves import Chart, Line
from fmident_app.files import DATA
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card, with_value

_MOST = 40
"""Outputs that are offered."""

_INTERPOLATIONS: dict[str | None, str] = {
    None: "as the problem says",
    "hold": "held",
    "linear": "linear",
    "mean": "mean",
}

_DRAG = "(e) => e.dataTransfer.setData('text/plain', %s)"
_OVER = "(e) => { e.preventDefault(); e.currentTarget.classList.add('over'); }"
_LEAVE = "(e) => e.currentTarget.classList.remove('over')"
_DROP = """(e) => { e.preventDefault(); e.currentTarget.classList.remove('over');
  emit(e.dataTransfer.getData('text/plain')); }"""


def name_of(experiment: Mapping[str, Any]) -> str:
    """Return the name of an experiment: that of its table, else its file's."""
    return str(experiment.get("name", Path(str(experiment.get("data", "no data"))).stem))


class DataStage(Stage):
    """The experiments."""

    name, icon = "Data", "timeline"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._number = 0
        self._charts: list[tuple[Chart, list[str]]] = []

    def tables(self) -> tuple[str, ...]:
        """Return ``experiments``."""
        return ("experiments",)

    def command(self) -> str:
        """Return how the data are looked at."""
        tables = self.bench.experiments
        if not tables:
            return ""
        fmu = self.bench.draft.get("model", "fmu")
        shown = tables[min(self._number, len(tables) - 1)].get("data", "")
        return shlex.join(["fmident", "data", shown, *(["--fmu", fmu] if fmu else [])])

    def done(self) -> bool:
        """Whether an output is measured."""
        return any(e.get("outputs") for e in self.bench.experiments)

    def build(self) -> None:
        """Make the list of experiments, and what belongs to one of them."""
        with card("Experiments"), ui.row().classes("w-full items-start no-wrap gap-4"):
            with ui.column().classes("col"):
                self._list()
            with ui.column().style("width: 24rem"):
                self.page.upload("Drop data files here: one experiment each")
        self._experiment()

    def refresh(self, structure: bool) -> None:
        """Show the experiments."""
        if structure:
            self._list.refresh()
            self._experiment.refresh()

    # -------------------------------------------------------------------------- a list

    @ui.refreshable_method
    def _list(self) -> None:
        tables = self.bench.experiments
        for number, table in enumerate(tables):
            with ui.row().classes("items-center no-wrap gap-2"):
                shown = ui.button(self._title(table), on_click=lambda n=number: self._show(n))
                shown.props("no-caps dense " + ("" if number == self._number else "flat"))
                held_out = ui.checkbox("for validation", value=table.get("role") == "validation")
                held_out.on_value_change(lambda e, n=number: self._set_role(n, e.value))
                remove = ui.button(icon="delete", on_click=lambda n=number: self._remove(n))
                named(remove, f"remove {self._title(table)}").props("flat dense round")
        unused = [
            f
            for f in self.bench.files.with_suffix(DATA)
            if f not in [t.get("data") for t in tables]
        ]
        if unused:
            more = ui.select(unused, label="Add a file of this folder")
            more.classes("w-64 tour-add").on_value_change(lambda e: self._add(e.value))
        elif not tables:
            ui.label("No data yet.").classes("muted")

    def _title(self, table: Mapping[str, Any]) -> str:
        return name_of(table)

    def _show(self, number: int) -> None:
        self._number = number
        self.refresh(structure=True)

    def _set_role(self, number: int, held_out: bool) -> None:
        role = "validation" if held_out else None
        self.page.change("experiments", number, "role", value=role)

    def _remove(self, number: int) -> None:
        self.bench.draft.remove_experiment(number)
        self._number = 0
        self.bench.tell()

    def _add(self, name: str) -> None:
        try:
            self.bench.add_experiment(name)
            self._show(len(self.bench.experiments) - 1)
        except FmidentError as error:
            self.page.tell(error)

    # ------------------------------------------------------------------ one experiment

    def _key(self, *keys: str, value: object, structure: bool = False) -> None:
        self.page.change("experiments", self._number, *keys, value=value, structure=structure)
        if not structure:
            self._draw()

    @ui.refreshable_method
    def _experiment(self) -> None:
        self._charts = []
        tables = self.bench.experiments
        if not tables:
            return
        self._number = min(self._number, len(tables) - 1)
        table = tables[self._number]
        try:
            read, described = self.bench.table(table)
        except FmidentError as error:
            with card(self._title(table)):
                ui.label(str(error)).classes("text-negative mono whitespace-pre-wrap")
                self._reading(table, ())
            return
        with ui.row().classes("w-full no-wrap items-start gap-4 q-mt-md"):
            with ui.column().classes("gap-3").style("width: 30rem; flex: none"):
                with card("As it was read"):
                    self._understood(described)
                    self._reading(table, read.names)
                with card("Columns as signals").classes("tour-data"):
                    self._assignment(table, described)
                with card("What is used"):
                    self._use(table, described)
            with ui.column().classes("col gap-2"):
                self._make_charts(table, read, described)
        self._draw()

    def _understood(self, described: DataDescription) -> None:
        time = described.time
        rate = f"{plain(1.0 / time.step, 4)} Hz" if time.step else ""
        even = "" if time.even else ", unevenly"
        ui.label(
            f"{described.rows} rows; time '{time.column}' from {plain(time.start)} to "
            f"{plain(time.stop)} s, {rate}{even}"
        )
        if described.form:
            ui.label(f"read with {described.form}").classes("muted")
        for at, length in time.pauses[:3]:
            ui.label(f"pause of {plain(length)} s after t = {plain(at)} s").classes("muted")

    def _reading(self, table: Mapping[str, Any], names: tuple[str, ...] | list[str]) -> None:
        with (
            ui.expansion("Read it differently").classes("w-full").props("dense"),
            ui.row().classes("w-full gap-2"),
        ):
            choices: dict[str, dict[Any, str]] = {
                "separator": {None: "automatic", ",": ",", ";": ";", "\t": "tab", " ": "blanks"},
                "decimal": {None: "automatic", ".": "point", ",": "comma"},
                "dates": {
                    None: "found",
                    "day-first": "day first",
                    "month-first": "month first",
                },
            }
            if names:
                choices["time"] = {None: "automatic", **{n: n for n in names}}
            for key, values in choices.items():
                choice = ui.select(
                    with_value(values, table.get(key)), value=table.get(key), label=key
                )
                choice.props("dense").classes("w-32")
                choice.on_value_change(lambda e, k=key: self._key(k, value=e.value, structure=True))
            skipped = ui.number("skip_rows", value=table.get("skip_rows"), min=0, format="%d")
            skipped.props("dense").classes("w-24")
            skipped.on(
                "change",
                lambda: self._key(
                    "skip_rows",
                    value=None if skipped.value is None else int(skipped.value),
                    structure=True,
                ),
            )

    def _assignment(self, table: Mapping[str, Any], described: DataDescription) -> None:
        columns = {c.name: c for c in described.columns if c.problem is None}
        with ui.row().classes("gap-1 w-full"):
            for column in columns.values():
                unit = f" [{column.unit}]" if column.unit else ""
                chip = ui.chip(f"{column.name}{unit}  {column.spark}")
                chip.props("dense outline draggable=true")
                chip.on("dragstart", js_handler=_DRAG % json.dumps(column.name))
                chip.tooltip(
                    f"{plain(column.smallest)} to {plain(column.largest)}, "
                    f"{column.samples} samples, {column.missing} missing"
                )
        for column in described.columns:
            if column.problem is not None:
                ui.label(f"{column.name}: {column.problem}").classes("muted")
        description = self.bench.description
        if description is None:
            ui.label("Choose a model first: it says what the inputs and outputs are.")
            return
        given = table.get("outputs", {})
        signals = {
            "inputs": description.inputs,
            "outputs": [v for v in description.recorded[:_MOST] if v.name not in given]
            + [v for v in description.variables if v.name in given],
        }
        proposals = matched_columns(
            [*description.inputs, *description.outputs], {c.name: c.unit for c in columns.values()}
        )
        for kind, variables in signals.items():
            ui.label(kind.capitalize()).classes("text-weight-medium q-mt-sm")
            for variable in variables:
                self._signal(kind, variable, table, list(columns), proposals.get(variable.name))

    def _signal(
        self,
        kind: str,
        variable: Variable,
        table: Mapping[str, Any],
        columns: list[str],
        proposal: Match | None,
    ) -> None:
        given = table.get(kind, {}).get(variable.name)
        settings = given if isinstance(given, Mapping) else {"column": given}
        chosen = settings.get("column")
        unit = f" [{variable.unit}]" if variable.unit else ""
        with ui.row().classes("items-center no-wrap gap-2 w-full drop q-pa-xs") as row:
            ui.label(variable.name + unit).classes("ellipsis").style("width: 10rem").tooltip(
                variable.description or variable.name
            )
            menu = ui.select(
                {None: "not measured" if kind == "outputs" else "its start value"}
                | {c: c for c in columns},
                value=chosen if chosen in columns else None,
            )
            named(menu, f"column of {variable.name}").props("dense").classes("col")
            menu.on_value_change(lambda e: self._assign(kind, variable.name, e.value))
            if chosen is not None:
                with (
                    named(ui.button(icon="tune"), f"settings of {variable.name}").props(
                        "flat dense round"
                    ),
                    ui.menu().props("persistent"),
                    ui.column().classes("q-pa-md"),
                ):
                    self._settings(kind, variable.name, settings)
            elif proposal is not None:
                take = ui.button(
                    f"{proposal.column}?",
                    on_click=lambda: self._assign(kind, variable.name, proposal.column),
                )
                named(take, f"take {proposal.column}").props("flat dense no-caps")
        row.on("dragover", js_handler=_OVER).on("dragleave", js_handler=_LEAVE)
        row.on("drop", lambda e: self._drop(kind, variable.name, e.args, columns), js_handler=_DROP)

    def _drop(self, kind: str, variable: str, column: object, columns: list[str]) -> None:
        if column in columns:  # anything can be dragged here
            self._assign(kind, variable, str(column))

    def _assign(self, kind: str, variable: str, column: str | None) -> None:
        given = self.bench.experiments[self._number].get(kind, {}).get(variable)
        if isinstance(given, dict) and column is not None:
            self._key(kind, variable, "column", value=column, structure=True)
        else:
            self._key(kind, variable, value=column, structure=True)

    def _settings(self, kind: str, variable: str, settings: Mapping[str, Any]) -> None:
        """Make fields for an input or output; the first value makes a table of its column."""

        def put(key: str, value: object) -> None:
            given = self.bench.experiments[self._number][kind][variable]
            if isinstance(given, dict) or value is not None:
                self._key(kind, variable, key, value=value)

        text = ui.input("unit of the column", value=settings.get("unit", ""))
        text.on("change", lambda: put("unit", text.value or None))
        if kind == "inputs":
            between = ui.select(
                with_value(_INTERPOLATIONS, settings.get("interpolation")),
                value=settings.get("interpolation"),
                label="between samples",
            )
            between.classes("w-48").on_value_change(lambda e: put("interpolation", e.value))
            return
        meanings = {
            "sigma": "standard deviation of the noise",
            "offset": "offset",
            "gain": "gain",
            "delay": "delay, s",
            "decimate": "every n-th sample, filtered",
        }
        for key, meaning in meanings.items():
            value = settings.get(key)
            field = ui.number(meaning, value=value if isinstance(value, int | float) else None)
            whole = key == "decimate"
            field.on(
                "change",
                lambda f=field, k=key, w=whole: put(
                    k, None if f.value is None else max(int(f.value), 2) if w else float(f.value)
                ),
            )

    def _use(self, table: Mapping[str, Any], described: DataDescription) -> None:
        time = described.time
        window = table.get("window", [time.start, time.stop])
        ui.label("Window, s")
        span = ui.range(
            min=time.start,
            max=time.stop,
            step=max((time.stop - time.start) / 1000.0, 1e-12),
            value={"min": window[0], "max": window[1]},
        ).props('label aria-label="window"')

        def cut() -> None:
            low, high = span.value["min"], span.value["max"]
            whole = low <= time.start and high >= time.stop
            self._key("window", value=None if whole else [round(low, 9), round(high, 9)])

        span.on("change", cut)
        with ui.row().classes("w-full gap-2"):
            every = ui.number("use every n-th row", value=table.get("every"), min=1, format="%d")
            every.on(
                "change",
                lambda: self._key("every", value=max(int(every.value), 1) if every.value else None),
            )
            outliers = table.get("prepare", {}).get("hampel")
            measured = [c.name for c in described.columns if c.problem is None]
            used = ui.select(
                measured,
                label="remove outliers of",
                multiple=True,
                value=[c for c in outliers if c in measured] if isinstance(outliers, list) else [],
            ).classes("w-48")
            used.on_value_change(lambda e: self._key("prepare", "hampel", value=e.value or None))
            between = ui.select(
                with_value(_INTERPOLATIONS, table.get("interpolation")),
                value=table.get("interpolation"),
                label="inputs between samples",
            ).classes("w-48")
            between.on_value_change(lambda e: self._key("interpolation", value=e.value))

    # ------------------------------------------------------------------------- preview

    def _make_charts(
        self, table: Mapping[str, Any], read: Table, described: DataDescription
    ) -> None:
        self._read, self._described = read, described
        used = [
            c["column"] if isinstance(c, Mapping) else c
            for kind in ("inputs", "outputs")
            for c in table.get(kind, {}).values()
        ]
        there = [c.name for c in described.columns if c.problem is None]
        for name in [c for c in dict.fromkeys(used) if c in there] or there[:4]:
            unit = read.units.get(name)
            self._charts.append(
                (Chart(f"{name} [{unit}]" if unit else name, height="11rem"), [name])
            )

    def _draw(self) -> None:
        """Show the columns, and what is used of them."""
        from fmident.data import time_axis

        table = self.bench.experiments[self._number]
        times = time_axis(self._read, self._described.time.column)
        low, high = table.get("window", [times[0], times[-1]])
        rows = np.flatnonzero((times >= low) & (times <= high))[:: int(table.get("every") or 1)]
        for chart, names in self._charts:
            lines = []
            for name in names:
                values = self._read.column(name)
                if rows.size < times.size:
                    lines.append(Line("as measured", times, values, measured=True))
                lines.append(Line("used", times[rows], values[rows]))
            chart.show(lines)
