"""C source that the runtime needs of a model for FMI 3.0, beside that for all versions."""

from __future__ import annotations

import itertools

import casadi as ca

from fmident.compilers.embedded.backend.codegen import (
    ELEMENTARY,
    directional,
    directional_initial,
    integers,
)
from fmident.compilers.embedded.backend.derivatives import symbols, total_along
from fmident.compilers.embedded.backend.description.arrays import declarations
from fmident.compilers.embedded.backend.files import FMI3_FILE
from fmident.compilers.embedded.backend.layout import Layout
from fmident.compilers.embedded.backend.scalars import scalar_code
from fmident.compilers.embedded.model import Function, OdeModel


def fmi3_code(model: OdeModel, layout: Layout) -> dict[str, str]:
    """Return C files, name to text.

    Parameters
    ----------
    model
        The causalised model.
    layout
        Its variables as the FMU shows them.
    """
    sizes = [0] * len(layout.names)
    for one in declarations(layout.variables):
        sizes[one.value_reference] = len(one.elements)
    functions = [
        _adjoint("fmident_adjoint", directional(model), 5),
        _adjoint("fmident_adjoint_initial", directional_initial(model), 4),
        _along_time("fmident_along_time", model, None),
        _along_time("fmident_along_time_initial", model, layout),
    ]
    table = integers("fmident_element_counts", sizes)
    return {
        FMI3_FILE: "\n".join(['#include "fmi3_layer.h"', ELEMENTARY, table, scalar_code(functions)])
    }


def _along_time(name: str, model: OdeModel, layout: Layout | None) -> Function:
    """Differentiate states, outputs and state derivatives in time, all knowns held.

    States move in initialization mode only, for which `layout` says which are calculated.
    """
    t, x, u, p, c = arguments = symbols(model.rhs)
    still = [ca.SX(v.numel(), 1) for v in (x, u, p, c)]
    sx = still[0]
    if layout is not None and x.numel():
        value = ca.vec(model.initial_states(t, u, p, c))
        moved = total_along(model, value, arguments, [ca.SX(1.0), *still])
        sx = ca.densify(moved * ca.DM([not settable for settable in layout.settable_states]))
    seeds = [ca.SX(1.0), sx, *still[1:]]
    values = [ca.vec(f(*arguments)) for f in (model.output_values, model.rhs)]
    results = [ca.densify(sx), *(total_along(model, v, arguments, seeds) for v in values)]
    return ca.Function(name, arguments, ca.cse(results))


def _adjoint(name: str, function: Function, point: int) -> Function:
    """Return the transpose of a directional derivative, by reverse differentiation.

    Parameters
    ----------
    name
        Of the function in C.
    function
        Of where it is evaluated, and of the direction, in which it is linear.
    point
        Number of the former arguments.
    """
    arguments = symbols(function)
    results = function.call(arguments)
    weights = [ca.SX.sym(f"l{k}", result.numel()) for k, result in enumerate(results)]
    direction = ca.vertcat(*arguments[point:])
    value = ca.vertcat(*(ca.vec(result) for result in results))
    if value.numel() == 0 or direction.numel() == 0:
        gradient = ca.SX.zeros(direction.numel(), 1)
    else:
        gradient = ca.densify(ca.jtimes(value, direction, ca.vertcat(*weights), True))
    ends = [0, *itertools.accumulate(argument.numel() for argument in arguments[point:])]
    parts = [gradient[begin:end] for begin, end in itertools.pairwise(ends)]
    return ca.Function(name, [*arguments[:point], *weights], ca.cse(parts))
