"""From the name of a Modelica class to its FMU: where sources and FMUs are, when to build."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.checked import is_about_output
from fmident.compilers.libraries import installed_library, installed_names, own_source
from fmident.compilers.openmodelica.installed import name_of
from fmident.compilers.platforms import platform_names
from fmident.compilers.staleness import is_stale, source_files
from fmident.errors import Code, CompilationError, Diagnostic, PluginError, did_you_mean

if TYPE_CHECKING:
    from fmident.plugins import Host

PREFERRED = "embedded"
"""The compiler that ``auto`` takes when it can run: it comes with fmident."""


@dataclass(frozen=True)
class Built:
    """An FMU that is up to date.

    Parameters
    ----------
    fmu
        The file.
    result
        What the compiler said; ``None`` when nothing had to be built.
    """

    fmu: Path
    result: BuildResult | None


@dataclass(frozen=True)
class Library:
    """Where the source of a class was found.

    Parameters
    ----------
    sources
        Top-level packages: folders with ``package.mo``, or files.
    project
        Folder that holds ``modelica/``; ``None`` for the library that comes with fmident
        and for sources that the user named.
    """

    sources: tuple[Path, ...]
    project: Path | None


def build(
    host: Host,
    class_name: str,
    *,
    sources: Sequence[Path] = (),
    output: Path | None = None,
    compiler: str = "auto",
    tolerance: float | None = None,
    options: Mapping[str, object] | None = None,
    platforms: Sequence[str] = (),
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Built:
    """Compile a class unless its FMU is up to date.

    Parameters
    ----------
    host
        Whose compilers.
    class_name
        Full Modelica name.
    sources
        Files or folders; found by :func:`find_library` when empty.
    output
        The FMU; by default ``fmus/CLASS.fmu`` of the project, else ``CLASS.fmu`` here.
    compiler
        Name of a compiler, or ``"auto"``.
    tolerance, options
        As in :class:`~fmident.compilers.base.BuildRequest`.
    platforms
        What the FMU is to hold binaries for: names of FMI 2.0 or 3.0, or ``"all"``; none for
        this machine's.
    force
        Build in any case.
    progress
        Is told in a line what is being done, where it may take long.

    Raises
    ------
    fmident.errors.CompilationError
        No source, no compiler, or the class cannot be compiled.
    fmident.errors.PluginError
        There is no such compiler.
    """
    named = Library(with_libraries(expand(sources)), None) if sources else None
    library = named or find_library(class_name, [Path.cwd()])
    if output is None:
        output = _default_folder(library.project) / f"{class_name}.fmu"
    return _build(
        host,
        choose_compiler(host, compiler),
        BuildRequest(
            class_name,
            library.sources,
            output,
            tolerance,
            dict(options or {}),
            platform_names(platforms),
            progress,
        ),
        force,
        elsewhere="give another place with -o",
    )


def equations(
    class_name: str, *, sources: Sequence[Path] = ()
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return what the embedded compiler makes of the equations of a class, and its remarks.

    Parameters
    ----------
    class_name, sources
        As for :func:`build`.

    Raises
    ------
    fmident.errors.CompilationError
        No source, or the class cannot be compiled.
    """
    from fmident.compilers.embedded.frontend import list_equations

    named = Library(with_libraries(expand(sources)), None) if sources else None
    library = named or find_library(class_name, [Path.cwd()])
    return list_equations(class_name, library.sources)


def build_class(
    class_name: str,
    *,
    sources: Sequence[str | Path] = (),
    output: str | Path | None = None,
    compiler: str = "auto",
    tolerance: float | None = None,
    options: Mapping[str, object] | None = None,
    platforms: Sequence[str] = (),
    force: bool = False,
) -> Path:
    """Compile a Modelica class unless its FMU is up to date, and return the FMU.

    Parameters
    ----------
    class_name, sources, output, compiler, tolerance, options, platforms, force
        As for :func:`build`.

    Raises
    ------
    fmident.errors.CompilationError
        With diagnostics that carry file, line and construct.
    """
    from fmident.plugins import load_plugins

    return build(
        load_plugins(),
        class_name,
        sources=tuple(Path(s) for s in sources),
        output=None if output is None else Path(output),
        compiler=compiler,
        tolerance=tolerance,
        options=options,
        platforms=platforms,
        force=force,
    ).fmu


