"""A simulation setup, resolved against one FMU: references, arrays, the step's program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError
from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import I64, InputUpdate, Runner, Stop
from fmident.fmu.failure import RunFailed, not_finite
from fmident.fmu.instance import I32, U32, CallFailed, Instance
from fmident.fmu.library import DISCARD, Library
from fmident.fmu.program import (
    ADDRESS,
    COLUMNS,
    DERIVATIVES,
    FAILED_CALL,
    FAILED_STATUS,
    FAILED_STEP,
    NOT_FINITE,
    STEP,
    VALUES,
)
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.signals import input_variable, output_variable
from fmident.fmu.values import Assignment, reference_array
from fmident.fmu.variables import Value, Variable

Call = tuple[str, int, int, int, int]
"""Function, address of the value references, count, address of the values of row 0, bytes
per row. Real outputs have no address before a run."""


@dataclass(frozen=True)
class Column:
    """Where an input or output goes: its type's group and the place in it."""

    name: str
    kind: Literal["Real", "Integer", "Boolean"]
    position: int


class Plan:
    """Everything about a run that does not change from run to run.

    Parameters
    ----------
    setup
        What to simulate.
    description, library
        The FMU.

    Raises
    ------
    FmuError
        Unknown names, a column that drives no input, an output that is a text, linear
        interpolation asked of an FMU without it.
    """

    def __init__(
        self, setup: SimulationSetup, description: ModelDescription, library: Library
    ) -> None:
        assert setup.inputs is not None  # set by SimulationSetup itself
        self.setup = setup
        self.times: F64 = setup.times.copy()
        self.tolerance = setup.tolerance or description.default_tolerance
        inputs = [input_variable(description, name) for name in setup.input_names]
        outputs = [output_variable(description, name) for name in setup.output_names]
        self.input_columns = _columns(inputs)
        self.output_columns = _columns(outputs)
        self.real_inputs = np.ascontiguousarray(setup.inputs[:, _of(self.input_columns, "Real")])
        self.integer_inputs = _whole(setup.inputs, self.input_columns, "Integer")
        self.boolean_inputs = _whole(setup.inputs, self.input_columns, "Boolean")
        self.real_input_references = _references(inputs, "Real")
        self.integer_input_references = _references(inputs, "Integer")
        self.boolean_input_references = _references(inputs, "Boolean")
        self.real_output_references = _references(outputs, "Real")
        self.integer_output_references = _references(outputs, "Integer")
        self.boolean_output_references = _references(outputs, "Boolean")
        n = self.times.size
        self.integer_outputs: I32 = np.zeros((n, self.integer_output_references.size), np.int32)
        self.boolean_outputs: I32 = np.zeros((n, self.boolean_output_references.size), np.int32)
        self.all_real = len(_of(self.output_columns, "Real")) == len(outputs)
        self.orders: I32 = np.ones(self.real_input_references.size, np.int32)
        self.interpolation = _interpolation(setup, description, library)
        self._library = library
        self._input_calls = [
            _call(function, references, values)
            for function, references, values in (
                ("fmi2SetReal", self.real_input_references, self.real_inputs),
                ("fmi2SetInteger", self.integer_input_references, self.integer_inputs),
                ("fmi2SetBoolean", self.boolean_input_references, self.boolean_inputs),
            )
            if references.size
        ]
        self._output_calls = [
            _call(function, references, values)
            for function, references, values in (
                ("fmi2GetReal", self.real_output_references, None),  # new in each run
                ("fmi2GetInteger", self.integer_output_references, self.integer_outputs),
                ("fmi2GetBoolean", self.boolean_output_references, self.boolean_outputs),
            )
            if references.size
        ]
        self._between: F64 | None = None
        self._ended = False
        self.program: I64
        self.compose("after_step")

    @property
    def has_inputs(self) -> bool:
        """Whether any column drives the FMU."""
        return bool(self.input_columns)

    def compose(self, update: InputUpdate) -> None:
        """Lay out the calls of one communication step.

        Parameters
        ----------
        update
            ``"after_step"``: u(t_(i+1)) is set after the step to t_(i+1), before the outputs
            are read. ``"before_step"``: it is set before the step, for FMUs that compute
            their outputs in the step only.
        """
        self.update = update
        reals, n = self.real_inputs, self.real_input_references.size
        rows: list[tuple[int, ...]] = []
        if n and update == "after_step" and self.interpolation == "linear":
            self._between = np.ascontiguousarray(
                np.diff(reals, axis=0) / np.diff(self.times)[:, np.newaxis]
            )
            rows.append(self._derivatives_row())
        elif n and update == "after_step" and self.interpolation == "mean":
            self._between = np.ascontiguousarray(0.5 * (reals[1:] + reals[:-1]))
            call = _call("fmi2SetReal", self.real_input_references, self._between)
            rows.append(self._row(call, 0))
        setting = [self._row(call, 1) for call in self._input_calls]
        step = (STEP, self._library.address("fmi2DoStep"), 0, 0, 0, 0, 0)
        rows += [*setting, step] if update == "before_step" else [step, *setting]
        self._real_outputs_row = len(rows)  # of all outputs, Reals come first
        rows += [self._row(call, 1) for call in self._output_calls]
        self.program = np.array(rows, dtype=np.int64).reshape(len(rows), COLUMNS)

    def initialise(
        self, instance: Instance, assignment: Assignment, values: Mapping[str, Value]
    ) -> None:
        """Bring a fresh instance to its initial state, with the inputs of the first instant."""
        instance.setup_experiment(float(self.times[0]), float(self.times[-1]), self.tolerance)
        assignment.apply(instance, values)
        instance.call("fmi2EnterInitializationMode")
        if self.has_inputs:
            self.set_inputs(instance, 0)
        instance.call("fmi2ExitInitializationMode")

    def new_results(self) -> F64:
        """Return an array for the Real outputs of one run."""
        return np.empty((self.times.size, self.real_output_references.size))

    def runner(
        self,
        instance: Instance,
        reals: F64,
        *,
        pause: Callable[[float], None] | None = None,
    ) -> Runner:
        """Return what runs steps `begin` to `end` and writes Real outputs to `reals`.

        There is no pause within a step: that is the FMU's own business.
        """
        self.write_to(reals)
        from fmident.fmu.loop import run_steps  # compiled when it is imported

        component, program, times = instance.component, self.program, self.times

        self._ended = False

        def run(begin: int, end: int, state: I64) -> bool:
            good = bool(run_steps(component, program, times, reals, begin, end, state))
            return good or self._ends_here(instance, state, reals)

        return run

    def refuse_not_finite(self, reals: F64) -> None:
        """Look through the first row, which no step has written.

        Raises
        ------
        RunFailed
            An output is NaN or infinite.
        """
        finite = np.isfinite(reals[0])
        if not finite.all():
            raise self._not_finite(reals, int(np.argmin(finite)), 0)

    def _not_finite(self, reals: F64, position: int, row: int) -> RunFailed:
        name = self.real_output_name(position)
        return not_finite(name, float(reals[row, position]), float(self.times[row]))

    def stopped(self, state: I64, reals: F64) -> Stop:
        """Say why the loop stopped.

        Raises
        ------
        RunFailed
            Because of an output that is not finite.
        """
        step, status = int(state[FAILED_STEP]), int(state[FAILED_STATUS])
        if status <= NOT_FINITE:
            raise self._not_finite(reals, NOT_FINITE - status, step + 1)
        function = self.function_of(int(state[FAILED_CALL]))
        time, after = float(self.times[step]), float(self.times[step + 1])
        where = (
            f" at t = {time!r} s (step of {after - time:g} s)"
            if function == "fmi2DoStep"
            else f" at t = {after!r} s"
        )
        return Stop(CallFailed(function, status), time, where)

    def _ends_here(self, instance: Instance, state: I64, reals: F64) -> bool:
        """Whether the FMU discarded the last step to request termination at the stop time.

        That is not a failure: the outputs of the last instant are read all the same. Inputs are
        not set any more, FMI 2.0 forbids that after a discarded step (section 4.2.4).
        """
        stopped, call = int(state[FAILED_STEP]), int(state[FAILED_CALL])
        last = self.times.size - 2
        if state[FAILED_STATUS] != DISCARD or stopped != last or self.program[call, 0] != STEP:
            return False
        begin, end = float(self.times[-2]), float(self.times[-1])
        ended = instance.end_of_simulation(begin)
        if ended is None or abs(ended - end) > 1e-6 * (end - begin):
            return False
        for row in range(self._real_outputs_row, len(self.program)):
            _, _, references, count, values, stride, _ = (int(k) for k in self.program[row])
            instance.call(self.function_of(row), references, count, values + stride * last)
        finite = np.isfinite(reals[-1])
        if not finite.all():
            raise self._not_finite(reals, int(np.argmin(finite)), last + 1)
        self._ended = True
        return True

    def finish(self, reals: F64) -> bool:
        """Return whether the FMU has asked for the end; the loop has looked at every output."""
        return self._ended

    def write_to(self, reals: F64) -> None:
        """Let the program write Real outputs to `reals`, shape (n, Real outputs)."""
        if self.real_output_references.size:
            self.program[self._real_outputs_row, ADDRESS] = _address(reals) + reals.strides[0]

    def function_of(self, row: int) -> str:
        """Return the name of the function that a row of the program calls."""
        address = int(self.program[row, 1])
        return next(n for n in self._library.functions if self._library.address(n) == address)

    def set_inputs(self, instance: Instance, row: int) -> None:
        """Set all inputs to their values at instant `row`."""
        for function, references, count, values, stride in self._input_calls:
            instance.call(function, references, count, values + stride * row)

    def read_first(self, instance: Instance, reals: F64) -> None:
        """Read all outputs into row 0."""
        for function, references, count, values, _ in self._output_calls:
            address = values or _address(reals)
            instance.call(function, references, count, address)

    def assemble(self, reals: F64) -> F64:
        """Return all outputs in the order asked for, shape (n, outputs)."""
        if self.all_real:
            return reals
        result = np.empty((self.times.size, len(self.output_columns)))
        groups: dict[str, F64 | I32] = {
            "Real": reals,
            "Integer": self.integer_outputs,
            "Boolean": self.boolean_outputs,
        }
        for place, column in enumerate(self.output_columns):
            result[:, place] = groups[column.kind][:, column.position]
        return result

    def real_output_name(self, position: int) -> str:
        """Return the name of the Real output at `position` among the Real outputs."""
        return next(
            c.name for c in self.output_columns if c.kind == "Real" and c.position == position
        )

    def _row(self, call: Call, first: int) -> tuple[int, ...]:
        """Return a row of the program; in step 0 it takes the values of row `first`."""
        function, references, count, values, stride = call
        address = self._library.address(function)
        return (VALUES, address, references, count, values + first * stride, stride, 0)

    def _derivatives_row(self) -> tuple[int, ...]:
        assert self._between is not None
        references = self.real_input_references
        row = self._row(_call("fmi2SetRealInputDerivatives", references, self._between), 0)
        return (DERIVATIVES, *row[1:-1], self.orders.ctypes.data)


