"""``fmident profile``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli import journalled
from fmident.cli.console import width
from fmident.cli.journalled import Shown
from fmident.cli.usage import probability

if TYPE_CHECKING:
    from fmident.api import Report
    from fmident.plugins import Host
    from fmident.profiles import ProfileResult

HELP = "how far can each parameter go, when all others make up for it?"
EXAMPLE = """\
  fmident profile problem.toml
  fmident profile problem.toml --result results/problem --parameters k d
  fmident profile problem.toml --pair k d
  fmident profile problem.toml -o profiles --resume

Each parameter is moved away from the estimate, all others fitted again at each value, until
the cost has risen to the threshold of the confidence level. Without --result the problem is
estimated first. The result folder holds profiles.json, profiles.csv, profiles.html and the
pictures tau.png and cost.png."""

_SUFFIX = "-profiles"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "--parameters",
        nargs="+",
        metavar="NAME",
        help="free parameters to profile; those of --pair by default, or all",
    )
    parser.add_argument(
        "--pair",
        nargs=2,
        action="append",
        default=[],
        metavar="NAME",
        help="two free parameters whose joint region is drawn; may be repeated",
    )
    parser.add_argument(
        "--result",
        type=Path,
        metavar="FOLDER",
        help="result of 'fmident estimate' to begin from; by default the problem is estimated",
    )
    parser.add_argument(
        "--level",
        type=probability,
        default=0.95,
        metavar="P",
        help="probability of the intervals, such as 0.95 or 95%% (default 0.95)",
    )
    parser.add_argument(
        "--accuracy",
        type=float,
        default=1e-3,
        metavar="A",
        help="of the ends, in relation to their distance from the estimate (default 0.001)",
    )
    parser.add_argument(
        "--stage", metavar="NAME", help="stage to profile, of a problem with stages; the last one"
    )
    journalled.configure(parser, suffix=_SUFFIX)


def run(arguments: argparse.Namespace) -> int:
    """Profile, write the result folder, print the table; exit codes as of `execute`.

    It is 0 also when a parameter is not identifiable: that is an answer.
    """

    def describe(host: Host, report: Report) -> Shown[ProfileResult]:
        from fmident.api.profiles import ProfileRun
        from fmident.progress import Watch
        from fmident.report.profile_folder import COST_PICTURE, PROFILES, TAU_PICTURE

        watch = Watch()
        kind = ProfileRun(
            arguments.result,
            arguments.parameters,
            [tuple(pair) for pair in arguments.pair],
            arguments.level,
            arguments.accuracy,
            arguments.stage,
            host,
            observers=() if arguments.quiet else (watch,),
            listener=_nothing if arguments.quiet else watch.profiles,
            report=report,
        )
        first = "no --result is given: the problem is estimated first"
        return Shown(
            kind,
            lambda found: PROFILES.summary(found, width()),
            announcement=lambda _: first if arguments.result is None else "",
            progress=(watch,),
            suffix=_SUFFIX,
            files=lambda folder: (
                f"report: {folder / PROFILES.page}",
                f"pictures: {folder / TAU_PICTURE}, {folder / COST_PICTURE}",
            ),
            earlier="earlier profiles are",
            partial="the result holds the points so far",
        )

    return journalled.execute(arguments, describe)


def _nothing(_: object) -> None:
    """Take what nobody wants to see."""
