"""From arguments to an exit code.

====  ==========================================================
code  meaning
====  ==========================================================
0     done
1     the command did its work and the answer is no
2     wrong input; the message says what, where and what to do
70    a defect of fmident
130   interrupted with Ctrl-C
141   whoever read the output closed it
====  ==========================================================
"""

from __future__ import annotations

import atexit
import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

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

COMMANDS = (
    "build", "validate", "simulate", "check", "estimate", "design", "report", "export", "plugins",
    "doctor", "plot-cost", "profile", "bootstrap", "predict", "init", "data", "compare",
    "cross-validate",
)  # fmt: skip

_ANSWER_NO, _DEFECT, _INTERRUPTED = 1, 70, 130

_LEAST_MEMORY = 600_000_000
"""Address space, in bytes, with which a small estimation just runs."""

_DESCRIPTION = """\
Identify the parameters of Modelica models from measured data.

  fmident init FOLDER           a study to start from
  fmident build CLASS           Modelica class to FMU
  fmident check PROBLEM         can it be estimated, and how well?
  fmident estimate PROBLEM      data and FMU to parameters with their uncertainty
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.
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
    """End the process if it has loaded an FMU, before the FMU's code runs once more at exit.

    That code can crash, as in FMUs that bring an interpreter of their own: the command was done
    long before, and its exit code must say so.
    """
    library = sys.modules.get("fmident.fmu.native_code.library")
    if library is None or not library.loaded:
        return
    atexit._run_exitfuncs()
    console.flush()
    os._exit(code)


def _answer(given: list[str]) -> int:
    """Run a command; say what went wrong; return the exit code."""
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


def build_parser() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser and those of the commands by name."""
    parser = Parser(
        prog="fmident",
        description=_DESCRIPTION,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fmident {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    parsers: dict[str, Parser] = {}
    for name in COMMANDS:
        module = importlib.import_module(f"fmident.cli.{name.replace('-', '_')}")
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=_sentence(module.HELP),
            epilog=f"example:\n{module.EXAMPLE}",
            formatter_class=HelpFormatter,
            allow_abbrev=False,
        )
        module.configure(command)
        command.add_argument(
            "--no-plugin",
            action="append",
            default=[],
            metavar="NAME",
            help="leave this plugin out; may be repeated",
        )
        command.add_argument(
            "--traceback",
            action="store_true",
            help="show where in fmident an error came up",
        )
        command.set_defaults(run=module.run)
        parsers[name] = command
    return parser, parsers


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith("?") else ".")


def _run(arguments: list[str]) -> int:
    parser, parsers = build_parser()
    refuse_unknown_command(arguments, parsers)
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


def _fail(message: str, error: BaseException, debug: bool, code: int) -> int:
    console.flush()
    if debug:
        tell("".join(traceback.format_exception(error)).rstrip("\n"))
    tell(message)
    return code


def _explain(error: FmidentError) -> str:
    """Return the message; findings of a compiler are above it, each with its own severity."""
    findings = error.diagnostics if isinstance(error, CompilationError) else ()
    return "\n".join([*lines_of(findings), f"error: {FmidentError.__str__(error)}"])


def _defect(error: Exception) -> str:
    return (
        f"error: {type(error).__name__}: {error}\n"
        "  This is a defect of fmident, not of your input. Please report it with the output\n"
        "  of the same command with --traceback, and that of 'fmident doctor'."
    )


__all__ = ["COMMANDS", "UsageError", "build_parser", "main"]
