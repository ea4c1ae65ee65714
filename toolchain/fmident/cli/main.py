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

import atexit
import errno
import itertools
import os
import sys
import textwrap
import traceback
from collections.abc import Iterable, Sequence

from fmident import _compiling
from fmident._version import __version__
from fmident.cli import console
from fmident.cli.commands import COMMANDS
from fmident.cli.console import tell
from fmident.cli.usage import (
    EVERYWHERE,
    HelpFormatter,
    Parser,
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
from fmident.words import sentence

_DEFECT, _INTERRUPTED = 70, 130

_LEAST_MEMORY = 600_000_000
"""Address space, in bytes, with which a small estimation just runs."""

_WIDTH = 80
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
        command = COMMANDS[name]
        parsers[name] = commands.add_parser(
            name,
            description=sentence(command.help),
            epilog=f"example:\n{command.example}",
            formatter_class=HelpFormatter,
            allow_abbrev=False,
        )
        for option in (*command.options, *EVERYWHERE):
            parsers[name].add_argument(*option.names, **option.settings)
    return parser, parsers


def _groups() -> str:
    """Return all commands with what they are for, in groups."""
    width = max(map(len, COMMANDS)) + 6
    return "\n\n".join(
        "\n".join(
            [
                f"{group}:",
                *(
                    textwrap.fill(
                        entry.help,
                        _WIDTH,
                        initial_indent=f"    {name:{width - 4}}",
                        subsequent_indent=" " * width,
                    )
                    for name, entry in entries
                ),
            ]
        )
        for group, entries in itertools.groupby(COMMANDS.items(), lambda item: item[1].group)
    )


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
    return COMMANDS[namespace.command].run(namespace)


def _as_now(arguments: list[str]) -> list[str]:
    """Return a command of an earlier version as it is given now, with a note on what changed."""
    command = COMMANDS.get(arguments[0]) if arguments else None
    for number, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if arguments[0] == "estimate" and option == "--follow":
            tell("note: 'fmident estimate PROBLEM --follow DATA' is 'fmident follow PROBLEM DATA'")
            data = value if equals else "".join(arguments[number + 1 : number + 2])
            rest = arguments[1:number] + arguments[number + (1 if equals else 2) :]
            rest = [a for a in rest if a not in ("-q", "--quiet", "--force")]
            return ["follow", *rest, *([data] if data else [])]
        if command is not None and option in command.former:
            tell(f"note: '{option}' is called '{command.former[option]}'")
            arguments[number] = command.former[option] + equals + value
    return arguments


def _fail(message: str, error: BaseException, debug: bool, code: int) -> int:
    console.flush()
    if debug:
        tell("".join(traceback.format_exception(error)).rstrip("\n"))
    tell(message)
    return code


def _explain(error: FmidentError) -> str:
    findings = error.diagnostics if isinstance(error, CompilationError) else ()
    return "\n".join([*lines_of(findings), f"error: {FmidentError.__str__(error)}"])


def _defect(error: Exception) -> str:
    return (
        f"error: {type(error).__name__}: {error}\n"
        "  This is a defect of fmident, not of your input. Please report it with the output\n"
        "  of the same command with --traceback, and that of 'fmident doctor'."
    )


__all__ = ["build_parser", "main"]
