"""The server: opens what the command names, and serves the page on this machine."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import FileResponse
from nicegui import app, ui

from fmident import model_classes
from fmident.errors import Code, FmidentError
from fmident_app.files import DATA, MODELS
from fmident_app.guard import Guard
from fmident_app.page import Page
from fmident_app.stages import STAGES
from fmident_app.tour import EXAMPLE, example
from fmident_app.workbench import Workbench

_PROBLEM = "problem.toml"

_LOOK = 0.2
"""Seconds between two looks at the jobs."""

_PATIENCE = 30.0
"""Seconds that a page may be silent, on a busy machine, before it has to be loaded again."""


def opened(files: Sequence[Path]) -> Workbench:
    """Return the work on a problem file, or on a new one for a model and data.

    Raises
    ------
    fmident.errors.FmidentError
        A file is missing, or none of these.
    """
    for file in files:
        if not file.exists():
            raise FmidentError(
                f"there is no file '{file}'", hint="look at its name", code=Code.UNUSABLE_FILE
            )
    problems = [f for f in files if f.suffix == ".toml"]
    if len(problems) > 1:
        raise FmidentError("one problem file at a time", hint="give one", code=Code.USAGE)
    bench = Workbench(problems[0] if problems else Path(_PROBLEM))
    for file in sorted(files, key=lambda f: f.suffix.lower() not in MODELS):  # columns need a model
        if file in problems:
            continue
        name = _inside(file, bench)
        if file.suffix.lower() == ".fmu":
            bench.take_fmu(name)
        elif file.suffix == ".mo":
            classes = model_classes(file)
            if len(classes) == 1:
                bench.take_class(name, classes[0])
        elif file.suffix.lower() in DATA:
            if name not in [e.get("data") for e in bench.experiments]:
                bench.add_experiment(name)
        else:
            raise FmidentError(
                f"'{file}' is neither a problem file, a model nor data",
                hint=f"data: {', '.join(DATA)}",
                code=Code.UNUSABLE_FILE,
            )
    return bench


def _inside(file: Path, bench: Workbench) -> str:
    """Return the path of a file relative to the folder; one from elsewhere is copied into it."""
    if file.resolve().is_relative_to(bench.folder):
        return file.resolve().relative_to(bench.folder).as_posix()
    return bench.files.store(file.name, file)


def serve(bench: Workbench, listening: socket.socket, token: str) -> None:
    """Serve the page at a socket that is bound to this machine, until Ctrl-C."""
    application = FastAPI(openapi_url=None)

    touring: dict[str, Workbench] = {}

    def work_at(place: str) -> Workbench:
        if place == EXAMPLE:
            return touring.get(place) or touring.setdefault(place, example(bench.folder))
        return bench

    @ui.page("/", title="fmident")
    def _index(tour: str | None = None) -> None:
        Page(bench, STAGES, touring=tour is not None).build()

    @ui.page(EXAMPLE, title="fmident", response_timeout=60.0)
    def _example() -> None:
        Page(work_at(EXAMPLE), STAGES, touring=True).build()

    @application.get(EXAMPLE + "results/{name:path}")
    @application.get("/results/{name:path}")
    def _result(request: Request, name: str) -> FileResponse:
        work = work_at(request.url.path.partition("results/")[0])
        results = (work.folder / "results").resolve()
        file = (results / name).resolve()
        if not (file.is_relative_to(results) and file.is_file()):
            raise HTTPException(404)
        alone = {"Content-Security-Policy": "sandbox allow-scripts"}
        return FileResponse(file, headers=alone)

    def advance() -> None:
        for work in (bench, *touring.values()):
            work.jobs.advance()

    app.timer(_LOOK, advance)
    ui.run_with(
        application, storage_secret=token, show_welcome_message=False, reconnect_timeout=_PATIENCE
    )
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        Guard(application, token, port), log_level="warning", lifespan="on", ws="websockets-sansio"
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        for work in (bench, *touring.values()):
            work.close()
