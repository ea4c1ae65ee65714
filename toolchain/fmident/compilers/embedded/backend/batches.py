"""C code for a model's functions with several sets of parameters side by side.

Each operation of a function becomes the same operation on a vector, in the same order, so that what
comes out for one set is the same to the last bit as without the others. What follows from
parameters alone is computed once for each set of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from fmident.compilers.embedded.backend.lanes import CALLS, arity, number
from fmident.compilers.embedded.model import Function

_TESTS = {
    ca.OP_LT: "{0} < {1}",
    ca.OP_LE: "{0} <= {1}",
    ca.OP_EQ: "{0} == {1}",
    ca.OP_NE: "{0} != {1}",
    ca.OP_NOT: "{0} == 0.0",
    ca.OP_AND: "({0} != 0.0) & ({1} != 0.0)",
    ca.OP_OR: "({0} != 0.0) | ({1} != 0.0)",
}
_OF_TESTS = {ca.OP_NOT: "~t{0}", ca.OP_AND: "t{0} & t{1}", ca.OP_OR: "t{0} | t{1}"}
"""The same of results of tests, which are kept as masks as well."""

_OPERATIONS = {
    ca.OP_ASSIGN: "{0}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0} * {0}",
    ca.OP_TWICE: "2.0 * {0}",
    ca.OP_INV: "1.0 / {0}",
    ca.OP_ADD: "{0} + {1}",
    ca.OP_SUB: "{0} - {1}",
    ca.OP_MUL: "{0} * {1}",
    ca.OP_DIV: "{0} / {1}",
    ca.OP_SIGN: "SELECT({0} > 0.0, ALL(1.0), SELECT({0} < 0.0, ALL(-1.0), {0}))",
    ca.OP_IF_ELSE_ZERO: "WHERE({0} != 0.0, {1})",
    ca.OP_FABS: "MAGNITUDE({0})",
} | {operation: f"TRUTH({text})" for operation, text in _TESTS.items()}
_VECTORS = {ca.OP_EXP: "lanes_exp({0})", ca.OP_TANH: "lanes_tanh({0})", ca.OP_SQRT: "ROOT({0})"}
"""Functions of the runtime, see its elementary.h."""

PARAMETERS = (3, 4)
"""Arguments of ``(t, x, u, p, c)`` that a set of parameters determines."""


def batch_code(functions: Sequence[Function]) -> str:
    """Return C code of functions of ``(t, x, u, p, c, ...)`` and of what prepares them.

    For each function there is ``name_lanes(arg, res)`` with as many numbers for each element of its
    arguments and results as there are lanes. The argument behind those of the function is what
    ``fmident_prepared_lanes(arg, prepared)`` has made of p and c, ``FMIDENT_PREPARED`` elements.

    Parameters
    ----------
    functions
        Of SX expressions.
    """
    prepared = _Prepared()
    texts = [_Code(function, prepared).text() for function in functions]
    body = "".join(f"  {line}\n" for line in prepared.lines)
    return "\n".join(
        [
            f"enum {{ FMIDENT_PREPARED = {max(prepared.count, 1)} }};",
            f"static UNUSED void fmident_prepared_lanes({_ARGUMENTS}) {{\n{_UNUSED}{body}}}\n",
            *texts,
        ]
    )


_ARGUMENTS = "const double *const *arg, double *const *res"
_UNUSED = "  (void)arg, (void)res;\n"


class _Prepared:
    """Values that follow from parameters, each with a number of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self._numbers: dict[tuple[object, ...], int] = {}
        self._texts: list[str] = []
        self._places: dict[int, int] = {}

    def place(self, value: int) -> int | None:
        """Return where a value is kept; ``None`` for an input or a constant."""
        return self._places.get(value)

    def text(self, value: int) -> str:
        """Return a value as an expression."""
        return self._texts[value]

    def leaf(self, text: str) -> int:
        """Return the number of an argument or a constant."""
        key = (text,)
        if key not in self._numbers:
            self._numbers[key] = len(self._texts)
            self._texts.append(text)
        return self._numbers[key]

    def apply(self, operation: int, operands: Sequence[int]) -> int:
        """Return the number of a result."""
        key = (operation, *operands)
        if key not in self._numbers:
            value = self._numbers[key] = len(self._texts)
            name = f"k{value}"
            self.lines.append(_statement(name, operation, [self._texts[v] for v in operands]))
            self.lines.append(f"WRITE(res[0], {self.count}, {name});")
            self._texts.append(name)
            self._places[value] = self.count
            self.count += 1
        return self._numbers[key]

    def reciprocal(self, value: int) -> int:
        """Return the number of a value's reciprocal, for quotients."""
        key = ("reciprocal", value)
        if key not in self._numbers:
            place = self._numbers[key] = len(self._texts)
            self._texts.append(f"k{place}")
            self._places[place] = self.count
            self.lines.append(f"WRITE(res[0], {self.count}, reciprocal({self._texts[value]}));")
            self.count += 1
        return self._numbers[key]


