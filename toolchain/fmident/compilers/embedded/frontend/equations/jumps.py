"""Discontinuities of expressions, which derivatives do not show.

The derivative of ``y + sign(y)`` is 1, like that of ``y``, but it is not linear.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar

_JUMPING = frozenset(
    {
        ca.OP_SIGN,
        ca.OP_FLOOR,
        ca.OP_CEIL,
        ca.OP_FMOD,
        ca.OP_REMAINDER,
        ca.OP_COPYSIGN,
        ca.OP_LT,
        ca.OP_LE,
        ca.OP_EQ,
        ca.OP_NE,
        ca.OP_NOT,
        ca.OP_AND,
        ca.OP_OR,
    }
)


def jumps_with(expressions: Sequence[Scalar], symbols: Sequence[v.SX]) -> list[frozenset[int]]:
    """Return for each expression the positions of the symbols in which it may jump."""
    stacked = ca.SX(ca.vertcat(*expressions))
    function = ca.Function(
        "jumps", [ca.SX(ca.vertcat(*symbols))], [ca.densify(stacked)], {"allow_free": True}
    )
    # Bits of the symbols on which a value depends, and of those with which it jumps.
    used: dict[int, tuple[int, int]] = {}
    results = [0] * len(expressions)
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        inputs, outputs = function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_INPUT:
            used[outputs[0]] = (1 << inputs[1], 0)
        elif operation == ca.OP_OUTPUT:
            results[outputs[1]] = used[inputs[0]][1]
        elif operation in (ca.OP_CONST, ca.OP_PARAMETER):
            used[outputs[0]] = (0, 0)
        else:
            depends = jumps = 0
            for i in inputs:
                depends |= used[i][0]
                jumps |= used[i][1]
            used[outputs[0]] = (depends, depends if operation in _JUMPING else jumps)
    positions = range(len(symbols))
    return [frozenset(j for j in positions if bits >> j & 1) for bits in results]


def is_affine(expressions: Sequence[Scalar], symbols: Sequence[v.SX]) -> bool:
    """Return whether expressions are affine in the given symbols."""
    stacked, unknown = ca.SX(ca.vertcat(*expressions)), ca.SX(ca.vertcat(*symbols))
    if ca.depends_on(ca.jacobian(stacked, unknown), unknown):
        return False
    return not any(jumps_with(expressions, symbols))
