"""C source of what a model does at events."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from fmident.compilers.embedded.backend.derivatives import indicators_of, symbols, total_along
from fmident.compilers.embedded.model import Function, OdeModel

_NAMES = ("live", "samples", "starts", "update")


def event_functions(model: OdeModel) -> list[Function]:
    """Return the functions that the runtime calls at events; none without events."""
    if model.events is None:
        return []
    functions = [_exported(name, getattr(model.events, name)) for name in _NAMES]
    return [*functions, _indicators(model)]


def _indicators(model: OdeModel) -> Function:
    """Return indicators of relations and their derivatives in time, by those of x and u."""
    assert model.events is not None
    arguments = symbols(model.rhs)
    _, x, u, *_ = arguments
    dx, du = ca.SX.sym("dx", x.numel()), ca.SX.sym("du", u.numel())
    values = ca.densify(indicators_of(model.events.live, arguments))
    seeds = [ca.SX(1.0), dx, du, *(ca.SX(a.numel(), 1) for a in arguments[3:])]
    rates = total_along(model, values, arguments, seeds)
    return ca.Function("fmident_indicators", [*arguments, dx, du], ca.cse([values, rates]))


def _exported(name: str, function: Function) -> Function:
    arguments = symbols(function)
    results = function.call(arguments)
    return ca.Function(f"fmident_{name}", arguments, ca.cse([ca.densify(r) for r in results]))


def relations_that_matter(model: OdeModel) -> list[bool]:
    """Return for each relation whether more than discrete variables depends on it at once."""
    events = model.events
    if events is None:
        return []
    first = len(model.calculated)
    count = len(events.relations)
    found = [False] * count
    functions = [
        model.rhs,
        model.output_values,
        model.local_values,
        model.assert_values,
        events.live,
    ]
    functions += [loop.residual for loop in (model.loops.all if model.loops else ())]
    for function in functions:
        if function.numel_out(0) == 0:
            continue
        _, columns = function.jac_sparsity(0, 4).get_triplet()
        for column in columns:
            if first <= column < first + count:
                found[column - first] = True
    return found


def event_sizes(model: OdeModel) -> Mapping[str, int]:
    """Return the macros of ``model_sizes.h`` that count what is held."""
    events = model.events
    return {
        "NH": model.held_count,
        "NR": len(events.relations) if events else 0,
        "NS": events.sample_count if events else 0,
        "ND": events.discrete_count if events else 0,
        "NDV": len(events.variables) if events else 0,
    }
