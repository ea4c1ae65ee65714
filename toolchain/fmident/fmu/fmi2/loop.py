"""Communication loop: one call runs many steps outside the interpreter.

FMI functions are called by address, so that the machine code is the same for all FMUs.
It is generated directly: a process that simulates need not load Numba.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from fmident.arrays import F64
from fmident.fmu.native_code.floating import emit_standard
from fmident.fmu.native_code.program import (
    ADDRESS,
    COLUMNS,
    COUNT,
    FAILED_CALL,
    FAILED_STATUS,
    FAILED_STEP,
    FUNCTION,
    KIND,
    ORDERS,
    REFERENCES,
    STEP,
    STRIDE,
    VALUES,
    WARNINGS,
    compile_module,
)
from fmident.fmu.tables import I64

_NAME = "fmident_run_steps"
_INT32, _INT64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_BYTES = 8
"""Of one element of a program, of the state, of times."""


def run_steps(
    component: int | None, program: I64, times: F64, begin: int, end: int, state: I64
) -> bool:
    """Run communication steps `begin` to `end`; step i leads from times[i] to times[i + 1].

    `program` has the calls of one step, shape (calls, 7), see
    :mod:`fmident.fmu.native_code.program`. `state`, shape (4,), is the present position,
    and finally what stopped the loop and the number of steps with warnings. Returns
    success.
    """
    done: int = _native(
        component or 0,
        _address(program),
        len(program),
        _address(times),
        begin,
        end,
        _address(state),
    )
    return done == end


def _address(array: F64 | I64) -> int:
    assert array.flags.c_contiguous
    return array.ctypes.data


def _emit(module: ir.Module) -> None:
    """Emit the loop; its block names are the comments in this C equivalent.

    .. code-block:: c

        for (i = begin; i < end; i++) {               // steps
            state[FAILED_STEP] = i;                   // step; for whoever looks after a crash
            for (worst = 0, c = 0; c < calls; c++) {  // call
                status = ...;                         // perform: the function of program[c]
                if ((unsigned) status > 1) {          // after
                    state[FAILED_CALL] = c;           // failed
                    state[FAILED_STATUS] = status;
                    return i;
                }
                worst |= status;                      // next
            }
            state[WARNINGS] += worst;                 // stepped
        }
        return end;                                   // finished
    """
    function = ir.Function(module, ir.FunctionType(_INT64, [_INT64] * 7), _NAME)
    component, program, calls, times, begin, end, state = function.args
    block = function.append_basic_block
    entry, steps, step = block("entry"), block("steps"), block("step")
    call, perform, after, next_call = block("call"), block("perform"), block("after"), block("next")
    stepped, failed, finished = block("stepped"), block("failed"), block("finished")
    zero, one = ir.Constant(_INT64, 0), ir.Constant(_INT64, 1)

    ir.IRBuilder(entry).branch(steps)

    build = ir.IRBuilder(steps)
    i = build.phi(_INT64)
    i.add_incoming(begin, entry)
    build.cbranch(build.icmp_signed("<", i, end), step, finished)

    build = ir.IRBuilder(step)
    _store(build, i, state, FAILED_STEP)
    time = _load(build, times, i, _DOUBLE)
    size = build.fsub(_load(build, times, build.add(i, one), _DOUBLE), time)
    build.branch(call)

    build = ir.IRBuilder(call)
    c, worst = build.phi(_INT64), build.phi(_INT64)
    c.add_incoming(zero, step)
    worst.add_incoming(zero, step)
    build.cbranch(build.icmp_signed("<", c, calls), perform, stepped)

    build = ir.IRBuilder(perform)
    row = build.add(program, build.mul(c, ir.Constant(_INT64, COLUMNS * _BYTES)))
    kind, target, references, count, address, stride, orders = (
        _load(build, row, ir.Constant(_INT64, column), _INT64)
        for column in (KIND, FUNCTION, REFERENCES, COUNT, ADDRESS, STRIDE, ORDERS)
    )
    values = build.add(address, build.mul(stride, i))
    forms = {
        STEP: (component, time, size, ir.Constant(_INT32, 1)),
        VALUES: (component, references, count, values),
    }
    choice = build.switch(kind, other := block("derivatives"))
    statuses = [_call(other, after, target, (component, references, count, orders, values))]
    for number, arguments in forms.items():
        form = block()
        choice.add_case(ir.Constant(_INT64, number), form)
        statuses.append(_call(form, after, target, arguments))

    build = ir.IRBuilder(after)
    returned = build.phi(_INT32)
    for value, source in statuses:
        returned.add_incoming(value, source)
    emit_standard(build)
    status = build.sext(returned, _INT64)
    build.cbranch(build.icmp_unsigned(">", status, one), failed, next_call)

    build = ir.IRBuilder(next_call)
    c.add_incoming(build.add(c, one), next_call)
    worst.add_incoming(build.or_(worst, status), next_call)
    build.branch(call)

    build = ir.IRBuilder(stepped)
    warnings = _load(build, state, ir.Constant(_INT64, WARNINGS), _INT64)
    _store(build, build.add(warnings, worst), state, WARNINGS)
    i.add_incoming(build.add(i, one), stepped)
    build.branch(steps)

    build = ir.IRBuilder(failed)
    _store(build, c, state, FAILED_CALL)
    _store(build, status, state, FAILED_STATUS)
    build.ret(i)

    ir.IRBuilder(finished).ret(end)


def _place(build: ir.IRBuilder, base: Any, index: Any, kind: ir.Type) -> Any:
    offset = build.mul(index, ir.Constant(_INT64, _BYTES))
    return build.inttoptr(build.add(base, offset), kind.as_pointer())


def _load(build: ir.IRBuilder, base: Any, index: Any, kind: ir.Type) -> Any:
    return build.load(_place(build, base, index, kind))


def _store(build: ir.IRBuilder, value: Any, base: Any, element: int) -> None:
    build.store(value, _place(build, base, ir.Constant(_INT64, element), _INT64))


def _call(
    block: ir.Block, following: ir.Block, target: Any, arguments: Sequence[Any]
) -> tuple[Any, ir.Block]:
    """Call the function at an address in a separate block; return its status and the block."""
    build = ir.IRBuilder(block)
    kind = ir.FunctionType(_INT32, [argument.type for argument in arguments])
    status = build.call(build.inttoptr(target, kind.as_pointer()), arguments)
    build.branch(following)
    return status, block


def _compiled() -> Any:
    module = ir.Module(_NAME)
    _emit(module)
    return compile_module(module)


_engine = _compiled()  # machine code lives as long as its engine
_native = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 7)(
    _engine.get_function_address(_NAME)
)
"""The loop in C, see :func:`_emit`. Calls give up the interpreter's lock."""
