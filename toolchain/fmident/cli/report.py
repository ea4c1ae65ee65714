"""``fmident report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import out, width
from fmident.errors import Code, EstimationError

if TYPE_CHECKING:
    from fmident.report.stored import StoredResult

HELP = "show a result again"
EXAMPLE = """\
  fmident report results
  fmident report results --open
  fmident report results --static --format pdf"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "result", type=Path, help="result folder of 'fmident estimate', or its result.json"
    )
    parser.add_argument(
        "--open", action="store_true", help="open report.html in the browser of this machine"
    )
    parser.add_argument(
        "--static",
        action="store_true",
        help="write the plots as pictures for a paper into 'figures' of the result folder",
    )
    parser.add_argument(
        "--format", choices=("svg", "pdf"), default="svg", help="of these pictures (default svg)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the summary of a result folder; open its page, write pictures where asked to."""
    from fmident.report.stored import read_result
    from fmident.report.terminal import summary

    stored = read_result(arguments.result)
    out(summary(stored.result, width()))
    if stored.page is not None:
        out(f"\nplots: {stored.page}")
    if arguments.static:
        from fmident.report.static import write_pictures

        path: Path = arguments.result
        folder = path if path.is_dir() else path.parent
        for file in write_pictures(stored.result, folder, arguments.format):
            out(f"picture: {file}")
    if arguments.open:
        _show(stored)
    return 0


def _show(stored: StoredResult) -> None:
    """Open the page.

    Raises
    ------
    fmident.errors.EstimationError
        There is no page, or no browser.
    """
    import webbrowser

    if stored.page is None:
        raise EstimationError(
            "there is no 'report.html' beside 'result.json'",
            hint="give the whole folder that 'fmident estimate' wrote",
            code=Code.UNKNOWN_NAME,
        )
    if not webbrowser.open(stored.page.resolve().as_uri()):
        raise EstimationError(
            "there is no browser on this machine that could be opened",
            hint=f"open '{stored.page}' in one yourself",
            code=Code.UNUSABLE_FILE,
        )
