"""What is to be checked of an FMU: immutable, and small enough to be sent to a process."""

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
class Trajectory:
    """A recorded trajectory in memory.

    Parameters
    ----------
    name
        Of the file, without folder and ending.
    times
        s, shape (n,).
    signals
        Column to values, shape (n,).
    units
        Column to unit, ``None`` where the header gives none.
    parameters
        As the line ``# parameters: name=value ...`` of the file gives them.
    interpolation
        Of the inputs, as the line ``# interpolation: word`` of the file gives it.
    """

    name: str
    times: F64
    signals: Mapping[str, F64]
    units: Mapping[str, str | None]
    parameters: Mapping[str, float]
    interpolation: Interpolation | None = None


@dataclass(frozen=True, eq=False)
class Reference:
    """A trajectory and how the FMU must follow it."""

    trajectory: Trajectory
    experiment: ReferenceExperiment
    strict: bool = True
    """Every column and parameter of the file must be a variable of the FMU."""


@dataclass(frozen=True, eq=False)
class FmuPlan:
    """Everything that is to be checked of one FMU.

    Parameters
    ----------
    path
        The file.
    interface
        What it must offer; ``None`` when nobody said.
    references
        Trajectories that it must reproduce.
    smoke
        What it must survive.
    step_tube
        How much results may differ between communication steps, over range; ``None`` for 1e-4,
        which is a failure only where the FMU states a tolerance.
    exchange_tube
        How much Co-Simulation may differ from Model Exchange, over range; ``None`` for what its
        tolerance leaves, which is a failure only where it states one.
    resets
        Runs of the memory check.
    memory_budget
        Wall time after which the memory check ends with fewer runs, s.
    only
        Names of the checks to be done; ``None`` for all.
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
    """Return what is to be checked of an FMU.

    Parameters
    ----------
    path
        The file.
    entry
        What the catalogue says of it.
    references
        More trajectories than those of the catalogue. Columns of theirs that the FMU does
        not know are left out.
    resets
        Runs of the memory check.
    only
        Names of the checks to be done; ``None`` for all.

    Raises
    ------
    fmident.errors.DataError
        A reference that cannot be read.
    """
    more = tuple(Reference(read_trajectory(r.file), r, strict=False) for r in references)
    if entry is None:
        return FmuPlan(path, references=more, resets=resets, only=only)
    settings = entry.settings_of(compiler_of(path, entry.compilers))
    known = tuple(
        Reference(read_trajectory(r.file), _widened(r, settings.tube)) for r in entry.references
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
    """Return the name of the compiler that built an FMU, ``""`` when its record is silent."""
    said = str((read_record(path) or {}).get("compiler", "")).casefold()
    return next((name for name in known if name.casefold() in said), "")


def read_trajectory(path: Path) -> Trajectory:
    """Read a recorded trajectory.

    Parameters
    ----------
    path
        CSV file: a column ``time [s]``, then signals as ``name [unit]`` by the FMU's
        names. Lines that start with ``#`` are remarks, among them may be
        ``# parameters: name=value ...`` and ``# interpolation: hold``.

    Raises
    ------
    fmident.errors.DataError
        Missing, no CSV, no time, gaps.
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
    return Trajectory(
        path.stem,
        table.column(time),
        signals,
        {n: table.units.get(n) for n in names},
        _parameters(path),
        _interpolation(path),
    )


def _remarks(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the remarks above the header, with their line numbers."""
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
    found: dict[str, float] = {}
    for number, line in _remarks(path):
        match = _PARAMETERS.match(line)
        for pair in match["pairs"].split() if match else ():
            name, equals, value = pair.partition("=")
            try:
                found[name] = float(value)
            except ValueError:
                raise DataError(
                    f"'{pair}' is not of the form name=value",
                    location=Location(str(path), number),
                ) from None
            if not equals:
                raise DataError(
                    f"'{pair}' is not of the form name=value",
                    location=Location(str(path), number),
                )
    return found


def _wider(first: float | None, second: float | None) -> float | None:
    return max((width for width in (first, second) if width is not None), default=None)


def _widened(experiment: ReferenceExperiment, tube: float | None) -> ReferenceExperiment:
    if tube is None or tube <= experiment.tube:
        return experiment
    tubes = {name: max(width, tube) for name, width in experiment.tubes.items()}
    return replace(experiment, tube=tube, tubes=tubes)