def _call(function: str, references: U32, values: F64 | I32 | None) -> Call:
    address, stride = (
        (0, 8 * references.size) if values is None else (_address(values), values.strides[0])
    )
    return (function, references.ctypes.data, references.size, address, stride)


def _address(array: F64 | I32) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _group(variable: Variable) -> Literal["Real", "Integer", "Boolean"]:
    if variable.type == "Boolean":
        return "Boolean"
    return "Real" if variable.type == "Real" else "Integer"


def _columns(variables: Sequence[Variable]) -> tuple[Column, ...]:
    counts = {"Real": 0, "Integer": 0, "Boolean": 0}
    columns: list[Column] = []
    for variable in variables:
        kind = _group(variable)
        columns.append(Column(variable.name, kind, counts[kind]))
        counts[kind] += 1
    return tuple(columns)


def _of(columns: Sequence[Column], kind: str) -> list[int]:
    return [place for place, column in enumerate(columns) if column.kind == kind]


def _references(variables: Sequence[Variable], kind: str) -> U32:
    return reference_array([v for v in variables if _group(v) == kind])


def _whole(inputs: F64, columns: Sequence[Column], kind: str) -> I32:
    """Return the columns of a discrete kind as C integers."""
    places = _of(columns, kind)
    chosen = inputs[:, places]
    whole = (chosen == np.round(chosen)) & (chosen >= -(2.0**31)) & (chosen < 2.0**31)
    allowed = np.isin(chosen, (0.0, 1.0)) if kind == "Boolean" else whole
    if not allowed.all():
        row, column = (int(k) for k in np.argwhere(~allowed)[0])
        raise FmuError(
            f"input '{columns[places[column]].name}' is {kind}, but its value is"
            f" {chosen[row, column]} at row {row}",
            hint="give whole numbers of 32 bits" if kind == "Integer" else "give 0 or 1",
        )
    return np.ascontiguousarray(chosen, dtype=np.int32)


def _interpolation(
    setup: SimulationSetup, description: ModelDescription, library: Library
) -> Literal["hold", "linear", "mean"]:
    offered = description.can_interpolate_inputs and bool(
        library.address("fmi2SetRealInputDerivatives")
    )
    if setup.interpolation == "auto":
        return "linear" if offered else "hold"
    if setup.interpolation == "linear" and not offered:
        raise FmuError(
            f"the FMU of '{description.name}' does not interpolate its inputs"
            " (canInterpolateInputs is false)",
            hint="use interpolation 'auto', 'hold' or 'mean'",
        )
    return setup.interpolation
