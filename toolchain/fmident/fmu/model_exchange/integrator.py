"""SUNDIALS CVODE, set up for the equations of one FMU instance.

Backward differentiation formulas of variable order with Newton's method and a dense
Jacobian; roots of the event indicators are found by the integrator itself. Source:
Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31(3), 2005.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.fmu.failure import RunFailed
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.sundials import Sundials

_BDF = 2

_FREED_BY = {
    "N_VMake_Serial": "N_VDestroy",
    "SUNDenseMatrix": "SUNMatDestroy",
    "SUNLinSol_Dense": "SUNLinSolFree",
    "CVodeCreate": "CVodeFree",
}


class Integrator:
    """Memory of CVODE for one run; to be closed.

    Parameters
    ----------
    sundials
        The library.
    table
        The shared table of the run, with sizes and the FMU's functions; the integrator
        writes its own addresses to it.
    states, allowed
        Continuous states and their absolute tolerances; used in place, shape (n,).
    start
        Time, s.
    relative
        Relative tolerance.

    Raises
    ------
    RunFailed
        There is not enough memory.
    """

    def __init__(
        self,
        sundials: Sundials,
        table: npt.NDArray[np.int64],
        states: F64,
        allowed: F64,
        start: float,
        relative: float,
    ) -> None:
        self._sundials = sundials
        self._kept = (table, states, allowed)
        self._start = start
        call, context, n = sundials.call, sundials.context, states.size
        self._made: list[tuple[str, Any]] = []
        self._vector = self._make("N_VMake_Serial", n, states.ctypes.data, context)
        self._allowed = self._make("N_VMake_Serial", n, allowed.ctypes.data, context)
        self._matrix = self._make("SUNDenseMatrix", n, n, context)
        self._solver = self._make("SUNLinSol_Dense", self._vector, self._matrix, context)
        memory = self._make("CVodeCreate", _BDF, context)
        if sundials.has("CVodeSetErrFile"):
            call("CVodeSetErrFile", memory, None)
        self._set("CVodeInit", memory, loop.derivatives.address, start, self._vector)
        self._set("CVodeSVtolerances", memory, relative, self._allowed)
        self._set("CVodeSetUserData", memory, table.ctypes.data)
        self._set("CVodeSetLinearSolver", memory, self._solver, self._matrix)
        if table[loop.DIRECTIONAL]:
            self._set("CVodeSetJacFn", memory, loop.jacobian.address)
        if table[loop.INDICATORS]:
            count = int(table[loop.INDICATORS])
            self._set("CVodeRootInit", memory, count, loop.indicators.address)
            self._set("CVodeSetNoInactiveRootWarn", memory)
        for place, value in (
            (loop.MEMORY, memory),
            (loop.STATE_VECTOR, self._vector),
            (loop.TOLERANCE_VECTOR, self._allowed),
            (loop.CVODE, sundials.address("CVode")),
            (loop.REINIT, sundials.address("CVodeReInit")),
            (loop.STOP_TIME, sundials.address("CVodeSetStopTime")),
            (loop.TOLERANCES, sundials.address("CVodeSVtolerances")),
            (loop.ARRAY_OF, sundials.address("N_VGetArrayPointer")),
            (loop.COLUMN_OF, sundials.address("SUNDenseMatrix_Column")),
            (loop.DENSE, sundials.address("CVodeGetDky")),
        ):
            table[place] = value

    def _make(self, name: str, *arguments: Any) -> Any:
        """Return what SUNDIALS allocates."""
        made = self._sundials.call(name, *arguments)
        if not made:
            raise self._failure(name, "no memory")
        self._made.append((_FREED_BY[name], made))
        return made

    def _set(self, name: str, *arguments: Any) -> None:
        flag = self._sundials.call(name, *arguments)
        if flag != 0:
            raise self._failure(name, f"flag {flag}")

    def _failure(self, name: str, said: str) -> RunFailed:
        self.close()
        n = self._kept[1].size
        states = "1 state" if n == 1 else f"{n} states"
        return RunFailed(
            f"the integrator CVODE cannot be set up for {states}: {name} returned {said}",
            time=self._start,
            says_time=False,
            hint=f"its Jacobian takes {8e-6 * n * n:.3g} MB: run fewer workers at a time, or"
            " export the FMU with Co-Simulation",
        )

    def roots(self, count: int) -> npt.NDArray[np.int32]:
        """Return for each event indicator whether it was a root, 1 upwards, -1 downwards."""
        found = np.zeros(max(count, 1), np.int32)
        self._sundials.call(
            "CVodeGetRootInfo", self._kept[0][loop.MEMORY].item(), found.ctypes.data
        )
        return found[:count]

    def close(self) -> None:
        """Free the memory; closing twice does nothing."""
        while self._made:
            freed_by, made = self._made.pop()
            if freed_by == "CVodeFree":
                self._sundials.call(freed_by, ctypes.byref(ctypes.c_void_p(made)))
            else:
                self._sundials.call(freed_by, made)
        self._kept[0][loop.MEMORY] = 0

    def __del__(self) -> None:
        self.close()


FLAGS = {
    -1: "it needs too many steps",
    -2: "the tolerance is too small for numbers of this precision",
    -3: "its steps become too small: the solution may have a singularity",
    -4: "its equations do not converge",
    -5: "its linear solver fails",
    -6: "its linear solver fails",
    -7: "its linear solver fails",
    -27: "the communication step is too short for numbers of this precision",
}
"""CVODE's flags in words."""
