"""Data: what the reader understood, columns as inputs and outputs, what is used of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nicegui import background_tasks, ui

from fmident import FmidentError
from fmident.data import DataDescription, Table
from fmident.fmu import Variable
from fmident.problem import Match, matched_columns
from fmident.words import plain
from fmident_app.curves import Chart
from fmident_app.files import DATA
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card, with_value
from fmident_app.preview import Question, signal_settings

_MOST = 40
"""Outputs that are offered."""

_INTERPOLATIONS: dict[str | None, str] = {
    None: "as the problem says",
    "hold": "held",
    "linear": "linear",
    "mean": "mean",
}

_RELATION = {
    "gain": "gain: number or parameter",
    "offset": "offset: number or parameter",
    "delay": "delay, s: number or parameter",
}
_NUMBERS = {
    "sigma": ("standard deviation of the noise", False),
    "weight": ("weight", False),
    "decimate": ("every n-th sample, filtered", True),
}
"""What it means, and whether it is a whole number."""

_HAMPEL = {"samples": "window, samples", "window": "or window, s", "threshold": "threshold"}

_DRAG = "(e) => e.dataTransfer.setData('text/plain', %s)"
_OVER = "(e) => { e.preventDefault(); e.currentTarget.classList.add('over'); }"
_LEAVE = "(e) => e.currentTarget.classList.remove('over')"
_DROP = """(e) => { e.preventDefault(); e.currentTarget.classList.remove('over');
  emit(e.dataTransfer.getData('text/plain')); }"""


def name_of(experiment: Mapping[str, Any]) -> str:
    """Return the name of an experiment: that of its table, else its file's."""
    return str(experiment.get("name", Path(str(experiment.get("data", "no data"))).stem))


def number_or_name(text: str) -> float | str | None:
    """Return what a text says: a number, a name, or nothing."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return (text or "").strip() or None


def with_values(names: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return the names, and the file's own ones where they are others."""
    return list(dict.fromkeys([*names, *values]))


def _whole(value: float | None) -> float | int | None:
    """Return a number as an integer if it is one."""
    return int(value) if value is not None and value == int(value) else value


