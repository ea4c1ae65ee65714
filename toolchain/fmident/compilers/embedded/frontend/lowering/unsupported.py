"""Built-in operators of Modelica that the subset does not contain."""

from __future__ import annotations

from collections.abc import Mapping

UNSUPPORTED_FUNCTIONS: Mapping[str, str] = {
    "reinit": "an event",
    "delay": "a delayed signal",
    "spatialDistribution": "a transport delay",
    "cardinality": "the number of connections",
    "inStream": "a stream connector",
    "actualStream": "a stream connector",
    "clock": "clocked equations",
    "previous": "clocked equations",
    "hold": "clocked equations",
    "subSample": "clocked equations",
    "superSample": "clocked equations",
    "shiftSample": "clocked equations",
    "backSample": "clocked equations",
    "noClock": "clocked equations",
    "interval": "clocked equations",
    "firstTick": "clocked equations",
    "transition": "a state machine",
    "initialState": "a state machine",
    "activeState": "a state machine",
    "ticksInState": "a state machine",
    "timeInState": "a state machine",
}
"""Built-in operators that the subset does not contain, and what they stand for."""