class _Code:
    """The statements of one function.

    Parameters
    ----------
    function
        Of SX expressions.
    prepared
        What follows from parameters alone, of all functions.
    """

    def __init__(self, function: Function, prepared: _Prepared) -> None:
        self._function = function
        self._prepared = prepared
        self._lines: list[str] = []
        size = max(function.sz_w(), 1)
        self._names = [""] * size
        self._values: list[int | None] = [None] * size  # of what follows from parameters
        self._unused: dict[str, str] = {}  # arguments and constants, by variable
        self._read: set[int] = set()
        self._reciprocals: set[str] = set()
        self._tests: set[str] = set()
        self._denominators = _denominators(function)

    def text(self) -> str:
        """Return the function in C."""
        function = self._function
        starts = [function.sparsity_out(k).find() for k in range(function.n_out())]
        for k in range(function.n_instructions()):
            operation = function.instruction_id(k)
            sources, targets = function.instruction_input(k), function.instruction_output(k)
            if operation == ca.OP_OUTPUT:
                result, element = targets
                value = self._named(sources[0])
                self._lines.append(f"WRITE(res[{result}], {starts[result][element]}, {value});")
            elif operation in (ca.OP_INPUT, ca.OP_CONST):
                self._begin_with(k, targets[0])
            else:
                self._apply(k, operation, sources[: _arity(operation)], targets[0])
        body = "".join(f"  {line}\n" for line in self._lines)
        name = function.name()
        return f"static UNUSED void {name}_lanes({_ARGUMENTS}) {{\n{_UNUSED}{body}}}\n"

    def _begin_with(self, k: int, target: int) -> None:
        """Take note of an argument or a constant; it is defined where it is used first."""
        function, value = self._function, None
        if function.instruction_id(k) == ca.OP_INPUT:
            argument, element = function.instruction_input(k)
            text = f"READ(arg[{argument}], {element})"
            if argument in PARAMETERS:
                value = self._prepared.leaf(text)
        else:
            text = f"ALL({number(function.instruction_constant(k))})"
            value = self._prepared.leaf(text)
        self._unused[f"a{k}"] = text
        self._names[target], self._values[target] = f"a{k}", value

    def _apply(self, k: int, operation: int, operands: Sequence[int], target: int) -> None:
        """Define the result of an operation."""
        name, value = f"a{k}", None
        known = [v for v in (self._values[s] for s in operands) if v is not None]
        if len(known) == len(operands):
            value = self._prepared.apply(operation, known)
        elif operation == ca.OP_DIV:
            above, below = operands
            self._divide(name, above, below, self._denominators[k])
        else:
            self._define(name, operation, operands)
        self._names[target], self._values[target] = name, value

    def _named(self, place: int) -> str:
        """Return the variable of a value, which is read first where it was prepared."""
        value = self._values[place]
        kept = None if value is None else self._prepared.place(value)
        if kept is not None:
            return self._from_parameters(kept)
        name = self._names[place]
        if name in self._unused:
            self._lines.append(f"const vec {name} = {self._unused.pop(name)};")
        return name

    def _from_parameters(self, kept: int) -> str:
        if kept not in self._read:
            self._read.add(kept)
            self._lines.append(f"const vec q{kept} = READ(arg[{self._function.n_in()}], {kept});")
        return f"q{kept}"

    def _divide(self, name: str, above: int, below: int, denominator: int) -> None:
        """Define a quotient; several of one denominator share its reciprocal."""
        value = self._values[below]
        if value is not None:
            place = self._prepared.place(self._prepared.reciprocal(value))
            assert place is not None
            reciprocal = self._from_parameters(place)
        elif list(self._denominators.values()).count(denominator) > 1:
            reciprocal = f"r{denominator}"
            if reciprocal not in self._reciprocals:
                self._reciprocals.add(reciprocal)
                self._lines.append(f"const vec {reciprocal} = reciprocal({self._named(below)});")
        else:
            self._define(name, ca.OP_DIV, [above, below])
            return
        operands = f"{self._named(above)}, {self._named(below)}, {reciprocal}"
        self._lines.append(f"const vec {name} = quotient({operands});")

    def _define(self, name: str, operation: int, operands: Sequence[int]) -> None:
        """Define a variable; results of tests are masks, and numbers where they are used so."""
        tests = self._tests
        names = [self._names[place] for place in operands]
        if operation == ca.OP_IF_ELSE_ZERO and names[0] in tests:
            text = f"WHERE(t{names[0]}, {self._named(operands[1])})"
            self._lines.append(f"const vec {name} = {text};")
        elif operation in _TESTS:
            if operation in _OF_TESTS and tests.issuperset(names):
                test = _OF_TESTS[operation].format(*names)
            else:
                test = _TESTS[operation].format(*(self._named(place) for place in operands))
            tests.add(name)
            self._lines.append(f"const mask t{name} = {test};")
            self._unused[name] = f"TRUTH(t{name})"
        else:
            named = [self._named(place) for place in operands]
            self._lines.append(_statement(name, operation, named))


def _denominators(function: Function) -> dict[int, int]:
    """Return for each division the instruction that has made its denominator."""
    made: dict[int, int] = {}
    found = {}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_DIV:
            found[k] = made[function.instruction_input(k)[1]]
        if operation != ca.OP_OUTPUT:
            made[function.instruction_output(k)[0]] = k
    return found


def _arity(operation: int) -> int:
    template = _OPERATIONS.get(operation) or _VECTORS.get(operation)
    return arity(operation) if template is None else 1 + ("{1}" in template)


def _statement(name: str, operation: int, operands: Sequence[str]) -> str:
    """Return the definition of a variable; functions without vectors are called for each lane."""
    template = _OPERATIONS.get(operation) or _VECTORS.get(operation)
    if template is not None:
        return f"const vec {name} = {template.format(*operands)};"
    if operation not in CALLS:
        raise NotImplementedError(f"operation {operation} of CasADi")
    arguments = ", ".join(f"({operand})[i_]" for operand in operands)
    return f"vec {name}; EACH_LANE {name}[i_] = {CALLS[operation]}({arguments});"
