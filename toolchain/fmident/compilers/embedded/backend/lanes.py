"""C code that evaluates functions for several values of their linear arguments at once.

What does not depend on these arguments, including reciprocals of divisors, is computed
once; the rest is computed for :data:`LANES` numbers in vectors of register length.
"""

from __future__ import annotations

import casadi as ca

from fmident.compilers.embedded.model import Function

LANES = 8
"""As in the runtime's lanes.h."""

UNARY = {
    ca.OP_ASSIGN: "{0}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0} * {0}",
    ca.OP_TWICE: "2.0 * {0}",
    ca.OP_INV: "1.0 / {0}",
    ca.OP_NOT: "!{0}",
    ca.OP_SIGN: "(double)(({0} > 0.0) - ({0} < 0.0))",
}
BINARY = {
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
CALLS = {
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


def linear_code(function: Function, scalars: int) -> str:
    """Return C code of ``LINEAR(name)(const double **arg, double **res, long stride)``.

    The runtime's lanes.c defines ``LINEAR``, the type ``vec`` and its ``WIDTH``. The first
    `scalars` arguments are the same in all lanes. In the others, in which the results are
    linear, and in the results, element i is :data:`LANES` numbers beginning at ``i *
    stride``.
    """
    once: list[str] = []
    lines: list[str] = []
    names: dict[int, str] = {}
    vectors: set[str] = set()
    reciprocals: set[str] = set()
    starts = {k: function.sparsity_out(k).find() for k in range(function.n_out())}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            result, element = targets
            place = f"r{result} + {starts[result][element]} * stride + lane"
            lines.append(f"PUT({place}, {_as_vector(names[sources[0]], vectors)});")
            continue
        name = f"a{k}"
        if operation == ca.OP_INPUT:
            argument, element = sources
            if argument < scalars:
                once.append(f"const double {name} = arg[{argument}][{element}];")
            else:
                place = f"arg[{argument}] + {element} * stride + lane"
                lines.append(f"const vec {name} = GET({place});")
                vectors.add(name)
        elif operation == ca.OP_CONST:
            once.append(f"const double {name} = {number(function.instruction_constant(k))};")
        else:
            operands = [names[s] for s in sources]
            kind = "vec" if vectors.intersection(operands) else "double"
            if operation == ca.OP_DIV and operands[1] not in vectors:
                # A division takes as long as ten multiplications, in vectors even longer.
                operation, divisor = ca.OP_MUL, operands[1]
                operands[1] = f"per_{divisor}"
                if divisor not in reciprocals:
                    reciprocals.add(divisor)
                    once.append(f"const double {operands[1]} = 1.0 / {divisor};")
            text = f"const {kind} {name} = {_expression(operation, operands, vectors)};"
            if kind == "vec":
                vectors.add(name)
            (lines if kind == "vec" else once).append(text)
        names[targets[0]] = name
    outputs = "".join(
        f"  double *r{k} = res[{k}];\n  (void)r{k}, (void)stride;\n"
        for k in range(function.n_out())
    )
    before = "".join(f"  {line}\n" for line in once)
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"LINEAR({function.name()})(const double **arg, double **res, long stride) {{\n"
        f"{outputs}{before}  for (long lane = 0; lane < {LANES}; lane += WIDTH) {{\n{body}  }}\n"
        "  return 0;\n}\n"
    )


def _expression(operation: int, operands: list[str], vectors: set[str]) -> str:
    if not vectors.intersection(operands):
        if operation in CALLS:
            return f"{CALLS[operation]}({', '.join(operands[: arity(operation)])})"
        template = UNARY.get(operation) or BINARY.get(operation)
        if template is None:
            raise NotImplementedError(f"operation {operation} of CasADi")
        return template.format(*operands)
    if operation == ca.OP_IF_ELSE_ZERO and operands[0] not in vectors:
        return f"{operands[0]} != 0.0 ? {operands[1]} : ZERO"
    if operation not in _LINEAR:
        raise NotImplementedError(f"operation {operation} of CasADi is not linear")
    template = UNARY.get(operation) or BINARY[operation]
    return template.format(*operands)


def arity(operation: int) -> int:
    """Return the number of arguments of an operation."""
    if operation in BINARY:
        return 2
    two = (ca.OP_POW, ca.OP_CONSTPOW, ca.OP_FMOD, ca.OP_COPYSIGN, ca.OP_FMIN, ca.OP_FMAX)
    return 2 if operation in (*two, ca.OP_ATAN2, ca.OP_HYPOT, ca.OP_REMAINDER) else 1


def _as_vector(name: str, vectors: set[str]) -> str:
    return name if name in vectors else f"ZERO + {name}"


def number(value: float) -> str:
    """Return a number as a C literal with all its bits."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return float(value).hex()
