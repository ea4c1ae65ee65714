"""Diagnostics as annotations, which a CI service shows at their file and line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fmident.errors import Diagnostic

FORMATS = ("github",)
"""Names of the formats."""

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}

_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


def github_annotation(finding: Diagnostic, root: Path | None = None) -> str:
    """Return a diagnostic as a workflow command of GitHub Actions; its rule becomes the title.

    It is one line, such as ``::error file=Lib.mo,line=3,col=5,title=units::...``. Files are
    named relative to `root`, the repository, as GitHub requires; by default
    ``GITHUB_WORKSPACE``, else the current folder.
    """
    properties: dict[str, str] = {}
    place = finding.location
    if place is not None:
        workspace = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
        properties["file"] = _relative(place.file, root or workspace)
        if place.line is not None:
            properties["line"] = str(place.line)
            if place.column is not None:
                properties["col"] = str(place.column)
    properties["title"] = f"fmident: {finding.rule}" if finding.rule else "fmident"
    text = finding.message if finding.hint is None else f"{finding.message}\nhint: {finding.hint}"
    listed = ",".join(f"{k}={_escaped(v, _IN_PROPERTY)}" for k, v in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{_escaped(text, _IN_MESSAGE)}"


def _relative(file: str, root: Path) -> str:
    """Return a file's path relative to `root`; unchanged if it lies elsewhere."""
    try:
        return Path(file).resolve().relative_to(root.resolve()).as_posix()
    except (OSError, ValueError):
        return file


def _escaped(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(letter, letter) for letter in text)
