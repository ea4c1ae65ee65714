"""``fmident build``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fmident.cli.console import out, tell_all
from fmident.cli.usage import assignments, positive, scalar

HELP = "compile a Modelica class to an FMU"
EXAMPLE = """\
  fmident build Mechanisms.Robots.DeltaInverse
  fmident build MyLibrary.Pump --source ~/MyLibrary -o pump.fmu --tolerance 1e-8

Without --source, the class is looked for in modelica/ here and in the folders above,
then in the library that comes with fmident. An FMU that is newer than its sources is
left alone."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("class_name", metavar="CLASS", help="full Modelica name")
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="Modelica file, or folder of packages; may be repeated",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the FMU; by default fmus/CLASS.fmu where there is a folder fmus, else CLASS.fmu",
    )
    parser.add_argument(
        "--compiler", default="auto", metavar="NAME", help="'fmident plugins' lists them"
    )
    parser.add_argument(
        "--tolerance",
        type=positive,
        metavar="NUMBER",
        help="default relative tolerance of the integrator in the FMU",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the compiler; may be repeated",
    )
    parser.add_argument("--force", action="store_true", help="build even when up to date")


def run(arguments: argparse.Namespace) -> int:
    """Build one FMU."""
    from fmident import builds
    from fmident.plugins import load_plugins
    from fmident.report.numbers import duration

    host = load_plugins(without=arguments.no_plugin)
    tell_all(host.diagnostics)
    options = {k: scalar(v) for k, v in assignments(arguments.option, "--option").items()}
    built = builds.build(
        host,
        arguments.class_name,
        sources=tuple(arguments.source),
        output=arguments.output,
        compiler=arguments.compiler,
        tolerance=arguments.tolerance,
        options=options,
        force=arguments.force,
    )
    if built.result is None:
        out(f"{built.fmu} is up to date; --force builds it again")
        return 0
    tell_all(built.result.diagnostics)
    out(f"{built.fmu} built by {built.result.compiler} in {duration(built.result.seconds)}")
    return 0
