"""``fmident cross-validate``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli import journalled
from fmident.cli.console import tell, width
from fmident.cli.journalled import Shown, overrides_of

if TYPE_CHECKING:
    from fmident.api import Report
    from fmident.cross_validation import CrossValidation
    from fmident.plugins import Host

HELP = "how well does a model predict what it was not fitted to?"
EXAMPLE = """\
  fmident cross-validate problem.toml
  fmident cross-validate coulomb.toml stribeck.toml lugre.toml --by blocks --folds 8 --gap 0.2
  fmident cross-validate problem.toml -o folds --resume

Each experiment, or each block in time, is left out once, all else is fitted, and what was left out
is predicted. Several problem files are models of the same samples. The result folder holds
cross-validation.json, scores.csv, parameters.csv, predictions.csv, cross-validation.html and the
pictures scores.png and parameters.png."""

_SUFFIX = "-folds"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "others",
        nargs="*",
        type=Path,
        metavar="MODEL",
        help="problem files of other models of the same samples",
    )
    parser.add_argument(
        "--by",
        choices=("experiments", "blocks"),
        help="what is left out; by default experiments, where there are several",
    )
    parser.add_argument(
        "--folds", type=int, metavar="K", help="number of blocks in time (default 5)"
    )
    parser.add_argument(
        "--gap",
        type=float,
        default=0.0,
        metavar="S",
        help="samples nearer than this to a block are not fitted either, s (default 0)",
    )
    journalled.configure(parser, suffix=_SUFFIX)


def run(arguments: argparse.Namespace) -> int:
    """Cross-validate, write the result folder, print the tables; exit codes as of `execute`."""

    def describe(host: Host, report: Report) -> Shown[CrossValidation]:
        from fmident import api
        from fmident.api.cross_validations import CrossValidationRun
        from fmident.progress import Watch
        from fmident.report.cross_validation import (
            CROSS_VALIDATION,
            PARAMETERS_PICTURE,
            SCORES_PICTURE,
        )

        watch = Watch()
        overrides = overrides_of(arguments)
        names = _names([arguments.problem, *arguments.others])
        others = {
            name: api.load_problem(path, host=host, overrides=overrides, report=report)
            for name, path in zip(names[1:], arguments.others, strict=True)
        }
        kind = CrossValidationRun(
            others,
            names[0],
            arguments.by,
            arguments.folds,
            arguments.gap,
            host,
            observers=() if arguments.quiet else (watch,),
            listener=_nothing if arguments.quiet else _say,
            report=report,
        )
        return Shown(
            kind,
            lambda found: CROSS_VALIDATION.summary(found, width()),
            progress=(watch,),
            suffix=_SUFFIX,
            files=lambda folder: (
                f"report: {folder / CROSS_VALIDATION.page}",
                f"pictures: {folder / SCORES_PICTURE}, {folder / PARAMETERS_PICTURE}",
            ),
            earlier="the earlier cross-validation is",
            partial="the result holds the folds so far",
        )

    return journalled.execute(arguments, describe)


def _names(paths: list[Path]) -> list[str]:
    """Return the names of the models: those of the files, with folders where they are equal."""
    stems = [p.stem for p in paths]
    if len(set(stems)) == len(stems):
        return stems
    longer = [f"{p.resolve().parent.name}/{p.stem}" for p in paths]
    if len(set(longer)) == len(longer):
        return longer
    return [f"{s} ({k})" for k, s in enumerate(stems, 1)]


def _say(model: str, what: str) -> None:
    tell(f"{model}: {what}")


def _nothing(_model: str, _what: str) -> None:
    """Take what nobody wants to see."""
