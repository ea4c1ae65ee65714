"""Parameters and constants: settable, calculated or fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import LoweringState, Scope
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.user_functions import FunctionInliner
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal, unknown_name
from fmident.compilers.embedded.model import Kind, ScalarVariable
from fmident.fmu.model_description.description import FrozenParameter

_FIXED_TYPES: Mapping[str, type] = {"Integer": int, "Boolean": bool, "String": str}
"""Types whose parameters are fixed when the model is compiled, as those of enumerations are."""


def scalar_names(name: str, sizes: tuple[int, ...]) -> list[str]:
    """Return the names of the scalars of an array, row by row."""
    if not sizes:
        return [name]
    return [f"{name}[{','.join(str(i + 1) for i in index)}]" for index in np.ndindex(*sizes)]


class ParameterTable(Scope):
    """Values of all parameters and constants of a flat model.

    `settable` and `calculated` are in the order of the vectors ``p`` and ``c``; `c_values`
    are expressions of ``c`` in ``p``. `model_values` are parameters and constants as used in
    equations: numbers, elements of ``p`` and of ``c``. `frozen` says why a parameter cannot be
    set, by name; `notes` are on parameters fixed at compile time.
    """

    def __init__(self, flat: sx.FlatModel, inliner: FunctionInliner, state: LoweringState) -> None:
        self._flat = flat
        self._state = state
        self._lowering = Lowering(self, inliner, state, no_event=True)
        self._values: dict[str, Value] = {}
        self.model_values: dict[str, Value] = {}
        self._active: list[str] = []
        self._settable_names: set[str] = set()
        self.settable: list[ScalarVariable] = []
        self.calculated: list[ScalarVariable] = []
        self.p: list[v.SX] = []
        self.c: list[v.SX] = []
        self.c_values: list[Scalar] = []
        self.frozen: dict[str, FrozenParameter] = {}
        self.notes: list[str] = []
        for variable in flat.variables.values():
            if variable.variability in ("parameter", "constant"):
                self.model_values[variable.name] = self._publish(variable)

    # -- scope of bindings --------------------------------------------------------------

    def value(self, name: str, span: sx.Span) -> Value:
        """Return a parameter as an expression in settable parameters only."""
        if name in self._values:
            return self._values[name]
        variable = self._flat.variables.get(name)
        if variable is None:
            return self._record(name, span)
        if variable.variability not in ("parameter", "constant"):
            raise Refusal(
                "variability",
                f"the value of a parameter depends on the variable '{name}', which varies in time",
                span,
                "bind parameters to parameters and constants only",
            )
        if name in self._active:
            cycle = [*self._active[self._active.index(name) :], name]
            raise Refusal(
                "cyclic-parameter",
                "parameters depend on each other in a circle: " + " -> ".join(cycle),
                variable.span,
                "give one of them a value of its own",
            )
        self._active.append(name)
        try:
            self._values[name] = self._bound(variable)
        finally:
            self._active.pop()
        return self._values[name]

    def sizes(self, name: str, span: sx.Span) -> tuple[int, ...]:
        """Return the sizes of a variable or parameter."""
        variable = self._flat.variables.get(name)
        return v.shape(self.value(name, span)) if variable is None else variable.shape

    def derivative(self, reference: sx.Reference) -> Value:
        """Refuse ``der`` in the value of a parameter."""
        raise Refusal("variability", "'der' in the value of a parameter", reference.span, "")

    def _record(self, name: str, span: sx.Span) -> Value:
        type_name = self._flat.record_instances.get(name)
        if type_name is None:
            raise unknown_name(name, span, list(self._flat.variables))
        fields = self._flat.records.get(type_name, ())
        return v.RecordValue(type_name, {f: self.value(f"{name}.{f}", span) for f in fields})

    def _bound(self, variable: sx.Variable) -> Value:
        """Evaluate the binding; create symbols for settable scalars."""
        if not self._is_known(variable.type_name):
            return self._table(variable)
        fixed = variable.fixed
        if isinstance(fixed, sx.Boolean) and not fixed.value:
            raise Refusal(
                "unsupported-initial-parameter",
                f"the parameter '{variable.name}' has fixed=false: its value follows from initial "
                "equations",
                variable.span,
            )
        expression = variable.binding
        if expression is None:
            expression = variable.start
            if expression is None or variable.variability == "constant":
                raise Refusal(
                    "no-value",
                    f"the {variable.variability} '{variable.name}' has no value",
                    variable.span,
                    f"give it one: {variable.name} = ...",
                )
        value = self._lowering.evaluate(expression)
        if isinstance(value, v.RecordValue):
            raise Refusal(
                "unsupported-record", "a record cannot be used as a value here", variable.span
            )
        if v.shape(value) == () and variable.shape:
            value = v.filled(value, variable.shape)
        if v.shape(value) != variable.shape:
            raise Refusal(
                "shape-mismatch",
                f"'{variable.name}' has the sizes {list(variable.shape)}, but its value has "
                f"the sizes {list(v.shape(value))}",
                variable.span,
                "correct the value",
            )
        if variable.type_name != "Real":
            return self._structural(variable, value)
        numbers = v.elementwise(_real, value)
        if variable.structural and variable.variability == "parameter":
            return self._fixed(variable, numbers)
        depends = any(
            isinstance(node, sx.Reference) and self._can_change(node.name)
            for node in sx.walk(expression)
        )
        if (
            variable.variability == "constant"
            or variable.final
            or variable.protected
            or variable.evaluate
            or depends
        ):
            if variable.variability == "parameter" and not depends:
                self._freeze(variable, numbers)
            return numbers
        self._settable_names.add(variable.name)
        names = scalar_names(variable.name, variable.shape)
        symbols = []
        for name, number in zip(names, v.flat(numbers), strict=True):
            if not isinstance(number, float):
                raise Refusal("no-value", f"'{name}' has no number as value", variable.span)
            symbol = ca.SX.sym(name)
            symbols.append(symbol)
            self.p.append(symbol)
            self._state.time_invariant |= {symbol.element_hash()}
            self.settable.append(self.scalar(variable, name, "parameter", number, len(symbols) - 1))
        return shaped(symbols, variable.shape)

    def _is_known(self, type_name: str) -> bool:
        known = type_name in _FIXED_TYPES or type_name == "Real"
        return known or self._flat.is_enumeration(type_name)

    def _table(self, variable: sx.Variable) -> v.TableValue:
        given = variable.binding or variable.start
        table = self._lowering.evaluate(given) if isinstance(given, sx.Call) else None
        if isinstance(table, v.TableValue):
            return table
        kind = f"the type {variable.type_name}" if variable.type_name else "an unnamed type"
        raise Refusal(
            "unsupported-type",
            f"'{variable.name}' has {kind}, which the embedded compiler does not support",
            variable.span,
        )

    def _fixed(self, variable: sx.Variable, numbers: Value) -> Value:
        """Fix a Real parameter on which the structure of the model depends."""
        scalars = v.flat(numbers)
        if any(v.is_symbolic(s) for s in scalars):
            raise Refusal(
                "structural-parameter",
                f"'{variable.name}' selects equations, and its value depends on a parameter that "
                "can be set",
                variable.span,
                "make that parameter 'final' or a constant",
            )
        self.frozen[variable.name] = FrozenParameter("it selects the equations of the model")
        self._note(variable, numbers)
        return numbers

    def _freeze(self, variable: sx.Variable, value: Value) -> None:
        """Record why a parameter cannot be set, with a note if this may surprise users."""
        if variable.final:
            frozen = FrozenParameter("it is 'final' in the Modelica source")
        elif variable.protected:
            frozen = FrozenParameter("it is protected in the Modelica source")
        elif variable.evaluate:
            frozen = FrozenParameter("it has the annotation Evaluate=true in the Modelica source")
        else:
            kind = variable.type_name if variable.type_name in _FIXED_TYPES else "enumeration"
            frozen = FrozenParameter(
                f"{kind} parameters are fixed when the FMU is built",
                "only Real parameters can be estimated",
            )
        self.frozen[variable.name] = frozen
        # What a component makes final is its own affair; what the class itself does is not.
        of_the_class = "." not in variable.name
        if not variable.protected and (of_the_class or not variable.final):
            self._note(variable, value)

    def _note(self, variable: sx.Variable, value: Value) -> None:
        if "." in variable.name and variable.type_name in _FIXED_TYPES:
            return  # such as useHeatPort of a component: nobody expects to estimate it
        words = [
            f"{s:g}" if isinstance(s, float) else str(s).lower() if isinstance(s, bool) else str(s)
            for s in v.flat(value)
        ]
        because = " (final)" if variable.final else " (Evaluate=true)" if variable.evaluate else ""
        self.notes.append(f"{variable.name} = {', '.join(words)}{because}")

    def _can_change(self, name: str) -> bool:
        value = self._values.get(name)
        if isinstance(value, v.TableValue):
            value = value.cells
        return value is not None and any(v.is_symbolic(s) for s in v.flat(value))

    def _structural(self, variable: sx.Variable, value: Value) -> Value:
        """Fix an Integer, Boolean, String or enumeration parameter at compile time."""
        allowed = _FIXED_TYPES.get(variable.type_name, v.Enumerator)
        for scalar in v.flat(value):
            if v.is_symbolic(scalar):
                raise Refusal(
                    "structural-parameter",
                    f"the {variable.type_name} parameter '{variable.name}' depends on a Real "
                    "parameter that can be set; its value is needed when the model is compiled",
                    variable.span,
                    "make the Real parameter 'final' or a constant",
                )
            if type(scalar) is not allowed:
                raise Refusal(
                    "type-error",
                    f"the value of the {variable.type_name} '{variable.name}' is {scalar!r}",
                    variable.span,
                    "correct the value",
                )
        if variable.variability == "parameter":
            self._freeze(variable, value)
        return value

    # -- scope of equations -------------------------------------------------------------

    def _publish(self, variable: sx.Variable) -> Value:
        """Return the value used in equations; append calculated parameters to ``c``."""
        value = self.value(variable.name, variable.span)
        if variable.type_name != "Real" or variable.name in self._settable_names:
            return value
        names = scalar_names(variable.name, variable.shape)
        result: list[Scalar] = []
        for i, (name, scalar) in enumerate(zip(names, v.flat(value), strict=True)):
            symbol, known = ca.SX.sym(name), not v.is_symbolic(scalar)
            if not (known and variable.protected):
                start = float(scalar) if known else None
                self.calculated.append(self.scalar(variable, name, "calculated", start, i))
                self.c.append(symbol)
                self.c_values.append(scalar)
            if not known:
                self._state.time_invariant |= {symbol.element_hash()}
            result.append(scalar if known else symbol)
        return shaped(result, variable.shape)

    def defaults(self) -> dict[int, float]:
        """Return the defaults of settable and calculated parameters by symbol hash."""
        p = [variable.start or 0.0 for variable in self.settable]
        known = {s.element_hash(): x for s, x in zip(self.p, p, strict=True)}
        c = v.numbers(v.column(self.c_values), known).ravel()
        return known | {s.element_hash(): float(x) for s, x in zip(self.c, c, strict=True)}

    def scalar(
        self, variable: sx.Variable, name: str, kind: Kind, start: float | None, position: int
    ) -> ScalarVariable:
        """Return the description of one scalar of a flat variable."""
        return ScalarVariable(
            name=name,
            kind=kind,
            start=start,
            unit=variable.unit,
            display_unit=variable.display_unit,
            quantity=variable.quantity,
            minimum=self.attribute(variable.minimum, position),
            maximum=self.attribute(variable.maximum, position),
            nominal=self.attribute(variable.nominal, position),
            description=variable.description,
        )

    def attribute(self, node: sx.Expression | None, position: int) -> float | None:
        """Return min, max or nominal of one scalar; ``None`` if absent or not constant."""
        if node is None:
            return None
        scalars: Sequence[Scalar] = v.flat(self._lowering.evaluate(node))
        scalar = scalars[position if len(scalars) > 1 else 0]
        return float(scalar) if v.is_number(scalar) else None


def _real(scalar: Scalar) -> Scalar:
    if v.is_symbolic(scalar):
        return scalar
    if not v.is_number(scalar):
        raise Refusal("type-error", "a Real gets a value that is not a number", hint="")
    return float(scalar)


def shaped(scalars: list[Scalar], sizes: tuple[int, ...]) -> Value:
    """Return scalars, row by row, as an array of given sizes; ``()`` is a scalar."""
    if not sizes:
        return scalars[0]
    result = np.empty(sizes, dtype=object)
    for index, scalar in zip(np.ndindex(*sizes), scalars, strict=True):
        result[index] = scalar
    return result
