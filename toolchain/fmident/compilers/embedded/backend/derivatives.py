"""First derivatives of a model's functions, which the runtime uses for sensitivities.

A function with ``if``, ``abs``, ``sign``, ``min``, ``max``, ``floor`` or ``atan2`` is
smooth as long as none of them switches. Each switch is represented by a mode, a number
that is constant between events, so that derivatives are available on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from fmident.compilers.embedded.backend.loops import total_jacobian, with_loops
from fmident.compilers.embedded.model import Function, OdeModel


def symbols(function: Function) -> list[ca.SX]:
    """Return a vector of symbols for each argument of a function."""
    return [ca.SX.sym(f"i{k}", function.numel_in(k)) for k in range(function.n_in())]


def along(value: ca.SX, arguments: Sequence[ca.SX], seeds: Sequence[ca.SX]) -> ca.SX:
    """Return the directional derivative of a vector, dense."""
    if value.numel() == 0:
        return ca.SX(0, 1)
    return ca.densify(ca.jtimes(value, ca.vertcat(*arguments), ca.vertcat(*seeds)))


def calculated_along(model: OdeModel, p: ca.SX, sp: ca.SX, held: ca.SX | None = None) -> ca.SX:
    """Return the derivative of ``c`` along `sp` and `held`, without the loops at its end.

    `held` is the direction of the values held between events, ``None`` if constant.
    """
    sc = along(ca.vec(model.calculated_parameters(p)), [p], [sp])
    behind = ca.SX(model.count_behind, 1)
    if held is not None and model.held_count:
        behind[: model.held_count] = held
    return ca.vertcat(sc, behind)


def total_along(
    model: OdeModel, value: ca.SX, arguments: Sequence[ca.SX], seeds: Sequence[ca.SX]
) -> ca.SX:
    """Return the directional derivative of a function of `arguments`, loops included.

    `seeds` has the direction of each argument; the loop entries in that of c are not used.
    """
    followed = with_loops(model, arguments[:5], seeds[:5])
    return along(value, arguments, [*seeds[:4], followed, *seeds[5:]])


@dataclass(frozen=True)
class Matrix:
    """A function that returns the structurally non-zero elements of a matrix, by column.

    `starts` is the first element of each column, followed by the number of elements.
    """

    function: Function
    rows: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, name: str, arguments: Sequence[ca.SX], matrix: ca.SX) -> Matrix:
        """Return the sparse form of a symbolic matrix."""
        values: list[Any] = list(matrix.nonzeros())
        elements = ca.densify(ca.vertcat(*values)) if values else ca.SX(0, 1)
        sparsity = matrix.sparsity()
        return cls(
            ca.Function(name, list(arguments), ca.cse([elements])),
            tuple(sparsity.row()),
            tuple(sparsity.colind()),
        )


class ModelDerivatives:
    """Functions needed to integrate the sensitivities of a causalised model."""

    def __init__(self, model: OdeModel) -> None:
        self._model = model

    @cached_property
    def switches(self) -> Switches:
        """Switching conditions of the state derivatives."""
        return find_switches(self._model.rhs)

    @cached_property
    def calculated(self) -> Matrix:
        """``(p) -> d c / d p``."""
        (p,) = symbols(self._model.calculated_parameters)
        matrix = _jacobian(ca.vec(self._model.calculated_parameters(p)), p)
        return Matrix.of("fmident_calculated_derivatives", [p], matrix)

    @cached_property
    def jacobian(self) -> Matrix:
        """``(t, x, u, p, c, modes) -> d dx / d x``, valid between two switches."""
        switches = self.switches
        matrix = total_jacobian(self._model, switches.result, switches.arguments)
        return Matrix.of("fmident_switched_jacobian", [*switches.arguments, switches.modes], matrix)

    @cached_property
    def switching(self) -> list[Function]:
        """Functions that the runtime needs when a condition switches."""
        switches = self.switches
        t, x, u, p, c = switches.arguments
        st, sx, su, sp = (ca.SX.sym(f"s{k}", v.numel()) for k, v in enumerate((t, x, u, p)))
        plain = [t, x, u, p, c]
        sh = ca.SX.sym("sh", self._model.held_count)
        sc = calculated_along(self._model, p, sp, sh)
        change = total_along(self._model, switches.indicators, plain, [st, sx, su, sp, sc])
        return [
            ca.Function(
                "fmident_switches",
                plain,
                ca.cse([switches.indicators, ca.densify(switches.values)]),
            ),
            ca.Function(
                "fmident_switched_rhs", [*plain, switches.modes], ca.cse([switches.result])
            ),
            ca.Function(
                "fmident_directional_switches", [*plain, st, sx, su, sp, sh], ca.cse([change])
            ),
        ]

    @cached_property
    def along(self) -> tuple[Function, Function]:
        """State derivatives along ``(sx, sp, sc, st, su)`` and outputs along ``(sx, sp, sc)``."""
        switches = self.switches
        output = self._model.output_values
        arguments = tuple(symbols(output))
        value = ca.vec(output(*arguments))
        return (
            self._tangent("fmident_rhs_along", switches.arguments, switches.modes, switches.result),
            self._tangent("fmident_outputs_along", arguments, ca.SX(0, 1), value, moving=False),
        )

    @cached_property
    def at_events(self) -> list[Function]:
        """Event functions along ``(sx, sp, sc, st, su)``; empty without events."""
        model = self._model
        events = model.events
        if events is None:
            return []
        plain = tuple(symbols(model.rhs))
        t, _, u, p, c = plain
        before = ca.SX.sym("before", events.discrete_count)
        nothing = ca.SX(0, 1)
        starts = ca.vertcat(ca.vec(model.initial_states(t, u, p, c)), ca.vec(events.starts(*plain)))
        update = ca.vertcat(*(ca.vec(r) for r in events.update.call([*plain, before])))
        indicators = indicators_of(events.live, plain)
        samples = ca.vec(events.samples(p, c))
        return [
            self._tangent("fmident_indicators_along", plain, nothing, indicators),
            self._tangent("fmident_samples_along", plain, nothing, samples),
            self._tangent("fmident_starts_along", plain, nothing, starts),
            self._tangent("fmident_update_along", plain, before, update, before),
        ]

    def _tangent(
        self,
        name: str,
        arguments: tuple[ca.SX, ...],
        modes: ca.SX,
        value: ca.SX,
        *more: ca.SX,
        moving: bool = True,
    ) -> Function:
        """Return the derivative along states, parameters, `more`, and if `moving` time and inputs.

        `modes` are further arguments, constant unless they are among `more`.
        """
        t, x, u, p, c = arguments
        known = len(self._model.calculated) + self._model.held_count
        directions = [x, p, c[:known], *([t, u] if moving else []), *more]
        seeds = [ca.SX.sym(f"s{k}", v.numel()) for k, v in enumerate(directions)]
        sx, sp, sc, *rest = seeds
        st, su = rest[:2] if moving else (ca.SX(1, 1), ca.SX(u.numel(), 1))
        sc = ca.vertcat(sc, ca.SX(c.numel() - known, 1))
        along_all = [st, sx, su, sp, sc, *(rest[2:] if moving else rest)]
        result = total_along(self._model, value, [*arguments, *more], along_all)
        return ca.Function(name, [*arguments, modes, *seeds], ca.cse([result]))


def indicators_of(live: Function, arguments: Sequence[ca.SX]) -> ca.SX:
    """Return the event indicator of each relation: zero where it switches, NaN if unknown."""
    relations = ca.vec(live(*arguments))
    return ca.vertcat(ca.SX(0, 1), *(_indicator(relations[k]) for k in range(relations.numel())))


def _indicator(relation: ca.SX) -> ca.SX:
    if relation.is_constant():
        return ca.SX(1.0)
    operation = relation.op()
    if operation in (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE):
        return relation.dep(0) - relation.dep(1)
    if operation in (ca.OP_FLOOR, ca.OP_CEIL):
        return ca.sin(ca.pi * relation.dep(0))
    if operation == ca.OP_SIGN:
        return relation.dep(0)
    if operation == ca.OP_ADD:  # what `div` and `rem` round to zero
        for part in (relation.dep(0), relation.dep(1)):
            if part.op() == ca.OP_IF_ELSE_ZERO and part.dep(1).op() == ca.OP_FLOOR:
                return ca.sin(ca.pi * part.dep(1).dep(0))
    return ca.SX(float("nan"))


def _jacobian(value: ca.SX, argument: ca.SX) -> ca.SX:
    if value.numel() == 0 or argument.numel() == 0:
        return ca.SX(value.numel(), argument.numel())
    return ca.sparsify(ca.jacobian(value, argument))


@dataclass(frozen=True)
class Switches:
    """A function with its k switching conditions replaced by symbols, `modes`.

    `indicators` change sign where a condition switches, `values` are those of the modes in
    terms of `arguments`, and `result` is the first result of the function.
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
    """Return atan2, continued across its branch cut y = 0, x < 0."""
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
    """Find the switching conditions in the first result of a function of SX expressions."""
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
