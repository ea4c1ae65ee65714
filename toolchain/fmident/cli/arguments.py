"""What the commands read from their arguments."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fmident.cli.console import say, tell
from fmident.cli.usage import UsageError
from fmident.errors import CompilationError, Diagnostic, FmidentError
from fmident.files import save
from fmident.plugins import Host, load_plugins
from fmident.report.annotations import github_annotation
from fmident.toml_file import parse_toml
from fmident.toml_file.overrides import read_value

_PICTURES = (".png", ".svg", ".pdf")

Annotate = Callable[[Iterable[Diagnostic]], None]


def assignments(items: Iterable[str], option: str) -> dict[str, str]:
    """Return ``NAME=VALUE`` items as a dictionary.

    Raises `UsageError` if an item has no ``=`` or a name occurs twice.
    """
    pairs: dict[str, str] = {}
    for item in items:
        name, equals, value = item.rpartition("=") if option == "--inputs" else item.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name:
            raise UsageError(f"{option} '{item}' is not of the form NAME=VALUE")
        if name in pairs:
            raise UsageError(f"{option} gives '{name}' twice")
        pairs[name] = value
    return pairs


def overrides_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the overrides from ``--set`` and, if the command has it, ``--hold-out``."""
    given: dict[str, object] = {
        k: read_value(v) for k, v in assignments(arguments.set, "--set").items()
    }
    names: Sequence[str] = getattr(arguments, "hold_out", ())
    if names:
        # Imported late: many commands read no problem.
        from fmident.api.problems import file_of
        from fmident.problem import read_problem_file
        from fmident.problem.reading.experiments import held_out

        file = file_of(arguments.problem)
        given |= held_out(parse_toml(read_problem_file(file), file), names, str(file))
    return given


def plugins_of(arguments: argparse.Namespace) -> Host:
    """Return the plugins without those of ``--no-plugin``; tell what is wrong with them."""
    host = load_plugins(without=arguments.no_plugin)
    tell(host.diagnostics)
    return host


def scalar(text: str) -> float | int | bool | str:
    """Return `text` as TOML would read it: as a number or boolean if possible."""
    lowered = text.strip()
    if lowered in ("true", "false"):
        return lowered == "true"
    for kind in (int, float):
        try:
            return kind(lowered)
        except ValueError:
            continue
    if len(lowered) >= 2 and lowered[0] == lowered[-1] and lowered[0] in "'\"":
        return lowered[1:-1]
    return text


def refuse_other_pictures(path: Path) -> None:
    """Raise `UsageError` if the suffix of a picture is not one of those that are drawn."""
    if path.suffix.lower() not in _PICTURES:
        raise UsageError(
            f"'{path}' is none of {', '.join(_PICTURES)}", hint="choose the format by the suffix"
        )


def write_json(path: Path | None, content: Mapping[str, Any]) -> None:
    """Write JSON into a file if one is given."""
    if path is not None:
        save(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


@contextlib.contextmanager
def annotated(arguments: argparse.Namespace) -> Iterator[Annotate]:
    """Yield a function that writes annotations if requested; exceptions are annotated, too."""
    if arguments.annotations is None:
        yield lambda _: None
        return
    try:
        yield _write
    except FmidentError as error:
        findings = error.diagnostics if isinstance(error, CompilationError) else ()
        _write(findings)
        if all(finding.severity != "error" for finding in findings):
            _write([Diagnostic("error", error.message, error.location, error.hint, error.code)])
        raise


def _write(findings: Iterable[Diagnostic]) -> None:
    for finding in findings:
        say(github_annotation(finding))
