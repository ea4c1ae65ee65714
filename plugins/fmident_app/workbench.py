"""What all windows share: the problem file, its model and data, the check, jobs, simulations."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nicegui import Event

from fmident import FmidentError, load_plugins, load_problem, model_fmu, read_data
from fmident.data import DataDescription, Table
from fmident.fmu import ModelDescription, read_description
from fmident.problem import matched_columns
from fmident_app.check import Check
from fmident_app.draft import Draft, Key
from fmident_app.files import Files
from fmident_app.jobs import Job, Jobs
from fmident_app.simulations import Fit, Simulations


def certain_columns(
    description: ModelDescription, columns: Mapping[str, str | None]
) -> dict[str, dict[str, str]]:
    """Return the columns of inputs and of outputs that are not in doubt, by variable."""
    signals = {"inputs": description.inputs, "outputs": description.outputs}
    matches = matched_columns([v for some in signals.values() for v in some], columns)
    return {
        kind: {v.name: matches[v.name].column for v in some
               if v.name in matches and matches[v.name].certain}
        for kind, some in signals.items()
    }  # fmt: skip


READER_KEYS = ("separator", "decimal", "encoding", "skip_rows", "units_row", "dates")
"""Keys of an experiment that say how its file is read."""


_TABLES = 6
"""Data files that stay in memory."""


class Workbench:
    """The work on one problem file.

    Parameters
    ----------
    path
        The problem file; made by the first change where there is none.

    Attributes
    ----------
    changed
        Emitted after a change, with the origin of the change, and whether more than a value did.
    """

    def __init__(self, path: Path) -> None:
        self.folder = path.resolve().parent
        self.files = Files(self.folder)
        self.draft = Draft(path.resolve())
        self.check = Check(path.resolve())
        self.host = load_plugins()
        self.jobs = Jobs(self.folder)
        self.simulations = Simulations()
        self.version = 0
        self.changed: Event[[str, bool]] = Event()
        self.jobs.changed.subscribe(self._take_builds)
        self._starting = asyncio.Lock()
        self._fmu: tuple[dict[str, Any], Path] | None = None
        self._tables: OrderedDict[object, tuple[Table, DataDescription] | FmidentError]
        self._tables = OrderedDict()

    # ---------------------------------------------------------------- the problem file

    def change(self, *keys: Key, value: Any, origin: str = "", structure: bool = False) -> None:
        """Change a key of the problem file; ``None`` removes it."""
        self.draft.change(*keys, value=value)
        self.tell(origin, structure)

    def tell(self, origin: str = "", structure: bool = True) -> None:
        """Tell the pages that the file has changed."""
        self.version += 1
        self.check.outdate()
        self.changed.emit(origin, structure)

    def undo(self) -> None:
        """Take the last change back."""
        self.draft.undo()
        self.tell()

    def read_changes(self) -> None:
        """Take over what an editor has changed in the problem file.

        Raises
        ------
        fmident.errors.ProblemError
            It is not TOML now.
        """
        if self.draft.read_changes():
            self.tell()

    @property
    def experiments(self) -> list[dict[str, Any]]:
        """The tables ``[[experiments]]``."""
        tables: list[dict[str, Any]] = self.draft.get("experiments", default=[])
        return tables

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The tables ``[parameters.NAME]``."""
        tables: dict[str, dict[str, Any]] = self.draft.get("parameters", default={})
        return tables

    # ------------------------------------------------------------------ model and data

    @property
    def fmu(self) -> Path | None:
        """The FMU, whether it is there or is yet to be built; ``None`` without a model."""
        model = self.draft.get("model", default={})
        if not model.keys() & {"fmu", "class"}:
            return None
        if self._fmu is None or self._fmu[0] != model:
            try:
                self._fmu = model, model_fmu(model, self.folder)
            except FmidentError:  # the problem's own message is that of the check
                return None
        return self._fmu[1]

    @property
    def description(self) -> ModelDescription | None:
        """Description of the FMU, ``None`` if there is none that can be read."""
        try:
            return read_description(self.fmu) if self.fmu is not None else None
        except FmidentError:
            return None

    @property
    def sources(self) -> list[str]:
        """The Modelica sources of the model."""
        given = self.draft.get("model", "sources", default=[])
        return [given] if isinstance(given, str) else list(given)

    def table(self, experiment: Mapping[str, Any]) -> tuple[Table, DataDescription]:
        """Return the data of an experiment as read, and their description.

        Raises
        ------
        fmident.errors.FmidentError
            The file cannot be read.
        """
        path, keys, identity = self._data_of(experiment)
        answer = self._tables.get(identity)
        if answer is None:
            try:
                answer = read_data(path, keys, host=self.host)
            except FmidentError as error:
                answer = error
            self._tables[identity] = answer
            while len(self._tables) > _TABLES:
                self._tables.popitem(last=False)
        if isinstance(answer, FmidentError):
            raise answer
        return answer

    def is_read(self, experiment: Mapping[str, Any]) -> bool:
        """Return whether :meth:`table` answers at once; otherwise call it in a thread."""
        *_, identity = self._data_of(experiment)
        if identity in self._tables:
            self._tables.move_to_end(identity)
        return identity in self._tables

    def _data_of(self, experiment: Mapping[str, Any]) -> tuple[Path, dict[str, Any], object]:
        """Return the file of an experiment, how it is read, and what tells both from others."""
        path = self.folder / str(experiment.get("data", ""))
        keys = {k: experiment[k] for k in (*READER_KEYS, "time") if k in experiment}
        modified = path.stat().st_mtime_ns if path.exists() else 0
        return path, keys, (path, modified, json.dumps(keys, default=str))

    def snapshot(self, name: str) -> str:
        """Write the problem as it is for a run, with absolute paths; return the file's path."""
        place = self.folder / ".fmident-app" / "problems" / f"{name}.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        problem = load_problem(self.draft.path, host=self.host, report=lambda _: None)
        problem.to_toml(place)
        return place.relative_to(self.folder).as_posix()

    @property
    def next_run(self) -> str:
        """Name of the result of the next estimation."""
        taken = {job.result for job in self.jobs.jobs}
        numbers = (f"run-{n}" for n in itertools.count(1))
        return next(
            name
            for name in numbers
            if f"results/{name}" not in taken and not (self.folder / "results" / name).exists()
        )

    async def start_run(self) -> None:
        """Add an estimation of the problem as it is to the queue, if its check has passed.

        Raises
        ------
        fmident.errors.FmidentError
            The problem cannot be read.
        """
        async with self._starting:
            self.read_changes()
            if not self.check.passed:
                return
            name = self.next_run
            forecast = (self.check.report or {}).get("effort")
            problem = await asyncio.to_thread(self.snapshot, name)
            self.jobs.add(
                ("estimate", problem, "-o", f"results/{name}"),
                name,
                result=f"results/{name}",
                resumable=True,
                forecast=forecast,
            )

    def _take_builds(self, ended: list[Job]) -> None:
        """Take an FMU that was built just now as the model's."""
        if any(job.words[0] == "build" and job.state == "done" for job in ended):
            self.assign_columns()

    def take_fmu(self, name: str) -> None:
        """Make an FMU of the folder the model.

        Raises
        ------
        fmident.errors.FmidentError
            It is none.
        """
        read_description(self.files.inside(name))
        with self.draft.one_change():
            if name != self.draft.get("model", "fmu"):
                self._change_model({"fmu": name})
            self._assign_columns()
        self.tell()

    def _change_model(self, table: dict[str, Any]) -> None:
        """Name another model; start values of the former one are those of its variables, too."""
        for key in ("fmu", "class", "sources", "fmu_folder"):
            self.draft.change("model", key, value=table.get(key))

    def take_class(self, source: str, name: str) -> bool:
        """Make a class of a Modelica file the model; return whether it was another one."""
        if (name, [source]) == (self.draft.get("model", "class"), self.sources):
            return False
        with self.draft.one_change():
            self._change_model({"class": name, "sources": [source], "fmu_folder": "fmus"})
        self.tell()
        return True

    @property
    def build_words(self) -> list[str]:
        """The command that builds the class, without ``fmident``; empty if there is none."""
        model, fmu = self.draft.get("model", default={}), self.fmu
        if "class" not in model or fmu is None:
            return []
        sources = self.sources
        words = ["build", model["class"]]
        if len(sources) == 1 and str(sources[0]).endswith(".mo"):
            words = ["build", sources[0], "--class", model["class"]]
        else:
            words += [word for source in sources for word in ("--source", source)]
        return [*words, "-o", os.path.relpath(fmu, self.folder)]

    def build(self) -> None:
        """Start to build the class."""
        if words := self.build_words:
            self.jobs.add(words, f"build {words[1]}", result=words[-1], at_once=True)

    def add_experiment(self, name: str) -> None:
        """Add a data file, with the columns that are surely inputs and outputs.

        Raises
        ------
        fmident.errors.FmidentError
            It cannot be read.
        """
        self.table({"data": name})
        with self.draft.one_change():
            self.draft.add_experiment({"data": name})
            self._assign_columns()
        self.tell()

    def assign_columns(self) -> None:
        """Assign columns to inputs and outputs where none is assigned, and nothing is in doubt."""
        with self.draft.one_change():
            self._assign_columns()
        self.tell()

    def _assign_columns(self) -> None:
        description = self.description
        for number, table in enumerate(self.experiments):
            if description is None or table.get("inputs") or table.get("outputs"):
                continue
            with contextlib.suppress(FmidentError):
                _, described = self.table(table)
                columns = {c.name: c.unit for c in described.columns if c.problem is None}
                for kind, given in certain_columns(description, columns).items():
                    if given:
                        self.draft.change("experiments", number, kind, value=given)

    # ------------------------------------------------------------- simulation and check

    def fit(self, values: dict[str, float] | None = None) -> Fit:
        """Return the request to simulate the experiments, by default at the initial values."""
        return Fit(self.draft.path, self.version, values or {})

    @property
    def missing(self) -> str:
        """What is missing before the problem can be checked; empty if nothing is."""
        if self.description is None:
            return "choose a model"
        if not any(e.get("outputs") for e in self.experiments):
            return "assign a column of the data to an output"
        if not any(not p.get("fixed") for p in self.parameters.values()):
            return "tick a parameter to be identified"
        return ""

    def request_check(self, pause: float = 0.0) -> None:
        """Check the file after a pause, once nothing is missing."""
        if not self.missing:
            self.check.request(pause)

    def close(self) -> None:
        """End the check, and the process that simulates; jobs go on."""
        self.check.stop()
        self.simulations.close()
