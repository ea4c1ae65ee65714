"""``--annotations``: what a command finds, at the file and line it is about."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable, Iterator

from fmident.cli.console import say
from fmident.errors import CompilationError, Diagnostic, FmidentError
from fmident.report.annotations import FORMATS, github_annotation

Annotate = Callable[[Iterable[Diagnostic]], None]


def add_annotations(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--annotations",
        choices=FORMATS,
        help="print findings in this form, too, for a CI service that shows them at their lines",
    )


@contextlib.contextmanager
def annotated(arguments: argparse.Namespace) -> Iterator[Annotate]:
    """Give a function that writes annotations if they are wanted; annotate what is raised."""
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
