"""Front end of the embedded compiler: Modelica source to :class:`OdeModel`.

rumoca parses, checks and flattens a class in a separate process; what it drops silently
is refused. The flat model becomes residuals of CasADi expressions, which are solved by
formulas or, after tearing, by iteration.

Supported subset: equations of Real and discrete variables, with events; arrays, slices,
matrices; records; connectors with flow; ``extends``, ``replaceable``, ``redeclare``,
conditional components, for- and if-equations; functions with assignments, ``if``,
``for`` with known bounds, ``assert``; linear algebraic loops by formulas, all others by
iteration, and likewise initial equations; variables under ``der`` that depend on
states. ``abs``, ``min`` and ``max`` generate no event, and neither does anything inside
a function, ``noEvent`` or ``smooth``. Everything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fmident.compilers.embedded.frontend.assemble import Assembled, assemble
from fmident.compilers.embedded.frontend.reading.flat_reader import read_checked
from fmident.compilers.embedded.frontend.reading.names import Names
from fmident.compilers.embedded.frontend.reading.rewrites import error_calls
from fmident.compilers.embedded.frontend.reading.rumoca import (
    PROBE_VARIABLE,
    Flattened,
    SourceMap,
    flatten,
)
from fmident.compilers.embedded.frontend.reading.scan_check import (
    check_sources,
    circular_definition,
    component_conditions,
    involved,
    references,
)
from fmident.compilers.embedded.frontend.refusal import OPENMODELICA, Refusal
from fmident.compilers.embedded.frontend.units import DeclaredUnits
from fmident.compilers.embedded.model import ExperimentDefaults, OdeModel
from fmident.compilers.embedded.standard_library import (
    NAME_OF_STANDARD_LIBRARY,
    STANDARD_LIBRARY,
    is_stand_in,
    stand_in,
)
from fmident.compilers.libraries import shipped_library
from fmident.compilers.sources import (
    SourceTree,
    annotation_numbers,
    choose_tree,
    declared_version,
    offset_location,
    read_tree,
)
from fmident.errors import CompilationError, Diagnostic, Location

__all__ = ["list_equations", "load_model"]

_NOTES = ("structural-parameter", "state-demoted", "algebraic-loop", "constraint", "start-decides")
"""Rules whose remarks are notes."""

_PREDEFINED = frozenset({"Real", "Integer", "Boolean", "String"})


def load_model(
    class_name: str,
    sources: Sequence[Path],
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[OdeModel, tuple[Diagnostic, ...]]:
    """Compile a Modelica class to explicit differential equations.

    `sources` are files, or folders with ``package.mo``: the first one that contains the
    class is compiled and may use the others. `progress` is called with one line of text per
    step. Returns the model, and warnings and notes. Raises `CompilationError`, whose
    diagnostics carry file, line, column, rule and hint, if the class is missing, wrong or
    outside the subset.
    """
    assembled, diagnostics = _loaded(class_name, sources, progress)
    return assembled.model, diagnostics


def list_equations(
    class_name: str, sources: Sequence[Path]
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the solved equations of a class as text, and diagnostics; see :func:`load_model`."""
    assembled, diagnostics = _loaded(class_name, sources)
    return assembled.listing, diagnostics


def _loaded(
    class_name: str, sources: Sequence[Path], progress: Callable[[str], None] = lambda _: None
) -> tuple[Assembled, tuple[Diagnostic, ...]]:
    files = ", ".join(Path(path).name for path in sources)
    progress(f"{class_name}: reading {files}")
    trees = [read_tree(Path(path)) for path in sources]
    try:
        tree = choose_tree(class_name, trees)
    except CompilationError:
        _raise_syntax_error(class_name, trees)
        raise
    libraries = [t for t in trees if t is not tree]
    if STANDARD_LIBRARY not in {t.classes.top_level for t in trees}:
        libraries.append(stand_in())
    names = Names([tree, *libraries])
    _raise_circular(class_name, names)
    progress(f"{class_name}: parsing and flattening; what a library holds is parsed once")
    try:
        flattened = flatten(class_name, tree, names)
    except CompilationError as error:
        if all(d.rule != "syntax-error" for d in error.diagnostics):
            _raise_dropped(class_name, names)
        raise
    _raise_dropped(class_name, names)
    progress(f"{class_name}: sorting and solving its equations")
    result = _assembled(class_name, flattened, tree, names)
    notes = tuple(
        Diagnostic(
            "note" if rule in _NOTES else "warning",
            text,
            flattened.sources.location(span) or tree.location(class_name),
            None,
            rule,
        )
        for rule, text, span in result.warnings
    )
    return result, (*notes, *_library_used(class_name, tree, names))


