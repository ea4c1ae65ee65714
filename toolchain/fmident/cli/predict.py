"""``fmident predict``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import say, tell_all, width
from fmident.cli.usage import assignments, probability
from fmident.errors import Diagnostic, FmidentError

if TYPE_CHECKING:
    from collections.abc import Iterable

HELP = "what will be measured next, and how sure is that?"
EXAMPLE = """\
  fmident predict results/problem
  fmident predict results/problem --data new.csv
  fmident predict results/problem --data new.csv --bootstrap results/problem-bootstrap

Outputs are predicted with two bands: of the mean, from the uncertainty of the parameters, and of
new samples, with the noise. Samples that were measured are counted. The result folder holds
prediction.json, bands.csv, prediction.html and pictures."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("result", type=Path, help="result folder of 'fmident estimate'")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="data of a new experiment, with the columns of one of the problem; those of outputs "
        "may be missing; may be repeated",
    )
    parser.add_argument(
        "--like", metavar="NAME", help="experiment whose columns new data have; the first one"
    )
    parser.add_argument(
        "--bootstrap",
        type=Path,
        metavar="FOLDER",
        help="result of 'fmident bootstrap': its replicates in place of the covariance",
    )
    parser.add_argument(
        "--linearised",
        action="store_true",
        help="by the covariance, also where the result has draws from a posterior",
    )
    parser.add_argument(
        "--new-only", action="store_true", help="not the experiments that were fitted"
    )
    parser.add_argument(
        "--level",
        type=probability,
        default=0.95,
        metavar="P",
        help="probability of the bands, such as 0.95 or 95%% (default 0.95)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="result folder; by default RESULT-prediction beside the result",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key of the problem file, such as evaluation.workers=4; may be repeated",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an earlier prediction instead of keeping it"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no table")


def run(arguments: argparse.Namespace) -> int:
    """Predict, write the result folder, print the table."""
    from fmident.api.uncertainty.predictions import predict
    from fmident.plugins import load_plugins
    from fmident.progress import Watch
    from fmident.report.prediction.folder import PREDICTION
    from fmident.toml_file.overrides import read_value

    host = load_plugins(without=arguments.no_plugin)
    tell_all(host.diagnostics)
    loud, watch = not arguments.quiet, Watch()
    given: Path = arguments.result
    place = given.parent if given.is_file() else given
    whole = place.resolve()
    folder = arguments.output or whole.parent / f"{whole.name}-prediction"

    def listener(done: int, expected: int) -> None:
        if loud:
            watch.work("experiments", done, expected)

    wrong: list[Diagnostic] = []

    def report(found: Iterable[Diagnostic]) -> None:
        shown = [d for d in found if loud or d.severity != "note"]
        wrong.extend(d for d in shown if d.severity == "error")
        tell_all(shown)

    try:
        found = predict(
            place,
            data=arguments.data,
            like=arguments.like,
            bootstrap=arguments.bootstrap,
            linearised=arguments.linearised,
            level=arguments.level,
            fitted=not arguments.new_only,
            overrides={k: read_value(v) for k, v in assignments(arguments.set, "--set").items()},
            host=host,
            report=report,
            listener=listener,
            folder=folder,
            replace=arguments.force,
        )
    finally:
        watch.finish()
    if loud:
        say(f"\n{PREDICTION.summary(found, width())}\n")
    if wrong:  # it is in another place, as was said
        return FmidentError.exit_code
    say(f"result: {folder / PREDICTION.marker}\nreport: {folder / PREDICTION.page}")
    return 0
