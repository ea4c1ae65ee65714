"""C source of one model: CasADi functions and the tables that the runtime reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from fmident.compilers.embedded.backend.compiling.formats import (
    DATA_FILE,
    FUNCTIONS_FILE,
    KIND_FILE,
    LANES_FILE,
    SIZES_FILE,
)
from fmident.compilers.embedded.backend.derivatives import (
    Matrix,
    ModelDerivatives,
    calculated_along,
    indicators_of,
    symbols,
    total_along,
)
from fmident.compilers.embedded.backend.lanes import linear_code
from fmident.compilers.embedded.backend.layout import Layout, scalar_code
from fmident.compilers.embedded.backend.loops import (
    loop_functions,
    loop_sizes,
    loop_table,
    total_jacobian,
)
from fmident.compilers.embedded.model import INTEGRATORS, Function, OdeModel, Version

_TYPES = ("Real", "Integer", "Boolean")
"""In the order of the runtime's ``model.h``."""

_SAME_IN_LANES = 6
"""Arguments of the functions with lanes that come before the seeds."""

LARGEST_ROSENBROCK = 100
"""Number of states up to which factors of a full Jacobian in each step are worth it."""

ELEMENTARY = """\
#include <math.h>
#include "elementary.h"
#define exp fmident_exp
#define tanh fmident_tanh
"""
"""These functions give the same bits on every machine."""


_NAMES = ("live", "samples", "starts", "update")


def generate(
    model: OdeModel,
    layout: Layout,
    *,
    guid: str,
    tolerance: float,
    integrator: str = "auto",
    version: Version = "2.0",
) -> dict[str, str]:
    """Return the model's C files, name to text, without those specific to FMI 3.0.

    `guid` is the identifier that the binary checks at instantiation.
    """
    derivatives = ModelDerivatives(model)
    functions = _functions(model, derivatives)
    along_lanes = (*derivatives.along, *derivatives.at_events)
    lanes = [linear_code(function, _SAME_IN_LANES) for function in along_lanes]
    return {
        KIND_FILE: _kind(model, integrator, version),
        SIZES_FILE: _sizes(model, functions, derivatives, integrator),
        DATA_FILE: _data(model, layout, derivatives, guid, tolerance),
        FUNCTIONS_FILE: "\n".join([ELEMENTARY, scalar_code(functions)]),
        LANES_FILE: "\n".join(lanes),
    }


def _combined(name: str, *functions: Function) -> Function:
    """Combine functions of the same arguments, sharing subexpressions, with dense results."""
    arguments = symbols(functions[0])
    results = [ca.densify(ca.vec(function(*arguments))) for function in functions]
    return ca.Function(name, arguments, ca.cse(results))


def _functions(model: OdeModel, derivatives: ModelDerivatives) -> list[Function]:
    return [
        _combined("fmident_calculated_parameters", model.calculated_parameters),
        _combined("fmident_initial_states", model.initial_states),
        _combined("fmident_rhs", model.rhs, model.assert_values),
        _jacobian(model),
        _time_derivative(model),
        _combined("fmident_outputs", model.output_values, model.assert_values),
        _combined("fmident_locals", model.local_values),
        _combined("fmident_asserts", model.assert_values),
        directional(model),
        directional_initial(model),
        _directional_locals(model),
        derivatives.calculated.function,
        derivatives.jacobian.function,
        *derivatives.switching,
        *event_functions(model),
        *loop_functions(model),
        *_constraints(model),
    ]


def _constraints(model: OdeModel) -> list[Function]:
    if model.constraints is None:
        return []
    arguments = symbols(model.constraints.residual)
    value = ca.vec(model.constraints.residual(*arguments))
    matrix = ca.densify(ca.jacobian(value, arguments[1]))
    return [ca.Function("fmident_constraints", arguments, ca.cse([ca.densify(value), matrix]))]


def _jacobian_of(model: OdeModel) -> tuple[list[ca.SX], ca.SX]:
    """Return t, x, u, p, c and the sparse Jacobian."""
    arguments = symbols(model.rhs)
    return arguments, total_jacobian(model, ca.vec(model.rhs(*arguments)), arguments)


