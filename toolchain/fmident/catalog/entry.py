"""What the catalogue says of an FMU, as immutable data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmidentError, did_you_mean


class CatalogError(FmidentError):
    """A catalogue that is wrong, or that does not hold what was asked for."""

    default_code = Code.INVALID_CATALOG


@dataclass(frozen=True)
class Signal:
    """An input as a formula: an offset and a sum of sines.

    Parameters
    ----------
    offset
        Constant part, in the variable's unit.
    sines
        ``(amplitude, frequency, phase)`` in the variable's unit, Hz and rad.
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
    """What an FMU must offer; name to unit, ``""`` for a number without one.

    Parameters
    ----------
    inputs, outputs
        All of them: another one is an error.
    identifiable
        Parameters that can be set and that change an output.
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
    tube
        Half width of the tube around the reference, over the range of each signal.
    tubes
        Signals with a width of their own.
    tube_time
        Half width of the tube in time, s.
    tolerance
        Relative tolerance for the FMU's solver; ``None`` takes the FMU's default.
    without
        Parameters in the file's header that the model does not have, because they belong
        to the model that made the file and have no influence there.
    start_values
        Parameters and start values that the file's header does not name.
    inputs
        Inputs that follow a formula exactly rather than straight lines between the rows.
    refine
        Communication steps between two rows, so that such formulas are followed closely.
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
    """A run that an FMU without a reference must at least survive and repeat.

    Parameters
    ----------
    start, stop
        s; ``None`` takes the FMU's default experiment.
    samples
        Communication points.
    tolerance
        Relative tolerance for the FMU's solver; ``None`` takes the FMU's default.
    inputs
        Inputs that do not rest at their start values.
    start_values
        Parameters and start values that differ from the FMU's.
    """

    start: float | None = None
    stop: float | None = None
    samples: int = 1001
    tolerance: float | None = None
    inputs: Mapping[str, Signal] = field(default_factory=dict)
    start_values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildSettings:
    """How one compiler builds, and how exact its FMU is.

    Parameters
    ----------
    tolerance
        Default relative tolerance of the integrator in the FMU.
    options
        Options of the compiler.
    tube
        Replaces the widths of all reference experiments when it is wider.
    step_tube, exchange_tube
        Replace the widths of the entry when they are wider.
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
        Modelica packages: that of the class, and those that it uses.
    compilers
        Names of the compilers that can build it, the preferred one first.
    settings
        Compiler to its settings.
    interface
        What the FMU must offer; ``None`` if the catalogue does not specify it.
    references
        Recorded trajectories that it must reproduce.
    smoke
        What it must at least survive.
    step_tube
        How much the results with the communication step h, h/2 and 2h may differ, over
        the range of each signal; ``None`` for 1e-4 where the FMU states a tolerance.
    exchange_tube
        How much its Co-Simulation may differ from its Model Exchange, likewise; ``None`` for what
        the tolerance that it states leaves.
    platforms
        What its FMU holds binaries for, by the names of FMI 2.0; none for the platform of the
        machine that builds it.
    line
        Of the catalogue, for messages.
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
        """Return the settings of a compiler; defaults where the catalogue is silent."""
        return self.settings.get(compiler, BuildSettings())

    @property
    def foreign(self) -> bool:
        """Whether the FMU comes from elsewhere: the catalogue names no class of it."""
        return not self.class_name


@dataclass(frozen=True)
class Catalog:
    """All FMUs of a project.

    Parameters
    ----------
    path
        The file.
    entries
        In the file's order.
    """

    path: Path
    entries: tuple[Entry, ...]

    @property
    def built(self) -> tuple[Entry, ...]:
        """The entries that are built from a class."""
        return tuple(e for e in self.entries if not e.foreign)

    def entry(self, class_name: str) -> Entry:
        """Return the entry of a class.

        Raises
        ------
        CatalogError
            There is none; the nearest classes are named.
        """
        for entry in self.built:
            if entry.class_name == class_name:
                return entry
        raise CatalogError(
            f"'{self.path}' has no entry for the class '{class_name}'",
            hint=did_you_mean(class_name, [e.class_name for e in self.built], kind="class"),
            code=Code.UNKNOWN_NAME,
        )

    def entry_of_fmu(self, model_name: str, file: Path) -> Entry | None:
        """Return the entry that an FMU belongs to, by its model's name or its file's."""
        for entry in self.entries:
            place = self.path.parent / entry.file
            same = file.name == entry.file or file.resolve() == place.resolve()
            if same or (model_name == entry.class_name and not entry.foreign):
                return entry
        return None
