"""The communication loop, compiled: one call of it runs many steps.

FMI functions are called through their addresses, which are plain integers to the loop.
So the machine code is the same for all FMUs, and Numba keeps it on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from fmident.fmu.program import (
    ADDRESS,
    COUNT,
    DERIVATIVES,
    FAILED_CALL,
    FAILED_STATUS,
    FAILED_STEP,
    FUNCTION,
    KIND,
    NOT_FINITE,
    ORDERS,
    REFERENCES,
    STEP,
    STRIDE,
    WARNINGS,
)


def _call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the C function at `address` with a tuple of arguments; it returns an ``int``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in signature.args[1].types]
        function = ir.FunctionType(ir.IntType(32), kinds)
        pointer = builder.inttoptr(values[0], function.as_pointer())
        unpack: Any = cgutils.unpack_tuple
        return builder.call(pointer, unpack(builder, values[1]))

    return types.int32(types.int64, arguments), generate


_call_status: Any = intrinsic(_call)


def _run_steps(
    component: int, program: Any, times: Any, reals: Any, begin: int, end: int, state: Any
) -> bool:
    """Run communication steps `begin` to `end`; step i leads from times[i] to times[i + 1].

    Parameters
    ----------
    component
        Address of the FMU instance.
    program
        The calls of one step, int64, shape (calls, 7), see :mod:`fmident.fmu.program`.
    times
        Communication points, s.
    reals
        Real outputs, shape (n, count), which the program writes row by row.
    begin, end
        First step, and the one after the last.
    state
        int64, shape (4,): what stopped the loop, and the number of steps with warnings.

    Returns
    -------
    bool
        Whether all steps succeeded.
    """
    for i in range(begin, end):
        worst = 0
        for c in range(program.shape[0]):
            kind = program[c, KIND]
            values = program[c, ADDRESS] + program[c, STRIDE] * i
            if kind == STEP:
                status = _call_status(
                    program[c, FUNCTION],
                    (component, times[i], times[i + 1] - times[i], np.int32(1)),
                )
            elif kind == DERIVATIVES:
                status = _call_status(
                    program[c, FUNCTION],
                    (
                        component,
                        program[c, REFERENCES],
                        program[c, COUNT],
                        program[c, ORDERS],
                        values,
                    ),
                )
            else:
                status = _call_status(
                    program[c, FUNCTION],
                    (component, program[c, REFERENCES], program[c, COUNT], values),
                )
            if status != 0:
                if status != 1:
                    state[FAILED_CALL] = c
                    state[FAILED_STEP] = i
                    state[FAILED_STATUS] = status
                    return False
                worst = 1
        state[WARNINGS] += worst
        for k in range(reals.shape[1]):
            if not np.isfinite(reals[i + 1, k]):
                state[FAILED_STEP] = i
                state[FAILED_STATUS] = NOT_FINITE - k
                return False
    return True


def _compile() -> Callable[..., bool]:
    try:
        compiled = njit(nogil=True, cache=True)(_run_steps)
    except RuntimeError:  # no folder to be found that can be written: compile every time
        compiled = njit(nogil=True)(_run_steps)
    return compiled


run_steps = _compile()
