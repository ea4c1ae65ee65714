"""``fmident report``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.cli.console import out, tell_all, width
from fmident.errors import Code, EstimationError

if TYPE_CHECKING:
    from fmident.report.contents import Contents
    from fmident.report.sections.content import Section
    from fmident.report.stored.pages import StoredFolder

HELP = "show a result again"
EXAMPLE = """\
  fmident report results
  fmident report results --open
  fmident report results/problem-bootstrap --again
  fmident report results --static --format pdf"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "result",
        type=Path,
        help="result folder of 'fmident estimate', profile, bootstrap, predict or cross-validate, "
        "or its JSON file",
    )
    parser.add_argument(
        "--open", action="store_true", help="open the page in the browser of this machine"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="make the page and its pictures anew from the files of the folder, as a page that is "
        "missing is made",
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
    """Print the summary of a result folder; make and open its page, write pictures if asked to."""
    from fmident.report.stored.pages import stored_folder

    stored = stored_folder(arguments.result)
    summary, sections, pictures = (
        _estimation(stored, arguments)
        if stored.analysis is None
        else _analysis(stored, stored.analysis, arguments)
    )
    out(summary)
    out(f"\n{_page(stored, arguments, sections)}")
    if arguments.static:
        for file in pictures():
            out(f"picture: {file}")
    if arguments.open:
        _show(stored.page)
    return 0


_Shown = tuple[str, Callable[[], "list[Section]"], Callable[[], list[Path]]]
"""Summary, what makes the sections of plugins, what writes the pictures."""


def _estimation(stored: StoredFolder, arguments: argparse.Namespace) -> _Shown:
    from fmident.report.stored import read_result
    from fmident.report.terminal import summary

    read = read_result(stored.folder)
    result = read.result

    @cache
    def sections() -> list[Section]:
        from fmident.api.results import stored_sections
        from fmident.plugins import load_plugins
        from fmident.report.stored.samples import other_samples, with_signals

        host = load_plugins(without=arguments.no_plugin)
        tell_all(host.diagnostics)
        whole = with_signals(result, stored.folder)
        tell_all(other_samples(read, whole))
        return stored_sections(whole, stored.folder, host, tell_all)

    def pictures() -> list[Path]:
        from fmident.report.figures.files import write_pictures

        return write_pictures(result, stored.folder, arguments.format, sections())

    return summary(result, width()), sections, pictures


def _analysis(
    stored: StoredFolder, analysis: Contents[Any], arguments: argparse.Namespace
) -> _Shown:
    result = analysis.read(stored.folder)

    def pictures() -> list[Path]:
        from fmident.report.figures.files import write_files

        return write_files(stored.folder, arguments.format, analysis.charts(result))

    return analysis.summary(result, width()), list, pictures


def _page(
    stored: StoredFolder,
    arguments: argparse.Namespace,
    sections: Callable[[], list[Section]],
) -> str:
    """Return where the page is, which is made where it is missing or asked for.

    Raises
    ------
    fmident.errors.EstimationError
        It is asked for, but cannot be made.
    """
    if arguments.again or not stored.page.is_file():
        from fmident.report.stored.pages import make_page

        try:
            make_page(stored, sections(), pictures=arguments.again)
        except EstimationError as error:
            if arguments.again or arguments.open:
                raise
            return f"no plots: {error.message}"
    return f"plots: {stored.page}"


def _show(page: Path) -> None:
    """Open the page.

    Raises
    ------
    fmident.errors.EstimationError
        There is no browser.
    """
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        raise EstimationError(
            "there is no browser on this machine that could be opened",
            hint=f"open '{page}' in one yourself",
            code=Code.UNUSABLE_FILE,
        )
