"""Compilation of arithmetic with Numba, with the machine code cached if possible."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, cast

from fmident._compiling import watch_numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*, any_order: bool = False) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function of numbers and arrays.

    `any_order` allows reordered sums, which can use the processor's vector units; NaN stays
    NaN.
    """
    fast = {"reassoc", "contract", "nsz"} if any_order else False

    def decorate(function: Function) -> Function:
        from numba import njit

        watch_numba()
        try:
            machine_code: Any = njit(nogil=True, cache=True, fastmath=fast)(function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache can be written to.
            machine_code = njit(nogil=True, fastmath=fast)(function)
        return cast(Function, machine_code)

    return decorate


class _WhenUsed(ModuleType):
    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def when_used(module: str) -> Any:
    """Return a proxy that imports a module of compiled functions on first use.

    Numba takes a second to load, which listing the estimators or using another one should
    not cost.
    """
    return _WhenUsed(module)
