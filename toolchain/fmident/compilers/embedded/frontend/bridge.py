"""Runs rumoca: source files to its flat model, and its complaints to diagnostics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import rumoca

from fmident.errors import CompilationError, Diagnostic, Location

from .refusal import OPENMODELICA
from .sources import SourceMap, SourceTree

SUPPORTED_VERSION = "0.10."


@dataclass(frozen=True)
class Flattened:
    """What rumoca gives: the flat dictionary and the files that it read."""

    flat: Mapping[str, Any]
    sources: SourceMap


def flatten(class_name: str, tree: SourceTree, others: Sequence[SourceTree]) -> Flattened:
    """Parse, resolve, check and flatten a class.

    Raises
    ------
    CompilationError
        With the places that rumoca names.
    """
    version = str(rumoca.version())
    if not version.removeprefix("rumoca ").startswith(SUPPORTED_VERSION):
        raise CompilationError(
            f"the embedded compiler needs rumoca {SUPPORTED_VERSION}x and finds {version}",
            hint="install the version that fmident asks for: pip install 'rumoca>=0.10,<0.11'",
        )
    roots = [str(other.entry.parent) for other in others if other is not tree]
    session = rumoca.Session(roots=roots) if roots else rumoca.Session()
    try:
        model = session.load(str(tree.entry), model=class_name)
        flat = model.to_dict(stage="flat")
        files = model.to_dict(stage="dae")["source_map"]["files"]
    except rumoca.RumocaError as error:
        raise CompilationError(str(error)) from None
    sources = SourceMap({int(key): (str(name), str(text)) for key, name, text in files})
    return Flattened(flat, sources)


_ = (re, Diagnostic, Location, OPENMODELICA)