def _library_used(class_name: str, tree: SourceTree, names: Names) -> Iterator[Diagnostic]:
    """Yield which standard library is used; the stand-in only if a class of the user's names it."""
    items = involved(class_name, names)
    files = {item.file for item in items}
    for library in names.trees:
        if library.classes.top_level != STANDARD_LIBRARY or files.isdisjoint(library.files):
            continue
        version = declared_version(library.classes.get(STANDARD_LIBRARY))
        what = f"the {NAME_OF_STANDARD_LIBRARY} {version} in '{library.entry.parent}'"
        if is_stand_in(library):
            shipped = shipped_library()  # tested with the stand-in
            others = (
                item
                for item in items
                if item.file not in library.files
                and not (shipped and item.file.is_relative_to(shipped.resolve()))
            )
            if all(library.classes.get(n) is None for i in others for n in references(i, names)):
                continue
            what = (
                f"fmident's stand-in with names, units and values of version 4.0.0, as there is "
                f"no {NAME_OF_STANDARD_LIBRARY} here"
            )
        text = f"'{STANDARD_LIBRARY}' is {what}"
        yield Diagnostic("note", text, tree.location(class_name), None, "standard-library")


def _raise_syntax_error(class_name: str, trees: Sequence[SourceTree]) -> None:
    """Raise if a source has a syntax error, since the missing class may be in it."""
    for tree in trees:
        try:
            flatten(class_name, tree, Names([tree]))
        except CompilationError as error:
            if any(d.rule == "syntax-error" for d in error.diagnostics):
                raise error from None


def _raise_circular(class_name: str, names: Names) -> None:
    circle = circular_definition(class_name, names)
    if circle is None:
        return
    item, way = circle
    name = item.name.rsplit(".", 1)[-1]
    other = f"My{name}" if name in _PREDEFINED else name
    base = name if name in _PREDEFINED else "Real"
    finding = Diagnostic(
        "error",
        f"'{item.name}' is defined by itself: {way}",
        offset_location(item.file, item.start),
        f"define it by another type, such as: type {other} = {base}(...)",
        "circular-definition",
    )
    raise CompilationError(f"{class_name} cannot be compiled", diagnostics=[finding])


def _raise_dropped(class_name: str, names: Names) -> None:
    """Raise if the flat model would silently omit something."""
    findings = check_sources(
        class_name, names, lambda item: [first for first, _ in error_calls(item, names)]
    )
    if not findings:
        return
    diagnostics = [
        Diagnostic(
            "error", f.what, offset_location(f.item.file, f.token.offset), OPENMODELICA, f.rule
        )
        for f in findings
    ]
    raise CompilationError(f"{class_name} cannot be compiled", diagnostics=diagnostics)


def _assembled(class_name: str, flattened: Flattened, tree: SourceTree, names: Names) -> Assembled:
    try:
        flat = read_checked(flattened.flat, class_name, ignore=PROBE_VARIABLE)
        flat = flat.with_final(flattened.sources.has_final_modifier)
        flat = flat.with_structural(component_conditions(class_name, names))
        flat = flat.with_output_units(DeclaredUnits(names).output)
        flat = replace(flat, libraries=_library_sources(flattened.sources, tree))
        version = declared_version(tree.classes.get(class_name.partition(".")[0]))
        result = assemble(flat, _experiment(tree, class_name), version)
        if flattened.unbalanced is None:
            return result
        hint = "make the number of equations and of unknowns equal"
        refusals = [Refusal("unbalanced", flattened.unbalanced, hint=hint)]
    except Refusal as refusal:
        refusals = [refusal]
    except ExceptionGroup as several:
        refusals = [one for one in several.exceptions if isinstance(one, Refusal)]
    raise _error(class_name, refusals, flattened.sources, tree)


def _library_sources(sources: SourceMap, tree: SourceTree) -> frozenset[int]:
    """Return the files that are not the user's own, such as the standard library."""
    own = set() if tree.classes.top_level == STANDARD_LIBRARY else {str(f) for f in tree.files}
    return frozenset(key for key, (name, _) in sources.files.items() if name not in own)


def _error(
    class_name: str, refusals: Sequence[Refusal], sources: SourceMap, tree: SourceTree
) -> CompilationError:
    place = tree.location(class_name) or Location(str(tree.entry))
    diagnostics = [
        Diagnostic("error", r.message, sources.location(r.span) or place, r.hint or None, r.rule)
        for r in refusals
    ]
    count = f" ({len(diagnostics)} errors)" if len(diagnostics) > 1 else ""
    return CompilationError(f"{class_name} cannot be compiled{count}", diagnostics=diagnostics)


def _experiment(tree: SourceTree, class_name: str) -> ExperimentDefaults:
    numbers = annotation_numbers(tree.classes[class_name], "experiment")
    return ExperimentDefaults(
        start_time=numbers.get("StartTime", 0.0),
        stop_time=numbers.get("StopTime"),
        tolerance=numbers.get("Tolerance"),
        interval=numbers.get("Interval"),
    )
