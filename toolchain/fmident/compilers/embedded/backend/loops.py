"""Algebraic loops in C, and derivatives of functions that depend on them.

By the implicit function theorem, where ``g(v, z) = 0`` holds along a direction of
``v``, the unknowns change by ``dz = -(d g / d z)^-1 (d g / d v) dv``. The inverse
follows the unknowns in the vector ``c``; the runtime has it from the last iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.model import Function, Loop, OdeModel


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
    if model.loops is None:
        return
    first = len(model.calculated) + model.held_count
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
    sc = seeds[-1]
    if model.loops is None:
        return sc
    sc = ca.SX(sc)
    for one in placed(model):
        residual = ca.vec(one.loop.residual(*arguments))
        matrix = ca.jacobian(residual, ca.vertcat(*arguments))
        sc[one.unknowns, :] = ca.SX.zeros(one.loop.size, sc.shape[1])
        change = ca.mtimes(matrix, ca.vertcat(*seeds[:-1], sc))
        sc[one.unknowns, :] = -ca.mtimes(one.inverse_in(arguments[-1]), ca.densify(change))
    return sc


def total_jacobian(model: OdeModel, value: ca.SX, arguments: Sequence[ca.SX]) -> ca.SX:
    """Return the sparse derivative with respect to x of a function of t, x, u, p and c."""
    x, c = arguments[1], arguments[4]
    n = x.numel()
    if value.numel() == 0 or n == 0:
        return ca.SX(value.numel(), n)
    matrix = ca.jacobian(value, x)
    if model.loops is not None:
        seeds = [ca.SX(a.numel(), n) for a in arguments]
        seeds[1] = ca.SX.eye(n)
        matrix += ca.mtimes(ca.jacobian(value, c), with_loops(model, arguments, seeds))
    return ca.sparsify(matrix)


def loop_functions(model: OdeModel) -> list[Function]:
    """Return the residual functions that the runtime iterates; empty without loops."""
    if model.loops is None:
        return []
    result = []
    for k, one in enumerate(placed(model)):
        function = one.loop.residual
        arguments = [ca.SX.sym(f"i{k}", function.numel_in(k)) for k in range(function.n_in())]
        residual = ca.densify(ca.vec(function(*arguments)))
        matrix = ca.jacobian(residual, arguments[4])[:, one.unknowns]
        results = ca.cse([residual, ca.densify(matrix)])
        result.append(ca.Function(_name(k), arguments, results))
    p, c = (ca.SX.sym(f"i{k}", model.loops.starts.numel_in(k)) for k in range(2))
    starts = ca.densify(ca.vec(model.loops.starts(p, c)))
    return [*result, ca.Function("fmident_loop_starts", [p, c], ca.cse([starts]))]


def _name(position: int) -> str:
    return f"fmident_loop_{position}"


def loop_sizes(model: OdeModel) -> Mapping[str, int]:
    """Return the macros of ``model_sizes.h`` that count loops."""
    loops = model.loops
    return {
        "NZ": loops.unknowns if loops else 0,
        "NK": loops.count - loops.unknowns if loops else 0,
        "LOOPS": len(loops.all) if loops else 0,
        "RUNNING_LOOPS": len(loops.running) if loops else 0,
        "LARGEST_LOOP": max((loop.size for loop in loops.all), default=0) if loops else 0,
    }


def loop_table(model: OdeModel) -> str:
    """Return the C table of the loops."""
    rows = [
        f"  {{{_name(k)}, {one.loop.size}, {one.first}, {one.inverse}, {int(one.loop.linear)}}},\n"
        for k, one in enumerate(placed(model))
    ]
    declared = [
        f"fmident_Function {_name(k)};\n" for k in range(len(model.loops.all) if model.loops else 0)
    ]
    return "".join([*declared, "const Loop fmident_loops[] = {\n", *(rows or ["  {0},\n"]), "};\n"])
