"""The communication loop, compiled: one call of it runs many steps.

FMI functions are called through their addresses, which are plain integers to the loop.
So the machine code is the same for all FMUs, and Numba keeps it on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from fmident.fmu.native import MATRIX, PROGRAM, TABLE, VECTOR, call_fmu, compiled
from fmident.fmu.program import (
    ADDRESS,
    COUNT,
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
    VALUES,
    WARNINGS,
)


def _define() -> Callable[..., bool]:
    # Numba's cache on disk notices changes of this file and of a function's closure, but
    # not of another module's constants. A stale layout would make calls to wrong addresses:
    # so the layout is part of the closure.
    kind, function, references, count = KIND, FUNCTION, REFERENCES, COUNT
    address, stride, orders = ADDRESS, STRIDE, ORDERS
    values_kind, step_kind = VALUES, STEP
    failed_call, failed_step, failed_status = FAILED_CALL, FAILED_STEP, FAILED_STATUS
    warnings, not_finite = WARNINGS, NOT_FINITE

    def run_steps(
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
            int64, shape (4,): what stopped the loop, and the number of steps with warnings;
            while it runs, where it is.

        Returns
        -------
        bool
            Whether all steps succeeded and all outputs are finite. The first output that is
            not takes precedence over a call that failed after it.
        """
        calls, outputs = program.shape[0], reals.shape[1]
        done = end
        for i in range(begin, end):
            state[failed_step] = i  # for whoever looks when this process is gone
            t = times[i]
            h = times[i + 1] - t
            worst = 0
            for c in range(calls):
                row = program[c]
                values = row[address] + row[stride] * i
                if row[kind] == values_kind:
                    status = call_fmu(
                        row[function], (component, row[references], row[count], values)
                    )
                elif row[kind] == step_kind:
                    status = call_fmu(row[function], (component, t, h, np.int32(1)))
                else:
                    status = call_fmu(
                        row[function],
                        (component, row[references], row[count], row[orders], values),
                    )
                worst |= status
                if status > 1 or status < 0:
                    state[failed_call] = c
                    state[failed_step] = i
                    state[failed_status] = status
                    done = i
                    break
            if done != end:
                break
            state[warnings] += worst
        # All rows at once: a test in each step would cost more than the steps of a small FMU.
        flat = reals.reshape(reals.size)
        # As a slice: an index that might be negative keeps the compiler from using vectors.
        written = flat[(begin + 1) * outputs : (done + 1) * outputs]
        broken = False
        for k in range(written.size):
            broken |= not np.isfinite(written[k])
        if broken:
            k = 0
            while np.isfinite(written[k]):
                k += 1
            state[failed_step] = begin + k // outputs
            state[failed_status] = not_finite - k % outputs
            return False
        return bool(done == end)

    return run_steps


run_steps: Callable[..., bool] = compiled(
    _define(),
    types.boolean(types.int64, PROGRAM, VECTOR, MATRIX, types.int64, types.int64, TABLE),
)
