"""What identifies a simulation."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.evaluation.setups import Prepared, SetupTable
from fmident.evaluation.tasks import SimulationTask

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem

KEY_BYTES = 16


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


class SimulationKeys:
    """Gives equal keys to simulations with equal outcome, and different ones to all others.

    A key covers the FMU and its interface, times, inputs, start values, recorded variables,
    tolerance, interpolation, sensitivities, the version of fmident, the initial parameters
    (executors find out there how the FMU takes its inputs), and names and bits of the parameter
    values.

    Parameters
    ----------
    problem
        Its experiments and settings.
    fmu
        Digest of the FMU; anything for keys that do not outlive this process.

    Raises
    ------
    fmident.errors.FmuError
        Times or inputs that cannot be simulated.
    """

    def __init__(self, problem: Problem, fmu: bytes = b"") -> None:
        interface = problem.evaluation.interface
        self._fmu = fmu if interface == "auto" else fmu + interface.encode()
        self._table = SetupTable(problem)
        self._begun: dict[tuple[int, tuple[str, ...]], Any] = {}
        self._setups: dict[int, bytes] = {}

    def of(self, task: SimulationTask) -> bytes:
        """Return the key of one of the problem's simulations."""
        return self._key(self._table.of(task), task.values)

    def of_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Mapping[str, float],
        sensitivities: Sequence[str] = (),
    ) -> bytes:
        """Return the key of a simulation that need not be one of the problem's."""
        return self._key(self._table.other(experiment, variables, sensitivities), values)

    def shapes(self, task: SimulationTask) -> tuple[tuple[int, int], ...]:
        """Return the shapes that the outputs of one of the problem's simulations may have.

        Some executors leave out sensitivities.
        """
        return _shapes(self._table.of(task))

    def shapes_of_other(
        self, experiment: Experiment, variables: Sequence[str], sensitivities: Sequence[str] = ()
    ) -> tuple[tuple[int, int], ...]:
        """Return those of a simulation that need not be one of the problem's."""
        return _shapes(self._table.other(experiment, variables, sensitivities))

    def _key(self, prepared: Prepared, values: Mapping[str, float]) -> bytes:
        names = tuple(values)
        begun = self._begun.get((prepared.number, names))
        if begun is None:
            begun = hashlib.blake2b(self._setup(prepared), digest_size=KEY_BYTES)
            begun.update(repr(names).encode())
            if len(self._begun) > 1000:
                self._begun.clear()
                self._setups.clear()
            self._begun[prepared.number, names] = begun
        digest = begun.copy()
        try:
            digest.update(struct.pack(f"<{len(names)}d", *values.values()))
        except struct.error:  # a value that is not a number
            digest.update(repr(tuple(values.values())).encode())
        found: bytes = digest.digest()
        return found

    def _setup(self, prepared: Prepared) -> bytes:
        """Return the digest of everything but the parameter values."""
        found = self._setups.get(prepared.number)
        if found is None:
            from fmident._version import __version__

            setup = prepared.setup
            digest = hashlib.sha256(self._fmu)
            plain: tuple[object, ...] = (
                __version__,
                setup.input_names,
                setup.output_names,
                sorted(setup.start_values.items()),
                sorted(prepared.values.items()),
                setup.tolerance,
                setup.interpolation,
                setup.times.shape,
            )
            if setup.sensitivities:
                plain = (*plain, setup.sensitivities)
            if setup.substeps != 1:
                plain = (*plain, "substeps", setup.substeps)
            if setup.input_interpolation:
                plain = (*plain, sorted(setup.input_interpolation.items()))
            digest.update(repr(plain).encode())
            digest.update(setup.times.tobytes())
            if setup.inputs is not None:
                digest.update(setup.inputs.tobytes())
            found = self._setups[prepared.number] = digest.digest()
        return found


def _shapes(prepared: Prepared) -> tuple[tuple[int, int], ...]:
    setup = prepared.setup
    rows, columns = setup.times.size, len(setup.output_names)
    return (rows, columns), (rows, columns * (1 + len(setup.sensitivities)))


def population_key(scope: bytes, points: F64) -> bytes:
    """Return the key of the costs at points, shape (k, n), of what `scope` is the digest of."""
    digest = hashlib.blake2b(scope, digest_size=KEY_BYTES)
    digest.update(repr(points.shape).encode())
    digest.update(points.tobytes())
    return digest.digest()
