"""Where a model's state derivatives jump or have a kink: conditions that switch.

A function with ``if``, ``abs``, ``sign``, ``min``, ``max``, ``floor`` or ``atan2`` is smooth as
long as none of them switches. Here each becomes a mode, a number that is held between two switches,
so that derivatives can be taken on either side of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.model import Function


@dataclass(frozen=True)
class Switches:
    """A function taken apart.

    Parameters
    ----------
    arguments
        Those of the function.
    modes
        A symbol for each condition, shape (k, 1).
    indicators
        Which change their sign where the condition switches, shape (k, 1).
    values
        Of the modes, as they follow from the arguments, shape (k, 1).
    result
        The first result of the function, with the modes in place of the conditions.
    """

    arguments: tuple[ca.SX, ...]
    modes: ca.SX
    indicators: ca.SX
    values: ca.SX
    result: ca.SX

    @property
    def count(self) -> int:
        """Number of conditions."""
        number: int = self.modes.numel()
        return number


Replacement = Callable[[ca.SX, ca.SX, ca.SX], ca.SX]


def _of_a_period(a: ca.SX, b: ca.SX) -> ca.SX:
    return ca.sin(ca.pi * a)


def _difference(a: ca.SX, b: ca.SX) -> ca.SX:
    return a - b


def _argument(a: ca.SX, b: ca.SX) -> ca.SX:
    return a


def _mode(mode: ca.SX, a: ca.SX, b: ca.SX) -> ca.SX:
    return mode


def _sheet(y: ca.SX, x: ca.SX) -> ca.SX:
    return ca.if_else(x < 0.0, ca.if_else(y < 0.0, -1.0, 1.0), 0.0)


def _angle(mode: ca.SX, y: ca.SX, x: ca.SX) -> ca.SX:
    """Return atan2, continued past the half line where it jumps: y = 0, x < 0."""
    half = 1.0 - 2.0 * mode * mode
    return ca.atan2(half * y, half * x) + ca.pi * mode


_SWITCHING: dict[
    int,
    tuple[Callable[[ca.SX, ca.SX], ca.SX], Callable[[ca.SX, ca.SX], ca.SX], Replacement],
] = {
    # operation: indicator, value of the mode, what replaces the operation
    ca.OP_LT: (_difference, lambda a, b: a < b, _mode),
    ca.OP_LE: (_difference, lambda a, b: a <= b, _mode),
    ca.OP_SIGN: (_argument, lambda a, b: ca.sign(a), _mode),
    ca.OP_FLOOR: (_of_a_period, lambda a, b: ca.floor(a), _mode),
    ca.OP_CEIL: (_of_a_period, lambda a, b: ca.ceil(a), _mode),
    ca.OP_FABS: (
        _argument,
        lambda a, b: ca.if_else(a < 0.0, -1.0, 1.0),
        lambda mode, a, b: mode * a,
    ),
    ca.OP_FMIN: (
        _difference,
        lambda a, b: a < b,
        lambda mode, a, b: mode * a + (1.0 - mode) * b,
    ),
    ca.OP_FMAX: (
        _difference,
        lambda a, b: a < b,
        lambda mode, a, b: mode * b + (1.0 - mode) * a,
    ),
    ca.OP_FMOD: (
        lambda a, b: ca.sin(ca.pi * a / b),
        lambda a, b: (a - ca.fmod(a, b)) / b,
        lambda mode, a, b: a - mode * b,
    ),
    # Between 0 and the others nothing jumps, so that the indicator is that of the half line.
    ca.OP_ATAN2: (_argument, _sheet, _angle),
}


_SATURATED = 19.0
"""From here on a hyperbolic tangent is 1 in double precision."""


def find_switches(function: Function) -> Switches:
    """Take a function apart.

    Parameters
    ----------
    function
        Of SX expressions; only its first result counts.
    """
    arguments = tuple(ca.SX.sym(f"i{k}", function.numel_in(k)) for k in range(function.n_in()))
    value = ca.cse(ca.densify(ca.vec(function(*arguments))))
    whole = ca.Function("whole", list(arguments), [value])
    size = whole.sz_w()
    plain: list[ca.SX] = [ca.SX(0)] * size  # the work vector, as it is
    switched = list(plain)  # and with modes
    result = ca.SX.zeros(value.numel(), 1)
    modes: list[ca.SX] = []
    indicators: list[ca.SX] = []
    values: list[ca.SX] = []
    for k in range(whole.n_instructions()):
        operation = whole.instruction_id(k)
        sources, targets = whole.instruction_input(k), whole.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            result[targets[1]] = switched[sources[0]]
            continue
        (target,) = targets
        if operation == ca.OP_INPUT:
            plain[target] = switched[target] = arguments[sources[0]][sources[1]]
        elif operation == ca.OP_CONST:
            plain[target] = switched[target] = ca.SX(whole.instruction_constant(k))
        elif operation == ca.OP_TANH:
            # Hardly a switch, but as good as one where a step passes all of the bend.
            for bound in (-_SATURATED, _SATURATED):
                modes.append(ca.SX.sym(f"mode{len(modes)}"))
                indicators.append(plain[sources[0]] - bound)
                values.append(plain[sources[0]] < bound)
            plain[target], switched[target] = (ca.tanh(w[sources[0]]) for w in (plain, switched))
        elif operation in _SWITCHING:
            indicator, of_mode, replace = _SWITCHING[operation]
            # The target may be the place of an operand.
            operands = [plain[s] for s in sources]
            with_modes = [switched[s] for s in sources]
            mode = ca.SX.sym(f"mode{len(modes)}")
            modes.append(mode)
            indicators.append(indicator(operands[0], operands[-1]))
            values.append(of_mode(operands[0], operands[-1]))
            plain[target] = _apply(operation, operands)
            switched[target] = replace(mode, with_modes[0], with_modes[-1])
        else:
            plain[target], switched[target] = (
                _apply(operation, [w[s] for s in sources]) for w in (plain, switched)
            )
    return Switches(
        arguments,
        ca.vertcat(ca.SX(0, 1), *modes),
        ca.vertcat(ca.SX(0, 1), *indicators),
        ca.vertcat(ca.SX(0, 1), *values),
        result,
    )


def _apply(operation: int, operands: list[ca.SX]) -> ca.SX:
    if len(operands) == 1:
        return ca.SX.unary(operation, *operands)
    return ca.SX.binary(operation, *operands)
