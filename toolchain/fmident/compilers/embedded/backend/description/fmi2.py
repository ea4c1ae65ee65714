"""``modelDescription.xml`` of FMI 2.0 for Co-Simulation and Model Exchange.

Source: FMI specification 2.0.4, sections 2.2, 3.3.1 and 4.3.1 (schema and attributes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fmident.compilers.embedded.backend.description import (
    default_experiment,
    frozen_parameters,
    indicator_count,
    log_categories,
    model_identifier,
    needs_completed_steps,
    number,
    offers_model_exchange,
    shows,
    states_moved_at_events,
    tag,
    unit_definitions,
    whole,
)
from fmident.compilers.embedded.backend.layout import FmuVariable, Layout
from fmident.compilers.embedded.model import OdeModel
from fmident.fmu.model_description.description import FrozenParameter


def write_description(
    model: OdeModel,
    layout: Layout,
    *,
    guid: str,
    generation_tool: str,
    tolerance: float,
    source_files: Sequence[str] = (),
    generated: str | None = None,
) -> str:
    """Return the text of ``modelDescription.xml``.

    `generation_tool` is name and version of this compiler; `generated` is date and time,
    ``None`` to omit them. `source_files` are those in the FMU's folder ``sources`` to
    compile.
    """
    index = {v.name: i for i, v in enumerate(layout.variables, start=1)}
    discontinuous = states_moved_at_events(model)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        tag(
            "fmiModelDescription",
            {
                "fmiVersion": "2.0",
                "modelName": model.name,
                "guid": guid,
                "description": model.description or None,
                "version": model.library_version or None,
                "generationTool": generation_tool,
                "generationDateAndTime": generated,
                "variableNamingConvention": "structured",
                "numberOfEventIndicators": str(indicator_count(model)),
            },
            close=False,
        ),
        *_interfaces(model, source_files),
        *unit_definitions((v.variable.unit, v.variable.display_unit) for v in layout.variables),
        *log_categories(),
        default_experiment(model.experiment, tolerance),
        *_frozen(model.frozen),
        "  <ModelVariables>",
        *(line for v in layout.variables for line in _variable(v, index, discontinuous)),
        "  </ModelVariables>",
        *_structure(model, layout, index),
        "</fmiModelDescription>",
    ]
    return "\n".join(lines) + "\n"


def _interfaces(model: OdeModel, source_files: Sequence[str]) -> Iterable[str]:
    both = {
        "modelIdentifier": model_identifier(model.name),
        "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
        "providesDirectionalDerivative": "true",
    }
    if offers_model_exchange(model):
        needed = needs_completed_steps(model)
        exchange = {"completedIntegratorStepNotNeeded": "false" if needed else "true"}
        yield from _interface("ModelExchange", both | exchange, source_files)
    steps = {
        "canHandleVariableCommunicationStepSize": "true",
        "canInterpolateInputs": "true",
        "maxOutputDerivativeOrder": "0",
    }
    yield from _interface("CoSimulation", both | steps, source_files)


def _interface(
    name: str, attributes: Mapping[str, str | None], source_files: Sequence[str]
) -> Iterable[str]:
    yield "  " + tag(name, attributes, close=not source_files)
    if source_files:
        yield "    <SourceFiles>"
        yield from ("      " + tag("File", {"name": file}) for file in source_files)
        yield "    </SourceFiles>"
        yield f"  </{name}>"


def _frozen(frozen: Mapping[str, FrozenParameter]) -> Iterable[str]:
    if not frozen:
        return
    yield "  <VendorAnnotations>"
    yield "    " + tag("Tool", {"name": "fmident"}, close=False)
    yield from frozen_parameters(frozen)
    yield "    </Tool>"
    yield "  </VendorAnnotations>"


def _variable(v: FmuVariable, index: Mapping[str, int], moved: frozenset[str]) -> Iterable[str]:
    yield f"    <!-- {index[v.name]} -->"
    yield "    " + tag(
        "ScalarVariable",
        {
            "name": v.name,
            "valueReference": str(v.value_reference),
            "description": v.variable.description or None,
            "causality": v.causality,
            "variability": v.variability,
            "initial": v.initial,
        },
        close=False,
    )
    yield "      " + _type(v, index, moved)
    yield "    </ScalarVariable>"


def _type(v: FmuVariable, index: Mapping[str, int], moved: frozenset[str]) -> str:
    if v.variable.type_name == "Boolean":
        return tag("Boolean", {})
    if v.variable.type_name == "Integer":
        limits = {"min": whole(v.variable.minimum), "max": whole(v.variable.maximum)}
        return tag("Integer", {"quantity": v.variable.quantity or None, **limits})
    unit = v.variable.unit or None
    display = v.variable.display_unit
    return tag(
        "Real",
        {
            "quantity": v.variable.quantity or None,
            "unit": unit,
            "displayUnit": display if unit and shows(unit, display) else None,
            "min": number(v.variable.minimum),
            "max": number(v.variable.maximum),
            "nominal": number(v.variable.nominal),
            "start": number(v.start),
            "derivative": str(index[v.derivative_of]) if v.derivative_of else None,
            "reinit": "true" if v.name in moved else None,
        },
    )


def _unknown(name: str, dependencies: Iterable[str], index: Mapping[str, int]) -> str:
    known = sorted(index[d] for d in dependencies)
    return "      " + tag(
        "Unknown",
        {"index": str(index[name]), "dependencies": " ".join(str(k) for k in known)},
    )


def _structure(model: OdeModel, layout: Layout, index: Mapping[str, int]) -> Iterable[str]:
    states = {v.name for v in model.states}

    def section(name: str, rows: Mapping[str, Iterable[str]]) -> Iterable[str]:
        if rows:
            yield f"    <{name}>"
            for unknown in sorted(rows, key=index.__getitem__):
                yield _unknown(unknown, rows[unknown], index)
            yield f"    </{name}>"

    outputs: dict[str, Iterable[str]] = {}
    for output, names in zip(model.outputs, model.output_dependencies, strict=True):
        outputs[output.name] = (output.name,) if output.name in states else names
    if model.events:
        everything = (*states, *(v.name for v in model.inputs))
        outputs |= dict.fromkeys(model.events.outputs, everything)
    derivatives: dict[str, Iterable[str]] = {
        v.name: names
        for v, names in zip(model.derivatives, model.derivative_dependencies, strict=True)
    }
    yield "  <ModelStructure>"
    yield from section("Outputs", outputs)
    yield from section("Derivatives", derivatives)
    yield from section("InitialUnknowns", dict(layout.initial_unknowns))
    yield "  </ModelStructure>"
