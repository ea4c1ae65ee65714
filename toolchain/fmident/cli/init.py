"""``fmident init``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fmident.cli.console import out, out_table, say
from fmident.cli.usage import UsageError

HELP = "write a study to start from, or one of the examples"
EXAMPLE = """\
  fmident init study
  fmident init --example delta my-robot
  fmident init --list

Without --example: a small Modelica model, measured data, a problem file and a catalogue.
A folder that is not empty is refused; nothing is overwritten."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="where to write it (the current folder); is made if it does not exist",
    )
    parser.add_argument("--example", metavar="NAME", help="an example instead; --list shows them")
    parser.add_argument("--list", action="store_true", help="list the examples, write nothing")


def run(arguments: argparse.Namespace) -> int:
    """Write the files, and say what to do with them."""
    from fmident.api.studies import STARTER, examples, write_study

    if arguments.list:
        if arguments.example is not None or arguments.folder is not None:
            raise UsageError("--list writes nothing: it takes no folder and no --example")
        rows = [[e.name, e.title] for e in examples()]
        out_table(["example", "what it is"], rows)
        out(f"\n'{STARTER}' is written when no example is named")
        return 0
    folder = arguments.folder or Path()
    files = write_study(folder, arguments.example)
    say(f"{len(files)} files written to '{folder.resolve()}':")
    for file in files:
        say(f"  {file.relative_to(folder)}")
    step = "" if folder == Path() else f"cd {folder} and "
    say(f"next: {step}read README.md; it begins with the commands to run")
    return 0
