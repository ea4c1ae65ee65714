"""Linear differential equations with unknown coefficients, shared by online estimators.

The equation is ``sum a_i y^(i) = sum b_j u^(j)`` with ``a_n = 1``. Options name the
unknown and the known coefficients and define how the problem's parameters follow from
them.
"""

from fmident_estimators.linear_equation.options import (
    EquationOptions,
    Formula,
    LinearEquation,
    ParameterMap,
    Setup,
    read_setup,
)

__all__ = [
    "EquationOptions",
    "Formula",
    "LinearEquation",
    "ParameterMap",
    "Setup",
    "read_setup",
]
