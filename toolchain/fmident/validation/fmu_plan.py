"""Plan of the checks of an FMU: immutable, and small enough to be sent to a process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import cast

from fmident.arrays import F64
from fmident.catalog.file import Entry, Interface, ReferenceExperiment, SmokeExperiment
from fmident.compilers.platforms import read_record
from fmident.errors import DataError, Location
from fmident.fmu.setup import INTERPOLATIONS, Interpolation

_INTERPOLATION = re.compile(r"^#\s*interpolation\s*:\s*(?P<word>.*?)\s*$")
_PARAMETERS = re.compile(r"^#\s*parameters\s*:(?P<pairs>.*)$")
_TIME_NAMES = ("time", "t")


@dataclass(frozen=True, eq=False)
class Recording:
    """Signals of a reference file.

    `name` is that of the file without folder and suffix; `times` are in s, and times and
    signals have shape (n,). `units` are ``None`` if the header gives none. `parameters` and
    the `interpolation` of the inputs are from the comment lines ``# parameters: name=value
    ...`` and ``# interpolation: word``.
    """

    name: str
    times: F64
    signals: Mapping[str, F64]
    units: Mapping[str, str | None]
    parameters: Mapping[str, float]
    interpolation: Interpolation | None = None


@dataclass(frozen=True, eq=False)
class Reference:
    """A recording and the criteria for following it."""

    recording: Recording
    experiment: ReferenceExperiment
    strict: bool = True
    """Every column and parameter of the file must be a variable of the FMU."""


@dataclass(frozen=True, eq=False)
class FmuPlan:
    """All checks required for one FMU.

    `interface` is ``None`` if unspecified. `step_tube` and `exchange_tube` are the
    permissible differences, over range, between communication steps (``None`` for 1e-4) and
    between Co-Simulation and Model Exchange (``None`` for what its tolerance permits); by
    default exceeding them is a failure only if the FMU states a tolerance. The memory check
    makes `resets` runs, or fewer within the `memory_budget`, s. `only` names the checks to
    run; ``None`` for all.
    """

    path: Path
    interface: Interface | None = None
    references: tuple[Reference, ...] = ()
    smoke: SmokeExperiment = field(default_factory=SmokeExperiment)
    step_tube: float | None = None
    exchange_tube: float | None = None
    resets: int = 1000
    memory_budget: float = 20.0
    only: tuple[str, ...] | None = None


def plan_fmu(
    path: Path,
    entry: Entry | None = None,
    references: Sequence[ReferenceExperiment] = (),
    *,
    resets: int = 1000,
    only: tuple[str, ...] | None = None,
) -> FmuPlan:
    """Return the plan of the checks of an FMU with an optional catalogue entry.

    `references` are added to those of the catalogue; their columns that the FMU lacks are
    ignored. `resets` and `only` are as in :class:`FmuPlan`. Raises `DataError` for a
    reference that cannot be read.
    """
    more = tuple(Reference(read_recording(r.file), r, strict=False) for r in references)
    if entry is None:
        return FmuPlan(path, references=more, resets=resets, only=only)
    settings = entry.settings_of(compiler_of(path, entry.compilers))
    known = tuple(
        Reference(read_recording(r.file), _widened(r, settings.tube)) for r in entry.references
    )
    return FmuPlan(
        path,
        entry.interface,
        (*known, *more),
        entry.smoke,
        _wider(entry.step_tube, settings.step_tube),
        _wider(entry.exchange_tube, settings.exchange_tube),
        resets,
        only=only,
    )


def compiler_of(path: Path, known: Sequence[str]) -> str:
    """Return the name of the compiler that built an FMU; ``""`` if it is not recorded."""
    compiler = str((read_record(path) or {}).get("compiler", "")).casefold()
    return next((name for name in known if name.casefold() in compiler), "")


def read_recording(path: Path) -> Recording:
    """Read a recording from a CSV file.

    It has a column ``time [s]``, then signals as ``name [unit]`` with the FMU's names.
    Lines that start with ``#`` are comments, possibly ``# parameters: name=value ...`` and
    ``# interpolation: hold``. Raises `DataError` if it is missing, not CSV, or has no time
    or gaps.
    """
    # Imported late: the child process needs this module, but not pandas.
    from fmident.data import read_table

    table = read_table(path)
    time = next((n for n in table.names if n.casefold() in _TIME_NAMES), None)
    if time is None:
        raise DataError(
            "a reference needs a column 'time'",
            location=Location(str(path)),
            hint="found: " + ", ".join(f"'{n}'" for n in table.names[:6]),
        )
    names = [n for n in table.names if n != time]
    signals = {n: table.column(n) for n in names}
    for name, values in ((time, table.column(time)), *signals.items()):
        gaps = values != values
        if gaps.any():
            raise DataError(f"column '{name}' has a gap", location=table.where(int(gaps.argmax())))
    return Recording(
        path.stem,
        table.column(time),
        signals,
        {n: table.units.get(n) for n in names},
        _parameters(path),
        _interpolation(path),
    )


def _remarks(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig") as lines:
        yield from takewhile(lambda line: line[1].startswith("#"), enumerate(lines, 1))


def _interpolation(path: Path) -> Interpolation | None:
    for number, line in _remarks(path):
        if match := _INTERPOLATION.match(line):
            if match["word"] not in INTERPOLATIONS:
                raise DataError(
                    f"interpolation is '{match['word']}'",
                    location=Location(str(path), number),
                    hint="known: " + ", ".join(INTERPOLATIONS),
                )
            return cast("Interpolation", match["word"])
    return None


def _parameters(path: Path) -> dict[str, float]:
    parameters: dict[str, float] = {}
    for number, line in _remarks(path):
        match = _PARAMETERS.match(line)
        for pair in match["pairs"].split() if match else ():
            name, _, value = pair.partition("=")
            try:
                parameters[name] = float(value)
            except ValueError:
                raise DataError(
                    f"'{pair}' is not of the form name=value",
                    location=Location(str(path), number),
                ) from None
    return parameters


def _wider(first: float | None, second: float | None) -> float | None:
    return max((width for width in (first, second) if width is not None), default=None)


def _widened(experiment: ReferenceExperiment, tube: float | None) -> ReferenceExperiment:
    if tube is None or tube <= experiment.tube:
        return experiment
    tubes = {name: max(width, tube) for name, width in experiment.tubes.items()}
    return replace(experiment, tube=tube, tubes=tubes)
