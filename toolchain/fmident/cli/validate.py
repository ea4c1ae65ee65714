"""``fmident validate``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from fmident.api.builds import FmuOrigin
from fmident.catalog import Catalog, Entry, ReferenceExperiment, find_catalog, read_catalog
from fmident.cli.arguments import Annotate, annotated, plugins_of
from fmident.cli.console import out, out_table, tell
from fmident.cli.usage import UsageError
from fmident.errors import Diagnostic, FmidentError, Severity
from fmident.fmu import read_description
from fmident.plugins import Host
from fmident.report.terminal import table
from fmident.validation import Check, FmuPlan, FmuReport, plan_fmu, validate, write_junit

_FAILED, _UNREADABLE = 1, 2
_MOST_TABLES = 3


def run(arguments: argparse.Namespace) -> int:
    """Check all files; 1 if a check fails, 2 if a file is unusable."""
    with annotated(arguments) as annotate:
        return _run(arguments, annotate)


def _run(arguments: argparse.Namespace, annotate: Annotate) -> int:
    if arguments.all == bool(arguments.fmus):
        raise UsageError("name FMUs, or give --all for those of the catalogue")
    if not 0.0 <= arguments.tube_time < float("inf"):
        raise UsageError("--tube-time is not a time")
    if arguments.resets < 1 or (arguments.jobs is not None and arguments.jobs < 1):
        raise UsageError("--resets and --jobs must be at least 1")
    planned, missing = _plans(arguments, annotate)
    plans = [plan for plan, _ in planned]
    full = arguments.verbose or len(plans) <= _MOST_TABLES
    reports: list[FmuReport] = []
    for report in validate(plans, timeout=arguments.timeout, jobs=arguments.jobs):
        report = report.strict() if arguments.strict else report
        annotate(_findings(report, planned[len(reports)][1]))
        reports.append(report)
        if full:
            if len(reports) > 1:
                out()
            _show(report, arguments.verbose)
        else:
            tell(f"{'ok    ' if report.passed else 'FAILED'} {report.path.name}")
    if not full:
        _summarise(reports)
    if arguments.junit:
        write_junit(reports, arguments.junit)
        out(f"written: {arguments.junit}")
    if any(report.unusable is not None for report in reports):
        return _UNREADABLE
    return 0 if not missing and all(report.passed for report in reports) else _FAILED


def _plans(
    arguments: argparse.Namespace, annotate: Annotate
) -> tuple[list[tuple[FmuPlan, FmuOrigin]], bool]:
    """Return what to check, and whether an FMU of the catalogue is missing."""
    references = [
        ReferenceExperiment(file, tube=arguments.tube, tube_time=arguments.tube_time)
        for file in arguments.reference
    ]
    if not arguments.all:
        known = read_catalog(arguments.catalog) if arguments.catalog else None
        return [_plan(path, known, references, arguments.resets) for path in arguments.fmus], False

    host = plugins_of(arguments)
    catalog = read_catalog(arguments.catalog or find_catalog(Path.cwd()))
    tell(catalog.notes)
    folder = arguments.folder or catalog.path.parent
    plans: list[tuple[FmuPlan, FmuOrigin]] = []
    missing = False
    for entry in catalog.entries:
        path = folder / entry.file
        origin = FmuOrigin(path, catalog, entry)
        if path.exists():
            plans.append((plan_fmu(path, entry, references, resets=arguments.resets), origin))
            continue
        severity: Severity = "error"
        text = f"missing: {path}"
        hint = "it is not built here: copy it there"
        if not entry.foreign:
            hint = "'fmident build --all' builds it"
            if reason := _why_not_built(entry, host):
                severity, text, hint = "warning", f"left out: {entry.file}: {reason}", ""
        missing |= severity == "error"
        tell(f"{text}; {hint}" if hint else text)
        annotate([Diagnostic(severity, text, origin.entry_location(), hint or None, "validate")])
    if not plans:
        hint = "fmident build --all" if catalog.built else "copy the FMUs there"
        raise UsageError(f"'{folder}' holds no FMU of the catalogue", hint=hint)
    return plans, missing


def _plan(
    path: Path, catalog: Catalog | None, references: Sequence[ReferenceExperiment], resets: int
) -> tuple[FmuPlan, FmuOrigin]:
    beside = path.parent / "catalog.toml"
    if catalog is None and beside.is_file():
        catalog = read_catalog(beside)
    entry = None
    if catalog is not None:
        try:
            entry = catalog.entry_of_fmu(read_description(path).name, path)
        except FmidentError:
            entry = None  # the checks will say what is wrong with the file
    return plan_fmu(path, entry, references, resets=resets), FmuOrigin(path, catalog, entry)


def _findings(report: FmuReport, origin: FmuOrigin) -> Iterator[Diagnostic]:
    name = report.path.name
    for check in report.checks:
        if check.outcome in ("failed", "finding"):
            severity: Severity = "warning" if check.passed else "error"
            text = "\n".join((f"{name}: {check.detail}", *check.further))
            yield Diagnostic(severity, text, origin.location(check), rule=check.name)
    if report.unusable is not None:
        yield Diagnostic("error", report.unusable, origin.location(), rule="unusable")


def _why_not_built(entry: Entry, host: Host) -> str:
    """Return why no compiler of the entry can run here; empty if one can."""
    if any(host.compiler(name).unavailable() is None for name in entry.compilers):
        return ""
    return ", ".join(f"{name} cannot run here" for name in entry.compilers)


def _show(report: FmuReport, verbose: bool) -> None:
    out(str(report.path))
    if report.checks:
        rows = [[c.name, _word(c), c.detail] for c in report.checks]
        out_table(["check", "result", "detail"], rows)
    for check in (c for c in report.checks if c.further):
        if verbose:
            out(f"further, {check.name}:")
            out("\n".join(f"  - {text}" for text in check.further), wrap=True)
        else:
            out(
                f"{len(check.further)} more of '{check.name}': -v or --junit FILE lists all",
                wrap=True,
            )
    if report.unusable is not None:
        out(f"error: {report.unusable}", wrap=True)


def _summarise(reports: Sequence[FmuReport]) -> None:
    rows = []
    for report in reports:
        figures = {c.name: c.figure for c in report.checks}
        done = [c for c in report.checks if c.outcome != "skipped"]
        rows.append(
            [
                report.path.name,
                f"{sum(c.passed for c in done)}/{len(done)}",
                str(report.findings or ""),
                _figure(report.deviation),
                _figure(figures.get("step sizes")),
                f"{report.seconds:.1f}",
                "ok" if report.passed else "FAILED",
            ]
        )
    header = ["FMU", "checks", "findings", "reference", "step sizes", "s", "result"]
    out(table(header, rows, ["<", ">", ">", ">", ">", ">", "<"]))
    for report in reports:
        failed = [c for c in report.checks if not c.passed]
        if failed or report.unusable is not None:
            out()
            out(str(report.path))
            for check in failed:
                out(f"  {check.name}: {check.detail}")
            if report.unusable is not None:
                out(f"  error: {report.unusable}")
    passed = sum(report.passed for report in reports)
    out()
    out(f"{passed} of {len(reports)} FMUs passed; deviations are over a signal's range")


def _word(check: Check) -> str:
    return "FAILED" if check.outcome == "failed" else check.outcome


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"
