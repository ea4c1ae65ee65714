"""Inputs, outputs and named values as arrays of an FMU's own types, and their transfer.

An array variable of FMI 3.0 is transferred as a whole.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, FmuError, shown
from fmident.fmu.life_cycle.instance import U32, BaseInstance, CallFailed
from fmident.fmu.model_description.description import (
    ModelDescription,
    input_variable,
    output_variable,
)
from fmident.fmu.model_description.variables import Value, Variable, array_name, native_type
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.program import TRANSFER, VALUES, Program

I64 = npt.NDArray[np.int64]

Course = Literal["hold", "linear", "mean", "ramp"]
"""How an input runs between the instants; a ramp is a line that the FMU makes itself."""

Broken = tuple[int, str, float]
"""Row, name and value of an output that is NaN or infinite."""


def dtype_of(native: str, prefix: str) -> Any:
    """Return the NumPy type of one value in the functions of FMI 2 or 3."""
    if native == "Boolean":
        return np.uint8 if prefix == "fmi3" else np.int32
    names = {"Real": "float64", "Integer": "int32"}
    return np.dtype(names.get(native, native.lower())).type


@dataclass(eq=False)
class Group:
    """Variables of one type transferred by one call, with one row of values per instant.

    `places` are the first columns by reference; `columns` has for each signal its position
    among all signals, and its column.
    """

    native: str
    references: U32
    places: dict[int, int]
    columns: list[tuple[int, int]]
    values: npt.NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def signals(self) -> list[int]:
        """Positions of the group's signals among all."""
        return [signal for signal, _ in self.columns]

    @property
    def targets(self) -> list[int]:
        """Columns of the group's signals."""
        return [column for _, column in self.columns]

    def others(self, description: ModelDescription) -> list[tuple[int, Variable]]:
        """Return the columns that are not signals: other elements of arrays, with a variable."""
        taken, others = set(self.targets), list[tuple[int, Variable]]()
        for variable in description.variables if len(taken) < self.values.shape[1] else ():
            place = self.places.get(variable.value_reference)
            if place is None or native_type(variable) != self.native:
                continue
            column = place + variable.element
            if column not in taken:
                taken.add(column)
                others.append((column, variable))
        return others


def make_groups(
    variables: Sequence[Variable], rows: int, prefix: str, kinds: Sequence[object]
) -> list[Group]:
    """Group variables by type and by `kinds`; the arrays, with `rows` instants, are empty."""
    members_of: dict[tuple[str, object], list[int]] = {}
    for place, (variable, kind) in enumerate(zip(variables, kinds, strict=True)):
        members_of.setdefault((native_type(variable), kind), []).append(place)
    groups: list[Group] = []
    for (native, _), members in members_of.items():
        places: dict[int, int] = {}
        width = 0
        columns: list[tuple[int, int]] = []
        for member in members:
            variable = variables[member]
            if variable.value_reference not in places:
                places[variable.value_reference] = width
                width += variable.elements
            columns.append((member, places[variable.value_reference] + variable.element))
        values = np.zeros((rows, width), dtype=dtype_of(native, prefix))
        groups.append(Group(native, np.array(list(places), np.uint32), places, columns, values))
    return groups


def floats(groups: Iterable[Group]) -> list[Group]:
    """Return the groups of floating-point numbers."""
    return [group for group in groups if group.values.dtype.kind == "f"]


class Mover:
    """Transfers groups between arrays and the FMU; `verb` is ``"Set"`` or ``"Get"``."""

    def __init__(self, library: Library, verb: str, prefix: str) -> None:
        self._library = library
        self._verb = verb
        self.prefix = prefix

    def function(self, group: Group) -> str:
        """Return the name of the function."""
        return f"{self.prefix}{self._verb}{group.native}"

    def program(self, groups: Iterable[Group], first: int = 1) -> Program:
        """Return a program in which step i transfers row ``i + first`` of the arrays."""
        return np.array([self._row(group, first) for group in groups], TRANSFER)

    def _row(self, group: Group, first: int) -> tuple[int, ...]:
        address = self._library.address(self.function(group))
        if not address:
            raise FmuError(
                f"the FMU's library lacks the function {self.function(group)}",
                hint="it has variables of this type, so it must export it; export it again",
            )
        values = address_of(group.values)
        stride = group.values.strides[0]
        references = group.references
        width = group.values.shape[1]
        start = values + first * stride
        return (VALUES, address, references.ctypes.data, references.size, start, stride, width, 0)

    def move(self, instance: BaseInstance, groups: Iterable[Group], row: int) -> None:
        """Transfer one row of all groups; raise `CallFailed` if the FMU refuses."""
        for group in groups:
            width = group.values.shape[1]
            address = address_of(group.values) + row * group.values.strides[0]
            size = group.references.size
            arguments = [group.references.ctypes.data, size, address]
            if self.prefix == "fmi3":
                arguments.append(width)
            instance.call(self.function(group), *arguments)


