"""``fmident build``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from fmident.api import builds
from fmident.api.builds import EntryBuild, build_catalog
from fmident.catalog import Catalog, Entry, find_catalog, read_catalog
from fmident.cli.arguments import Annotate, annotated, assignments, plugins_of, scalar
from fmident.cli.console import say, tell
from fmident.cli.usage import UsageError
from fmident.compilers.libraries import buildable_classes, own_source, shipped_library
from fmident.errors import Diagnostic, Location
from fmident.plugins import Host
from fmident.progress.watch import watching
from fmident.report.terminal import table
from fmident.words import duration, listed


def run(arguments: argparse.Namespace) -> int:
    """Build one FMU, or all of the catalogue; 1 if one of these failed."""
    with annotated(arguments) as annotate:
        return _run(arguments, annotate)


def _run(arguments: argparse.Namespace, annotate: Annotate) -> int:
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
    tell(built.notes)
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

    shipped = shipped_library()
    own = own_source(path, more=[] if shipped is None else [shipped])
    tell(own.notes)
    if named is None:
        known = buildable_classes(own.sources[0], path)
        # A file inside a package holds one model; but one beside it may be 'within' it as well.
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
    return f"{len(classes)} models: {listed(classes, _MOST_LISTED)}"


def _choice(classes: Sequence[str]) -> str:
    if not classes:
        return "partial models, packages, records and functions cannot be simulated"
    return f"say which: --class {classes[0]}"


def _build_all(arguments: argparse.Namespace, host: Host, annotate: Annotate) -> int:
    if arguments.target or arguments.class_name or arguments.source:
        raise UsageError("--all builds what the catalogue holds; name no class, file or source")
    if arguments.option or arguments.fmi or arguments.tolerance is not None:
        raise UsageError("with --all, options and tolerances are in the catalogue")
    catalog = read_catalog(arguments.catalog or find_catalog(Path.cwd()))
    tell(catalog.notes)
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
    diagnostics = [d for d in build.diagnostics if d.severity != "note"]
    place = Location(str(catalog.path), build.entry.line)
    text = f"{build.entry.class_name} {build.state}: {build.reason}"
    if build.state == "left out":
        diagnostics.append(Diagnostic("warning", text, place, rule="build"))
    elif not build.good and all(d.severity != "error" for d in diagnostics):
        diagnostics.append(Diagnostic("error", text, place, rule="build"))
    return diagnostics
