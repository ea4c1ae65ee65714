"""``fmident compare``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fmident._whole_file import save
from fmident.cli.console import out, width
from fmident.cli.usage import UsageError

HELP = "results side by side: parameters, fit, validation, which model to take"
EXAMPLE = """\
  fmident compare results/problem results/problem.1
  fmident compare linear quadratic --json comparison.json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT",
        help="result folder of 'fmident estimate', or its result.json; two or more",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write it as JSON, too")


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    from fmident.report.comparison import compare_results, comparison_json, comparison_text

    if len(arguments.results) < 2:
        raise UsageError("one result cannot be compared", hint="name two or more result folders")
    compared = compare_results(arguments.results)
    out(comparison_text(compared.results, compared.choice, width()))
    if arguments.json is not None:
        text = json.dumps(
            comparison_json(compared.results, compared.choice), indent=2, allow_nan=False
        )
        save(arguments.json, text + "\n")
    return 0
