"""CasADi functions of the model's vectors."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.model import Function


def column(expressions: Sequence[Scalar]) -> v.SX:
    """Return scalars as one dense column."""
    if not expressions:
        return ca.SX(0, 1)
    return ca.densify(ca.SX(ca.vertcat(*expressions)))


def model_function(
    name: str, inputs: Sequence[v.SX], names: Sequence[str], value: v.SX, output: str
) -> Function:
    """Return a function of the model; a later check finds symbols that are not inputs."""
    return ca.Function(name, list(inputs), [value], list(names), [output], {"allow_free": True})
