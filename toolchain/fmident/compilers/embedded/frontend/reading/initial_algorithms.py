"""Initial algorithms that are a list of assignments are initial equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmident.compilers.embedded.frontend.reading import syntax as sx


def initial_assignments(
    statements: Sequence[sx.Statement],
    variables: Mapping[str, sx.Variable],
    initial: list[sx.Equation],
    assertions: list[sx.AssertStatement],
) -> bool:
    """Add an initial algorithm to initial equations and assertions, if it is nothing else.

    Parameters
    ----------
    statements
        Of the section.
    variables
        Of the model.
    initial, assertions
        Gain what is found.

    Returns
    -------
    bool
        Whether each variable is assigned once and before it is used, and asserts speak of
        parameters only; nothing is added otherwise.
    """
    equations: list[sx.Equation] = []
    checks: list[sx.AssertStatement] = []
    later = {n for s in statements if isinstance(s, sx.Assignment) and (n := _name(s.target))}
    for statement in statements:
        if isinstance(statement, sx.AssertStatement):
            names = _references(statement.condition)
            if not all(n in variables and _is_parameter(variables[n]) for n in names):
                return False
            checks.append(statement)
            continue
        name = _name(statement.target) if isinstance(statement, sx.Assignment) else None
        if name is None or not isinstance(statement, sx.Assignment) or name not in later:
            return False
        if later & _references(statement.value):
            return False
        later.discard(name)
        left = sx.Reference(name, (), statement.span)
        equations.append(sx.Equation(left, statement.value, "InitialAlgorithm", statement.span))
    initial.extend(equations)
    assertions.extend(checks)
    return True


def _name(target: sx.Target) -> str | None:
    if any(subscripts for _, subscripts in target.parts):
        return None
    return ".".join(name for name, _ in target.parts)


def _references(expression: sx.Expression) -> set[str]:
    return {n.name for n in sx.walk(expression) if isinstance(n, sx.Reference)}


def _is_parameter(variable: sx.Variable) -> bool:
    return variable.variability in ("parameter", "constant")
