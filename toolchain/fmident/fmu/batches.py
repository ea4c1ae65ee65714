"""Several simulations of one setup side by side, by an FMU that can do that.

The functions are an extension of FMI, specified in ``docs/reference/batches.md``. What comes out
is equal to the last bit to what each simulation gives alone.
"""

from __future__ import annotations

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from zipfile import is_zipfile

import numpy as np

from fmident._recoverable_lock import RecoverableLock
from fmident.arrays import F64
from fmident.fmu.archive import check_archive
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.extensions import BATCHES
from fmident.fmu.model_description.variables import Value, native_type
from fmident.fmu.native_code.floating import protected
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogRecord
from fmident.fmu.plan import Plan
from fmident.fmu.plans import Plans
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import address_of

START, ADVANCE, END = (BATCHES.functions[k] for k in ("start", "advance", "end"))

SIDE_BY_SIDE = 8
"""About how many simulations make progress at once."""

LARGEST = 64
"""Simulations in a batch: with more of them hardly any time is saved."""

_MOST_BYTES = 256 * 1024 * 1024
"""Of all outputs of a batch."""

_SLICE_SECONDS = 0.02
"""The interpreter is asked for a pending Ctrl-C about this often."""

_FIRST_SLICE = 64  # steps

_OPEN, _DONE, _ALONE = range(3)

Found = Callable[[int, F64], None]
"""Called with the place of a simulation and its outputs, as soon as these are known."""


def offers_batches(path: str | os.PathLike[str]) -> bool:
    """Return whether an FMU says that it simulates side by side; no native code is loaded."""
    if not is_zipfile(path):
        return False
    return BATCHES.offered_by(check_archive(Path(path)))


