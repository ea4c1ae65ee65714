"""Read ``catalog.toml``; every error has file and line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from fmident._fmu_suggestions import CATALOG, nearest_catalog
from fmident.arrays import F64
from fmident.compilers.conversions import renamed_class
from fmident.compilers.libraries import expand
from fmident.compilers.platforms import platform_names
from fmident.errors import (
    Code,
    CompilationError,
    Diagnostic,
    FmidentError,
    UnitError,
    nearest_file,
    unknown_name,
)
from fmident.options import FINITE, Advice, InFile, Range, Short
from fmident.toml_file import Section, Source, parse_toml, read_text
from fmident.units import parse_unit

T = TypeVar("T")


_MOST = 1_000_000
"""Instants and refinements; more would not fit into memory."""

_Positive = Annotated[float, Range(above=0.0, below=math.inf)]
_Finite = Annotated[float, Range(above=-math.inf, below=math.inf)]

_RANGE = re.compile(r"(\d+):(\d+)")
_CLASS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def find_catalog(start: Path) -> Path:
    """Return ``fmus/catalog.toml`` in a folder or its nearest parent that has one.

    Raises `CatalogError` if there is none.
    """
    if (place := nearest_catalog(start)) is not None:
        return place
    raise CatalogError(
        f"there is no 'fmus/{CATALOG}' here or in a folder above",
        hint="name the catalogue with --catalog",
        code=Code.UNKNOWN_NAME,
    )


def read_catalog(path: str | Path) -> Catalog:
    """Read a catalogue; paths in it are relative to its folder.

    Classes that a library has renamed get their present names; the catalogue's notes say so.

    Raises `CatalogError`, with the line, if it is missing, not TOML, has unknown keys,
    wrong types, unreadable units, missing references or a duplicate class.
    """
    path = Path(path)
    try:
        text = read_text(path, "catalogue", CATALOG, CatalogError)
    except OSError as error:
        raise CatalogError(
            f"the catalogue '{path}' cannot be read: {error.strerror}", code=Code.UNUSABLE_FILE
        ) from error
    content = parse_toml(text, path, error=CatalogError, example='"q[1:3]" = "rad"')
    root = Section(Source(path, text, CatalogError, "the catalogue"), (), content)
    tables = root.read(_CatalogTable)
    if not tables.fmus:
        raise root.error("the catalogue has no FMUs: write [[fmus]] with double brackets", "fmus")
    libraries = {name: _library(table) for name, table in tables.libraries.items()}
    entries: list[Entry] = []
    notes: list[Diagnostic] = []
    for table in tables.fmus:
        entry = _entry(table, libraries, notes)
        for other in entries:
            if entry.class_name == other.class_name and not entry.foreign:
                raise table.section.error(
                    f"the class '{entry.class_name}' has an entry already, in line {other.line}",
                    "class",
                )
            if entry.file == other.file:
                raise table.section.error(f"'{entry.file}' is the file of two entries", "file")
        entries.append(entry)
    return Catalog(path, tuple(entries), tuple(notes))


def _library(table: _LibraryTable) -> _LibraryTable:
    section = table.section
    if not table.sources:
        raise section.error(f"{section.title} needs the key 'sources'", hint="a list of folders")
    for source in table.sources:
        path = section.source.path.parent / source
        if not path.exists():
            raise section.error(f"there is no source '{path}'", "sources", code=Code.UNKNOWN_NAME)
    _settings(table, table.compilers, {})
    _platforms(table, ())
    return table


def _platforms(table: _LibraryTable | _EntryTable, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    given = table.platforms
    if given is None:
        return otherwise
    try:
        return platform_names((given,) if isinstance(given, str) else given)
    except CompilationError as error:
        raise table.section.error(
            str(error.message), "platforms", hint=error.hint, code=error.code
        ) from None


def _settings(
    table: _LibraryTable | _EntryTable,
    compilers: Sequence[str],
    defaults: Mapping[str, BuildSettings],
) -> dict[str, BuildSettings]:
    """Return the settings of the tables ``[... .compiler.NAME]``."""
    settings = dict(defaults)
    section = table.section.inner("compiler")
    for name, own in table.compiler.items():
        if name not in compilers:
            raise section.error(
                f"'{name}' is not among the compilers of {table.section.title}",
                name,
                **unknown_name(name, compilers, "compiler"),
            )
        before = settings.get(name, BuildSettings())
        given = {key: getattr(own, key) for key in section.inner(name).content}
        options = {**before.options, **own.options}
        settings[name] = replace(before, **{**given, "options": options})
    return settings


def _entry(
    table: _EntryTable, libraries: Mapping[str, _LibraryTable], notes: list[Diagnostic]
) -> Entry:
    section = table.section
    built = section.has("class") or not section.has("file")
    if not built:
        for key in ("compilers", "compiler", "platforms"):
            if section.has(key):
                raise section.error(
                    f"'{key}' applies only to FMUs that are built from a class; this entry has"
                    " none",
                    key,
                    hint=f"add the key 'class', or leave out '{key}'",
                    code=Code.MISSING_KEY,
                )
    offers = built or any(section.has(key) for key in ("inputs", "outputs", "identifiable"))
    entry = Entry(
        class_name="",
        file=table.file or "",
        sources=(),
        compilers=(),
        settings={},
        interface=_interface(table) if offers else None,
        references=tuple(_reference(table, k) for k in range(len(table.references))),
        smoke=replace(
            table.smoke,
            inputs=_expanded(table.smoke.inputs),
            start_values=_expanded(table.smoke.start_values),
        ),
        step_tube=table.step_tube,
        exchange_tube=table.exchange_tube,
        line=section.where().line,
    )
    return _of_class(table, entry, libraries, notes) if built else entry


def _interface(table: _EntryTable) -> Interface:
    for key in ("inputs", "outputs", "identifiable"):
        section = table.section.inner(key)
        for name, unit in section.content.items():
            try:
                parse_unit(unit or "1")
            except UnitError as error:
                message = f"{section.title}: '{name}': {error.message}"
                raise section.error(message, name) from error
    return Interface(*map(_expanded, (table.inputs, table.outputs, table.identifiable)))


def _of_class(
    table: _EntryTable,
    entry: Entry,
    libraries: Mapping[str, _LibraryTable],
    notes: list[Diagnostic],
) -> Entry:
    section, class_name = table.section, table.class_name
    if class_name is None:
        raise section.error(f"{section.title} needs the key 'class'", code=Code.MISSING_KEY)
    if not _CLASS.fullmatch(class_name):
        raise section.error(f"'{class_name}' is not the full name of a Modelica class", "class")
    top = class_name.partition(".")[0]
    candidates = [libraries[top]] if top in libraries else libraries.values()
    if renamed := renamed_class(class_name, (p for c in candidates for p in _packages(c))):
        class_name = renamed.name
        top = class_name.partition(".")[0]
        notes.append(replace(renamed.note, location=section.where("class")))
    if top not in libraries:
        raise section.error(
            f"there is no table [libraries.{top}] for the class '{class_name}'",
            "class",
            **unknown_name(top, libraries, "library"),
        )
    library = libraries[top]
    compilers = table.compilers or library.compilers
    for name in compilers:
        if name not in library.compilers:
            raise section.error(
                f"'{name}' is not among the compilers of [libraries.{top}]",
                "compilers",
                **unknown_name(name, library.compilers, "compiler"),
            )
    return replace(
        entry,
        class_name=class_name,
        file=table.file or f"{class_name}.fmu",
        sources=tuple(section.source.path.parent / s for s in library.sources),
        compilers=compilers,
        settings=_settings(table, compilers, _settings(library, library.compilers, {})),
        platforms=_platforms(table, _platforms(library, ())),
    )


def _packages(library: _LibraryTable) -> tuple[Path, ...]:
    folder = library.section.source.path.parent
    try:
        return expand(folder / source for source in library.sources)
    except CompilationError:  # the build says what is wrong with it
        return ()


def _reference(table: _EntryTable, number: int) -> ReferenceExperiment:
    section, given = table.section.inner("references", number), table.references[number]
    file = section.source.path.parent / given.file
    if not file.is_file():
        raise section.error(
            f"there is no reference '{file}'",
            "file",
            hint=nearest_file(file, "*.csv"),
            code=Code.UNKNOWN_NAME,
        )
    return replace(
        given,
        file=file,
        tubes=_expanded(given.tubes),
        start_values=_expanded(given.start_values),
        inputs=_expanded(given.inputs),
    )


def _expanded(values: Mapping[str, T]) -> dict[str, T]:
    return {name: value for key, value in values.items() for name in expand_name(key)}


def expand_name(text: str) -> list[str]:
    """Expand ranges as in ``q[1:3]``; a name without ranges gives itself."""
    parts = _RANGE.split(text)
    if len(parts) == 1:
        return [text]
    ranges = [
        range(int(first), int(last) + 1)
        for first, last in zip(parts[1::3], parts[2::3], strict=True)
    ]
    fixed = parts[0::3]
    return [
        "".join(t + n for t, n in zip(fixed, [*map(str, numbers), ""], strict=True))
        for numbers in product(*ranges)
    ]


class CatalogError(FmidentError):
    """The catalogue is invalid or lacks a requested entry."""

    default_code = Code.INVALID_CATALOG


@dataclass(frozen=True)
class Signal:
    """An input as a formula: an offset plus a sum of sines.

    `offset` is in the variable's unit; `sines` are ``(amplitude, frequency, phase)`` in the
    variable's unit, Hz and rad.
    """

    offset: _Finite = 0.0
    sines: Annotated[
        tuple[tuple[_Finite, _Finite, _Finite], ...],
        Advice("each is [amplitude, frequency in Hz, phase]"),
    ] = ()

    def values(self, times: F64) -> F64:
        """Return the signal at `times` (s), shape (n,)."""
        signal: F64 = np.full(times.shape, self.offset)
        for amplitude, frequency, phase in self.sines:
            signal = signal + amplitude * np.sin(2.0 * np.pi * frequency * times + phase)
        return signal


_AnySignal = Annotated[Signal, Short("offset")]


@dataclass(frozen=True)
class Interface:
    """Required variables of an FMU with their units, ``""`` for a number without one.

    `inputs` and `outputs` are complete: additional ones are an error. `identifiable` are
    parameters that can be set and that affect an output.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    identifiable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReferenceExperiment:
    """A recorded trajectory that the FMU must reproduce.

    Parameters
    ----------
    file
        CSV file with time, inputs and outputs; its header may name parameter values.
    tube, tubes
        Half width of the tube around the reference, relative to the range of each signal,
        and those of individual signals.
    tube_time
        Half width of the tube in time, s.
    tolerance
        Relative tolerance for the FMU's solver; ``None`` for the FMU's default.
    without
        Parameters in the file's header that the model lacks because they belong to the tool
        that made the file and have no effect there.
    start_values
        Parameters and start values that the file's header does not name.
    inputs, refine
        Inputs that follow a formula exactly instead of straight lines between the rows, and
        the communication steps between two rows that approximate it.
    """

    file: Path
    tube: _Positive = 1e-5
    tubes: Mapping[str, _Positive] = field(default_factory=dict)
    tube_time: Annotated[float, FINITE] = 0.0
    tolerance: _Positive | None = None
    without: tuple[str, ...] = ()
    start_values: Mapping[str, _Finite] = field(default_factory=dict)
    inputs: Mapping[str, _AnySignal] = field(default_factory=dict)
    refine: Annotated[int, Range(least=1, most=_MOST)] = 1


