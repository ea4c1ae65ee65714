"""The communication loop in Python, for where loading Numba would take longer than the run.

It does exactly what :mod:`fmident.fmu.loop` does, some thirty times slower.
"""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np

from fmident.fmu.floating import standard_maker
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

_VALUES_TYPE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
_DERIVATIVES_TYPE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p)
_STEP_TYPE = ctypes.CFUNCTYPE(c_int, c_void_p, c_double, c_double, c_int)


def run_steps(
    component: int, program: Any, times: Any, reals: Any, begin: int, end: int, state: Any
) -> bool:
    """Run steps `begin` to `end`; parameters as for :func:`fmident.fmu.loop.run_steps`."""
    calls = [[int(cell) for cell in row] for row in program]
    make_standard = standard_maker()
    for i in range(begin, end):
        state[FAILED_STEP] = i
        worst = 0
        for c, row in enumerate(calls):
            values = row[ADDRESS] + row[STRIDE] * i
            function = row[FUNCTION]
            if row[KIND] == STEP:
                t = float(times[i])
                status = _STEP_TYPE(function)(component, t, float(times[i + 1]) - t, 1)
            elif row[KIND] == DERIVATIVES:
                status = _DERIVATIVES_TYPE(function)(
                    component, row[REFERENCES], row[COUNT], row[ORDERS], values
                )
            else:
                status = _VALUES_TYPE(function)(component, row[REFERENCES], row[COUNT], values)
            make_standard()
            if status > 1 or status < 0:
                state[FAILED_CALL], state[FAILED_STEP], state[FAILED_STATUS] = c, i, status
                return False
            worst = max(worst, status)
        state[WARNINGS] += worst
        finite = np.isfinite(reals[i + 1])
        if not finite.all():
            state[FAILED_STEP] = i
            state[FAILED_STATUS] = NOT_FINITE - int(np.argmin(finite))
            return False
    return True
