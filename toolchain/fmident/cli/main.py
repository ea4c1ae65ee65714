"""Run the command line and determine its exit code.

====  ==========================================================
code  meaning
====  ==========================================================
0     success
1     the command ran, and the answer is negative
2     wrong input; the message says what, where and what to do
70    a defect of fmident
130   interrupted with Ctrl-C
141   the reader of the output has closed it
====  ==========================================================
"""

from __future__ import annotations

import argparse
import atexit
import errno
import importlib
import itertools
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from fmident import _compiling
from fmident._version import __version__
from fmident.cli import console
from fmident.cli.console import tell
from fmident.cli.usage import (
    HelpFormatter,
    Parser,
    UsageError,
    refuse_unknown_arguments,
    refuse_unknown_command,
)
from fmident.errors import (
    CompilationError,
    FmidentError,
    ResourceError,
    advice_on,
    in_words,
    lines_of,
)
from fmident.operating_system import memory_limit


class Command(Protocol):
    """A command."""

    @property
    def example(self) -> str:
        """What its help ends with."""

    def configure(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the arguments."""

    def run(self, arguments: argparse.Namespace, /) -> int:
        """Do the work; return the exit code."""


class Entry(NamedTuple):
    """Where a command is in the help, which module has it, and what it is for."""

    group: str
    module: str
    help: str


COMMANDS = {
    "init": Entry("start", "start", "write a study to start from, or one of the examples"),
    "build": Entry("start", "build", "compile Modelica classes to FMUs"),
    "doctor": Entry("start", "start", "show versions and what works on this machine"),
    "plugins": Entry(
        "start",
        "start",
        "list plugins and what they bring along, or the options of one estimator, cost or executor",
    ),
    "data": Entry(
        "data", "data", "what a data file holds, and an [[experiments]] table to start from"
    ),
    "simulate": Entry("data", "simulate", "simulate an FMU once"),
    "design": Entry("data", "design", "find a motion that distinguishes the parameters"),
    "check": Entry(
        "estimate",
        "check",
        "look at a problem file before any run: can it be estimated, and how well?",
    ),
    "estimate": Entry("estimate", "analyses", "identify the parameters of a problem file"),
    "follow": Entry(
        "estimate", "follow", "estimates as samples arrive, from a growing file or a pipe"
    ),
    "plot-cost": Entry(
        "estimate", "plot_cost", "draw the cost over pairs of parameters, and count its minima"
    ),
    "report": Entry("after", "results", "show a result again"),
    "profile": Entry(
        "after", "analyses", "how far can each parameter go, when all others make up for it?"
    ),
    "bootstrap": Entry("after", "analyses", "how far do estimates of replicated data scatter?"),
    "predict": Entry("after", "analyses", "what will be measured next, and how sure is that?"),
    "cross-validate": Entry(
        "after", "analyses", "how well does a model predict what it was not fitted to?"
    ),
    "compare": Entry(
        "after", "results", "results side by side: parameters, fit, validation, which model to take"
    ),
    "export": Entry("after", "results", "write identified values as Modelica or SSV"),
    "validate": Entry(
        "CI", "validate", "check FMUs: description, interface, simulation, reference, memory"
    ),
}
"""Commands by name, in the order of the help."""

_ANSWER_NO, _DEFECT, _INTERRUPTED = 1, 70, 130

_LEAST_MEMORY = 600_000_000
"""Address space, in bytes, with which a small estimation just runs."""

_DESCRIPTION = "Identify the parameters of Modelica models from measured data."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    `arguments` exclude the program's name; by default they are those of the process.
    """
    if arguments is None:
        console.occupy_descriptors()
        # For matrices with few columns a second thread hardly pays, and where other processes want
        # the processors it costs many times more. NumPy reads this when it is imported.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    console.begin()
    _compiling.listener = console.tell
    code = _answer(list(sys.argv[1:] if arguments is None else arguments))
    if arguments is None:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process if it has loaded an FMU, before the FMU's code runs again at exit.

    That code can crash, as in FMUs with an embedded interpreter, although the command has
    finished, which its exit code must reflect.
    """
    library = sys.modules.get("fmident.fmu.native_code.library")
    if library is None or not library.loaded:
        return
    atexit._run_exitfuncs()
    console.flush()
    os._exit(code)


def _answer(given: list[str]) -> int:
    """Run a command, print errors, and return the exit code."""
    debug = "--traceback" in given or bool(os.environ.get("FMIDENT_DEBUG"))
    try:
        code = _run([a for a in given if a != "--traceback"])
    except FmidentError as error:
        return _fail(_explain(error), error, debug, error.exit_code)
    except console.OutputClosedError:
        return console.verdict(0)
    except KeyboardInterrupt as error:
        return _fail("interrupted", error, debug, _INTERRUPTED)
    except Exception as error:
        advice = advice_on(error)
        if isinstance(error, OSError):
            advice = "choose a shorter name" if error.errno == errno.ENAMETOOLONG else advice
        elif advice is None:
            return _fail(_defect(error), error, debug, _DEFECT)
        wrong = FmidentError(in_words(error), hint=advice)
        return _fail(f"error: {wrong}", error, debug, FmidentError.exit_code)
    return console.verdict(code)


def command_of(name: str) -> Command:
    """Return a command; its module is imported now, so that another one need not wait for it."""
    module = importlib.import_module(f"fmident.cli.{COMMANDS[name].module}")
    command: Command = module.COMMANDS[name]
    return command


def build_parser(names: Iterable[str] | None = None) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser and those of the commands by name, of all by default."""
    parser = Parser(
        prog="fmident",
        description=f"{_DESCRIPTION}\n\n{_groups()}",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fmident {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", help="'fmident COMMAND --help' shows its arguments"
    )
    parsers: dict[str, Parser] = {}
    for name in COMMANDS if names is None else names:
        command, about = command_of(name), COMMANDS[name].help
        parsers[name] = of_command = commands.add_parser(
            name,
            description=_sentence(about),
            epilog=f"example:\n{command.example}",
            formatter_class=HelpFormatter,
            allow_abbrev=False,
        )
        command.configure(of_command)
        of_command.add_argument(
            "--no-plugin",
            action="append",
            default=[],
            metavar="NAME",
            help="leave this plugin out; may be repeated",
        )
        of_command.add_argument(
            "--traceback",
            action="store_true",
            help="show where in fmident an error came up",
        )
        of_command.set_defaults(run=command.run)
    return parser, parsers


def _groups() -> str:
    """Return all commands with what they are for, in groups."""
    width = max(map(len, COMMANDS)) + 2
    return "\n\n".join(
        "\n".join([f"{group}:", *(f"    {name:{width}}{entry.help}" for name, entry in entries)])
        for group, entries in itertools.groupby(COMMANDS.items(), lambda item: item[1].group)
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith("?") else ".")


def _run(arguments: list[str]) -> int:
    refuse_unknown_command(arguments, COMMANDS)
    arguments = _as_now(arguments)
    parser, parsers = build_parser(a for a in arguments[:1] if a in COMMANDS)
    try:
        namespace, extra = parser.parse_known_args(arguments)
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    if namespace.command is None:
        refuse_unknown_arguments(parser, extra)
        parser.print_help()
        return 0
    refuse_unknown_arguments(parsers[namespace.command], extra)
    namespace.words = arguments
    if (most := memory_limit()) < _LEAST_MEMORY:
        raise ResourceError(
            f"the memory of this process is limited to {most / 1e6:.0f} MB: its libraries alone "
            f"take {_LEAST_MEMORY / 1e6:.0f} MB, and some end the process or hang without",
            hint=f"raise the limit: ulimit -v {_LEAST_MEMORY * 2 // 1024}",
        )
    code: int = namespace.run(namespace)
    return code


def _as_now(arguments: list[str]) -> list[str]:
    """Return a command of an earlier version as it is given now: ``estimate --follow DATA``."""
    place = next((k for k, a in enumerate(arguments) if a.split("=")[0] == "--follow"), None)
    if arguments[:1] != ["estimate"] or place is None:
        return arguments
    _, equals, data = arguments[place].partition("=")
    rest = arguments[1:place] + arguments[place + (1 if equals else 2) :]
    data = data if equals else next(iter(arguments[place + 1 :]), "")
    now = ["follow", *(a for a in rest if a not in ("-q", "--quiet", "--force")), data]
    tell("note: 'fmident estimate PROBLEM --follow DATA' is 'fmident follow PROBLEM DATA'")
    return [a for a in now if a]


def _fail(message: str, error: BaseException, debug: bool, code: int) -> int:
    console.flush()
    if debug:
        tell("".join(traceback.format_exception(error)).rstrip("\n"))
    tell(message)
    return code


def _explain(error: FmidentError) -> str:
    """Return the message, preceded by a compiler's diagnostics with their severities."""
    findings = error.diagnostics if isinstance(error, CompilationError) else ()
    return "\n".join([*lines_of(findings), f"error: {FmidentError.__str__(error)}"])


def _defect(error: Exception) -> str:
    return (
        f"error: {type(error).__name__}: {error}\n"
        "  This is a defect of fmident, not of your input. Please report it with the output\n"
        "  of the same command with --traceback, and that of 'fmident doctor'."
    )


__all__ = ["COMMANDS", "UsageError", "build_parser", "main"]