class OutputTable:
    """Recorded variables, at `rows` instants."""

    def __init__(
        self, description: ModelDescription, library: Library, names: Sequence[str], rows: int
    ) -> None:
        self.names = tuple(names)
        prefix = prefix_of(description)
        variables = [output_variable(description, name) for name in names]
        self.groups = make_groups(variables, rows, prefix, [None] * len(variables))
        self.mover = Mover(library, "Get", prefix)
        self.rows = rows
        self.floats = floats(self.groups)
        self.program = self.mover.program(self.groups)
        self._handed_out = False

    @property
    def is_plain(self) -> bool:
        """Whether the array of the only group is directly the result."""
        return (
            len(self.groups) == 1
            and self.groups[0].values.dtype == np.float64
            and self.groups[0].columns == [(k, k) for k in range(self.groups[0].values.shape[1])]
        )

    def renew(self) -> None:
        """Allocate new arrays for a run, so that returned ones are not overwritten."""
        if self._handed_out:
            (group,) = self.groups
            group.values = np.empty_like(group.values)
            self.program["values"][0] = address_of(group.values) + group.values.strides[0]
            self._handed_out = False

    def read(self, instance: BaseInstance, row: int) -> None:
        """Read all outputs into `row`; raises CallFailed."""
        self.mover.move(instance, self.groups, row)

    def assemble(self) -> F64:
        """Return all signals in the requested order, shape (rows, signals)."""
        if self.is_plain:
            self._handed_out = True
            return self.groups[0].values
        result = np.empty((self.rows, len(self.names)))
        for group in self.groups:
            result[:, group.signals] = group.values[:, group.targets]
        return result

    def first_not_finite(self, begin: int, end: int) -> Broken | None:
        """Return the first signal that is NaN or infinite in the rows `begin` to `end`."""
        worst: Broken | None = None
        for group in self.floats:
            if np.isfinite(group.values[begin:end]).all():
                continue
            block = group.values[begin:end, group.targets]
            finite = np.isfinite(block)
            if finite.all():
                continue
            row, column = (int(k) for k in np.argwhere(~finite)[0])
            if worst is None or begin + row < worst[0]:
                name = self.names[group.signals[column]]
                worst = begin + row, name, float(block[row, column])
        return worst


class InputTable:
    """Variables driven by columns of `inputs`, shape (n, columns).

    `course` returns the course of an input between the instants. Of all `groups`,
    `continuous` ones may change at any time, `discrete` ones at instants only. `lines` are
    interpolated linearly, `averaged` held at the mean of both ends, `ramps` passed to the
    FMU as ramps. Raises `FmuError` for names that are not inputs, values that do not fit,
    and elements of one array with different courses.
    """

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        names: Sequence[str],
        inputs: F64,
        course: Callable[[Variable], Course],
    ) -> None:
        self.names = tuple(names)
        prefix = prefix_of(description)
        variables = [input_variable(description, name) for name in names]
        kinds = [(v.is_continuous, course(v)) for v in variables]
        _refuse_mixed_arrays(variables, kinds)
        self.groups = make_groups(variables, inputs.shape[0], prefix, kinds)
        self.mover = Mover(library, "Set", prefix)
        of = {g: kinds[g.signals[0]] for g in self.groups}
        self.floats = floats(self.groups)
        self.continuous = [g for g in self.groups if of[g][0]]
        self.lines = [g for g in self.groups if of[g][1] == "linear"]
        self.ramps = [g for g in self.groups if of[g][1] == "ramp"]
        self.averaged = [g for g in self.groups if of[g][1] == "mean"]
        self.held = [g for g in self.groups if of[g][1] == "hold"]
        self.discrete = [g for g in self.held if not any(_varies(variables[s]) for s in g.signals)]
        self._rows = inputs.shape[0]
        self._others: list[tuple[Group, int, Variable]] = []
        for group in self.groups:
            for signal, column in group.columns:
                data = _fitting(variables[signal], inputs[:, signal], group.values.dtype)
                group.values[:, column] = data
            self._others += [(group, *other) for other in group.others(description)]

    def means(self) -> list[Group]:
        """Return the averaged groups with the mean of each instant and the next."""
        return [
            replace(g, values=np.concatenate([0.5 * (g.values[1:] + g.values[:-1]), g.values[-1:]]))
            for g in self.averaged
        ]

    def jumps(self, means: Sequence[Group]) -> npt.NDArray[np.bool_]:
        """Return for each instant whether an input jumps, given the averaged groups' means."""
        flags = np.zeros(self._rows, dtype=np.bool_)
        for group in self.held:
            flags[1:] |= np.any(group.values[1:] != group.values[:-1], axis=1)
        for group, mean in zip(self.averaged, means, strict=True):
            flags[1:] |= np.any(group.values[1:] != mean.values[:-1], axis=1)
        return flags

    def fill_others(self, values: Mapping[str, Value]) -> None:
        """Set undriven elements of driven arrays to the values of this run."""
        for group, column, variable in self._others:
            given = values.get(variable.name, variable.start)
            group.values[:, column] = 0 if given is None else given


