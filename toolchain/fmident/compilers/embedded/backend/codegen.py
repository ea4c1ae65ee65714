"""C source of one model: CasADi functions and the tables that the runtime reads.

CasADi's own generator tests before each number that it reads or writes whether there is an array
for it. Two fifths of the time to compile a function, and some of the time to evaluate it, go there;
so only results that a caller may do without are tested here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.backend.compiling import (
    DATA_FILE,
    FMI3_FILE,
    FUNCTIONS_FILE,
    KIND_FILE,
    LANES_FILE,
    SIZES_FILE,
)
from fmident.compilers.embedded.backend.derivatives import (
    Matrix,
    ModelDerivatives,
    combined,
    direction,
    function_along,
    indicators_of,
    loop_functions,
    loop_sizes,
    loop_table,
    total_along,
    with_jacobian,
)
from fmident.compilers.embedded.backend.layout import FmuLayout, declarations
from fmident.compilers.embedded.model import (
    INTEGRATORS,
    Function,
    OdeModel,
    Version,
    instructions,
)

_TYPES = ("Real", "Integer", "Boolean")
"""In the order of the runtime's ``model.h``."""

_SAME_IN_LANES = 6
"""Arguments of the functions with lanes that come before the seeds."""

LARGEST_ROSENBROCK = 100
"""Largest number of states for which a full Jacobian is factored in each step."""

ELEMENTARY = """\
#include <math.h>
#include "elementary.h"
#define exp fmident_exp
#define tanh fmident_tanh
"""
"""These functions give the same bits on every machine."""


_WITHOUT_SWITCHES = """\
int fmident_switched_jacobian(const double **arg, double **res, long long int *iw, double *w,
                              int mem) {
  return fmident_jacobian(arg, res, iw, w, mem);
}
"""

_NAMES = ("live", "samples", "starts", "update")


LANES = 8
"""Numbers in one block, as in the runtime's lanes.h."""

_OPERATORS = {
    ca.OP_ASSIGN: "{0}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0} * {0}",
    ca.OP_TWICE: "2.0 * {0}",
    ca.OP_INV: "1.0 / {0}",
    ca.OP_NOT: "!{0}",
    # Minus zero and what is not a number are their own sign, as for CasADi.
    ca.OP_SIGN: "{0} < 0.0 ? -1.0 : {0} > 0.0 ? 1.0 : {0}",
    ca.OP_ADD: "{0} + {1}",
    ca.OP_SUB: "{0} - {1}",
    ca.OP_MUL: "{0} * {1}",
    ca.OP_DIV: "{0} / {1}",
    ca.OP_LT: "{0} < {1}",
    ca.OP_LE: "{0} <= {1}",
    ca.OP_EQ: "{0} == {1}",
    ca.OP_NE: "{0} != {1}",
    ca.OP_AND: "{0} && {1}",
    ca.OP_OR: "{0} || {1}",
    ca.OP_IF_ELSE_ZERO: "{0} ? {1} : 0.0",
}
_CALLS = {
    getattr(ca, f"OP_{name.upper()}"): name
    for name in (
        *("exp", "log", "pow", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "floor"),
        *("ceil", "fmod", "fabs", "copysign", "erf", "fmin", "fmax", "sinh", "cosh", "tanh"),
        *("asinh", "acosh", "atanh", "atan2", "log1p", "expm1", "hypot", "remainder"),
    )
} | {ca.OP_CONSTPOW: "pow"}
"""Operations that are functions of C."""

_LINEAR = {ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN}
"""Operations that the C compiler has for vectors, also with a number as one of the operands."""


