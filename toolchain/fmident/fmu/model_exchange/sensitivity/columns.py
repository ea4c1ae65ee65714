"""Sensitivities of a run, and the shifted instances used to compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code
from fmident.fmu.failure import RunFailed
from fmident.fmu.model_exchange.sensitivity.stencils import Stencil
from fmident.fmu.native_code.library import Library
from fmident.fmu.tables import I64, InputTable
from fmident.fmu.values import Assignment

_KINK = 0.02
"""What one-sided derivatives may differ by: shifts of 1e-6 leave 1e-6 of smooth functions."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """The run of the simulated instance, as needed for its sensitivities.

    `times` are communication points, s. `states` returns the present continuous states,
    `roots` which event indicators have just become zero (1 upwards, -1 downwards), `moved`
    the program of the inputs that an event sets (empty for False), and `assignment` that of
    the named variables.
    """

    times: F64
    relative: float
    library: Library
    inputs: InputTable
    table: I64
    reals: F64
    states: Callable[[], F64]
    roots: Callable[[], npt.NDArray[np.int32]]
    moved: Callable[[bool], I64]
    assignment: Callable[[Sequence[str]], Assignment]

    @property
    def interval(self) -> float:
        """The longest communication step, s."""
        return float(np.diff(self.times).max()) if self.times.size > 1 else 1.0


class Columns:
    """Sensitivities of the states with respect to each parameter, shape (parameters, n).

    `starts` are the states of each instance, shape (members, n): the unshifted one, then
    those of the first parameter's stencil, and so on; `first` are the first members, and
    the end. `sizes` are the largest absolute values of the states so far, shape (n,).
    """

    def __init__(self, stencils: Sequence[Stencil], starts: F64, nominals: F64) -> None:
        self.stencils = tuple(stencils)
        counts = np.array([1, *(len(s.values) for s in stencils)])
        self.first: I64 = np.cumsum(counts).astype(np.int64)
        self.offsets: F64 = np.array([0.0, *(o for s in stencils for o in s.offsets)])
        self.weights: F64 = np.array([0.0, *(w for s in stencils for w in s.weights)])
        self.nominals = nominals
        self.sizes: F64 = np.abs(starts[0])
        self.now: F64 = np.zeros((len(self.stencils), starts.shape[1]))
        self.take(starts)

    def take(self, results: F64) -> None:
        """Set the sensitivities to differences of states, shape (members, n)."""
        for j in range(len(self.stencils)):
            chosen = slice(int(self.first[j]), int(self.first[j + 1]))
            self.now[j] = self.weights[chosen] @ results[chosen]

    def of(self, member: int) -> int:
        """Return the parameter of a shifted instance."""
        return int(np.searchsorted(self.first, member, side="right")) - 1

    def name_of(self, member: int) -> str:
        """Return a description of an instance's shift."""
        if member == 0:
            return "the parameters of the run"
        return f"'{self.stencils[self.of(member)].name}' shifted by {self.offsets[member]:.1e}"

    def states_of(self, member: int, x: F64) -> F64:
        """Return the states of an instance on its own trajectory, when the run is at `x`."""
        if member == 0:
            return x.copy()
        states: F64 = x + self.offsets[member] * self.now[self.of(member)]
        return states

    def check_smooth(self, results: F64, t: float, where: str) -> None:
        """Raise `RunFailed` for a kink or jump in a parameter: different one-sided derivatives.

        `results` are those of the instances, shape (members, n).
        """
        for j, stencil in enumerate(self.stencils):
            low, high = results[self.first[j]], results[self.first[j + 1] - 1]
            one_sided = len(stencil.values) == 3
            middle = results[self.first[j] + 1] if one_sided else results[0]
            bend = np.abs(high + low - 2.0 * middle)
            size = np.max(np.abs(results), axis=0)
            if np.any(bend > _KINK * np.abs(high - low) + 1e-9 * size + 1e-300):
                raise not_differentiable(
                    f"at {where}, derivatives with respect to '{stencil.name}' to the left and to"
                    " the right differ: something happens there at exactly this value",
                    t,
                )


def not_differentiable(message: str, time: float) -> RunFailed:
    """Return the failure of a run that has outputs, but not their derivatives."""
    return RunFailed(
        f"the outputs cannot be differentiated: {message}",
        time=time,
        says_time=False,
        hint="simulate without sensitivities, and use finite differences",
        code=Code.NOT_DIFFERENTIABLE,
    )
