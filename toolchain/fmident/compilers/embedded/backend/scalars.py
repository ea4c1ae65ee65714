"""C code for a model's functions of plain numbers.

CasADi's own generator tests before each number that it reads or writes whether there is an array
for it. Two fifths of the time to compile a function, and some of the time to evaluate it, go there;
so only results that a caller may do without are tested here.
"""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from fmident.compilers.embedded.backend.lanes import BINARY, CALLS, UNARY, arity, number
from fmident.compilers.embedded.model import Function

_SIGN = "{0} < 0.0 ? -1.0 : {0} > 0.0 ? 1.0 : {0}"
"""Minus zero and what is not a number are their own sign, as for CasADi."""


def scalar_code(functions: Iterable[Function]) -> str:
    """Return C code of functions in the calling convention of CasADi's generated code.

    All arguments and the first result must be given; further results may be ``NULL``.

    Parameters
    ----------
    functions
        Of SX expressions.
    """
    return "\n".join(_function(function) for function in functions)


def _function(function: Function) -> str:
    names = [""] * max(function.sz_w(), 1)
    starts = [function.sparsity_out(k).find() for k in range(function.n_out())]
    lines = []
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            result, element = targets
            test = f"if (r{result}) " if result else ""
            lines.append(f"{test}r{result}[{starts[result][element]}] = {names[sources[0]]};")
        elif operation == ca.OP_CONST:
            names[targets[0]] = f"({number(function.instruction_constant(k))})"
        elif operation == ca.OP_INPUT:
            argument, element = sources
            names[targets[0]] = f"a{k}"
            lines.append(f"const double a{k} = i{argument}[{element}];")
        else:
            text = _expression(operation, [names[s] for s in sources[: arity(operation)]])
            names[targets[0]] = f"a{k}"
            lines.append(f"const double a{k} = {text};")
    lines += ["(void)iw, (void)w, (void)mem;", "return 0;"]
    arrays = [f"const double *const i{k} = arg[{k}];" for k in range(function.n_in())]
    arrays += [f"double *const r{k} = res[{k}];" for k in range(function.n_out())]
    unused = [f"(void){name};" for name in _arrays(function)]
    body = "".join(f"  {line}\n" for line in [*arrays, *unused, *lines])
    return (
        f"int {function.name()}(const double **arg, double **res, long long int *iw, double *w, "
        f"int mem) {{\n{body}}}\n"
    )


def _arrays(function: Function) -> Iterable[str]:
    yield from (f"i{k}" for k in range(function.n_in()))
    yield from (f"r{k}" for k in range(function.n_out()))


def _expression(operation: int, operands: list[str]) -> str:
    if operation == ca.OP_SIGN:
        return _SIGN.format(*operands)
    template = UNARY.get(operation) or BINARY.get(operation)
    if template is not None:
        return template.format(*operands)
    if operation not in CALLS:
        raise NotImplementedError(f"operation {operation} of CasADi")
    return f"{CALLS[operation]}({', '.join(operands)})"