@dataclass(frozen=True)
class SmokeExperiment:
    """A run that an FMU without a reference must at least complete and reproduce.

    `start` and `stop` are in s, by default those of the FMU's default experiment; `samples`
    is the number of communication points, and `tolerance` that of the FMU's solver,
    ``None`` for its default. `inputs` and `start_values` differ from the FMU's start
    values.
    """

    start: _Finite | None = None
    stop: _Finite | None = None
    samples: Annotated[int, Range(least=2, most=_MOST)] = 1001
    tolerance: _Positive | None = None
    inputs: Mapping[str, _AnySignal] = field(default_factory=dict)
    start_values: Mapping[str, _Finite] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildSettings:
    """Settings of a compiler, and the accuracy of its FMU.

    `tolerance` is the default relative tolerance of the integrator in the FMU. If larger,
    `tube` replaces the widths of all reference experiments, and `step_tube` and
    `exchange_tube` those of the entry.
    """

    tolerance: _Positive | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tube: _Positive | None = None
    step_tube: _Positive | None = None
    exchange_tube: _Positive | None = None


@dataclass(frozen=True, kw_only=True)
class _LibraryTable:
    """``[libraries.NAME]``: defaults of the entries of a library."""

    section: Section
    sources: tuple[str, ...]
    compilers: tuple[str, ...] = ("embedded", "openmodelica")
    compiler: Mapping[str, BuildSettings] = field(default_factory=dict)
    platforms: str | tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class _EntryTable:
    """``[[fmus]]``."""

    section: Section
    class_name: Annotated[str | None, InFile("class")] = None
    file: str | None = None
    compilers: tuple[str, ...] = ()
    compiler: Mapping[str, BuildSettings] = field(default_factory=dict)
    platforms: str | tuple[str, ...] | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    identifiable: Mapping[str, str] = field(default_factory=dict)
    references: tuple[ReferenceExperiment, ...] = ()
    smoke: SmokeExperiment = SmokeExperiment()
    step_tube: _Positive | None = None
    exchange_tube: _Positive | None = None


