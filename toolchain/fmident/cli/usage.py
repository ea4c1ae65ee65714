"""Argument parsing: a parser with our errors, and arguments shared by commands."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from fmident.cli.console import say, tell
from fmident.errors import Code, CompilationError, Diagnostic, FmidentError, did_you_mean
from fmident.report.annotations import FORMATS, github_annotation

if TYPE_CHECKING:
    from fmident.plugins import Host


Annotate = Callable[[Iterable[Diagnostic]], None]


class UsageError(FmidentError):
    """The command line is invalid."""

    default_code = Code.USAGE


class Option:
    """An argument of a command, as of `argparse.ArgumentParser.add_argument`."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self._names, self._settings = names, settings

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        parser.add_argument(*self._names, **self._settings)


@dataclass(frozen=True)
class Command:
    """A command: what its help ends with, what adds its arguments, what runs it."""

    example: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs, and keeps the indented lines of examples.

    A long line of an example is continued with a backslash, as in a shell.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        del indent  # of nested parsers; there are none
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join("\n".join(_lines(p.splitlines(), width)) for p in paragraphs)


def _lines(lines: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of a paragraph, wrapped to `width` as far as words permit."""
    for is_example, group in itertools.groupby(lines, lambda line: line.startswith(" ")):
        if not is_example:
            yield from textwrap.wrap(" ".join(group), width, break_on_hyphens=False)
            continue
        for line in group:
            parts = _WITH_DESCRIPTION.fullmatch(line)
            if parts:
                after = " " * len(parts[1])
                described = textwrap.wrap(parts[2], max(20, width - len(after)))
                yield from (
                    f"{a}{b}"
                    for a, b in zip([parts[1], *[after] * len(described)], described, strict=False)
                )
            else:
                yield from _example(line, width)


_WITH_DESCRIPTION = re.compile(r"( +\S.*?\S {2,})(\S.*)")
"""A command, blanks, and what it is for."""


def _example(line: str, width: int) -> list[str]:
    """Return a command as one or more lines, each but the last ending in a backslash."""
    if len(line) <= width:
        return [line]
    wrapped = textwrap.wrap(
        line.strip(),
        width - 2,
        initial_indent="  ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"{part} \\" for part in wrapped[:-1]] + wrapped[-1:]


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
        raise UsageError(
            f"there is no command '{word}'",
            hint=did_you_mean(word, known, kind="command"),
            code=Code.UNKNOWN_NAME,
        )


def refuse_unknown_arguments(parser: Parser, extra: Sequence[str]) -> None:
    """Raise `UsageError`, with similar options, if arguments are left over."""
    if not extra:
        return
    first = extra[0]
    if first.startswith("-"):
        option = first.split("=")[0]
        raise UsageError(
            f"'{parser.prog}' has no option '{option}'",
            hint=did_you_mean(option, parser.options(), kind="option"),
            code=Code.UNKNOWN_NAME,
        )
    raise UsageError(
        f"'{first}' is one argument too many", hint=f"'{parser.prog} --help' shows how it is used"
    )


def assignments(items: Iterable[str], option: str) -> dict[str, str]:
    """Return ``NAME=VALUE`` items as a dictionary.

    Raises `UsageError` if an item has no ``=`` or a name occurs twice.
    """
    pairs: dict[str, str] = {}
    for item in items:
        name, equals, value = item.rpartition("=") if option == "--inputs" else item.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name:
            raise UsageError(f"{option} '{item}' is not of the form NAME=VALUE")
        if name in pairs:
            raise UsageError(f"{option} gives '{name}' twice")
        pairs[name] = value
    return pairs


def override_option(example: str) -> Option:
    """Return ``--set``, which several commands have."""
    return Option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"override a key of the problem file, such as {example}; may be repeated",
    )


def overrides_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the overrides from ``--set`` and, if the command has it, ``--hold-out``."""
    from fmident.toml_file import parse_toml
    from fmident.toml_file.overrides import read_value

    given: dict[str, object] = {
        k: read_value(v) for k, v in assignments(arguments.set, "--set").items()
    }
    names: Sequence[str] = getattr(arguments, "hold_out", ())
    if names:
        from fmident.problem import read_problem_file
        from fmident.problem.reading.experiments import held_out

        text, file = read_problem_file(arguments.problem), str(arguments.problem)
        given |= held_out(parse_toml(text, arguments.problem), names, file)
    return given


def plugins_of(arguments: argparse.Namespace) -> Host:
    """Return the plugins without those of ``--no-plugin``; tell what is wrong with them."""
    from fmident.plugins import load_plugins

    host = load_plugins(without=arguments.no_plugin)
    tell(host.diagnostics)
    return host


def scalar(text: str) -> float | int | bool | str:
    """Return `text` as TOML would read it: as a number or boolean if possible."""
    lowered = text.strip()
    if lowered in ("true", "false"):
        return lowered == "true"
    for kind in (int, float):
        try:
            return kind(lowered)
        except ValueError:
            continue
    if len(lowered) >= 2 and lowered[0] == lowered[-1] and lowered[0] in "'\"":
        return lowered[1:-1]
    return text


def positive(text: str) -> float:
    """Return a positive number; an argparse type."""
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


def number(text: str) -> float:
    """Return a number; an argparse type whose message quotes the text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def probability(text: str) -> float:
    """Return a probability, such as ``0.95`` or ``95%``; raises `UsageError` otherwise."""
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise UsageError(
            f"--level '{text}' is not a probability between 0 and 1", hint="such as 0.95 or 95%"
        )
    return value


def add_annotations(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--annotations",
        choices=FORMATS,
        help="print findings in this form, too, for a CI service that shows them at their lines",
    )


@contextlib.contextmanager
def annotated(arguments: argparse.Namespace) -> Iterator[Annotate]:
    """Yield a function that writes annotations if requested; exceptions are annotated, too."""
    if arguments.annotations is None:
        yield lambda _: None
        return
    try:
        yield _write
    except FmidentError as error:
        findings = error.diagnostics if isinstance(error, CompilationError) else ()
        _write(findings)
        if all(finding.severity != "error" for finding in findings):
            _write([Diagnostic("error", error.message, error.location, error.hint, error.code)])
        raise


def _write(findings: Iterable[Diagnostic]) -> None:
    for finding in findings:
        say(github_annotation(finding))
