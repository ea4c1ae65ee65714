"""The text of a problem file so that it means the same in another folder."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmident.toml_file import NotTomlError, encoded, loads

_PATH = re.compile(
    r"""(?P<key>(?<![\w.-])(?:[\w.-]+\.)?(?:fmu|fmu_folder|data|sources|problem)\s*=\s*)
    (?P<value>"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[[^\[\]]*\])""",
    re.VERBOSE,
)
_CLASS = re.compile(r"(?m)^([ \t]*(?:model\.)?)class[ \t]*=.*$")
_TEXT = re.compile(r"""(?P<comment>\#[^\n]*)|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")


def with_absolute_paths(
    text: str, folder: Path, fmu: Path | None = None, copies: Mapping[Path, str] | None = None
) -> str:
    """Return the text of a problem file with absolute paths.

    Parameters
    ----------
    text
        A valid problem file.
    folder
        To which its paths are relative.
    fmu
        The FMU of ``model.class``: it is looked for there again, not built beside the text.
    copies
        Problem files of stages and data files that are copied, resolved, and what to write in
        their place.

    Returns
    -------
    str
        The same text but for the paths. Unchanged, with a comment on top that names `folder`,
        when paths are written in a way that cannot be replaced.
    """
    folder = folder.resolve()
    copied = copies or {}
    changed = _PATH.sub(
        lambda found: found["key"] + _absolute(found["value"], folder, copied), text
    )
    expected = absolute(loads(text), folder, copied)
    model = expected.get("model", {})
    if fmu is not None and "class" in model and "fmu_folder" not in model:
        model["fmu_folder"] = _joined(str(fmu.parent.resolve()), folder)
        line = f"fmu_folder = {encoded(model['fmu_folder'])}"
        changed = _CLASS.sub(lambda found: f"{found[0]}\n{found[1]}{line}", changed, count=1)
    try:
        right = loads(changed) == expected
    except NotTomlError:
        right = False
    return changed if right else f"# Paths are relative to {encoded(str(folder))}.\n{text}"


def _absolute(written: str, folder: Path, copies: Mapping[Path, str]) -> str:
    """Replace each text in a value."""

    def replaced(found: re.Match[str]) -> str:
        if found["comment"]:
            return found[0]
        value: str = loads(f"value = {found[0]}")["value"]
        return encoded(_named(value, folder, copies))

    return _TEXT.sub(replaced, written)


def _joined(path: str, folder: Path) -> str:
    return (folder / path).as_posix()


def _named(path: str, folder: Path, copies: Mapping[Path, str]) -> str:
    return copies.get((folder / path).resolve()) or _joined(path, folder)


def absolute(document: dict[str, Any], folder: Path, copies: Mapping[Path, str]) -> dict[str, Any]:
    """Return the content of a problem file with absolute paths.

    Parameters
    ----------
    document
        What the file contains.
    folder
        Absolute; that to which paths are relative.
    copies
        As for :func:`with_absolute_paths`.
    """
    document = copy.deepcopy(document)
    model = document.get("model", {})
    for key in ("fmu", "fmu_folder", "sources"):
        value = model.get(key)
        if isinstance(value, str):
            model[key] = _joined(value, folder)
        elif isinstance(value, list):
            model[key] = [_joined(v, folder) for v in value]
    for experiment in document.get("experiments", []):
        outputs = [o for o in experiment.get("outputs", {}).values() if isinstance(o, dict)]
        for table in (experiment, *outputs):
            if isinstance(table.get("data"), str):
                table["data"] = _named(table["data"], folder, copies)
    for stage in document.get("stages", []):
        if isinstance(stage.get("problem"), str):
            stage["problem"] = _named(stage["problem"], folder, copies)
    return document
