"""Calls of C functions by address, and memory as arrays, in compiled code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from fmident._compiling import watch_numba
from fmident.fmu.native_code.floating import emit_read, emit_standard, emit_write
from fmident.fmu.native_code.program import allow_assembly

allow_assembly()
watch_numba()

carray: Any = getattr(numba, "carray")  # noqa: B009 - not exported in Numba's types
"""``carray(pointer, shape, dtype)``: memory as an array."""


def _calling(result: Any, bits: int, *, restores: bool = False) -> Any:
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args[1].types]
            function = ir.FunctionType(ir.IntType(bits), kinds)
            pointer = builder.inttoptr(values[0], function.as_pointer())
            unpack: Any = cgutils.unpack_tuple
            returned = builder.call(pointer, unpack(builder, values[1]))
            if restores:
                emit_standard(builder)
            return returned

        return result(types.int64, arguments), generate

    return intrinsic(call)


call_fmu: Any = _calling(types.int32, 32, restores=True)
"""``call_fmu(address, arguments)``: call a C function that returns an ``int``, and undo what it has
done to the floating-point state."""

call_address: Any = _calling(types.int64, 64)
"""``call_address(address, arguments)``: call a C function that returns a pointer."""


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


as_pointer: Any = intrinsic(_pointer)
"""``as_pointer(address)``: for :func:`numba.carray`."""


def _standard(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        emit_standard(builder)
        return context.get_dummy_value()

    return types.void(), generate


standard_state: Any = intrinsic(_standard)
"""``standard_state()``: undo what a called C function has done to the floating-point state."""


def _read(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return emit_read(builder)

    return types.int64(), generate


def _write(typing_context: Any, state: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        emit_write(builder, values[0])
        return context.get_dummy_value()

    return types.void(types.int64), generate


read_state: Any = intrinsic(_read)
"""``read_state()``: the floating-point state as a number."""

write_state: Any = intrinsic(_write)
"""``write_state(state)``: what :data:`read_state` has returned."""


SHARED_SOURCES = (
    "native.py", "floating.py", "program.py", "stepping.py", "../model_exchange/loop.py",
    *(
        f"../model_exchange/sensitivity/{name}.py"
        for name in ("layout", "elimination", "jacobians", "jumping", "touching")
    ),
)  # fmt: skip
"""Files, seen from here, whose constants and functions are in the compiled code of others."""

_SHARED_CODE = hashlib.sha256(
    b"".join((Path(__file__).parent / name).read_bytes() for name in SHARED_SOURCES)
).hexdigest()[:12]


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a name that is unique to the version of the shared code.

    Numba caches code on disk by name, and checks only a function's own file for changes.
    """
    function.__qualname__ += f"_{_SHARED_CODE}"
    return function


def compiled(function: Callable[..., Any], signature: Any = None) -> Any:
    """Compile a function to run without the interpreter, cached on disk.

    With a signature it is compiled at once, otherwise at the first call. Functions called
    from Python need one, so that compilation does not count as time of the first
    simulation.
    """
    function = _named(function)
    try:
        return njit(signature, nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # no folder to be found that can be written: compile every time
        return njit(signature, nogil=True, error_model="numpy")(function)


def compiled_as(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function for these types, at once."""
    return lambda function: compiled(function, signature)


VECTOR = types.float64[::1]
"""An array of floats."""

TABLE, PROGRAM = types.int64[::1], types.int64[:, ::1]
"""Arrays of integers: shared tables and states; programs."""

START = types.int64(TABLE, VECTOR)
"""Signature of what settles the initial events: shared tables of integers and reals."""


def run_steps_of(programs: int) -> Any:
    """Return the signature of a loop with this number of programs after tables and times."""
    steps = (types.boolean[::1], types.int64, types.int64, TABLE)
    return types.boolean(TABLE, VECTOR, VECTOR, *(PROGRAM,) * programs, *steps)


@compiled
def doubles(address: int, size: int) -> Any:
    """Return the memory at an address as an array of floats, shape (size,)."""
    return carray(as_pointer(address), (size,), np.float64)


def callback(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that C code can call by its attribute ``address``."""
    make: Any = numba.cfunc

    def decorate(function: Callable[..., Any]) -> Any:
        function = _named(function)
        try:
            return make(signature, nopython=True, cache=True, error_model="numpy")(function)
        except RuntimeError:
            return make(signature, nopython=True, error_model="numpy")(function)

    return decorate
