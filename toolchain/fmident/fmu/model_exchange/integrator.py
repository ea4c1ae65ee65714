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

from fmident._types import F64
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.sundials import Sundials

_BDF = 2


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
        call, context, n = sundials.call, sundials.context, states.size
        self._vector = call("N_VMake_Serial", n, states.ctypes.data, context)
        self._allowed = call("N_VMake_Serial", n, allowed.ctypes.data, context)
        self._matrix = call("SUNDenseMatrix", n, n, context)
        self._solver = call("SUNLinSol_Dense", self._vector, self._matrix, context)
        self._memory = call("CVodeCreate", _BDF, context)
        memory = self._memory
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
        ):
            table[place] = value

    def _set(self, name: str, *arguments: Any) -> None:
        flag = self._sundials.call(name, *arguments)
        if flag != 0:
            raise MemoryError(f"{name} of SUNDIALS returned {flag}")

    def close(self) -> None:
        """Free the memory; closing twice does nothing."""
        if not self._memory:
            return
        call = self._sundials.call
        call("CVodeFree", ctypes.byref(ctypes.c_void_p(self._memory)))
        call("SUNLinSolFree", self._solver)
        call("SUNMatDestroy", self._matrix)
        call("N_VDestroy", self._vector)
        call("N_VDestroy", self._allowed)
        self._memory = None
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
