"""What happens in one communication step, as a table that a compiled loop can follow.

A program is an int64 array with one row per call of an FMI function::

    kind, function, references, count, values, stride, orders

`function` is an address, `references` and `orders` are addresses of C arrays with `count`
elements, and the values of step i lie at the address ``values + stride*i``.

Machine code from LLVM's intermediate representation, for this process.

Numba makes better code of more, but takes a second to load. What is small is emitted by hand.
"""

from __future__ import annotations

from llvmlite import binding, ir

VALUES, DERIVATIVES, STEP = range(3)
"""Kinds of call: set or get values; set input derivatives; do the step."""

KIND, FUNCTION, REFERENCES, COUNT, ADDRESS, STRIDE, ORDERS = range(7)
"""Columns of a program."""

WIDTH = ORDERS
"""The same column of FMI 3.0's calls: how many values arrays have together."""

NOT_GIVEN = -1
"""There, where a function does not take that number: those of extensions."""

COLUMNS = 7

FAILED_CALL, FAILED_STEP, FAILED_STATUS, WARNINGS = range(4)
"""Elements of the loop's state: row of the program and step at which it stopped (while it runs:
the step that it is in), status that was returned, steps with warnings."""

WHY = FAILED_CALL
"""The same element of loops that handle events: why it stopped, see there."""

STATE_SIZE = 4

# --------------------------------------------------------- loops that handle events

(
    VERSION, COMPONENT, ROW, TIMES, INFO, SET_INPUTS, INPUT_REFERENCES, INPUT_COUNT, INPUT_WIDTH,
    INPUT_VALUES, INPUT_WORK, ENTER_EVENT, UPDATE, FAILED_FUNCTION, CALL_STATUS, WARNED, EVENTS,
    INTERVAL_EVENTS, ENDED, SHARED,
) = range(20)  # fmt: skip
"""Elements of the table that such a loop shares with Python: FMI's version, addresses and sizes,
and from FAILED_FUNCTION on what happened. A loop has more after SHARED."""

TIME, NEXT_EVENT = range(2)
"""First elements of the table of reals: time reached, time of the next event, s."""

CALL, TERMINATED, UNSETTLED, ZENO, OWN = range(5)
"""Why such a loop stopped: a call that failed, or one of these; loops have more from OWN on."""

MOST_ITERATIONS = 1_000
"""Updates of the discrete states in one event."""


def allow_assembly() -> None:
    """Enable assembly for LLVM in this process, as used by the module ``floating``."""
    binding.initialize_native_asmparser()


def compile_module(module: ir.Module) -> binding.ExecutionEngine:
    """Compile a module; return the engine that owns the code and gives function addresses."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    allow_assembly()
    module.triple = binding.get_default_triple()
    machine = binding.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine
