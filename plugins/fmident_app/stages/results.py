"""Results: reports, comparison, further analyses, and values for other tools."""

from __future__ import annotations

import asyncio
import json
import shlex
from urllib.parse import quote

from nicegui import ui

from fmident import compare
from fmident.errors import FmidentError
from fmident_app.jobs import Job
from fmident_app.naming import named
from fmident_app.page import Page, Stage, card

_PAGES = ("report.html", "profiles.html", "bootstrap.html", "prediction.html")

_EXPORTS = {
    "Modelica modifier": (("--modelica", "modifier"), "{}-modifier.txt"),
    "Modelica record": (("--modelica", "record"), "{}.mo"),
    "SSV": (("--ssv",), "{}.ssv"),
}


class ResultStage(Stage):
    """The results."""

    name, icon = "Results", "insights"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._shown: str | None = None
        self._compared: set[str] = set()
        self._listed: object = None
        self._displayed: object = None

    def command(self) -> str:
        """Return the comparison or the report."""
        if len(self._compared) > 1:
            return "fmident compare " + " ".join(f"results/{n}" for n in sorted(self._compared))
        return f"fmident report results/{self._shown} --open" if self._shown else ""

    def done(self) -> bool:
        """Whether there is a result."""
        return bool(self._results())

    def build(self) -> None:
        """Make the list on the left, and a report on the right."""
        with ui.row().classes("w-full columns items-start gap-4"):
            with ui.column().classes("gap-3").style("width: 24rem; flex: none"):
                with card("Results"):
                    self._list()
                with card("Go on from this result"):
                    self._further()
                    self._jobs()
            with ui.column().classes("col"):
                self._report()
        self.bench.jobs.changed.subscribe(self._show_jobs)

    def refresh(self, structure: bool) -> None:
        """Show the results; elements stay where nothing has changed, so that no click is lost."""
        names = self._results()
        if self._shown not in names:
            self._shown = names[0] if names else None
        if (listed := (names, self._estimates, self._shown, self._compared)) != self._listed:
            self._listed = listed
            self._list.refresh()
        if (displayed := (self._shown, self._compared, self._address())) != self._displayed:
            self._displayed = displayed
            self._further.refresh()
            self._report.refresh()

    def _show_jobs(self) -> None:
        self._jobs.refresh()
        self.refresh(structure=False)

    def _results(self) -> list[str]:
        folder = self.bench.folder / "results"
        pages = [p for name in _PAGES for p in folder.glob(f"*/{name}")]
        pages.sort(key=lambda p: p.stat().st_mtime, reverse=True)
        return [p.parent.name for p in pages]

    @property
    def _estimates(self) -> list[str]:
        folder = self.bench.folder / "results"
        return [n for n in self._results() if (folder / n / "result.json").exists()]

    @ui.refreshable_method
    def _list(self) -> None:
        names = self._results()
        if not names:
            ui.label("No result yet.").classes("muted")
        for name in names:
            with ui.row().classes("items-center no-wrap gap-2 w-full"):
                shown = ui.button(name, on_click=lambda n=name: self._show(n))
                shown.props("no-caps dense " + ("" if name == self._shown else "flat"))
                ui.space()
                if name in self._estimates:
                    side = ui.checkbox("compare", value=name in self._compared).props("dense")
                    side.on_value_change(lambda e, n=name: self._compare(n, e.value))

    def _show(self, name: str) -> None:
        self._shown, self._compared = name, set()
        self.refresh(structure=True)

    def _compare(self, name: str, chosen: bool) -> None:
        self._compared = self._compared | {name} if chosen else self._compared - {name}
        self.refresh(structure=False)

    def _address(self) -> str:
        """Return the address of the report that is shown, which changes with its content."""
        folder = self.bench.folder / "results" / (self._shown or "")
        page = next((p for p in _PAGES if (folder / p).exists()), None)
        if self._shown is None or page is None:
            return ""
        return f"results/{quote(self._shown)}/{page}?{(folder / page).stat().st_mtime_ns}"

    @ui.refreshable_method
    def _report(self) -> None:
        if len(self._compared) > 1:
            table = ui.code("comparing", language="text").classes("w-full")
            ui.timer(0.0, lambda: self._show_comparison(table), once=True)
            return
        if address := self._address():
            frame = ui.element("iframe").props("sandbox=allow-scripts")
            frame.props["src"], frame.props["title"] = address, f"report of {self._shown}"
            frame.classes("w-full").style(
                "height: calc(100vh - 12rem); border: 0; background: #fff"
            )

    async def _show_comparison(self, table: ui.code) -> None:
        folders = [self.bench.folder / "results" / n for n in sorted(self._compared)]
        try:
            comparison = await asyncio.to_thread(compare, *folders)
            table.set_content(comparison.text(120))
        except FmidentError as error:
            table.set_content(str(error))

    @ui.refreshable_method
    def _further(self) -> None:
        name = self._shown
        if name is None or name not in self._estimates:
            ui.label("Choose a result of an estimation.").classes("muted")
            return
        result = f"results/{name}"
        more = {
            "Profile": ("profile", result, "--result", result, "-o", f"{result}-profiles"),
            "Bootstrap": ("bootstrap", result, "--result", result, "-o", f"{result}-bootstrap"),
            "Predict": ("predict", result, "-o", f"{result}-prediction"),
        }
        with ui.row().classes("gap-1"):
            for title, words in more.items():
                self._button(title, words, words[-1])
        ui.label("Values for other tools").classes("muted")
        with ui.row().classes("gap-1 tour-values"):
            for title, (words, file) in _EXPORTS.items():
                target = f"{result}/{file.format(name)}"
                where = (target,) if words == ("--ssv",) else ("-o", target)
                self._button(title, ("export", result, *words, *where), target)
            self._button_notebook(name)

    @ui.refreshable_method
    def _jobs(self) -> None:
        for job in reversed([j for j in self.bench.jobs.jobs if j.words[0] in _FURTHER]):
            self._job(job)

    def _button(self, title: str, words: tuple[str, ...], result: str) -> None:
        def add() -> None:
            long = words[0] in ("profile", "bootstrap")
            self.bench.jobs.add(words, title, result=result, resumable=long, at_once=not long)

        button = ui.button(title, on_click=add).props("no-caps dense outline")
        button.tooltip(shlex.join(("fmident", *words)))

    def _button_notebook(self, name: str) -> None:
        def write() -> None:
            file = self.bench.folder / "results" / name / f"{name}.ipynb"
            file.write_text(notebook(f"results/{name}"), encoding="utf-8")
            ui.download.file(file)

        ui.button("Notebook", on_click=write).props("no-caps dense outline")

    def _job(self, job: Job) -> None:
        with ui.row().classes("items-center no-wrap gap-1 w-full"):
            ui.label(f"{job.title} of {job.words[1].removeprefix('results/')}: {job.state}")
            ui.space()
            if job.state == "queued":
                remove = ui.button(icon="delete", on_click=lambda: self.bench.jobs.remove(job))
                named(remove, f"Remove {job.title}").props("flat dense round")
            if job.state == "running":
                stop = ui.button(icon="stop", on_click=job.stop)
                named(stop, f"Stop {job.title}").props("flat dense round")
            if job.state == "done" and job.words[0] == "export":
                file = self.bench.folder / job.result
                load = ui.button(icon="download", on_click=lambda f=file: ui.download.file(f))
                named(load, f"Download {file.name}").props("flat dense round")
        if job.state == "failed":
            ui.label(job.output().strip()).classes("text-negative mono whitespace-pre-wrap")


_FURTHER = ("profile", "bootstrap", "predict", "export")


def notebook(result: str) -> str:
    """Return a Jupyter notebook that loads a result and its problem."""
    cells = [
        "import fmident\n",
        f'result = fmident.load_result("../../{result}")\nresult',
        "result.parameters",
        'problem = fmident.load_problem("problem.toml")\nproblem',
        "# fmident.estimate(problem)",
    ]
    content = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "code", "id": f"cell-{n}", "metadata": {}, "outputs": [],
             "execution_count": None, "source": text}
            for n, text in enumerate(cells)
        ],
    }  # fmt: skip
    return json.dumps(content, indent=1)
