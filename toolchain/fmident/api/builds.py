"""Build the FMU of a Modelica class: locate sources and output, skip up-to-date builds."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fmident._fmu_suggestions import CATALOG, FOLDER, known_classes, similar
from fmident.catalog import Catalog, Entry
from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.checked import is_about_output
from fmident.compilers.conversions import RenamedClass, renamed_class
from fmident.compilers.libraries import (
    buildable_classes,
    declared_uses,
    expand,
    installed_libraries,
    installed_library,
    own_source,
    packages_in,
    shipped_library,
)
from fmident.compilers.platforms import is_stale, platform_names, read_record, source_files
from fmident.compilers.sources import name_of, read_tree
from fmident.context_managers import Closes
from fmident.errors import Code, CompilationError, Diagnostic, Location, PluginError, did_you_mean
from fmident.plugins import Host, load_plugins

if TYPE_CHECKING:
    from fmident.validation import Check

PREFERRED = "embedded"
"""The compiler that ``auto`` takes first when it can run: it comes with fmident."""

_PATIENCE = 1.0
"""Steps of a build that take longer are reported, s."""


State = Literal["built", "up to date", "left out", "refused", "failed"]

_CHECKS = ("interface", "parameters", "model exchange")
"""Checks after each build; the last one if the FMU has a Model Exchange part."""


_OF_THE_CATALOGUE = ("interface",)
"""Checks that hold an FMU against what the catalogue says of it."""


@dataclass(frozen=True)
class Built:
    """An up-to-date FMU; `result` is ``None`` when nothing had to be built.

    `notes` say how the class's name was understood.
    """

    fmu: Path
    result: BuildResult | None
    notes: tuple[Diagnostic, ...] = ()


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

    `sources` are files or folders, located by :func:`find_library` when empty. The `output`
    is by default ``fmus/CLASS.fmu``, with the class's present name, in the project folder:
    the folder whose ``modelica/`` holds the source, else the nearest folder, from here
    upwards, with ``modelica/`` or ``fmus/catalog.toml``, else the current one.

    `compiler` is a name or ``"auto"``: the embedded compiler, or the one it advises when it
    refuses the class, provided that one can run here. `tolerance` and `options` are those
    of :class:`~fmident.compilers.base.BuildRequest`. `platforms` are FMI 2.0 or 3.0 names
    to include binaries for, or ``"all"``; empty for the current machine only. With `force`,
    an up-to-date FMU is built, too; `progress` receives a line of text before each step
    that may take long. Raises `CompilationError` if there is no source or no compiler, or
    the class cannot be compiled, and `PluginError` if there is no such compiler.
    """
    library = find_library(class_name, [Path.cwd()], sources)
    if output is None:
        output = _shortest(_usual_folder(library, Path.cwd()) / f"{library.class_name}.fmu")
    built = _build(
        host,
        available_compilers(host, compiler),
        BuildRequest(
            library.class_name,
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
    return replace(built, notes=library.notes)


def equations(
    class_name: str, *, sources: Sequence[Path] = ()
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the equations of a class as the embedded compiler sees them, and its diagnostics.

    `sources` is as for :func:`build`. Raises `CompilationError` if there is no source or
    the class cannot be compiled.
    """
    from fmident.compilers.embedded.frontend import list_equations

    library = find_library(class_name, [Path.cwd()], sources)
    lines, diagnostics = list_equations(library.class_name, library.sources)
    return lines, (*library.notes, *diagnostics)


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
    class_name
        Full Modelica name.
    sources
        Files or folders; by default the library of the project that has the class.
    output
        The FMU; by default ``fmus/CLASS.fmu`` in the project folder: the folder whose
        ``modelica/`` holds the source, else the nearest folder, from here upwards, with
        ``modelica/`` or ``fmus/catalog.toml``, else the current one.
    compiler
        Name of a compiler, or ``"auto"``: the embedded one, or the one it advises when it
        refuses the class, provided that one can run here.
    tolerance, options
        Default tolerance of the FMU, and options of the compiler.
    platforms
        FMI 2.0 or 3.0 names to include binaries for, or ``"all"``; empty for this machine
        only.
    force
        Build even if the FMU is up to date.

    Raises
    ------
    fmident.errors.CompilationError
        With diagnostics that carry file, line and construct.
    """
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


def model_classes(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the models and blocks of a Modelica file or package that can be simulated.

    Raises
    ------
    fmident.errors.FmidentError
        There is no such file, or no class in it.
    """
    shipped = shipped_library()
    own = own_source(Path(path), more=[] if shipped is None else [shipped])
    return buildable_classes(own.sources[0], Path(path))


def resolve_class(
    host: Host,
    class_name: str,
    table: Mapping[str, Any],
    base: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> Built:
    """Return the FMU of a class named in a problem file, building it if necessary.

    `table` is the ``[model]`` table, of which ``sources``, ``fmu_folder`` and ``compiler``
    are used; paths are relative to `base`, the folder of the problem file. Without
    ``sources``, the source is searched for from there upwards, then from the working
    directory. Without ``fmu_folder``, the FMU goes where :func:`build` puts it, starting
    from `base`.
    """
    library, output = _class_of(class_name, table, base)
    built = _build(
        host,
        available_compilers(host, str(table.get("compiler", "auto"))),
        BuildRequest(library.class_name, library.sources, output, progress=progress),
        force=False,
        elsewhere='name another folder for it: fmu_folder = "FOLDER" in [model], or '
        "--set model.fmu_folder=FOLDER",
    )
    return replace(built, notes=library.notes)


def _class_of(class_name: str, table: Mapping[str, Any], base: Path) -> tuple[Library, Path]:
    """Return the library of a class named in a problem file, and the place of its FMU."""
    sources = table.get("sources", ())
    library = find_library(
        class_name,
        [base, Path.cwd()],
        [base / str(s) for s in ([sources] if isinstance(sources, str) else sources)],
        otherwise='name its folder: sources = ["FOLDER"]',
    )
    given = table.get("fmu_folder")
    folder = _usual_folder(library, base) if given is None else base / str(given)
    return library, folder / f"{library.class_name}.fmu"


def model_fmu(table: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Path:
    """Return the FMU of a ``[model]`` table, whether or not it has been built.

    Parameters
    ----------
    table
        With ``fmu``, or with ``class`` and what belongs to it.
    folder
        Of the problem file: paths of the table are relative to it.

    Raises
    ------
    fmident.errors.FmidentError
        The table has no ``sources``, and no library here has the class.
    """
    base = Path(folder)
    if "fmu" in table:
        return base / str(table["fmu"])
    return _class_of(str(table["class"]), table, base)[1]


def available_compilers(host: Host, name: str) -> list[Compiler]:
    """Return the compilers that can run here, in the order in which to try them.

    `name` is a single compiler, or ``"auto"`` for all of them, the embedded one first.
    Raises `CompilationError` if none can run here and `PluginError` if there is no such
    compiler.
    """
    if name != "auto":
        compiler = host.compiler(name)
        reason = compiler.unavailable()
        if reason is not None:
            raise CompilationError(
                f"the compiler '{name}' cannot run here: {reason}", code=Code.NOT_INSTALLED
            )
        return [compiler]
    names = sorted(host.compilers.names(), key=lambda n: (n != PREFERRED, n))
    usable: list[Compiler] = []
    reasons: list[str] = []
    for candidate in names:
        try:
            compiler = host.compiler(candidate)
            reason = compiler.unavailable()
        except PluginError as error:  # another one may work
            reason = error.message
        if reason is None:
            usable.append(compiler)
        reasons.append(f"{candidate}: {reason}")
    if not names:
        raise PluginError("no compiler is installed", hint="'fmident plugins' shows why")
    if not usable:
        raise CompilationError(
            "no compiler can run here: " + "; ".join(reasons), code=Code.NOT_INSTALLED
        )
    return usable


def _build(
    host: Host, compilers: Sequence[Compiler], request: BuildRequest, force: bool, elsewhere: str
) -> Built:
    if not force and any(not is_stale(request.output, request, c) for c in compilers):
        return Built(request.output, None)
    _refuse_unwritable(request.output, elsewhere)
    try:
        return Built(request.output, compiled([(c, request) for c in compilers])[1])
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


def compiled(choices: Sequence[tuple[Compiler, BuildRequest]]) -> tuple[Compiler, BuildResult]:
    """Compile with the first compiler, or with another if the first refuses and advises it.

    Return the compiler that was used and its result. Raises `CompilationError`.
    """
    (compiler, request), *others = choices
    with _Stages(request.progress) as stages:
        try:
            return compiler, compiler.build(replace(request, progress=stages))
        except CompilationError as error:
            refusal = error
    advised = [choice for choice in others if choice[0].name in _advised(refusal)]
    if not advised:
        raise refusal
    first = next((d for d in refusal.diagnostics if d.severity == "error"), None)
    why = refusal.message if first is None else first.message
    text = f"the compiler '{compiler.name}' refuses it ({why}): '{advised[0][0].name}' is taken"
    place = None if first is None else first.location
    note = Diagnostic("note", text, place, None, "other-compiler")
    try:
        chosen, result = compiled(advised)
    except CompilationError as error:
        error.diagnostics = (*error.diagnostics, note)
        raise
    return chosen, replace(result, diagnostics=(note, *result.diagnostics))


class _Stages(Closes):
    """Progress reporter of a build: names each step that takes longer than a moment."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._timer: threading.Timer | None = None

    def __call__(self, text: str) -> None:
        self.close()
        self._timer = threading.Timer(_PATIENCE, self._tell, [text])
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _advised(error: CompilationError) -> set[str]:
    hints = [error.hint, *(diagnostic.hint for diagnostic in error.diagnostics)]
    return {name for hint in hints for name in re.findall(r"--compiler (\w+)", hint or "")}


def _advice_out_of_reach(host: Host, error: CompilationError) -> str | None:
    for name in sorted(_advised(error) & set(host.compilers.names())):
        reason = host.compiler(name).unavailable()
        if reason is not None:
            first = reason.splitlines()[0].rstrip(":. ")
            return f"{name} cannot run here yet ({first}); 'fmident doctor' says how to get it"
    return None


def _refuse_unwritable(output: Path, elsewhere: str) -> None:
    parent = next((folder for folder in output.parents if folder.exists()), output)
    reasons = {
        "it is a folder": output.is_dir(),
        f"'{parent}' is a file": not parent.is_dir(),
        f"nothing may be written to '{parent}'": not os.access(parent, os.W_OK),
    }
    for reason, holds in reasons.items():
        if holds:
            raise CompilationError(
                f"the FMU '{output}' cannot be written: {reason}",
                hint=elsewhere,
                code=Code.UNUSABLE_FILE,
            )


def _usual_folder(library: Library, start: Path) -> Path:
    """Return the folder for the FMUs of a library, whether or not it exists yet."""
    if library.project is not None:
        return library.project / FOLDER
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / CATALOG).is_file():
            return folder
        if (folder / FOLDER / CATALOG).is_file() or (folder / "modelica").is_dir():
            return folder / FOLDER
    return start / FOLDER


def _shortest(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@dataclass(frozen=True)
class EntryBuild:
    """Result of building one catalogue entry.

    The `state` is ``"left out"`` if no compiler for the entry runs here, ``"refused"`` if
    the compiler cannot compile the class, and ``"failed"`` if the FMU does not match the
    catalogue; it is then kept as ``FILE.rejected``. `seconds` is the wall time of the build
    without checks, `size` is in bytes, and `reason` is empty if the build succeeded.
    """

    entry: Entry
    state: State
    compiler: str
    fmu: Path
    seconds: float = 0.0
    size: int = 0
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def good(self) -> bool:
        """Whether there is a usable FMU, or none was expected on this machine."""
        return self.state in ("built", "up to date", "left out")


def build_catalog(
    host: Host,
    catalog: Catalog,
    *,
    compiler: str = "auto",
    folder: Path | None = None,
    platforms: Sequence[str] = (),
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    began: Callable[[Entry], None] = lambda _: None,
) -> Iterator[EntryBuild]:
    """Build the entries of a catalogue and yield their results in the catalogue's order.

    `compiler` is a name or ``"auto"``: the first of the entry's compilers that runs here,
    or the one it advises when it refuses the class, provided that one belongs to the entry
    too. `platforms` and `folder` are by default those of the catalogue. With `force`,
    up-to-date FMUs are built, too. `began` is called with each entry before it is built.
    Raises `PluginError` for an unknown compiler, and `CompilationError` if the named one
    cannot run here.
    """
    choose = _compilers_by_entry(host, compiler)
    names = platform_names(platforms)
    for entry in catalog.built:
        began(entry)
        target = (folder or catalog.path.parent) / entry.file
        chosen, why_not = choose(entry)
        if not chosen:
            yield EntryBuild(entry, "left out", "", target, reason=why_not)
        else:
            yield _build_entry(entry, chosen, target, force, names, progress)


def _compilers_by_entry(host: Host, wanted: str) -> Callable[[Entry], tuple[list[Compiler], str]]:
    """Return what chooses the compilers for an entry, or gives the reason why there is none."""
    named = [] if wanted == "auto" else available_compilers(host, wanted)

    @cache
    def state(name: str) -> tuple[Compiler, str | None]:
        compiler = host.compiler(name)
        return compiler, compiler.unavailable()

    def choose(entry: Entry) -> tuple[list[Compiler], str]:
        if named:
            why = f"the catalogue has it built by {' or '.join(entry.compilers)}"
            return (named, "") if wanted in entry.compilers else ([], why)
        states = {n: state(n) for n in entry.compilers if n in host.compilers}
        able = [compiler for compiler, reason in states.values() if reason is None]
        return able, "; ".join(_first_line(f"{n}: {why}") for n, (_, why) in states.items())

    return choose


def _build_entry(
    entry: Entry,
    compilers: Sequence[Compiler],
    target: Path,
    force: bool,
    platforms: tuple[str, ...],
    progress: Callable[[str], None],
) -> EntryBuild:
    name = compilers[0].name
    try:
        sources = with_libraries(expand(entry.sources))
    except CompilationError as error:
        return EntryBuild(entry, "refused", name, target, 0.0, 0, str(error.message))
    choices = []
    for compiler in compilers:
        settings = entry.settings_of(compiler.name)
        request = BuildRequest(
            entry.class_name,
            sources,
            target,
            settings.tolerance,
            dict(settings.options),
            platforms or entry.platforms,
            progress,
        )
        if not force and not is_stale(target, request, compiler):
            # The catalogue may have changed since it was built.
            reason = _wrong_interface(entry, target, ("interface",))
            state: State = "failed" if reason else "up to date"
            size = target.stat().st_size
            return EntryBuild(entry, state, compiler.name, target, size=size, reason=reason)
        choices.append((compiler, request))
    # Checked before it takes its place: a good FMU is replaced only by a good one.
    fresh = target.with_name(f".{target.name}.new")
    began = time.perf_counter()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        chosen, result = compiled([(c, replace(r, output=fresh)) for c, r in choices])
    except (CompilationError, PluginError) as error:  # the other entries may have other compilers
        seconds = time.perf_counter() - began
        remarks: tuple[Diagnostic, ...] = tuple(getattr(error, "diagnostics", ()))
        reason = next((str(d) for d in remarks if d.severity == "error"), error.message)
        return EntryBuild(entry, "refused", name, target, seconds, 0, reason, remarks)
    name = chosen.name
    reason = _wrong_interface(entry, fresh)
    place = target.with_name(f"{target.name}.rejected") if reason else target
    fresh.replace(place)
    return EntryBuild(
        entry,
        "failed" if reason else "built",
        name,
        place,
        result.seconds,
        place.stat().st_size,
        reason,
        result.diagnostics,
    )


def _wrong_interface(entry: Entry, fmu: Path, checks: tuple[str, ...] = _CHECKS) -> str:
    """Return how an FMU deviates from its catalogue entry; ``""`` if it does not."""
    # What builds the FMU of a problem checks no interface: the checks can wait.
    from fmident.validation import plan_fmu, validate

    (report,) = validate([plan_fmu(fmu, entry, only=checks)], jobs=1)
    if report.unusable is not None:
        return report.unusable
    return "; ".join(f"{c.name}: {c.detail}" for c in report.checks if not c.passed)


def _first_line(text: str) -> str:
    return text.splitlines()[0].rstrip(":")


@dataclass(frozen=True)
class Library:
    """Location of the source of a class.

    `class_name` is the name that the class has there now; `notes` say so where the library
    has renamed it. `sources` are top-level packages: folders with ``package.mo``, or files.
    `project` is the folder that holds ``modelica/``; ``None`` for the library that ships
    with fmident and for sources named by the user.
    """

    class_name: str
    sources: tuple[Path, ...]
    project: Path | None
    notes: tuple[Diagnostic, ...] = ()


def find_library(
    class_name: str,
    starts: Sequence[Path],
    sources: Sequence[Path] = (),
    *,
    otherwise: str = "name its folder with --source",
) -> Library:
    """Return the source of a class: those that are named, else its top-level package.

    ``modelica/`` is searched for in the folders `starts` and their parents, then in
    fmident, then where OpenModelica keeps libraries. A class that the library has renamed
    is found by its old name, too, also if another library contains it now. `otherwise` is a
    hint on how the user can name the source. Raises `CompilationError`, listing the searched
    folders, if there is none.
    """
    top = class_name.split(".")[0]
    if sources:
        named = with_libraries(expand(sources))
        own = [p for p in named if name_of(p) == top] or named
        return _current(Library(class_name, named, None), renamed_class(class_name, own))
    others: list[Path] = []
    projects: dict[Path, Path | None] = {
        folder / "modelica": folder
        for start in starts
        for folder in (start.resolve(), *start.resolve().parents)
        if (folder / "modelica").is_dir()
    }
    if (shipped := shipped_library()) is not None:
        projects.setdefault(shipped, None)
    for place, project in projects.items():
        packages = packages_in(place)
        others += packages
        if top in map(name_of, packages):
            needed = _with_installed(_with_shipped(_needed(top, packages)))
            library = Library(class_name, needed, project)
            return _current(library, renamed_class(class_name, needed[:1]))
    if installed := installed_library(top):
        library = Library(class_name, installed, None)
        return _current(library, renamed_class(class_name, installed[:1]))
    others += installed_libraries()
    if (renamed := renamed_class(class_name, others)) is not None:
        return _current(find_library(renamed.name, starts), renamed)
    classes = similar(class_name, [c for s in starts for c in known_classes(s)])
    near = (
        "nearest class: " + ", ".join(f"'{c}'" for c in classes)
        if classes
        else did_you_mean(top, sorted(set(map(name_of, others))), kind="package")
    )
    places = ", ".join(f"'{p}'" for p in projects) or "any folder 'modelica' here or above"
    raise CompilationError(
        f"there is no Modelica package '{top}' in {places}, nor where OpenModelica keeps libraries",
        hint=f"{near}; or {otherwise}",
        code=Code.UNKNOWN_NAME,
    )


def _current(library: Library, renamed: RenamedClass | None) -> Library:
    if renamed is None:
        return library
    return replace(library, class_name=renamed.name, notes=(renamed.note,))


def with_libraries(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Return the user's sources followed by the libraries that they use.

    Libraries are located as OpenModelica does; the one that ships with fmident is always
    available. Raises `CompilationError` if a source is not Modelica.
    """
    shipped = shipped_library()
    more = [] if shipped is None else [shipped]
    libraries_by_source = [own_source(source, more=more).sources for source in sources]
    used = (library for libraries in libraries_by_source for library in libraries[1:])
    by_place = {p.resolve(): p for p in (*(f[0] for f in libraries_by_source), *used)}
    return tuple(by_place.values())


def _needed(top: str, packages: Sequence[Path]) -> tuple[Path, ...]:
    """Return the package `top` followed by those of `packages` that it needs.

    The others are left out, so that a change in them does not make its FMUs stale.
    """
    (own,) = [p for p in packages if name_of(p) == top]
    return _with_mentioned((own,), packages)


def _with_shipped(sources: Sequence[Path]) -> tuple[Path, ...]:
    shipped = shipped_library()
    return tuple(sources) if shipped is None else _with_mentioned(sources, expand([shipped]))


def _with_installed(sources: Sequence[Path]) -> tuple[Path, ...]:
    names = {name_of(source) for source in sources}
    used = (
        p
        for source in sources
        for p in own_source(source, library=source != sources[0]).sources[1:]
    )
    return (*sources, *{name_of(p): p for p in used if name_of(p) not in names}.values())


def _with_mentioned(sources: Sequence[Path], candidates: Sequence[Path]) -> tuple[Path, ...]:
    """Add the candidates that the sources mention, and transitively what those mention."""
    selected = list(sources)
    waiting = list(sources)
    while waiting:
        names = {name_of(p) for p in selected}
        source = waiting.pop(0)
        # All words of the standard library take seconds; a library names what it needs.
        words = set() if source == selected[0] else set(declared_uses(source))
        words = words or _words(source)
        for candidate in candidates:
            if name_of(candidate) in words - names:
                selected.append(candidate)
                waiting.append(candidate)
    return tuple(selected)


_NO_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


def _words(source: Path) -> set[str]:
    """Return all words in the code of a source, without strings and comments."""
    files = [file for _, file in source_files([source]) if file.suffix == ".mo"]
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return {word for text in texts for word in _WORD.findall(_NO_CODE.sub(" ", text))}


@dataclass(frozen=True)
class FmuOrigin:
    """An FMU with its catalogue and entry; both are ``None`` if no catalogue lists it."""

    fmu: Path
    catalog: Catalog | None = None
    entry: Entry | None = None

    def location(self, check: Check | None = None) -> Location:
        """Return the location to show when `check` has failed, or the FMU cannot be used.

        This is the class in the Modelica source if available. It is the catalogue entry for a
        check against the catalogue or without a source, and the FMU if there is neither.
        """
        if check is None or check.name not in _OF_THE_CATALOGUE:
            class_place = self._class_location()
            if class_place is not None:
                return class_place
        return self.entry_location() or Location(str(self.fmu))

    def entry_location(self) -> Location | None:
        """Return the line of the entry in the catalogue."""
        if self.catalog is None or self.entry is None:
            return None
        return Location(str(self.catalog.path), self.entry.line)

    def _class_location(self) -> Location | None:
        if self.entry is not None and not self.entry.foreign:
            return class_location(self.entry.class_name, self.entry.sources)
        class_name = str((read_record(self.fmu) or {}).get("class", ""))
        try:
            library = find_library(class_name, [self.fmu.parent, Path.cwd()])
        except CompilationError:
            return None
        # What comes with fmident, or is installed, is not the user's to change.
        return class_location(library.class_name, library.sources) if library.project else None


def class_location(class_name: str, sources: Sequence[Path]) -> Location | None:
    """Return where a class is defined in the sources; ``None`` if it is not there."""
    # Imported late: it brings all of the embedded compiler with it, which takes a second.

    top = class_name.partition(".")[0]
    for source in sources:
        if name_of(source) == top:
            try:
                return read_tree(source).location(class_name)
            except (CompilationError, OSError):
                return None
    return None
