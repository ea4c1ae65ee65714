"""``fmident export``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fmident._whole_file import save
from fmident.cli.console import out, tell
from fmident.cli.usage import UsageError, assignments, scalar

HELP = "write identified values as Modelica or SSV"
EXAMPLE = """\
  fmident export results
  fmident export results --modelica record -o DeltaIdentified.mo
  fmident export results --ssv delta.ssv
  fmident export results --set mass2=0.22 --set mass3=0.25

The modifier is a declaration to be put into a model; the record is a class with units,
descriptions and standard errors. Both hold all digits. Where single elements of arrays
were identified, --fmu has the others. Of a base parameter the members may be chosen: the
others move along, so that it keeps its value."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "result", type=Path, help="result folder of 'fmident estimate', or its result.json"
    )
    parser.add_argument(
        "--modelica",
        choices=("modifier", "record"),
        help="Modelica text; the modifier is what is written when nothing is asked for",
    )
    parser.add_argument("--ssv", type=Path, metavar="FILE", help="write an SSV file (SSP 1.0)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="file for the Modelica text (terminal)"
    )
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="Modelica class (the FMU's model)"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="of the component, the record or the parameter set"
    )
    parser.add_argument(
        "--fmu", type=Path, metavar="FILE", help="the FMU, for elements that were not identified"
    )

    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a member of base parameters; may be given again",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write what was asked for."""
    from fmident.fmu import read_description
    from fmident.report.export import exported_values, modifier, record, write_ssv
    from fmident.report.stored import read_result

    form = arguments.modelica or (None if arguments.ssv else "modifier")
    if arguments.output is not None and form is None:
        raise UsageError("-o is for Modelica text", hint="add --modelica modifier or record")
    result = read_result(arguments.result).result
    if arguments.set:
        chosen = {n: scalar(v) for n, v in assignments(arguments.set, "--set").items()}
        numbers = {n: float(v) for n, v in chosen.items() if type(v) in (int, float)}
        if wrong := {*chosen} - {*numbers}:
            raise UsageError(f"--set {min(wrong)}: {chosen[min(wrong)]!r} is not a number")
        result = result.with_members(numbers)
    description = read_description(arguments.fmu) if arguments.fmu else None
    exports = exported_values(result, description)
    for name, reason in exports.left_out.items():
        tell(f"left out: '{name}' {reason}")
    if arguments.ssv:
        write_ssv(exports, arguments.ssv, name=arguments.name)
        tell(f"written: {arguments.ssv}")
    if form is None:
        return 0
    if form == "record":
        text = record(exports, class_name=arguments.class_name, name=arguments.name)
    else:
        text = modifier(exports, class_name=arguments.class_name, instance=arguments.name)
    if arguments.output is None:
        out(text.rstrip("\n"))
    else:
        save(arguments.output, text)
        tell(f"written: {arguments.output}")
    return 0
