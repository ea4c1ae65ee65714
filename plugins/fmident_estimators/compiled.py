"""Compile arithmetic with Numba, and keep the machine code where a folder for it can be had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*, any_order: bool = False) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function of numbers and arrays.

    Parameters
    ----------
    any_order
        Sums may be taken in any order, which lets them use the processor's vector units. NaN
        stays NaN.
    """
    fast = {"reassoc", "contract", "nsz"} if any_order else False

    def decorate(function: Function) -> Function:
        try:
            made: Any = njit(nogil=True, cache=True, fastmath=fast)(function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache can be written to.
            made = njit(nogil=True, fastmath=fast)(function)
        return cast(Function, made)

    return decorate
