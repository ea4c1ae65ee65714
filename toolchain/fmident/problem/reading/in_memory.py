"""Convert arguments in Python to the text of a problem file and data in memory.

The text is then read like a problem file, so that it gets the same checks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.errors import Code, DataError, Location, ProblemError, shown
from fmident.toml_file import Arguments, document, encoded, loads
from fmident.toml_file.overrides import put, with_value
from fmident.toml_file.text import KeyPath

if TYPE_CHECKING:
    import pandas as pd


_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_ONLY = "data"
"""Name of the experiment where there is one without a name."""


def arguments_of(
    fmu: str | os.PathLike[str],
    data: object,
    shared: Mapping[str, object],
    own: Mapping[str, Mapping[str, object]],
    tables: Mapping[str, object],
) -> tuple[Arguments, dict[str, pd.DataFrame]]:
    """Return the text of a problem file, with absolute paths, and the data it names.

    `fmu` is the path of an FMU or a Modelica class, and `data` the frame or columns of a
    single experiment, or of several by name. `shared` has keys of all experiments, `own`
    further keys of single ones by name, and `tables` the other tables, with ``model``
    lacking the FMU. Keys that are ``None`` are ignored. The text has the Python names of
    its parts for messages. Raises `ProblemError` or `DataError` for arguments that no
    problem file could express.
    """
    frames = _Frames()
    names: dict[KeyPath, str] = {("model", "fmu"): "fmu", ("model", "class"): "fmu"}
    given = _by_name(data)
    for name in own:
        if name not in given:
            known = ", ".join(f"'{n}'" for n in given)
            raise ProblemError(
                f"there is no experiment '{name}' in the data",
                location=Location("experiments"),
                hint=f"the data have {known}",
                code=Code.UNKNOWN_NAME,
            )
    written = []
    for number, (name, content) in enumerate(given.items()):
        at: KeyPath = ("experiments", number)
        place = "data" if data is content else f"data.{name}"
        names |= {at: place, (*at, "data"): place}
        names |= {(*at, key): str(key) for key in shared}
        names |= {(*at, key): f"experiments.{name}.{key}" for key in _keys(own.get(name), name)}
        entry = {**shared, **own.get(name, {})}
        outputs = entry.get("outputs")
        if isinstance(outputs, Mapping):
            entry["outputs"] = {k: frames.in_output(k, v, name) for k, v in outputs.items()}
        about = {"name": name, "data": frames.add(name, content, place)}
        written.append({**about, **entry})
    content = _plain({"model": _model(fmu, tables.get("model")), **_rest(tables)}, "")
    content["experiments"] = _plain(written, "experiments")
    for keys, path in list(_absolute_paths(content, Path.cwd(), frames.kept())):
        put(content, keys, path)
    text = document(content)
    return Arguments(Path("arguments"), text, title="the problem", names=names), frames.tables


class _Frames:
    def __init__(self) -> None:
        self.tables: dict[str, pd.DataFrame] = {}

    def add(self, name: str, content: object, place: str) -> str:
        """Add a frame or columns; return the file name."""
        stem = _NOT_IN_NAMES.sub("_", name).strip(".") or _ONLY
        file, number = f"{stem}.csv", 1
        while file.casefold() in {used.casefold() for used in self.tables}:
            number += 1
            file = f"{stem}_{number}.csv"
        self.tables[file] = _frame(content, place)
        return file

    def in_output(self, output: str, entry: object, experiment: str) -> object:
        if not isinstance(entry, Mapping) or isinstance(entry.get("data"), (str, os.PathLike)):
            return entry
        if entry.get("data") is None:
            return entry
        place = f"outputs.{output}.data"
        return {**entry, "data": self.add(f"{experiment}-{output}", entry["data"], place)}

    def kept(self) -> dict[Path, str]:
        """Return the file names by path; these paths stay relative."""
        return {(Path.cwd() / file).resolve(): file for file in self.tables}


def _by_name(data: object) -> dict[str, object]:
    import pandas as pd  # here, since it is slow to import and seldom needed

    if isinstance(data, pd.DataFrame):
        return {_ONLY: data}
    if not isinstance(data, Mapping):
        raise ProblemError(
            f"the data are of type {type(data).__name__}",
            location=Location("data"),
            hint='give a DataFrame, columns {"time": ..., "force": ...}, or several of these by'
            ' name: {"step": frame, "sweep": frame}',
            code=Code.WRONG_TYPE,
        )
    several = {isinstance(item, (pd.DataFrame, Mapping)) for item in data.values()}
    if several == {True, False}:
        columns = [str(k) for k, v in data.items() if not isinstance(v, (pd.DataFrame, Mapping))]
        raise ProblemError(
            "the data hold both columns and tables",
            location=Location(f"data.{columns[0]}"),
            hint="give columns, or a DataFrame (or columns) for each experiment",
            code=Code.WRONG_TYPE,
        )
    return {str(name): item for name, item in data.items()} if several == {True} else {_ONLY: data}


def _frame(content: object, place: str) -> pd.DataFrame:
    """Return a frame from columns or a copied frame, with a named index as a column."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    at = Location(place)
    if isinstance(content, pd.DataFrame):
        if any(name is not None for name in content.index.names):
            return content.reset_index()
        if content.index.dtype.kind not in "iu":  # that of selected rows numbers them still
            raise DataError(
                "the index of the frame has values, but no name",
                location=at,
                hint="if it is the time: frame.rename_axis('time [s]');"
                " else frame.reset_index(drop=True)",
            )
        return content.reset_index(drop=True)
    if not isinstance(content, Mapping):
        raise ProblemError(
            f"this is of type {type(content).__name__}, not a DataFrame or columns by name",
            location=at,
            code=Code.WRONG_TYPE,
        )
    columns = {str(name): np.asarray(values) for name, values in content.items()}
    sizes = {name: values.shape for name, values in columns.items()}
    for name, shape in sizes.items():
        if len(shape) != 1:
            raise DataError(
                f"column '{name}' has the shape {shape}; a column has one dimension", location=at
            )
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"'{name}' {shape[0]}" for name, shape in sizes.items())
        raise DataError(f"the columns differ in length: {lengths}", location=at)
    return pd.DataFrame(columns)