def resolve_class(host: Host, class_name: str, table: Mapping[str, Any], base: Path) -> Built:
    """Return the FMU of a class that a problem file names; build it when it must be.

    Parameters
    ----------
    host
        Whose compilers.
    class_name
        Full Modelica name.
    table
        The ``[model]`` table: ``sources`` and ``fmu_folder``, both relative to `base`, and
        ``compiler`` count.
    base
        Folder of the problem file. Without ``sources``, the source is looked for there and
        above, then from the working directory. Without ``fmu_folder``, the FMU goes into
        ``fmus/`` of the project that holds the source, else of `base`.

    Raises
    ------
    fmident.errors.CompilationError
        No source, no compiler, or the class cannot be compiled.
    """
    sources = table.get("sources", ())
    named = [sources] if isinstance(sources, str) else list(sources)
    if named:
        library = Library(with_libraries(expand(base / str(s) for s in named)), None)
    else:
        library = find_library(
            class_name, [base, Path.cwd()], otherwise='name its folder: sources = ["FOLDER"]'
        )
    given = table.get("fmu_folder")
    folder = (library.project or base) / "fmus" if given is None else base / str(given)
    compiler = choose_compiler(host, str(table.get("compiler", "auto")))
    return _build(
        host,
        compiler,
        BuildRequest(class_name, library.sources, folder / f"{class_name}.fmu"),
        force=False,
        elsewhere='name another folder for it: fmu_folder = "FOLDER" in [model], or '
        "--set model.fmu_folder=FOLDER",
    )


def find_library(
    class_name: str,
    starts: Iterable[Path],
    *,
    otherwise: str = "name its folder with --source",
) -> Library:
    """Find the source of a class by its top-level package.

    Parameters
    ----------
    class_name
        Full Modelica name.
    starts
        ``modelica/`` is looked for in these folders and all above them, then in fmident, then
        where OpenModelica keeps libraries.
    otherwise
        For the hint: how the user can say where the source is.

    Raises
    ------
    fmident.errors.CompilationError
        Nowhere; the message says where it was looked for.
    """
    top = class_name.split(".")[0]
    known: set[str] = set()
    looked: list[Path] = []
    for start in starts:
        for folder in (start.resolve(), *start.resolve().parents):
            place = folder / "modelica"
            if place.is_dir() and place not in looked:
                looked.append(place)
                packages = expand([place])
                known |= {name_of(p) for p in packages}
                if any(name_of(p) == top for p in packages):
                    return Library(_with_installed(_with_shipped(_needed(top, packages))), folder)
    shipped = shipped_library()
    if shipped is not None and shipped not in looked:
        looked.append(shipped)
        packages = expand([shipped])
        known |= {name_of(p) for p in packages}
        if any(name_of(p) == top for p in packages):
            return Library(_with_installed(_needed(top, packages)), None)
    installed = installed_library(top)
    if installed:
        return Library(installed, None)
    known |= installed_names()
    places = ", ".join(f"'{p}'" for p in looked) or "any folder 'modelica' here or above"
    raise CompilationError(
        f"there is no Modelica package '{top}' in {places}, nor where OpenModelica keeps libraries",
        hint=f"{did_you_mean(top, known, kind='package')}; or {otherwise}",
        code=Code.UNKNOWN_NAME,
    )


def shipped_library() -> Path | None:
    """Return the folder of the Modelica library that comes with fmident."""
    here = Path(__file__).parents[1]
    # Beside the package when installed; three levels up in a checkout.
    for place in (here / "modelica", here.parents[1] / "modelica"):
        if (place / "Mechanisms" / "package.mo").is_file():
            return place
    return None


def expand(sources: Iterable[Path]) -> tuple[Path, ...]:
    """Return top-level packages: a folder without ``package.mo`` stands for what is in it.

    Raises
    ------
    fmident.errors.CompilationError
        A path does not exist or holds no Modelica.
    """
    found: list[Path] = []
    for source in sources:
        if not source.exists():
            raise CompilationError(f"there is no source '{source}'", code=Code.UNKNOWN_NAME)
        if source.is_file() or (source / "package.mo").is_file():
            found.append(source)
            continue
        inside = sorted(
            p for p in source.iterdir() if p.suffix == ".mo" or (p / "package.mo").is_file()
        )
        if not inside:
            raise CompilationError(
                f"'{source}' holds no Modelica package",
                hint="name a .mo file, a folder with package.mo, or the folder above it",
            )
        found.extend(inside)
    return tuple(found)