def _varies(variable: Variable) -> bool:
    """Return whether an input may change at any time, single precision included."""
    return variable.type == "Real" and variable.variability == "continuous"


def _refuse_mixed_arrays(
    variables: Sequence[Variable], kinds: Sequence[tuple[bool, Course]]
) -> None:
    """Refuse elements of one array, which is set as a whole, with different courses."""
    first: dict[int, tuple[Variable, Course]] = {}
    for variable, (_, course) in zip(variables, kinds, strict=True):
        other, known = first.setdefault(variable.value_reference, (variable, course))
        if course != known and variable.elements > 1:
            raise FmuError(
                f"'{other.name}' and '{variable.name}' are elements of one array, which the FMU"
                f" takes as a whole, but one runs as '{known}' and the other as '{course}'",
                hint="give all elements of the array the same interpolation",
                code=Code.NOT_SUPPORTED,
            )


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the memory address of an array's first element."""
    address: int = array.__array_interface__["data"][0]
    return address


def prefix_of(description: ModelDescription) -> str:
    """Return ``"fmi2"`` or ``"fmi3"``."""
    return "fmi3" if description.fmi_version.startswith("3.") else "fmi2"


def failed_call(library: Library, address: int, status: int) -> CallFailed:
    """Return the failure of the function at `address`."""
    name = next(n for n in library.functions if library.address(n) == address)
    return CallFailed(name, status)


def _fitting(variable: Variable, column: F64, dtype: Any) -> F64:
    """Return the column if every value can be represented in the variable's type."""
    if variable.type == "Real":
        return column
    if variable.type == "Boolean":
        good, wanted = np.isin(column, (0.0, 1.0)), "0 or 1"
    else:
        info = np.iinfo(dtype)
        good = (column == np.round(column)) & (column >= float(info.min))
        good &= column < float(int(info.max) + 1)  # 2^63 - 1 itself is not a 64-bit float
        wanted = f"whole numbers from {info.min} to {info.max}"
    if not good.all():
        row = int(np.argmin(good))
        kind = variable.native_type or variable.type
        raise FmuError(
            f"input '{variable.name}' is {kind}, but its value is {column[row]} at row {row}",
            hint=f"give {wanted}",
            code=Code.WRONG_TYPE,
        )
    return column


class Assignment:
    """Repeated assignment to the same names, structural parameters first, one call per type."""

    def __init__(
        self, description: ModelDescription, library: Library, names: Sequence[str]
    ) -> None:
        variables = [description.variable(name) for name in names]
        for variable in variables:
            refuse_settable(variable, description)
        self._mover = Mover(library, "Set", prefix_of(description))
        structural = [v for v in variables if v.causality == "structuralParameter"]
        others = [v for v in variables if v.causality != "structuralParameter"]
        self._structural = _Values(description, self._mover, structural)
        self._others = _Values(description, self._mover, others)

    def apply(self, instance: BaseInstance, values: Mapping[str, Value]) -> None:
        """Set the variables to `values`, which has an element for each name."""
        if self._structural:
            instance.call("fmi3EnterConfigurationMode")
            self._structural.set(instance, values)
            instance.call("fmi3ExitConfigurationMode")
        self._others.set(instance, values)


