"""``fmident build``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import say, tell
from fmident.cli.usage import (
    Annotate,
    Command,
    UsageError,
    add_annotations,
    annotated,
    assignments,
    plugins_of,
    positive,
    scalar,
)

if TYPE_CHECKING:
    from fmident.api.builds import EntryBuild
    from fmident.catalog import Catalog, Entry
    from fmident.errors import Diagnostic
    from fmident.plugins import Host

EXAMPLE = """\
  fmident build Mechanisms.Robots.DeltaInverse
  fmident build path/to/Pumps.mo --class Pumps.Centrifugal -o pump.fmu --tolerance 1e-8
  fmident build --all -o build/fmus

Without --source, the class is looked for in modelica/ here and in the folders above,
then in the library that comes with fmident, then where OpenModelica keeps libraries.
What a file of your own uses is found as OpenModelica finds it: beside it, in
MODELICAPATH, in OPENMODELICALIBRARY, in ~/.openmodelica/libraries. Without --class,
a file with several models lists them. --all builds the
catalogue (fmus/catalog.toml) and checks the interface of every FMU. An FMU that is up to
date is left alone.

--compiler auto takes the embedded compiler. Where that refuses a class for what it does not
support, and OpenModelica can run here, OpenModelica builds it, which a note says.

Without -o, an FMU goes into fmus/ of the project: of the folder that holds the source in
modelica/; else of the nearest folder, here or above, with modelica/ or fmus/catalog.toml;
else of this folder. fmus/ is made when it is not there."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "target", nargs="?", metavar="CLASS|PATH", help="full Modelica name, or a file or package"
    )
    parser.add_argument(
        "--class", dest="class_name", metavar="CLASS", help="which class of PATH to build"
    )
    parser.add_argument("--all", action="store_true", help="all FMUs of the catalogue")
    parser.add_argument(
        "--catalog", type=Path, metavar="FILE", help="catalogue of --all (fmus/catalog.toml)"
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="Modelica file, or folder of packages; may be repeated",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the FMU; by default fmus/CLASS.fmu of the project, see below; "
        "with --all a folder, by default that of the catalogue",
    )
    parser.add_argument(
        "--compiler",
        default="auto",
        metavar="NAME",
        help="auto (see below), embedded, openmodelica, or another that 'fmident plugins' lists",
    )
    parser.add_argument(
        "--platforms",
        type=_names,
        default=(),
        metavar="NAME,...",
        help="what the FMU holds binaries for: linux64, win64, darwin64, linux-aarch64, "
        "darwin-aarch64, or all; by default this machine's",
    )
    parser.add_argument(
        "--tolerance",
        type=positive,
        metavar="NUMBER",
        help="default relative tolerance of the integrator in the FMU",
    )
    parser.add_argument(
        "--fmi",
        metavar="VERSION",
        help="version of FMI, where the compiler can choose; short for --option fmi=VERSION",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the compiler; may be repeated",
    )
    parser.add_argument(
        "--print",
        dest="printed",
        choices=("equations",),
        help="print what the embedded compiler makes of the equations, and build nothing",
    )
    parser.add_argument("--force", action="store_true", help="build even when up to date")
    add_annotations(parser)


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list; an argparse type."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of names with commas between them"
        )
    return names


def run(arguments: argparse.Namespace) -> int:
    """Build one FMU, or all of the catalogue; 1 if one of these failed."""
    with annotated(arguments) as annotate:
        return _run(arguments, annotate)


def _run(arguments: argparse.Namespace, annotate: Annotate) -> int:
    from fmident.api import builds
    from fmident.words import duration

    host = plugins_of(arguments)
    if arguments.all:
        if arguments.printed is not None:
            raise UsageError("--print requires one class, without --all")
        return _build_all(arguments, host, annotate)
    class_name, sources = _target(arguments)
    if arguments.printed is not None:
        lines, remarks = builds.equations(class_name, sources=sources)
        tell(remarks)
        say("\n".join(lines))
        return 0
    options = {k: scalar(v) for k, v in assignments(arguments.option, "--option").items()}
    if arguments.fmi is not None:
        wanted = scalar(arguments.fmi)
        if options.setdefault("fmi", wanted) != wanted:
            raise UsageError("--fmi and --option fmi=... contradict each other")
    built = builds.build(
        host,
        class_name,
        sources=sources,
        output=arguments.output,
        compiler=arguments.compiler,
        tolerance=arguments.tolerance,
        options=options,
        platforms=arguments.platforms,
        force=arguments.force,
        progress=tell,
    )
    if built.result is None:
        say(f"{built.fmu} is up to date; --force builds it again")
        return 0
    tell(built.result.diagnostics)
    annotate(built.result.diagnostics)
    say(f"{built.fmu} built by {built.result.compiler} in {duration(built.result.seconds)}")
    return 0


