"""``fmident bootstrap``."""

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
    from fmident.resampling import BootstrapResult

HELP = "how far do estimates of replicated data scatter?"
EXAMPLE = """\
  fmident bootstrap problem.toml --result results/problem
  fmident bootstrap problem.toml -n 2000 --method block
  fmident bootstrap problem.toml -o bootstrap --resume

Each replicate is what the estimate predicts, with resampled residuals or new noise, and is fitted
from the estimate. Without --method, tests of the residuals choose it. Without --result the problem
is estimated first. The result folder holds bootstrap.json, replicates.csv,
bands.csv, bootstrap.html and pictures."""

_SUFFIX = "-bootstrap"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "--result",
        type=Path,
        metavar="FOLDER",
        help="result of 'fmident estimate' to begin from; by default the problem is estimated",
    )
    parser.add_argument(
        "-n", "--replicates", type=int, default=500, metavar="N", help="how many (default 500)"
    )
    parser.add_argument(
        "--method",
        choices=("residual", "wild", "block", "parametric"),
        help="where the noise comes from; by default as tests of the residuals say",
    )
    parser.add_argument(
        "--weights",
        choices=("rademacher", "mammen"),
        default="rademacher",
        help="factors of --method wild (default rademacher)",
    )
    parser.add_argument(
        "--block-length",
        type=int,
        metavar="SAMPLES",
        help="of --method block; by default chosen by the correlation of the residuals",
    )
    parser.add_argument(
        "--level",
        type=probability,
        default=0.95,
        metavar="P",
        help="probability of the intervals, such as 0.95 or 95%% (default 0.95)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the random numbers (default 0)"
    )
    journalled.configure(parser, suffix=_SUFFIX)


def run(arguments: argparse.Namespace) -> int:
    """Fit the replicates, write the result folder, print the table; exit codes as of `execute`."""

    def describe(host: Host, report: Report) -> Shown[BootstrapResult]:
        from fmident.api.uncertainty.bootstraps import BootstrapRun
        from fmident.progress import Watch
        from fmident.report.bootstrap.folder import BOOTSTRAP, CORNER
        from fmident.resampling import BootstrapOptions

        watch = Watch()

        def listener(done: int, expected: int) -> None:
            if not arguments.quiet:
                watch.work("replicates", done, expected)

        options = BootstrapOptions(
            arguments.replicates,
            arguments.method,
            arguments.weights,
            arguments.block_length,
            arguments.level,
            arguments.seed,
        )
        kind = BootstrapRun(
            arguments.result,
            options,
            host,
            observers=() if arguments.quiet else (watch,),
            listener=listener,
            report=report,
        )
        first = "no --result is given: the problem is estimated first"
        return Shown(
            kind,
            lambda found: BOOTSTRAP.summary(found, width()),
            announcement=lambda _: first if arguments.result is None else "",
            progress=(watch,),
            suffix=_SUFFIX,
            files=lambda folder: (
                f"report: {folder / BOOTSTRAP.page}",
                f"picture: {folder / CORNER}",
            ),
            earlier="the earlier bootstrap is",
            partial="the result holds the replicates so far",
        )

    return journalled.execute(arguments, describe)
