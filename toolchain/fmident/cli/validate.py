"""``fmident validate``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fmident.cli.console import out
from fmident.errors import FmidentError

HELP = "check FMUs: description, simulation, repeatability"
EXAMPLE = """\
  fmident validate fmus/*.fmu"""

_FAILED, _UNREADABLE = 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("fmus", nargs="+", type=Path, metavar="FMU", help="files to check")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="limit of one simulation (60)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check all files; 1 when a check fails, 2 when a file cannot be used at all."""
    from fmident.report.terminal import table
    from fmident.validation import validate_fmu

    code = 0
    for number, path in enumerate(arguments.fmus):
        if number:
            out()
        out(str(path))
        try:
            checks = validate_fmu(path, timeout=arguments.timeout)
        except FmidentError as error:
            out(f"error: {error}")
            code = _UNREADABLE
            continue
        rows = [[c.name, "ok" if c.passed else "FAILED", c.detail] for c in checks]
        out(table(["check", "result", "detail"], rows))
        if not all(check.passed for check in checks):
            code = max(code, _FAILED)
    return code
