"""Floating-point state of the processor: rounding, denormal numbers, trapped exceptions.

Native code, for example linked with ``-ffast-math``, may change it and violate the
calling convention by not restoring it: then all later results in the same thread
change. It is therefore set to the standard in and between all calls of an FMU, and
restored to the caller's state after a run.

Standard: round to nearest, denormal numbers kept, no traps (System V ABI for AMD64,
section 3.2.1; Procedure Call Standard for Arm 64). The state is that of SSE and of the
x87 unit on x86, FPCR on 64-bit Arm; on other processors nothing is done.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import TypeVar

from llvmlite import binding, ir

from fmident.context_managers import RecoverableLock
from fmident.fmu.native_code.program import compile_module

Result = TypeVar("Result")

_SSE_STANDARD, _SSE_CONTROL = 0x1F80, 0xFFC0  # the bits of flags that were raised are left out
_X87_STANDARD = 0x037F

_INT16, _INT32, _INT64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()

_machine = platform.machine().lower()
_X86 = _machine in ("x86_64", "amd64")
_ARM = _machine in ("aarch64", "arm64")


def emit_standard(builder: ir.IRBuilder) -> None:
    """Emit fast code that resets the state of SSE, or FPCR, to the standard if it differs."""
    if _X86:
        place = _place(builder, _INT32)
        _at(builder, "stmxcsr", place)
        control = builder.and_(builder.load(place), ir.Constant(_INT32, _SSE_CONTROL))
        wrong = builder.icmp_unsigned("!=", control, ir.Constant(_INT32, _SSE_STANDARD))
        with builder.if_then(wrong, likely=False):
            builder.store(ir.Constant(_INT32, _SSE_STANDARD), place)
            _at(builder, "ldmxcsr", place)
    elif _ARM:
        wrong = builder.icmp_unsigned("!=", _read_fpcr(builder), ir.Constant(_INT64, 0))
        with builder.if_then(wrong, likely=False):
            _write_fpcr(builder, ir.Constant(_INT64, 0))


def emit_read(builder: ir.IRBuilder) -> ir.Value:
    """Emit code that returns the whole state as one number."""
    if _X86:
        sse, x87 = _place(builder, _INT32), _place(builder, _INT16)
        _at(builder, "stmxcsr", sse)
        _at(builder, "fnstcw", x87)
        high = builder.shl(builder.zext(builder.load(x87), _INT64), ir.Constant(_INT64, 32))
        return builder.or_(builder.zext(builder.load(sse), _INT64), high)
    return _read_fpcr(builder) if _ARM else ir.Constant(_INT64, 0)


def emit_write(builder: ir.IRBuilder, state: ir.Value) -> None:
    """Emit code that sets the state to a value from :func:`emit_read`."""
    if _X86:
        sse, x87 = _place(builder, _INT32), _place(builder, _INT16)
        builder.store(builder.trunc(state, _INT32), sse)
        high = builder.lshr(state, ir.Constant(_INT64, 32))
        builder.store(builder.trunc(high, _INT16), x87)
        _at(builder, "ldmxcsr", sse)
        _at(builder, "fldcw", x87)
    elif _ARM:
        _write_fpcr(builder, state)


def _place(builder: ir.IRBuilder, kind: ir.Type) -> ir.Value:
    with builder.goto_entry_block():  # else each turn of a loop would take more of the stack
        return builder.alloca(kind)


def _at(builder: ir.IRBuilder, instruction: str, place: ir.Value) -> None:
    kind = ir.FunctionType(ir.VoidType(), [_POINTER])
    address = builder.bitcast(place, _POINTER)
    builder.asm(kind, f"{instruction} ($0)", "r,~{memory}", [address], True)


def _read_fpcr(builder: ir.IRBuilder) -> ir.Value:
    return builder.asm(ir.FunctionType(_INT64, []), "mrs $0, fpcr", "=r", [], True)


def _write_fpcr(builder: ir.IRBuilder, state: ir.Value) -> None:
    kind = ir.FunctionType(ir.VoidType(), [_INT64])
    builder.asm(kind, "msr fpcr, $0", "r", [state], True)


_STANDARD = _SSE_STANDARD | _X87_STANDARD << 32 if _X86 else 0
_lock = RecoverableLock()
_compiled: list[tuple[binding.ExecutionEngine, Callable[[], None], Callable[[int], int]]] = []


def _functions() -> tuple[Callable[[], None], Callable[[int], int]]:
    with _lock:
        if not _compiled:
            _compiled.append(_compile())
    return _compiled[0][1:]


def _compile() -> tuple[binding.ExecutionEngine, Callable[[], None], Callable[[int], int]]:
    module = ir.Module("fmident_floating")
    standard = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "fmident_standard")
    builder = ir.IRBuilder(standard.append_basic_block())
    emit_standard(builder)
    builder.ret_void()
    change = ir.Function(module, ir.FunctionType(_INT64, [_INT64]), "fmident_change")
    builder = ir.IRBuilder(change.append_basic_block())
    before = emit_read(builder)
    emit_write(builder, change.args[0])
    builder.ret(before)
    engine = compile_module(module)
    # The state is the thread's own: called with the interpreter's lock held, which costs less.
    return (
        engine,
        ctypes.PYFUNCTYPE(None)(engine.get_function_address("fmident_standard")),
        ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(
            engine.get_function_address("fmident_change")
        ),
    )


def standard_maker() -> Callable[[], None]:
    """Return a fast function that sets the state of its thread to the standard."""
    return _functions()[0]


def protected(work: Callable[[], Result]) -> Result:
    """Call `work` with the standard state, and restore the previous one."""
    change = _functions()[1]
    before = change(_STANDARD)
    try:
        return work()
    finally:
        change(before)