class DataStage(Stage):
    """The experiments."""

    name, icon = "Data", "timeline"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._number = 0
        self._charts: dict[tuple[str, str], tuple[Chart, ui.label]] = {}
        self._stale = self._drawing = False

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

    async def _add(self, name: str) -> None:
        try:
            await asyncio.to_thread(self.bench.table, {"data": name})
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
        self._charts = {}
        tables = self.bench.experiments
        if not tables:
            return
        self._number = min(self._number, len(tables) - 1)
        table = tables[self._number]
        if not self.bench.is_read(table):
            with ui.row().classes("items-center q-pa-md"):
                ui.spinner(size="2em")
                ui.label(f"reading {table.get('data', '')} ...")
            background_tasks.create(self._read_file(table))
            return
        try:
            read, described = self.bench.table(table)
        except FmidentError as error:
            with card(self._title(table)):
                ui.label(str(error)).classes("text-negative mono whitespace-pre-wrap")
                self._reading(table, ())
            return
        with ui.row().classes("w-full columns items-start gap-4 q-mt-md"):
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

    async def _read_file(self, table: Mapping[str, Any]) -> None:
        with contextlib.suppress(FmidentError):  # shown by the next line
            await asyncio.to_thread(self.bench.table, table)
        self._experiment.refresh()

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
        names = [*columns, *table.get("prepare", {}).get("derivatives", {})]
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
                self._signal(kind, variable, table, names, proposals.get(variable.name))

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
                button = ui.button(icon="tune").props("flat dense round")
            elif proposal is not None:
                take = ui.button(
                    f"{proposal.column}?",
                    on_click=lambda: self._assign(kind, variable.name, proposal.column),
                )
                named(take, f"take {proposal.column}").props("flat dense no-caps")
        if chosen is not None:
            with self.page.folded(button, f"settings of {variable.name}"):
                self._settings(kind, variable.name, settings)
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
        known = list(self.bench.parameters)
        for key, meaning in _RELATION.items():
            value = settings.get(key)
            given = ui.input(
                meaning,
                value="" if value is None else str(value),
                autocomplete=known,
                validation=lambda text: self._why_not(text),
            ).classes("w-64")
            given.on(
                "change",
                lambda f=given, k=key: put(k, number_or_name(f.value)) if f.validate() else None,
            )
        for key, (meaning, whole) in _NUMBERS.items():
            value = settings.get(key)
            field = ui.number(meaning, value=value if isinstance(value, int | float) else None)
            field.classes("w-64").on(
                "change",
                lambda f=field, k=key, w=whole: put(
                    k, None if f.value is None else max(int(f.value), 2) if w else float(f.value)
                ),
            )
        self._condition(settings, put)

    def _why_not(self, text: str) -> str | None:
        """Return why a text is neither a number nor the name of a parameter; ``None`` if it is."""
        value = number_or_name(text)
        if not isinstance(value, str) or value in self.bench.parameters:
            return None
        return "a number, or the name of a parameter of the problem"

    def _condition(self, settings: Mapping[str, Any], put: Callable[[str, object], None]) -> None:
        """Make a field for ``exclude``; several conditions are joined by semicolons."""
        given = settings.get("exclude", ())
        text = "; ".join([given] if isinstance(given, str) else given)
        field = ui.input("leave out samples where", value=text, placeholder="abs(v) < 0.01")
        field.classes("w-64")

        def changed() -> None:
            conditions = [c.strip() for c in (field.value or "").split(";") if c.strip()]
            put("exclude", conditions if len(conditions) > 1 else next(iter(conditions), None))

        field.on("change", changed)

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
            between = ui.select(
                with_value(_INTERPOLATIONS, table.get("interpolation")),
                value=table.get("interpolation"),
                label="inputs between samples",
            ).classes("w-48")
            between.on_value_change(lambda e: self._key("interpolation", value=e.value))
            gaps = ui.checkbox("fill gaps of inputs", value=table.get("fill_inputs") is not None)
            gaps.on_value_change(
                lambda e: self._key("fill_inputs", value="linear" if e.value else None)
            )
        self._filters(table, [c.name for c in described.columns if c.problem is None])

    def _filters(self, table: Mapping[str, Any], columns: list[str]) -> None:
        """Make fields for ``[experiments.prepare]``."""
        prepare = table.get("prepare", {})
        given = prepare.get("hampel")
        hampel: dict[str, Any] = given if isinstance(given, dict) else {"columns": given or []}

        def put(key: str, value: object) -> None:
            now = self.bench.experiments[self._number].get("prepare", {})
            if {k for k in now if k != key} or value is not None:
                self._key("prepare", key, value=value)
            else:
                self._key("prepare", value=None)

        def put_hampel(key: str, value: object) -> None:
            hampel = self.bench.experiments[self._number].get("prepare", {}).get("hampel", [])
            hampel = {**(hampel if isinstance(hampel, dict) else {"columns": hampel}), key: value}
            hampel = {k: v for k, v in hampel.items() if v is not None}
            if not hampel.get("columns"):
                put("hampel", None)
            else:
                put("hampel", hampel if len(hampel) > 1 else hampel["columns"])

        with ui.row().classes("w-full gap-2 items-end"):
            outliers = ui.select(
                with_values(columns, hampel["columns"]), label="remove outliers of",
                multiple=True, value=list(hampel["columns"]),
            ).classes("w-48")  # fmt: skip
            outliers.on_value_change(lambda e: put_hampel("columns", e.value))
            for key, meaning in _HAMPEL.items():
                number = ui.number(meaning, value=hampel.get(key)).classes("w-32")
                number.on("change", lambda f=number, k=key: put_hampel(k, _whole(f.value)))
            median = ui.checkbox("put the median there", value=bool(hampel.get("replace")))
            median.on_value_change(lambda e: put_hampel("replace", e.value or None))
        with ui.row().classes("w-full gap-2 items-end"):
            smoothed = prepare.get("columns", [])
            low_pass = ui.select(
                with_values(columns, smoothed), label="low-pass of", multiple=True,
                value=list(smoothed),
            ).classes("w-48")  # fmt: skip
            low_pass.on_value_change(lambda e: put("columns", e.value or None))
            cutoff = ui.input("cut-off, Hz, or auto", value=str(prepare.get("cutoff", "")))
            cutoff.classes("w-32").on("change", lambda: put("cutoff", number_or_name(cutoff.value)))
            order = ui.number("order", value=prepare.get("order"), min=1, format="%d")
            order.classes("w-24").on("change", lambda: put("order", _whole(order.value)))
        self._condition(prepare, put)

    # ------------------------------------------------------------------------- preview

    def _make_charts(
        self, table: Mapping[str, Any], read: Table, described: DataDescription
    ) -> None:
        self._read, self._described = read, described
        self._error = ui.label().classes("text-negative mono whitespace-pre-wrap w-full")
        description = self.bench.description
        units = {} if description is None else {v.name: v.unit for v in description.variables}
        self._signals = signal_settings(table)
        if not self._signals:
            there = [c.name for c in described.columns if c.problem is None]
            self._signals = {("columns", name): {"column": name} for name in there[:4]}
            units = dict(read.units)
        for (kind, name), settings in self._signals.items():
            unit = units.get(settings.get("variable", name))
            chart = Chart(f"{name} [{unit}]" if unit else name, height="12rem")
            self._charts[kind, name] = chart, ui.label().classes("muted text-caption")

    def _draw(self) -> None:
        """Show the columns, and what is used of them, as the file says now."""
        self._stale = True
        if not self._drawing:
            background_tasks.create(self._preview())

    async def _preview(self) -> None:
        self._drawing = True
        try:
            while self._stale and self._charts:
                self._stale, charts = False, self._charts
                question = Question(
                    self.bench.draft.path,
                    self.bench.draft.text,
                    self._number,
                    signal_settings(self.bench.experiments[self._number]) or self._signals,
                    self._read,
                    self._described.time.column,
                    self.bench.fmu,
                    self.bench.host.read_data,
                )
                previews = await asyncio.to_thread(question.answer)
                if charts is not self._charts:
                    continue  # others have been made, and are drawn next
                self._error.set_text(previews.error)
                for key in charts.keys() & previews.signals.keys():
                    charts[key][0].show(previews.signals[key].lines)
                    charts[key][1].set_text(previews.signals[key].words)
        finally:
            self._drawing = False
