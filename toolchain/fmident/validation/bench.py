"""The FMU under test, and its experiments as simulation setups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fmident.arrays import F64
from fmident.catalog.file import Signal, SmokeExperiment
from fmident.context_managers import Closes
from fmident.errors import FmuError, UnitError
from fmident.fmu import Fmu, SimulationSetup, Simulator, Value, interpolates_inputs, open_fmu
from fmident.fmu.life_cycle.holder import Reuse
from fmident.fmu.model_description.description import InterfaceKind
from fmident.fmu.setup import Interpolation, between
from fmident.units import convert, parse_unit
from fmident.validation.fmu_plan import FmuPlan, Reference
from fmident.validation.result import Outcome

_DEFAULT_SPAN = 1.0
_TRIAL_ROWS = 2000
_MOST_OWN_STEPS = 30_000
_FEWEST = 10  # instants of an experiment that the FMU ends itself


@dataclass(frozen=True, eq=False)
class Experiment:
    """A simulation setup and, for a reference, the expected result.

    `values` are parameters and start values. `expected` are the reference signals of the
    setup's outputs in the FMU's units, shape (n, outputs), at every `stride`-th instant;
    `left_out` are columns and parameters of the reference that the FMU lacks.
    """

    name: str
    setup: SimulationSetup
    values: Mapping[str, float]
    expected: F64 | None = None
    stride: int = 1
    left_out: tuple[str, ...] = ()


class Bench(Closes):
    """An open FMU with one simulator for all checks; a context manager.

    Raises `FmuError` if the file cannot be used on this machine.
    """

    def __init__(self, plan: FmuPlan) -> None:
        self.plan = plan
        self.fmu: Fmu = open_fmu(plan.path)
        self.description = self.fmu.description
        self._simulator: Simulator | None = None
        self._interpolation: Interpolation | None = None

    @property
    def simulator(self) -> Simulator:
        """The instance shared by all checks."""
        if self._simulator is None:
            self._simulator = self.new_simulator()
        return self._simulator

    def new_simulator(self, reuse: Reuse = "checked") -> Simulator:
        """Return a new instance; the shared one is closed first if only one is allowed.

        Its output is not captured, since it must survive a crash; see the parent process.
        """
        self.make_room()
        return self.fmu.simulator(capture_output=False, reuse=reuse)

    def make_room(self) -> None:
        """Close the shared instance if only one is allowed."""
        if self.description.only_once_per_process and self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def beside(self, interface: InterfaceKind) -> Simulator:
        """Return an instance of one interface, which is the shared one if it matches.

        Notes
        -----
        Closed by the caller, or in a ``with`` block; a shared one is recreated when needed.
        """
        if interface == self.description.capabilities.kind:
            shared, self._simulator = self.simulator, None
            return shared
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None
        return self.fmu.simulator(capture_output=False, interface=interface)

    def simulate(
        self,
        setup: SimulationSetup,
        values: Mapping[str, Value] | None = None,
        simulator: Simulator | None = None,
    ) -> F64:
        """Run a setup with the shared instance, or with another one."""
        return (simulator or self.simulator).simulate(setup, values)

    # -------------------------------------------------------------- experiments

    @cached_property
    def smoke(self) -> Experiment:
        """The experiment that the FMU must at least complete."""
        return self._smoke(self.plan.smoke)

    def end_before(self, end: float) -> bool:
        """End the smoke experiment before `end`, s; return whether anything is left of it."""
        setup = self.smoke.setup
        count = int((setup.times < end - 1e-9 * abs(end)).sum())
        if count < _FEWEST:
            return False
        self.smoke = replace(self.smoke, setup=setup.shortened(count))
        self.__dict__.pop("main", None)
        return True

    @cached_property
    def main(self) -> Experiment:
        """The first reference with its steps at the FMU's tolerance, else the smoke experiment."""
        if not self.plan.references:
            return self.smoke
        first = self.plan.references[0]
        asked = replace(first.experiment, refine=1, tolerance=None)
        return self.reference(replace(first, experiment=asked))

    def _smoke(self, smoke: SmokeExperiment) -> Experiment:
        start = self.description.default_start or 0.0 if smoke.start is None else smoke.start
        stop = self.description.default_stop if smoke.stop is None else smoke.stop
        if stop is None or not stop > start:
            stop = start + _DEFAULT_SPAN
        samples = smoke.samples
        own_step = self.description.default_step
        if own_step and not self.description.can_handle_variable_step:
            samples = min(round((stop - start) / own_step), _MOST_OWN_STEPS) + 1
            stop = start + (samples - 1) * own_step
        times = np.linspace(start, stop, samples)
        setup = self._setup(times, smoke.inputs, {}, self._outputs(), smoke.tolerance)
        return Experiment("its own experiment", setup, dict(smoke.start_values))

    def reference(self, reference: Reference) -> Experiment:
        """Return a reference as an experiment.

        Raises `FmuError` if a column or parameter is not a variable of this FMU, or has another
        dimension.
        """
        recording, asked = reference.recording, reference.experiment
        unknown = [n for n in (*recording.signals, *recording.parameters) if n not in self._known]
        surprising = [n for n in unknown if n not in asked.without]
        if surprising and reference.strict:
            self.description.variable(surprising[0])  # raises with the nearest names
        signals = {
            n: self._in_own_unit(n, values, recording.units[n])
            for n, values in recording.signals.items()
            if n in self._known
        }
        inputs = {v.name for v in self.description.inputs}
        outputs = tuple(n for n in signals if n not in inputs)
        if not outputs:
            raise FmuError(
                f"the reference '{recording.name}' has no column that the FMU computes",
                hint="name columns like the FMU's outputs: "
                + ", ".join(v.name for v in self.description.outputs[:6]),
            )
        times = between(recording.times, asked.refine)
        driven = {n: v for n, v in signals.items() if n in inputs and n not in asked.inputs}
        held = recording.interpolation == "hold"
        if asked.refine > 1:
            known = recording.times
            last = np.searchsorted(known, times, side="right") - 1
            driven = {n: v[last] if held else np.interp(times, known, v) for n, v in driven.items()}
        setup = self._setup(times, asked.inputs, driven, outputs, asked.tolerance)
        if recording.interpolation is not None:
            setup = replace(setup, interpolation=recording.interpolation)
        parameters = {n: v for n, v in recording.parameters.items() if n in self._known}
        return Experiment(
            recording.name,
            setup,
            {**parameters, **asked.start_values},
            np.column_stack([signals[n] for n in outputs]),
            asked.refine,
            tuple(unknown),
        )

    def _setup(
        self,
        times: F64,
        formulas: Mapping[str, Signal],
        columns: Mapping[str, F64],
        outputs: tuple[str, ...],
        tolerance: float | None,
    ) -> SimulationSetup:
        inputs = {**columns, **{n: s.values(times) for n, s in formulas.items()}}
        for name in inputs:
            self.description.variable(name)
        setup = SimulationSetup(
            times,
            tuple(inputs),
            np.column_stack(list(inputs.values())) if inputs else None,
            outputs,
            tolerance=tolerance,
        )
        return replace(setup, interpolation=self.interpolation_of(setup))

    def interpolation_of(self, setup: SimulationSetup) -> Interpolation:
        """Return the interpolation closest to straight lines between the input samples.

        FMUs of OpenModelica declare interpolation but hold the inputs.
        """
        if self.description.input_ramps is not None or not setup.input_names:
            return "auto"
        if not self.description.can_interpolate_inputs:
            return "hold"
        if self._interpolation is None:
            if not interpolates_inputs(self.simulator, setup.shortened(_TRIAL_ROWS)):
                return "mean"
            self._interpolation = "linear"
        return self._interpolation

    def follows_lines(self, setup: SimulationSetup) -> bool:
        """Return whether inputs are straight lines between the samples of a setup."""
        ramps = self.description.input_ramps is not None and setup.interpolation == "auto"
        return ramps or setup.interpolation == "linear"

    @property
    def states_tolerance(self) -> bool:
        """Whether the accuracy of the FMU's own integration is known."""
        tolerance = self.main.setup.tolerance or self.description.default_tolerance
        return tolerance is not None and self._fixed_step is None

    @property
    def _fixed_step(self) -> float | None:
        """Step of its Co-Simulation, s, if that has a fixed one; else ``None``."""
        kinds = [c.fixed_step for c in self.description.interfaces if c.kind == "co-simulation"]
        return kinds[0] if kinds else None

    def too_coarse(self, key: str, limit: float | None) -> tuple[Outcome, str]:
        """Return the outcome and reason of a check whose deviation exceeds its limit.

        `key` and `limit` are those of the catalogue; ``None`` if it has no limit.
        """
        if limit is not None or self.states_tolerance:
            return "failed", ""
        why = "takes fixed steps" if self._fixed_step else "states no tolerance"
        return "finding", f"; the FMU {why}: '{key}' in the catalogue makes a limit of it"

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.description.by_name)

    def _outputs(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.description.recorded)

    def _in_own_unit(self, name: str, values: F64, unit: str | None) -> F64:
        own = self.description.variable(name).unit
        if not unit or not own or unit == own:
            return values
        try:
            return convert(values, parse_unit(unit), parse_unit(own))
        except UnitError as error:
            raise FmuError(f"the reference's column '{name}': {error.message}") from error

    def close(self) -> None:
        """Free the FMU."""
        self.fmu.close()
