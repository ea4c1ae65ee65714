"""Algebraic loops that are solved by iteration, as functions of the model's vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.equations.aliases import Alias
from fmident.compilers.embedded.frontend.equations.jumps import is_affine
from fmident.compilers.embedded.frontend.equations.system import Unknowns
from fmident.compilers.embedded.frontend.equations.tearing import TornLoop
from fmident.compilers.embedded.frontend.functions import column, model_function
from fmident.compilers.embedded.frontend.initial import start_value
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.parameters import ParameterTable
from fmident.compilers.embedded.model import Loop, Loops


class LoopFunctions:
    """Builds the part of the model that is iterated.

    Parameters
    ----------
    running
        Loops of the model.
    initial
        Loops of its start.
    """

    def __init__(self, running: Sequence[TornLoop], initial: Sequence[TornLoop]) -> None:
        self._running = running
        self._initial = initial
        loops = [*running, *initial]
        inverses = sum(len(loop.symbols) ** 2 for loop in loops)
        self.behind: list[v.SX] = [
            *(s for loop in loops for s in loop.symbols),
            *(ca.SX.sym(f"inverse {k}") for k in range(inverses)),
        ]
        """Symbols at the end of the vector ``c``."""

    def with_their_own(self, used: set[int]) -> set[int]:
        """Add the hashes of all symbols that the loops among some symbols depend on."""
        used = set(used)
        # A loop depends on earlier ones only.
        for loop in reversed(self._running):
            if any(s.element_hash() in used for s in loop.symbols):
                sides = ca.vertcat(*(q.residual for q in loop.equations))
                used |= {s.element_hash() for s in ca.symvar(ca.SX(sides))}
        return used

    def build(
        self,
        full: Sequence[v.SX],
        unknowns: Unknowns,
        aliases: Mapping[str, Alias],
        lowering: Lowering,
        parameters: ParameterTable,
    ) -> Loops | None:
        """Return the loops; ``None`` when there are none.

        Parameters
        ----------
        full
            Columns of t, x, u, p and c with all that is behind.
        unknowns, aliases
            Of the model.
        lowering
            Evaluates start values.
        parameters
            Knows nominal values.
        """
        loops = [*self._running, *self._initial]
        if not loops:
            return None
        names = ["t", "x", "u", "p", "c"]
        built = [
            Loop(
                names=loop.names,
                equations=tuple(q.text for q in loop.equations),
                residual=model_function(
                    "loop", full, names, column([q.residual for q in loop.equations]), "g"
                ),
                nominals=tuple(_nominal(n, unknowns, parameters) for n in loop.names),
                linear=is_affine([q.residual for q in loop.equations], loop.symbols),
            )
            for loop in loops
        ]
        starts = [_guess(n, unknowns, aliases, lowering) for loop in loops for n in loop.names]
        split = len(self._running)
        return Loops(
            tuple(built[:split]),
            tuple(built[split:]),
            model_function("loop_starts", full[3:], names[3:], column(starts), "z"),
        )


def _guess(
    name: str, unknowns: Unknowns, aliases: Mapping[str, Alias], lowering: Lowering
) -> Scalar:
    """Return where the iteration of an unknown begins: a ``start`` of it or of what equals it."""
    if name not in unknowns.declared:
        return 0.0  # a derivative
    same = [(name, 1), *((n, a.sign) for n, a in aliases.items() if a.representative == name)]
    for other, sign in same:
        variable, position = unknowns.declared[other]
        if variable.start is not None:
            return v.plain(sign * start_value(variable, position, lowering))
    return 0.0


def _nominal(name: str, unknowns: Unknowns, parameters: ParameterTable) -> float:
    if name not in unknowns.declared:
        return 1.0
    nominal = parameters.attributes(*unknowns.declared[name]).nominal
    return abs(nominal) if nominal else 1.0
