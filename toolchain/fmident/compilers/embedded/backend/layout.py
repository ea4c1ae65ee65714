"""What the FMU shows of a model: value references, FMI attributes, dependencies.

Value references are consecutive, in the order of :data:`BLOCKS`; the C runtime knows the
blocks by the same order (``runtime/model.h``).

Source: FMI specification 2.0.4, section 2.2.7 (causality, variability, initial) and 2.2.8
(model structure).

C code for a model's functions of plain numbers.

CasADi's own generator tests before each number that it reads or writes whether there is an array
for it. Two fifths of the time to compile a function, and some of the time to evaluate it, go there;
so only results that a caller may do without are tested here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from fmident.compilers.embedded.backend.lanes import BINARY, CALLS, UNARY, arity, number
from fmident.compilers.embedded.model import Function, Kind, OdeModel, ScalarVariable
from fmident.errors import CompilationError

BLOCKS: tuple[Kind, ...] = (
    "state",
    "derivative",
    "input",
    "output",
    "parameter",
    "calculated",
    "local",
    "discrete",
)


_SIGN = "{0} < 0.0 ? -1.0 : {0} > 0.0 ? 1.0 : {0}"
"""Minus zero and what is not a number are their own sign, as for CasADi."""


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
class Layout:
    """All variables of the FMU, ordered by value reference, and their dependencies.

    `names` are by value reference; an output that is a state has two. `settable_states`
    says for each state whether its start is a literal that the user can replace, and
    `state_starts` has that literal or 0. `initial_unknowns` are computed in initialization
    mode, each with the names it depends on.
    """

    variables: tuple[FmuVariable, ...]
    references: Mapping[str, int]
    names: tuple[str, ...]
    settable_states: tuple[bool, ...]
    state_starts: tuple[float, ...]
    initial_unknowns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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


class _Dependencies:
    """Structural dependencies of a model, composed through states and calculated parameters."""

    def __init__(self, model: OdeModel) -> None:
        self._model = model
        self._parameters = [v.name for v in model.parameters]
        self._inputs = [v.name for v in model.inputs]
        self.calculated = [
            {self._parameters[j] for j in row[0]}
            for row in dependency_rows(model.calculated_parameters)
        ]
        rows = dependency_rows(model.initial_states)
        self.initial_is_constant = [
            free and not any(row) for row, free in zip(rows, model.free_starts, strict=True)
        ]
        settable = zip(model.states, self.initial_is_constant, strict=True)
        # What is held, and what loops give, may follow from anything that is known at the start.
        self.known = {*self._parameters, *self._inputs, *(s.name for s, can in settable if can)}
        self.calculated.extend([self.known] * model.count_behind)
        self.initial_states = [
            self._known(u=row[1], p=row[2], c=row[3], x=set(), x_names=[]) for row in rows
        ]

    def _known(
        self, *, u: set[int], p: set[int], c: set[int], x: set[int], x_names: list[set[str]]
    ) -> set[str]:
        names = {self._inputs[j] for j in u} | {self._parameters[j] for j in p}
        for j in c:
            names |= self.calculated[j]
        for j in x:
            names |= x_names[j]
        return names

    def at_start(self, function: Function, settable: tuple[bool, ...]) -> list[set[str]]:
        """Return the names each element of ``function(t, x, u, p, c)`` depends on at the start."""
        x_names = [
            {state.name} if fixed else self.initial_states[i]
            for i, (state, fixed) in enumerate(zip(self._model.states, settable, strict=True))
        ]
        return [
            self._known(x=row[1], u=row[2], p=row[3], c=row[4], x_names=x_names)
            for row in dependency_rows(function)
        ]


def _start_values(model: OdeModel) -> tuple[list[float], list[float]]:
    """Return calculated parameters and initial states at the default parameters."""
    p = ca.DM([_parameter_default(v) for v in model.parameters])
    u = ca.DM([v.start or 0.0 for v in model.inputs])
    calculated = ca.DM(model.calculated_parameters(p))
    c = ca.vertcat(calculated, ca.DM.zeros(model.count_behind))
    x = ca.DM(model.initial_states(model.experiment.start_time, u, p, c))
    return [float(e) for e in ca.densify(calculated).nonzeros()], [
        float(e) for e in ca.densify(x).nonzeros()
    ]


def _parameter_default(variable: ScalarVariable) -> float:
    if variable.start is None:
        raise CompilationError(
            f"parameter '{variable.name}' has no value",
            hint="give it a default in its declaration",
        )
    return variable.start


def make_layout(model: OdeModel) -> Layout:
    """Assign value references and FMI attributes."""
    depends = _Dependencies(model)
    c0, x0 = _start_values(model)
    settable = tuple(depends.initial_is_constant)
    literal_x0 = [x if fixed else None for x, fixed in zip(x0, settable, strict=True)]
    literal_c0 = [None if row else c for c, row in zip(c0, depends.calculated, strict=False)]
    variables: list[FmuVariable] = []
    references: dict[str, int] = {}
    names: list[str] = []
    state_names = {v.name for v in model.states}
    output_names = {v.name for v in model.outputs}
    if model.events:
        output_names |= model.events.outputs
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
    return Layout(
        variables=tuple(variables),
        references=references,
        names=tuple(names),
        settable_states=settable,
        state_starts=tuple(x or 0.0 for x in literal_x0),
        initial_unknowns=_initial_unknowns(model, depends, settable, references),
    )


def _groups(model: OdeModel) -> dict[Kind, tuple[ScalarVariable, ...]]:
    groups: dict[Kind, tuple[ScalarVariable, ...]] = {
        "state": model.states,
        "derivative": model.derivatives,
        "input": model.inputs,
        "output": model.outputs,
        "parameter": model.parameters,
        "calculated": model.calculated,
        "local": model.locals,
        "discrete": model.events.variables if model.events else (),
    }
    return {kind: groups[kind] for kind in BLOCKS}


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


def _initial_unknowns(
    model: OdeModel,
    depends: _Dependencies,
    settable: tuple[bool, ...],
    references: Mapping[str, int],
) -> dict[str, tuple[str, ...]]:
    """Return the variables that initialization mode computes, with their dependencies."""
    unknowns: dict[str, set[str]] = {}
    for state, fixed, row in zip(model.states, settable, depends.initial_states, strict=True):
        if not fixed:
            unknowns[state.name] = row
    rows = depends.at_start(model.rhs, settable)
    unknowns |= {v.name: row for v, row in zip(model.derivatives, rows, strict=True)}
    state_names = {v.name for v in model.states}
    for v, row in zip(model.outputs, depends.at_start(model.output_values, settable), strict=True):
        if v.name not in state_names:
            unknowns[v.name] = row
    for v, row in zip(model.calculated, depends.calculated, strict=False):
        if row:
            unknowns[v.name] = row
    if model.events:
        unknowns |= dict.fromkeys(model.events.outputs, depends.known)
    return {
        name: tuple(sorted(unknowns[name], key=references.__getitem__))
        for name in sorted(unknowns, key=references.__getitem__)
    }


def scalar_code(functions: Iterable[Function]) -> str:
    """Return C code of SX functions in the calling convention of CasADi's generated code.

    All arguments and the first result are required; further results may be ``NULL``.
    """
    return "\n".join(_function(function) for function in functions)


def _function(function: Function) -> str:
    names = [""] * max(function.sz_w(), 1)
    starts = [function.sparsity_out(k).find() for k in range(function.n_out())]
    lines = []
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            result, element = targets
            test = f"if (r{result}) " if result else ""
            lines.append(f"{test}r{result}[{starts[result][element]}] = {names[sources[0]]};")
        elif operation == ca.OP_CONST:
            names[targets[0]] = f"({number(function.instruction_constant(k))})"
        elif operation == ca.OP_INPUT:
            argument, element = sources
            names[targets[0]] = f"a{k}"
            lines.append(f"const double a{k} = i{argument}[{element}];")
        else:
            text = _expression(operation, [names[s] for s in sources[: arity(operation)]])
            names[targets[0]] = f"a{k}"
            lines.append(f"const double a{k} = {text};")
    lines += ["(void)iw, (void)w, (void)mem;", "return 0;"]
    arrays = [f"const double *const i{k} = arg[{k}];" for k in range(function.n_in())]
    arrays += [f"double *const r{k} = res[{k}];" for k in range(function.n_out())]
    unused = [f"(void){name};" for name in _arrays(function)]
    body = "".join(f"  {line}\n" for line in [*arrays, *unused, *lines])
    return (
        f"int {function.name()}(const double **arg, double **res, long long int *iw, double *w, "
        f"int mem) {{\n{body}}}\n"
    )


def _arrays(function: Function) -> Iterable[str]:
    yield from (f"i{k}" for k in range(function.n_in()))
    yield from (f"r{k}" for k in range(function.n_out()))


def _expression(operation: int, operands: list[str]) -> str:
    if operation == ca.OP_SIGN:
        return _SIGN.format(*operands)
    template = UNARY.get(operation) or BINARY.get(operation)
    if template is not None:
        return template.format(*operands)
    if operation not in CALLS:
        raise NotImplementedError(f"operation {operation} of CasADi")
    return f"{CALLS[operation]}({', '.join(operands)})"
