"""Commands for written results: ``fmident report``, ``compare`` and ``export``."""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Callable
from functools import cache
from pathlib import Path

from fmident.api.results import stored_sections
from fmident.cli.arguments import assignments, plugins_of, scalar, write_json
from fmident.cli.console import out, tell, width
from fmident.cli.usage import UsageError
from fmident.errors import Code, EstimationError
from fmident.files import save
from fmident.fmu import read_description
from fmident.report.comparison import compare_any
from fmident.report.estimate import ESTIMATE
from fmident.report.export import exported_values, modifier, record, write_ssv
from fmident.report.pages import StoredFolder, make_page, make_pictures, stored_folder
from fmident.report.result_json import read_result
from fmident.report.sections import Section
from fmident.report.tables import other_samples, with_signals


def run_report(arguments: argparse.Namespace) -> int:
    """Print the summary of a result folder; make and open its page, write pictures if asked to."""
    stored = stored_folder(arguments.result)
    sections = cache(lambda: _sections(stored, arguments))
    out(stored.analysis.text(stored.analysis.glance(stored.folder), width()))
    out(f"\n{_page(stored, arguments, sections)}")
    if arguments.static:
        for file in make_pictures(stored, arguments.format, sections()):
            out(f"picture: {file}")
    if arguments.open:
        _show(stored.page)
    return 0


def _sections(stored: StoredFolder, arguments: argparse.Namespace) -> list[Section]:
    if stored.analysis is not ESTIMATE:
        return []
    read = read_result(stored.folder)
    whole = with_signals(read.result, stored.folder)
    tell(other_samples(read, whole))
    return stored_sections(whole, stored.folder, plugins_of(arguments), tell)


def _page(
    stored: StoredFolder,
    arguments: argparse.Namespace,
    sections: Callable[[], list[Section]],
) -> str:
    """Return the path of the page, which is created if missing or requested."""
    if arguments.again or not stored.page.is_file():
        try:
            make_page(stored, sections(), pictures=arguments.again)
        except EstimationError as error:
            if arguments.again or arguments.open:
                raise
            return f"no plots: {error.message}"
    return f"plots: {stored.page}"


def _show(page: Path) -> None:
    """Open the page; raises `EstimationError` if there is no browser."""
    if not webbrowser.open(page.resolve().as_uri()):
        raise EstimationError(
            "there is no browser on this machine that could be opened",
            hint=f"open '{page}' in one yourself",
            code=Code.UNUSABLE_FILE,
        )


def run_compare(arguments: argparse.Namespace) -> int:
    """Compare results, and print the tables."""
    if len(arguments.results) < 2:
        raise UsageError("one result cannot be compared", hint="name two or more result folders")
    comparison = compare_any(arguments.results)
    out(comparison.text(width()))
    write_json(arguments.json, comparison.to_dict())
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Write the values of a result as Modelica text or as an SSV file."""
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