def _jacobian(model: OdeModel) -> Function:
    """Return the structurally non-zero elements of the Jacobian, by column."""
    arguments, matrix = _jacobian_of(model)
    values: list[Any] = list(matrix.nonzeros())
    result = ca.densify(ca.vertcat(*values)) if values else ca.SX(0, 1)
    return ca.Function("fmident_jacobian", arguments, ca.cse([result]))


def _jacobian_places(model: OdeModel) -> list[int]:
    """Return the positions of these elements in the matrix, column by column."""
    sparsity = _jacobian_of(model)[1].sparsity()
    return [
        row + len(model.states) * column
        for row, column in zip(*sparsity.get_triplet(), strict=True)
    ]


def _time_derivative(model: OdeModel) -> Function:
    """Return the time derivative of the state derivatives, for fixed states and ramp inputs."""
    t, x, u, p, c = symbols(model.rhs)
    du = ca.SX.sym("du", u.numel())
    value = ca.vec(model.rhs(t, x, u, p, c))
    still = [ca.SX(v.numel(), 1) for v in (x, p, c)]
    seeds = [ca.SX(1.0), still[0], du, *still[1:]]
    result = total_along(model, value, [t, x, u, p, c], seeds)
    return ca.Function("fmident_time_derivative", [t, x, u, p, c, du], ca.cse([result]))


def directional(model: OdeModel) -> Function:
    """Return outputs and state derivatives differentiated along (x, u, p); c follows p."""
    t, x, u, p, c = symbols(model.rhs)
    sx, su, sp = (ca.SX.sym(f"s{k}", v.numel()) for k, v in enumerate((x, u, p)))
    sc = calculated_along(model, p, sp)
    values = [ca.vec(model.output_values(t, x, u, p, c)), ca.vec(model.rhs(t, x, u, p, c))]
    seeds = [ca.SX(1, 1), sx, su, sp, sc]
    results = [total_along(model, value, [t, x, u, p, c], seeds) for value in values]
    return ca.Function("fmident_directional", [t, x, u, p, c, sx, su, sp], ca.cse(results))


def directional_initial(model: OdeModel) -> Function:
    """Return the initial states differentiated along (u, p); c follows p."""
    t, u, p, c = symbols(model.initial_states)
    su, sp = ca.SX.sym("su", u.numel()), ca.SX.sym("sp", p.numel())
    sc = calculated_along(model, p, sp)
    value = ca.vec(model.initial_states(t, u, p, c))
    x = ca.SX.sym("x", len(model.states))
    seeds = [ca.SX(1, 1), ca.SX(x.numel(), 1), su, sp, sc]
    result = total_along(model, value, [t, x, u, p, c], seeds)
    return ca.Function("fmident_directional_initial", [t, u, p, c, su, sp], ca.cse([result]))


def _directional_locals(model: OdeModel) -> Function:
    """Return local variables and calculated parameters differentiated along (x, p, held)."""
    t, x, u, p, c = symbols(model.local_values)
    sx, sp = ca.SX.sym("sx", x.numel()), ca.SX.sym("sp", p.numel())
    sh = ca.SX.sym("sh", model.held_count)
    sc = calculated_along(model, p, sp, sh)
    seeds = [ca.SX(1, 1), sx, ca.SX(u.numel(), 1), sp, sc]
    sw = total_along(model, ca.vec(model.local_values(t, x, u, p, c)), [t, x, u, p, c], seeds)
    results = ca.cse([sw, sc[: len(model.calculated)]])
    return ca.Function("fmident_directional_locals", [t, x, u, p, c, sx, sp, sh], results)


_CHEAP = {
    getattr(ca, name)
    for name in (
        *("OP_ASSIGN", "OP_ADD", "OP_SUB", "OP_MUL", "OP_NEG", "OP_TWICE", "OP_SQ", "OP_FABS"),
        *("OP_LT", "OP_LE", "OP_EQ", "OP_NE", "OP_NOT", "OP_AND", "OP_OR", "OP_IF_ELSE_ZERO"),
        *("OP_FMIN", "OP_FMAX", "OP_SIGN", "OP_CONST"),
    )
}
_FREE = {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_PARAMETER}
_COSTLY = 12
"""Cost of a division or an elementary function, in multiplications."""