def _target(arguments: argparse.Namespace) -> tuple[str, tuple[Path, ...]]:
    """Return the class to build and its sources (empty: the usual locations)."""
    target, named = arguments.target, arguments.class_name
    if target is None:
        raise UsageError("name a class or a file, or give --all for the catalogue")
    if arguments.catalog is not None:
        raise UsageError("--catalog requires --all")
    path = Path(target)
    if path.suffix != ".mo" and not path.exists():
        if named is not None:
            raise UsageError(f"--class requires a file or package, and '{target}' is neither")
        return target, tuple(arguments.source)
    from fmident.api.model_sources import shipped_library
    from fmident.compilers.libraries import buildable_classes, own_source

    shipped = shipped_library()
    own = own_source(path, more=[] if shipped is None else [shipped])
    tell(own.notes)
    if named is None:
        known = buildable_classes(own.sources[0], path)
        # A file inside a package holds one model; one beside it may be 'within' it all the same.
        of_one_file = own.sources[0].is_dir() and path.suffix == ".mo" and len(known) == 1
        single = tuple(name.rpartition(".")[2] for name in known) == own.classes
        if len(known) != 1 or not (single or of_one_file):
            raise UsageError(f"'{target}' holds {_listed(known)}", hint=_choice(known))
        named = known[0]
    return named, (own.sources[0], *arguments.source)


_MOST_LISTED = 20


def _listed(classes: Sequence[str]) -> str:
    if not classes:
        return "no model or block that can be simulated"
    if len(classes) == 1:
        return f"the model {classes[0]} beside other classes"
    more = f" and {len(classes) - _MOST_LISTED} more" if len(classes) > _MOST_LISTED else ""
    return f"{len(classes)} models: " + ", ".join(classes[:_MOST_LISTED]) + more


def _choice(classes: Sequence[str]) -> str:
    if not classes:
        return "partial models, packages, records and functions cannot be simulated"
    return f"say which: --class {classes[0]}"


def _build_all(arguments: argparse.Namespace, host: Host, annotate: Annotate) -> int:
    from fmident.api.builds import build_catalog
    from fmident.catalog import find_catalog, read_catalog
    from fmident.progress import watching
    from fmident.report.terminal import table
    from fmident.words import duration

    if arguments.target or arguments.class_name or arguments.source:
        raise UsageError("--all builds what the catalogue holds; name no class, file or source")
    if arguments.option or arguments.fmi or arguments.tolerance is not None:
        raise UsageError("with --all, options and tolerances are in the catalogue")
    catalog = read_catalog(arguments.catalog or find_catalog(Path.cwd()))
    if not catalog.built:
        raise UsageError(f"no entry of '{catalog.path}' has a class: there is nothing to build")
    done: list[EntryBuild] = []
    with watching(notebook=False, only_blocks=True) as watch:

        def began(entry: Entry) -> None:
            watch.work(f"building {entry.class_name}", len(done), len(catalog.built))

        for build in build_catalog(
            host,
            catalog,
            compiler=arguments.compiler,
            folder=arguments.output,
            platforms=arguments.platforms,
            force=arguments.force,
            progress=tell,
            began=began,
        ):
            done.append(build)
            took = f" in {duration(build.seconds)}" if build.state == "built" else ""
            tell(f"{build.state}: {build.entry.class_name}{took}")
            tell(d for d in build.diagnostics if d.severity == "warning")
            annotate(_findings(build, catalog))
    rows = [
        [
            b.entry.class_name,
            b.compiler,
            f"{b.seconds:.1f}" if b.seconds else "",
            f"{b.size / 1024:.0f}" if b.size else "",
            b.state,
        ]
        for b in done
    ]
    say(table(["class", "compiler", "s", "KiB", "result"], rows, ["<", "<", ">", ">", "<"]))
    for reason in dict.fromkeys(b.reason for b in done if b.state == "left out"):
        say(f"\nleft out: {reason}")
    for build in done:
        if not build.good:
            say(f"\n{build.entry.class_name} {build.state}: {build.reason}")
    usable = sum(b.state in ("built", "up to date") for b in done)
    say(f"\n{usable} of {len(done)} FMUs are there")
    return 0 if usable and all(b.good for b in done) else 1


def _findings(build: EntryBuild, catalog: Catalog) -> list[Diagnostic]:
    """Return the diagnostics to print, located at the entry if they have no source location."""
    from fmident.errors import Diagnostic, Location

    diagnostics = [d for d in build.diagnostics if d.severity != "note"]
    place = Location(str(catalog.path), build.entry.line)
    text = f"{build.entry.class_name} {build.state}: {build.reason}"
    if build.state == "left out":
        diagnostics.append(Diagnostic("warning", text, place, rule="build"))
    elif not build.good and all(d.severity != "error" for d in diagnostics):
        diagnostics.append(Diagnostic("error", text, place, rule="build"))
    return diagnostics


COMMANDS = {"build": Command(EXAMPLE, configure, run)}
