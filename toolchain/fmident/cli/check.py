"""``fmident check``."""

from __future__ import annotations

import argparse

from fmident.api.checks import check
from fmident.api.problems import load_problem
from fmident.checking import GlobalMethod, check_html, check_page
from fmident.cli.arguments import overrides_of, plugins_of, write_json
from fmident.cli.console import out, say, tell, width
from fmident.cli.usage import UsageError
from fmident.files import save
from fmident.progress.watch import watching


def run(arguments: argparse.Namespace) -> int:
    """Check and print the page; 1 if the problem cannot be estimated."""
    method = _method(arguments)
    overrides = overrides_of(arguments)
    host = plugins_of(arguments)
    problem = load_problem(
        arguments.problem,
        host=host,
        overrides=overrides,
        # The problem's own notes are among the findings.
        report=lambda found: tell(d for d in found if d.rule is None),
    )
    with watching(only_blocks=True, notebook=False) as watch:
        report = check(
            problem,
            host=host,
            quick=arguments.quick,
            global_method=method,
            listener=watch.activity,
        )
    out(check_page(report, width()))
    write_json(arguments.json, report.to_dict())
    if arguments.report is not None:
        save(arguments.report, check_html(report))
        say(f"report: {arguments.report}")
    return 0 if report.can_be_estimated else 1


def _method(arguments: argparse.Namespace) -> GlobalMethod | None:
    if arguments.global_method is None:
        if arguments.samples is not None:
            raise UsageError(
                "--samples belongs to --global-method", hint="add --global-method sobol"
            )
        return None
    return GlobalMethod(arguments.global_method, arguments.samples, arguments.seed)