class _Values:
    """Numbers and texts that are set in the same mode."""

    def __init__(
        self, description: ModelDescription, mover: Mover, variables: Sequence[Variable]
    ) -> None:
        self._mover = mover
        self._numbers = [v for v in variables if v.type != "String"]
        kinds = [None] * len(self._numbers)
        self._groups = make_groups(self._numbers, 1, prefix_of(description), kinds)
        for group in self._groups:
            for column, variable in group.others(description):  # these have their start values
                if variable.start is None:
                    base = array_name(variable.name)
                    raise FmuError(
                        f"'{variable.name}' has neither a value nor a start value, but other"
                        f" elements of the array '{base}' are set",
                        hint=f"an array is set as a whole: give all elements of '{base}'",
                    )
                group.values[0, column] = variable.start
        self._texts = _texts(description, [v for v in variables if v.type == "String"])

    def __bool__(self) -> bool:
        return bool(self._groups or self._texts)

    def set(self, instance: BaseInstance, values: Mapping[str, Value]) -> None:
        for group in self._groups:
            for signal, column in group.columns:
                variable = self._numbers[signal]
                number = _number(variable, values[variable.name], group.values.dtype)
                group.values[0, column] = number
        self._mover.move(instance, self._groups, 0)
        if self._texts:
            references = np.array([group[0].value_reference for group in self._texts], np.uint32)
            texts = [
                text_value(v, values.get(v.name, v.start)) for group in self._texts for v in group
            ]
            array = (ctypes.c_char_p * len(texts))(*texts)
            arguments = [references.ctypes.data, references.size, array]
            if instance.prefix == "fmi3":
                arguments.append(len(texts))
            instance.call(f"{instance.prefix}SetString", *arguments)


def refuse_settable(variable: Variable, description: ModelDescription) -> None:
    """Raise `FmuError`, with the reason, for a variable that cannot be set."""
    why_not = variable.why_not_settable
    if why_not is not None and variable.causality != "input":
        raise FmuError(
            f"variable '{variable.name}' of '{description.name}' cannot be set: it is {why_not}",
            hint=_settable_hint(variable, description),
            code=Code.NOT_SETTABLE,
        )


def _settable_hint(variable: Variable, description: ModelDescription) -> str:
    names = ", ".join(f"'{v.name}'" for v in description.settable_parameters[:12])
    more = ", ..." if len(description.settable_parameters) > 12 else ""
    if variable.causality == "calculatedParameter":
        return f"set the parameters that it is calculated from; settable are {names}{more}"
    return f"settable parameters are {names}{more}" if names else "the FMU has none to set"


def wrong_value(variable: Variable, value: object, wanted: str) -> FmuError:
    """Return the error for a value of the wrong type."""
    return FmuError(
        f"variable '{variable.name}' is {variable.type}: it takes {wanted}, not {shown(value)}",
        code=Code.WRONG_TYPE,
    )


def real_value(variable: Variable, value: object) -> float:
    """Return a finite number, or raise FmuError."""
    if isinstance(value, (bool, str)):
        raise wrong_value(variable, value, "a number")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise wrong_value(variable, value, "a number") from None
    if not math.isfinite(number):
        raise wrong_value(variable, value, "a finite number")
    return number


def boolean_value(variable: Variable, value: object) -> int:
    """Return 0 or 1, or raise FmuError."""
    if isinstance(value, str) or value not in (0, 1):
        raise wrong_value(variable, value, "True or False")
    return int(bool(value))


def text_value(variable: Variable, value: object) -> bytes:
    """Return a text as a C string, or raise FmuError."""
    if not isinstance(value, str) or "\0" in value:
        raise wrong_value(variable, value, "a text")
    return value.encode()


def _number(variable: Variable, value: object, dtype: np.dtype[Any]) -> float | int:
    if variable.type == "Boolean":
        return boolean_value(variable, value)
    number = real_value(variable, value)
    if variable.type == "Real":
        return number
    info = np.iinfo(dtype)
    whole = int(value) if isinstance(value, int) else int(number)
    if number != int(number) or not info.min <= whole <= info.max:
        raise wrong_value(variable, value, f"a whole number from {info.min} to {info.max}")
    return whole


def _texts(
    description: ModelDescription, variables: Sequence[Variable]
) -> list[tuple[Variable, ...]]:
    wanted = dict.fromkeys(v.value_reference for v in variables)
    elements_of: dict[int, dict[int, Variable]] = {reference: {} for reference in wanted}
    for variable in (*description.variables, *variables):  # of aliases, one that is named
        if variable.type == "String" and variable.value_reference in elements_of:
            elements_of[variable.value_reference][variable.element] = variable
    return [tuple(e[k] for k in sorted(e)) for e in elements_of.values()]


@dataclass(frozen=True)
class Statistics:
    """Statistics of a simulator so far.

    `steps` are communication steps, `warnings` steps in which the FMU returned Warning, and
    `instantiations` is 1 unless a new instance was necessary.
    """

    runs: int = 0
    failures: int = 0
    steps: int = 0
    instantiations: int = 0
    warnings: int = 0
