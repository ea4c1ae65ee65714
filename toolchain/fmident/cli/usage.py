"""The parts of a command line: options, commands, and a parser with our errors."""

from __future__ import annotations

import argparse
import gc
import importlib
import itertools
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from fmident.errors import Code, FmidentError, unknown_name
from fmident.report.annotations import FORMATS


class UsageError(FmidentError):
    """The command line is invalid."""

    default_code = Code.USAGE


# ------------------------------------------------------------------- types of values


def number(text: str) -> float:
    """Return a number; an argparse type whose message quotes the text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def positive(text: str) -> float:
    """Return a positive number; an argparse type."""
    value = number(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


def count(text: str) -> int:
    """Return a positive whole number; an argparse type."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, not '{text}'")
    return int(text)


def probability(text: str) -> float:
    """Return a probability, such as ``0.95`` or ``95%``."""
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a probability between 0 and 1, such as 0.95 or 95%"
        )
    return value


def names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of names with commas between them"
        )
    return names


_TYPES: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("FILE", "FOLDER", "PATH", "CSV", "PNG", "FMU", "PROBLEM", "RESULT"), Path),
    **dict.fromkeys(("N", "K", "SAMPLES"), int),
    **dict.fromkeys(("S", "SECONDS", "A"), number),
    "NUMBER": positive,
    "P": probability,
}
"""Type of a value, by the word for it in the help."""


class Option:
    """An argument of a command: its names, its help, and settings of `argparse`.

    What its value is called follows the last name: ``"--stage NAME"``; ``NAME?``, ``NAME*`` and
    ``NAME+`` are one at most, any number, one or more. An option without a value is a switch.
    The help ends with the default.
    """

    def __init__(self, *names_and_help: str, **settings: Any) -> None:
        *others, last, text = names_and_help
        name, *value = last.split(" ")
        self.names = (*others, name)
        if value:
            word = value[0].rstrip("?*+")
            often = value[0][len(word) :] or None
            settings = {"metavar": word, "type": _TYPES.get(word), "nargs": often} | settings
        elif name.startswith("-") and not settings.keys() & {"action", "choices"}:
            settings["action"] = "store_true"
        default = settings.get("default")
        if isinstance(default, int | float | str | Path) and default is not True:
            text += (
                f" (default {default:g})" if isinstance(default, float) else f" (default {default})"
            )
        self.settings = settings | {"help": text}


@dataclass(frozen=True)
class Command:
    """A command.

    Parameters
    ----------
    group
        Its heading in the help.
    place
        Module of ``fmident.cli`` and function, such as ``"check:run"``.
    help
        What it is for.
    example
        What its help ends with.
    options
        Its arguments.
    analysis
        Of an analysis that writes a result folder: module of ``fmident.api`` and class. The
        arguments have the names of its fields.
    suffix
        Of the default result folder of an analysis: ``results/NAMEsuffix`` beside ``NAME.toml``.
    former
        Options of earlier versions, with their names of today.
    """

    group: str
    place: str
    help: str
    example: str
    options: Sequence[Option]
    analysis: str = ""
    suffix: str = ""
    former: Mapping[str, str] = field(default_factory=dict)

    def run(self, arguments: argparse.Namespace) -> int:
        """Import the module, do the work, and return the exit code."""
        module, name = self.place.split(":")
        run: Callable[[argparse.Namespace], int]
        gc.disable()  # what imports make stays: to search it for garbage takes a tenth of the start
        try:
            run = getattr(importlib.import_module(f"fmident.cli.{module}"), name)
        finally:
            gc.freeze()
            gc.enable()
        return run(arguments)


# ------------------------------------------------------------ options of several commands


def repeated(names: str, text: str, **settings: Any) -> Option:
    """Return an option that may be given several times."""
    return Option(names, f"{text}; may be repeated", action="append", default=[], **settings)


PROBLEM = Option("problem", "problem file (TOML)", type=Path)
SUBJECT = Option("problem", "problem file (TOML), or the folder of a result of it", type=Path)
JSON = Option("--json FILE", "write it as JSON, too")
RESULT = Option(
    "--result FOLDER",
    "result of 'fmident estimate' to begin from; by default the problem is estimated",
)
ANNOTATIONS = Option(
    "--annotations",
    "print findings in this form, too, for a CI service that shows them at their lines",
    choices=FORMATS,
)
EVERYWHERE = (
    repeated("--no-plugin NAME", "leave this plugin out"),
    Option("--traceback", "show where in fmident an error came up"),
)
"""Options of every command."""


def override(example: str) -> Option:
    """Return ``--set`` of a problem file; `example` is for its help."""
    return repeated("--set KEY=VALUE", f"override a key of the problem file, such as {example}")


def level(of: str) -> Option:
    """Return ``--level`` of what the help names."""
    return Option("--level P", f"probability of the {of}, such as 0.95 or 95%%", default=0.95)


def analysis(
    group: str,
    analysis: str,
    purpose: str,
    example: str,
    options: Sequence[Option],
    *,
    suffix: str = "",
    setting: str = "evaluation.workers=4",
    resume: bool = True,
    former: Mapping[str, str] | None = None,
) -> Command:
    """Return a command that writes a result folder; `setting` is a key to override, for the help.

    Without `resume` its only argument is a result, beside which its own goes.
    """
    place = f"results/NAME{suffix} beside the problem file NAME.toml"
    place = place if resume else f"RESULT{suffix} beside the result"
    common = [
        Option("-o", "--output FOLDER", f"result folder; by default {place}"),
        override(setting),
        Option("--force", "replace an earlier result instead of keeping it"),
        Option("-q", "--quiet", "no progress, no table"),
    ]
    again = Option(
        "--resume",
        "go on from a run that was interrupted or killed: what it has simulated is not simulated"
        " again",
    )
    return Command(
        group,
        "analyses:run",
        purpose,
        example,
        (*options, *common, *([again] if resume else [])),
        analysis,
        suffix,
        former or {},
    )


# -------------------------------------------------------------------------- the parser


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs, and keeps indented lines, such as those of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [
            "\n".join(lines)
            if keep
            else textwrap.fill(" ".join(lines), width, break_on_hyphens=False)
            for keep, lines in itertools.groupby(
                text.strip("\n").split("\n"), lambda line: not line or line.startswith(" ")
            )
        ]
        return textwrap.indent("\n".join(paragraphs), indent)


class Parser(argparse.ArgumentParser):
    """Raises :class:`UsageError` instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        """Raise an error that refers to the help."""
        raise UsageError(message, hint=f"'{self.prog} --help' shows how it is used")

    def options(self) -> list[str]:
        """Return all option strings."""
        return [option for action in self._actions for option in action.option_strings]


def refuse_unknown_command(arguments: Sequence[str], commands: Iterable[str]) -> None:
    """Raise `UsageError`, with similar commands, if the first word is not a command."""
    word = next((a for a in arguments if not a.startswith("-")), None)
    known = list(commands)
    if word is not None and word not in known:
        raise UsageError(f"there is no command '{word}'", **unknown_name(word, known, "command"))


def refuse_unknown_arguments(parser: Parser, extra: Sequence[str]) -> None:
    """Raise `UsageError`, with similar options, if arguments are left over."""
    if not extra:
        return
    first = extra[0]
    if first.startswith("-"):
        option = first.split("=")[0]
        raise UsageError(
            f"'{parser.prog}' has no option '{option}'",
            **unknown_name(option, parser.options(), "option"),
        )
    raise UsageError(
        f"'{first}' is one argument too many", hint=f"'{parser.prog} --help' shows how it is used"
    )