@dataclass(frozen=True, kw_only=True)
class _CatalogTable:
    libraries: Mapping[str, _LibraryTable] = field(default_factory=dict)
    fmus: tuple[_EntryTable, ...]


@dataclass(frozen=True)
class Entry:
    """One FMU of the catalogue.

    Parameters
    ----------
    class_name
        Full Modelica name; empty for an FMU from another tool, which is not built here.
    file
        Name of the FMU, such as ``Mechanisms.FMUs.Tripod.fmu``.
    sources
        Modelica packages: that of the class, and those it uses.
    compilers
        Names of the compilers that can build it, the preferred one first.
    settings
        Settings by compiler.
    interface
        Required variables; ``None`` if the catalogue does not specify them.
    references
        Recorded trajectories that it must reproduce.
    smoke
        Run that it must at least complete.
    step_tube
        Permissible difference between results with the communication step h, h/2 and 2h,
        relative to the range of each signal; ``None`` for 1e-4 if the FMU states a
        tolerance.
    exchange_tube
        Likewise between Co-Simulation and Model Exchange; ``None`` for what the stated
        tolerance permits.
    platforms
        FMI 2.0 names of the platforms for which it has binaries; empty for that of the
        building machine.
    line
        Line in the catalogue, for messages.
    """

    class_name: str
    file: str
    sources: tuple[Path, ...]
    compilers: tuple[str, ...]
    settings: Mapping[str, BuildSettings]
    interface: Interface | None
    references: tuple[ReferenceExperiment, ...]
    smoke: SmokeExperiment
    step_tube: float | None = None
    exchange_tube: float | None = None
    platforms: tuple[str, ...] = ()
    line: int | None = None

    def settings_of(self, compiler: str) -> BuildSettings:
        """Return the settings of a compiler; defaults if the catalogue has none."""
        return self.settings.get(compiler, BuildSettings())

    @property
    def foreign(self) -> bool:
        """Whether the FMU is from another tool, i.e. the catalogue names no class."""
        return not self.class_name


@dataclass(frozen=True)
class Catalog:
    """All FMUs of a project, in the order of the file.

    `notes` say how the names of classes were understood.
    """

    path: Path
    entries: tuple[Entry, ...]
    notes: tuple[Diagnostic, ...] = ()

    @property
    def built(self) -> tuple[Entry, ...]:
        """The entries that are built from a class."""
        return tuple(e for e in self.entries if not e.foreign)

    def entry_of_fmu(self, model_name: str, file: Path) -> Entry | None:
        """Return the entry of an FMU, found by its model name or file name."""
        for entry in self.entries:
            place = self.path.parent / entry.file
            same = file.name == entry.file or file.resolve() == place.resolve()
            if same or (model_name == entry.class_name and not entry.foreign):
                return entry
        return None
