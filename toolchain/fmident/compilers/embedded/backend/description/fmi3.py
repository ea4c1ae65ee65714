"""``modelDescription.xml`` of FMI 3.0 for Co-Simulation and Model Exchange.

Source: FMI specification 3.0.2, sections 2.4, 3.3 and 4.3 (schema and attributes).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import casadi as ca

from fmident.compilers.embedded.backend.codegen import (
    ELEMENTARY,
    directional,
    directional_initial,
    integers,
)
from fmident.compilers.embedded.backend.compiling.formats import FMI3_FILE
from fmident.compilers.embedded.backend.derivatives import symbols, total_along
from fmident.compilers.embedded.backend.description import (
    Declaration,
    declarations,
    default_experiment,
    frozen_parameters,
    indicator_count,
    log_categories,
    model_identifier,
    needs_completed_steps,
    number,
    offers_model_exchange,
    references,
    shows,
    states_moved_at_events,
    tag,
    unit_definitions,
    whole,
)
from fmident.compilers.embedded.backend.layout import Layout, dependency_rows, scalar_code
from fmident.compilers.embedded.model import Function, OdeModel
from fmident.errors import CompilationError
from fmident.fmu.model_description.description import FrozenParameter

TIME = "time"
"""The independent variable, which FMI 3.0 wants among the others."""

INDICATORS = "eventIndicators"

_TYPES = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean"}


def write_description(
    model: OdeModel,
    layout: Layout,
    *,
    guid: str,
    generation_tool: str,
    tolerance: float,
    generated: str | None = None,
) -> str:
    """Return the text of ``modelDescription.xml``.

    `generation_tool` is name and version of this compiler; `generated` is date and time,
    ``None`` to omit them. Raises `CompilationError` for a variable with the independent
    variable's name.
    """
    if TIME in layout.references:
        raise CompilationError(
            f"a variable of '{model.name}' is called '{TIME}', as the independent variable of FMI"
            " 3.0 is",
            hint="give it another name, or build for FMI 2.0",
        )
    declared = declarations(layout.variables)
    discontinuous = states_moved_at_events(model)
    reference = {**references(declared), TIME: time_reference(layout)}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        tag(
            "fmiModelDescription",
            {
                "fmiVersion": "3.0",
                "modelName": model.name,
                "instantiationToken": guid,
                "description": model.description or None,
                "version": model.library_version or None,
                "generationTool": generation_tool,
                "generationDateAndTime": generated,
                "variableNamingConvention": "structured",
            },
            close=False,
        ),
        *_interfaces(model),
        *unit_definitions((v.variable.unit, v.variable.display_unit) for v in layout.variables),
        *log_categories(),
        default_experiment(model.experiment, tolerance),
        "  <ModelVariables>",
        *(line for one in declared for line in _variable(one, reference, discontinuous)),
        "    "
        + tag(
            "Float64",
            {
                "name": TIME,
                "valueReference": str(reference[TIME]),
                "causality": "independent",
                "variability": "continuous",
                "unit": "s" if any(v.variable.unit == "s" for v in layout.variables) else None,
            },
        ),
        *_indicators(model, layout),
        "  </ModelVariables>",
        *_structure(model, layout, reference),
        *_frozen(model.frozen),
        "</fmiModelDescription>",
    ]
    return "\n".join(lines) + "\n"


def time_reference(layout: Layout) -> int:
    """Return the value reference of the independent variable, which follows all others."""
    return len(layout.names)


def _interfaces(model: OdeModel) -> Iterable[str]:
    both = {
        "modelIdentifier": model_identifier(model.name),
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
        "providesAdjointDerivatives": "true",
    }
    if offers_model_exchange(model):
        needed = {"needsCompletedIntegratorStep": "true"} if needs_completed_steps(model) else {}
        yield "  " + tag("ModelExchange", both | needed)
    steps = {
        "canHandleVariableCommunicationStepSize": "true",
        "providesIntermediateUpdate": "true" if model.inputs else None,
    }
    yield "  " + tag("CoSimulation", both | steps)


def _indicators(model: OdeModel, layout: Layout) -> Iterable[str]:
    """Declare the event indicators as one array."""
    count = indicator_count(model)
    if not count:
        return
    name = INDICATORS
    while name in layout.references:
        name += "_"
    yield "    " + tag(
        "Float64",
        {
            "name": name,
            "valueReference": str(time_reference(layout) + 1),
            "description": "Each changes its sign where a relation does",
            "causality": "local",
            "variability": "continuous",
        },
        close=False,
    )
    yield "      " + tag("Dimension", {"start": str(count)})
    yield "    </Float64>"


def _frozen(frozen: Mapping[str, FrozenParameter]) -> Iterable[str]:
    if not frozen:
        return
    yield "  <Annotations>"
    yield "    " + tag("Annotation", {"type": "fmident"}, close=False)
    yield from frozen_parameters(frozen)
    yield "    </Annotation>"
    yield "  </Annotations>"


def _variable(
    one: Declaration, reference: Mapping[str, int], moved: frozenset[str]
) -> Iterable[str]:
    v = one.first
    m = v.variable
    kind = _TYPES[m.type_name]
    attributes = {
        "name": one.name,
        "valueReference": str(one.value_reference),
        "description": m.description or None,
        "causality": v.causality,
        "variability": v.variability,
        "initial": v.initial,
    }
    if kind == "Int32":
        attributes["quantity"] = m.quantity or None
        attributes |= {"min": whole(m.minimum), "max": whole(m.maximum)}
    elif kind == "Float64":
        starts = [number(e.start) for e in one.elements]
        attributes |= {
            "intermediateUpdate": "true" if v.causality == "input" else None,
            "quantity": m.quantity or None,
            "unit": m.unit or None,
            "displayUnit": m.display_unit if m.unit and shows(m.unit, m.display_unit) else None,
            "min": number(m.minimum),
            "max": number(m.maximum),
            "nominal": number(m.nominal),
            "start": None if None in starts else " ".join(map(str, starts)),
            "derivative": str(reference[v.derivative_of]) if v.derivative_of else None,
            "reinit": "true" if any(e.name in moved for e in one.elements) else None,
        }
    yield "    " + tag(kind, attributes, close=not one.shape)
    if one.shape:
        yield from ("      " + tag("Dimension", {"start": str(size)}) for size in one.shape)
        yield f"    </{kind}>"


def _structure(model: OdeModel, layout: Layout, reference: Mapping[str, int]) -> Iterable[str]:
    states = {v.name for v in model.states}
    knowns = _Knowns(model, layout)
    outputs: dict[str, Iterable[str]] = {}
    for output, names, more in zip(
        model.outputs,
        model.output_dependencies,
        knowns.of(model.output_values),
        strict=True,
    ):
        outputs[output.name] = (output.name,) if output.name in states else (*names, *more)
    if model.events:
        everything = (*states, *(v.name for v in model.inputs), *knowns.everything)
        outputs |= dict.fromkeys(model.events.outputs, everything)
    derivatives = {
        v.name: (*names, *more)
        for v, names, more in zip(
            model.derivatives,
            model.derivative_dependencies,
            knowns.of(model.rhs),
            strict=True,
        )
    }
    timed = knowns.following_time_at_start()
    initial = {
        name: (*names, TIME) if name in timed else names
        for name, names in layout.initial_unknowns.items()
    }
    yield "  <ModelStructure>"
    yield from _unknowns("Output", outputs, reference)
    yield from _unknowns("ContinuousStateDerivative", derivatives, reference)
    yield from _unknowns("InitialUnknown", initial, reference)
    if indicator_count(model):
        given = {"valueReference": str(time_reference(layout) + 1)}
        yield "    " + tag("EventIndicator", given)
    yield "  </ModelStructure>"


class _Knowns:
    """Dependencies on parameters and time, which FMI 3.0 requires besides states and inputs."""

    def __init__(self, model: OdeModel, layout: Layout) -> None:
        self._model = model
        self._settable = layout.settable_states
        self._parameters = [v.name for v in model.parameters]
        self._calculated = [
            {self._parameters[j] for j in row[0]}
            for row in dependency_rows(model.calculated_parameters)
        ]
        self.everything = (*self._parameters, TIME)

    def of(self, function: Function) -> list[Iterable[str]]:
        """Return the parameters, and time, that each element of a function depends on."""
        return [self._of_row(row) for row in dependency_rows(function)]

    def _of_row(self, row: Sequence[set[int]]) -> Iterable[str]:
        if self._is_behind(row[-1]):
            return self.everything
        names = {self._parameters[j] for j in row[3]}
        return names.union(*(self._calculated[j] for j in row[4]), [TIME] if row[0] else [])

    def _is_behind(self, places: Iterable[int]) -> bool:
        return any(place >= len(self._model.calculated) for place in places)

    def following_time_at_start(self) -> set[str]:
        """Return the variables that may depend on time in initialization mode."""
        model = self._model
        rows = zip(model.states, dependency_rows(model.initial_states), strict=True)
        of_states = [bool(row[0]) or self._is_behind(row[-1]) for _, row in rows]
        timed_states = {i for i, timed in enumerate(of_states) if timed and not self._settable[i]}
        names = {model.states[i].name for i in timed_states}
        for variables, function in (
            (model.derivatives, model.rhs),
            (model.outputs, model.output_values),
        ):
            for variable, row in zip(variables, dependency_rows(function), strict=True):
                if row[0] or row[1] & timed_states or self._is_behind(row[-1]):
                    names.add(variable.name)
        return names | set(model.events.outputs if model.events else ())


def _unknowns(
    name: str, rows: Mapping[str, Iterable[str]], reference: Mapping[str, int]
) -> Iterable[str]:
    """Yield the elements of one kind, with one joint list of dependencies for each array."""
    dependencies_of: dict[int, set[int]] = {}
    for unknown, dependencies in rows.items():
        dependencies_of.setdefault(reference[unknown], set()).update(
            reference[d] for d in dependencies
        )
    for unknown_reference in sorted(dependencies_of):
        known = " ".join(str(k) for k in sorted(dependencies_of[unknown_reference]))
        given = {"valueReference": str(unknown_reference), "dependencies": known}
        yield "    " + tag(name, given)


def fmi3_code(model: OdeModel, layout: Layout) -> dict[str, str]:
    """Return the C files specific to FMI 3.0, name to text."""
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
    """Return the time derivatives of states, outputs and state derivatives, knowns fixed.

    States vary in initialization mode only, for which `layout` says which are calculated.
    """
    t, x, u, p, c = arguments = symbols(model.rhs)
    still = [ca.SX(v.numel(), 1) for v in (x, u, p, c)]
    sx = still[0]
    if layout is not None and x.numel():
        value = ca.vec(model.initial_states(t, u, p, c))
        rates = total_along(model, value, arguments, [ca.SX(1.0), *still])
        sx = ca.densify(rates * ca.DM([not settable for settable in layout.settable_states]))
    seeds = [ca.SX(1.0), sx, *still[1:]]
    values = [ca.vec(f(*arguments)) for f in (model.output_values, model.rhs)]
    results = [ca.densify(sx), *(total_along(model, v, arguments, seeds) for v in values)]
    return ca.Function(name, arguments, ca.cse(results))


def _adjoint(name: str, function: Function, point: int) -> Function:
    """Return the transpose of a directional derivative, by reverse differentiation.

    `function` has `point` arguments for the point, followed by the direction.
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
