"""``fmident report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fmident.cli.console import out, width

HELP = "show a result again"
EXAMPLE = """\
  fmident report results"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "result", type=Path, help="result folder of 'fmident estimate', or its result.json"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the summary of a result folder."""
    from fmident.report.stored import read_result
    from fmident.report.terminal import summary

    stored = read_result(arguments.result)
    out(summary(stored.result, width()))
    if stored.page is not None:
        out(f"\nplots: {stored.page}")
    return 0
