"""Machines as the tests see them: build once, simulate to a table of named signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fmident.compilers.base import Compiler
from fmident.compilers.embedded import EmbeddedCompiler
from fmident.fmu import Fmu, SimulationSetup, Simulator, open_fmu

ROOT = Path(__file__).parents[3]
LIBRARY = ROOT / "modelica" / "Mechanisms"
TEST_LIBRARY = ROOT / "tests" / "modelica" / "library" / "MechanismsTest"
Build = Callable[[Compiler, str, tuple[Path, ...]], Path]
Signals = dict[str, NDArray[np.float64]]


class Machine:
    """One built class with one reused instance."""

    def __init__(self, fmu: Fmu) -> None:
        self.fmu = fmu
        self.names = {v.name for v in fmu.description.variables}
        self._simulator: Simulator | None = None

    @property
    def simulator(self) -> Simulator:
        if self._simulator is None:
            self._simulator = self.fmu.simulator()
        return self._simulator

    def simulate(
        self,
        times: NDArray[np.float64],
        inputs: Mapping[str, NDArray[np.float64]] | None = None,
        outputs: Sequence[str] = (),
        parameters: Mapping[str, float] | None = None,
        tolerance: float | None = None,
    ) -> Signals:
        """Outputs at `times`; inputs are linear between the instants."""
        given = dict(inputs or {})
        setup = SimulationSetup(
            times=times,
            input_names=tuple(given),
            inputs=np.column_stack(list(given.values())) if given else None,
            output_names=tuple(outputs),
            tolerance=tolerance,
            interpolation="linear" if given and self._interpolates else "auto",
        )
        table = self.simulator.simulate(setup, dict(parameters or {}))
        return {name: table[:, k] for k, name in enumerate(outputs)}

    @property
    def _interpolates(self) -> bool:
        return bool(self.fmu.description.can_interpolate_inputs)

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
        self.fmu.close()


class Workshop:
    """Builds machines on request, each once."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._compiler = EmbeddedCompiler()
        self._machines: dict[str, Machine] = {}
        self.unavailable = self._compiler.unavailable()

    def machine(self, class_name: str) -> Machine:
        """Machine of a class of ``Mechanisms``, or of ``MechanismsTest`` by its full name."""
        if class_name not in self._machines:
            own = class_name.startswith("MechanismsTest.")
            full_name = class_name if own else f"Mechanisms.{class_name}"
            fmu = self._build(self._compiler, full_name, (LIBRARY, TEST_LIBRARY))
            self._machines[class_name] = Machine(open_fmu(fmu))
        return self._machines[class_name]

    def close(self) -> None:
        for machine in self._machines.values():
            machine.close()
