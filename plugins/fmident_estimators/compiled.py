"""Compilation of arithmetic with Numba, with the machine code cached if possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from fmident._compiling import watch_numba
from fmident.estimation.contract import Flag

Function = TypeVar("Function", bound=Callable[..., Any])

OK, FILLING, SINGULAR, MISSING = map(int, (Flag.GOOD, Flag.FILLING, Flag.SINGULAR, Flag.MISSING))
"""Flags of samples, as the numbers that compiled functions return."""


def compiled(*, any_order: bool = False) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function of numbers and arrays.

    `any_order` allows reordered sums, which can use the processor's vector units; NaN stays
    NaN.
    """
    fast = {"reassoc", "contract", "nsz"} if any_order else False

    def decorate(function: Function) -> Function:
        watch_numba()
        try:
            machine_code: Any = njit(nogil=True, cache=True, fastmath=fast)(function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache can be written to.
            machine_code = njit(nogil=True, fastmath=fast)(function)
        return cast(Function, machine_code)

    return decorate
