"""First derivatives of a model's functions, which the runtime uses for sensitivities.

A function with ``if``, ``abs``, ``sign``, ``min``, ``max``, ``floor`` or ``atan2`` is
smooth as long as none of them switches. Each switch is represented by a mode, a number
that is constant between events, so that derivatives are available on both sides.

By the implicit function theorem, where ``g(v, z) = 0`` holds along a direction of ``v`` in an
algebraic loop, the unknowns change by ``dz = -(d g / d z)^-1 (d g / d v) dv``. The inverse
follows the unknowns in the vector ``c``; the runtime has it from the last iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from fmident.compilers.embedded.model import Function, Loop, OdeModel, instructions


def along(value: ca.SX, arguments: Sequence[ca.SX], seeds: Sequence[ca.SX]) -> ca.SX:
    """Return the directional derivative of a vector, dense."""
    if value.numel() == 0:
        return ca.SX(0, 1)
    return ca.densify(ca.jtimes(value, ca.vertcat(*arguments), ca.vertcat(*seeds)))


def direction(
    model: OdeModel, arguments: Sequence[ca.SX], names: str, *, time: float | None = None
) -> tuple[list[ca.SX], list[ca.SX]]:
    """Return symbols for a direction, and the direction of t, x, u, p and c without loops.

    `arguments` are t, x, u, p and c. Each letter of `names` is one of them that moves, or
    ``h`` for the values held between events; calculated parameters follow p. `time` is how
    fast time moves if it is none of them.
    """
    p = arguments[3]
    symbols = {
        name: ca.SX.sym(f"s{name}", argument.numel())
        for name, argument in zip("txupc", arguments, strict=True)
    } | {"h": ca.SX.sym("sh", model.events.held_count)}
    moving = [symbols[name] for name in names]
    still = [ca.SX(argument.numel(), 1) for argument in arguments]
    if time is not None:
        still[0] = ca.SX(time)
    seeds = [symbols[n] if n in names else s for n, s in zip("txup", still, strict=False)]
    sc = still[4]
    if "p" in names:
        sc = along(ca.vec(model.calculated_parameters(p)), [p], [symbols["p"]])
        sc = ca.vertcat(sc, ca.SX(model.count_behind, 1))
    if "h" in names and model.events.held_count:
        first = len(model.calculated)
        sc[first : first + model.events.held_count] = symbols["h"]
    return moving, [*seeds, sc]


def function_along(
    name: str, model: OdeModel, names: str, *functions: Function, time: float | None = None
) -> Function:
    """Return the derivatives of functions of t, x, u, p and c along a :func:`direction`."""
    arguments = functions[0].sx_in()
    moving, seeds = direction(model, arguments, names, time=time)
    results = [total_along(model, ca.vec(f(*arguments)), arguments, seeds) for f in functions]
    return ca.Function(name, [*arguments, *moving], ca.cse(results))


def combined(name: str, *functions: Function) -> Function:
    """Combine functions of the same arguments, sharing subexpressions, with dense results."""
    arguments = functions[0].sx_in()
    results = [ca.densify(ca.vec(result)) for f in functions for result in f.call(arguments)]
    return ca.Function(name, arguments, ca.cse(results))


def with_jacobian(
    name: str, function: Function, argument: int, columns: slice = slice(None)
) -> Function:
    """Return a function with columns of its dense Jacobian by one argument."""
    arguments = function.sx_in()
    value = ca.densify(ca.vec(function(*arguments)))
    matrix = ca.jacobian(value, arguments[argument])[:, columns]
    return ca.Function(name, arguments, ca.cse([value, ca.densify(matrix)]))


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

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of each element."""
        counts = [b - a for a, b in itertools.pairwise(self.starts)]
        columns = (column for column, count in enumerate(counts) for _ in range(count))
        return list(zip(self.rows, columns, strict=True))

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
        (p,) = self._model.calculated_parameters.sx_in()
        matrix = _jacobian(ca.vec(self._model.calculated_parameters(p)), p)
        return Matrix.of("fmident_calculated_derivatives", [p], matrix)

    @cached_property
    def of_rates(self) -> Matrix:
        """``(t, x, u, p, c) -> d dx / d x``."""
        arguments = self._model.rhs.sx_in()
        matrix = total_jacobian(self._model, ca.vec(self._model.rhs(*arguments)), arguments)
        return Matrix.of("fmident_jacobian", arguments, matrix)

    @cached_property
    def jacobian(self) -> Matrix:
        """``(t, x, u, p, c, modes) -> d dx / d x``, valid between two switches."""
        switches = self.switches
        if not switches.count:
            return self.of_rates
        matrix = total_jacobian(self._model, switches.result, switches.arguments)
        return Matrix.of("fmident_switched_jacobian", [*switches.arguments, switches.modes], matrix)

    @cached_property
    def switching(self) -> list[Function]:
        """Functions that the runtime needs when a condition switches."""
        switches = self.switches
        plain = [*switches.arguments]
        moving, seeds = direction(self._model, plain, "txuph")
        change = total_along(self._model, switches.indicators, plain, seeds)
        return [
            ca.Function(
                "fmident_switches",
                plain,
                ca.cse([switches.indicators, ca.densify(switches.values)]),
            ),
            ca.Function(
                "fmident_switched_rhs", [*plain, switches.modes], ca.cse([switches.result])
            ),
            ca.Function("fmident_directional_switches", [*plain, *moving], ca.cse([change])),
        ]

    @cached_property
    def along(self) -> tuple[Function, Function]:
        """State derivatives along ``(sx, sp, sc, st, su)`` and outputs along ``(sx, sp, sc)``."""
        switches = self.switches
        output = self._model.output_values
        arguments = tuple(output.sx_in())
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
        if not events.any:
            return []
        plain = tuple(model.rhs.sx_in())
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
        known = len(self._model.calculated) + self._model.events.held_count
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
    arguments = tuple(function.sx_in())
    value = ca.cse(ca.densify(ca.vec(function(*arguments))))
    whole = ca.Function("whole", list(arguments), [value])
    size = whole.sz_w()
    plain: list[ca.SX] = [ca.SX(0)] * size  # the work vector, as it is
    switched = list(plain)  # and with modes
    result = ca.SX.zeros(value.numel(), 1)
    modes: list[ca.SX] = []
    indicators: list[ca.SX] = []
    values: list[ca.SX] = []
    for k, operation, sources, targets in instructions(whole):
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


