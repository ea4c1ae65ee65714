"""Compilation of arithmetic with Numba, with the machine code cached if possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from fmident._compiling import watch_numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function of numbers and arrays."""
    watch_numba()
    try:
        machine_code: Any = njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # Neither the package's folder nor the user's cache can be written to.
        machine_code = njit(nogil=True)(function)
    return cast(Function, machine_code)
