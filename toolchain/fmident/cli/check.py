"""``fmident check``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import out, say, tell, width
from fmident.cli.usage import (
    Command,
    UsageError,
    override_option,
    overrides_of,
    plugins_of,
)
from fmident.files import save

if TYPE_CHECKING:
    from fmident.checking import GlobalMethod

EXAMPLE = """\
  fmident check problem.toml
  fmident check problem.toml --quick --json check.json
  fmident check problem.toml --global sobol --report check.html

Ends with 0 when the problem can be estimated, 1 when something makes that impossible,
2 when the file, its data or its FMU cannot be used at all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only the initial point: no other points inside the bounds, no finer grid",
    )
    parser.add_argument(
        "--global",
        dest="method",
        nargs="?",
        const="sobol",
        metavar="METHOD",
        help="which parameters matter anywhere in their bounds: sobol (default) or morris",
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="of --global: N (parameters + 2) simulations of each experiment for sobol "
        "(default 512), N (parameters + 1) for morris (default 30)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of --global (default 1)")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the page with pictures, as HTML"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON, too")
    override_option("estimator.solver=scipy").add(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check and print the page; 1 if the problem cannot be estimated."""
    from fmident import api
    from fmident.checking import check_html, check_page
    from fmident.progress import watching

    method = _method(arguments)
    overrides = overrides_of(arguments)
    host = plugins_of(arguments)
    problem = api.load_problem(
        arguments.problem,
        host=host,
        overrides=overrides,
        # The problem's own notes are among the findings.
        report=lambda found: tell(d for d in found if d.rule is None),
    )
    with watching(only_blocks=True, notebook=False) as watch:
        report = api.check(
            problem,
            host=host,
            quick=arguments.quick,
            global_method=method,
            listener=watch.activity,
        )
    out(check_page(report, width()))
    if arguments.json is not None:
        text = json.dumps(report.to_dict(), indent=2, allow_nan=False)
        save(arguments.json, text + "\n")
    if arguments.report is not None:
        save(arguments.report, check_html(report))
        say(f"report: {arguments.report}")
    return 0 if report.can_be_estimated else 1


def _method(arguments: argparse.Namespace) -> GlobalMethod | None:
    """Return the method for global sensitivities, if requested."""
    from fmident.checking import GlobalMethod

    if arguments.method is None:
        if arguments.samples is not None:
            raise UsageError("--samples belongs to --global", hint="add --global sobol")
        return None
    return GlobalMethod(arguments.method, arguments.samples, arguments.seed)


COMMANDS = {"check": Command(EXAMPLE, configure, run)}