def with_libraries(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Return sources that the user named and, behind them, the libraries that they use.

    These are found as OpenModelica finds them; the library that comes with fmident is there
    in any case.

    Raises
    ------
    fmident.errors.CompilationError
        One of the sources is not Modelica.
    """
    shipped = shipped_library()
    more = [] if shipped is None else [shipped]
    found = [own_source(source, more=more).sources for source in sources]
    used = (library for libraries in found for library in libraries[1:])
    by_place = {p.resolve(): p for p in (*(f[0] for f in found), *used)}
    return tuple(by_place.values())


def choose_compiler(host: Host, name: str) -> Compiler:
    """Return a compiler that can run here.

    Parameters
    ----------
    host
        Whose compilers.
    name
        Its name, or ``"auto"``: the embedded one if it can run, else the first that can.

    Raises
    ------
    fmident.errors.CompilationError
        It cannot run here; the message says why.
    fmident.errors.PluginError
        There is no such compiler.
    """
    if name != "auto":
        compiler = host.compiler(name)
        reason = compiler.unavailable()
        if reason is not None:
            raise CompilationError(
                f"the compiler '{name}' cannot run here: {reason}", code=Code.NOT_INSTALLED
            )
        return compiler
    names = sorted(host.compilers.names(), key=lambda n: (n != PREFERRED, n))
    reasons: list[str] = []
    for candidate in names:
        try:
            compiler = host.compiler(candidate)
            reason = compiler.unavailable()
        except PluginError as error:  # another one may work
            reason = error.message
        else:
            if reason is None:
                return compiler
        reasons.append(f"{candidate}: {reason}")
    if not names:
        raise PluginError("no compiler is installed", hint="'fmident plugins' shows why")
    raise CompilationError(
        "no compiler can run here: " + "; ".join(reasons), code=Code.NOT_INSTALLED
    )


def _build(
    host: Host, compiler: Compiler, request: BuildRequest, force: bool, elsewhere: str
) -> Built:
    if not force and not is_stale(request.output, request, compiler):
        return Built(request.output, None)
    _refuse_unwritable(request.output, elsewhere)
    try:
        return Built(request.output, compiler.build(request))
    except CompilationError as error:
        if error.hint is None:
            error.hint = _advice_out_of_reach(host, error)
        raise
    except OSError as error:
        # The compiler writes beside the FMU first; that name does not help the user.
        if not is_about_output(error, request.output):
            raise
        raise CompilationError(
            f"the FMU '{request.output}' cannot be written: {error.strerror}",
            hint=elsewhere,
            code=Code.UNUSABLE_FILE,
        ) from error


def _advice_out_of_reach(host: Host, error: CompilationError) -> str | None:
    """Return why the other compiler that the findings advise cannot run here, if so."""
    advised = {
        name
        for diagnostic in error.diagnostics
        for name in re.findall(r"--compiler (\w+)", diagnostic.hint or "")
    }
    for name in sorted(advised & set(host.compilers.names())):
        reason = host.compiler(name).unavailable()
        if reason is not None:
            first = reason.splitlines()[0].rstrip(":. ")
            return f"{name} cannot run here yet ({first}); 'fmident doctor' says how to get it"
    return None


def _refuse_unwritable(output: Path, elsewhere: str) -> None:
    """Say before compiling that there is no place for the FMU."""
    if output.is_dir():
        raise CompilationError(
            f"the FMU '{output}' cannot be written: it is a folder",
            hint=elsewhere,
            code=Code.UNUSABLE_FILE,
        )
    parent = output.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise CompilationError(
            f"the FMU '{output}' cannot be written: '{parent}' is a file",
            hint=elsewhere,
            code=Code.UNUSABLE_FILE,
        )
    if not os.access(parent, os.W_OK):
        raise CompilationError(
            f"the FMU '{output}' cannot be written: nothing may be written to '{parent}'",
            hint=elsewhere,
            code=Code.UNUSABLE_FILE,
        )


def _default_folder(project: Path | None) -> Path:
    """Return ``fmus`` of the project or of the working directory, else the latter."""
    here = project is None or project == Path.cwd()
    fmus = Path("fmus") if here or project is None else project / "fmus"
    return fmus if fmus.is_dir() else Path()


def _needed(top: str, packages: Sequence[Path]) -> tuple[Path, ...]:
    """Return the package called `top` and, behind it, those of `packages` that it needs.

    The others are left out, so that a change in them does not make its FMUs stale.
    """
    (own,) = [p for p in packages if name_of(p) == top]
    return _with_mentioned((own,), packages)


def _with_shipped(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Add the packages of fmident's own library that the sources need and do not hold."""
    shipped = shipped_library()
    return tuple(sources) if shipped is None else _with_mentioned(sources, expand([shipped]))


def _with_installed(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Add the libraries that the sources use, as they are found for a file of the user."""
    names = {name_of(source) for source in sources}
    used = (p for source in sources for p in own_source(source).sources[1:])
    return (*sources, *{name_of(p): p for p in used if name_of(p) not in names}.values())


def _with_mentioned(sources: Sequence[Path], candidates: Sequence[Path]) -> tuple[Path, ...]:
    """Add the candidates that the sources mention, and what these mention in turn."""
    found = list(sources)
    waiting = list(sources)
    while waiting:
        names = {name_of(p) for p in found}
        words = _words(waiting.pop(0))
        for candidate in candidates:
            if name_of(candidate) in words - names:
                found.append(candidate)
                waiting.append(candidate)
    return tuple(found)


_NO_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


def _words(source: Path) -> set[str]:
    """Return all words in the code of a source; texts and comments are left out."""
    files = [file for _, file in source_files([source]) if file.suffix == ".mo"]
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return {word for text in texts for word in _WORD.findall(_NO_CODE.sub(" ", text))}