def largest_batch(rows: int, columns: int) -> int:
    """Return how many simulations with so many instants and outputs one batch may hold."""
    return max(min(LARGEST, _MOST_BYTES // max(8 * rows * columns, 1)), 1)


def fits(plan: Plan, library: Library) -> bool:
    """Return whether an FMU with the extension can simulate a plan side by side."""
    inputs, outputs = plan.inputs, plan.outputs
    return (
        all(library.address(name) for name in (START, ADVANCE, END))
        and plan.sensitivities is None
        and plan.update == "after_step"
        and plan.substeps == 1
        and not inputs.averaged
        and not inputs.ramps  # they are set before each step
        and plan.times.size > 1
        and len(inputs.groups) <= 1
        and inputs.groups == inputs.continuous
        and inputs.is_complete
        and outputs.is_plain
    )


def reals(description: ModelDescription, values: Mapping[str, Value]) -> list[float] | None:
    """Return values as numbers; ``None`` where a simulation alone has to say what is wrong."""
    numbers = []
    for name, value in values.items():
        if native_type(description.variable(name)) not in ("Real", "Float64") or isinstance(
            value, (bool, str)
        ):
            return None
        try:
            numbers.append(float(value))
        except (TypeError, ValueError, OverflowError):
            return None
    return numbers if all(map(math.isfinite, numbers)) else None


def run_batch(
    plan: Plan,
    description: ModelDescription,
    library: Library,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    found: Found,
    time_limit: float | None,
) -> bool:
    """Simulate a plan with several sets of values.

    Parameters
    ----------
    plan
        One that fits, see :func:`fits`.
    description, library
        The FMU.
    names
        Variables to set.
    values
        A value for each name, for each simulation.
    found
        Receives each simulation that has succeeded. The others are to be run alone: that is where
        the reason is found.
    time_limit
        Wall-clock seconds that a simulation may take alone.

    Returns
    -------
    bool
        Whether the FMU has taken the batch on.
    """
    count, rows = len(values), plan.times.size
    sets: F64 = np.array(values, np.float64).reshape(count, len(names))
    known = np.array([description.variable(n).element_reference for n in names], np.uint32)
    results = [np.empty((rows, len(plan.outputs.names))) for _ in range(count)]
    places = np.array([address_of(result) for result in results], np.uint64)
    states = np.zeros(count, np.uint8)
    handled = np.zeros(count, np.bool_)
    ends = None
    if time_limit is not None:
        ends = time.perf_counter() + time_limit * max(1.0, count / SIDE_BY_SIDE)
    with _batch(plan, library, known, sets, places) as batch:
        if not batch:
            return False

        def hand_over() -> None:
            for k in np.flatnonzero((states == _DONE) & ~handled):
                handled[k] = True
                found(int(k), results[k])

        steps, left = 0, count
        try:
            while left:
                before = time.perf_counter()
                if ends is not None and before > ends:
                    break
                size, place = steps, address_of(states)
                left = protected(lambda: library.functions[ADVANCE](batch, size, place))  # noqa: B023
                took = time.perf_counter() - before
                hand_over()
                growth = 8.0 if took <= 0.0 else min(8.0, _SLICE_SECONDS / took)
                steps = max(int(steps * growth), 1) if steps else _FIRST_SLICE
        except KeyboardInterrupt:
            hand_over()  # what has become finished before it came
            raise
    return True


@contextmanager
def _batch(
    plan: Plan, library: Library, known: np.ndarray, sets: F64, places: np.ndarray
) -> Iterator[int]:
    """Begin a batch and free it; 0 where the FMU does not take it on."""
    inputs = plan.inputs.groups[0] if plan.inputs.groups else None
    outputs = plan.outputs.groups[0]
    nothing = np.zeros(0)
    driven = np.zeros(0, np.uint32) if inputs is None else inputs.element_references
    recorded = outputs.element_references
    batch = protected(
        lambda: library.functions[START](
            plan.tolerance or 0.0,
            address_of(plan.times),
            plan.times.size,
            address_of(driven),
            driven.size,
            address_of(nothing if inputs is None else inputs.values),
            int(bool(plan.inputs.lines)),
            address_of(known),
            known.size,
            address_of(sets),
            len(sets),
            address_of(recorded),
            recorded.size,
            address_of(places),
        )
    )
    try:
        yield batch or 0
    finally:
        if batch:
            protected(lambda: library.functions[END](batch))


class SideBySide(ABC):
    """What a simulator has for batches."""

    description: ModelDescription
    log: tuple[LogRecord, ...]
    _lock: RecoverableLock
    _closed: bool
    _plans: Plans
    _runs: int
    _progress: Callable[[str, float], None] | None

    @abstractmethod
    def _count(self, steps: int, warnings: int) -> None: ...

    def simulate_batch(
        self,
        setup: SimulationSetup,
        values: Sequence[Mapping[str, Value]],
        found: Found,
        *,
        time_limit: float | None = None,
    ) -> bool:
        """Run simulations of one setup side by side, where the FMU can do that.

        Parameters
        ----------
        setup
            As for :meth:`simulate`.
        values
            Of each simulation.
        found
            Receives the place of each simulation that has succeeded, and its outputs: the same to
            the last bit as from :meth:`simulate`. The others are to be run alone.
        time_limit
            Of a simulation, s.

        Returns
        -------
        bool
            Whether the FMU has run any.
        """
        with self._lock:
            if self._closed or self._progress is not None:
                return False
            sets: dict[tuple[str, ...], list[tuple[int, list[float]]]] = {}
            plans: dict[tuple[str, ...], Plan] = {}
            for k, chosen in enumerate(values):
                prepared = self._plans.prepare(setup, chosen)
                if not fits(prepared.plan, prepared.plan.library):
                    return False
                numbers = reals(self.description, prepared.values)
                if numbers is not None:
                    names = tuple(prepared.values)
                    plans[names] = prepared.plan
                    sets.setdefault(names, []).append((k, numbers))
            self.log = ()
            taken = False
            for names, members in sets.items():
                taken |= self._side_by_side(plans[names], names, members, found, time_limit)
            return taken

    def _side_by_side(
        self,
        plan: Plan,
        names: Sequence[str],
        members: Sequence[tuple[int, list[float]]],
        found: Found,
        time_limit: float | None,
    ) -> bool:
        """Run simulations that set the same variables; see :meth:`simulate_batch`."""

        def take(place: int, outputs: F64) -> None:
            self._runs += 1
            self._count(plan.times.size - 1, 0)
            found(members[place][0], outputs)

        sets = [numbers for _, numbers in members]
        library = plan.library
        return run_batch(plan, self.description, library, names, sets, take, time_limit)
