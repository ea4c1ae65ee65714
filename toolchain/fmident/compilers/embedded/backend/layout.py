"""Variables of an FMU: value references, FMI attributes, dependencies.

Value references are consecutive, in the order of :func:`_groups`, by which
the C runtime knows them, too (``runtime/model.h``).

Source: FMI specification 2.0.4, section 2.2.7 (causality, variability, initial) and 2.2.8
(model structure).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.model import Function, Kind, OdeModel, ScalarVariable
from fmident.errors import CompilationError

_ELEMENT = re.compile(r"(?P<base>.*)\[(?P<index>[0-9]+(,[0-9]+)*)\]", re.DOTALL)
_DERIVATIVE = re.compile(r"der\((?P<state>.*)\)", re.DOTALL)

TIME = "time"
"""The independent variable, which FMI 3.0 wants among the others."""


@dataclass(frozen=True)
class FmuVariable:
    """One ``ScalarVariable`` element of the model description.

    An `initial` of ``None`` means FMI's default; a `start` of ``None`` is not written.
    """

    variable: ScalarVariable
    value_reference: int
    causality: str
    variability: str
    initial: str | None
    start: float | None
    derivative_of: str | None = None

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.variable.name


@dataclass(frozen=True)
class Structure:
    """Dependencies of outputs and derivatives, and of the unknowns of initialization mode.

    Dependencies are names of states, inputs and parameters, and :data:`TIME`.
    """

    outputs: Mapping[str, frozenset[str]]
    derivatives: Mapping[str, frozenset[str]]
    initial: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class FmuLayout:
    """All variables of the FMU, ordered by value reference, and their dependencies.

    `names` are by value reference; an output that is a state has two. `settable_states`
    says for each state whether its start is a literal that the user can replace, and
    `state_starts` has that literal or 0.
    """

    variables: tuple[FmuVariable, ...]
    references: Mapping[str, int]
    names: tuple[str, ...]
    settable_states: tuple[bool, ...]
    state_starts: tuple[float, ...]
    structure: Structure


def dependency_rows(function: Function) -> list[list[set[int]]]:
    """Return the element positions, ``result[row][input]``, that a function depends on."""
    rows = [[set[int]() for _ in range(function.n_in())] for _ in range(function.numel_out(0))]
    for i in range(function.n_in()):
        if function.numel_in(i) == 0 or function.numel_out(0) == 0:
            continue
        sparsity = function.jac_sparsity(0, i)
        for row, column in zip(*sparsity.get_triplet(), strict=True):
            rows[row][i].add(column)
    return rows


def _structure(
    model: OdeModel, calculated: Sequence[frozenset[str]], settable: Sequence[bool]
) -> Structure:
    """Compose dependencies through calculated parameters and, at the start, states."""
    time = [frozenset({TIME})]
    states, inputs, parameters = (
        [frozenset({v.name}) for v in group]
        for group in (model.states, model.inputs, model.parameters)
    )
    # What is held, and what loops give, may follow from anything that is known.
    starts = (s for s, can in zip(states, settable, strict=True) if can)
    known = frozenset({TIME}).union(*parameters, *inputs, *starts)
    behind = [known] * model.count_behind
    rows = dependency_rows(model.initial_states)
    at_start = [_named(r, [time, inputs, parameters, [*calculated, *behind]]) for r in rows]
    x = [s if can else a for s, a, can in zip(states, at_start, settable, strict=True)]
    of_start = [time, x, inputs, parameters, [*calculated, *behind]]
    always = frozenset({TIME}).union(*parameters)
    running = [time, states, inputs, parameters, [*calculated, *[always] * model.count_behind]]
    own = {v.name for v in model.states}
    initial = {
        v.name: row for v, row, can in zip(model.states, at_start, settable, strict=True) if not can
    }
    initial |= {v.name: row for v, row in zip(model.calculated, calculated, strict=True) if row}

    def followed(
        variables: Sequence[ScalarVariable],
        function: Function,
        dependencies: Sequence[Sequence[str]],
    ) -> dict[str, frozenset[str]]:
        result = {}
        rows = dependency_rows(function)
        for v, row, names in zip(variables, rows, dependencies, strict=True):
            result[v.name] = _named(row, running).union(names)
            if v.name in own:
                result[v.name] = frozenset({v.name})
            else:
                initial[v.name] = _named(row, of_start)
        return result

    derivatives = followed(model.derivatives, model.rhs, model.derivative_dependencies)
    outputs = followed(model.outputs, model.output_values, model.output_dependencies)
    outputs |= dict.fromkeys(model.events.outputs, always.union(*states, *inputs))
    initial |= dict.fromkeys(model.events.outputs, known)
    return Structure(outputs, derivatives, initial)


def _named(row: Sequence[set[int]], vectors: Sequence[Sequence[frozenset[str]]]) -> frozenset[str]:
    return frozenset().union(
        *(vector[k] for vector, places in zip(vectors, row, strict=True) for k in places)
    )


def _start_values(model: OdeModel) -> tuple[list[float], list[float]]:
    """Return calculated parameters and initial states at the default parameters."""
    p = ca.DM([_parameter_default(v) for v in model.parameters])
    u = ca.DM([v.start or 0.0 for v in model.inputs])
    calculated = ca.DM(model.calculated_parameters(p))
    c = ca.vertcat(calculated, ca.DM.zeros(model.count_behind))
    x = ca.DM(model.initial_states(model.experiment.start_time, u, p, c))
    return calculated.full().ravel().tolist(), x.full().ravel().tolist()


def _parameter_default(variable: ScalarVariable) -> float:
    if variable.start is None:
        raise CompilationError(
            f"parameter '{variable.name}' has no value",
            hint="give it a default in its declaration",
        )
    return variable.start


def make_layout(model: OdeModel) -> FmuLayout:
    """Assign value references and FMI attributes."""
    c0, x0 = _start_values(model)
    calculated = [
        frozenset(model.parameters[j].name for j in row[0])
        for row in dependency_rows(model.calculated_parameters)
    ]
    rows = dependency_rows(model.initial_states)
    settable = tuple(
        free and not any(row) for row, free in zip(rows, model.free_starts, strict=True)
    )
    literal_x0 = [x if fixed else None for x, fixed in zip(x0, settable, strict=True)]
    literal_c0 = [None if row else c for c, row in zip(c0, calculated, strict=True)]
    variables: list[FmuVariable] = []
    references: dict[str, int] = {}
    names: list[str] = []
    state_names = {v.name for v in model.states}
    output_names = model.events.outputs.union(v.name for v in model.outputs)
    for kind, group in _groups(model).items():
        starts: Sequence[float | None] = [v.start for v in group]
        if kind == "state":
            starts = literal_x0
        elif kind == "calculated":
            starts = literal_c0
        for variable, start in zip(group, starts, strict=True):
            names.append(variable.name)
            if kind == "output" and variable.name in state_names:
                continue  # one variable, at the state's reference
            if variable.name in references:
                raise CompilationError(
                    f"two variables of '{model.name}' are called '{variable.name}'"
                )
            references[variable.name] = len(names) - 1
            attributes = _attributes(kind, start, is_output=variable.name in output_names)
            derivative_of = variable.derivative_of if kind == "derivative" else None
            variables.append(
                FmuVariable(variable, len(names) - 1, *attributes, derivative_of=derivative_of)
            )
    return FmuLayout(
        variables=tuple(variables),
        references=references,
        names=tuple(names),
        settable_states=settable,
        state_starts=tuple(x or 0.0 for x in literal_x0),
        structure=_structure(model, calculated, settable),
    )


def _groups(model: OdeModel) -> dict[Kind, tuple[ScalarVariable, ...]]:
    """Return the variables by kind, in the order of their value references."""
    return {
        "state": model.states,
        "derivative": model.derivatives,
        "input": model.inputs,
        "output": model.outputs,
        "parameter": model.parameters,
        "calculated": model.calculated,
        "local": model.locals,
        "discrete": model.events.variables,
    }


def _attributes(
    kind: Kind, start: float | None, *, is_output: bool
) -> tuple[str, str, str | None, float | None]:
    """Return causality, variability, initial and start, as FMI's table allows them.

    States and calculated parameters have a `start` only if it is a literal.
    """
    if kind == "state":
        initial = "calculated" if start is None else "exact"
        return "output" if is_output else "local", "continuous", initial, start
    if kind == "input":
        return "input", "continuous", None, start or 0.0
    if kind == "output":
        return "output", "continuous", None, None
    if kind == "parameter":
        return "parameter", "tunable", None, start
    if kind == "calculated":
        if start is not None:
            return "local", "constant", None, start
        return "calculatedParameter", "tunable", None, None
    if kind == "discrete":
        return "output" if is_output else "local", "discrete", None, None
    return "local", "continuous", None, None


@dataclass(frozen=True)
class Declaration:
    """A scalar or array variable of FMI 3.0; `elements` are in row-major order."""

    name: str
    elements: tuple[FmuVariable, ...]
    shape: tuple[int, ...] = ()

    @property
    def first(self) -> FmuVariable:
        """The first element, or the scalar itself."""
        return self.elements[0]

    @property
    def value_reference(self) -> int:
        """Value reference of the variable."""
        return self.first.value_reference


def declarations(variables: Sequence[FmuVariable]) -> list[Declaration]:
    """Return the variables as FMI 3.0 declares them, ordered by value reference.

    Variables form an array if all elements are present, in order, with equal attributes;
    states only together with their derivatives.
    """
    groups: dict[str, list[tuple[FmuVariable, tuple[int, ...]]]] = {}
    for variable in variables:
        base, index = _split(variable.name)
        if index:
            groups.setdefault(base, []).append((variable, index))
    arrays = {
        array.name: array
        for array in (_array(base, members) for base, members in groups.items())
        if array is not None
    }
    _drop_halves(arrays, variables)
    inside = {v.name for array in arrays.values() for v in array.elements}
    scalars = (Declaration(v.name, (v,)) for v in variables if v.name not in inside)
    return sorted((*arrays.values(), *scalars), key=lambda d: d.value_reference)


def _split(name: str) -> tuple[str, tuple[int, ...]]:
    """Split the name of an array element into array and index; the index of a scalar is empty."""
    derivative = _DERIVATIVE.fullmatch(name)
    if derivative is not None:
        base, index = _split(derivative["state"])
        return f"der({base})", index
    element = _ELEMENT.fullmatch(name)
    if element is None:
        return name, ()
    return element["base"], tuple(int(k) for k in element["index"].split(","))


def _array(base: str, members: Sequence[tuple[FmuVariable, tuple[int, ...]]]) -> Declaration | None:
    """Return the array made of variables with their indices, or ``None`` if they are not one."""
    elements = tuple(variable for variable, _ in members)
    indices = [index for _, index in members]
    shape = indices[-1]
    complete = math.prod(shape) == len(indices) and indices == list(
        itertools.product(*(range(1, size + 1) for size in shape))
    )
    first = elements[0].value_reference
    row = [v.value_reference for v in elements] == list(range(first, first + len(elements)))
    alike = len({_of_the_whole(v) for v in elements}) == 1
    return Declaration(base, elements, shape) if complete and row and alike else None


def _of_the_whole(v: FmuVariable) -> tuple[object, ...]:
    m = v.variable
    return (
        *(v.causality, v.variability, v.initial, v.start is None, v.derivative_of is None),
        *(m.type_name, m.unit, m.display_unit, m.quantity, m.description),
        *(m.minimum, m.maximum, m.nominal),
    )


def _drop_halves(arrays: dict[str, Declaration], variables: Sequence[FmuVariable]) -> None:
    """Remove arrays of states whose derivatives are not an array, and vice versa."""
    derivative_of: Mapping[str, str] = {
        v.derivative_of: v.name for v in variables if v.derivative_of is not None
    }
    for array in list(arrays.values()):
        states = [v.derivative_of or v.name for v in array.elements]
        slopes = [derivative_of.get(state) for state in states]
        if not any(slopes):
            continue
        wanted = {tuple(v.name for v in other.elements) for other in arrays.values()}
        if tuple(states) not in wanted or tuple(slopes) not in wanted:
            del arrays[array.name]
