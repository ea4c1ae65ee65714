"""Floating-point state of the processor: rounding, denormal numbers, trapped exceptions.

Native code, for example linked with ``-ffast-math``, may change it and violate the
calling convention by not restoring it: then all later results in the same thread
change. It is therefore set to the standard in and between all calls of an FMU, and
restored to the caller's state after a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fmident.fmu.native_code.loops import loops


@contextmanager
def standard_floating_point() -> Iterator[None]:
    """Run a block with the standard state, and restore the previous one."""
    functions = loops()
    before = functions.floating_point()
    functions.set_floating_point(functions.standard_floating_point())
    try:
        yield
    finally:
        functions.set_floating_point(before)