@dataclass(frozen=True)
class PlacedLoop:
    """A loop with its first unknown and inverse matrix, as indices in the vector ``c``."""

    loop: Loop
    first: int
    inverse: int

    @property
    def unknowns(self) -> slice:
        """Slice of its unknowns in ``c``."""
        return slice(self.first, self.first + self.loop.size)

    def inverse_in(self, c: ca.SX) -> ca.SX:
        """Return the inverse matrix, shape (n, n)."""
        n = self.loop.size
        return ca.reshape(c[self.inverse : self.inverse + n * n], n, n)


def placed(model: OdeModel) -> Iterator[PlacedLoop]:
    """Yield all loops, the initial ones last."""
    first = len(model.calculated) + model.events.held_count
    inverse = first + model.loops.unknowns
    for loop in model.loops.all:
        yield PlacedLoop(loop, first, inverse)
        first += loop.size
        inverse += loop.size**2


def with_loops(model: OdeModel, arguments: Sequence[ca.SX], seeds: Sequence[ca.SX]) -> ca.SX:
    """Return the derivative of ``c`` along a direction, loops included.

    `arguments` are t, x, u, p and c; `seeds` has the direction of each, of shape (n, 1) or
    (n, m), without use of its loop entries.
    """
    sc = ca.SX(seeds[-1])
    for one in placed(model):
        residual = ca.vec(one.loop.residual(*arguments))
        sc[one.unknowns, :] = ca.SX.zeros(one.loop.size, sc.shape[1])
        known, moved = ca.vertcat(*arguments), ca.vertcat(*seeds[:-1], sc)
        if moved.shape[1] == 1:
            change = ca.jtimes(residual, known, moved)
        else:
            change = ca.mtimes(ca.jacobian(residual, known), moved)
        sc[one.unknowns, :] = -ca.mtimes(one.inverse_in(arguments[-1]), ca.densify(change))
    return sc


def total_jacobian(model: OdeModel, value: ca.SX, arguments: Sequence[ca.SX]) -> ca.SX:
    """Return the sparse derivative with respect to x of a function of t, x, u, p and c."""
    x, c = arguments[1], arguments[4]
    n = x.numel()
    if value.numel() == 0 or n == 0:
        return ca.SX(value.numel(), n)
    matrix = ca.jacobian(value, x)
    if model.loops.all:
        seeds = [ca.SX(a.numel(), n) for a in arguments]
        seeds[1] = ca.SX.eye(n)
        matrix += ca.mtimes(ca.jacobian(value, c), with_loops(model, arguments, seeds))
    return ca.sparsify(matrix)


def loop_functions(model: OdeModel) -> list[Function]:
    """Return the residual functions that the runtime iterates; empty without loops."""
    if not model.loops.all:
        return []
    loops = [
        with_jacobian(_name(k), one.loop.residual, 4, one.unknowns)
        for k, one in enumerate(placed(model))
    ]
    return [*loops, combined("fmident_loop_starts", model.loops.starts)]


def _name(position: int) -> str:
    return f"fmident_loop_{position}"


def loop_sizes(model: OdeModel) -> Mapping[str, int]:
    """Return the macros of ``model_sizes.h`` that count loops."""
    loops = model.loops
    return {
        "NZ": loops.unknowns,
        "NK": loops.count - loops.unknowns,
        "LOOPS": len(loops.all),
        "RUNNING_LOOPS": len(loops.running),
        "LARGEST_LOOP": max((loop.size for loop in loops.all), default=0),
    }


def loop_table(model: OdeModel) -> str:
    """Return the C table of the loops."""
    rows = [
        f"  {{{_name(k)}, {one.loop.size}, {one.first}, {one.inverse}, {int(one.loop.linear)}}},\n"
        for k, one in enumerate(placed(model))
    ]
    declared = [f"fmident_Function {_name(k)};\n" for k in range(len(model.loops.all))]
    return "".join([*declared, "const Loop fmident_loops[] = {\n", *(rows or ["  {0},\n"]), "};\n"])
