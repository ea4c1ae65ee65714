"""What happens in one communication step, as a table that a compiled loop can follow.

A program is an int64 array with one row per call of an FMI function::

    kind, function, references, count, values, stride, orders

`function` is an address, `references` and `orders` are addresses of C arrays with `count`
elements, and the values of step i lie at the address ``values + stride*i``.
"""

from __future__ import annotations

VALUES, DERIVATIVES, STEP = range(3)
"""Kinds of call: set or get values; set input derivatives; do the step."""

KIND, FUNCTION, REFERENCES, COUNT, ADDRESS, STRIDE, ORDERS = range(7)
"""Columns of a program."""

COLUMNS = 7

FAILED_CALL, FAILED_STEP, FAILED_STATUS, WARNINGS = range(4)
"""Elements of the loop's state: row of the program and step at which it stopped (while it runs:
the step that it is in), status that was returned, steps with warnings."""

WHY = FAILED_CALL
"""The same element of loops that handle events: why it stopped, see there."""

STATE_SIZE = 4