def _cost(function: Function) -> int:
    """Return the number of operations of a function, calls included, in multiplications."""
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    return 10 + sum(0 if k in _FREE else 1 if k in _CHEAP else _COSTLY for k in kinds)


_ONE_MODEL = """\
#ifdef FMIDENT_ANY_MODEL
#error this file would have to be compiled for each model
#endif
"""


def needs_cvode(model: OdeModel, integrator: str) -> bool:
    """Return whether CVODE may be chosen for the model, so that it must be linked."""
    large = len(model.states) > LARGEST_ROSENBROCK and not (model.events or model.constraints)
    return bool(model.states) and (integrator == "cvode" or (integrator == "auto" and large))


def _kind(model: OdeModel, integrator: str, version: Version) -> str:
    """Return the macros that runtime files compiled once per kind of model depend on."""
    kinds = {
        "STATES": bool(model.states),
        "EVENTS": model.events is not None,
        "ITERATIONS": model.loops is not None,
        "CONSTRAINED": model.constraints is not None,
        "CVODE": needs_cvode(model, integrator),
        "FMI3": version == "3.0",
    }
    return "".join(f"#define FMIDENT_{name} {int(value)}\n" for name, value in kinds.items())


def _sizes(
    model: OdeModel,
    functions: Sequence[Function],
    derivatives: ModelDerivatives,
    integrator: str,
) -> str:
    cost = {function.name(): _cost(function) for function in functions}
    sizes = {
        "INTEGRATOR": INTEGRATORS.index(integrator),
        # CVODE knows neither events nor constraints.
        "LARGEST_ROSENBROCK": (
            len(model.states) if model.events or model.constraints else LARGEST_ROSENBROCK
        ),
        "CONSTRAINTS": len(model.constraints.equations) if model.constraints else 0,
        "JACOBIAN_ELEMENTS": len(_jacobian_places(model)),
        "COST_RHS": cost["fmident_rhs"],
        "COST_JACOBIAN": cost["fmident_jacobian"],
        "COST_TIME": cost["fmident_time_derivative"],
        "CALCULATED_ELEMENTS": len(derivatives.calculated.rows),
        "SWITCHED_ELEMENTS": len(derivatives.jacobian.rows),
        "MODES": derivatives.switches.count,
        "NX": len(model.states),
        "NU": len(model.inputs),
        "NY": len(model.outputs),
        "NP": len(model.parameters),
        "NC": len(model.calculated),
        "NW": len(model.locals),
        "NA": len(model.asserts),
        **event_sizes(model),
        **loop_sizes(model),
        "SZ_ARG": max(12, *(f.sz_arg() for f in functions)),
        "SZ_RES": max(3, *(f.sz_res() for f in functions)),
        "SZ_IW": max(f.sz_iw() for f in functions),
        "SZ_W": max(f.sz_w() for f in functions),
    }
    return _ONE_MODEL + "".join(f"#define FMIDENT_{k} {v}\n" for k, v in sizes.items())


def c_string(text: str) -> str:
    """Return `text` as a C string literal in UTF-8; special bytes become octal escapes."""
    parts = []
    for byte in text.encode():
        plain = 0x20 <= byte < 0x7F and chr(byte) not in '"\\?'
        parts.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def _table(declaration: str, items: Iterable[str]) -> str:
    # C has no empty arrays: a table without elements gets one that nobody reads.
    rows = list(items) or ["0"]
    return f"{declaration}[] = {{\n" + "".join(f"  {row},\n" for row in rows) + "};\n"


def _numbers(name: str, values: Iterable[float]) -> str:
    return _table(f"const double {name}", (float(v).hex() for v in values))


def _flags(name: str, values: Iterable[bool]) -> str:
    return _table(f"const unsigned char {name}", ("1" if v else "0" for v in values))


def _strings(name: str, values: Iterable[str]) -> str:
    return _table(f"const char *const {name}", (c_string(v) for v in values))


def integers(name: str, values: Iterable[int]) -> str:
    """Return an integer table in C."""
    return _table(f"const int {name}", map(str, values))


def _matrix(name: str, matrix: Matrix) -> list[str]:
    return [
        integers(f"{name}_rows", matrix.rows),
        integers(f"{name}_starts", matrix.starts),
        f"const Elements {name} = {{{name}_rows, {name}_starts}};\n",
    ]