def _model(fmu: str | os.PathLike[str], rest: object) -> dict[str, object]:
    if rest is not None and not isinstance(rest, Mapping):
        raise ProblemError(
            f"this must be a table, not {shown(rest)}",
            location=Location("model"),
            code=Code.WRONG_TYPE,
        )
    further = dict(rest or {})
    for key in ("fmu", "class"):
        if key in further:
            raise ProblemError(
                f"'{key}' is given twice",
                location=Location(f"model.{key}"),
                hint="the first argument is the FMU or the class",
            )
    text = os.fspath(fmu)
    built = isinstance(fmu, str) and not text.endswith(".fmu") and _CLASS.fullmatch(text)
    return {"class" if built else "fmu": text, **further}


def _rest(tables: Mapping[str, object]) -> dict[str, object]:
    """Return the tables other than the model; a string becomes a table with only a name."""
    named = ("estimator", "cost")
    return {
        key: {"name": value} if key in named and isinstance(value, str) else value
        for key, value in tables.items()
        if key != "model"
    }


def _keys(entry: object, name: str) -> list[str]:
    if entry is not None and not isinstance(entry, Mapping):
        raise ProblemError(
            f"this must be a table, not {shown(entry)}",
            location=Location(f"experiments.{name}"),
            code=Code.WRONG_TYPE,
        )
    return [str(key) for key in entry or {}]


def _plain(value: object, place: str) -> Any:
    """Return a value made of TOML types, without keys that are ``None``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        dot = f"{place}." if place else ""
        items = {str(k): v for k, v in value.items() if v is not None}
        return {k: _plain(v, f"{dot}{k}") for k, v in items.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, place) for item in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    raise ProblemError(
        f"this is of type {type(value).__name__}: {shown(value)}",
        location=Location(place),
        hint="give what a problem file can hold: numbers, texts, true or false, lists, tables",
        code=Code.WRONG_TYPE,
    )


def with_absolute_paths(
    text: str, folder: Path, fmu: Path | None = None, copies: Mapping[Path, str] | None = None
) -> str:
    """Return the text of a problem file in `folder` with absolute paths.

    `copies` replaces the (resolved) paths of copied data files and problem files of stages.
    The FMU of ``model.class`` will be searched for at `fmu` instead of being built beside
    the text. If some path is written in a way that cannot be replaced, the text is
    unchanged except for a comment on top that names `folder`.
    """
    folder = folder.resolve()
    content = loads(text)
    model = content.get("model", {})
    changes = dict(_absolute_paths(content, folder, copies or {}))
    if fmu is not None and "class" in model and "fmu_folder" not in model:
        changes["model", "fmu_folder"] = _joined(str(fmu.parent.resolve()), folder)
    changed: str | None = text
    for keys, value in changes.items():
        changed = None if changed is None else with_value(changed, keys, value)
    if changed is None:
        return f"# Paths are relative to {encoded(str(folder))}.\n{text}"
    return changed


def _joined(path: str, folder: Path) -> str:
    return (folder / path).as_posix()


def _absolute_paths(
    content: Mapping[str, Any], folder: Path, copies: Mapping[Path, str]
) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the keys of paths that are not absolute in `folder`, and what they become."""
    for keys, value in _paths(content):
        if isinstance(value, list):
            absolute: Any = [_joined(v, folder) for v in value]
        else:
            copy = None if keys[0] == "model" else copies.get((folder / value).resolve())
            absolute = copy or _joined(value, folder)
        if absolute != value:
            yield keys, absolute


def _paths(content: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the keys and values of the paths in a problem file."""
    for key in ("fmu", "fmu_folder", "sources"):
        if isinstance(value := content.get("model", {}).get(key), (str, list)):
            yield ("model", key), value
    for number, experiment in enumerate(content.get("experiments", [])):
        if isinstance(experiment.get("data"), str):
            yield ("experiments", number, "data"), experiment["data"]
        for name, output in experiment.get("outputs", {}).items():
            if isinstance(output, dict) and isinstance(output.get("data"), str):
                yield ("experiments", number, "outputs", name, "data"), output["data"]
    for number, stage in enumerate(content.get("stages", [])):
        if isinstance(stage.get("problem"), str):
            yield ("stages", number, "problem"), stage["problem"]
