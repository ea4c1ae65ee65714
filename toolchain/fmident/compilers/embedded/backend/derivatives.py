"""First derivatives of a model's functions, as the runtime uses them for sensitivities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from fmident.compilers.embedded.backend.loops import total_jacobian, with_loops
from fmident.compilers.embedded.backend.switches import Switches, find_switches
from fmident.compilers.embedded.model import Function, OdeModel


def symbols(function: Function) -> list[ca.SX]:
    """Return a vector of symbols for each argument of a function."""
    return [ca.SX.sym(f"i{k}", function.numel_in(k)) for k in range(function.n_in())]


def along(value: ca.SX, arguments: Sequence[ca.SX], seeds: Sequence[ca.SX]) -> ca.SX:
    """Return the derivative of a vector along a direction, dense."""
    if value.numel() == 0:
        return ca.SX(0, 1)
    return ca.densify(ca.jtimes(value, ca.vertcat(*arguments), ca.vertcat(*seeds)))


def calculated_along(model: OdeModel, p: ca.SX, sp: ca.SX, held: ca.SX | None = None) -> ca.SX:
    """Return the derivative of ``c`` along a direction of the parameters.

    Parameters
    ----------
    model
        The causalised model.
    p, sp
        Parameters and their direction.
    held
        That of what is held between events; ``None`` where it does not change. The loops at the end
        of ``c`` are left out.
    """
    sc = along(ca.vec(model.calculated_parameters(p)), [p], [sp])
    behind = ca.SX(model.count_behind, 1)
    if held is not None and model.held_count:
        behind[: model.held_count] = held
    return ca.vertcat(sc, behind)


def total_along(
    model: OdeModel, value: ca.SX, arguments: Sequence[ca.SX], seeds: Sequence[ca.SX]
) -> ca.SX:
    """Return the derivative of a vector along a direction, loops followed.

    Parameters
    ----------
    model
        The causalised model.
    value
        A function of `arguments`.
    arguments
        t, x, u, p, c and others.
    seeds
        Direction of each; what stands for loops in that of c is not used.
    """
    followed = with_loops(model, arguments[:5], seeds[:5])
    return along(value, arguments, [*seeds[:4], followed, *seeds[5:]])


@dataclass(frozen=True)
class Matrix:
    """A function that returns the elements of a matrix that are not zero for good.

    Parameters
    ----------
    function
        Returns them column by column.
    rows
        Of each element.
    starts
        First element of each column, and their number.
    """

    function: Function
    rows: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, name: str, arguments: Sequence[ca.SX], matrix: ca.SX) -> Matrix:
        """Return a matrix that is known by its expressions."""
        values: list[Any] = list(matrix.nonzeros())
        elements = ca.densify(ca.vertcat(*values)) if values else ca.SX(0, 1)
        sparsity = matrix.sparsity()
        return cls(
            ca.Function(name, list(arguments), ca.cse([elements])),
            tuple(sparsity.row()),
            tuple(sparsity.colind()),
        )


class ModelDerivatives:
    """What the sensitivities of a model are integrated with.

    Parameters
    ----------
    model
        The causalised model.
    """

    def __init__(self, model: OdeModel) -> None:
        self._model = model

    @cached_property
    def switches(self) -> Switches:
        """Conditions of the state derivatives."""
        return find_switches(self._model.rhs)

    @cached_property
    def calculated(self) -> Matrix:
        """``(p) -> d c / d p``."""
        (p,) = symbols(self._model.calculated_parameters)
        matrix = _jacobian(ca.vec(self._model.calculated_parameters(p)), p)
        return Matrix.of("fmident_calculated_derivatives", [p], matrix)

    @cached_property
    def jacobian(self) -> Matrix:
        """``(t, x, u, p, c, modes) -> d dx / d x``, between two switches."""
        found = self.switches
        matrix = total_jacobian(self._model, found.result, found.arguments)
        return Matrix.of("fmident_switched_jacobian", [*found.arguments, found.modes], matrix)

    @cached_property
    def switching(self) -> list[Function]:
        """What the runtime needs where a condition switches."""
        found = self.switches
        t, x, u, p, c = found.arguments
        st, sx, su, sp = (ca.SX.sym(f"s{k}", v.numel()) for k, v in enumerate((t, x, u, p)))
        plain = [t, x, u, p, c]
        sh = ca.SX.sym("sh", self._model.held_count)
        sc = calculated_along(self._model, p, sp, sh)
        change = total_along(self._model, found.indicators, plain, [st, sx, su, sp, sc])
        return [
            ca.Function(
                "fmident_switches", plain, ca.cse([found.indicators, ca.densify(found.values)])
            ),
            ca.Function("fmident_switched_rhs", [*plain, found.modes], ca.cse([found.result])),
            ca.Function(
                "fmident_directional_switches", [*plain, st, sx, su, sp, sh], ca.cse([change])
            ),
        ]

    @cached_property
    def along(self) -> tuple[Function, Function]:
        """State derivatives along ``(sx, sp, sc, st, su)`` and outputs along ``(sx, sp, sc)``."""
        found = self.switches
        output = self._model.output_values
        arguments = tuple(symbols(output))
        value = ca.vec(output(*arguments))
        return (
            self._tangent("fmident_rhs_along", found.arguments, found.modes, found.result),
            self._tangent("fmident_outputs_along", arguments, ca.SX(0, 1), value, moving=False),
        )

    @cached_property
    def at_events(self) -> list[Function]:
        """What happens at events, along ``(sx, sp, sc, st, su)``; none without events."""
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
        """Return the derivative along states, parameters, what is calculated from them, and more.

        That is, if `moving`, along time and inputs, too. `modes` are further arguments, which do
        not change unless they are among `more`.
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
    """Return what passes through zero where a relation switches, for each of them.

    Not a number where that is not known.
    """
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