def generate(
    model: OdeModel,
    layout: FmuLayout,
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
    without_switches = "" if derivatives.switches.count else _WITHOUT_SWITCHES
    along_lanes = (*derivatives.along, *derivatives.at_events)
    lanes = [linear_code(function, _SAME_IN_LANES) for function in along_lanes]
    return {
        KIND_FILE: _kind(model, integrator, version),
        SIZES_FILE: _sizes(model, functions, derivatives, integrator),
        DATA_FILE: _data(model, layout, derivatives, guid, tolerance),
        FUNCTIONS_FILE: "\n".join([ELEMENTARY, *map(scalar_code, functions), without_switches]),
        LANES_FILE: "\n".join(lanes),
    }


def _functions(model: OdeModel, derivatives: ModelDerivatives) -> list[Function]:
    constraints = []
    if model.constraints.equations:
        constraints = [with_jacobian("fmident_constraints", model.constraints.residual, 1)]
    return [
        combined("fmident_calculated_parameters", model.calculated_parameters),
        combined("fmident_initial_states", model.initial_states),
        combined("fmident_rhs", model.rhs, model.assert_values),
        derivatives.of_rates.function,
        function_along("fmident_time_derivative", model, "u", model.rhs, time=1.0),
        combined("fmident_outputs", model.output_values, model.assert_values),
        combined("fmident_locals", model.local_values),
        combined("fmident_asserts", model.assert_values),
        directional(model),
        directional_initial(model),
        _directional_locals(model),
        derivatives.calculated.function,
        *([derivatives.jacobian.function] if derivatives.switches.count else []),
        *derivatives.switching,
        *event_functions(model),
        *loop_functions(model),
        *constraints,
    ]


def directional(model: OdeModel) -> Function:
    """Return outputs and state derivatives differentiated along (x, u, p); c follows p."""
    return function_along("fmident_directional", model, "xup", model.output_values, model.rhs)


def directional_initial(model: OdeModel) -> Function:
    """Return the initial states differentiated along (u, p); c follows p."""
    t, u, p, c = plain = model.initial_states.sx_in()
    arguments = [t, ca.SX.sym("x", len(model.states)), u, p, c]
    moving, seeds = direction(model, arguments, "up")
    result = total_along(model, ca.vec(model.initial_states(*plain)), arguments, seeds)
    return ca.Function("fmident_directional_initial", [*plain, *moving], ca.cse([result]))


def _directional_locals(model: OdeModel) -> Function:
    """Return local variables and calculated parameters differentiated along (x, p, held)."""
    arguments = model.local_values.sx_in()
    moving, seeds = direction(model, arguments, "xph")
    sw = total_along(model, ca.vec(model.local_values(*arguments)), arguments, seeds)
    results = ca.cse([sw, seeds[4][: len(model.calculated)]])
    return ca.Function("fmident_directional_locals", [*arguments, *moving], results)


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
    operations = [function.instruction_id(k) for k in range(function.n_instructions())]
    return 10 + sum(0 if k in _FREE else 1 if k in _CHEAP else _COSTLY for k in operations)


_ONE_MODEL = """\
#ifdef FMIDENT_ANY_MODEL
#error this file would have to be compiled for each model
#endif
"""


def needs_cvode(model: OdeModel, integrator: str) -> bool:
    """Return whether CVODE may be chosen for the model, so that it must be linked."""
    large = len(model.states) > LARGEST_ROSENBROCK
    chosen = integrator == "cvode" or (integrator == "auto" and large and model.suits_cvode)
    return bool(model.states) and chosen


def _kind(model: OdeModel, integrator: str, version: Version) -> str:
    """Return the macros that runtime files compiled once per kind of model depend on."""
    kinds = {
        "STATES": bool(model.states),
        "EVENTS": model.events.any,
        "ITERATIONS": bool(model.loops.all),
        "CONSTRAINED": bool(model.constraints.equations),
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
        "LARGEST_ROSENBROCK": (LARGEST_ROSENBROCK if model.suits_cvode else len(model.states)),
        "CONSTRAINTS": len(model.constraints.equations),
        "JACOBIAN_ELEMENTS": len(derivatives.of_rates.rows),
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
    loops = model.loops.all
    return [
        loop_table(model),
        _numbers("fmident_loop_nominals", (n for loop in loops for n in loop.nominals)),
        _strings("fmident_loop_unknowns", (n for loop in loops for n in loop.names)),
        _strings("fmident_loop_equations", (q for loop in loops for q in loop.equations)),
    ]


def _data(
    model: OdeModel,
    layout: FmuLayout,
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
            integers(
                "fmident_jacobian_places",
                (row + len(model.states) * column for row, column in derivatives.of_rates.places),
            ),
            *_matrix("fmident_calculated_elements", derivatives.calculated),
            *_matrix("fmident_switched_elements", derivatives.jacobian),
            _strings("fmident_assert_messages", (a.message for a in model.asserts)),
            integers(
                "fmident_discrete_types",
                (_TYPES.index(v.type_name) for v in model.events.variables),
            ),
            _strings("fmident_relations", model.events.relations),
            _flags("fmident_relation_matters", relations_that_matter(model)),
            _flags("fmident_assert_is_error", (a.level == "error" for a in model.asserts)),
            *_loops(model),
            _strings("fmident_constraint_texts", model.constraints.equations),
        ]
    )


def event_functions(model: OdeModel) -> list[Function]:
    """Return the functions that the runtime calls at events; empty without events.

    The last one returns the event indicators and their time derivatives, given those of x
    and u.
    """
    if not model.events.any:
        return []
    functions = [combined(f"fmident_{name}", getattr(model.events, name)) for name in _NAMES]
    arguments = model.rhs.sx_in()
    moving, seeds = direction(model, arguments, "xu", time=1.0)
    values = ca.densify(indicators_of(model.events.live, arguments))
    rates = total_along(model, values, arguments, seeds)
    results = ca.cse([values, rates])
    return [*functions, ca.Function("fmident_indicators", [*arguments, *moving], results)]


def relations_that_matter(model: OdeModel) -> list[bool]:
    """Return for each relation whether anything besides discrete variables depends on it."""
    events = model.events
    if not events.any:
        return []
    functions = [
        model.rhs,
        model.output_values,
        model.local_values,
        model.assert_values,
        events.live,
        *(loop.residual for loop in model.loops.all),
    ]
    used = {
        column - len(model.calculated)
        for function in functions
        if function.numel_out(0)
        for column in function.jac_sparsity(0, 4).get_triplet()[1]
    }
    return [relation in used for relation in range(len(events.relations))]


def event_sizes(model: OdeModel) -> Mapping[str, int]:
    """Return the macros of ``model_sizes.h`` that count held values."""
    events = model.events
    return {
        "NH": events.held_count,
        "NR": len(events.relations),
        "NS": events.sample_count,
        "ND": events.discrete_count,
        "NDV": len(events.variables),
    }


def fmi3_code(model: OdeModel, layout: FmuLayout) -> dict[str, str]:
    """Return the C files specific to FMI 3.0, name to text."""
    sizes = [0] * len(layout.names)
    for one in declarations(layout.variables):
        sizes[one.value_reference] = len(one.elements)
    functions = [
        _adjoint("fmident_adjoint", directional(model), 5),
        _adjoint("fmident_adjoint_initial", directional_initial(model), 4),
        _along_time("fmident_along_time", model, None),
        _along_time("fmident_along_time_initial", model, layout),
    ]
    table = integers("fmident_element_counts", sizes)
    return {
        FMI3_FILE: "\n".join(
            ['#include "fmi3_layer.h"', ELEMENTARY, table, *map(scalar_code, functions)]
        )
    }


def _along_time(name: str, model: OdeModel, layout: FmuLayout | None) -> Function:
    """Return the time derivatives of states, outputs and state derivatives, knowns fixed.

    States vary in initialization mode only, for which `layout` says which are calculated.
    """
    t, x, u, p, c = arguments = model.rhs.sx_in()
    _, seeds = direction(model, arguments, "", time=1.0)
    if layout is not None and x.numel():
        rates = total_along(model, ca.vec(model.initial_states(t, u, p, c)), arguments, seeds)
        seeds[1] = ca.densify(rates * ca.DM([not settable for settable in layout.settable_states]))
    values = [ca.vec(f(*arguments)) for f in (model.output_values, model.rhs)]
    results = [ca.densify(seeds[1]), *(total_along(model, v, arguments, seeds) for v in values)]
    return ca.Function(name, arguments, ca.cse(results))


def _adjoint(name: str, function: Function, point: int) -> Function:
    """Return the transpose of a directional derivative, by reverse differentiation.

    `function` has `point` arguments for the point, followed by the direction.
    """
    arguments = function.sx_in()
    results = function.call(arguments)
    weights = [ca.SX.sym(f"l{k}", result.numel()) for k, result in enumerate(results)]
    direction = ca.vertcat(*arguments[point:])
    value = ca.vertcat(*(ca.vec(result) for result in results))
    if value.numel() == 0 or direction.numel() == 0:
        gradient = ca.SX.zeros(direction.numel(), 1)
    else:
        gradient = ca.densify(ca.jtimes(value, direction, ca.vertcat(*weights), True))
    ends = [0, *itertools.accumulate(argument.numel() for argument in arguments[point:])]
    parts = [gradient[begin:end] for begin, end in itertools.pairwise(ends)]
    return ca.Function(name, [*arguments[:point], *weights], ca.cse(parts))


LONGEST_FUNCTION = 500
"""Most statements in one function of C, as compilers assign registers in quadratic time."""


@dataclass(frozen=True)
class _Statement:
    """C code that defines the variable `name`, if any, of type `kind` from `operands`."""

    text: str
    name: str = ""
    operands: Sequence[str] = ()
    kind: str = "double"


_SHARED = {"double": "s", "vec": "v"}
"""Arrays of variables that one part of a function computes and another one uses, by type."""


def _parts(groups: Sequence[Sequence[_Statement]]) -> tuple[list[list[str]], dict[str, int]]:
    """Return the bodies of the parts of each group, and the lengths of the shared arrays."""
    parts = [
        [
            group[first : first + LONGEST_FUNCTION]
            for first in range(0, len(group), LONGEST_FUNCTION)
        ]
        for group in groups
    ]
    numbered = list(enumerate(itertools.chain(*parts)))
    defined = {s.name: (n, s.kind) for n, part in numbered for s in part if s.name}
    used = {
        n: [o for o in dict.fromkeys(o for s in part for o in s.operands) if defined[o][0] < n]
        for n, part in numbered
    }
    lengths = dict.fromkeys(_SHARED, 0)
    places: dict[str, str] = {}
    for operand in dict.fromkeys(itertools.chain(*used.values())):
        kind = defined[operand][1]
        places[operand] = f"{_SHARED[kind]}[{lengths[kind]}]"
        lengths[kind] += 1
    bodies = []
    for n, part in numbered:
        lines = [f"const {defined[o][1]} {o} = {places[o]};" for o in used[n]]
        for statement in part:
            lines.append(statement.text)
            if statement.name in places:
                lines.append(f"{places[statement.name]} = {statement.name};")
        bodies.append("".join(f"  {line}\n" for line in lines))
    remaining = iter(bodies)
    return [list(itertools.islice(remaining, len(group))) for group in parts], lengths


def scalar_code(function: Function) -> str:
    """Return C code of an SX function in the calling convention of CasADi's generated code.

    All arguments and the first result are required; further results may be ``NULL``.
    """
    names = [""] * max(function.sz_w(), 1)
    starts = [function.sparsity_out(k).find() for k in range(function.n_out())]
    statements = []

    def variables(operands: Sequence[str]) -> list[str]:
        return [o for o in operands if o.startswith("a")]

    for k, operation, sources, targets in instructions(function):
        if operation == ca.OP_OUTPUT:
            result, element = targets
            test = f"if (r{result}) " if result else ""
            value = names[sources[0]]
            text = f"{test}r{result}[{starts[result][element]}] = {value};"
            statements.append(_Statement(text, operands=variables([value])))
        elif operation == ca.OP_CONST:
            names[targets[0]] = f"({_number(function.instruction_constant(k))})"
        else:
            text = f"i{sources[0]}[{sources[-1]}]"
            operands = [] if operation == ca.OP_INPUT else [names[s] for s in sources]
            if operands:
                text = _expression(operation, operands)
            names[targets[0]] = f"a{k}"
            text = f"const double a{k} = {text};"
            statements.append(_Statement(text, f"a{k}", variables(operands)))
    name = function.name()
    arrays = [f"const double *const i{k} = arg[{k}]; (void)i{k};" for k in range(function.n_in())]
    arrays += [f"double *const r{k} = res[{k}]; (void)r{k};" for k in range(function.n_out())]
    before = "".join(f"  {line}\n" for line in arrays)
    (bodies,), lengths = _parts([statements])
    others, body = "", before + "".join(bodies)
    if len(bodies) > 1:
        others = "".join(
            f"static __attribute__((noinline)) void {name}_{n}(const double **arg, double **res, "
            f"double *s) {{\n{before}{part}}}\n"
            for n, part in enumerate(bodies)
        )
        body = f"  double s[{lengths['double'] or 1}];\n"
        body += "".join(f"  {name}_{n}(arg, res, s);\n" for n in range(len(bodies)))
    return (
        f"{others}int {name}(const double **arg, double **res, long long int *iw, double *w, "
        f"int mem) {{\n{body}  (void)iw, (void)w, (void)mem;\n  return 0;\n}}\n"
    )


def _expression(operation: int, operands: list[str]) -> str:
    if operation in _OPERATORS:
        return _OPERATORS[operation].format(*operands)
    if operation not in _CALLS:
        raise NotImplementedError(f"operation {operation} of CasADi")
    return f"{_CALLS[operation]}({', '.join(operands)})"


def linear_code(function: Function, scalars: int) -> str:
    """Return C code of ``LINEAR(name)(const double **arg, double **res, long stride)``.

    The runtime's lanes.c defines ``LINEAR``, the type ``vec`` and its ``WIDTH``. The first
    `scalars` arguments are the same in all lanes. In the others, in which the results are
    linear, and in the results, element i is :data:`LANES` numbers beginning at ``i *
    stride``. What does not depend on the others, including reciprocals of divisors, is
    computed once; the rest in vectors of register length.
    """
    once: list[_Statement] = []
    lines: list[_Statement] = []
    names: dict[int, str] = {}
    vectors: set[str] = set()
    reciprocals: set[str] = set()
    starts = {k: function.sparsity_out(k).find() for k in range(function.n_out())}
    for k, operation, sources, targets in instructions(function):
        if operation == ca.OP_OUTPUT:
            result, element = targets
            value = names[sources[0]]
            vector = value if value in vectors else f"ZERO + {value}"
            text = f"PUT(r{result} + {starts[result][element]} * stride + lane, {vector});"
            lines.append(_Statement(text, operands=[value]))
            continue
        name = f"a{k}"
        if operation == ca.OP_INPUT:
            argument, element = sources
            if argument < scalars:
                text = f"const double {name} = arg[{argument}][{element}];"
                once.append(_Statement(text, name))
            else:
                place = f"arg[{argument}] + {element} * stride + lane"
                lines.append(_Statement(f"const vec {name} = GET({place});", name, kind="vec"))
                vectors.add(name)
        elif operation == ca.OP_CONST:
            value = _number(function.instruction_constant(k))
            once.append(_Statement(f"const double {name} = {value};", name))
        else:
            operands = [names[s] for s in sources]
            kind = "vec" if vectors.intersection(operands) else "double"
            if operation == ca.OP_DIV and operands[1] not in vectors:
                # A division takes as long as ten multiplications, in vectors even longer.
                operation, divisor = ca.OP_MUL, operands[1]
                operands[1] = f"per_{divisor}"
                if divisor not in reciprocals:
                    reciprocals.add(divisor)
                    text = f"const double {operands[1]} = 1.0 / {divisor};"
                    once.append(_Statement(text, operands[1], [divisor]))
            text = f"const {kind} {name} = {_in_lanes(operation, operands, vectors)};"
            if kind == "vec":
                vectors.add(name)
            (lines if kind == "vec" else once).append(_Statement(text, name, operands, kind))
        names[targets[0]] = name
    outputs = "".join(
        f"  double *r{k} = res[{k}];\n  (void)r{k}, (void)stride;\n"
        for k in range(function.n_out())
    )
    name = function.name()
    before, body = ("".join(f"  {s.text}\n" for s in group) for group in (once, lines))
    others = ""
    if len(once) + len(lines) > LONGEST_FUNCTION:
        groups, lengths = _parts([once, lines])
        given = "const double **arg, double **res, long stride, long lane, double *s, vec *v"
        calls = []
        for kind, group in zip("sv", groups, strict=True):
            for n, part in enumerate(group):
                others += (
                    f"__attribute__((noinline)) LINEAR({name}_{kind}{n})({given}) {{\n{outputs}"
                    f"  (void)arg, (void)lane, (void)s, (void)v;\n{part}  return 0;\n}}\n"
                )
            lane = "lane" if kind == "v" else "0"
            calls.append(
                "".join(
                    f"  PART({name}_{kind}{n})(arg, res, stride, {lane}, s, v);\n"
                    for n in range(len(group))
                )
            )
        before = "".join(
            f"  {kind} {array}[{lengths[kind] or 1}];\n" for kind, array in _SHARED.items()
        )
        before, body = before + calls[0], calls[1]
    return (
        f"{others}LINEAR({name})(const double **arg, double **res, long stride) {{\n"
        f"{outputs}{before}  for (long lane = 0; lane < {LANES}; lane += WIDTH) {{\n{body}  }}\n"
        "  return 0;\n}\n"
    )


def _in_lanes(operation: int, operands: list[str], vectors: set[str]) -> str:
    if vectors.isdisjoint(operands):
        return _expression(operation, operands)
    if operation == ca.OP_IF_ELSE_ZERO and operands[0] not in vectors:
        return f"{operands[0]} != 0.0 ? {operands[1]} : ZERO"
    if operation not in _LINEAR:
        raise NotImplementedError(f"operation {operation} of CasADi is not linear")
    return _expression(operation, operands)


def _number(value: float) -> str:
    """Return a number as a C literal with all its bits."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return float(value).hex()
