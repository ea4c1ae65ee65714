"""Commands for results that are there: show, compare, export."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.cli.console import out, tell, width
from fmident.errors import Code, EstimationError

if TYPE_CHECKING:
    from fmident.report.contents import Contents
    from fmident.report.pages import StoredFolder
    from fmident.report.sections.html import Section


import json

from fmident.cli.usage import Command, UsageError, assignments, plugins_of, scalar
from fmident.files import save

_REPORT_EXAMPLE = """\
  fmident report results
  fmident report results --open
  fmident report results/problem-bootstrap --again
  fmident report results --static --format pdf"""


def configure_report(parser: argparse.ArgumentParser) -> None:
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


def run_report(arguments: argparse.Namespace) -> int:
    """Print the summary of a result folder; make and open its page, write pictures if asked to."""
    from fmident.report.pages import stored_folder

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
    from fmident.report.result_json import read_result
    from fmident.report.terminal import summary

    read = read_result(stored.folder)
    result = read.result

    @cache
    def sections() -> list[Section]:
        from fmident.api.results import stored_sections
        from fmident.report.tables import other_samples, with_signals

        host = plugins_of(arguments)
        whole = with_signals(result, stored.folder)
        tell(other_samples(read, whole))
        return stored_sections(whole, stored.folder, host, tell)

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
    """Return the path of the page, which is created if missing or requested."""
    if arguments.again or not stored.page.is_file():
        from fmident.report.pages import make_page

        try:
            make_page(stored, sections(), pictures=arguments.again)
        except EstimationError as error:
            if arguments.again or arguments.open:
                raise
            return f"no plots: {error.message}"
    return f"plots: {stored.page}"


def _show(page: Path) -> None:
    """Open the page; raises `EstimationError` if there is no browser."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        raise EstimationError(
            "there is no browser on this machine that could be opened",
            hint=f"open '{page}' in one yourself",
            code=Code.UNUSABLE_FILE,
        )


_COMPARE_EXAMPLE = """\
  fmident compare results/problem results/problem.1
  fmident compare linear quadratic --json comparison.json"""


def configure_compare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT",
        help="result folder of 'fmident estimate', or its result.json; two or more",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write it as JSON, too")


def run_compare(arguments: argparse.Namespace) -> int:
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


_EXPORT_EXAMPLE = """\
  fmident export results
  fmident export results --modelica record -o DeltaIdentified.mo
  fmident export results --ssv delta.ssv
  fmident export results --set mass2=0.22 --set mass3=0.25

The modifier is a declaration to be put into a model; the record is a class with units,
descriptions and standard errors. Both hold all digits. Where single elements of arrays
were identified, --fmu has the others. Of a base parameter the members may be chosen: the
others move along, so that it keeps its value."""


def configure_export(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "result", type=Path, help="result folder of 'fmident estimate', or its result.json"
    )
    parser.add_argument(
        "--modelica",
        choices=("modifier", "record"),
        help="Modelica text; the modifier is what is written when nothing is asked for",
    )
    parser.add_argument("--ssv", type=Path, metavar="FILE", help="write an SSV file (SSP 1.0)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="file for the Modelica text (terminal)"
    )
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="Modelica class (the FMU's model)"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="of the component, the record or the parameter set"
    )
    parser.add_argument(
        "--fmu", type=Path, metavar="FILE", help="the FMU, for elements that were not identified"
    )

    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a member of base parameters; may be given again",
    )


def run_export(arguments: argparse.Namespace) -> int:
    """Write what was asked for."""
    from fmident.fmu import read_description
    from fmident.report.export import exported_values, modifier, record, write_ssv
    from fmident.report.result_json import read_result

    form = arguments.modelica or (None if arguments.ssv else "modifier")
    if arguments.output is not None and form is None:
        raise UsageError("-o is for Modelica text", hint="add --modelica modifier or record")
    result = read_result(arguments.result).result
    if arguments.set:
        chosen = {n: scalar(v) for n, v in assignments(arguments.set, "--set").items()}
        numbers = {n: float(v) for n, v in chosen.items() if type(v) in (int, float)}
        if wrong := {*chosen} - {*numbers}:
            raise UsageError(f"--set {min(wrong)}: {chosen[min(wrong)]!r} is not a number")
        result = result.with_members(numbers)
    description = read_description(arguments.fmu) if arguments.fmu else None
    exports = exported_values(result, description)
    for name, reason in exports.left_out.items():
        tell(f"left out: '{name}' {reason}")
    if arguments.ssv:
        write_ssv(exports, arguments.ssv, name=arguments.name)
        tell(f"written: {arguments.ssv}")
    if form is None:
        return 0
    if form == "record":
        text = record(exports, class_name=arguments.class_name, name=arguments.name)
    else:
        text = modifier(exports, class_name=arguments.class_name, instance=arguments.name)
    if arguments.output is None:
        out(text.rstrip("\n"))
    else:
        save(arguments.output, text)
        tell(f"written: {arguments.output}")
    return 0


COMMANDS = {
    "report": Command(_REPORT_EXAMPLE, configure_report, run_report),
    "compare": Command(_COMPARE_EXAMPLE, configure_compare, run_compare),
    "export": Command(_EXPORT_EXAMPLE, configure_export, run_export),
}
