"""Read ``catalog.toml``; every error has file and line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.compilers.platforms import platform_names
from fmident.errors import Code, CompilationError, FmidentError, Location, UnitError, did_you_mean
from fmident.toml_file import Section, Source, parse_toml
from fmident.units import parse_unit

FILE_NAME = "catalog.toml"

_MOST = 1_000_000
"""Instants and refinements; more would not fit into memory."""

_RANGE = re.compile(r"(\d+):(\d+)")
_CLASS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def find_catalog(start: Path) -> Path:
    """Return ``fmus/catalog.toml`` in a folder or its nearest parent that has one.

    Raises `CatalogError` if there is none.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        for place in (folder / "fmus" / FILE_NAME, folder / FILE_NAME):
            if place.is_file():
                return place
    raise CatalogError(
        f"there is no 'fmus/{FILE_NAME}' here or in a folder above",
        hint="name the catalogue with --catalog",
        code=Code.UNKNOWN_NAME,
    )


def read_catalog(path: str | Path) -> Catalog:
    """Read a catalogue; paths in it are relative to its folder.

    Raises `CatalogError`, with the line, if it is missing, not TOML, has unknown keys,
    wrong types, unreadable units, missing references or a duplicate class.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise CatalogError(
            f"there is no catalogue '{path}'", hint="check the path", code=Code.UNKNOWN_NAME
        ) from None
    except UnicodeDecodeError as error:
        raise CatalogError(
            f"the file is not text in UTF-8 (byte {error.start})",
            location=Location(str(path)),
            code=Code.UNUSABLE_FILE,
        ) from error
    except OSError as error:
        raise CatalogError(
            f"the catalogue '{path}' cannot be read: {error.strerror}", code=Code.UNUSABLE_FILE
        ) from error
    content = parse_toml(text, path, error=CatalogError, example='"q[1:3]" = "rad"')
    root = Section(Source(path, text, CatalogError, "the catalogue"), (), content)
    given = root.table("libraries", {})
    libraries = {name: _library(given.table(name)) for name, _ in given.items()}
    tables = root.raw("fmus")
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise root.error("the catalogue has no FMUs: write [[fmus]] with double brackets", "fmus")
    entries: list[Entry] = []
    for number, table in enumerate(tables):
        section = Section(root.source, ("fmus", number), table)
        entry = _entry(section, libraries)
        for other in entries:
            if entry.class_name == other.class_name and not entry.foreign:
                raise section.error(
                    f"the class '{entry.class_name}' has an entry already, in line {other.line}",
                    "class",
                )
            if entry.file == other.file:
                raise section.error(f"'{entry.file}' is the file of two entries", "file")
        entries.append(entry)
    root.finish()
    return Catalog(path, tuple(entries))


class _Library:
    """Default settings of the entries of a library."""

    def __init__(
        self,
        sources: tuple[Path, ...],
        compilers: tuple[str, ...],
        settings: Mapping[str, BuildSettings],
        platforms: tuple[str, ...],
    ) -> None:
        self.sources = sources
        self.compilers = compilers
        self.settings = settings
        self.platforms = platforms


def _library(section: Section) -> _Library:
    base = section.source.path.parent
    sources = section.words("sources")
    if not sources:
        raise section.error(f"{section.title} needs the key 'sources'", hint="a list of folders")
    paths = tuple(base / s for s in sources)
    for path in paths:
        if not path.exists():
            raise section.error(f"there is no source '{path}'", "sources", code=Code.UNKNOWN_NAME)
    compilers = section.words("compilers") or ("embedded", "openmodelica")
    settings = _settings(section, compilers)
    platforms = _platforms(section, ())
    section.finish()
    return _Library(paths, compilers, settings, platforms)


def _platforms(section: Section, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    given = section.raw("platforms", None)
    names = (given,) if isinstance(given, str) else section.words("platforms")
    if names is None:
        return otherwise
    try:
        return platform_names(names)
    except CompilationError as error:
        raise section.error(
            str(error.message), "platforms", hint=error.hint, code=error.code
        ) from None


def _settings(
    section: Section,
    compilers: Sequence[str],
    defaults: Mapping[str, BuildSettings] | None = None,
) -> dict[str, BuildSettings]:
    """Read the tables ``[... .compiler.NAME]``."""
    settings = dict(defaults or {})
    tables = section.table("compiler", {})
    for name, _ in tables.items():
        table = tables.table(name)
        if name not in compilers:
            raise tables.error(
                f"'{name}' is not among the compilers of {section.title}",
                name,
                hint=did_you_mean(name, compilers, kind="compiler"),
                code=Code.UNKNOWN_NAME,
            )
        before = settings.get(name, BuildSettings())
        settings[name] = BuildSettings(
            tolerance=_positive(table, "tolerance", before.tolerance),
            options={**before.options, **dict(table.table("options", {}).items())},
            tube=_positive(table, "tube", before.tube),
            step_tube=_positive(table, "step_tube", before.step_tube),
            exchange_tube=_positive(table, "exchange_tube", before.exchange_tube),
        )
        table.finish()
    return settings


def _entry(section: Section, libraries: Mapping[str, _Library]) -> Entry:
    if section.has("class") or not section.has("file"):
        return _built(section, libraries)
    offers = any(section.has(key) for key in ("inputs", "outputs", "identifiable"))
    entry = Entry(
        class_name="",
        file=section.text("file"),
        sources=(),
        compilers=(),
        settings={},
        interface=_interface(section) if offers else None,
        references=tuple(_reference(r) for r in _tables(section, "references")),
        smoke=_smoke(section.table("smoke", {})),
        step_tube=_positive(section, "step_tube", Entry.step_tube),
        exchange_tube=_positive(section, "exchange_tube", Entry.exchange_tube),
        line=section.source.where(section.keys).line,
    )
    for key in ("compilers", "compiler", "platforms"):
        if section.has(key):
            raise section.error(
                f"'{key}' applies only to FMUs that are built from a class; this entry has none",
                key,
                hint=f"add the key 'class', or leave out '{key}'",
                code=Code.MISSING_KEY,
            )
    section.finish()
    return entry


def _interface(section: Section) -> Interface:
    tables = (section.table(k, {}) for k in ("inputs", "outputs", "identifiable"))
    return Interface(*map(_variables, tables))


def _built(section: Section, libraries: Mapping[str, _Library]) -> Entry:
    class_name = section.text("class")
    if not _CLASS.fullmatch(class_name):
        raise section.error(f"'{class_name}' is not the full name of a Modelica class", "class")
    top = class_name.partition(".")[0]
    if top not in libraries:
        raise section.error(
            f"there is no table [libraries.{top}] for the class '{class_name}'",
            "class",
            hint=did_you_mean(top, libraries, kind="library"),
            code=Code.UNKNOWN_NAME,
        )
    library = libraries[top]
    compilers = section.words("compilers") or library.compilers
    for name in compilers:
        if name not in library.compilers:
            raise section.error(
                f"'{name}' is not among the compilers of [libraries.{top}]",
                "compilers",
                hint=did_you_mean(name, library.compilers, kind="compiler"),
                code=Code.UNKNOWN_NAME,
            )
    references = tuple(_reference(r) for r in _tables(section, "references"))
    smoke = _smoke(section.table("smoke", {}))
    entry = Entry(
        class_name=class_name,
        file=section.text("file", f"{class_name}.fmu"),
        sources=library.sources,
        compilers=compilers,
        settings=_settings(section, compilers, library.settings),
        interface=_interface(section),
        references=references,
        smoke=smoke,
        step_tube=_positive(section, "step_tube", Entry.step_tube),
        exchange_tube=_positive(section, "exchange_tube", Entry.exchange_tube),
        platforms=_platforms(section, library.platforms),
        line=section.source.where(section.keys).line,
    )
    section.finish()
    return entry


def _tables(section: Section, key: str) -> list[Section]:
    tables = section.raw(key, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise section.wrong(key, tables, f"a list of tables, written [[fmus.{key}]]")
    return [Section(section.source, (*section.keys, key, n), t) for n, t in enumerate(tables)]


def _reference(section: Section) -> ReferenceExperiment:
    file = section.source.path.parent / section.text("file")
    if not file.is_file():
        near = [p.name for p in file.parent.glob("*.csv")] if file.parent.is_dir() else []
        raise section.error(
            f"there is no reference '{file}'",
            "file",
            hint=did_you_mean(file.name, near, kind="file"),
            code=Code.UNKNOWN_NAME,
        )
    reference = ReferenceExperiment(
        file=file,
        tube=_positive(section, "tube", ReferenceExperiment.tube),
        tubes=_numbers(section.table("tubes", {}), positive=True),
        tube_time=_finite(section, "tube_time", 0.0, least=0.0),
        tolerance=_positive(section, "tolerance", None),
        without=section.words("without") or (),
        start_values=_numbers(section.table("start_values", {})),
        inputs=_signals(section.table("inputs", {})),
        refine=_count(section, "refine", 1, least=1),
    )
    section.finish()
    return reference


def _smoke(section: Section) -> SmokeExperiment:
    smoke = SmokeExperiment(
        start=_finite(section, "start", None),
        stop=_finite(section, "stop", None),
        samples=_count(section, "samples", SmokeExperiment.samples, least=2),
        tolerance=_positive(section, "tolerance", None),
        inputs=_signals(section.table("inputs", {})),
        start_values=_numbers(section.table("start_values", {})),
    )
    section.finish()
    return smoke


def _signals(section: Section) -> dict[str, Signal]:
    signals: dict[str, Signal] = {}
    for key, value in section.items():
        if not isinstance(value, dict):
            signal = Signal(_finite(section, key, None))
        else:
            table = section.table(key)
            sines = table.raw("sines", [])
            if not isinstance(sines, list) or not all(_is_sine(s) for s in sines):
                raise table.wrong("sines", sines, "a list of [amplitude, frequency in Hz, phase]")
            signal = Signal(
                _finite(table, "offset", 0.0),
                tuple((float(a), float(f), float(p)) for a, f, p in sines),
            )
            table.finish()
        for name in expand_name(key):
            signals[name] = signal
    return signals


def _is_sine(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
        and all(math.isfinite(v) for v in value)
    )


def _variables(section: Section) -> dict[str, str]:
    units: dict[str, str] = {}
    for key, _ in section.items():
        unit = section.text(key)
        try:
            parse_unit(unit or "1")
        except UnitError as error:
            raise section.error(f"{section.title}: '{key}': {error.message}", key) from error
        for name in expand_name(key):
            units[name] = unit
    return units


def _numbers(section: Section, *, positive: bool = False) -> dict[str, float]:
    read = _positive if positive else _finite
    return {
        name: read(section, key, None) for key, _ in section.items() for name in expand_name(key)
    }


def _positive(section: Section, key: str, default: Any) -> Any:
    value = section.number(key, default)
    if value is not default and not 0.0 < value < math.inf:
        raise section.wrong(key, value, "a positive number")
    return value


def _finite(section: Section, key: str, default: Any, *, least: float = -math.inf) -> Any:
    value = section.number(key, default)
    if value is not default and not (math.isfinite(value) and value >= least):
        raise section.wrong(key, value, "a finite number" + ("" if least < 0.0 else " from 0 on"))
    return value


def _count(section: Section, key: str, default: int, *, least: int) -> int:
    value = section.raw(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise section.wrong(key, value, f"a whole number, at least {least}, at most {_MOST}")
    return value


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

    offset: float = 0.0
    sines: tuple[tuple[float, float, float], ...] = ()

    def values(self, times: F64) -> F64:
        """Return the signal at `times` (s), shape (n,)."""
        signal: F64 = np.full(times.shape, self.offset)
        for amplitude, frequency, phase in self.sines:
            signal = signal + amplitude * np.sin(2.0 * np.pi * frequency * times + phase)
        return signal


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
    tube: float = 1e-5
    tubes: Mapping[str, float] = field(default_factory=dict)
    tube_time: float = 0.0
    tolerance: float | None = None
    without: tuple[str, ...] = ()
    start_values: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Signal] = field(default_factory=dict)
    refine: int = 1


@dataclass(frozen=True)
class SmokeExperiment:
    """A run that an FMU without a reference must at least complete and reproduce.

    `start` and `stop` are in s, by default those of the FMU's default experiment; `samples`
    is the number of communication points, and `tolerance` that of the FMU's solver,
    ``None`` for its default. `inputs` and `start_values` differ from the FMU's start
    values.
    """

    start: float | None = None
    stop: float | None = None
    samples: int = 1001
    tolerance: float | None = None
    inputs: Mapping[str, Signal] = field(default_factory=dict)
    start_values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildSettings:
    """Settings of a compiler, and the accuracy of its FMU.

    `tolerance` is the default relative tolerance of the integrator in the FMU. If larger,
    `tube` replaces the widths of all reference experiments, and `step_tube` and
    `exchange_tube` those of the entry.
    """

    tolerance: float | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    tube: float | None = None
    step_tube: float | None = None
    exchange_tube: float | None = None


@dataclass(frozen=True)
class Entry:
    """One FMU of the catalogue.

    Parameters
    ----------
    class_name
        Full Modelica name; empty for an FMU from another tool, which is not built here.
    file
        Name of the FMU, such as ``Mechanisms.Robots.Tripod.fmu``.
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
    """All FMUs of a project, in the order of the file."""

    path: Path
    entries: tuple[Entry, ...]

    @property
    def built(self) -> tuple[Entry, ...]:
        """The entries that are built from a class."""
        return tuple(e for e in self.entries if not e.foreign)

    def entry(self, class_name: str) -> Entry:
        """Return the entry of a class, or raise `CatalogError` with similar names."""
        for entry in self.built:
            if entry.class_name == class_name:
                return entry
        raise CatalogError(
            f"'{self.path}' has no entry for the class '{class_name}'",
            hint=did_you_mean(class_name, [e.class_name for e in self.built], kind="class"),
            code=Code.UNKNOWN_NAME,
        )

    def entry_of_fmu(self, model_name: str, file: Path) -> Entry | None:
        """Return the entry of an FMU, found by its model name or file name."""
        for entry in self.entries:
            place = self.path.parent / entry.file
            same = file.name == entry.file or file.resolve() == place.resolve()
            if same or (model_name == entry.class_name and not entry.foreign):
                return entry
        return None
