"""Call C functions through their addresses, and see memory as arrays, in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

carray: Any = getattr(numba, "carray")  # noqa: B009 - not exported in Numba's types
"""``carray(pointer, shape, dtype)``: memory as an array."""


def _calling(result: Any, bits: int) -> Any:
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args[1].types]
            function = ir.FunctionType(ir.IntType(bits), kinds)
            pointer = builder.inttoptr(values[0], function.as_pointer())
            unpack: Any = cgutils.unpack_tuple
            return builder.call(pointer, unpack(builder, values[1]))

        return result(types.int64, arguments), generate

    return intrinsic(call)


call_status: Any = _calling(types.int32, 32)
"""``call_status(address, arguments)``: call a C function that returns an ``int``."""

call_address: Any = _calling(types.int64, 64)
"""``call_address(address, arguments)``: call a C function that returns a pointer."""


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


as_pointer: Any = intrinsic(_pointer)
"""``as_pointer(address)``: for :func:`numba.carray`."""


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that runs without the interpreter; keep its code on disk."""
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # no folder to be found that can be written: compile every time
        return njit(nogil=True, error_model="numpy")(function)


@compiled
def doubles(address: int, size: int) -> Any:
    """Return the memory at an address as an array of floats, shape (size,)."""
    return carray(as_pointer(address), (size,), np.float64)


def callback(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that C code can call, at its attribute ``address``."""
    make: Any = numba.cfunc

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return make(signature, nopython=True, cache=True, error_model="numpy")(function)
        except RuntimeError:
            return make(signature, nopython=True, error_model="numpy")(function)

    return decorate