def _loops(model: OdeModel) -> list[str]:
    loops = model.loops.all if model.loops else ()
    return [
        loop_table(model),
        _numbers("fmident_loop_nominals", (n for loop in loops for n in loop.nominals)),
        _strings("fmident_loop_unknowns", (n for loop in loops for n in loop.names)),
        _strings("fmident_loop_equations", (q for loop in loops for q in loop.equations)),
    ]


def _data(
    model: OdeModel,
    layout: Layout,
    derivatives: ModelDerivatives,
    guid: str,
    tolerance: float,
) -> str:
    return "\n".join(
        [
            '#include "model.h"',
            "",
            f"const char fmident_guid[] = {c_string(guid)};",
            f"const double fmident_default_tolerance = {float(tolerance).hex()};",
            _strings("fmident_names", layout.names),
            _numbers("fmident_parameter_defaults", (v.start or 0.0 for v in model.parameters)),
            _numbers("fmident_input_starts", (v.start or 0.0 for v in model.inputs)),
            _numbers("fmident_state_starts", layout.state_starts),
            _flags("fmident_state_settable", layout.settable_states),
            _numbers("fmident_nominals", (abs(v.nominal or 1.0) for v in model.states)),
            integers("fmident_jacobian_places", _jacobian_places(model)),
            *_matrix("fmident_calculated_elements", derivatives.calculated),
            *_matrix("fmident_switched_elements", derivatives.jacobian),
            _strings("fmident_assert_messages", (a.message for a in model.asserts)),
            integers(
                "fmident_discrete_types",
                (
                    _TYPES.index(v.type_name)
                    for v in (model.events.variables if model.events else ())
                ),
            ),
            _strings("fmident_relations", model.events.relations if model.events else ()),
            _flags("fmident_relation_matters", relations_that_matter(model)),
            _flags("fmident_assert_is_error", (a.level == "error" for a in model.asserts)),
            *_loops(model),
            _strings(
                "fmident_constraint_texts", model.constraints.equations if model.constraints else ()
            ),
        ]
    )


def event_functions(model: OdeModel) -> list[Function]:
    """Return the functions that the runtime calls at events; empty without events."""
    if model.events is None:
        return []
    functions = [_exported(name, getattr(model.events, name)) for name in _NAMES]
    return [*functions, _indicators(model)]


def _indicators(model: OdeModel) -> Function:
    """Return the event indicators and their time derivatives, given those of x and u."""
    assert model.events is not None
    arguments = symbols(model.rhs)
    _, x, u, *_ = arguments
    dx, du = ca.SX.sym("dx", x.numel()), ca.SX.sym("du", u.numel())
    values = ca.densify(indicators_of(model.events.live, arguments))
    seeds = [ca.SX(1.0), dx, du, *(ca.SX(a.numel(), 1) for a in arguments[3:])]
    rates = total_along(model, values, arguments, seeds)
    return ca.Function("fmident_indicators", [*arguments, dx, du], ca.cse([values, rates]))


def _exported(name: str, function: Function) -> Function:
    arguments = symbols(function)
    results = function.call(arguments)
    return ca.Function(f"fmident_{name}", arguments, ca.cse([ca.densify(r) for r in results]))


def relations_that_matter(model: OdeModel) -> list[bool]:
    """Return for each relation whether anything besides discrete variables depends on it."""
    events = model.events
    if events is None:
        return []
    first = len(model.calculated)
    count = len(events.relations)
    matters = [False] * count
    functions = [
        model.rhs,
        model.output_values,
        model.local_values,
        model.assert_values,
        events.live,
    ]
    functions += [loop.residual for loop in (model.loops.all if model.loops else ())]
    for function in functions:
        if function.numel_out(0) == 0:
            continue
        _, columns = function.jac_sparsity(0, 4).get_triplet()
        for column in columns:
            if first <= column < first + count:
                matters[column - first] = True
    return matters


def event_sizes(model: OdeModel) -> Mapping[str, int]:
    """Return the macros of ``model_sizes.h`` that count held values."""
    events = model.events
    return {
        "NH": model.held_count,
        "NR": len(events.relations) if events else 0,
        "NS": events.sample_count if events else 0,
        "ND": events.discrete_count if events else 0,
        "NDV": len(events.variables) if events else 0,
    }
