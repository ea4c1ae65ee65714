"""Compile arithmetic with Numba, and keep the machine code where a folder for it can be had."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, cast

from fmident._compiling import watch_numba

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
        from numba import njit

        watch_numba()
        try:
            made: Any = njit(nogil=True, cache=True, fastmath=fast)(function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache can be written to.
            made = njit(nogil=True, fastmath=fast)(function)
        return cast(Function, made)

    return decorate


class _WhenUsed(ModuleType):
    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def when_used(module: str) -> Any:
    """Return a stand-in for a module of compiled functions, imported when one is first used.

    Numba takes a second to load: whoever lists the estimators, or uses another, does not wait.
    """
    return _WhenUsed(module)
